"""Rules of RFC 9438 (CUBIC), by the windows that a controller shows.

Expected values are calculated by hand from the equations of the RFC. Their widths follow from steps of packets and
ACKs.
"""

from __future__ import annotations

import itertools
import math

from fullpipe.errors import ScenarioError
from fullpipe.experiments.conform.harness import Curve, Cut, Harness
from fullpipe.experiments.conform.rule import Rule, Skip

__all__ = ["RULES"]

C = 0.4
"""Constant of equation 1."""

LONG_S, SHORT_S = 0.2, 0.02
"""Round-trip times at which the cubic function is larger, and at which the Reno-friendly estimate is larger."""

LATER = (0.7, 7.0)
"""Losses of one cut in congestion avoidance, at about 130 packets: fast convergence does not apply."""

BELOW = (0.7, 2.9)
"""Losses of a second cut below W_max: fast convergence applies."""

QUICK = (0.05, 1.0)
SOON = (0.05, 0.35)
"""The same two cases on the short path."""


def cut(harness: Harness, rtt_s: float, losses: tuple[float, ...], tail_s: float | None = None) -> Cut:
    """The last cut, where there is one for each loss."""
    return last(harness.cuts(rtt_s, losses, tail_s), losses)


def last(found: list[Cut], losses: tuple[float, ...]) -> Cut:
    """The last of the cuts, if there is one for each loss."""
    if len(found) != len(losses):
        raise Skip(f"requires a cut per loss; {len(losses)} losses made {len(found)} cuts")
    return found[-1]


def known(value: float | None, what: str) -> float:
    """A value that the windows show."""
    if value is None:
        raise Skip(f"the window does not reach {what}")
    return value


def k_s(w_max: float, epoch: float) -> float:
    """Equation 2: time until the cubic function reaches W_max."""
    return math.cbrt((w_max - epoch) / C)


def late_rounds(one: Cut, rtt_s: float, w_max: float) -> float:
    """Round trips by which half of the gap to W_max is closed later than with t = 0 at the cut.

    Half of the gap is closed at t = K (1 - 1/2^(1/3)) = 0.2063 K.
    """
    half_s = k_s(w_max, one.after) * (1 - math.cbrt(0.5))
    return (known(one.curve.reaches((w_max + one.after) / 2), "half of the gap to W_max") - half_s) / rtt_s


def slope(curve: Curve, low: float, high: float, rtt_s: float) -> float:
    """Packets per round trip between two windows."""
    time_s = known(curve.reaches(high), f"{high:.0f} packets") - known(curve.reaches(low), f"{low:.0f} packets")
    return (high - low) / time_s * rtt_s if time_s > 0 else math.inf


def decrease(harness: Harness) -> float:
    """A loss leaves beta_cubic = 0.7 of the window; 1 for a controller that ignores it."""
    found = harness.cuts(LONG_S, LATER)
    if not found:
        return 1.0
    one = last(found, LATER)
    return one.after / one.before


def decrease_once(harness: Harness) -> float:
    """Five losses, a sixth of a round trip apart."""
    bursts = [(0.7, LONG_S / 60)] + [(7.0 + i * LONG_S / 6, LONG_S / 60) for i in range(5)]
    found = [one for one in harness.losses(LONG_S, bursts, 10.0).cuts() if one.at_s > 7.0]
    return min(found[0].curve.between(0.0, 1.5 * LONG_S)) / found[0].before if found else 1.0


def floor(harness: Harness) -> float:
    """Every other round trip is lost, 24 times."""
    bursts = [(LONG_S * (3 + 2 * i), LONG_S) for i in range(24)]
    series = harness.losses(LONG_S, bursts, 11.0)
    values = [value for _, value in series.curve("ssthresh_packets").points]
    if not values:
        raise Skip("the controller has no ssthresh")
    return min(values)


def at_k(harness: Harness) -> float:
    """W_cubic(K) = W_max, where the curve is flat: K = ((W_max - cwnd_epoch)/C)^(1/3), read one round trip later."""
    one = cut(harness, LONG_S, LATER)
    return known(one.curve.at(k_s(one.before, one.after) + LONG_S), "time K") / one.before


