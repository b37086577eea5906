"""States of BBR in the series of a controller."""

from __future__ import annotations

from collections.abc import Sequence

from fullpipe.experiments.conform.harness import Series
from fullpipe.experiments.conform.rule import Skip

__all__ = [
    "CRUISE",
    "DOWN",
    "DRAIN",
    "LINK",
    "PROBE_RTT",
    "RATE_BPS",
    "REFILL",
    "STARTUP",
    "UP",
    "entry",
    "rounds",
    "shown",
    "spans",
]

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
"""Values of the series ``phase``."""

NAMES = ("Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT")

RATE_BPS = 50e6
LINK = {"rate": "50 Mbit/s", "delay": "20 ms", "buffer": "2 BDP"}
"""Path of most rules: 167 packets of 1500 bytes."""


def shown(series: Series, *names: str) -> list[tuple[float, ...]]:
    """Rows of time, phase, and further columns, where all are known."""
    names = ("t_s", "phase", *names)
    if not series.has(*names):
        missing = [name for name in names if not series.has(name)]
        raise Skip(f"requires the series {', '.join(missing)} of the controller")
    rows = zip(*(series.columns[name] for name in names), strict=True)
    return [tuple(map(float, row)) for row in rows if not any(value is None or value != value for value in row)]


def spans(rows: Sequence[tuple[float, ...]], phase: int) -> list[tuple[float, float]]:
    """Start and end of each stay in a state that ends."""
    found: list[tuple[float, float]] = []
    start = None
    for time_s, now, *_ in rows:
        if now == phase and start is None:
            start = time_s
        elif now != phase and start is not None:
            found.append((start, time_s))
            start = None
    return found


def entry(rows: Sequence[tuple[float, ...]], phase: int, after_s: float = 0.0) -> float:
    """Time at which the controller enters a state.

    Raises:
        Skip: It does not.
    """
    before = phase
    for time_s, now, *_ in rows:
        if time_s >= after_s and now == phase != before:
            return time_s
        before = int(now)
    raise Skip(f"the controller does not enter {NAMES[phase]}")


def rounds(rows: Sequence[tuple[float, ...]], start_s: float, end_s: float) -> float:
    """Packet-timed round trips between two times: one ends when a packet sent after its start is acknowledged.

    Args:
        rows: Time, phase, and round-trip time, seconds.
        start_s: First time.
        end_s: Last time.
    """
    count, begun_s = 0, start_s
    rtt_s = 0.0
    for time_s, _, rtt_s, *_ in rows:
        if time_s > end_s:
            break
        if time_s - rtt_s >= begun_s:
            count, begun_s = count + 1, time_s
    return count + (end_s - begun_s) / rtt_s if rtt_s else 0.0
