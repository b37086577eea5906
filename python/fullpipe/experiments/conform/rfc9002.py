"""Rules of RFC 9002, sections 6 and 7 and appendix B: NewReno over QUIC.

Runs have datagrams of 1200 bytes, round trips of 100 ms, and an ACK per packet, where a rule names nothing else.
"""

from __future__ import annotations

from fullpipe.experiments.conform.harness import Cut, Harness, Series
from fullpipe.experiments.conform.rule import Measure, Rule, Skip, window_at

__all__ = ["RULES"]

RTT_S = 0.1
"""Round-trip time of the path."""

BIG = 0.45
"""Time in a paced round trip of slow start from 10 packets: about 130 packets are in flight."""

ONE = 0.002
"""Length of a burst that hits one to three paced packets of a large window."""

SHIFTS = (0.0, -0.02, -0.04, -0.05)
"""Changes of the times of bursts until one hits a packet: a small window does not fill a round trip."""


def furthest(ratios: list[float]) -> float:
    """Ratio with the largest distance from 1."""
    return max(ratios, key=lambda ratio: abs(ratio - 1))


def with_losses(harness: Harness, bursts: int, duration_s: float) -> Series:
    """Series with bursts of losses from `BIG` on, 15 ms apart. For a window below 50 packets, as without slow start,
    each is longer than the interval of two packets.
    """
    window = window_at(harness.quic([], 0.5), BIG)
    length = max(ONE, 2 * RTT_S / (1.25 * window)) if window < 50 else ONE
    for shift in SHIFTS:
        series = harness.quic([(BIG + shift + 0.015 * i, length) for i in range(bursts)], duration_s)
        if series.metrics["wire_lost_packets"]:
            break
    return series


def the_cut(series: Series) -> Cut:
    """First cut of the window."""
    found = series.cuts()
    if not found:
        raise Skip("a loss does not cut the window")
    return found[0]


def reduction(series: Series, within_s: float) -> float:
    """Smallest window within a time after the first cut, over the window before; 1 if losses are ignored."""
    found = series.cuts()
    if found:
        return min(found[0].curve.between(0.0, within_s)) / found[0].before
    if not series.metrics["wire_lost_packets"]:
        raise Skip("the controller sends no packet that is lost")
    return 1.0


def initial_window(harness: Harness) -> float:
    """First window over min(10 d, max(14720, 2 d)), for datagrams d of 1200, 1472, and 9000 bytes."""
    ratios = []
    for datagram in (1200, 1472, 9000):
        series = harness.quic([], 0.08, datagram=datagram)
        expected = min(10 * datagram, max(14720, 2 * datagram)) // datagram
        ratios.append(series.curve().points[0][1] / expected)
    return furthest(ratios)


def slow_start(harness: Harness) -> float:
    """The first flight of 10 packets is acknowledged: one, two, and ten packets per ACK."""
    ratios = []
    for ack_every in (1, 2, 10):
        series = harness.quic([], 0.25, ack_every=ack_every)
        ratios.append(window_at(series, 1.9 * RTT_S) / 10)
    return max(ratios, key=lambda ratio: abs(ratio - 2))


def halved(harness: Harness) -> float:
    """Three packets in a row are lost: smallest window within a round trip, over the window before."""
    return reduction(with_losses(harness, 1, 1.2), RTT_S)


def halved_once(harness: Harness) -> float:
    """Four bursts of losses in one flight, 15 ms apart: smallest window within a round trip, over the window before."""
    return reduction(with_losses(harness, 4, 1.2), 0.9 * RTT_S)


def avoidance(harness: Harness) -> Cut:
    """Windows after a cut at about 130 packets."""
    return the_cut(with_losses(harness, 1, 4.0))


def recovered(harness: Harness) -> float:
    """Growth from the cut until three round trips later: none in recovery, and two packets after it; one where the
    controller counts bytes until a window is acknowledged (RFC 3465, which appendix B.5 permits).
    """
    one = avoidance(harness)
    before, after = one.curve.at(0.003), one.curve.at(3 * RTT_S - 0.005)
    if before is None or after is None:
        raise Skip("the run ends in recovery")
    return after - before


def increase(harness: Harness) -> float:
    """Packets per round trip, over twenty round trips after recovery."""
    curve = avoidance(harness).curve
    before, after = curve.at(2 * RTT_S), curve.at(22 * RTT_S)
    if before is None or after is None:
        raise Skip("the run ends too early")
    return (after - before) / 20


def smallest(harness: Harness) -> float:
    """Smallest window of a run that loses a round trip of packets twelve times."""
    bursts = [(0.25 + 0.35 * i, RTT_S) for i in range(12)]
    return min(value for _, value in harness.quic(bursts, 5.0).curve().points)


def persistent(harness: Harness) -> float:
    """Window at the first ACK after an outage of 3 s. The ACK that declares persistent congestion grows it again."""
    series = harness.quic([(BIG, 3.0)], 6.0)
    return min(series.curve().between(BIG + 3.0, BIG + 4.5))


