"""Runs that need more memory than they may hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fullpipe
from fullpipe.errors import InputError, MemoryLimitError, ScenarioError
from fullpipe.memory import _free_of_group, parse_bytes, share_bytes

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


def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fullpipe.cli import main; main()", "run", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run_that_cannot_fit_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(MANY)
    done = run(file, "--memory", "8 GB")
    assert (done.returncode, done.stdout) == (2, "")
    # 10,000 first windows of a million packets, 56 bytes each.
    assert done.stderr.startswith(
        f"fullpipe: {file}: flows[0].initial_window: the run needs 560.0 GB of memory at least"
    )
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
        fullpipe.run(scenario, memory_bytes=10**9)
    assert isinstance(caught.value, ScenarioError)
    assert caught.value.key == "flows[0].initial_window"


@pytest.mark.parametrize(("text", "size"), [("8 GB", 8 * 10**9), ("1.5MB", 1_500_000), ("1e3 kB", 10**6)])
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "8", "0 GB", "-1 GB", "8 GiB", "nan GB", "1e400 GB", "8 Gbit/s", "8 packets"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match=r'memory = .*: expected a quantity with a unit, above 0, e.g. "8 GB"'):
        parse_bytes(text)


def test_runs_side_by_side_share_what_is_free() -> None:
    alone, shared = share_bytes(1, None), share_bytes(4, None)
    assert alone is not None
    assert shared is not None
    # What is free changes while we look.
    assert shared == pytest.approx(alone / 4, rel=0.2)


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("1000\n")
    assert _free_of_group(tmp_path) == 700
    (tmp_path / "memory.max").write_text("max\n")
    assert _free_of_group(tmp_path) is None
    assert _free_of_group(tmp_path / "none") is None
