"""RFC 9743, 5.1.4: fairness within the algorithm."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, SECONDS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import Party, Tree, dumbbell, flows, ms
from fullpipe.experiments.evaluate.rules import LESS, MORE

__all__ = ["CELLS"]


def late(party: Party, count: int) -> Tree:
    """Flows of which the last one starts at 60 s. The warm-up ends at 80 s."""
    return dumbbell(
        50e6,
        0.05,
        0.5,
        flows(party, "subject", count - 1),
        flows(party, "latecomer", start="60 s"),
        duration_s=180,
        warmup_s=80,
        series_interval="100 ms",
    )


def near_and_far(party: Party, far_s: float) -> Tree:
    """Two flows, with an RTT of 20 ms and a longer one."""
    more_s = (far_s - 0.02) / 2
    access = f"{ms(0.0004 + more_s)}..{ms(0.0008 + more_s)}"
    return dumbbell(
        50e6,
        0.02,
        1,
        flows(party, "near"),
        flows(party, "far", access_delay=access),
        duration_s=180,
        warmup_s=20,
    )


CELLS = (
    Cell(
        "share",
        ("5.1.4",),
        "50 Mbit/s, 50 ms, 0.5 BDP: shares of flows, of which the last one starts a minute late",
        [
            Setting(
                f"{count} flows",
                lambda party, count=count: late(party, count),
                ALWAYS if count in (2, 8) else STANDARD,
            )
            for count in (2, 4, 8, 64)
        ],
        [
            Metric("jain_index", MORE),
            Metric("settle_s", LESS, shown_in=SECONDS),
            Metric("min_max", MORE, informs=True),
        ],
        measure="latecomer",
        note="The convergence time of the last flow ends when its mean rate over a second (packets in flight over RTT) "
        "is within 20 % of the equal share. Without convergence, it is the rest of the run.",
    ),
    Cell(
        "rtt",
        ("5.1.4",),
        "50 Mbit/s, 1 BDP: a flow with 20 ms versus a flow with a longer RTT",
        [
            Setting(
                f"20 and {round(far * 1e3)} ms",
                lambda party, far=far: near_and_far(party, far),
                ALWAYS if far == 0.1 else STANDARD,
            )
            for far in (0.02, 0.04, 0.1, 0.2)
        ],
        [Metric("far.goodput_bps", MORE, of="the far flow")],
    ),
)
