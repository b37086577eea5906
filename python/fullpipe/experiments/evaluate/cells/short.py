"""RFC 9743, 5.1.5 and 5.2.3: short and long flows, of the algorithm alone and beside CUBIC."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import LESS, MORE

__all__ = ["CELLS", "SIZES"]

SIZES = {"15 kB": 0.6, "100 kB": 0.3, "1 MB": 0.1}
"""Transfers and how many of all are so large. Their mean is 139 kB."""

LOAD = 0.2
DURATION_S, RATE_BPS, RTT_S = 120, 50e6, 0.04
COUNT = round(LOAD * RATE_BPS * DURATION_S / (139e3 * 8))
"""Transfers in a run. Given their number, the starts of a Poisson process are uniform over it."""

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


def times(name: str) -> list[Metric]:
    """Completion times of each size, and the long flows' goodput."""
    return [
        *(
            Metric(
                f"{size}.p{part}_completion_s",
                f"{size}, {'median' if part == 50 else '95th percentile'}",
                LESS,
                "ms",
                1e3,
            )
            for size in SIZES
            for part in (50, 95)
        ),
        Metric("long.goodput_bps", name, MORE, "Mbit/s", 1e-6),
    ]


CELLS = (
    Cell(
        "fct",
        ("5.1.5",),
        "50 Mbit/s, 40 ms, 1 BDP: two long flows and transfers at a fifth of the capacity",
        [Setting("long and short", lambda party: mix(party, party), ALWAYS)],
        times("goodput of the long flows"),
    ),
    Cell(
        "fct-mixed",
        ("5.2.3",),
        "50 Mbit/s, 40 ms, 1 BDP: two long flows and transfers at a fifth of the capacity, one of both CUBIC's",
        [
            Setting("long beside CUBIC's transfers", lambda party: mix(party, CUBIC), ALWAYS),
            Setting("transfers beside CUBIC's long flows", lambda party: mix(CUBIC, party), STANDARD),
        ],
        times("goodput of the long flows"),
        note="Judged by ratios: what CUBIC's flows have beside the candidate over what they have beside a standard.",
    ),
)
