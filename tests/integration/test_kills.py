"""SIGKILL at random moments: a command that is started again ends with the bytes of an undisturbed one."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import fullpipe
from conftest import PROGRAM, SMALL, started
from fullpipe._util.files import KEPT_RUNS, MANIFEST
from test_packet_algorithm import AIMD

LONGER = SMALL.replace('"20 s"', '"300 s"')

COMMANDS = {
    "run": ["run", "small.toml"],
    "compare": ["compare", "small.toml", "--algorithms", "newreno,cubic", "--seeds", "4"],
    "reproduce": ["reproduce", "hyun-jang/figure-3", "--quick"],
    "sweep": ["sweep", "sweep.toml", "--workers", "2"],
    "duel": ["duel", "small.toml", "--algorithms", "newreno,cubic", "--seeds", "12"],
    "size": [
        *("size", "--rate", "10 Mbit/s", "--rtt", "40 ms", "--flows", "2,4", "--target", "0.95"),
        *("--algorithms", "newreno,cubic", "--seeds", "6"),
    ],
    "evaluate": ["evaluate", "bbr", "--only", "grid,iot", "--seeds", "6"],
}

REPORT = b"wrote the report DIR/index.html, with scenarios, results, and plots in its directory\n"
"""Line of `reproduce` about where its report is."""

KILLS = 6
"""Kills of each command; FULLPIPE_KILLS has another number."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "small.toml").write_text(LONGER)
    axes = '\n[sweep]\nrepeats = 8\nlinks.bottleneck.buffer = ["10 packets", "40 packets"]\n'
    (tmp_path / "sweep.toml").write_text(LONGER + axes)
    return tmp_path


LOADERS: dict[str, Any] = {"run": fullpipe.Result, "compare": fullpipe.Comparison, "sweep": fullpipe.Sweep}

VARIES = re.compile(
    rb'"wall_s": [0-9.e-]+|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC)?(, kept since)?|--out \w+'
    rb"|<dt>took</dt>\s*<dd>[^<]*</dd>"
)
"""Wall times, dates, and the directory in the command line that a report names: no results."""


def files(directory: Path) -> dict[str, bytes]:
    """Content without wall times and dates, and so without the checksums of files that have them."""
    paths = [path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST]
    return {str(path.relative_to(directory)): VARIES.sub(b"", path.read_bytes()) for path in paths}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_ends_with_the_same_bytes(folder: Path, command: str) -> None:
    chance = random.Random(command)
    line = [PROGRAM, *COMMANDS[command]]

    def environment(name: str) -> dict[str, str]:
        # Matplotlib's fonts stay where they are: building their list is reported on standard error.
        fonts = {"MPLCONFIGDIR": matplotlib.get_cachedir()}
        return os.environ | fonts | {"XDG_CACHE_HOME": str(folder / f"cache-{name}")}

    def end(name: str) -> tuple[bytes, dict[str, bytes], float]:
        begun = time.monotonic()
        full = [*line, "--out", name, "--json"]
        done = subprocess.run(full, cwd=folder, capture_output=True, check=True, env=environment(name))
        assert done.stderr.replace(name.encode(), b"DIR") in (b"", b"fullpipe: " + REPORT)
        return VARIES.sub(b"", done.stdout), files(folder / name), time.monotonic() - begun

    whole, written, took_s = end("whole")
    kills = 0
    quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(int(os.environ.get("FULLPIPE_KILLS", KILLS))):
        with started([*line, "--out", "killed"], cwd=folder, env=environment("killed"), **quietly) as process:
            time.sleep(chance.uniform(0.1, took_s / 2))
        kills += process.returncode == -9
    assert kills >= 1
    again, rewritten, _ = end("killed")
    assert again == whole
    assert rewritten == written
    assert not (folder / "killed" / KEPT_RUNS).exists()
    # Checksums are verified.
    if command in LOADERS:
        LOADERS[command].load(folder / "killed")


SUITE = """
seeds = 5
max_seeds = 6
scenarios = [{ name = "s", file = "small.toml" }]
checks = [
  { id = "base", scenario = "s", controller = "own", metric = "goodput_bps", relative_to = "baseline" },
  { id = "limit", scenario = "s", controller = "newreno", metric = "goodput_bps", min = "1 Mbit/s" },
]
[controllers]
own = "own.py"
"""

CHECKS = {
    "baseline": ["check", "suite.toml", "--baseline", "OUT", "--update"],
    "check": ["check", "suite.toml", "--baseline", "first.json", "--json", "--junit", "OUT", "--markdown", "OUT.md"],
}
"""Commands that write single files; OUT is a file of each run."""

SECONDS = re.compile(rb'"(wall_s|elapsed_s|time)": [0-9.e-]+|time="[0-9.]+"|[0-9.]+ (s|min)\b')


@pytest.mark.parametrize("command", CHECKS)
def test_a_killed_check_ends_with_the_same_bytes(folder: Path, command: str) -> None:
    (folder / "small.toml").write_text(SMALL)
    (folder / "suite.toml").write_text(SUITE)
    (folder / "own.py").write_text(AIMD.format(name="killed-aimd"))
    chance = random.Random(command)

    def start(name: str) -> tuple[list[str], dict[str, str]]:
        line = [PROGRAM, *(part.replace("OUT", name) for part in CHECKS[command])]
        return line, os.environ | {"XDG_CACHE_HOME": str(folder / f"cache-{name}")}

    def end(name: str) -> tuple[bytes, list[bytes]]:
        line, environment = start(name)
        done = subprocess.run(line, cwd=folder, capture_output=True, check=False, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        written = [file.read_bytes() for file in sorted(folder.glob(f"{name}*")) if file.is_file()]
        assert len(written) == sum("OUT" in part for part in CHECKS[command])
        return SECONDS.sub(b"", done.stdout.replace(name.encode(), b"OUT")), [
            SECONDS.sub(b"", each) for each in written
        ]

    if command == "check":
        line = [PROGRAM, "check", "suite.toml", "--baseline", "first.json", "--update"]
        subprocess.run(line, cwd=folder, capture_output=True, check=True, env=start("first")[1])
    begun = time.monotonic()
    whole = end("whole")
    took_s = time.monotonic() - begun
    kills = 0
    for _ in range(int(os.environ.get("FULLPIPE_KILLS", KILLS))):
        line, environment = start("killed")
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with started(line, cwd=folder, env=environment, **quietly) as process:
            time.sleep(chance.uniform(0.1, took_s / 2))
        kills += process.returncode == -9
    assert kills >= 1
    assert end("killed") == whole
    assert not list(folder.glob(".*killed*")), "staged files of killed commands are removed"


@pytest.mark.parametrize("command", ["sweep", "duel", "size"])
def test_of_two_commands_in_a_directory_one_is_refused(folder: Path, command: str) -> None:
    line = [PROGRAM, *COMMANDS[command], "--out"]
    subprocess.run([*line, "whole"], cwd=folder, capture_output=True, check=True)
    both = [subprocess.Popen([*line, "out"], cwd=folder, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert sorted(process.returncode for process in both) in ([0, 2], [0, 0])
    for process, error in zip(both, errors, strict=True):
        assert (process.returncode, error) in (
            (0, ""),
            (2, "fullpipe: out: another command is writing there\n"),
        )
    assert files(folder / "out") == files(folder / "whole")
