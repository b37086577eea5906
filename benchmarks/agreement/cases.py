"""Grid of cases: algorithms and dumbbells as data, and the input of each simulator."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = HERE / "dumbbell.tcl"

# The part of a flow's one-way delay that is in its access link; the rest is in the bottleneck.
ACCESS_SHARE = 0.1
GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True)
class Algorithm:
    """One algorithm on both sides: fullpipe's name, recovery, parameters, flow options; dumbbell.tcl's options."""

    name: str
    fullpipe: str
    ns2: dict[str, str]
    recovery: str | None = None
    parameters: dict[str, float | bool | str] = field(default_factory=dict)
    options: dict[str, bool | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Flow:
    """One sender. Times are seconds, rounded to microseconds so that both simulators read equal numbers."""

    access_delay: float
    start: float


@dataclass(frozen=True)
class Case:
    """One dumbbell; see cases.toml for the units."""

    name: str
    rate_mbps: float
    rtt_ms: float
    buffer: int
    flows: int
    duration: float
    warmup: float
    rtt_step_ms: float = 0.0
    start_step: float = 0.0
    runs: int = 3
    more_runs: dict[str, int] = field(default_factory=dict)
    processing_us: dict[str, int] = field(default_factory=dict)
    fast: tuple[str, ...] = ()

    @property
    def delay(self) -> float:
        """One-way delay of the bottleneck, seconds."""
        return round(self.rtt_ms / 2000 * (1 - ACCESS_SHARE), 6)

    def runs_of(self, algorithm: Algorithm) -> int:
        """How often this algorithm runs."""
        return self.more_runs.get(algorithm.name, self.runs)

    def senders(self, run: int) -> list[Flow]:
        """The flows of a run.

        Deterministic simulators lock into phase: one packet time more or less in a delay decides which flow loses. So
        each run lengthens the access delays by up to a fifth (a fiftieth of the RTT) and the starts by up to one RTT,
        with steps of the golden ratio, which spread evenly.
        """
        senders = []
        for i in range(self.flows):
            shift = ((i + 1) * run * GOLDEN_RATIO) % 1.0
            rtt = (self.rtt_ms + i * self.rtt_step_ms) / 1000
            access = rtt / 2 - self.delay + shift * ACCESS_SHARE * self.rtt_ms / 2000 / 5
            senders.append(Flow(round(access, 6), round(i * self.start_step + shift * rtt, 6)))
        return senders


@dataclass(frozen=True)
class Known:
    """A difference whose cause has been found (reports/agreement.md), and where: each case with its figures."""

    cause: str
    algorithm: str
    cases: dict[str, list[str]]

    def covers(self, case: Case, algorithm: Algorithm, figure: str) -> bool:
        """Whether this is why `figure` ("utilization", "cwnd" or "loss") differs there."""
        return algorithm.name == self.algorithm and figure in self.cases.get(case.name, [])


@dataclass(frozen=True)
class Grid:
    """Everything in cases.toml."""

    algorithms: list[Algorithm]
    cases: list[Case]
    known: list[Known]

    def causes(self, case: Case, algorithm: Algorithm, figures: list[str]) -> list[str] | None:
        """Why the two differ here in `figures`; `None` if the cause of one of them is not known."""
        causes = [
            next((known.cause for known in self.known if known.covers(case, algorithm, figure)), None)
            for figure in figures
        ]
        if None in causes:
            return None
        return list(dict.fromkeys(cause for cause in causes if cause is not None))


def load(path: Path = HERE / "cases.toml") -> Grid:
    """Reads the grid."""
    grid = tomllib.loads(path.read_text())
    return Grid(
        [Algorithm(name, **entry) for name, entry in grid["algorithms"].items()],
        [Case(**entry) for entry in grid["cases"]],
        [Known(**entry) for entry in grid["known"]],
    )


def ns2_options(case: Case, algorithm: Algorithm, run: int) -> dict[str, str]:
    """Arguments of dumbbell.tcl."""
    flows = " ".join(f"{{{flow.access_delay:.6f} {flow.start:.6f}}}" for flow in case.senders(run))
    options = {key: str(value) for key, value in algorithm.ns2.items()}
    if processing_us := case.processing_us.get(algorithm.name):
        options["settings"] = f"{options.get('settings', '')} overhead_ {processing_us}e-6".strip()
    return {
        "rate": f"{case.rate_mbps * 1e6:.0f}",
        "delay": f"{case.delay:.6f}",
        "buffer": str(case.buffer),
        "flows": flows,
        "duration": str(case.duration),
        "warmup": str(case.warmup),
    } | options


def scenario(case: Case, algorithm: Algorithm, run: int) -> str:
    """Fullpipe scenario of the case, in TOML."""
    parameters = "".join(f", {name} = {json.dumps(value)}" for name, value in algorithm.parameters.items())
    lines = [
        f'duration = "{case.duration} s"',
        f'warmup = "{case.warmup} s"',
        "packet_size = 1000",
        'series_interval = "off"',
        "",
        "[[links]]",
        'name = "bottleneck"',
        f'rate = "{case.rate_mbps} Mbit/s"',
        f'delay = "{case.delay * 1e6:.0f} us"',
        f'buffer = "{case.buffer} packets"',
        'queue = "drop-tail"',
    ]
    for flow in case.senders(run):
        lines += [
            "",
            "[[flows]]",
            f'algorithm = {{ name = "{algorithm.fullpipe}"{parameters} }}',
            f'access_delay = "{flow.access_delay * 1e6:.0f} us"',
            f'start = "{flow.start * 1e6:.0f} us"',
        ]
        if processing_us := case.processing_us.get(algorithm.name):
            lines.append(f'processing_time = "{processing_us} us"')
        if algorithm.recovery:
            lines.append(f'recovery = "{algorithm.recovery}"')
        lines += [f"{key} = {json.dumps(value)}" for key, value in algorithm.options.items()]
    return "\n".join(lines) + "\n"
