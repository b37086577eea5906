"""Custom algorithms in Python."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import fullpipe
from conftest import PROGRAM, Program, started
from fullpipe import Scenario
from fullpipe.custom import declared
from fullpipe.custom.compiled import HEADER
from fullpipe.errors import AlgorithmError, InputError, ScenarioError

NETWORK: dict[str, Any] = {
    "duration": "8 s",
    "warmup": "1 s",
    "series_interval": "50 ms",
    "links": [{"name": "l", "rate": "20 Mbit/s", "delay": "10 ms", "buffer": "20 packets"}],
}


def scenario(algorithm: Any, **keys: Any) -> Scenario:
    return Scenario(**NETWORK, flows=[{"algorithm": algorithm, **keys}])


def interrupted(line: list[Any], directory: Path, begun: str, *, after_s: float = 0) -> tuple[int, str]:
    """Sends Ctrl-C to a program a given time after it has created the file ``begun``, before which it must not end.
    Returns its exit status and its output.
    """
    with started(line, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (directory / begun).exists():
            time.sleep(0.05)
        time.sleep(after_s)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@fullpipe.algorithm("own-reno", recovery="newreno", inspect=["beta"])
class Reno:
    """RFC 5681, written out."""

    cwnd: float = 2.0
    ssthresh: float = math.inf
    alpha: float = 1.0
    beta: float = 0.5

    def on_ack(self, flow, ack):
        if flow.in_recovery or not flow.cwnd_limited or ack.credit == 0:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.credit
        else:
            self.cwnd += ack.credit * (self.alpha / self.cwnd)

    def on_congestion(self, flow, signal):
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, flow.flight_size)
        self.ssthresh = max(self.beta * w, 2.0)
        self.cwnd = {
            fullpipe.Signal.LOSS: self.ssthresh,
            fullpipe.Signal.ECN: max(self.beta * w, 1.0),
            fullpipe.Signal.TIMEOUT: 1.0,
        }[signal]


@fullpipe.algorithm("own-classic", recovery="newreno")
class Around(fullpipe.Classic):
    alpha: float = 1.0

    def increase(self, w, flow, ack):  # noqa: ARG002
        return self.alpha / w

    def decrease(self, w, flow, signal):  # noqa: ARG002
        return w / 2


KINDS: list[dict[str, Any]] = [
    {"count": 3, "start": "0 s..1 s", "access_delay": "0 ms..9 ms"},
    {"recovery": "rack", "handshake": True, "pacing": "on", "count": 2, "start": "0 s..1 s"},
    {"recovery": "sack", "delayed_ack": True, "byte_counting": True, "ecn": "classic", "size": "8 MB"},
]


def nameless(result: fullpipe.Result) -> str:
    """A result's tables without names and internals, every digit of them."""
    flows = result.flows.drop_columns(["name", "algorithm"] if "name" in result.flows.column_names else ["algorithm"])
    tables = [result.links, flows, result.series.select(range(6)), result.link_series]
    return str([table.to_pydict() for table in tables])


@pytest.mark.parametrize("keys", KINDS, ids=["newreno", "rack", "sack"])
@pytest.mark.parametrize("name", ["own-reno", "own-classic"])
def test_reno_is_reno_to_the_bit(name: str, keys: dict[str, Any]) -> None:
    own = fullpipe.run(scenario(name, **keys))
    built_in = fullpipe.run(scenario("newreno", **keys))
    assert own.flows["fast_recoveries"].to_pylist()[0] > 0
    assert nameless(own) == nameless(built_in)
    if name == "own-reno":
        assert set(own.series["beta"].to_pylist()) == {0.5}


def test_fields_are_parameters() -> None:
    assert [param.name for param in fullpipe.algorithms()["own-reno"].params] == ["alpha", "beta"]
    faster = scenario({"name": "own-reno", "alpha": 4, "beta": 0.7})
    series = fullpipe.run(faster).series
    assert set(series["beta"].to_pylist()) == {0.7}
    assert Scenario.loads(faster.to_toml()) == faster
    assert faster.resolved().to_dict()["flows"][0]["algorithm"] == {"name": "own-reno", "alpha": 4.0, "beta": 0.7}
    with pytest.raises(ScenarioError, match="gamma"):
        scenario({"name": "own-reno", "gamma": 1})
    with pytest.raises(ScenarioError, match=r'did you mean "own-reno"\?'):
        scenario("own-rneo")
    with pytest.raises(ScenarioError, match="NaN"):
        scenario({"name": "own-reno", "alpha": math.nan})


