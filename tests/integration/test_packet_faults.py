"""Packet-level controllers that crash, never return, or return wrong values: an error names them, others go on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import traceback
from pathlib import Path

import pytest

import fullpipe
from conftest import PROGRAM, SMALL
from fullpipe.custom import arguments
from fullpipe.custom.compiled import HEADER
from fullpipe.engine import simulator
from fullpipe.errors import AlgorithmError, InputError
from fullpipe.experiments.conform import harness
from hostile import PROGRAM as COMMAND_LINE
from hostile import ending
from test_packet_algorithm import AIMD
from test_packet_library import SOURCE

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

ENDINGS = {"*(volatile int *)8 = 1": "by SIGSEGV", "abort()": "by SIGABRT", "exit(0)": "with exit status 0"}
"""Statements in C, and the ending that the message names."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    """The library of the example in C, with changes."""
    text = SOURCE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    source = folder / "own.c"
    source.write_text(text)
    library = folder / "libaimd.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{Path(HEADER).parent}", "-o", library, source], check=True)
    return library


def execute(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, check=False)


@needs_compiler
@pytest.mark.parametrize("ends", ENDINGS)
@pytest.mark.parametrize("call", ["uint64_t bytes = 0;", "(void)persistent;", "(void)params;"])
def test_crash_is_named_and_other_runs_are_complete(folder: Path, ends: str, call: str) -> None:
    edited(folder, (call, f"{call} {ends};"))
    done = execute("compare", "small.toml", "--algorithms", "libaimd.so,newreno", "--seeds", "2", "--json")
    why = f"algorithm c-aimd: the process of its run ended {ENDINGS[ends]}"
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fullpipe: 2 of 4 runs failed, run 0: {why}")
    runs = json.loads(done.stdout)["runs"]
    assert [row.get("error") for row in runs] == [why, why, None, None]


@needs_compiler
def test_check_counts_a_crash_as_worse_and_judges_the_others(folder: Path) -> None:
    edited(folder, ("uint64_t bytes = 0;", "abort(); uint64_t bytes = 0;"))
    (folder / "suite.toml").write_text(
        'scenarios = [{ name = "s", file = "small.toml" }]\ncontrollers = { mine = "libaimd.so:c-aimd" }\nchecks = ['
        + "".join(
            f'{{ id = "{name}", scenario = "s", controller = "{name}", metric = "goodput_bps", min = "1 Mbit/s" }},'
            for name in ("mine", "newreno")
        )
        + "]\n"
    )
    done = execute("check", "suite.toml", "--json")
    assert done.returncode == 1
    checks = {each["id"]: each for each in json.loads(done.stdout)["checks"]}
    assert (checks["mine"]["verdict"], checks["newreno"]["verdict"]) == ("worse", "ok")
    assert "SIGABRT" in json.dumps(checks["mine"])


@needs_compiler
def test_conform_names_a_crash_in_one_line(folder: Path) -> None:
    edited(folder, ("uint64_t bytes = 0;", "abort(); uint64_t bytes = 0;"))
    done = execute("conform", "libaimd.so:c-aimd", "--rules", "rfc9438")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fullpipe: algorithm c-aimd: the process of its run ended by SIGABRT\n"


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("return &library;", "abort();", "by SIGABRT"),
        ("return &library;", "return (const void *)64;", "by SIGSEGV"),
        (".controls = &control", ".controls = (const void *)64", "by SIGSEGV"),
        ('.name = "c-aimd"', ".name = (const char *)64", "by SIGSEGV"),
        (".create = create,", ".create = create, .n_params = 3, .params = (const void *)64,", "by SIGSEGV"),
        (
            "static void *create(",
            "__attribute__((constructor)) static void begin(void) { _Exit(3); }\nstatic void *create(",
            "with 3",
        ),
    ],
)
def test_library_that_ends_its_process_while_it_is_read_is_refused(folder: Path, old: str, new: str, how: str) -> None:
    edited(folder, (old, new))
    done = execute("compare", "small.toml", "--algorithms", "libaimd.so,newreno")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fullpipe: libaimd.so: loading it ends the process ({how})\n"


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return ((struct aimd *)state)->window;", "return 0;", "returned window 0 after "),
        ("return ((struct aimd *)state)->window;", "return UINT64_MAX;", f"returned window {2**64 - 1} after "),
        (
            ".window = window,",
            ".window = window, .pacing_rate = rate,",
            "returned pacing rate -1 after ",
        ),
        ("(void)rtt;", "(void)rtt; if (path->now > 0) return 7;", "acked of the library returned 7"),
        ("return s;\n}", "free(s); return NULL;\n}", "create returned NULL"),
    ],
)
def test_wrong_value_of_a_library_is_named(folder: Path, old: str, new: str, said: str) -> None:
    rate = "static double rate(void *state) { (void)state; return -1; }\n" if "rate" in new else ""
    edited(
        folder,
        (old, new),
        ("static const struct fullpipe_packet_control", rate + "static const struct fullpipe_packet_control"),
    )
    done = execute("compare", "small.toml", "--algorithms", "libaimd.so,newreno", "--seeds", "1", "--json")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "c-aimd" in line
    assert said in line
    assert [("error" in row) for row in json.loads(done.stdout)["runs"]] == [True, False]


@pytest.mark.parametrize(
    ("method", "value", "said"),
    [
        ("window_bytes", "float('nan')", "window nan"),
        ("window_bytes", "float('inf')", "window inf"),
        ("window_bytes", "-1", "window -1"),
        ("window_bytes", "2**200", f"window {2**200}"),
        ("window_bytes", "None", "window_bytes must return a number, got None"),
        ("pacing_rate_bytes_per_s", "float('nan')", "pacing rate NaN"),
        ("pacing_rate_bytes_per_s", "0.0", "pacing rate 0"),
        ("send_quantum_bytes", "float('nan')", "send_quantum_bytes must return bytes in [0, 2^63], got nan"),
        ("send_quantum_bytes", "-5", "send_quantum_bytes must return bytes in [0, 2^63], got -5"),
        ("ssthresh_bytes", "float('nan')", "ssthresh_bytes must return bytes in [0, 2^63], got nan"),
    ],
)
def test_wrong_value_of_a_class_is_named(folder: Path, method: str, value: str, said: str) -> None:
    text = AIMD.format(name="wrong-value").replace("def window_bytes", "def _window_bytes", method == "window_bytes")
    (folder / "own.py").write_text(f"{text}\n    def {method}(self):\n        return {value}\n")
    done = execute("compare", "small.toml", "--algorithms", "own.py,newreno", "--seeds", "1", "--json")
    assert done.returncode == 1
    line = done.stderr.splitlines()[0]
    assert "wrong-value" in line
    assert said in line
    assert [("error" in row) for row in json.loads(done.stdout)["runs"]] == [True, False]


@needs_compiler
def test_library_that_is_built_again_is_loaded_again(folder: Path) -> None:
    scenario = fullpipe.Scenario.load("small.toml")

    def goodputs(*changes: tuple[str, str]) -> tuple[float, float]:
        edited(folder, *changes)
        mine = scenario.set({"flows.0.algorithm": arguments.load_algorithms("libaimd.so:c-aimd")})
        simulation = fullpipe.Simulation(mine)
        simulation.advance("20 s")
        # One in a new process, and one in this process.
        results = fullpipe.run(mine), simulation.result()
        return tuple(result.flows["goodput_bps"][0].as_py() for result in results)  # type: ignore[return-value]

    before = goodputs()
    after = goodputs(("return ((struct aimd *)state)->window;", "return 3000;"))
    assert before[0] == before[1] != after[0] == after[1]


@needs_compiler
def test_endless_loop_of_a_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "MOST_SILENT_S", 1.0)
    edited(folder, ("uint64_t bytes = 0;", "uint64_t bytes = 0; for (volatile int i = 0;; i ^= 1);"))
    name = arguments.load_algorithms("libaimd.so")
    with pytest.raises(AlgorithmError, match=r"algorithm c-aimd: a call of it has not returned for 1 s"):
        fullpipe.run(fullpipe.Scenario.load("small.toml").set({"flows.0.algorithm": name}))


COMPILED = """
import math, fullpipe
@fullpipe.algorithm("endless", compiled=True)
class Endless:
    cwnd: float = 2.0
    ssthresh: float = math.inf
    def on_ack(self, flow, ack):
        while self.cwnd > 0:
            self.cwnd = 3.0
    def on_congestion(self, flow, signal):
        pass
