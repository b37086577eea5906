"""Costs of modern queues, links, and senders as ratios to a plain case, and ns-3's queues for comparison.

``python -m benchmarks.speed.modern [NAME ...]``; needs cargo, and libns3-dev for ns-3. The engine without Python runs
each variant alternately with its plain case, so that a disturbance of the machine slows both. The result is the median
of the ratios of processor time per packet. A ratio of 0.5 means half as many packets per second. Queues run with 100
flows; variants of a sender or of the link's rate run with one. The buffer is the plain case's. ns-3 runs an equal
dumbbell for a few simulated seconds, once, which takes a minute for each. ``out/speed/modern.json`` has all results.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .instructions import build_engine
from .measure import Dumbbell, build_ns3, keep, spend, time_ns3

HERE = Path(__file__).parent
ROUNDS = 9


@dataclass(frozen=True)
class Variant:
    """Plain scenario of this directory, its shorter duration, and replacements in its text."""

    name: str
    plain: str
    duration: str
    old: str
    new: str
    wanted: float
    ns3_queue: str | None = None
    """What ns-3 calls the queue, if it has it."""

    def texts(self) -> tuple[str, str]:
        """The plain scenario and the variant."""
        plain = re.sub(r'(?m)^duration = ".*"', f'duration = "{self.duration}"', (HERE / self.plain).read_text())
        if self.old not in plain:
            raise ValueError(f"{self.plain}: no {self.old!r}")
        return plain, plain.replace(self.old, self.new)


QUEUE = 'queue = "drop-tail"'
FLOW = 'recovery = "sack"'
RENO = 'algorithm = "reno"\nrecovery = "sack"'
ROOM = 'buffer = "1000 packets"\nqueue = "drop-tail"\n\n[[flows]]\n' + RENO
"""A buffer and the flows behind it: with more room than they fill, nothing is lost."""
QUEUES = {"codel": "CoDel", "fq-codel": "FqCoDel", "dualpi2": None, "pie": "Pie", "red": "Red"}
"""Ours, and what ns-3 calls them."""

NS3_CASE = Dumbbell(rate=1e9, buffer=1000, flows=100, spread_ms=6, duration=2)
"""The beginning of hundred-flows.toml."""

RATE = 'rate = "100 Mbit/s"'
TRACE = "steady.trace"
"""150 ms at 100 Mbit/s in mahimahi's form: 25 opportunities of 1500 bytes every 3 ms."""

VARIANTS = [
    *(
        Variant(name, "hundred-flows.toml", "20 s", QUEUE, f'queue = "{name}"', 0.5, ns3_queue)
        for name, ns3_queue in QUEUES.items()
    ),
    Variant("trace", "one-flow.toml", "200 s", RATE, f'trace = "{TRACE}"', 0.5),
    Variant("paced", "one-flow.toml", "200 s", FLOW, FLOW + '\npacing = "on"', 0.5),
    Variant("rack", "one-flow.toml", "200 s", FLOW, 'recovery = "rack"', 0.7),
    Variant("bbr3", "one-flow.toml", "200 s", RENO, 'algorithm = "bbr3"', 0.4),
    Variant("bbr3, 100", "hundred-flows.toml", "20 s", RENO, 'algorithm = "bbr3"', 0.4),
    Variant(
        "bbr3, lossless",
        "hundred-flows.toml",
        "20 s",
        ROOM,
        'buffer = "40000 packets"\nqueue = "drop-tail"\n\n[[flows]]\nalgorithm = "bbr3"',
        0.4,
    ),
    Variant("paced, 100", "hundred-flows.toml", "20 s", FLOW, 'recovery = "rack"\npacing = "on"', 0.4),
]


def main() -> int:
    """Runs all variants, or those named, and prints their ratios."""
    program, compiler = build_engine()
    ns3 = build_ns3()
    title = f"{'variant':<14} {'beside':<20} {'packets/s, ratio':>16} {'wanted':>8} {'times ns-3':>11}"
    print(f"{title}   ({compiler}, median of {ROUNDS}; ns-3 {ns3[1] if ns3 else 'not installed'})")
    records: list[dict[str, Any]] = []
    for variant in VARIANTS:
        if not sys.argv[1:] or variant.name in sys.argv[1:]:
            costs = _costs(program, variant)
            ratio = median(plain / changed for plain, changed in costs)
            times_ns3 = None
            if ns3 and variant.ns3_queue:
                packets_per_second = time_ns3(ns3[0], NS3_CASE, variant.ns3_queue).packets_per_second
                times_ns3 = 1 / median(changed for _, changed in costs) / packets_per_second
            print(
                f"{variant.name:<14} {variant.plain:<20} {ratio:>16.2f} {variant.wanted:>8} "
                f"{f'{times_ns3:,.0f}' if times_ns3 else '':>11}",
                flush=True,
            )
            records.append(
                {
                    "variant": variant.name,
                    "beside": variant.plain,
                    "ratio": ratio,
                    "wanted": variant.wanted,
                    "times_ns3": times_ns3,
                }
            )
    if not sys.argv[1:]:
        keep("modern", records)
    return 0


def _costs(program: Path, variant: Variant) -> list[list[float]]:
    """Seconds a packet of the plain scenario and of the variant, one after the other."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, TRACE).write_text("".join(f"{3 * k // 25 + 1}\n" for k in range(1250)))
        files = [Path(directory) / name for name in ("plain.toml", "variant.toml")]
        for file, text in zip(files, variant.texts(), strict=True):
            file.write_text(text)
        return [[_seconds_a_packet(program, file) for file in files] for _ in range(ROUNDS)]


def _seconds_a_packet(program: Path, scenario: Path) -> float:
    spent_s, packets = spend([str(program)], scenario)
    return spent_s / packets


if __name__ == "__main__":
    sys.exit(main())