def test_a_round_trip_a_start_and_a_recovery_are_told() -> None:
    @fullpipe.algorithm("own-told", inspect=["rounds", "began", "recovered", "rtt"])
    class Told(fullpipe.Classic):
        _rtt: float = 0.0
        rounds: float = 0.0
        began: float = 0.0
        recovered: float = 0.0
        rtt: float = 0.0

        def on_start(self, start):
            self.began = start.window
            self.rtt = start.rtt_s

        def on_round(self, flow):
            self.rounds += 1
            assert self.rounds == flow.round

        def on_recovered(self, _flow):
            self.recovered += 1

        def increase(self, w, flow, ack):  # noqa: ARG002
            return 1 / w

        def decrease(self, w, flow, signal):  # noqa: ARG002
            return w / 2

    result = fullpipe.run(scenario("own-told", initial_window=7))
    row = result.series.to_pylist()[-1]
    # 20 ms and up to 8 ms of queue (20 packets of 0.4 ms).
    assert 8 / 0.0285 < row["rounds"] < 8 / 0.020
    assert row["recovered"] >= result.flows["fast_recoveries"].to_pylist()[0] - 1 > 3
    assert (row["began"], row["rtt"]) == (7.0, 0.020)


def test_a_pacing_rate_paces() -> None:
    """500 segments of 1000 bytes a second are 4 Mbit/s."""

    @fullpipe.algorithm("own-paced")
    class Paced:
        cwnd: float = 1000.0
        ssthresh: float = math.inf
        pacing_rate: float = 500.0

        def on_start(self, _start):
            self.cwnd = 1000.0

        def on_ack(self, flow, ack):
            pass

        def on_congestion(self, flow, signal):
            pass

    assert fullpipe.run(scenario("own-paced")).flows["goodput_bps"][0].as_py() == pytest.approx(4e6, rel=2e-3)


def test_rate_samples_are_measured() -> None:
    """A full link delivers 20 Mbit/s: 2500 segments a second."""

    @fullpipe.algorithm("own-rates", rate_samples=True, inspect=["best"])
    class Rates(fullpipe.Classic):
        best: float = 0.0

        def on_ack(self, flow, ack):
            if ack.delivery_rate > self.best:
                self.best = ack.delivery_rate
            super(type(self), self).on_ack(flow, ack)

        def increase(self, w, flow, ack):  # noqa: ARG002
            return 1 / w

        def decrease(self, w, flow, signal):  # noqa: ARG002
            return w / 2

    assert fullpipe.run(scenario("own-rates")).series["best"][-1].as_py() == pytest.approx(2500, rel=0.02)


def failing(name: str, body: str) -> type:
    space: dict[str, Any] = {"fullpipe": fullpipe, "math": math}
    exec(  # a class whose method does what the test wants
        f'@fullpipe.algorithm("{name}")\nclass Failing:\n cwnd: float = 2.0\n ssthresh: float = math.inf\n'
        f" def on_ack(self, flow, ack):\n  {body}\n def on_congestion(self, flow, signal): pass\n",
        space,
    )
    return space["Failing"]


def test_what_it_raises_comes_back_with_its_own_lines() -> None:
    @fullpipe.algorithm("own-wrong")
    class Wrong(Reno):
        def on_ack(self, flow, ack):
            if flow.delivered > 50:
                self.divide(ack)

        def divide(self, ack):
            return ack.credit / 0

    with pytest.raises(AlgorithmError) as caught:
        fullpipe.run(scenario("own-wrong"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)]
    assert frames == ["on_ack", "divide"]
    assert str(caught.value).startswith('algorithm "own-wrong", flow 0, at ')
    assert str(caught.value).endswith(" s: ZeroDivisionError: float division by zero")


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("own-nan", "self.cwnd = math.nan", "the window must be in [1, 2147483647] segments, got NaN"),
        ("own-zero", "self.cwnd = 0", "the window must be in [1, 2147483647] segments, got 0"),
        ("own-huge", "self.cwnd = 1e308", "the window must be in [1, 2147483647] segments, got 1e308"),
        ("own-text", "self.cwnd = 'ten'", "TypeError: "),
        ("own-none", "del self.__dict__['cwnd'], type(self).cwnd", "AttributeError: "),
    ],
)
def test_a_window_that_is_none_is_named(name: str, body: str, said: str) -> None:
    failing(name, body)
    with pytest.raises(AlgorithmError) as caught:
        fullpipe.run(scenario(name))
    assert said in str(caught.value)


def test_one_that_cannot_begin_is_named() -> None:
    @fullpipe.algorithm("own-unborn")
    class Unborn(Reno):
        def __init__(self):
            raise RuntimeError("not today")

    with pytest.raises(AlgorithmError, match=r'"own-unborn", flow 0, at 0 s: RuntimeError: not today'):
        fullpipe.run(scenario("own-unborn"))


@pytest.mark.parametrize(
    ("options", "fields", "said"),
    [
        ({"name": "cubic"}, {}, "conflicts with the built-in"),
        ({"name": "a b"}, {}, "requires a name"),
        ({"recovery": "sac"}, {}, "unknown recovery"),
        ({"group": "losses"}, {}, "did you mean"),
        ({}, {"on_ack": None}, "requires a method on_ack"),
        ({}, {"cwnd": None}, "requires a number cwnd"),
        (
            {},
            {"gain": "high", "__annotations__": {"gain": str}},
            "parameter gain must be a number or a flag, got 'high'",
        ),
        ({"inspect": ["gain"]}, {}, "inspect: unknown field"),
    ],
)
def test_what_cannot_be_declared(options: dict[str, Any], fields: dict[str, Any], said: str) -> None:
    kind = type("Odd", (Reno,), fields)
    with pytest.raises(InputError, match=said):
        fullpipe.algorithm(**{"name": "own-odd", **options})(kind)