def beginning(harness: Harness) -> float:
    """Time at which half of the gap to W_max is closed, minus 0.2063 K."""
    one = cut(harness, LONG_S, LATER)
    return late_rounds(one, LONG_S, one.before)


def growth(harness: Harness) -> float:
    """A cut at about 20 packets, with a round-trip time of 2 s: W_cubic(t + RTT) is far above 1.5 windows."""
    rtt_s = 2.0
    found = harness.losses(rtt_s, [(2.0, rtt_s / 8)], 30.0).cuts()
    if not found:
        raise Skip("requires a cut at about 20 packets")
    points = found[0].curve.points
    step = round(rtt_s / 0.005)
    return max(later[1] / now[1] for now, later in zip(points[step:], points[2 * step :], strict=False))


def monotone(harness: Harness) -> float:
    """At 12 s after the cut, the round-trip time falls from 1 s to 0.05 s."""
    series = harness.losses(1.0, [(4.0, 0.25)], 24.0, delays=[(0.0, 0.975), (17.0, 0.025)], back_s=0.025)
    points = [point for point in series.curve().points if point[0] >= 17.0]
    return min(later[1] / now[1] for now, later in itertools.pairwise(points))


def friendly_below(harness: Harness) -> float:
    """Growth of W_est from 0.75 to 0.95 of the peak: alpha_cubic = 3 (1 - 0.7)/(1 + 0.7) = 9/17."""
    one = cut(harness, SHORT_S, QUICK)
    return slope(one.curve, 0.75 * one.before, 0.95 * one.before, SHORT_S)


def friendly_above(harness: Harness) -> float:
    """Alpha_cubic is 1 once W_est has reached the window before the cut: from 1.1 to 1.4 of the peak."""
    one = cut(harness, SHORT_S, QUICK)
    return slope(one.curve, 1.1 * one.before, 1.4 * one.before, SHORT_S)


def friendly_between(harness: Harness) -> float:
    """W_max is 0.85 windows after fast convergence. Alpha changes at the window before the cut."""
    one = cut(harness, SHORT_S, SOON)
    return slope(one.curve, 0.875 * one.before, 0.975 * one.before, SHORT_S)


def friendly_start(harness: Harness) -> float:
    """Growth in eleven round trips after the one of recovery: 11 * 9/17 = 5.8 packets."""
    one = cut(harness, SHORT_S, SOON)
    return known(one.curve.at(12 * SHORT_S), "twelve round trips") - one.after


def convergence(harness: Harness) -> float:
    """W_max is 0.85 windows if the window at a cut is below the last W_max: window at K, one round trip later."""
    one = cut(harness, LONG_S, BELOW)
    w_max = 0.85 * one.before
    return known(one.curve.at(k_s(w_max, one.after) + LONG_S), "time K") / w_max


def convergence_k(harness: Harness) -> float:
    """Time at which half of the gap to the reduced W_max is closed, minus 0.2063 K with K from W_max - cwnd_epoch."""
    one = cut(harness, LONG_S, BELOW)
    return late_rounds(one, LONG_S, 0.85 * one.before)


def decrease_below(harness: Harness) -> float:
    """Beta applies to the window, and not to the W_max that fast convergence has reduced."""
    one = cut(harness, LONG_S, BELOW)
    return one.after / one.before


def plateau(harness: Harness) -> float:
    """The third cut comes between 0.85 of the second peak and the second peak: W_max becomes the window itself.

    It is where the curve is flat: the packet that the window needs the longest time for.
    """
    found = harness.cuts(LONG_S, (0.7, 2.9, 8.0))
    if len(found) != 3:
        raise Skip(f"requires a cut per loss; 3 losses made {len(found)} cuts")
    _, second, third = found
    if not 0.85 * second.before < third.before < second.before:
        raise Skip("requires a third peak between 0.85 of the second one and the second one")
    last: tuple[float, float] | None = None
    longest, place = 0.0, math.nan
    for time_s, window in third.curve.points:
        if time_s <= 5 * LONG_S:  # recovery
            continue
        last = last or (time_s, window)
        if window - last[1] >= 1:
            if time_s - last[0] > longest:
                longest, place = time_s - last[0], (last[1] + window) / 2
            last = time_s, window
    if math.isnan(place):
        raise Skip("the window does not grow after the third cut")
    return place / third.before


