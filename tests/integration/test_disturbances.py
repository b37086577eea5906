"""Two processes, a full disk, and a killed Dask worker: each experiment ends with the bytes of an undisturbed one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import matplotlib
import pytest

import test_cluster
import test_kills
from conftest import PROGRAM
from test_kills import COMMANDS, VARIES, files

folder, scheduler, workers = test_kills.folder, test_cluster.scheduler, test_cluster.workers

pytestmark = pytest.mark.slow

EXPERIMENTS = ["sweep", "duel", "size", "evaluate", "reproduce"]


def line(command: str, out: str | Path, *more: str) -> list[str]:
    own = [word for word in COMMANDS[command] if word not in ("--workers", "2")]  # --workers conflicts with --dask
    return [PROGRAM, *own, *more, "--out", str(out)]


def environment(folder: Path) -> dict[str, str]:
    """Settings with a cache of runs in a folder, and fonts that are known already."""
    return os.environ | {"MPLCONFIGDIR": matplotlib.get_cachedir(), "XDG_CACHE_HOME": str(folder / "cache")}


def contents(directory: Path) -> dict[str, bytes]:
    """Content without wall times, dates, and command lines with their directories and schedulers."""
    return {
        name: re.sub(rb"(--out|--dask) [\w./:-]+ ?", b"", VARIES.sub(b"", each)).replace(b" </", b"</")
        for name, each in files(directory).items()
    }


@pytest.fixture
def whole(folder: Path, request: pytest.FixtureRequest) -> dict[str, bytes]:
    """Files of an undisturbed run."""
    apart = folder / "apart"
    apart.mkdir()
    command = request.node.callspec.params["command"]
    subprocess.run(line(command, "whole"), cwd=folder, capture_output=True, check=True, env=environment(apart))
    return contents(folder / "whole")


@pytest.mark.parametrize("command", EXPERIMENTS)
def test_two_processes_on_one_store(folder: Path, whole: dict[str, bytes], command: str) -> None:
    both = [
        subprocess.Popen(line(command, "out"), cwd=folder, stderr=subprocess.PIPE, text=True, env=environment(folder))
        for _ in range(2)
    ]
    ends = sorted((process.communicate(timeout=120)[1], process.returncode) for process in both)
    for error, status in ends:
        assert status == 0 or (status, error) == (2, "fullpipe: out: another command is writing there\n")
    assert any(status == 0 for _, status in ends)
    assert contents(folder / "out") == whole


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounts a small file system")
@pytest.mark.parametrize("command", EXPERIMENTS)
def test_a_full_disk(folder: Path, whole: dict[str, bytes], command: str) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("may not mount")
    try:
        (disk / "filler").write_bytes(bytes(48 * 1024))
        full = subprocess.run(line(command, disk / "out"), cwd=folder, capture_output=True, env=environment(disk))
        last = full.stderr.decode().splitlines()[-1]
        assert full.returncode == 1, last
        assert last.startswith(f"fullpipe: {disk / 'out'}"), last
        assert re.search("No space left on device|disk is full", last), last
        subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
        subprocess.run(line(command, disk / "out"), cwd=folder, capture_output=True, check=True, env=environment(disk))
        assert contents(disk / "out") == whole
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("command", EXPERIMENTS)
def test_a_killed_worker(
    folder: Path, whole: dict[str, bytes], command: str, scheduler: str, workers: list[subprocess.Popen[bytes]]
) -> None:
    begun = time.monotonic()
    process = subprocess.Popen(
        line(command, "out", "--dask", scheduler), cwd=folder, stderr=subprocess.PIPE, env=environment(folder)
    )
    while not (folder / "out").exists() and process.poll() is None and time.monotonic() - begun < 3:
        time.sleep(0.02)
    os.kill(workers[0].pid, signal.SIGKILL)
    error = process.communicate(timeout=120)[1]
    assert process.returncode == 0, error
    assert workers[1].poll() is None
    assert contents(folder / "out") == whole