PLAIN = """
import os
import fullpipe

@fullpipe.algorithm("plain-aimd", recovery="newreno", inspect=["process"])
class Aimd(fullpipe.Classic):
    alpha: float = 1.0
    process: float = 0.0

    def on_start(self, _start):
        self.process = float(os.getpid())

    def increase(self, w, flow, ack):
        return self.alpha / w

    def decrease(self, w, flow, signal):
        return w / 2
"""


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    file = tmp_path / "aimd.py"
    file.write_text(PLAIN)
    return file


def test_two_at_once_use_two_processes(plain: Path) -> None:
    from fullpipe.custom.arguments import load_algorithms

    name = load_algorithms(f"{plain}:Aimd")
    runs = {alpha: scenario({"name": name, "alpha": alpha}) for alpha in (1, 2)}
    results = fullpipe.run_many(runs, workers=2)
    processes = {result.series["process"][-1].as_py() for result in results.values()}
    assert len(processes) == 2
    assert os.getpid() not in processes
    for alpha, result in results.items():
        alone = fullpipe.run(runs[alpha])
        assert alone.series["process"][-1].as_py() == os.getpid()
        assert nameless(result) == nameless(alone)


def test_a_failure_in_another_process_comes_back() -> None:
    failing("own-far", "raise RuntimeError('far away')")
    with pytest.raises(AlgorithmError, match="RuntimeError: far away"):
        fullpipe.run_many({1: scenario("own-far"), 2: scenario("own-far")}, workers=2)


def test_a_scenario_takes_its_algorithms_along(tmp_path: Path) -> None:
    """A class of a test's own, to a process that has never heard of it."""
    file = tmp_path / "scenario.pickle"
    file.write_bytes(pickle.dumps(scenario("own-classic", count=2)))
    code = (
        "import pickle, sys, fullpipe; result = fullpipe.run(pickle.load(open(sys.argv[1], 'rb'))); "
        "print(result.flows['goodput_bps'].to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", code, file], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(fullpipe.run(scenario("own-classic", count=2)).flows["goodput_bps"].to_pylist())


