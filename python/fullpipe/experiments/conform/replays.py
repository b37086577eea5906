"""Rules of BBR's states that need a change at a given state. A first run finds the time of the state, and a second one
is equal until then: runs are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fullpipe._util.plain import Tree
from fullpipe.experiments.conform.harness import Harness
from fullpipe.experiments.conform.phases import (
    CRUISE,
    DOWN,
    DRAIN,
    LINK,
    REFILL,
    STARTUP,
    UP,
    entry,
    rounds,
    shown,
    spans,
)
from fullpipe.experiments.conform.rule import Skip

__all__ = [
    "down_time",
    "drain_time",
    "later_loss",
    "limited_loss",
    "paused_refill",
    "spurious_loss",
    "spurious_timeout",
    "up_plateau",
]

DEEP = {**LINK, "buffer": "8 BDP"}
"""Path without losses."""

RTT_S = 0.04
"""Round-trip time without a queue."""

STEADY_S = 12.0
"""Length of the first run: some probes for bandwidth."""

BURST_S = 0.003
"""Length of a burst that loses more than 2 % of a flight."""


def steady(harness: Harness) -> list[tuple[float, ...]]:
    """Time, phase, and round-trip time on the path without losses."""
    return shown(harness.run(DEEP, STEADY_S), "rtt_s")


def lossy(times: Sequence[float], length_s: float = BURST_S) -> Tree:
    """The path, with bursts of losses that begin at these times."""
    schedule: list[Tree] = []
    for time_s in times:
        schedule.append({"at": f"{time_s:.5f} s", "loss": 0.999999})
        schedule.append({"at": f"{time_s + length_s:.5f} s", "loss": 0})
    return {**DEEP, "schedule": schedule, "reverse": {"schedule": []}}


def drain_time(harness: Harness) -> float:
    """The rate falls to 20 Mbit/s as Drain begins, below its pacing rate: round trips in Drain, of which 3 or 4 are
    allowed.
    """
    start_s = entry(steady(harness), DRAIN)
    link = {**DEEP, "schedule": [{"at": f"{start_s:.4f} s", "rate": "20 Mbit/s"}]}
    rows = shown(harness.run(link, start_s + 4.0), "rtt_s")
    stays = [end for start, end in spans(rows, DRAIN) if start >= start_s]
    return rounds(rows, start_s, stays[0]) if stays else math.inf


def up_plateau(harness: Harness) -> float:
    """Fewest round trips in ProbeBW_UP without loss at a rate that does not grow."""
    rows = steady(harness)
    stays = spans(rows, UP)
    if not stays:
        raise Skip("the controller does not enter ProbeBW_UP")
    return min(rounds(rows, start, end) for start, end in stays)


def limited_loss(harness: Harness) -> float:
    """The application pauses for 20 ms as ProbeBW_UP begins. Of the packets after the pause, about one in ten is lost
    for a round trip: round trips from the first loss to ProbeBW_DOWN.
    """
    start_s = entry(steady(harness), UP)
    source = {"on": f"{start_s:.4f} s", "off": "20 ms", "rate": "unlimited"}
    first_s = start_s + 0.022
    link = lossy([first_s + 0.005 * i for i in range(8)], 0.0006)
    rows = shown(harness.run(link, start_s + 3.0, source=source), "rtt_s")
    down_s = next((time_s for time_s, phase, *_ in rows if time_s > first_s and phase == DOWN), None)
    return math.inf if down_s is None else rounds(rows, first_s, down_s)


def down_time(harness: Harness) -> float:
    """The rate falls by 15 % as ProbeBW_DOWN begins, so that the queue does not drain: time until ProbeBW_REFILL,
    without ProbeBW_CRUISE. The delay falls at 3 s, so that ProbeRTT is not due.
    """
    shorter = [{"at": "3 s", "delay": "18 ms"}]
    base = {**DEEP, "reverse": {"schedule": [], "delay": "20 ms"}}
    rows = shown(harness.run({**base, "schedule": shorter}, 8.0))
    start_s = entry(rows, DOWN, 3.0)
    slower = {"at": f"{start_s:.4f} s", "rate": "42.5 Mbit/s"}
    rows = shown(harness.run({**base, "schedule": [*shorter, slower]}, start_s + 5.0))
    later = [(time_s, phase) for time_s, phase in rows if time_s > start_s and phase in (CRUISE, REFILL)]
    return later[0][0] - start_s if later and later[0][1] == REFILL else math.inf


def spurious_loss(harness: Harness) -> float:
    """In ProbeBW_UP, 12 of 120 packets are 30 ms late, and are taken for lost: largest window in the second after,
    over the one before. 0 if ProbeBW_DOWN is not followed by ProbeBW_REFILL or ProbeBW_UP.
    """
    start_s = entry(steady(harness), UP) + RTT_S
    schedule: list[Tree] = []
    for i in range(12):
        schedule.append({"at": f"{start_s + 0.0024 * i:.5f} s", "delay": "50 ms"})
        schedule.append({"at": f"{start_s + 0.0024 * i + 0.0002:.5f} s", "delay": "20 ms"})
    overtaken = {"jitter": {"mean": "1 us", "reorder": True}, "reverse": {"schedule": [], "jitter": "off"}}
    series = harness.run({**DEEP, **overtaken, "schedule": schedule}, start_s + 2.0)
    rows = shown(series, "cwnd_packets")
    down_s = next((time_s for time_s, phase, _ in rows if time_s > start_s and phase == DOWN), None)
    if down_s is None or down_s > start_s + 4 * RTT_S or not series.metrics["retransmits"]:
        raise Skip("late packets do not lead to ProbeBW_DOWN")
    after = [(phase, window) for time_s, phase, window in rows if down_s < time_s <= down_s + 1.0]
    if next((phase for phase, _ in after if phase != DOWN), DOWN) not in (REFILL, UP):
        return 0.0
    before = max(window for time_s, _, window in rows if start_s - RTT_S <= time_s < down_s)
    return max(window for _, window in after) / before


def spurious_timeout(harness: Harness) -> float:
    """All ACKs are held for 0.6 s in ProbeBW, and then arrive: largest window in the second after, over the one before.
    0 if the controller is back in Startup.
    """
    start_s = 5.8
    held = [{"at": f"{start_s:g} s", "delay": "600 ms"}, {"at": f"{start_s + 0.05:g} s", "delay": "20 ms"}]
    series = harness.run({**DEEP, "reverse": {"schedule": held}}, 9.0)
    if not series.metrics["timeouts"]:
        raise Skip("no timeout expires")
    rows = shown(series, "cwnd_packets")
    before = next(window for time_s, _, window in rows if time_s >= start_s)
    after = [(phase, window) for time_s, phase, window in rows if start_s + 0.65 < time_s <= start_s + 1.65]
    if any(phase == STARTUP for phase, _ in after):
        return 0.0
    return max(window for _, window in after) / before


def later_loss(harness: Harness) -> float:
    """A burst is lost in the first ProbeBW_UP, which sets inflight_longterm, and one in the second: inflight_longterm
    after it, over the packets in flight when the lost ones were sent. 0 without ProbeBW_DOWN in three round trips.
    """
    first_s = entry(steady(harness), UP) + 0.05
    rows = shown(harness.run(lossy([first_s]), STEADY_S))
    second_s = entry(rows, UP, first_s + 1.0) + 0.05
    series = harness.run(lossy([first_s, second_s]), second_s + 1.0)
    rows = shown(series, "rtt_s", "in_flight_packets", "inflight_longterm_packets")
    flight = next((row[3] for row in rows if row[0] >= second_s), math.nan)
    down = next((row for row in rows if row[0] > second_s and row[1] == DOWN), None)
    if down is None or rounds(rows, second_s, down[0]) > 3.0:
        return 0.0
    return next(row[4] for row in rows if row[0] >= down[0] + 0.01) / flight


def paused_refill(harness: Harness) -> float:
    """The application pauses for 50 ms as ProbeBW_REFILL begins: largest bandwidth a round trip later, over the one
    before. 0 if the next state is not ProbeBW_UP.
    """
    start_s = entry(steady(harness), REFILL)
    source = {"on": f"{start_s:.4f} s", "off": "50 ms", "rate": "unlimited"}
    rows = shown(harness.run(DEEP, start_s + 1.0, source=source), "max_bw_bps")
    if next((phase for time_s, phase, _ in rows if time_s > start_s + 0.01 and phase != REFILL), REFILL) != UP:
        return 0.0
    before = next(bw for time_s, _, bw in rows if time_s >= start_s)
    after = [bw for time_s, _, bw in rows if start_s < time_s <= start_s + 0.15]
    return max(after[-1], max(after), key=lambda bw: abs(bw - before)) / before
