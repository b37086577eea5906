"""Rules of senders whose application does not always have data.

An application writes as much as a bulk flow sends in the first `FULL_S` seconds, then 10 packets per round trip for
10 s, and then much data again. Packets have 1500 bytes, round trips take 100 ms, and the path has no queue.
"""

from __future__ import annotations

from typing import Any

from fullpipe.experiments.conform.harness import Harness, Series
from fullpipe.experiments.conform.rule import Rule, Skip, window_at

__all__ = ["RULES"]

RTT_S = 0.1
PACKET = 1500
FLIGHT = 10
"""Packets per round trip that the application writes in the limited phase."""

FLIGHT_AT_LOSS = FLIGHT + 4
"""Flight when a loss is found: the lost packets, and those sent until it is known, are not acknowledged."""

FIRST_LOSS_S = 0.25
"""Loss that ends slow start."""

FULL_S = 4.0
"""End of the first bulk phase."""

AGAIN_S = 14.0
"""Begin of the second bulk phase."""

FRAMES_PER_S = FLIGHT / RTT_S
FULL_RTT_S = 10 * RTT_S
SETTLED_S = 3 * RTT_S
"""Time after a change of the application's rate until round trips show it alone."""

START_RTT_S = 0.02
START_FRAMES_PER_S = 600
START_BACKLOG = 500
"""Packets per second, 1.7 ms apart, and packets at once at the begin and at `START_AGAIN_S`, for a slow start that the
application limits in between, with 12 packets per round trip.
"""

START_AGAIN_S = 2.0

RATE = {"scenario": {"packet_size": PACKET}, "initial_window": 10}


def bulk(harness: Harness, duration_s: float, losses: tuple[float, ...] = ()) -> Series:
    """A flow that always has data."""
    bursts = [(at_s, RTT_S / 4) for at_s in (FIRST_LOSS_S, *losses)]
    series = harness.losses(RTT_S, bursts, duration_s, **RATE)
    if series.has("phase", "bw_bps"):
        raise Skip("a controller with a model of the path conflicts with these rules: try --rules bbr")
    return series


def backlog(first: Series) -> int:
    """Packets that a flow must have at once to send bulk data until `FULL_S`, beyond those of later frames."""
    arrived = float(first.metrics["arrived_packets"])
    return max(round(arrived - FRAMES_PER_S * FULL_S), FLIGHT)


def limited(harness: Harness, duration_s: float, losses: tuple[float, ...] = (), **keys: Any) -> Series:
    """A flow that is limited between two bulk phases.

    Args:
        harness: Simulations of the controller.
        duration_s: Simulated time.
        losses: Starts of bursts of losses, seconds.
        keys: Further keys of `Harness.losses`.

    Raises:
        Skip: The limited phase uses more than two thirds of the window.
    """
    first = bulk(harness, FULL_S)
    if window_at(first, FULL_S - 0.1) < 1.5 * FLIGHT:
        raise Skip(f"the window is below {1.5 * FLIGHT:g} packets at {FULL_S:g} s")
    source = {
        "frames": f"{FRAMES_PER_S:g}/s",
        "size": f"{PACKET} B",
        "key_size": f"{backlog(first) * PACKET} B",
        "key_every": round(AGAIN_S * FRAMES_PER_S),
    }
    bursts = [(at_s, RTT_S / 4) for at_s in (FIRST_LOSS_S, *losses)]
    return harness.losses(RTT_S, bursts, duration_s, source=source, **RATE, **keys)


def growth(harness: Harness) -> float:
    """Growth of the window in 40 round trips of 10 packets each."""
    series = limited(harness, AGAIN_S)
    start_s = FULL_S + 1.0
    return window_at(series, start_s + 40 * RTT_S) - window_at(series, start_s)


def base_of_a_cut(harness: Harness) -> float:
    """A loss in the limited phase: window after the cut, over the flight."""
    series = limited(harness, AGAIN_S, (FULL_S + 5.0,))
    cuts = [one for one in series.cuts() if one.at_s > FULL_S + 5.0]
    if not cuts:
        raise Skip("a loss in the limited phase cuts no window by a tenth")
    return min(cuts[0].curve.between(0.0, 4 * RTT_S)) / FLIGHT_AT_LOSS


def resumed_growth(harness: Harness) -> float:
    """Growth in ten full round trips after the limited phase, over that of a flow that is never limited."""
    plain, series = bulk(harness, FULL_S + 2.0), limited(harness, AGAIN_S + 2.0)
    first_s, later_s = FULL_S + SETTLED_S, AGAIN_S + SETTLED_S
    usual = window_at(plain, first_s + FULL_RTT_S) - window_at(plain, first_s)
    if usual < 1.0:
        raise Skip("the window of a bulk flow grows by less than a packet in ten round trips")
    return (window_at(series, later_s + FULL_RTT_S) - window_at(series, later_s)) / usual


def resumed_cut(harness: Harness) -> float:
    """A loss after the limited phase, in the eighth full round trip: part of the window that is left, over the part
    that is left to a flow that is never limited.
    """
    parts = []
    for run, start_s in ((limited, AGAIN_S), (bulk, FULL_S)):
        at_s = start_s + 0.7
        series = run(harness, at_s + 1.0, (at_s,))
        cuts = [one for one in series.cuts() if one.at_s > at_s]
        if not cuts:
            raise Skip("a loss after the limited phase cuts no window by a tenth")
        parts.append(min(cuts[0].curve.between(0.0, 4 * RTT_S)) / cuts[0].before)
    return parts[0] / parts[1]