def test_threads_that_send_the_same_class_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As runs side by side do, each of which begins a process."""
    monkeypatch.setattr(declared._declared["own-reno"], "data", None)
    real, count = cloudpickle.dumps, 6
    together = threading.Barrier(count)

    def slow(what: Any) -> bytes:
        time.sleep(0.02)
        data: bytes = real(what)
        return data

    monkeypatch.setattr(cloudpickle, "dumps", slow)

    def send(_: int) -> bytes:
        together.wait(timeout=60)
        return pickle.dumps(scenario("own-reno"))

    with ThreadPoolExecutor(count) as pool:
        assert len(set(pool.map(send, range(count)))) == 1


def test_sweeps_name_the_source_in_each_row(tmp_path: Path, plain: Path) -> None:
    from fullpipe.custom.arguments import load_algorithms

    # The number of its process is nothing that the content of a class decides.
    text = PLAIN.replace("float(os.getpid())", "1.0")
    plain.write_text(text)
    load_algorithms(str(plain))

    def sweep(out: str) -> fullpipe.Sweep:
        axes = {"flows.algorithm": ["newreno", "plain-aimd"]}
        return fullpipe.sweep(scenario("newreno"), axes, seeds=2, out=tmp_path / out, workers=2)

    first = sweep("a")
    assert first.failed == 0
    (source,) = set(first.runs["algorithm_source"].to_pylist())
    assert len(source) == 12
    figures = first.summary().to_pylist()
    assert figures[0]["utilization_mean"] == figures[1]["utilization_mean"]
    plain.write_text(text.replace("w / 2", "w / 3"))
    load_algorithms(str(plain))
    with pytest.raises(InputError, match="another sweep"):
        sweep("a")
    second = sweep("b")
    assert set(second.runs["algorithm_source"].to_pylist()) != {source}
    # Without a custom algorithm, there is no such column.
    assert "algorithm_source" not in fullpipe.sweep(scenario("newreno"), {"seed": [1]}).runs.column_names


TOML = """
duration = "3 s"
links = [{ name = "l", rate = "20 Mbit/s", delay = "10 ms", buffer = "20 packets" }]
flows = [{ algorithm = "plain-aimd" }]
"""


def test_the_command_line(program: Program, tmp_path: Path, plain: Path) -> None:  # noqa: ARG001
    (tmp_path / "s.toml").write_text(TOML)
    refused = program("run", "s.toml")
    assert refused.returncode == 2
    assert "unknown algorithm" in refused.stderr, "a TOML file alone runs no code"
    done = program("run", "s.toml", "--load", "aimd.py", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    for named in ("aimd.py", "aimd.py:Aimd", "./aimd.py"):
        done = program("compare", "s.toml", "--load", "aimd.py", "--algorithms", f"newreno,{named}")
        assert done.returncode == 0, done.stderr
        newreno, own = (line.split()[1:] for line in done.stdout.splitlines()[3:5])
        assert newreno == own
    done = program("compare", "s.toml", "--algorithms", '{ name = "aimd.py:Aimd", alpha = 2 }')
    assert "plain-aimd (alpha=2)" in done.stdout, done.stderr
    done = program("duel", "s.toml", "--seeds", "2", "--algorithms", '{ name = "aimd.py", alpha = 2 },newreno')
    assert "plain-aimd (alpha=2)" in done.stdout, done.stderr
    told = program("algorithms", "aimd.py")
    assert (told.returncode, told.stdout.splitlines()[0]) == (0, "plain-aimd")
    assert "alpha = 1 (allowed: any number)" in told.stdout
    for named, said in {
        "none.py": "none.py: can't be read: No such file or directory",
        "aimd.py:Other": "unknown algorithm class 'Other' (allowed: Aimd)",
    }.items():
        refused = program("compare", "s.toml", "--load", "aimd.py", "--algorithms", f"newreno,{named}")
        assert refused.returncode == 2
        assert said in refused.stderr


def test_a_file_as_the_value_of_a_key_is_refused_with_the_option(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML.replace("plain-aimd", "newreno"))
    (tmp_path / "aimd.py").write_text(PLAIN)
    refused = program("run", "s.toml", "--set", "flows.algorithm=aimd.py")
    assert refused.returncode == 2
    assert "pass --load aimd.py, and set its name" in refused.stderr
    assert program("run", "s.toml", "--load", "aimd.py", "--set", "flows.algorithm=plain-aimd").returncode == 0


def test_the_command_line_shows_the_lines_at_fault(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN.replace("return self.alpha / w", "return self.alpha / (w - w)"))
    for arguments in (
        ["run", "s.toml", "--load", "aimd.py"],
        ["compare", "s.toml", "--load", "aimd.py", "--algorithms", "plain-aimd"],
    ):
        done = program(*arguments)
        assert done.returncode == 1
        assert "return self.alpha / (w - w)" in done.stderr
        assert done.stderr.splitlines()[-1].startswith('fullpipe: algorithm "plain-aimd", flow 0, at ')


@pytest.mark.parametrize("command", ["run", "compare"])
def test_ctrl_c_ends_an_endless_loop(tmp_path: Path, command: str) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    # In C, with the interpreter's lock: no handler of a signal is called.
    loop = "open('looping', 'w').close()\n        sum(iter(int, 1))"
    (tmp_path / "aimd.py").write_text(PLAIN.replace("return self.alpha / w", loop))
    arguments = ["--algorithms", "plain-aimd"] if command == "compare" else []
    line = [PROGRAM, command, "s.toml", "--load", "aimd.py", *arguments]
    status, said = interrupted(line, tmp_path, "looping")
    assert (status, said.strip()) == (130, "fullpipe: interrupted; nothing is left half-written")


def line_of(done: subprocess.CompletedProcess[str], status: int) -> str:
    """The only line of a program that ends in this way."""
    assert (done.returncode, done.stdout) == (status, ""), done
    (line,) = done.stderr.splitlines()
    return line.removeprefix("fullpipe: ")


ENDING = "\n\nimport sys\n\ndef end():\n    sys.exit(0)\n\nend()\n"
NAMED = ["--algorithms", "aimd.py"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "s.toml", *NAMED],
        ["duel", "s.toml", "--algorithms", "newreno,aimd.py"],
        ["run", "s.toml", "--load", "aimd.py"],
        ["algorithms", "aimd.py"],
        ["evaluate", "aimd.py"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_file_that_ends_the_program_is_refused(program: Program, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN + ENDING)
    line = (PLAIN + ENDING).splitlines().index("    sys.exit(0)") + 1
    assert line_of(program(*arguments), 2) == f"aimd.py:{line}: loading it ends the program (SystemExit: 0)"


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_method_that_ends_the_program_is_an_algorithm_s_error(program: Program, tmp_path: Path, command: str) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN.replace("return self.alpha / w", "raise SystemExit(0)"))
    arguments = ["--algorithms", "plain-aimd"] if command == "compare" else []
    done = program(command, "s.toml", "--load", "aimd.py", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    said = "fullpipe: algorithm plain-aimd (aimd.py): it ends the program (SystemExit: 0)"
    assert done.stderr.splitlines()[-1] == said
    assert "raise SystemExit(0)" in done.stderr


def test_who_waits_for_a_run_may_end_the_program() -> None:
    def progress(_reached_s: float, _duration_s: float) -> None:
        sys.exit(3)

    with pytest.raises(SystemExit, match="3"):
        fullpipe.run(scenario("own-reno").replace(duration="5000 s"), progress=progress)


def test_the_process_of_a_run_that_ends_names_its_algorithms(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    for way, how in {"os._exit(7)": "with exit status 7", "os.kill(os.getpid(), 9)": "by SIGKILL"}.items():
        (tmp_path / "aimd.py").write_text(PLAIN.replace("return self.alpha / w", way))
        said = line_of(program("compare", "s.toml", *NAMED), 1)
        assert said == f"algorithm plain-aimd (aimd.py): the process of its run ended {how}"


def test_what_is_no_algorithm_names_its_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN.replace('"plain-aimd"', '"cubic"'))
    assert line_of(program("compare", "s.toml", *NAMED), 2).startswith(
        'aimd.py: algorithm "cubic": conflicts with the built-in'
    )


def test_a_file_that_raises_is_shown_by_its_own_lines(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN + "\n1 / 0\n")
    done = program("compare", "s.toml", *NAMED)
    assert done.returncode == 1
    shown = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert len(shown) == 1
    assert "aimd.py" in shown[0]


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("return w / 2", "w / 2", "TypeError: decrease must return a number of segments, got None"),
        ("return self.alpha / w", "pass", "TypeError: increase must return a number of segments, got None"),
    ],
)
def test_a_method_that_returns_nothing_is_named(
    program: Program, tmp_path: Path, written: str, instead: str, said: str
) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(PLAIN.replace(written, instead))
    done = program("run", "s.toml", "--load", "aimd.py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(said)
    assert "own.py" not in done.stderr


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("on_recoverd", "on_recovered"), ("on_acked", "on_ack"), ("onRound", "on_round"), ("increse", "increase")],
)
def test_a_method_that_nothing_calls_is_refused(wrong: str, meant: str) -> None:
    kind = type("Odd", (fullpipe.Classic,), {wrong: lambda self, *told: None})  # noqa: ARG005
    with pytest.raises(InputError, match=rf'unknown method "{wrong}"; did you mean "{meant}"\?'):
        fullpipe.algorithm("own-odd")(kind)


def test_helpers_may_be_called_as_they_like() -> None:
    class Helped(Around):
        def on_recovered(self, flow):
            self.on_recover(flow)
            any(self.on_rounds(one) for one in [flow])

        def on_recover(self, flow):
            """Called by on_recovered."""

        def on_rounds(self, flow):
            """Called by a function inside of one."""

        def on_drop(self, flow):
            """Not the name of a method that the sender calls."""

        def _on_acks(self, flow):
            """The class's own."""

        def increased(self, w):
            """Like increase, which the class has itself."""

        def increase(self, w, flow, ack):  # noqa: ARG002
            return 1 / w

    fullpipe.algorithm("own-helped")(Helped)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, None])
