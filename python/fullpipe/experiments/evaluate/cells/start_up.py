"""RFC 9743, sections 6.1 and 6.3: one flow fills an idle path from its start.

The other test cases exclude the first 20 s as warm-up, and so faults in slow start and in the response to its first
losses.
"""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, FULL, SECONDS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import Party, Tree, dumbbell, flows, ms
from fullpipe.experiments.evaluate.rules import LESS, LOSS, MORE

__all__ = ["CELLS", "DURATION_S", "start_up"]

DURATION_S = 20.0


def start_up(party: Party, rate_bps: float, rtt_s: float, buffer_bdp: float) -> Tree:
    """Flow on an idle link with a drop-tail buffer, measured from its start.

    Args:
        party: Algorithm and keys of the sender.
        rate_bps: Rate of the link.
        rtt_s: Base round-trip time.
        buffer_bdp: Size of the buffer in BDP.
    """
    subject = flows(party, "subject", start="0 s")
    # Four samples per round trip: `measure.start_up` averages over four round trips.
    return dumbbell(
        rate_bps, rtt_s, buffer_bdp, subject, duration_s=DURATION_S, warmup_s=0, series_interval=ms(rtt_s / 4)
    )


def _level(rate_mbps: float, rtt_s: float) -> int:
    """Profile from which on a configuration runs. The large path shows the most: more round trips, more losses."""
    if (rate_mbps, rtt_s) == (200, 0.1):
        return ALWAYS
    return STANDARD if rate_mbps <= 200 else FULL


CELLS = (
    Cell(
        "start-up",
        ("6.1", "6.3"),
        "one flow fills an idle path from its start, 20 s, no warm-up",
        [
            Setting(
                f"{rate:g} Mbit/s, {rtt * 1e3:g} ms, {buffer:g} BDP",
                lambda party, rate=rate, rtt=rtt, buffer=buffer: start_up(party, rate * 1e6, rtt, buffer),
                _level(rate, rtt),
            )
            for rate in (10, 200, 1000)
            for rtt in (0.02, 0.1)
            for buffer in (0.25, 1, 4)
        ],
        [
            Metric("start_up_s", LESS, shown_in=SECONDS),
            Metric("start_up_loss_rate", LOSS),
            Metric("subject.goodput_bps", MORE),
        ],
        measure="start_up",
    ),
)
