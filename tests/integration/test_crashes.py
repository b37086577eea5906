"""Libraries of custom algorithms that end their process: one line names the algorithm, and other runs are complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import PROGRAM, SMALL

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

LIBRARY = """
#include <signal.h>
#include <stdlib.h>
#include <stdbool.h>
void on_start(void *state, const void *start) {}
int on_ack(double *state, const void *flow, const void *ack) { ENDS; return 0; }
int on_congestion(double *state, const void *flow, long signal) { return 1; }
"""

OWN = """
import fullpipe, math
@fullpipe.algorithm("crashing", library="own.so")
class Crashing:
    cwnd: float = 2.0
    ssthresh: float = math.inf
"""

ENDINGS = {
    "*(volatile int *)8 = 1": "by SIGSEGV",
    "abort()": "by SIGABRT",
    "raise(SIGFPE)": "by SIGFPE",
    "exit(0)": "with exit status 0",
    "_Exit(3)": "with exit status 3",
}
"""Statements in C, and the ending that the message names."""

COMMANDS = {
    "run": ["run", "small.toml", "--load", "own.py", "--set", "flows.0.algorithm=crashing"],
    "compare": ["compare", "small.toml", "--algorithms", "own.py,reno", "--seeds", "2"],
    "duel": ["duel", "small.toml", "--load", "own.py", "--algorithms", "crashing,reno", "--seeds", "2"],
    "evaluate": ["evaluate", "own.py", "--only", "grid", "--seeds", "2"],
}


def build(folder: Path, ends: str) -> None:
    """An algorithm in C whose first acknowledgment executes a statement, and a scenario."""
    (folder / "own.c").write_text(LIBRARY.replace("ENDS", ends))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "own.so", "own.c"], cwd=folder, check=True, timeout=100)
    (folder / "own.py").write_text(OWN)
    (folder / "small.toml").write_text(SMALL)


def execute(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
    )


@pytest.mark.parametrize("ends", ENDINGS)
def test_run_names_the_algorithm_and_how_its_process_ended(tmp_path: Path, ends: str) -> None:
    build(tmp_path, ends)
    done = execute(tmp_path, *COMMANDS["run"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fullpipe: algorithm crashing: the process of its run ended {ENDINGS[ends]}\n"


@pytest.mark.parametrize("ends", ["*(volatile int *)8 = 1", "exit(0)"])
@pytest.mark.parametrize("command", ["compare", "duel", "evaluate"])
def test_other_runs_of_an_experiment_are_completed_and_failed_ones_named(
    tmp_path: Path, command: str, ends: str
) -> None:
    build(tmp_path, ends)
    done = execute(tmp_path, *COMMANDS[command], "--json", "--out", "out")
    why = f"algorithm crashing: the process of its run ended {ENDINGS[ends]}"
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.match(rf"fullpipe: {FAILED[command]} runs failed, run \d+: {why}; also runs? \d", line), line
    plain = json.loads(done.stdout)
    kept = {name: plain[name] for name in ("failed", "runs") if name in plain}
    errors = [row["error"] for rows in kept.values() for row in rows if row.get("error")]
    assert errors == [why] * int(FAILED[command].split()[0])
    runs = [row for row in kept["runs"] if "error" not in row] if "runs" in kept else plain["criteria"][0]["cells"]
    assert runs
    assert len(list((tmp_path / "out").glob("*.json"))) >= 1
    shown = execute(tmp_path, *COMMANDS[command])
    assert shown.returncode == 1
    assert why in shown.stdout


FAILED = {"compare": "2 of 4", "duel": "8 of 12", "evaluate": "2 of 6"}
"""Failed runs of `COMMANDS`, and all runs."""


def test_experiment_of_which_all_runs_fail_ends_in_one_line(tmp_path: Path) -> None:
    build(tmp_path, "abort()")
    done = execute(tmp_path, "compare", "small.toml", "--algorithms", "own.py", "--out", "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fullpipe: algorithm crashing: the process of its run ended by SIGABRT\n"
    assert not (tmp_path / "out" / "comparison.json").exists()


@pytest.mark.parametrize("ends", ["*(volatile int *)8 = 1", "exit(0)"])
def test_sweep_completes_the_runs_of_other_algorithms(tmp_path: Path, ends: str) -> None:
    build(tmp_path, ends)
    (tmp_path / "sweep.toml").write_text(SMALL + '\n[sweep]\nrepeats = 2\n"flows.0.algorithm" = ["crashing", "reno"]\n')
    done = execute(tmp_path, "sweep", "sweep.toml", "--load", "own.py")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.search(rf"2 of 4 .*algorithm crashing: the process of its run ended {ENDINGS[ends]}", line), line
    assert "reno" in done.stdout


HOLDING = """
import ctypes, os, pathlib, fullpipe

@fullpipe.algorithm("holding", recovery="newreno")
class Holding(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1 / w

    def decrease(self, w, flow, signal):
        pathlib.Path("pid").write_text(str(os.getpid()))
        ctypes.PyDLL(None).sleep(300)  # with the lock of the interpreter
        return w / 2
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal of Linux")
def test_a_run_ends_with_its_killed_command(tmp_path: Path) -> None:
    """No thread of the run's process gets the lock, and the kernel ends it."""
    (tmp_path / "own.py").write_text(HOLDING)
    (tmp_path / "small.toml").write_text(SMALL)
    child_ends_with(tmp_path, "compare", "small.toml", "--algorithms", "own.py,reno")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal of Linux")
def test_a_program_with_controllers_ends_with_its_killed_command(tmp_path: Path) -> None:
    """The program has a session of its own, so that no signal of the terminal reaches it."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho $$ > pid\nexec sleep 300\n")
    program.chmod(0o755)
    child_ends_with(tmp_path, "conform", "cubic", "--rules", "rfc9438", "--program", str(program))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal of Linux")
def test_loading_of_a_library_ends_with_its_killed_command(tmp_path: Path) -> None:
    """Code that runs while a library is loaded does not return."""
    code = """
    #include <stdio.h>
    #include <unistd.h>
    __attribute__((constructor)) static void holds(void) {
        FILE *file = fopen("pid", "w");
        fprintf(file, "%d", getpid());
        fclose(file);
        sleep(300);
    }
    """
    (tmp_path / "own.c").write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "own.so", "own.c"], cwd=tmp_path, check=True)
    (tmp_path / "small.toml").write_text(SMALL)
    child_ends_with(tmp_path, "compare", "small.toml", "--algorithms", "./own.so:own,reno")


def child_ends_with(folder: Path, *command: str) -> None:
    """Kills a command when its child has written its process number to the file `pid`."""
    process = subprocess.Popen([PROGRAM, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = folder / "pid"
    wait_until(lambda: file.exists() and file.read_text() != "")
    child = Path("/proc", file.read_text().strip())
    assert child.exists()
    assert child.name != str(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not child.exists() or (child / "stat").read_text().rpartition(")")[2].split()[0] == "Z")


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail("it takes longer than 60 s")