def threshold(harness: Harness) -> float:
    """Threshold of slow start after an outage of 3 s, over the window before: the loss alone reduces it (B.6)."""
    series = harness.quic([(BIG, 3.0)], 6.0)
    if not series.has("ssthresh_packets"):
        raise Skip("the controller has no ssthresh")
    after = series.curve("ssthresh_packets").at(BIG + 4.5)
    if after is None:
        raise Skip("the controller has no ssthresh after the outage")
    return after / max(series.curve().between(0.0, BIG + 3.0))


def marked(harness: Harness) -> float:
    """A queue of 10 Mbit/s marks all packets above 20; or, if it marks none, one of 1 Mbit/s above 5: smallest window
    within a round trip of the first reduction.
    """
    for rate, packets in (("10 Mbit/s", 20), ("1 Mbit/s", 5)):
        series = harness.run(
            {"rate": rate, "delay": "50 ms", "queue": {"name": "step", "threshold": f"{packets} packets"}},
            2.0,
            transport="quic",
            ack_every=1,
            ecn="classic",
            scenario={"packet_size": 1228, "series_interval": "1 ms"},
        )
        if series.metrics["marked_packets"]:
            break
    else:
        raise Skip("the controller never fills the queue")
    found = series.cuts()
    return min(found[0].curve.between(0.0, 0.9 * RTT_S)) / found[0].before if found else 1.0


def underused(harness: Harness) -> float:
    """The application writes 4 packets per round trip, for ten round trips."""
    series = harness.quic([], 1.3, source={"rate": "392960 bit/s"})
    return 1200 * window_at(series, 1.15)


def paced(harness: Harness) -> float:
    """The pacer sends about 20 packets over most of a round trip: growth of the window by their ACKs."""
    series = harness.quic([], 0.5)
    return window_at(series, 3 * RTT_S - 0.005) / window_at(series, 2 * RTT_S - 0.005)


def probed(harness: Harness) -> float:
    """The delay rises by 600 ms for all packets: no packet is lost, and the probe timeout expires twice."""
    start_s = 1.0
    series = harness.quic([], 2.5, delays=[(0.0, 0.05), (start_s, 0.65)], max_window=60)
    if series.metrics["timeouts"] < 2:
        raise Skip("the probe timeout does not expire twice")
    windows = series.curve()
    return min(windows.between(start_s, start_s + 1.2)) / window_at(series, start_s)


def burst(harness: Harness) -> float:
    """Largest queue on a link of 1 Gbit/s behind bulk data that follows 2 s without data."""
    series = harness.quic([], 3.5, source={"on": "1 s", "off": "2 s", "rate": "unlimited"}, max_window=400)
    if window_at(series, 2.9) < 50:
        raise Skip("the window is below 50 packets after the idle time")
    return float(series.metrics["max_queue_packets"])


def rule(
    name: str, section: str, level: str, title: str, unit: str, low: float | None, high: float | None, measure: Measure
) -> Rule:
    return Rule(name, f"RFC 9002, {section}", level, title, unit, low, high, measure)


RULES = (
    rule(
        "N01", "7.2", "SHOULD", "initial window over the RFC's, for three sizes of datagrams", "1", 1, 1, initial_window
    ),
    rule("N02", "7.3.1, B.5", "EQ", "window after a round of slow start, relative", "1", 2, 2, slow_start),
    rule("N03", "7.3.2, B.6", "MUST", "window after three lost packets in a row, relative", "1", 0.498, 0.502, halved),
    rule(
        "N04",
        "7.3.2, B.6",
        "EQ",
        "window after four bursts of losses in one flight, relative",
        "1",
        0.498,
        0.502,
        halved_once,
    ),
    rule("N05", "7.3.2", "EQ", "growth in recovery and two round trips after it", "packets", 0.9, 2, recovered),
    rule("N06", "7.3.3", "MUST", "growth in congestion avoidance", "packets/RTT", 0.9, 1, increase),
    rule("N07", "7.2, B.6", "SHOULD", "smallest window after twelve losses", "packets", 2, 2, smallest),
    rule("N08", "7.6.2, B.8", "MUST", "window after persistent congestion", "packets", 2, 4, persistent),
    rule("N09", "7.1, B.7", "MUST", "window after CE marks in one round trip, relative", "1", 0.498, 0.502, marked),
    rule(
        "N10",
        "7.8",
        "SHOULD",
        "window after ten rounds with 4800 of 12000 bytes in flight",
        "bytes",
        12000,
        12000,
        underused,
    ),
    rule("N11", "7.8", "SHOULD", "growth of a paced round of slow start, relative", "1", 1.9, 2.1, paced),
    rule("N12", "6.2, 7.5", "MUST", "smallest window after two probe timeouts, relative", "1", 1, None, probed),
    rule("N13", "7.7", "MUST", "largest burst after idle time", "packets", None, 12, burst),
    rule("N14", "7.6.2, B.8", "MUST", "ssthresh after persistent congestion, relative", "1", 0.498, 0.502, threshold),
)
