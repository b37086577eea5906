"""Sweeps on a Dask cluster: a real scheduler and two worker processes on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import PROGRAM, SMALL, Program, started
from fullpipe import Scenario
from fullpipe.sweeps import cluster

SWEEP = (
    SMALL.replace('"20 s"', '"3000 s"')
    + """
[sweep]
repeats = 16
"flows.algorithm" = ["newreno", "vegas"]
"""
)
RUNS = 32
PATIENCE_S = 120


def wait_for(what: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not what():
        assert time.monotonic() - begun < PATIENCE_S, "waited in vain"
        time.sleep(0.02)


def dask(folder: Path, log: str, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / log).open("wb") as file:
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments], cwd=folder, stderr=file, stdout=file)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler without workers."""
    folder = tmp_path / "dask"
    folder.mkdir()
    process = dask(folder, "scheduler.log", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    address = re.compile(r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
    try:
        wait_for(lambda: address.search((folder / "scheduler.log").read_text()) is not None)
        yield address.findall((folder / "scheduler.log").read_text())[0]
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def workers(scheduler: str, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two worker processes of one thread each, at work."""
    folder = tmp_path / "dask"
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    processes = [dask(folder, f"worker-{i}.log", "worker", scheduler, *options) for i in range(2)]
    try:
        wait_for(lambda: (folder / "scheduler.log").read_text().count("Register worker addr") == 2)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_worker_killed_in_the_middle_loses_no_row_and_doubles_none(
    scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    command = [PROGRAM, "sweep", "sweep.toml", "--json"]
    on_cluster = [*command, "--dask", scheduler, "--out", "cluster"]
    with started(on_cluster, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sweep:
        wait_for(lambda: len(list(tmp_path.glob("cluster/parts/*.parquet"))) >= 1 or sweep.poll() is not None)
        os.kill(workers[0].pid, signal.SIGKILL)
        assert sweep.poll() is None, "the sweep was over before its worker died"
        output, errors = sweep.communicate(timeout=PATIENCE_S)
    assert (sweep.returncode, errors) == (0, b"")
    assert workers[1].poll() is None
    table = pq.read_table(tmp_path / "cluster/sweep.parquet")
    assert table["run"].to_pylist() == list(range(RUNS))
    assert table["error"].null_count == RUNS

    here = subprocess.run([*command, "--out", "here"], cwd=tmp_path, capture_output=True, check=True)
    assert output == here.stdout
    assert (tmp_path / "cluster/sweep.parquet").read_bytes() == (tmp_path / "here/sweep.parquet").read_bytes()


@pytest.mark.usefixtures("workers")
def test_a_client_of_ones_own(scheduler: str, small: Scenario) -> None:
    axes = {"duration": ["4 s", "10 s"], "warmup": ["2 s", "8 s"]}
    with cluster.connect(scheduler) as client:
        there = fullpipe.sweep(small, axes, repeats=2, client=client)
    assert there.failed == 2
    assert there.table.equals(fullpipe.sweep(small, axes, repeats=2).table)


@pytest.mark.parametrize(
    ("address", "names"), [("tcp://127.0.0.1:1", "no Dask scheduler answers"), ("nonsense://x", "nonsense")]
)
def test_a_scheduler_that_is_not_there(program: Program, tmp_path: Path, address: str, names: str) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = program("sweep", "sweep.toml", "--dask", address, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert address in line
    assert names in line
    assert not (tmp_path / "out").exists()


def test_a_worker_with_another_version(small: Scenario) -> None:
    with pytest.raises(fullpipe.FullpipeError, match=r"a worker has fullpipe .* where the sweep has 0\.0\.0"):
        cluster.task(small, {}, "0.0.0")