"""


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (AIMD.format(name="endless").replace("if path", "sum(iter(int, 1))\n        if path"), ("run", "--load")),
        (COMPILED, ("run", "--load")),
        (COMPILED, ("compare", "--seeds", "1", "--algorithms")),
    ],
    ids=["interpreted", "compiled", "compiled, in a thread"],
)
def test_command_ends_an_endless_loop_in_one_line(folder: Path, text: str, arguments: tuple[str, ...]) -> None:
    if text == COMPILED:
        pytest.importorskip("numba", reason="no Numba: compiled classes are not tested")
    (folder / "own.py").write_text(text)
    (folder / "small.toml").write_text(SMALL.replace('"newreno"', '"endless"', arguments[0] == "run"))
    # Only the end of the process ends compiled code.
    code = "from fullpipe.engine import simulator\nsimulator.MOST_SILENT_S = 1.0\n"
    found = ending([arguments[0], "small.toml", *arguments[1:], "own.py"], folder, code + COMMAND_LINE)
    assert (found.status, found.output) == (1, b"")
    assert found.lines == ["fullpipe: algorithm endless (own.py): a call of it has not returned for 1 s"]


def test_endless_loop_of_a_class_is_named_and_other_runs_are_complete(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator, "MOST_SILENT_S", 1.0)
    (folder / "own.py").write_text(
        AIMD.format(name="endless").replace("if path.cwnd_limited", "while True: pass\n        if path.cwnd_limited")
    )
    found = fullpipe.compare("small.toml", ["own.py", "newreno"], seeds=2, workers=2)
    assert (found.failed, found.runs.num_rows) == (2, 4)
    assert "algorithm endless (own.py): a call of it has not returned for 1 s" in json.dumps(found.to_json())


LOOPS = {
    "loop": "while True: pass",
    "loop that catches exceptions": """while True:
            try:
                sum(range(1000))
            except Exception:
                pass""",
    "loop of short calls in C": "while True: sum(range(1000))",
}
"""Statements of a method that never end."""


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_run_in_the_main_thread_ends_an_endless_loop(folder: Path, monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    monkeypatch.setattr(simulator, "MOST_SILENT_S", 1.0)
    text = AIMD.format(name="endless").replace("if path.cwnd_limited", f"{loop}\n        if path.cwnd_limited")
    (folder / "own.py").write_text(text)
    scenario = fullpipe.Scenario.load("small.toml").set({"flows.0.algorithm": arguments.load_algorithms("own.py")})
    with pytest.raises(AlgorithmError) as error:
        fullpipe.run(scenario)
    assert str(error.value) == "algorithm endless (own.py): a call of it has not returned for 1 s"
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "while True" in line)
    *_, last = traceback.extract_tb(error.value.__cause__ and error.value.__cause__.__traceback__)
    assert line <= (last.lineno or 0) <= line + len(loop.splitlines())


def test_progress_of_the_caller_may_take_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is one for calls of the algorithm."""
    monkeypatch.setattr(simulator, "MOST_SILENT_S", 0.5)
    monkeypatch.setattr(simulator, "WATCH_S", 0.05)
    (folder / "own.py").write_text(AIMD.format(name="busy"))
    scenario = fullpipe.Scenario.load("small.toml").set({"flows.0.algorithm": arguments.load_algorithms("own.py")})
    told = []

    def work(reached_s: float, _: float) -> None:
        begun = time.process_time()
        while not told and time.process_time() < begun + 1.5:
            pass
        told.append(reached_s)

    fullpipe.run(scenario.set({"duration": "200 s"}), progress=work)
    assert told


