"""Packets per second of one AIMD written in several ways. Also checks that all give equal metrics.

``python -m benchmarks.speed.own``; needs cargo, and Numba for one of them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import fullpipe

from .instructions import ROOT

ROUNDS = 7
"""Runs of each way; the fastest counts, as whatever else the machine does only slows one down."""

SCENARIO = """\
duration = "100 s"
series_interval = "off"
links = [{ name = "l", rate = "400 Mbit/s", delay = "10 ms", buffer = "300 packets" }]
flows = [{ algorithm = NAME, recovery = "newreno" }]
"""

OBJECT = ROOT / "crates/kernel/tests/objects/aimd.bpf.o"
"""The program of docs/guides/kernel-object.md."""

Outcome = tuple[float, tuple[str, ...]]
"""Seconds of processor time, and figures to the last digit."""


class Aimd(fullpipe.Classic):
    alpha: float = 1.0
    beta: float = 0.5

    def increase(self, w, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return self.alpha / w

    def decrease(self, w, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return self.beta * w


class WrittenOut:
    """AIMD without the frame, whose cost is the interpreter's."""

    cwnd: float = 2.0
    ssthresh: float = float("inf")
    alpha: float = 1.0
    beta: float = 0.5

    def on_ack(self, flow, ack):  # type: ignore[no-untyped-def]
        if flow.in_recovery or not flow.cwnd_limited or ack.credit == 0:
            return
        w = self.cwnd
        self.cwnd = w + ack.credit * (1.0 if w < self.ssthresh else self.alpha / w)

    def on_congestion(self, flow, signal):  # type: ignore[no-untyped-def]
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, flow.flight_size)
        self.ssthresh = max(self.beta * w, 2.0)
        self.cwnd = 1.0 if signal == fullpipe.Signal.TIMEOUT else self.ssthresh


def in_python(name: str) -> Callable[[], Outcome]:
    """A run in this process."""
    scenario = fullpipe.Scenario.loads(SCENARIO.replace("NAME", name if name.startswith("{") else f'"{name}"'))

    def run() -> Outcome:
        begun = time.process_time()
        result = fullpipe.run(scenario)
        spent = time.process_time() - begun
        (flow,) = result.flows.to_pylist()
        figures = result.totals["data_packets"], flow["goodput_bps"], flow["mean_cwnd_packets"], flow["retransmits"]
        return spent, tuple(map(str, figures))

    return run


def in_rust(folder: Path) -> Callable[[], Outcome]:
    """A run of the example ``own``, its process included."""
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "fullpipe-sim", "--example", "own"]
    subprocess.run(build, cwd=ROOT, check=True)
    file = folder / "own.toml"
    file.write_text(SCENARIO.replace("NAME", '"my-aimd"'))

    def run() -> Outcome:
        begun = children_s()
        command = [ROOT / "target/release/examples/own", file]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return children_s() - begun, tuple(printed)

    return run


def children_s() -> float:
    """Processor time of the processes that have ended, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Runs, prints; 1 where the figures of windows that are floating-point numbers differ."""
    fullpipe.algorithm("own-classic", recovery="newreno")(Aimd)
    fullpipe.algorithm("own-written-out", recovery="newreno")(WrittenOut)
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "built in": in_python("newreno"),
            "Rust, `Classic` around a `Response`": in_rust(Path(folder)),
        }
        if find_spec("numba") is not None:
            fullpipe.algorithm("own-compiled", recovery="newreno", compiled=True)(Aimd)
            ways["Python, compiled, `Classic`"] = in_python("own-compiled")
        ways["Python, `on_ack` and `on_congestion`"] = in_python("own-written-out")
        ways["Python, `Classic`"] = in_python("own-classic")
        ways["eBPF, interpreted"] = in_python(f'{{ object = "{OBJECT}" }}')
        # In turns, so that an hour's noise falls on all.
        rounds = [{way: run() for way, run in ways.items()} for _ in range(ROUNDS)]
    figures = {way: {outcome[way][1] for outcome in rounds} for way in ways}
    best = {way: min(outcome[way][0] for outcome in rounds) for way in ways}
    same = all(each == figures["built in"] for way, each in figures.items() if not way.startswith("eBPF"))
    print(
        f"{'way':<38}{'packets/s':>14}{'of built in':>13}{'ns a packet':>13}{'mean window':>13}{'goodput, Mbit/s':>17}"
    )
    speeds = {way: float(next(iter(figures[way]))[0]) / seconds for way, seconds in best.items()}
    for way, speed in speeds.items():
        _, goodput, window, _ = map(float, next(iter(figures[way])))
        fast = f"{speed / 1e6:>6.1f} million{speed / speeds['built in']:>13.2f}{1e9 / speed:>13.0f}"
        print(f"{way:<38}{fast}{window:>13.4f}{goodput / 1e6:>17.4f}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