def test_a_rate_at_which_nothing_is_sent_is_refused(rate: float | None) -> None:
    kind = type("Odd", (Around,), {"pacing_rate": rate, "__annotations__": {"pacing_rate": float}})
    with pytest.raises(
        InputError, match=r"pacing_rate must be above 0 segments/s, got .*math\.inf until the class sets a rate"
    ):
        fullpipe.algorithm("own-odd")(kind)


def test_an_infinite_rate_is_none() -> None:
    kind = type("Unpaced", (Around,), {"pacing_rate": math.inf, "__annotations__": {"pacing_rate": float}})
    fullpipe.algorithm("own-unpaced", recovery="newreno")(kind)
    assert nameless(fullpipe.run(scenario("own-unpaced"))) == nameless(fullpipe.run(scenario("own-classic")))


PRINTING = (
    PLAIN.replace("import os", "import os, sys").replace("return w / 2", "print('printed'); return w / 2")
    + "\nprint('loaded')\nsys.stderr.write('then\\n')\nsys.__stdout__.write('written\\n')\nos.system('echo said')\n"
)
"""It prints where Python has it printed, where that was before, and by another program."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "s.toml", "--load", "aimd.py"],
        ["compare", "s.toml", "--algorithms", "newreno,aimd.py"],
        ["duel", "s.toml", "--algorithms", "newreno,aimd.py", "--seeds", "2"],
        ["sweep", "sweep.toml", "--load", "aimd.py"],
        ["algorithms", "aimd.py"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_it_prints_is_no_result(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "sweep.toml").write_text(TOML + "[sweep]\nseed = [1, 2]\n")
    (tmp_path / "aimd.py").write_text(PRINTING)
    done = program(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    runs = arguments[0] != "algorithms"
    assert set(done.stderr.split()) == {"loaded", "then", "written", "said"} | ({"printed"} if runs else set())
    assert done.stderr.index("loaded") < done.stderr.index("then"), "it is printed at once"


def test_what_compiled_code_prints_is_no_result(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(COMPILED.replace(LOOPS, "print('printed'); return w / 2"))
    done = program("run", "s.toml", "--load", "aimd.py", "--json")
    json.loads(done.stdout)
    assert "printed" in done.stderr


def test_what_a_library_prints_is_no_result(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (tmp_path / "s.toml").write_text(TOML)
    printing = C.replace("struct aimd *aimd = state;", 'struct aimd *aimd = state;\n\tputs("printed");', 1)
    (tmp_path / "aimd.c").write_text("#include <stdio.h>\n" + printing)
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{HEADER.parent}", "aimd.c", "-o", "aimd.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "aimd.py").write_text(
        "import fullpipe, math\n\n"
        '@fullpipe.algorithm("plain-aimd", library="aimd.so")\n'
        "class Aimd:\n"
        "    cwnd: float = 2.0\n"
        "    ssthresh: float = math.inf\n"
        "    alpha: float = 1.0\n"
        "    beta: float = 0.5\n"
    )
    done = program("run", "s.toml", "--load", "aimd.py", "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert "printed" in done.stderr


def compiled(name: str, kind: type, **options: Any) -> None:
    pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    fullpipe.algorithm(name, compiled=True, **options)(kind)


class PlainReno:
    """Variant for Numba, which takes no dictionaries of windows."""

    cwnd: float = 2.0
    ssthresh: float = math.inf
    beta: float = 0.5
    halves: bool = True
    _cuts: int = 0
    cuts: float = 0.0

    def on_ack(self, flow, ack):
        if flow.in_recovery or not flow.cwnd_limited or ack.credit == 0:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.credit
        else:
            self.cwnd += ack.credit * (1 / self.cwnd)

    def on_congestion(self, flow, signal):
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, flow.flight_size)
        kept = self.beta * w if self.halves else w
        self._cuts += 1
        self.cuts = self._cuts
        self.ssthresh = max(kept, 2.0)
        if signal == fullpipe.Signal.LOSS:
            self.cwnd = self.ssthresh
        elif signal == fullpipe.Signal.ECN:
            self.cwnd = max(kept, 1.0)
        else:
            self.cwnd = 1.0


@pytest.mark.parametrize("keys", KINDS, ids=["newreno", "rack", "sack"])
@pytest.mark.parametrize("kind", [PlainReno, Around], ids=["written out", "classic"])
def test_compiled_is_the_same_to_the_bit(kind: type, keys: dict[str, Any]) -> None:
    compiled("own-compiled", kind, recovery="newreno", inspect=["cuts"] if kind is PlainReno else [])
    own = fullpipe.run(scenario("own-compiled", **keys))
    assert nameless(own) == nameless(fullpipe.run(scenario("newreno", **keys)))
    if kind is PlainReno:
        fullpipe.algorithm("own-same", recovery="newreno", inspect=["cuts"])(kind)
        interpreted = fullpipe.run(scenario("own-same", **keys))
        assert own.series["cuts"].to_pylist() == interpreted.series["cuts"].to_pylist()
        assert own.series["cuts"][-1].as_py() > 0
        other = fullpipe.run(scenario({"name": "own-compiled", "beta": 0.8, "halves": True}, **keys))
        assert other.series["cwnd_packets"].to_pylist() != own.series["cwnd_packets"].to_pylist()


def test_compiled_all_that_a_class_may_have() -> None:
    class Everything:
        cwnd: float = 1000.0
        ssthresh: float = math.inf
        pacing_rate: float = 500.0
        rounds: float = 0.0
        began: float = 0.0
        best: float = 0.0

        def on_start(self, start):
            self.began = start.rtt_s
            self.cwnd = 1000.0

        def on_round(self, flow):
            self.rounds = flow.round

        def on_recovered(self, flow):
            pass

        def on_ack(self, flow, ack):  # noqa: ARG002
            self.best = max(self.best, ack.delivery_rate)

        def on_congestion(self, flow, signal):
            pass

    figures = {}
    for way in (False, True):
        if way:
            compiled("own-everything", Everything, rate_samples=True, inspect=["rounds", "began", "best"])
        else:
            inspected = ["rounds", "began", "best"]
            fullpipe.algorithm("own-everything", rate_samples=True, inspect=inspected)(Everything)
        result = fullpipe.run(scenario("own-everything"))
        assert result.flows["goodput_bps"][0].as_py() == pytest.approx(4e6, rel=2e-3)
        figures[way] = str(result.series.to_pydict())
    assert figures[False] == figures[True]


def test_compiled_runs_side_by_side_in_threads() -> None:
    compiled("own-compiled", Around, recovery="newreno")
    runs = {alpha: scenario({"name": "own-compiled", "alpha": alpha}) for alpha in (1, 2)}
    for alpha, result in fullpipe.run_many(runs, workers=2).items():
        assert nameless(result) == nameless(fullpipe.run(runs[alpha]))


def test_what_compiled_code_raises_comes_back_with_its_lines() -> None:
    class Wrong:
        cwnd: float = 2.0
        ssthresh: float = math.inf
        zero: float = 0.0

        def on_ack(self, flow, ack):
            if flow.delivered > 50:
                self.cwnd = ack.credit / self.zero

        def on_congestion(self, flow, signal):
            pass

    compiled("own-compiled-wrong", Wrong)
    with pytest.raises(AlgorithmError, match="ZeroDivisionError") as caught:
        fullpipe.run(scenario("own-compiled-wrong"))
    assert caught.value.__cause__ is not None
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)]
    assert frames == ["on_ack"]


def test_what_cannot_be_compiled_is_said() -> None:
    class Odd(Around):
        def increase(self, w, flow, ack):  # noqa: ARG002
            return self.nothing / w

    with pytest.raises(InputError, match=r"own-odd.*Numba can't compile it.*nothing"):
        compiled("own-odd", Odd)


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("return self.alpha / w", "return ack.credt / w", r"ack has no field 'credt'; did you mean 'credit'\?"),
        ("return self.alpha / w", "return flow.srt_s", r"flow has no field 'srt_s'; did you mean 'srtt_s'\?"),
        ("return self.alpha / w", "self.cwnd += 'a'", r"it knows no iadd\(float64, Literal\[str\]\(a\)\)"),
        ("return self.alpha / w", "return self.alpha / no", r"NameError: name 'no' is not defined"),
        ("return self.alpha / w", "return 'a'", r"what increase returns: it knows no mul\(float64, Literal\[str\].*"),
        ("return w / 2", "w / 2", r"what decrease returns: it knows no max\(none, float64\)"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_a_line(
    program: Program, tmp_path: Path, written: str, instead: str, said: str
) -> None:
    pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    text = COMPILED.replace(LOOPS, "return w / 2").replace(written, instead)
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(text)
    # For a method's result, and for an unknown name, the line is the method's first.
    first = said.startswith(("what", "NameError"))
    line = next(i for i, line in enumerate(text.splitlines(), 1) if instead in line) - first
    place = rf"aimd\.py: algorithm 'plain-aimd': Numba can't compile it: aimd\.py:{line}: "
    assert re.fullmatch(place + said, line_of(program("run", "s.toml", "--load", "aimd.py"), 2))


LOOPS = "while w > 0.0:\n            w += 1.0\n        return w"
COMPILED = (
    PLAIN.replace('recovery="newreno", inspect=["process"]', "compiled=True")
    .replace("import os\n", "")
    .replace("float(os.getpid())", "0.0")
    .replace("return w / 2", LOOPS)
    + "\nopen('compiled', 'w').close()\n"
)
"""At the first loss Numba's code loops for ever."""


