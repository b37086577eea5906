"""Runs that need more memory than they may hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fullpipe
from conftest import Program
from fullpipe.engine.memory import _free_of_group, parse_bytes, share_bytes
from fullpipe.errors import InputError, MemoryLimitError, ScenarioError

MANY = """
duration = "10 s"
series_interval = "off"

[[links]]
name = "l"
rate = "10 Gbit/s"
delay = "10 ms"
buffer = "unlimited"

[[flows]]
algorithm = "reno"
count = 10000
initial_window = 1000000
"""


WINDOWS = fullpipe.Scenario.loads(MANY.replace("count = 10000", "count = 1"))
"""A first window of a million packets, 56 bytes each."""


def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fullpipe._cli import main; main()", "run", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run_that_cannot_fit_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(MANY)
    done = run(file, "--memory", "8 GB")
    assert (done.returncode, done.stdout) == (2, "")
    # 10,000 first windows of a million packets, 56 bytes each.
    assert done.stderr.startswith(f"fullpipe: {file}: flows[0].initial_window: requires at least 560.0 GB of memory")
    assert done.stderr.count("\n") == 1


def test_a_queue_that_grows_too_long_ends_the_run(tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(MANY.replace("count = 10000\ninitial_window = 1000000", "count = 10\nmax_window = 1000000"))
    done = run(file, "--memory", "20 MB")
    assert done.returncode == 2
    assert done.stderr.startswith(f"fullpipe: {file}: links[0].buffer: ")
    assert "more than the 20.0 MB that the run may hold" in done.stderr


def test_the_error_is_one_of_ours() -> None:
    scenario = fullpipe.Scenario.loads(MANY)
    with pytest.raises(MemoryLimitError) as caught:
        fullpipe.run(scenario, memory=10**9)
    assert isinstance(caught.value, ScenarioError)
    assert caught.value.key == "flows[0].initial_window"


@pytest.mark.parametrize(("text", "size"), [("8 GB", 8 * 10**9), ("1.5MB", 1_500_000), ("1e3 kB", 10**6)])
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "8", "0 GB", "-1 GB", "8 GiB", "nan GB", "1e400 GB", "8 Gbit/s", "8 packets"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match=r'memory must be a quantity above 0 with a unit, e\.g\. "8 GB", got '):
        parse_bytes(text)


def test_runs_side_by_side_share_what_is_free() -> None:
    alone, shared = share_bytes(1, None), share_bytes(4, None)
    assert alone is not None
    assert shared is not None
    # Free memory changes during the test.
    assert shared == pytest.approx(alone / 4, rel=0.2)


# Several runs share the memory. A limit of the memory is divided among them.

COUNTS = {"flows.count": [1, 2, 3, 4, 5]}
TOGETHER = 400_000
CALLS: dict[str, Callable[[int], object]] = {
    "run_many": lambda workers: fullpipe.run_many(dict.fromkeys(range(5), WINDOWS), workers=workers, memory=TOGETHER),
    "compare": lambda workers: fullpipe.compare(
        WINDOWS, ["reno", "vegas", "bic", "cubic", "hstcp"], seeds=1, workers=workers, memory=TOGETHER
    ),
    "sweep": lambda workers: raise_first(fullpipe.sweep(WINDOWS, COUNTS, workers=workers, memory=TOGETHER)),
    "size": lambda workers: fullpipe.size(
        "1 Gbit/s",
        "10 ms",
        flows=[1000, 1100, 1200, 1300, 1400],
        target=[0.9],
        algorithms=["reno"],
        workers=workers,
        memory=TOGETHER,
    ),
}


def raise_first(outcome: fullpipe.Sweep) -> None:
    errors = outcome.runs["error"].to_pylist()
    assert outcome.failed == len(errors)
    raise InputError(errors[0])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("workers", "part"), [(1, "400.0 kB"), (4, "100.0 kB"), (100, "80.0 kB")])
def test_runs_under_way_share_the_limit(call: str, workers: int, part: str) -> None:
    """One worker has all of it; of five runs no more than five are under way."""
    with pytest.raises(InputError, match=rf"may hold {part};"):
        CALLS[call](workers)


@pytest.mark.parametrize("memory_bytes", [0, -1, 2**63])
def test_what_is_no_limit(memory_bytes: int) -> None:
    with pytest.raises(InputError, match=rf"memory must be in \[1, {2**63 - 1}\] bytes, got {memory_bytes}"):
        fullpipe.run(WINDOWS, memory=memory_bytes)


def test_the_limits_themselves_are_limits() -> None:
    assert [share_bytes(1, memory) for memory in (1, 2**63 - 1)] == [1, 2**63 - 1]


@pytest.mark.parametrize("command", ["compare", "sweep", "size"])
def test_the_option(program: Program, tmp_path: Path, command: str) -> None:
    axes = '\n[sweep]\n"flows.count" = [1]\n' if command == "sweep" else ""
    (tmp_path / "many.toml").write_text(WINDOWS.to_toml() + axes)
    size = ["--rate", "1Gbit/s", "--rtt", "10ms", "--flows", "500", "--target", "0.9", "--algorithms", "reno"]
    arguments = {"compare": ["many.toml", "--algorithms", "reno", "--seeds", "1"], "sweep": ["many.toml"], "size": size}
    done = program(command, *arguments[command], "--memory", "100 kB")
    assert done.returncode == (1 if command == "sweep" else 2)
    assert "may hold 100.0 kB;" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("1000\n")
    assert _free_of_group(tmp_path) == 700
    (tmp_path / "memory.max").write_text("max\n")
    assert _free_of_group(tmp_path) is None
    assert _free_of_group(tmp_path / "none") is None