def paced_growth(harness: Harness) -> float:
    """Largest growth of the window of a paced bulk flow in one second."""
    series = bulk(harness, FULL_S)
    starts = [1.0 + i / 10 for i in range(20)]
    return max(window_at(series, start_s + 1.0) - window_at(series, start_s) for start_s in starts)


def burst_growth(harness: Harness) -> float:
    """The application writes more than a window every 200 ms, into an empty pipe: growth by the second burst."""
    source = {"on": "1 ms", "off": "199 ms", "rate": "unlimited"}
    series = harness.losses(RTT_S, [], 0.5, source=source, pacing="off", **RATE)
    return window_at(series, 0.39) / window_at(series, 0.19)


def marked(harness: Harness) -> float:
    """The path becomes one of 2 Mbit/s that marks packets, in the limited phase: smallest window in the next second,
    over the window before.
    """
    limited(harness, FULL_S + 1.0)
    first = bulk(harness, FULL_S)
    change_s = FULL_S + 2.0
    source = {
        "frames": f"{1 / RTT_S:g}/s",
        "size": f"{FLIGHT * PACKET} B",
        "key_size": f"{backlog(first) * PACKET} B",
        "key_every": 1000,
    }
    link = {
        "rate": "1 Gbit/s",
        "delay": f"{500 * RTT_S:g} ms",
        "queue": {"name": "step", "threshold": "10 ms"},
        "schedule": [
            {"at": f"{FIRST_LOSS_S} s", "loss": 0.999999},
            {"at": f"{FIRST_LOSS_S + RTT_S / 4} s", "loss": 0},
            {"at": f"{change_s} s", "rate": "2 Mbit/s"},
        ],
        "reverse": {"schedule": [], "queue": "drop-tail"},
    }
    series = harness.run(link, change_s + 1.5, source=source, ecn="accurate", pacing="on", **RATE)
    return min(series.curve().between(change_s, change_s + 1.0)) / window_at(series, change_s)


def unused_window(harness: Harness) -> float:
    """Window after 20 limited round trips, over the flight of 10 packets and the packet of the next ACK."""
    return window_at(limited(harness, AGAIN_S), FULL_S + 20 * RTT_S) / (FLIGHT + 1)


def kept_window(harness: Harness) -> float:
    """Round trips take 150 ms for 3 s of the limited phase, as if others filled a queue: smallest window until a second
    later, over the window before.
    """
    longer_s = FULL_S + 3.0
    delays = [(longer_s, RTT_S), (longer_s + 3.0, RTT_S / 2)]
    series = limited(harness, AGAIN_S, delays=delays)
    before = window_at(series, longer_s)
    if before < 2 * FLIGHT:
        raise Skip(f"the window is below {2 * FLIGHT} packets at {longer_s:g} s")
    return min(series.curve().between(longer_s, longer_s + 4.0)) / before


def resumed_start(harness: Harness) -> float:
    """No loss. Slow start, packets 1.7 ms apart that use a part of the window, and much data again: growth by the ACKs
    of its first round trips.
    """
    bulk(harness, FULL_S)
    source = {
        "frames": f"{START_FRAMES_PER_S}/s",
        "size": f"{PACKET} B",
        "key_size": f"{START_BACKLOG * PACKET} B",
        "key_every": round(START_AGAIN_S * START_FRAMES_PER_S),
    }
    link = {"rate": "100 Gbit/s", "delay": f"{500 * START_RTT_S:g} ms"}
    series = harness.run(link, START_AGAIN_S + 0.5, source=source, pacing="off", **RATE)
    before = window_at(series, START_AGAIN_S)
    flight = START_FRAMES_PER_S * START_RTT_S
    if before < 1.5 * flight:
        raise Skip(f"the window is below {1.5 * flight:g} packets in slow start")
    return window_at(series, START_AGAIN_S + 0.4) / before


RULES = (
    Rule("A1", "RFC 9002, 7.8; RFC 9438, 5.8", "SHOULD", "growth in 40 limited rounds", "packets", None, 0.5, growth),
    Rule(
        "A2",
        "RFC 5681, 3.1",
        "MUST",
        "window after a loss while limited, over the flight",
        "1",
        None,
        1.0,
        base_of_a_cut,
    ),
    Rule("A3", "fullpipe", "D", "growth after 10 s of limitation, relative", "1", None, 1.5, resumed_growth),
    Rule("A4", "fullpipe", "D", "window after a loss after limitation, relative", "1", 0.8, None, resumed_cut),
    Rule("A5", "RFC 9002, 7.8", "D", "growth of a paced bulk flow in ten rounds", "packets", 0.5, None, paced_growth),
    Rule("A6", "RFC 5681, 3.1", "D", "growth by a burst that fills the window", "1", 1.4, None, burst_growth),
    Rule(
        "A7",
        "RFC 3168, 6.1.2; RFC 8257, 3.3",
        "MUST",
        "window after marks while limited, relative",
        "1",
        None,
        0.99,
        marked,
    ),
    Rule("A8", "RFC 6817, 2.4.2", "MAY", "window while limited, over the flight", "1", None, 1.2, unused_window),
    Rule("A9", "fullpipe", "D", "window in limited rounds with longer RTTs, relative", "1", 0.99, None, kept_window),
    Rule("A10", "fullpipe", "D", "growth of slow start after limited rounds", "1", 1.3, None, resumed_start),
)