@pytest.mark.parametrize("command", ["run", "compare"])
def test_ctrl_c_ends_an_endless_loop_of_compiled_code(tmp_path: Path, command: str) -> None:
    pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(COMPILED)
    arguments = ["--algorithms", "plain-aimd"] if command == "compare" else []
    line = [PROGRAM, command, "s.toml", "--load", "aimd.py", *arguments]
    status, said = interrupted(line, tmp_path, "compiled", after_s=2)
    assert (status, said.strip()) == (130, "fullpipe: interrupted; nothing is left half-written")


CELLS = """
import sys, threading, traceback
import fullpipe
from fullpipe.custom.arguments import load_algorithms

load_algorithms("aimd.py")
looping = fullpipe.Scenario.load("s.toml")

def from_a_thread():
    def work():
        try:
            fullpipe.run(looping)
        except KeyboardInterrupt:
            print("the thread is interrupted", flush=True)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

def cell(code):
    # As a notebook's kernel runs a cell.
    try:
        code()
    except KeyboardInterrupt:
        print("the cell is interrupted", flush=True)

ways = {
    "run": lambda: fullpipe.run(looping),
    "run_many": lambda: fullpipe.run_many({1: looping, 2: looping}, workers=2),
    "thread": from_a_thread,
}
print("begins", flush=True)
cell(ways[sys.argv[1]])
for thread in threading.enumerate():
    if thread is not threading.main_thread() and not thread.daemon:
        thread.join()
(rate,) = fullpipe.run(looping.replace(**{"flows.algorithm": "newreno"})).flows["goodput_bps"].to_pylist()
print("the next cell runs", rate > 1e6, flush=True)
"""


