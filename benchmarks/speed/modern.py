"""What today's queues, links and senders cost, as ratios to the plain case of the same run.

``python -m benchmarks.speed.modern [NAME ...]``; needs cargo. The bare engine runs each variant by turns with its
plain case, so that whatever else the machine does slows both; the median of the ratios of processor time a packet
counts. A ratio of 0.5 is half as many packets a second. Queues run with 100 flows, what concerns a sender with one;
the buffer is the plain case's.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .instructions import build_engine

HERE = Path(__file__).parent
ROUNDS = 5


@dataclass(frozen=True)
class Variant:
    """A plain scenario of this directory, how it is shortened, and what of its text is replaced."""

    name: str
    plain: str
    duration: str
    old: str
    new: str
    wanted: float

    def texts(self) -> tuple[str, str]:
        """The plain scenario and the variant."""
        plain = re.sub(r'(?m)^duration = ".*"', f'duration = "{self.duration}"', (HERE / self.plain).read_text())
        if self.old not in plain:
            raise ValueError(f"{self.plain}: no {self.old!r}")
        return plain, plain.replace(self.old, self.new)


QUEUE = 'queue = "drop-tail"'
FLOW = 'recovery = "sack"'
RENO = 'algorithm = "reno"\nrecovery = "sack"'
VARIANTS = [
    *(
        Variant(name, "hundred-flows.toml", "20 s", QUEUE, f'queue = "{name}"', wanted)
        for name, wanted in {"codel": 0.5, "fq-codel": 0.5, "dualpi2": 0.5, "pie": 0.5, "red": 0.5}.items()
    ),
    Variant("paced", "one-flow.toml", "200 s", FLOW, FLOW + '\npacing = "on"', 0.5),
    Variant("rack", "one-flow.toml", "200 s", FLOW, 'recovery = "rack"', 0.7),
    Variant("bbr3", "one-flow.toml", "200 s", RENO, 'algorithm = "bbr3"', 0.4),
    Variant("bbr3, 100", "hundred-flows.toml", "20 s", RENO, 'algorithm = "bbr3"', 0.4),
]


def main() -> int:
    """Runs all variants, or those named, and prints their ratios."""
    program, compiler = build_engine()
    print(f"{'variant':<12} {'beside':<20} {'packets/s, ratio':>16} {'wanted':>8}   ({compiler}, median of {ROUNDS})")
    for variant in VARIANTS:
        if not sys.argv[1:] or variant.name in sys.argv[1:]:
            print(
                f"{variant.name:<12} {variant.plain:<20} {_ratio(program, variant):>16.2f} {variant.wanted:>8}",
                flush=True,
            )
    return 0


def _ratio(program: Path, variant: Variant) -> float:
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / name for name in ("plain.toml", "variant.toml")]
        for file, text in zip(files, variant.texts(), strict=True):
            file.write_text(text)
        costs = [[_seconds_a_packet(program, file) for file in files] for _ in range(ROUNDS)]
    return median(plain / changed for plain, changed in costs)


def _seconds_a_packet(program: Path, scenario: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([str(program), str(scenario)], capture_output=True, text=True, check=True)
    packets = re.search(r"data_packets (\d+)", done.stdout)
    if not packets:
        raise ValueError(f"{program}: no data_packets in {done.stdout!r}")
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / int(packets[1])


if __name__ == "__main__":
    sys.exit(main())
