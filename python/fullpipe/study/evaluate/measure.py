"""What is measured of a run, as one row of plain numbers: of the bottleneck, and of each group of flows by its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from fullpipe.runs import tables

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["MEASURES", "Row", "back_to", "figures", "most_lost", "percentile", "settled"]

Row = dict[str, float | None]

OF_LINK = ("utilization", "p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s", "max_queue_packets")
OF_GROUP = ("goodput_bps", "jain_index", "mean_rtt_s", "p50_rtt_s", "p95_rtt_s", "retransmits", "timeouts")

BREAKER_S = 10.0
"""Over how long a circuit breaker looks at losses."""

BREAKER_PACKETS = 100
"""Of fewer packets in that time no share of losses is told."""


def figures(result: Result) -> Row:
    """The bottleneck's ``utilization``, ``p50_``, ``p95_`` and ``p99_queueing_delay_s``, ``loss_rate`` (dropped by its
    queue, over arrived; RFC 5166, 2.1.3), ``worst_loss_rate`` (the same in the worst 10 s of the whole run, the
    warm-up included: `most_lost`), ``mark_rate``, ``arrived_packets``; of each group, as ``NAME.FIGURE``, its
    ``goodput_bps`` (RFC 5166, 2.1.1), ``jain_index``, RTTs, ``retransmits`` and ``timeouts``; of groups of finite
    flows ``p50_``, ``p95_`` and ``p99_completion_s``; of all flows ``jain_index``, ``min_max`` (the least of their
    goodputs over the greatest; RFC 5166, 2.3.1), ``starved_flows`` (below a tenth of the mean); of datagrams
    ``udp.loss_rate``.
    """
    plain = result.to_dict()
    links = plain["links"]
    place = next(i for i, link in enumerate(links) if link["name"] == "bottleneck")
    link = links[place]
    arrived = link["arrived_packets"]
    row: Row = {key: link.get(key) for key in OF_LINK}
    row["arrived_packets"] = float(arrived)
    row["dropped_packets"] = float(link["dropped_packets"])
    row["loss_rate"] = link["dropped_packets"] / arrived if arrived else None
    row["mark_rate"] = link["marked_packets"] / arrived if arrived else None
    samples = [sample for sample in tables.rows(result.columns("link_series")) if sample["link"] == place]
    row["worst_loss_rate"] = most_lost(
        [sample["t_s"] for sample in samples],
        [sample["arrived_packets"] for sample in samples],
        [sample["dropped_packets"] for sample in samples],
    )
    goodputs = [flow["goodput_bps"] for flow in plain["flows"] if flow["goodput_bps"] is not None]
    mean_bps = math.fsum(goodputs) / len(goodputs) if goodputs else 0.0
    row["jain_index"] = plain["totals"]["jain_index"]
    row["min_max"] = min(goodputs) / max(goodputs) if any(goodputs) else None
    row["starved_flows"] = float(sum(goodput < 0.1 * mean_bps for goodput in goodputs))
    for group in plain["groups"]:
        own = [flow for flow in plain["flows"] if flow["name"] == group["name"]]
        row |= {f"{group['name']}.{key}": group.get(key) for key in OF_GROUP}
        done = [flow["completion_s"] for flow in own if flow["completion_s"] is not None]
        if done:
            for part in (50, 95, 99):
                row[f"{group['name']}.p{part}_completion_s"] = percentile(done, part / 100)
    udp = [traffic for traffic in plain["traffic"] if traffic["kind"] == "udp"]
    sent = sum(traffic["sent_packets"] for traffic in udp)
    if sent:
        row["udp.loss_rate"] = max(0.0, 1 - sum(traffic["received_packets"] for traffic in udp) / sent)
    return row


def transfer(result: Result) -> Row:
    """The same, and ``completion_s``, until the last flow of the group ``subject`` has all: to the end of the run where
    it never does.
    """
    times = [flow["completion_s"] for flow in result.to_dict()["flows"] if flow["name"] == "subject"]
    whole_s = result.scenario.duration_s
    return {**figures(result), "completion_s": max(whole_s if time is None else time for time in times)}


def call(result: Result) -> Row:
    """The same, and of a call, whose audio and video are the first two groups of datagrams,
    ``audio.p95_frame_delay_s`` and ``video.p95_frame_delay_s``, from when a frame was made until its last packet was
    there, and ``video.frame_loss_rate``, how many frames lack a packet.
    """
    row = figures(result)
    audio, video = tables.rows(result.columns("traffic"))[:2]
    row["audio.p95_frame_delay_s"] = audio["p95_frame_delay_s"]
    row["video.p95_frame_delay_s"] = video["p95_frame_delay_s"]
    sent = video["sent_frames"]
    row["video.frame_loss_rate"] = max(0.0, 1 - video["received_frames"] / sent) if sent else None
    return row


def camps(result: Result) -> Row:
    """The bottleneck's figures, and of the camps ``victim`` and ``other``, each on an edge link of its name that its
    transfers alone cross, ``NAME.goodput_bps`` (what reached its receivers in the window for the first time, over all
    of it) and ``NAME.p95_completion_s`` of the transfers that began in the window; one that is not complete at the end
    of the run counts with the whole window.
    """
    row = figures(result)
    links = result.columns("links")
    goodputs = dict(zip(links["name"], tables.to_list(links["carried_goodput_bps"]), strict=True))
    edges = {f"web {i}": group["path"][0] for i, group in enumerate(result.scenario.to_dict()["web"])}
    times: dict[str, list[float]] = {camp: [] for camp in edges.values()}
    transfers = result.columns("transfers")
    columns = (tables.to_list(transfers[name]) for name in ("group", "completion_s", "in_warmup"))
    for group, completion_s, in_warmup in zip(*columns, strict=True):
        if not in_warmup:
            times[edges[group]].append(result.window_s if completion_s is None else completion_s)
    for camp, taken in times.items():
        row[f"{camp}.goodput_bps"] = goodputs[camp]
        row[f"{camp}.p95_completion_s"] = percentile(taken, 0.95) if taken else None
    return row


def upturn(result: Result) -> Row:
    """The same, and ``ramp_s``: from the end of the warm-up, where the network changes, until 90 % of the capacity is
    used over a second.
    """
    series = tables.rows(result.columns("link_series"))
    from_s = result.scenario.warmup_s
    used = [(row["t_s"], row["utilization"]) for row in series if row["t_s"] > from_s + 1e-9]
    reached = back_to([time - from_s for time, _ in used], [part or 0.0 for _, part in used], 0.9)
    return {**figures(result), "ramp_s": result.window_s if reached is None else reached}


def latecomer(result: Result) -> Row:
    """The same, and ``settle_s``: from the start of the last flow until its rate, what it has in flight over its RTT,
    stays within 20 % of an equal share of the bottleneck over a second.
    """
    scenario = result.scenario.to_dict()
    flows = result.to_dict()["flows"]
    last = max(flow["id"] for flow in flows)
    started_s = result.scenario.warmup_s - 20.0
    rate_bps = float(scenario["links"][0]["rate"].split()[0]) * 1e6
    equal = rate_bps / 8 / scenario["packet_size"] / len(flows)
    rows = [row for row in tables.rows(result.columns("series")) if row["flow"] == last and row["t_s"] > started_s]
    rates = [(row["in_flight_packets"] or 0.0) / row["rtt_s"] if row["rtt_s"] else 0.0 for row in rows]
    reached = settled([row["t_s"] - started_s for row in rows], rates, equal, 0.2)
    return {**figures(result), "settle_s": result.scenario.duration_s - started_s if reached is None else reached}


MEASURES: Mapping[str, Callable[[Result], Row]] = {
    "figures": figures,
    "transfer": transfer,
    "call": call,
    "camps": camps,
    "upturn": upturn,
    "latecomer": latecomer,
}
"""What a cell may have measured, by name."""


def percentile(values: Sequence[float], part: float) -> float:
    """The least of the values that at least this part of them does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def most_lost(times: Sequence[float], arrived: Sequence[float], dropped: Sequence[float]) -> float | None:
    """The largest part of what came that was dropped within any `BREAKER_S`, of `BREAKER_PACKETS` or more; None where
    there was no such time. What each sample has is counted from the one before; they are evenly spaced.
    """
    many = round(BREAKER_S / times[0]) if times else 0
    if not 0 < many <= len(times):
        return None
    came, lost = ([0.0, *accumulate(column)] for column in (arrived, dropped))
    spans = ((came[end] - came[end - many], lost[end] - lost[end - many]) for end in range(many, len(came)))
    return max((part / whole for whole, part in spans if whole >= BREAKER_PACKETS), default=None)


def back_to(times: Sequence[float], values: Sequence[float], level: float, over_s: float = 1.0) -> float | None:
    """When the mean over the ``over_s`` before first is at least ``level``; None where it never is. Evenly spaced."""
    return _first(times, values, over_s, lambda mean: mean >= level)


def settled(times: Sequence[float], values: Sequence[float], level: float, within: float) -> float | None:
    """When the mean over the second before is first within that part of ``level``; None where it never is."""
    return _first(times, values, 1.0, lambda mean: abs(mean - level) <= within * level)


def _first(
    times: Sequence[float], values: Sequence[float], over_s: float, wanted: Callable[[float], bool]
) -> float | None:
    if len(times) < 2:
        return None
    many = max(1, round(over_s / (times[1] - times[0])))
    for end in range(many, len(values) + 1):
        if wanted(math.fsum(values[end - many : end]) / many):
            return times[end - 1]
    return None