@pytest.mark.parametrize("way", ["run", "run_many", "thread"])
def test_interrupting_a_notebook_ends_an_endless_loop(tmp_path: Path, way: str) -> None:
    """Jupyter and terminals interrupt the whole process group; the notebook's process continues."""
    (tmp_path / "s.toml").write_text(TOML)
    loop = "open('looping', 'w').close()\n        while True: pass"
    (tmp_path / "aimd.py").write_text(PLAIN.replace("return self.alpha / w", loop))
    line = [sys.executable, "-c", CELLS, way]
    with started(
        line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None and not (tmp_path / "looping").exists():
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        told, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
    lines = told.splitlines()
    assert lines[0] == "begins"
    assert lines[-1] == "the next cell runs True"
    assert "the cell is interrupted" in lines
    assert ("the thread is interrupted" in lines) == (way == "thread")


IN_A_THREAD = """
import threading, time
import fullpipe
from fullpipe.custom.arguments import load_algorithms

load_algorithms("aimd.py")
thread = threading.Thread(target=fullpipe.run, args=["s.toml"])
thread.start()
open("began", "w").close()
while thread.is_alive():
    time.sleep(0.1)
"""


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_a_main_thread_that_ctrl_c_has_ended_takes_runs_along(tmp_path: Path, compiled: bool) -> None:
    """The interpreter waits for its threads before it ends; only the main one has heard of the signal."""
    if compiled:
        pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "aimd.py").write_text(COMPILED if compiled else PLAIN.replace("return w / 2", "while True: pass"))
    line = [sys.executable, "-c", IN_A_THREAD]
    status, said = interrupted(line, tmp_path, "began", after_s=4)
    assert status == -signal.SIGINT
    assert "KeyboardInterrupt" in said


