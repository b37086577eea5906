"""Ctrl-C in the middle: exit status 130, one line, nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import PROGRAM, ROOT, SMALL, started

ENDLESS = SMALL.replace('"20 s"', '"900000 s"').replace("10 Mbit/s", "1 Gbit/s")


def cpu_ticks(process: subprocess.Popen[str]) -> int:
    """User time so far, in the kernel's ticks of 10 ms."""
    return int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11])


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "endless.toml", "--json", "--plot", "picture.png", "--out", "deep/out"],
        ["compare", "endless.toml", "--algorithms", "reno,vegas,bic", "--out", "deep/out"],
    ],
    ids=["run", "compare"],
)
def test_interrupted(tmp_path: Path, arguments: list[str]) -> None:
    file = tmp_path / "endless.toml"
    file.write_text(ENDLESS)
    command = [PROGRAM, *arguments]
    with started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # Long past the imports, which take a tenth of a second: in the simulation.
        while process.poll() is None and cpu_ticks(process) < 100:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "fullpipe: interrupted; nothing is left half-written")
    assert list(tmp_path.iterdir()) == [file]


def test_what_tests_start_can_be_interrupted_where_sigint_is_ignored() -> None:
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    for configure, told in (("", "True"), ("import conftest; conftest.pytest_configure(); ", "False")):
        code = (
            f"{ignored}{configure}import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT / "tests", capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == told


def test_what_a_test_starts_ends_with_it() -> None:
    processes = []

    def fails() -> None:
        with started(["sleep", "1000"]) as process:
            processes.append(process)
            raise ValueError("the test fails")

    with pytest.raises(ValueError, match="the test fails"):
        fails()
    assert processes[0].returncode == -signal.SIGKILL
