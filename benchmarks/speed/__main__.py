"""`python -m benchmarks.speed`: data packets per second, ns per packet, and peak memory, compared with ns-2 and ns-3.

Simulators run alternately, so that a busy machine slows all of them. The result is the best run of each.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ..simulators import OUT, SimulatorError, ns2_version
from .measure import HERE, Dumbbell, Timing, build_ns3, keep, time_fullpipe, time_ns2, time_ns3

SERIES = "100 ms"
PLAIN, SAMPLED = "fullpipe", f"fullpipe, series every {SERIES}"
# fullpipe's runs are short, and series cost little: this many runs with and without series alternately, in each round.
OWN_RUNS = 4


@dataclass(frozen=True)
class Case:
    """Scenario file, and equal scenarios for ns-2 and ns-3 if they can run it; ns-3's is shorter."""

    name: str
    title: str
    ns2: Dumbbell | None = None
    ns3: Dumbbell | None = None


CASES = [
    Case(
        "one-flow",
        "1 flow, 100 Mbit/s, 80 ms, 250 packets, 400 s",
        Dumbbell(100e6, 250, 1, 0, 400),
        Dumbbell(100e6, 250, 1, 0, 20),
    ),
    Case(
        "hundred-flows",
        "100 flows, 1 Gbit/s, 80-86 ms, 1000 packets, 60 s",
        Dumbbell(1e9, 1000, 100, 6, 60),
        Dumbbell(1e9, 1000, 100, 6, 3),
    ),
    Case("ten-thousand-flows", "10,000 flows, 10 Gbit/s, 10,000 packets, 20 s"),
    Case("three-links", "3 links in a row, cross and reverse traffic, 60 flows"),
    Case("web", "delayed ACKs, 20,000 short web transfers"),
    Case("forty-gigabit", "4 CUBIC flows, 40 Gbit/s, 100 ms, 10 s"),
    Case("four-hundred-gigabit", "1 CUBIC flow, 400 Gbit/s, 1 s, 6 s"),
    Case("hundred-thousand-flows", "100,000 CUBIC flows, 100 Gbit/s, 4 s"),
]


def main() -> int:
    arguments = _arguments()
    ns3 = None if arguments.no_ns3 else build_ns3()
    machine = f"{_processor()}, {platform.system()} {platform.release()}"
    versions = {"ns-2": ns2_version(), "ns-3": ns3[1] if ns3 else "not run"}
    print(f"{machine}; ns-2 {versions['ns-2']}, ns-3 {versions['ns-3']}; {arguments.rounds} rounds, best runs")
    print(f"{'case':<58} {'packets/s':>11} {'ns/packet':>9} {'peak MB':>8} {'beside fullpipe':>16}")
    records = []
    for case in CASES:
        if arguments.case in (None, case.name):
            records.append(_measure(case, arguments.rounds, ns3[0] if ns3 else None))
    report = {"machine": machine, "versions": versions, "rounds": arguments.rounds, "cases": records}
    if arguments.case is None:
        keep("speed", report)
    return 0


def _measure(case: Case, rounds: int, ns3: Path | None) -> dict[str, Any]:
    scenario = HERE / f"{case.name}.toml"
    with_series = _with_series(scenario)
    own: dict[str, Callable[[], Timing]] = {
        PLAIN: lambda: time_fullpipe(scenario),
        SAMPLED: lambda: time_fullpipe(with_series),
    }
    others: dict[str, Callable[[], Timing]] = {}
    if dumbbell := case.ns2:
        others["ns-2, the same figures"] = lambda: time_ns2(dumbbell, same_figures=True)
        others["ns-2, its fastest"] = lambda: time_ns2(dumbbell, same_figures=False)
    if ns3 and (short := case.ns3):
        others[f"ns-3 ({short.duration:.0f} s of it)"] = lambda: time_ns3(ns3, short)
    timings: dict[str, list[Timing]] = {name: [] for name in (*own, *others)}
    for turn in range(rounds):
        for _ in range(OWN_RUNS):
            for name, run in own.items():
                timings[name].append(run())
        for name, run in others.items():
            # ns-3 takes longer than all others together and its figure hardly moves: once is enough.
            if turn == 0 or not name.startswith("ns-3"):
                timings[name].append(run())
    best = {name: max(runs, key=lambda run: run.packets_per_second) for name, runs in timings.items()}
    reference = best[PLAIN].packets_per_second
    print(case.title)
    for name, fastest in best.items():
        print(
            f"  {name:<56} {fastest.packets_per_second:>11,.0f} {1e9 / fastest.packets_per_second:>9.1f} "
            f"{fastest.peak_bytes / 1e6:>8.1f} {reference / fastest.packets_per_second:>15.2f}x",
            flush=True,
        )
    pairs = zip(timings[PLAIN], timings[SAMPLED], strict=True)
    cost = median(plain.packets_per_second / sampled.packets_per_second for plain, sampled in pairs) - 1
    print(f"  series cost {cost:.1%}, the median of {len(timings[PLAIN])} pairs of runs", flush=True)
    runs = {name: [asdict(run) for run in runs] for name, runs in timings.items()}
    return {"name": case.name, "title": case.title, "series_cost": cost, "runs": runs}


def _with_series(scenario: Path) -> Path:
    """Scenario with samples, written under out/."""
    text = scenario.read_text()
    sampled = text.replace('series_interval = "off"', f'series_interval = "{SERIES}"')
    if sampled == text:
        raise SimulatorError(f'{scenario.name}: no line series_interval = "off" to replace')
    path = OUT / "speed" / f"{scenario.stem}-series.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sampled)
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=[case.name for case in CASES], help="only this case")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help=f"how often ns-2 runs a case, fullpipe {OWN_RUNS} times as often (default 3)",
    )
    parser.add_argument("--no-ns3", action="store_true", help="leave out ns-3, which takes minutes")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SimulatorError as error:
        sys.exit(f"speed: {error}")