@needs_compiler
def test_conform_judges_the_other_rules_after_a_crash(folder: Path) -> None:
    edited(folder, ("(void)persistent;", "abort();"))
    why = "algorithm c-aimd: the process of its run ended by SIGABRT"
    found = fullpipe.conform("libaimd.so", "ratelimited")
    failed = {"verdict": "fail", "measured": None, "error": why}
    rules = {each.rule.id: each.to_dict() for each in found.rules}
    assert {name for name, rule in rules.items() if rule.items() >= failed.items()} == {"L3", "L4"}  # those with a loss
    assert [rule["verdict"] for rule in rules.values()] == ["pass", "fail", "fail", "fail", "pass", "pass"]
    assert found.failed() == ["L2", "L3", "L4"]
    assert f"failed: L3, L4: {why}" in found.shown()


def test_conform_ends_an_endless_loop(folder: Path) -> None:
    (folder / "own.py").write_text(AIMD.format(name="endless").replace("if path", "sum(iter(int, 1))\n        if path"))
    code = "from fullpipe.engine import simulator\nsimulator.MOST_SILENT_S = 1.0\n"
    found = ending(["conform", "own.py"], folder, code + COMMAND_LINE)
    assert found.status == 1
    assert found.lines == ["fullpipe: algorithm endless (own.py): a call of it has not returned for 1 s"]


