"""Rules of BBR's control parameters and of its states: pacing rate, send quantum, window, and reactions to loss."""

from __future__ import annotations

import math
from statistics import median

from fullpipe.experiments.conform.harness import Harness
from fullpipe.experiments.conform.phases import CRUISE, DOWN, LINK, PROBE_RTT, REFILL, STARTUP, UP, entry, shown, spans
from fullpipe.experiments.conform.replays import DEEP, RTT_S, STEADY_S, lossy, steady
from fullpipe.experiments.conform.rule import Skip, window_at

__all__ = [
    "app_limited_samples",
    "beta",
    "first_rate",
    "floor",
    "headroom",
    "idle_gain",
    "loss_threshold",
    "marked_probe",
    "precaution",
    "quantum",
]

LARGE = {"packet_size": 1500}
PACKET_BITS = 12_000
"""Size of packets in the rules of rates."""

MOST_DROPS = 20
"""Losses in a flight of about 330 packets, at most."""

FIRST_BPS = 2.77 * 10 * PACKET_BITS / RTT_S
"""Startup's gain times the initial window of 10 packets per round trip."""


def first_rate(harness: Harness) -> float:
    """Pacing rate 1.5 round trips after the start, over Startup's gain times the initial window per round trip. The
    first flight has shown the round-trip time, and at most a second window has arrived.
    """
    rows = shown(harness.run(LINK, 1.0, initial_window=10, scenario=LARGE), "pacing_bps")
    return next(pacing for time_s, _, pacing in rows if time_s >= 1.5 * RTT_S) / FIRST_BPS


def quantum(harness: Harness) -> float:
    """Largest burst, over the larger of two packets and 1 ms at the largest pacing rate. The receiver's window limits
    the rate to about 50 Mbit/s on a link of 1 Gbit/s, so that the queue has packets of one burst.
    """
    link = {"rate": "1 Gbit/s", "delay": "20 ms"}
    series = harness.run(link, 8.0, max_window=167, scenario={**LARGE, "warmup": "3 s"})
    rate_bps = max(pacing for time_s, _, pacing in shown(series, "pacing_bps") if time_s > 3.0)
    return float(series.metrics["max_queue_packets"]) / max(2.0, rate_bps * 1e-3 / PACKET_BITS)


def floor(harness: Harness) -> float:
    """A third of all packets is lost for 2 s at 5 Mbit/s: smallest window in 0.4 s, from two round trips later on."""
    schedule = [{"at": "6 s", "loss": 0.33}, {"at": "8 s", "loss": 0}]
    link = {**DEEP, "rate": "5 Mbit/s", "schedule": schedule, "reverse": {"schedule": []}}
    return min(window for time_s, _, window in shown(harness.run(link, 9.0), "cwnd_packets") if 8.1 < time_s < 8.5)


def loss_threshold(harness: Harness) -> float:
    """Part of a flight whose loss ends ProbeBW_UP, in percent: the smallest number of successive packets that leads to
    ProbeBW_DOWN earlier than without a loss.
    """
    start_s = entry(steady(harness), UP) + 0.05
    plain_s = next(end_s for _, end_s in spans(steady(harness), UP) if end_s > start_s)
    first = int(harness.run(DEEP, start_s).metrics["arrived_packets"]) + 1
    for count in range(1, MOST_DROPS):
        link = {**DEEP, "drop": list(range(first, first + count)), "reverse": {"drop": []}}
        rows = shown(harness.run(link, start_s + 0.3), "in_flight_packets")
        down_s = next((row[0] for row in rows if row[0] > start_s and row[1] == DOWN), math.inf)
        if down_s < plain_s - 0.01:
            return 100 * count / next(row[2] for row in rows if row[0] >= start_s)
    return math.inf


def beta(harness: Harness) -> float:
    """Window limit of the short-term model after a loss in ProbeBW_CRUISE, over the window before."""
    start_s = entry(steady(harness), CRUISE) + 0.2
    series = harness.run(lossy([start_s]), start_s + 0.5)
    limits = shown(series, "inflight_shortterm_packets")
    after = next((limit for time_s, _, limit in limits if time_s > start_s), None)
    if after is None:
        raise Skip("a loss in ProbeBW_CRUISE sets no inflight_shortterm")
    return after / window_at(series, start_s)