def timeout(harness: Harness) -> tuple[float, float, Curve]:
    """Window before a retransmission timeout, ssthresh after it, and the windows from then on."""
    series = harness.losses(LONG_S, [(0.7, LONG_S / 4), (7.0, 2.0)], 20.0)
    windows = series.curve()
    fallen = [t for t, window in windows.points if t > 7.0 and window <= 2.0]
    before = known(windows.at(7.0), "7 s")
    if not fallen and series.metrics["timeouts"]:
        return before, min(windows.between(7.0, 12.0)), windows  # the window stays above the loss window
    if not fallen:
        raise Skip("the outage causes no timeout")
    threshold = known(series.curve("ssthresh_packets").at(fallen[0]), "a slow-start threshold")
    return before, threshold, windows


def timeout_threshold(harness: Harness) -> float:
    """A timeout sets ssthresh to 0.7 windows, and the window to the loss window."""
    before, threshold, _ = timeout(harness)
    return threshold / before


def timeout_growth(harness: Harness) -> float:
    """Growth in 5 s of congestion avoidance after a timeout: 0.4 * 5^3 = 50 packets."""
    _, threshold, windows = timeout(harness)
    if min(windows.between(7.0, 12.0)) > 2.0:
        raise Skip("the window does not fall to the loss window by a timeout")
    after = [point for point in windows.points if point[0] > 8.0]
    start_s = known(Curve(after).reaches(threshold), "the slow-start threshold")
    return known(windows.at(start_s + 5.0), "5 s of congestion avoidance") - threshold


