"""Rules of draft-ietf-ccwg-ratelimited-increase, section 3, and of the example in its appendix.

Runs have datagrams of 1000 bytes over QUIC, round trips of 100 ms, and an ACK per packet. The draft permits RFC 9002's
rule too, which is more conservative: a window that is not used does not grow.
"""

from __future__ import annotations

from fullpipe.experiments.conform.harness import HEADERS, Harness, Series
from fullpipe.experiments.conform.rule import Measure, Rule, Skip, window_at

__all__ = ["RULES"]

RTT_S = 0.1
DATAGRAM = 1000

DRAIN_S = 6.0
"""Time at which the bottleneck disappears; the backlog of the application is gone 3 s later."""

LOSS_S = 14.0
"""A loss while the application limits the sender."""


def written(packets: float) -> dict[str, str]:
    """Application that writes this many packets per round trip."""
    return {"rate": f"{packets * (DATAGRAM + HEADERS) * 8 / RTT_S:.0f} bit/s"}


def limited(harness: Harness, packets: float, duration_s: float) -> Series:
    """Slow start of a sender whose application limits it from the first packet on."""
    return harness.quic([], duration_s, datagram=DATAGRAM, source=written(packets))


def unused(harness: Harness) -> float:
    """The application writes 4 packets per round trip from the start: window after ten round trips."""
    return DATAGRAM * window_at(limited(harness, 4, 1.3), 1.15)


def used(harness: Harness) -> float:
    """The application fills the window at once, every 200 ms: growth by the second flight, of 20 packets."""
    source = {"on": "1 ms", "off": "199 ms", "rate": "unlimited"}
    series = harness.quic([], 0.5, datagram=DATAGRAM, source=source, pacing="off")
    return window_at(series, 0.39) / window_at(series, 0.19)


def avoidance(harness: Harness) -> Series:
    """Congestion avoidance: a bottleneck slower than the application fills the window, until it disappears."""
    link = {
        "rate": "320 kbit/s",
        "delay": "50 ms",
        "schedule": [
            {"at": "1 s", "loss": 0.999999},
            {"at": "1.026 s", "loss": 0},
            {"at": f"{DRAIN_S} s", "rate": "1 Gbit/s"},
            {"at": f"{LOSS_S} s", "loss": 0.999999},
            {"at": f"{LOSS_S + 0.019:g} s", "loss": 0},
        ],
        "reverse": {"schedule": []},
    }
    keys = {"transport": "quic", "ack_every": 1, "source": written(5)}
    return harness.run(link, 18.0, scenario={"packet_size": DATAGRAM + HEADERS}, **keys)


def idle_growth(harness: Harness) -> float:
    """Growth in 40 round trips with 5 packets in flight, after round trips that used the whole window."""
    series = avoidance(harness)
    if window_at(series, DRAIN_S + 3.0) < 12:
        raise Skip("the window is below 12 packets before the application limits the sender")
    return DATAGRAM * (window_at(series, DRAIN_S + 7.0) - window_at(series, DRAIN_S + 3.0))


def growth_after_loss(harness: Harness) -> float:
    """Growth in 30 round trips after a loss, with 5 packets in flight."""
    cuts = [one for one in avoidance(harness).cuts() if one.at_s > LOSS_S]
    if not cuts or cuts[0].after < 7:
        raise Skip("a loss leaves no window above 7 packets")
    return DATAGRAM * (max(cuts[0].curve.between(0.0, 3.0)) - cuts[0].after)


def first_round(harness: Harness) -> float:
    """The application writes one packet in the first round trip."""
    return DATAGRAM * window_at(limited(harness, 1, 0.25), 1.9 * RTT_S)


def small_rate(harness: Harness) -> float:
    """The application writes 30 packets per round trip for 30 s: window over the largest flight."""
    series = limited(harness, 30, 30.5)
    flights = series.curve("in_flight_packets").between(0.0, 30.0)
    return window_at(series, 30.0) / max(flights)


def rule(name: str, title: str, unit: str, low: float | None, high: float | None, measure: Measure) -> Rule:
    return Rule(name, "draft-ietf-ccwg-ratelimited-increase, 3", "MUST", title, unit, low, high, measure)


RULES = (
    rule("L1", "window after ten rounds of 4 packets in slow start", "bytes", 10000, 20000, unused),
    rule("L2", "growth by a flight of the whole window, relative", "1", 2, 2, used),
    rule("L3", "growth in 40 rounds of 5 packets in congestion avoidance", "bytes", None, 1000, idle_growth),
    rule("L4", "growth above the window after a loss", "bytes", None, 0, growth_after_loss),
    rule("L5", "window after a first round of one packet", "bytes", 10000, 11000, first_round),
    rule("L6", "window after 30 s at a small rate, over the largest flight", "1", None, 2, small_rate),
)
