"""However a command ends: no traceback, one line at most, the right status, nothing half-written.

Output that is closed, full or has lost its reader; files that can't grow; Ctrl-C at any moment, once or many times.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fullpipe
from conftest import PROGRAM, SMALL
from fullpipe import Cancelled, Scenario
from fullpipe._cli import Interrupt

ENDLESS = SMALL.replace('"20 s"', '"900000 s"').replace("10 Mbit/s", "1 Gbit/s")
SWEEP = SMALL + '\n[sweep]\n"links.bottleneck.buffer" = ["20 packets", "40 packets"]\n'
SIZE = ["size", "--rate", "1Mbit/s", "--rtt", "20ms", "--flows", "1", "--target", "0.9", "--algorithms", "reno"]
COMMANDS = {
    "run": ["run", "small.toml"],
    "compare": ["compare", "small.toml", "--algorithms", "reno,vegas"],
    "sweep": ["sweep", "sweep.toml"],
    "size": SIZE,
    "algorithms": ["algorithms"],
    "reproduce": ["reproduce", "--list"],
    "linux": ["linux", "list"],
    "help": ["--help"],
}

Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Started:
    """Starts the program in a directory with some scenarios."""
    for name, text in (("small", SMALL), ("sweep", SWEEP), ("endless", ENDLESS)):
        (tmp_path / f"{name}.toml").write_text(text)

    def started(*arguments: str, program: tuple[str | Path, ...] = (PROGRAM,), **options: object) -> object:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path, "text": True}
        return subprocess.Popen([*program, *arguments], **{**pipes, **options})  # type: ignore[call-overload]

    return started


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


GIVEN = ["endless.toml", "small.toml", "sweep.toml"]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_whose_reader_has_gone(start: Started, command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start(*COMMANDS[command], stdout=write)
    os.close(write)
    assert (process.communicate(timeout=120)[1], process.returncode) == ("", 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_standard_output(start: Started, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        process = start(*COMMANDS[command], stdout=full)
    _, err = process.communicate(timeout=120)
    assert (err, process.returncode) == ("fullpipe: standard output: No space left on device\n", 1)


def test_closed_streams(start: Started, tmp_path: Path) -> None:
    shell: tuple[str, ...] = ("sh", "-c", 'exec "$0" "$@" >&-', str(PROGRAM))
    process = start(*COMMANDS["run"], "--out", "out", program=shell)
    assert process.communicate(timeout=60) == ("", "fullpipe: standard output is closed\n")
    assert process.returncode == 1
    assert files(tmp_path) == GIVEN
    # Text for standard error must not appear elsewhere.
    for arguments, status in ((["run", "missing.toml"], 2), (["run", "small.toml", "--json"], 0)):
        process = start(*arguments, program=("sh", "-c", 'exec "$0" "$@" <&- 2>&-', str(PROGRAM)))
        out, _ = process.communicate(timeout=60)
        assert process.returncode == status
        assert "fullpipe: " not in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "small.toml", "--plot", "p.pdf"], "p.pdf"),
        (["run", "small.toml", "--plot", "p.png"], "p.png"),
        (["run", "small.toml", "--plot", "p.svg"], "p.svg"),
        (["run", "small.toml", "--out", "deep/out"], "deep/out"),
        (["compare", "small.toml", "--algorithms", "reno,vegas", "--plot", "p.pdf"], "p.pdf"),
        (["compare", "small.toml", "--algorithms", "reno,vegas", "--out", "out"], "out"),
        (["sweep", "sweep.toml", "--plot", "p.pdf"], "p.pdf"),
        ([*SIZE, "--plot", "p.pdf"], "p.pdf"),
    ],
)
def test_files_that_can_not_grow(start: Started, tmp_path: Path, arguments: list[str], named: str) -> None:
    """A file of more than a kilobyte ends in an error like that of a full disk."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    importlib.import_module("matplotlib.font_manager")  # writes its cache, which a new machine has not
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    process = start(*arguments, preexec_fn=small_files, env=environment)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    # The result of a sweep is printed before it is plotted.
    assert bool(out) == (arguments[0] == "sweep")
    (line,) = err.splitlines()
    assert line.endswith(f"{named}: File too large")
    assert files(tmp_path) == GIVEN


# Ctrl-C.


