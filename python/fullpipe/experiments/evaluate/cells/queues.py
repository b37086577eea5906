"""RFC 9743, 5.1.2: protection against bufferbloat."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import dumbbell, flows
from fullpipe.experiments.evaluate.rules import IDLE, LESS

__all__ = ["ADDRESSED_BELOW_S", "CELLS"]

ADDRESSED_BELOW_S = 0.03
"""Bufferbloat is addressed where the median queueing delay at 10 BDP is below one round trip."""

CELLS = (
    Cell(
        "bloat",
        ("5.1.2",),
        "50 Mbit/s, 30 ms, 2 flows: queueing delay as buffers grow",
        [
            Setting(
                f"{buffer:g} BDP",
                lambda party, buffer=buffer: dumbbell(50e6, 0.03, buffer, flows(party, "subject", 2), duration_s=120),
                ALWAYS if buffer in (1, 10) else STANDARD,
            )
            for buffer in (0.1, 1, 10, 50, 100)
        ],
        [
            Metric("p50_queueing_delay_s", LESS),
            Metric("p95_queueing_delay_s", LESS),
            Metric("utilization", IDLE, informs=True),
            Metric("subject.mean_rtt_s", LESS, informs=True),
        ],
    ),
)
