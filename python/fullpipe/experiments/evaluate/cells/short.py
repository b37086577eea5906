"""RFC 9743, 5.1.5 and 5.2.3: short and long flows, of the algorithm alone and versus CUBIC."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import LESS, MORE

__all__ = ["CELLS", "SIZES"]

SIZES = {"15 kB": 0.6, "100 kB": 0.3, "1 MB": 0.1}
"""Sizes of transfers, and the fraction of transfers with each size. The mean is 139 kB."""

LOAD = 0.2
DURATION_S, RATE_BPS, RTT_S = 120, 50e6, 0.04
COUNT = round(LOAD * RATE_BPS * DURATION_S / (139e3 * 8))
"""Transfers in a run. For a given number, the start times of a Poisson process are uniform."""

CUBIC = STANDARDS[1]


def mix(long: Party, short: Party) -> Tree:
    """Two long flows, and short ones at a fifth of the capacity."""
    starts = f"0 s..{DURATION_S - 10} s"
    return dumbbell(
        RATE_BPS,
        RTT_S,
        1,
        flows(long, "long", 2),
        *(flows(short, size, round(COUNT * part), size=size, start=starts) for size, part in SIZES.items()),
        duration_s=DURATION_S,
        warmup_s=0,
    )


TIMES = [
    *(Metric(f"{size}.p{part}_completion_s", LESS, of=size) for size in SIZES for part in (50, 95)),
    Metric("long.goodput_bps", MORE, of="long flows"),
]
"""Completion times of each size, and the goodput of the long flows."""


CELLS = (
    Cell(
        "fct",
        ("5.1.5",),
        "50 Mbit/s, 40 ms, 1 BDP: two long flows and transfers at a fifth of the capacity",
        [Setting("long and short", lambda party: mix(party, party), ALWAYS)],
        TIMES,
    ),
    Cell(
        "fct-mixed",
        ("5.2.3",),
        "50 Mbit/s, 40 ms, 1 BDP: two long flows and transfers at a fifth of the capacity, either of them with CUBIC",
        [
            Setting("long beside CUBIC's transfers", lambda party: mix(party, CUBIC), ALWAYS),
            Setting("transfers beside CUBIC's long flows", lambda party: mix(CUBIC, party), STANDARD),
        ],
        TIMES,
        note="Judged by ratios: metrics of CUBIC's flows versus the candidate over those versus a standard.",
    ),
)
