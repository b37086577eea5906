"""Rules of draft-ietf-ccwg-bbr: cases of its appendix A, and rules of its states.

A controller shows its state by the series ``phase``, ``bw_bps``, ``max_bw_bps``, and ``pacing_bps``. Rates, loss
patterns, and tolerances are ours, because the appendix has almost no numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

from fullpipe.experiments.conform import replays, states
from fullpipe.experiments.conform.harness import Harness, Series
from fullpipe.experiments.conform.phases import (
    CRUISE,
    DOWN,
    DRAIN,
    LINK,
    PROBE_RTT,
    RATE_BPS,
    STARTUP,
    UP,
    shown,
    spans,
)
from fullpipe.experiments.conform.rule import Rule, Skip

__all__ = ["RULES"]


def bulk(harness: Harness) -> Series:
    return harness.run(LINK, 20.0)


def gain(harness: Harness, phase: int) -> float:
    """Median of the pacing rate over 0.99 of the bandwidth in a state (5.6.2)."""
    found = [
        pacing / (0.99 * bw)
        for _, now, pacing, bw in shown(bulk(harness), "pacing_bps", "bw_bps")
        if now == phase and bw
    ]
    if not found:
        raise Skip("the controller does not enter the state")
    return median(found)


def startup_gain(harness: Harness) -> float:
    """Median pacing gain in Startup: 4 ln 2 = 2.77."""
    return gain(harness, STARTUP)


def drain_gain(harness: Harness) -> float:
    """Median pacing gain in Drain: 0.5."""
    return gain(harness, DRAIN)


def down_gain(harness: Harness) -> float:
    """Median pacing gain in ProbeBW_DOWN: 0.90."""
    return gain(harness, DOWN)


def up_gain(harness: Harness) -> float:
    """Median pacing gain in ProbeBW_UP: 1.25."""
    return gain(harness, UP)


def margin(harness: Harness) -> float:
    """Pacing rate over the bandwidth in ProbeBW_CRUISE, whose gain is 1."""
    return 0.99 * gain(harness, CRUISE)


def rising(harness: Harness) -> float:
    """Smallest ratio of successive pacing rates in Startup."""
    rates = [pacing for _, phase, pacing in shown(bulk(harness), "pacing_bps") if phase == STARTUP]
    if len(rates) < 2:
        raise Skip("the controller does not show Startup")
    return min(later / now for now, later in itertools.pairwise(rates) if now)


def bandwidth(harness: Harness) -> float:
    """Largest bandwidth at the end of a bulk transfer of 20 s at 50 Mbit/s."""
    rows = shown(bulk(harness), "max_bw_bps")
    return rows[-1][2] / RATE_BPS


def plateau(harness: Harness) -> float:
    """Round trips from the last growth by 25 % to the end of Startup."""
    rows = shown(bulk(harness), "max_bw_bps", "rtt_s")
    end = next((i for i, row in enumerate(rows) if row[1] != STARTUP), None)
    if end is None:
        raise Skip("the controller does not leave Startup")
    high = max(row[2] for row in rows[:end])
    begin = next(i for i, row in enumerate(rows) if row[2] >= high / 1.25)
    return math.fsum(
        (later[0] - now[0]) / now[3] for now, later in zip(rows[begin:end], rows[begin + 1 : end + 1], strict=True)
    )


def queue(harness: Harness) -> list[tuple[float, ...]]:
    """A standing queue from a constant sender, which no ProbeBW cycle drains."""
    udp = {"udp": [{"name": "constant", "rate": "5 Mbit/s"}]}
    return shown(harness.run({"rate": "10 Mbit/s", "delay": "20 ms", "buffer": "100 packets"}, 40.0, scenario=udp))


def short_path(harness: Harness) -> list[tuple[float, ...]]:
    """A path of 8 packets, of which half is below the initial window."""
    return shown(harness.run({"rate": "10 Mbit/s", "delay": "5 ms", "buffer": "4 BDP"}, 20.0, initial_window=10))


def probe_interval(harness: Harness) -> float:
    """Mean time between the starts of ProbeRTT."""
    starts = [start for start, _ in spans(queue(harness), PROBE_RTT)]
    if len(starts) < 3:
        raise Skip("the controller is in ProbeRTT fewer than three times in 40 s")
    return (starts[-1] - starts[0]) / (len(starts) - 1)


def probe_duration(harness: Harness) -> float:
    """Longest stay in ProbeRTT, up to the end of the run, on two paths."""
    found = []
    for rows in (queue(harness), short_path(harness)):
        found += [end - start for start, end in spans([*rows, (rows[-1][0], math.nan)], PROBE_RTT)]
    if not found:
        raise Skip("the controller is never in ProbeRTT")
    return max(found)


def slow_path(harness: Harness) -> list[float]:
    """Windows at 64 kbit/s with a round trip of 10 ms, after Startup."""
    series = harness.run({"rate": "64 kbit/s", "delay": "5 ms", "buffer": "50 packets"}, 60.0)
    return [window for t, window in series.curve().points if t >= 10.0]


def smallest_window(harness: Harness) -> float:
    """BBRMinPipeCwnd is 4 packets, although the path holds less than one."""
    return min(slow_path(harness))


def faster(harness: Harness) -> float:
    """Time from a change of the rate from 10 to 100 Mbit/s to an estimate of 95 Mbit/s."""
    link = {
        "rate": "10 Mbit/s",
        "delay": "20 ms",
        "buffer": "400 packets",
        "schedule": [{"at": "10 s", "rate": "100 Mbit/s"}],
    }
    reached = harness.run(link, 20.0).curve("goodput_bps").points
    found = next((t for t, rate in reached if t > 10.0 and rate >= 90e6), None)
    return math.inf if found is None else found - 10.0


def slower(harness: Harness) -> float:
    """Estimate relative to the rate, 10 s after a change from 100 to 10 Mbit/s."""
    link = {
        "rate": "100 Mbit/s",
        "delay": "20 ms",
        "buffer": "400 packets",
        "schedule": [{"at": "10 s", "rate": "10 Mbit/s"}],
    }
    rows = shown(harness.run(link, 20.0), "max_bw_bps")
    return rows[-1][2] / 10e6


def aggregated(harness: Harness) -> Series:
    """ACKs that arrive together every 20 ms, half of a round trip."""
    return harness.run({**LINK, "reverse": {"aggregation": "20 ms"}}, 22.0, scenario={"warmup": "2 s"})


def extra_acked(harness: Harness) -> float:
    """Largest estimate of the aggregation, which needs to be above 0."""
    return max(row[2] for row in shown(aggregated(harness), "extra_acked_packets"))


def aggregated_utilization(harness: Harness) -> float:
    """Utilization in 20 s with ACKs that arrive together."""
    return float(aggregated(harness).metrics["utilization"])


def policed(harness: Harness) -> float:
    """Loss at a policer of 10 Mbit/s on a link of 100 Mbit/s, in the last 20 s; all of it where goodput is below 9."""
    policer = {"rate": "10 Mbit/s", "burst": "60 kB"}
    link = {"rate": "100 Mbit/s", "delay": "20 ms", "buffer": "2 BDP", "policer": policer}
    metrics = harness.run(link, 40.0, scenario={"warmup": "20 s"}).metrics
    return float(metrics["loss_rate"]) if metrics["goodput_bps"] >= 9e6 else 1.0


RTT_S = 0.04
"""Round-trip time of most rules without a queue."""

LOSS_S = 2.0
"""First loss of an application-limited flow in Startup."""


def startup_exit(harness: Harness, bursts: Sequence[tuple[float, float]]) -> float | None:
    """Time at which a sender leaves Startup, if it does. The application writes 100 packets per round trip, and all
    packets in some bursts are lost.
    """
    times = [(time_s, loss) for at_s, long_s in bursts for time_s, loss in ((at_s, 0.999999), (at_s + long_s, 0))]
    schedule = [{"at": f"{time_s:.4f} s", "loss": loss} for time_s, loss in times]
    link = {**LINK, "schedule": schedule, "reverse": {"schedule": []}}
    series = harness.run(link, 2.4, source={"rate": "30 Mbit/s"}, scenario={"packet_size": 1500})
    left_s = next((time_s for time_s, phase in shown(series) if phase != STARTUP), None)
    if left_s is not None and left_s < LOSS_S:
        raise Skip("the controller leaves Startup although the application limits it")
    return left_s


def loss_exit(harness: Harness) -> float:
    """Every 12th packet is lost for three round trips: round trips from the first loss to the end of Startup. Losses
    are found after one round trip, and recovery lasts one. A burst of eight packets must not end Startup.
    """
    if startup_exit(harness, [(LOSS_S, 0.0032)]) is not None:
        return math.inf
    left_s = startup_exit(harness, [(LOSS_S + 0.0048 * i, 0.0004) for i in range(25)])
    return math.inf if left_s is None else (left_s - LOSS_S) / RTT_S


def limited(harness: Harness) -> list[tuple[float, ...]]:
    """The application writes 5 Mbit/s. The round-trip time rises by 1 ms at 0.1 s, so that ProbeRTT is due."""
    link = {**LINK, "schedule": [{"at": "0.1 s", "delay": "21 ms"}]}
    return shown(harness.run(link, 14.0, source={"rate": "5 Mbit/s"}))


def limited_startup(harness: Harness) -> float:
    """Part of 14 s that the sender is in Startup or ProbeRTT. No sample shows a plateau."""
    phases = [phase for _, phase in limited(harness)]
    return sum(phase in (STARTUP, PROBE_RTT) for phase in phases) / len(phases)


def probe_in_startup(harness: Harness) -> float:
    """1 if the sender is in Startup again after its first ProbeRTT."""
    rows = limited(harness)
    stays = spans(rows, PROBE_RTT)
    if not stays or rows[0][1] != STARTUP:
        raise Skip("the controller is not in ProbeRTT before it leaves Startup")
    return float(next(phase for time_s, phase in rows if time_s >= stays[0][1]) == STARTUP)


def probe_after_idle(harness: Harness) -> float:
    """Part of the 0.5 s after an idle time of 6 s that the sender is in ProbeRTT, which was due meanwhile."""
    source = {"on": "8 s", "off": "6 s", "rate": "unlimited"}
    rows = [row for row in shown(harness.run(LINK, 14.5, source=source)) if row[0] > 14.0]
    return sum(phase == PROBE_RTT for _, phase in rows) / len(rows)


DRAFT = "draft-ietf-ccwg-bbr"

RULES = (
    Rule("B01", f"{DRAFT}, A.1, 5.3.1.2", "MUST", "plateau at the end of Startup", "RTT", 2.0, 5.0, plateau),
    Rule("B02", f"{DRAFT}, A.2", "MUST", "exit from Startup by loss", "RTT", None, 4.0, loss_exit),
    Rule("B03", f"{DRAFT}, A.3", "MUST", "pacing gain of Drain", "1", 0.49, 0.51, drain_gain),
    Rule("B04", f"{DRAFT}, A.4", "MUST", "rounds in Drain", "RTT", 2.9, 4.2, replays.drain_time),
    Rule("B05", f"{DRAFT}, A.5", "MUST", "rounds of a plateau in ProbeBW_UP", "RTT", 2.5, 5.0, replays.up_plateau),
    Rule(
        "B06",
        f"{DRAFT}, A.6",
        "MUST",
        "rounds from loss to ProbeBW_DOWN while application-limited",
        "RTT",
        None,
        2.5,
        replays.limited_loss,
    ),
    Rule("B07", f"{DRAFT}, A.7", "MUST", "Startup while application-limited", "1", 1.0, 1.0, limited_startup),
    Rule("B08", f"{DRAFT}, A.8", "MUST", "pacing gain of ProbeBW_DOWN", "1", 0.89, 0.91, down_gain),
    Rule("B09", f"{DRAFT}, A.9", "MUST", "REFILL without CRUISE", "s", 2.0, 3.1, replays.down_time),
    Rule("B10", f"{DRAFT}, A.10", "MUST", "longest stay in ProbeRTT", "s", 0.2, 0.5, probe_duration),
    Rule("B11", f"{DRAFT}, A.11", "MUST", "ProbeRTT after idle", "1", 0.0, 0.0, probe_after_idle),
    Rule(
        "B12",
        f"{DRAFT}, A.12",
        "MUST",
        "extra_acked with aggregated ACKs",
        "packets",
        1.0,
        None,
        extra_acked,
    ),
    Rule(
        "B13",
        f"{DRAFT}, A.13",
        "MUST",
        "utilization with aggregated ACKs",
        "1",
        0.95,
        None,
        aggregated_utilization,
    ),
    Rule(
        "B14", f"{DRAFT}, A.14, 5.6.4.2", "MUST", "smallest window at 64 kbit/s", "packets", 4.0, 8.0, smallest_window
    ),
    Rule(
        "B15", f"{DRAFT}, A.15", "MUST", "time to 90 Mbit/s after a change from 10 to 100 Mbit/s", "s", 0.0, 4.0, faster
    ),
    Rule(
        "B16",
        f"{DRAFT}, A.16",
        "MUST",
        "largest bandwidth after a change from 100 to 10 Mbit/s, relative",
        "1",
        0.9,
        1.05,
        slower,
    ),
    Rule("B17", f"{DRAFT}, A.17", "MUST", "loss at a policer", "1", None, 0.05, policed),
    Rule(
        "B18",
        f"{DRAFT}, A.18",
        "MUST",
        "largest window after a spurious loss in ProbeBW_UP, relative",
        "1",
        1.0,
        None,
        replays.spurious_loss,
    ),
    Rule(
        "B19",
        f"{DRAFT}, A.19",
        "MUST",
        "window after a spurious timeout, relative",
        "1",
        1.0,
        None,
        replays.spurious_timeout,
    ),
    Rule("B20", f"{DRAFT}, A.20", "MUST", "ProbeRTT in Startup", "1", 1.0, 1.0, probe_in_startup),
    Rule(
        "B21",
        f"{DRAFT}, A.21",
        "MUST",
        "inflight_longterm after a loss in ProbeBW_UP, over the flight",
        "1",
        0.9,
        1.1,
        replays.later_loss,
    ),
    Rule("B22", f"{DRAFT}, A.22", "MUST", "max_bw after a pause in REFILL", "1", 0.999, 1.001, replays.paused_refill),
    Rule("S1", f"{DRAFT}, 5.3.1.1", "MUST", "pacing gain of Startup", "1", 2.74, 2.80, startup_gain),
    Rule(
        "S2", f"{DRAFT}, 5.6.2", "MUST", "smallest ratio of successive pacing rates in Startup", "1", 1.0, None, rising
    ),
    Rule(
        "S3",
        f"{DRAFT}, 5.6.2",
        "MUST",
        "pacing rate relative to the bandwidth in ProbeBW_CRUISE",
        "1",
        0.985,
        0.995,
        margin,
    ),
    Rule(
        "S4", f"{DRAFT}, 5.6.2", "D", "pacing rate after the first flight, relative", "1", 0.95, 2.2, states.first_rate
    ),
    Rule("S5", f"{DRAFT}, 5.6.3", "MUST", "largest burst over 1 ms at the pacing rate", "1", None, 1.0, states.quantum),
    Rule("S6", f"{DRAFT}, 5.6.4.3", "MUST", "smallest window after heavy loss", "packets", 4.0, None, states.floor),
    Rule("S7", f"{DRAFT}, 2.8, 5.5.10.2", "MUST", "loss that ends ProbeBW_UP", "%", 2.0, 3.0, states.loss_threshold),
    Rule(
        "S8",
        f"{DRAFT}, 5.3.3.6",
        "MUST",
        "flight of the probe after one with a loss, over inflight_longterm",
        "1",
        0.9,
        1.02,
        states.precaution,
    ),
    Rule("S9", f"{DRAFT}, 5.3.4.1", "MUST", "time between the starts of ProbeRTT", "s", 5.0, 6.0, probe_interval),
    Rule("S10", f"{DRAFT}, 5.3.4.3", "MUST", "Startup after a window-limited ProbeRTT", "1", 1, 1, states.marked_probe),
    Rule("S11", f"{DRAFT}, 5.4.1", "MUST", "pacing gain after idle time", "1", 0.985, 1.015, states.idle_gain),
    Rule(
        "S12",
        f"{DRAFT}, 5.5.4",
        "MUST",
        "max_bw after 25 s at a tenth of it, relative",
        "1",
        0.98,
        1.02,
        states.app_limited_samples,
    ),
    Rule(
        "S13",
        f"{DRAFT}, A.1, 5.5.4",
        "MUST",
        "largest bandwidth, relative to the rate of the link",
        "1",
        0.98,
        1.02,
        bandwidth,
    ),
    Rule("S14", f"{DRAFT}, 5.3.3.4", "MUST", "pacing gain of ProbeBW_UP", "1", 1.24, 1.26, up_gain),
    Rule("S15", f"{DRAFT}, 2.8, 5.5.10.3", "MUST", "window limit after a loss, relative", "1", 0.69, 0.71, states.beta),
    Rule(
        "S16",
        f"{DRAFT}, 2.8",
        "MUST",
        "window over inflight_longterm in ProbeBW_CRUISE",
        "1",
        0.84,
        0.86,
        states.headroom,
    ),
    Rule(
        "S17",
        f"{DRAFT}, A.1, 5.3.1.2",
        "MUST",
        "rises of the bandwidth by 9 % in a round trip before Startup ends",
        "1",
        16.0,
        None,
        states.slow_growth,
    ),
)