def probed(harness: Harness) -> tuple[list[tuple[float, ...]], float]:
    """Rows of a run with a loss in the first ProbeBW_UP, and the time of the loss."""
    first_s = entry(steady(harness), UP) + 0.05
    names = "in_flight_packets", "inflight_longterm_packets", "cwnd_packets"
    return shown(harness.run(lossy([first_s]), STEADY_S), *names), first_s


def headroom(harness: Harness) -> float:
    """Largest window in ProbeBW_CRUISE after a loss in ProbeBW_UP, over inflight_longterm."""
    rows, first_s = probed(harness)
    found = [window / limit for time_s, phase, _, limit, window in rows if time_s > first_s and phase == CRUISE]
    if not found:
        raise Skip("the controller is not in ProbeBW_CRUISE after a loss")
    return max(found)


def precaution(harness: Harness) -> float:
    """Largest flight of the ProbeBW_UP that follows one with a loss, over inflight_longterm. Infinite if
    ProbeBW_CRUISE comes before the next ProbeBW_REFILL.
    """
    rows, first_s = probed(harness)
    start_s = entry(rows, UP, first_s + 1.0)
    end_s = next(time_s for time_s, phase, *_ in rows if time_s > start_s and phase != UP)
    after = next((phase for time_s, phase, *_ in rows if time_s >= end_s and phase in (CRUISE, REFILL)), CRUISE)
    limit = next(row[3] for row in rows if row[0] >= start_s)
    flights = [row[2] for row in rows if start_s <= row[0] <= end_s]
    return max(flights) / limit if after == REFILL else math.inf


def slow_growth(harness: Harness) -> float:
    """Times that the rate of the link rises by 9 % before Startup ends. Three rises are 1.09³ = 1.295, more than the
    threshold of 1.25. They come every 75 ms, the round-trip time of a sender whose window is twice the BDP.
    """
    steps, every_s = 16, 0.075
    rises = [{"at": f"{every_s * i:g} s", "rate": f"{10e6 * 1.09**i:.0f} bit/s"} for i in range(1, steps + 1)]
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "buffer": "400 packets", "schedule": rises}
    rows = shown(harness.run(link, every_s * (steps + 1)))
    end_s = next((time_s for time_s, phase in rows if phase != STARTUP), every_s * (steps + 1))
    return end_s / every_s


def marked_probe(harness: Harness) -> float:
    """1 if the sender is in Startup after a ProbeRTT whose window limited it: samples there do not show a full path.
    The application writes 30 Mbit/s.
    """
    link = {**LINK, "schedule": [{"at": "0.1 s", "delay": "21 ms"}]}
    rows = shown(harness.run(link, 7.0, source={"rate": "30 Mbit/s"}))
    stays = spans(rows, PROBE_RTT)
    if not stays or any(phase != STARTUP for time_s, phase in rows if time_s < stays[0][0]):
        raise Skip("the controller is not in ProbeRTT before it leaves Startup")
    return float(next(phase for time_s, phase in rows if time_s >= stays[0][1] + 0.2) == STARTUP)


def idle_gain(harness: Harness) -> float:
    """The application pauses for 1 s as ProbeBW_UP begins: pacing rate in the first round trip after that, over 0.99 of
    the bandwidth.
    """
    start_s = entry(steady(harness), UP)
    source = {"on": f"{start_s:.4f} s", "off": "1 s", "rate": "unlimited"}
    rows = shown(harness.run(DEEP, start_s + 1.5, source=source), "pacing_bps", "bw_bps")
    first_s = start_s + 1.0
    return median(
        pacing / (0.99 * bw) for time_s, _, pacing, bw in rows if first_s + 0.005 < time_s < first_s + 0.9 * RTT_S
    )


def app_limited_samples(harness: Harness) -> float:
    """The application writes 30 MB at once, and then 5 Mbit/s: largest bandwidth after 30 s, over the one after 4 s."""
    source = {"frames": "250/s", "size": "2500 B", "key_size": "30 MB", "key_every": 1_000_000}
    rows = shown(harness.run(DEEP, 30.0, source=source), "max_bw_bps")
    return rows[-1][2] / next(bw for time_s, _, bw in rows if time_s >= 4.0)
