"""Cost of a lost packet relative to a delivered one, in instructions counted by valgrind.

``python -m benchmarks.speed.lossy [--program PATH] [--limit RATIO]`` runs one flow over a link without loss, and over a
link with 10 % random loss, for several senders. It needs cargo and valgrind. With ``base`` instructions per packet
without loss and ``lossy`` with loss, a lost packet costs ``base + (lossy - base) / 0.1`` instructions. The last column
is that cost divided by ``base``. Start-up is counted with an empty run and subtracted. ``out/speed/lossy.json`` keeps
the records.

``--program`` counts a bare engine that is already built, for example one of an earlier commit. With ``--limit``, the
exit status is 1 if a ratio exceeds it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .instructions import build_engine, count
from .measure import keep

LOSS = 0.1
"""Loss probability of each segment."""

SCENARIO = """\
duration = "{duration}"
seed = 1
packet_size = 1000
series_interval = "off"
links = [{{ name = "l", rate = "100 Mbit/s", delay = "19 ms", buffer = "2000 packets", loss = {loss} }}]
flows = [{{ algorithm = "{algorithm}", recovery = "{recovery}", max_window = 1000, access_delay = "1 ms" }}]
"""
"""A window of at most 1000 segments fits path and buffer, so that the queue drops nothing."""

SENDERS = [("bbr", "rack", 10), ("bbr3", "rack", 10), ("cubic", "rack", 100), ("cubic", "sack", 100)]
SENDERS += [("newreno", "sack", 100)]
"""Algorithm, recovery, and simulated seconds with loss. Windows of CUBIC and NewReno are a few segments then."""

CLEAN_S = 10
"""Simulated seconds without loss."""


def main() -> int:
    """Counts, prints, keeps; 1 where a ratio exceeds ``--limit``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="bare engine to count; default: build this tree's")
    parser.add_argument("--limit", type=float, help="largest ratio of a lost packet to a delivered one")
    arguments = parser.parse_args()
    program = arguments.program or build_engine()[0]
    print(f"{'sender':<16} {'base':>8} {'lossy':>8} {'lost':>10} {'lost/base':>10}")
    records, most = [], 0.0
    try:
        with tempfile.TemporaryDirectory() as folder:
            for algorithm, recovery, duration_s in SENDERS:
                base = _per_packet(program, Path(folder), 0.0, CLEAN_S, algorithm, recovery)
                lossy = _per_packet(program, Path(folder), LOSS, duration_s, algorithm, recovery)
                lost = base + (lossy - base) / LOSS
                name = f"{algorithm}, {recovery}"
                print(f"{name:<16} {base:>8.0f} {lossy:>8.0f} {lost:>10.0f} {lost / base:>10.1f}", flush=True)
                records.append({"sender": name, "base": base, "lossy": lossy, "lost": lost, "ratio": lost / base})
                most = max(most, lost / base)
    except FileNotFoundError:
        print("lossy: needs valgrind (Debian package valgrind)", file=sys.stderr)
        return 1
    keep("lossy", records)
    return 1 if arguments.limit and most > arguments.limit else 0


def _per_packet(program: Path, folder: Path, loss: float, seconds: int, algorithm: str, recovery: str) -> float:
    """Instructions per data packet, without start-up."""
    file = folder / "lossy.toml"
    counts = []
    for duration in (f"{seconds} s", "1 us"):
        file.write_text(SCENARIO.format(duration=duration, loss=loss, algorithm=algorithm, recovery=recovery))
        counts.append(count(program, file))
    (instructions, packets), (start, first) = counts
    return (instructions - start) / (packets - first)


if __name__ == "__main__":
    sys.exit(main())