def slow_start(harness: Harness) -> float:
    """Part of a buffer of eight bandwidth-delay products that is full within 3 s."""
    link = {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": "8 BDP"}
    series = harness.run(link, 3.0)
    rtts = [value for _, value in series.curve("rtt_s").points]
    return (max(rtts) / 0.04 - 1) / 8


def unset_maximum(harness: Harness) -> float:
    """The round-trip time rises by 20 ms at about 100 packets; growth in the 8 s after slow start: 0.4 * 8^3 = 205."""
    rise = [(0.38, 0.07)]
    try:
        series = harness.losses(0.1, [], 16.0, delays=rise, slow_start="hystart++")
    except ScenarioError:
        series = harness.losses(0.1, [], 16.0, delays=rise)
    windows = series.curve()
    rounds = [(t, known(windows.at(t), "the end")) for t in (0.1 * i for i in range(3, 60))]
    steady = next((t for (t, now), (_, later) in itertools.pairwise(rounds) if later < 1.1 * now), None)
    entry = None if steady is None else windows.at(steady)
    if steady is None or entry is None or entry > 2000:
        raise Skip("slow start does not end by delay before 2000 packets")
    return known(windows.at(steady + 8.0), "8 s") - entry


def acknowledgments(harness: Harness) -> float:
    """Growth over 2 s with an ACK per 2 packets, relative to an ACK per packet."""
    grown = []
    for delayed in (False, True):
        found = harness.cuts(LONG_S, LATER, delayed_ack=delayed, byte_counting=True)
        if len(found) != 2:
            raise Skip(f"requires a cut per loss; 2 losses made {len(found)} cuts")
        grown.append(known(found[1].curve.at(LONG_S + 2.0), "2 s") - found[1].after)
    if grown[0] <= 0:
        raise Skip("the window does not grow")
    return grown[1] / grown[0]


def small_window(harness: Harness) -> float:
    """Largest window in the 20 round trips after the window is 2: each delayed ACK empties the flight. The losses begin
    in the first round trip, so that the window falls from the initial one.
    """
    bursts = [(LONG_S * (0.5 + 4 * i), 3 * LONG_S) for i in range(6)]
    end_s = 24.5 * LONG_S
    windows = harness.losses(LONG_S, bursts, end_s + 70 * LONG_S, delayed_ack=True, pacing="off").curve()
    start_s = next((t for t, window in windows.points if t > end_s and window >= 2), None)
    if start_s is None:
        return 0.0
    if known(windows.at(start_s), "2 packets") > 4:
        raise Skip("the window does not fall to 2 packets")
    return max(windows.between(start_s, start_s + 20 * LONG_S))


def limited_threshold(harness: Harness) -> float:
    """The application writes 100 packets per round trip, and a packet is lost at 8 s: ssthresh. It is about 70, of
    the flight, or 140, of a window of two flights.
    """
    source = {"rate": f"{100 * 1500 * 8 / LONG_S:.0f} bit/s"}
    series = harness.losses(LONG_S, [(8.0, 0.002)], 9.5, source=source, scenario={"packet_size": 1500})
    if not series.has("ssthresh_packets"):
        raise Skip("the controller has no ssthresh")
    return known(series.curve("ssthresh_packets").at(9.0), "a slow-start threshold")


IDLE_S = (9.0, 19.0)
"""Idle time of an application, 2 s after a cut."""


def growth_after_idle(harness: Harness) -> float:
    """Growth in the first round trip after an idle time of 10 s, minus 1.1 times the growth in the last one before. A
    window that falls to the initial window at the restart follows RFC 5681, section 4.1.
    """
    start_s, end_s = IDLE_S
    source = {"on": f"{start_s:g} s", "off": f"{end_s - start_s:g} s", "rate": "unlimited"}
    bursts = [(at_s, LONG_S / 4) for at_s in LATER]
    windows = harness.losses(LONG_S, bursts, end_s + 1.0, source=source).curve()
    times = (start_s - LONG_S, start_s, end_s, end_s + 2 * LONG_S)
    before, last, idle, after = (known(windows.at(time_s), f"{time_s:g} s") for time_s in times)
    if min(windows.between(end_s, end_s + LONG_S)) <= 10:
        return 0.0
    return (after - idle) - 1.1 * (last - before)


LATE_S = 0.03
"""Time by which late packets arrive after others."""

SPURIOUS_S = 4.0
"""Time of a spurious loss: 3 s after the cut at 0.9 s, and before K."""


def undone(harness: Harness) -> float:
    """Two packets are late in congestion avoidance, and are taken for lost until they arrive 30 ms later. Of two
    ratios the one farther from 1: the window a round trip later over the one before the cut, and the window 3 s after K
    over W_max + 0.4 * 3^3.
    """
    late = [(SPURIOUS_S, 0.003, LATE_S)]
    series = harness.losses(LONG_S, [(0.7, LONG_S / 4)], 13.0, late=late)
    windows, found = series.curve(), series.cuts()
    if len(found) < 2:
        raise Skip("the late packets cause no cut")
    first, second = found[:2]
    peak_s = k_s(first.before, first.after) + 3.0
    curve = known(windows.at(first.at_s + peak_s + LONG_S), "the time 3 s after K") / (first.before + C * 3.0**3)
    restored = known(second.curve.at(LONG_S), "a round trip after the cut") / second.before
    return max(restored, curve, key=lambda ratio: abs(ratio - 1))


def undone_partly(harness: Harness) -> float:
    """One or two packets are lost, and one or two that follow are late: window at the end of recovery."""
    bursts = [(0.7, LONG_S / 4), (SPURIOUS_S, 0.003)]
    found = harness.losses(LONG_S, bursts, 6.0, late=[(SPURIOUS_S + 0.01, 0.003, LATE_S)]).cuts()
    if len(found) < 2:
        raise Skip("the losses cause no cut")
    return known(found[1].curve.at(1.6 * LONG_S), "the end of recovery") / found[1].before


PARTS = "packets"

RULES = (
    Rule(
        "C01",
        "RFC 9438, 4.6",
        "SHOULD",
        "window after a loss, relative to the window before",
        "1",
        0.698,
        0.702,
        decrease,
    ),
    Rule(
        "C02",
        "RFC 9438, 4.6",
        "EQ",
        "window after five losses in one flight, relative",
        "1",
        0.698,
        0.702,
        decrease_once,
    ),
    Rule("C03", "RFC 9438, 4.6", "EQ", "smallest ssthresh after 24 losses", PARTS, 2.0, None, floor),
    Rule(
        "C04",
        "RFC 9438, 4.6, 5.8",
        "MUST",
        "ssthresh after an application-limited phase",
        PARTS,
        None,
        141,
        limited_threshold,
    ),
    Rule("C05", "RFC 9438, 4.2", "SHOULD", "window at t = K, relative to W_max", "1", 0.99, 1.01, at_k),
    Rule("C06", "RFC 9438, 4.2", "SHOULD", "time from the cut to t = 0", "RTT", 0.9, 1.6, beginning),
    Rule("C07", "RFC 9438, 4.2", "EQ", "largest growth of the window in a round trip", "1", None, 1.6, growth),
    Rule(
        "C08",
        "RFC 9438, 4.2",
        "EQ",
        "smallest ratio of successive windows after a shorter RTT",
        "1",
        1.0,
        None,
        monotone,
    ),
    Rule(
        "C09",
        "RFC 9438, 4.3",
        "SHOULD",
        "Reno-friendly growth below the last peak",
        "packets/RTT",
        0.489,
        0.569,
        friendly_below,
    ),
    Rule(
        "C10",
        "RFC 9438, 4.3",
        "SHOULD",
        "Reno-friendly growth above the last peak",
        "packets/RTT",
        0.96,
        1.04,
        friendly_above,
    ),
    Rule(
        "C11",
        "RFC 9438, 4.3, 4.7",
        "SHOULD",
        "Reno-friendly growth between W_max and the last peak",
        "packets/RTT",
        0.479,
        0.579,
        friendly_between,
    ),
    Rule(
        "C12",
        "RFC 9438, 4.3",
        "SHOULD",
        "Reno-friendly growth in eleven round trips after fast convergence",
        PARTS,
        5.0,
        6.6,
        friendly_start,
    ),
    Rule(
        "C13",
        "RFC 9438, 4.7",
        "SHOULD",
        "window at t = K after fast convergence, relative to W_max",
        "1",
        0.985,
        1.015,
        convergence,
    ),
    Rule(
        "C14",
        "RFC 9438, 4.7, 4.2",
        "SHOULD",
        "time from the cut to t = 0 after fast convergence",
        "RTT",
        0.75,
        1.75,
        convergence_k,
    ),
    Rule(
        "C15",
        "RFC 9438, 4.6, 4.7",
        "EQ",
        "window after a loss below W_max, relative",
        "1",
        0.698,
        0.702,
        decrease_below,
    ),
    Rule(
        "C16",
        "RFC 9438, 4.7",
        "SHOULD",
        "plateau after a third cut, relative to the third peak",
        "1",
        0.985,
        1.015,
        plateau,
    ),
    Rule(
        "C17",
        "RFC 9438, 4.8",
        "EQ",
        "ssthresh after a timeout, relative to the window",
        "1",
        0.693,
        0.707,
        timeout_threshold,
    ),
    Rule(
        "C18",
        "RFC 9438, 4.8",
        "EQ",
        "growth in 5 s of congestion avoidance after a timeout",
        PARTS,
        47.5,
        52.5,
        timeout_growth,
    ),
    Rule(
        "C19",
        "RFC 9438, 4.9.2",
        "MAY",
        "window after a spurious loss, relative",
        "1",
        0.99,
        1.01,
        undone,
    ),
    Rule(
        "C20",
        "RFC 9438, 4.9.2",
        "D",
        "window after two losses of which one is spurious",
        "1",
        0.69,
        0.75,
        undone_partly,
    ),
    Rule(
        "C21",
        "RFC 9438, 4.2, 5.8",
        "MUST",
        "growth in the first round trip after idle, beyond 1.1 times that before",
        PARTS,
        None,
        1.0,
        growth_after_idle,
    ),
    Rule(
        "C22",
        "RFC 9438, 4.10",
        "SHOULD",
        "part of a buffer of 8 BDP that slow start fills",
        "1",
        None,
        0.99,
        slow_start,
    ),
    Rule(
        "C23", "RFC 9438, 4.10", "EQ", "growth in 8 s after slow start ended by delay", PARTS, 195, 215, unset_maximum
    ),
    Rule(
        "C24",
        "RFC 9438, 4.4, 4.5",
        "D",
        "growth with an ACK per two packets, relative to an ACK per packet",
        "1",
        0.9,
        1.1,
        acknowledgments,
    ),
    Rule(
        "C25",
        "RFC 9438, 5.8, 4.2",
        "D",
        "largest window in 20 round trips from 2 packets",
        PARTS,
        4,
        None,
        small_window,
    ),
)