def make_program(folder: Path, script: str) -> None:
    (folder / "controllers").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "controllers").chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("sleep 1000", "a scenario must take at most 0.5 s"),
        ("exec >&- 2>&-; sleep 1000", "a scenario must take at most 0.5 s"),
        (
            "setsid sh -c 'touch ready; sleep 5' & until [ -e ready ]; do sleep 0.01; done; exit 0",
            "a process that it starts keeps its output open",
        ),
        ("sleep 1000 & exit 0", "prints no series of a flow"),
    ],
)
def test_program_of_controllers_that_does_not_end_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setattr(harness, "MOST_PROGRAM_S", 0.5 if "0.5 s" in said else 60.0)
    monkeypatch.setattr(harness, "MOST_CLOSING_S", 0.5)
    make_program(folder, script)
    with pytest.raises(InputError, match=re.escape(f"./controllers: {said}")):
        fullpipe.conform("newreno", program="./controllers")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("yes", "must have at most 50 MB"),
        ("yes >&2", "must have at most 50 MB"),
        ("printf '\\033[2J' >&2; exit 1", r"\x1b[2J"),
        ("exit 3", "exit status 3"),
        ("kill -SEGV $$", "exit status -11"),
        ("head -c 300000 /dev/zero | tr '\\0' '['", "prints no series of a flow"),
        ("""echo '{"series": {"t_s": 1}, "flows": [{}]}'""", "prints no series of a flow"),
        ("""echo '{"series": {"t_s": ["a"], "cwnd_packets": [1]}, "flows": [{}]}'""", "prints no series of a flow"),
        ("""echo '{"series": {"t_s": [1]}, "flows": [{}]}'""", "prints no series of a flow"),
    ],
)
def test_program_of_controllers_that_answers_wrongly_is_one_line(folder: Path, script: str, said: str) -> None:
    make_program(folder, script)
    found = ending(["conform", "newreno", "--program", "./controllers"], folder)
    assert found.output == b""
    (line,) = found.lines
    assert line.startswith("fullpipe: ./controllers: ")
    assert said in line
    assert found.status == (1 if "status" in said or "x1b" in said else 2)
    assert found.peak_bytes < 300_000_000
