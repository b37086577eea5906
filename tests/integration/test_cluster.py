"""Sweeps on a Dask cluster: a real scheduler and two worker processes on this machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import PROGRAM, ROOT, SMALL, Program, started
from fullpipe import Scenario
from fullpipe.custom.arguments import load_algorithms
from fullpipe.errors import InputError, MemoryLimitError
from fullpipe.experiments.evaluate import evaluate
from fullpipe.runs import cluster
from test_check import SCENARIO
from test_packet_faults import edited
from test_sweep import kept_in, rows_of

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


def dask(folder: Path, log: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dask", *arguments]
    with (folder / log).open("wb") as file:
        return subprocess.Popen(command, cwd=folder, stderr=file, stdout=file, env={**os.environ, **environment})


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler without workers."""
    folder = tmp_path / "dask"
    folder.mkdir()
    process = dask(folder, "scheduler.log", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    (folder / "scheduler.pid").write_text(str(process.pid))
    address = re.compile(r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
    try:
        wait_for(lambda: address.search((folder / "scheduler.log").read_text()) is not None)
        yield address.findall((folder / "scheduler.log").read_text())[0]
    finally:
        process.kill()
        process.wait()


@contextmanager
def worker(folder: Path, scheduler: str, threads: int = 1, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, at work, with some environment variables set."""
    registered = (folder / "scheduler.log").read_text().count("Register worker addr")
    options = ("--nthreads", str(threads), "--no-nanny", "--no-dashboard")
    process = dask(folder, "worker.log", "worker", scheduler, *options, **environment)
    try:
        wait_for(lambda: (folder / "scheduler.log").read_text().count("Register worker addr") > registered)
        yield process
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
        wait_for(lambda: kept_in(tmp_path / "cluster") >= 1 or sweep.poll() is not None)
        os.kill(workers[0].pid, signal.SIGKILL)
        assert sweep.poll() is None, "the sweep was over before its worker died"
        output, errors = sweep.communicate(timeout=PATIENCE_S)
    assert (sweep.returncode, errors) == (0, b"")
    assert workers[1].poll() is None
    table = pq.read_table(tmp_path / "cluster/runs.parquet")
    assert table["run"].to_pylist() == list(range(RUNS))
    assert table["error"].null_count == RUNS

    here = subprocess.run([*command, "--out", "here"], cwd=tmp_path, capture_output=True, check=True)
    assert output == here.stdout
    assert (tmp_path / "cluster/runs.parquet").read_bytes() == (tmp_path / "here/runs.parquet").read_bytes()


@pytest.mark.usefixtures("workers")
def test_a_client_of_ones_own(scheduler: str, small: Scenario) -> None:
    axes = {"duration": ["4 s", "10 s"], "warmup": ["2 s", "8 s"]}
    with cluster.connect(scheduler) as client:
        there = fullpipe.sweep(small, axes, seeds=2, dask=client)
    assert there.failed == 2
    assert there.runs.equals(fullpipe.sweep(small, axes, seeds=2).runs)


@pytest.mark.usefixtures("workers")
def test_a_lost_connection_loses_no_run(scheduler: str, small: Scenario) -> None:
    axes, cut = {"links.bottleneck.buffer": [f"{size} packets" for size in range(5, 25)]}, []

    def progress(done: float, total: float) -> None:
        if done >= 0.2 * total and not cut:
            cut.append(done)
            client.loop.add_callback(client.scheduler_comm.comm.abort)

    with cluster.connect(scheduler) as client:
        there = fullpipe.sweep(small, axes, seeds=10, dask=client, progress=progress)
    assert 0 < cut[0] < 200
    assert there.runs.equals(fullpipe.sweep(small, axes, seeds=10).runs)


def test_a_client_that_can_not_be_closed_is_not_closed_again(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, closing takes longer than allowed once the scheduler is gone. The client's destructor would
    try again, and print a traceback.
    """

    def too_late(timeout: float) -> None:
        raise TimeoutError(f"timed out after {timeout} s.")

    with cluster.connect(scheduler) as client:
        monkeypatch.setattr(client, "close", too_late)
    monkeypatch.undo()
    assert client.status == "closed"
    client.status = "running"
    client.close()


def test_a_check_on_a_cluster_has_the_same_verdicts_and_values(scheduler: str, tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(f"""\
seeds = 5
max_seeds = 5
scenarios = [{SCENARIO}]
checks = [
  {{ id = "high", scenario = "bulk", controller = "own", metric = "goodput_bps", min = "11 Mbit/s" }},
  {{ id = "low", scenario = "bulk", controller = "own", metric = "goodput_bps", relative_to = "old", min_ratio = 0.1 }},
]
[controllers]
own = "{ROOT / "examples/aimd.py"}"
old = "newreno"
""")
    with worker(tmp_path / "dask", scheduler), worker(tmp_path / "dask", scheduler):
        there = fullpipe.check(suite, dask=scheduler, cache=str(tmp_path / "there"))
    here = fullpipe.check(suite, cache=str(tmp_path / "here"))
    assert {each.id: each.verdict for each in there.checks} == {"high": "worse", "low": "ok"}
    assert [each.to_dict() for each in there.checks] == [each.to_dict() for each in here.checks]


@pytest.mark.usefixtures("workers")
def test_workers_get_an_algorithm_of_ones_own(scheduler: str, small: Scenario) -> None:
    """A class that no worker knows."""

    @fullpipe.algorithm("own-on-a-cluster", recovery="newreno")
    class Own(fullpipe.Classic):
        beta: float = 0.5

        def increase(self, w, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
            return 1 / w

        def decrease(self, w, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
            return self.beta * w

    axes = {"flows.algorithm": ["newreno", "own-on-a-cluster"]}
    there = fullpipe.sweep(small, axes, dask=scheduler)
    assert there.failed == 0
    built_in, own = there.runs.to_pylist()
    assert built_in["algorithm_source"] == own["algorithm_source"]
    assert len(own["algorithm_source"]) == 12
    assert built_in["utilization"] == own["utilization"]
    assert there.runs.equals(fullpipe.sweep(small, axes).runs)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.usefixtures("workers")
def test_workers_load_a_packet_level_library(scheduler: str, small: Scenario, tmp_path: Path) -> None:
    name = load_algorithms(str(edited(tmp_path)))
    axes = {"flows.algorithm": ["newreno", name]}
    there = fullpipe.sweep(small, axes, dask=scheduler)
    assert there.failed == 0
    assert there.runs.equals(fullpipe.sweep(small, axes).runs)
    (tmp_path / "crash").mkdir()
    crash = edited(tmp_path / "crash", ('.name = "c-aimd"', '.name = "c-crash"'), ("(void)persistent;", "abort();"))
    axes = {"flows.algorithm": ["newreno", load_algorithms(str(crash))]}
    errors = fullpipe.sweep(small, axes, dask=scheduler).runs["error"].to_pylist()
    assert errors == [None, "algorithm c-crash: the process of its run ended by SIGABRT"]
    # A name that no worker has loaded yet.
    (tmp_path / "other").mkdir()
    other = edited(tmp_path / "other", ('.name = "c-aimd"', '.name = "c-other"'))
    name = load_algorithms(str(other))
    content = other.read_bytes()
    for change, said in (
        (other.unlink, "can't be read"),
        (lambda: other.write_bytes(content + b"x"), "differs from the library"),
    ):
        change()
        with pytest.raises(InputError, match=rf"^the worker tcp://\S+ can't load an algorithm: .*{said}"):
            fullpipe.sweep(small, {"flows.algorithm": [name]}, dask=scheduler)


def test_a_workers_threads_share_its_limit(scheduler: str, small: Scenario, tmp_path: Path) -> None:
    many = small.replace(**{"links.buffer": "unlimited", "flows.initial_window": 1_000_000})
    with worker(tmp_path / "dask", scheduler, threads=4):
        outcome = fullpipe.sweep(many, {"flows.count": [1, 2]}, dask=scheduler, memory=400_000)
    assert all("may hold 100.0 kB;" in error for error in outcome.runs["error"].to_pylist())


@pytest.fixture
def silent_port() -> Iterator[str]:
    """Address of a program that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "names"),
    [("SILENT", "no Dask scheduler answers there in 5 s"), ("tcp://", "missing port number")],
)
def test_a_scheduler_that_is_not_there(
    program: Program, tmp_path: Path, silent_port: str, address: str, names: str
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    address = address.replace("SILENT", silent_port)
    done = program("sweep", "sweep.toml", "--dask", address, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fullpipe: {address}: ")
    assert names in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers there in 5 s"),
        ("tcp://no-such-host.invalid:8786", "no Dask scheduler answers there in 5 s"),
        ("nonsense://x", "unknown address scheme 'nonsense'"),
        ("127.0.0.1", "missing port number"),
        ("tcp://127.0.0.1:x", "'x'"),
        ("tls://127.0.0.1:1", "TLS"),
        ("inproc://x", "an address is such as tcp://scheduler:8786"),
        ("ucx://127.0.0.1:1", "an address is such as tcp://scheduler:8786"),
    ],
)
def test_an_address_where_no_scheduler_can_be(address: str, names: str) -> None:
    with pytest.raises(InputError) as caught, cluster.connect(address):
        pass
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{address}: ")
    assert names in line


def test_workers_that_can_not_run_it(scheduler: str, program: Program, small: Scenario, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "broken/fullpipe").mkdir(parents=True)
    (tmp_path / "broken/fullpipe/__init__.py").write_text("raise ImportError('half an installation')")
    with worker(tmp_path / "dask", scheduler, PYTHONPATH=str(tmp_path / "broken")) as broken:
        done = program("sweep", "sweep.toml", "--dask", scheduler, "--out", "out")
        assert (done.returncode, done.stdout) == (2, "")
        why = r"can't import fullpipe \(ImportError: half an installation\)"
        assert re.fullmatch(rf"fullpipe: the worker tcp://\S+ {why}\n", done.stderr)
        assert not (tmp_path / "out").exists()
        assert broken.poll() is None, "the worker lives on"

        # A worker is no scheduler.
        (address,) = re.findall(r"tcp://\S+", done.stderr)
        with pytest.raises(InputError, match="something other than a Dask scheduler"), cluster.connect(address):
            pass

    package = tmp_path / "other/fullpipe"
    shutil.copytree(Path(fullpipe.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_util/text.py").write_text((package / "_util/text.py").read_text() + "# another build\n")
    with (
        worker(tmp_path / "dask", scheduler, PYTHONPATH=str(package.parent)),
        cluster.connect(scheduler) as client,
        pytest.raises(InputError, match=r"the worker tcp://\S+ has another build of fullpipe than this one"),
    ):
        fullpipe.sweep(small, {"flows.count": [1, 2]}, dask=client)


def test_a_scheduler_that_dies_and_no_workers_at_first(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    command = [PROGRAM, "sweep", "sweep.toml", "--dask", scheduler, "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sweep:
        try:
            assert sweep.stderr is not None
            line = sweep.stderr.readline()
            assert line == "fullpipe: the cluster has no workers yet; the runs wait for some\n"
            with worker(tmp_path / "dask", scheduler):
                wait_for(lambda: kept_in(tmp_path / "out") >= 2 or sweep.poll() is not None)
                os.kill(int((tmp_path / "dask/scheduler.pid").read_text()), signal.SIGKILL)
                output, errors = sweep.communicate(timeout=PATIENCE_S)
        finally:
            sweep.kill()
    assert (sweep.returncode, output) == (1, "")
    assert errors == "fullpipe: the Dask scheduler is gone; start it and the command again\n"
    assert 0 < kept_in(tmp_path / "out") <= RUNS


def test_a_card_on_a_cluster_has_the_same_bytes(tmp_path: Path, scheduler: str) -> None:
    here = evaluate("bbr", only=["iot"], cache=tmp_path / "here")
    with worker(tmp_path / "dask", scheduler, 2):
        there = evaluate("bbr", only=["iot"], cache=tmp_path / "there", dask=scheduler)
    assert there.to_json() == here.to_json()
    with pytest.raises(InputError, match="scheduler"):
        evaluate("bbr", only=["iot"], cache=tmp_path / "nowhere", dask="tcp://127.0.0.1:1")


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_cards_scheduler_is_asked_for_whether_or_not_anything_is_left_to_run(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent_port: str, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    evaluate("bbr", only=["iot"], cache=tmp_path / "cache" / "fullpipe" / "evaluate")
    for address, names in ((silent_port, "no Dask scheduler answers there in 5 s"), ("foo", "missing port number")):
        done = program("evaluate", "bbr", "--only", "iot", "--dask", address, *more)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"fullpipe: {address}: ")
        assert names in line


def test_a_card_on_a_cluster_keeps_to_its_memory(tmp_path: Path, scheduler: str) -> None:
    with worker(tmp_path / "dask", scheduler, 2), pytest.raises(MemoryLimitError, match=r"may hold 1\.0 kB"):
        evaluate("bbr", only=["iot"], cache=tmp_path / "cache", dask=scheduler, memory=2000)


def test_a_card_waits_for_workers_with_a_word_and_ends_with_its_scheduler_in_a_line(
    scheduler: str, tmp_path: Path
) -> None:
    command = [PROGRAM, "evaluate", "bbr", "--only", "5.1.1", "--seeds", "40", "--dask", scheduler]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    store = tmp_path / "cache/fullpipe/evaluate"
    with started(command, cwd=tmp_path, env=environment, **pipes) as card:
        assert card.stderr is not None
        assert card.stderr.readline() == "fullpipe: the cluster has no workers yet; the runs wait for some\n"
        with worker(tmp_path / "dask", scheduler):
            wait_for(lambda: rows_of(store / "runs.sqlite") >= 1 or card.poll() is not None)
            os.kill(int((tmp_path / "dask/scheduler.pid").read_text()), signal.SIGKILL)
            output, errors = card.communicate(timeout=PATIENCE_S)
    assert (card.returncode, output) == (1, "")
    assert errors == "fullpipe: the Dask scheduler is gone; start it and the command again\n"


def test_a_card_goes_on_when_a_worker_is_killed(
    scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    here = evaluate("bbr", only=["grid"], seeds=8, cache=tmp_path / "here")
    killed = []

    def kill(done: float, _total: float) -> None:
        if done >= 2 and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(done)

    there = evaluate("bbr", only=["grid"], seeds=8, cache=tmp_path / "there", dask=scheduler, progress=kill)
    assert killed
    assert there.to_json() == here.to_json()