def test_the_header_has_the_structs_that_are_compiled(tmp_path: Path) -> None:
    """The C compiler's layout of the header equals NumPy's layout of the fields."""
    import numpy as np

    from fullpipe.custom import compiled as plug

    structs = {"flow": plug.FLOW, "ack": plug.ACK, "start": plug.START}
    offsets = [
        f'printf("%zu ", offsetof(struct fullpipe_{struct}, {field}));'
        for struct in structs
        for field, _ in structs[struct]
    ]
    sizes = [f'printf("%zu ", sizeof(struct fullpipe_{struct}));' for struct in structs]
    code = (
        "#include <stdio.h>\n#include <stddef.h>\n#include <fullpipe.h>\nint main(void) {"
        + "".join(offsets + sizes)
        + "}"
    )
    (tmp_path / "a.c").write_text(code)
    command = ["cc", "-Wall", "-Werror", "-std=c11", f"-I{plug.HEADER.parent}", "a.c", "-o", "a"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True).stdout
    types = {struct: np.dtype(fields, align=True) for struct, fields in structs.items()}
    expected = [types[struct].fields[field][1] for struct in structs for field, _ in structs[struct]]
    assert [int(word) for word in printed.split()] == expected + [types[struct].itemsize for struct in structs]


C = """
#include <fullpipe.h>
#include <math.h>

struct aimd {
	double cwnd, ssthresh, alpha, beta;
};

int32_t on_ack(void *state, const struct fullpipe_flow *flow, const struct fullpipe_ack *ack)
{
	struct aimd *aimd = state;

	if (!flow->in_recovery && flow->cwnd_limited && ack->credit != 0)
		aimd->cwnd += aimd->cwnd < aimd->ssthresh ? ack->credit : ack->credit * (aimd->alpha / aimd->cwnd);
	return 1;
}

int32_t on_congestion(void *state, const struct fullpipe_flow *flow, int64_t signal)
{
	struct aimd *aimd = state;
	double w = flow->cwnd_limited ? aimd->cwnd : fmin(aimd->cwnd, flow->flight_size);
	double kept = aimd->beta * w;

	aimd->ssthresh = fmax(kept, 2);
	aimd->cwnd = signal == FULLPIPE_TIMEOUT ? 1 : signal == FULLPIPE_ECN ? fmax(kept, 1) : aimd->ssthresh;
	return 1;
}
"""


def test_a_library_in_c_is_the_same_to_the_bit(tmp_path: Path) -> None:
    (tmp_path / "aimd.c").write_text(C)
    command = ["cc", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{HEADER.parent}"]
    subprocess.run([*command, "aimd.c", "-o", "aimd.so"], cwd=tmp_path, check=True)

    @fullpipe.algorithm("own-in-c", recovery="newreno", library=tmp_path / "aimd.so")
    class InC:
        cwnd: float = 2.0
        ssthresh: float = math.inf
        alpha: float = 1.0
        beta: float = 0.5

    assert [param.name for param in fullpipe.algorithms()["own-in-c"].params] == ["alpha", "beta"]
    for keys in KINDS:
        assert nameless(fullpipe.run(scenario("own-in-c", **keys))) == nameless(
            fullpipe.run(scenario("newreno", **keys))
        )
    gentle = fullpipe.run(scenario({"name": "own-in-c", "beta": 0.8}))
    assert nameless(gentle) == nameless(fullpipe.run(scenario({"name": "own-reno", "beta": 0.8})))
    for library, said in {"aimd.c": "own-in-c", "none.so": "No such file|cannot open"}.items():
        with pytest.raises(InputError, match=said):
            fullpipe.algorithm("own-in-c", library=tmp_path / library)(InC)
    (tmp_path / "stuck.c").write_text(C.replace("return 1;", "return flow->delivered < 50;", 1))
    subprocess.run([*command, "stuck.c", "-o", "stuck.so"], cwd=tmp_path, check=True)
    fullpipe.algorithm("own-in-c", library=tmp_path / "stuck.so")(InC)
    with pytest.raises(AlgorithmError, match="its compiled code cannot go on"):
        fullpipe.run(scenario("own-in-c"))
    (tmp_path / "empty.c").write_text("int nothing;\n")
    subprocess.run([*command, "empty.c", "-o", "empty.so"], cwd=tmp_path, check=True)
    with pytest.raises(InputError, match="has no function on_ack"):
        fullpipe.algorithm("own-in-c", library=tmp_path / "empty.so")(InC)