@pytest.mark.parametrize(
    "module",
    [
        "click",
        "fullpipe._cli",
        "fullpipe.errors",
        "fullpipe._cli.run",
        "fullpipe.scenario",
        "fullpipe._core",
        "fullpipe.runs.result",
    ],
)
def test_interrupted_while_it_loads(start: Started, module: str) -> None:
    """Ctrl-C, thrice, at the moment at which a module begins to load."""
    code = f"""
import os, signal, sys
from importlib.abc import MetaPathFinder

class Hit(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Hit())
from fullpipe.__main__ import main
main()
"""
    process = start("run", "small.toml", program=(sys.executable, "-c", code))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() in ("", "fullpipe: interrupted; nothing is left half-written")


def test_the_program_is_a_module_too(start: Started) -> None:
    process = start("run", "missing.toml", program=(sys.executable, "-m", "fullpipe"))
    assert process.communicate(timeout=60) == ("", "fullpipe: missing.toml: can't be read: No such file or directory\n")
    assert process.returncode == 2


@pytest.mark.parametrize("arguments", [["run"], ["run", "missing.toml"]])
def test_an_older_click(start: Started, arguments: list[str]) -> None:
    """Versions before 8.2 have no separate exception for missing arguments."""
    code = (
        "import click.exceptions as e; vars(e).pop('NoArgsIsHelpError', 0); from fullpipe.__main__ import main; main()"
    )
    process = start(*arguments, program=(sys.executable, "-c", code))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "endless.toml", "--plot", "p.png", "--out", "deep/out"],
        ["compare", "endless.toml", "--algorithms", "reno,vegas,bic", "--out", "deep/out"],
        ["size", "--rate", "1Gbit/s", "--rtt", "100ms", "--flows", "1,2", "--target", "0.9", "--algorithms", "reno"],
    ],
    ids=["run", "compare", "size"],
)
def test_interrupted_again_and_again(start: Started, tmp_path: Path, arguments: list[str]) -> None:
    chance = random.Random(1)
    process = start(*arguments)
    try:
        time.sleep(1.0)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(chance.uniform(0.0, 0.05))
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.strip() in ("", "fullpipe: interrupted; nothing is left half-written")
    assert files(tmp_path) == GIVEN


def test_clearing_up_is_not_disturbed_unless_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    interrupt = Interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)
    now_s = 104.9
    interrupt(2, None)
    now_s = 105.1
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)


def test_worker_threads_that_outlive_the_interpreter(start: Started) -> None:
    """A user's script whose threads still run when Python ends: no panic."""
    code = """
import threading, time, fullpipe
scenario = fullpipe.Scenario.load("endless.toml")
threading.Thread(target=fullpipe.run, args=(scenario,), daemon=True).start()
time.sleep(0.5)
"""
    process = start(program=(sys.executable, "-c", code))
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


# Other threads.

Call = Callable[[threading.Event], object]
CALLS: dict[str, Call] = {
    "run": lambda stop: fullpipe.run(Scenario.loads(ENDLESS), stop=stop),
    "run_many": lambda stop: fullpipe.run_many({i: Scenario.loads(ENDLESS) for i in range(4)}, stop=stop),
    "compare": lambda stop: fullpipe.compare(Scenario.loads(ENDLESS), ["reno", "vegas"], stop=stop),
    "sweep": lambda stop: fullpipe.sweep(Scenario.loads(ENDLESS), {"flows.count": range(1, 9)}, stop=stop),
    "size": lambda stop: fullpipe.size(
        "10 Gbit/s", "100 ms", flows=[1, 2], target=[0.9], algorithms=["reno"], stop=stop
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_run_in_a_thread_is_stopped(call: str) -> None:
    stop, ended = threading.Event(), []

    def work() -> None:
        try:
            CALLS[call](stop)
        except Cancelled as error:
            ended.append(str(error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive()
    stop.set()
    thread.join(timeout=60)
    assert ended == ["stopped"]


def test_what_was_stopped_before_does_not_begin(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        fullpipe.run(Scenario.loads(SMALL), stop=stop)
    with pytest.raises(Cancelled):
        fullpipe.sweep(Scenario.loads(SMALL), {"flows.count": [1]}, out=tmp_path / "out", stop=stop)
    assert files(tmp_path) == []
