"""Metrics of one run as a row of plain numbers: of the bottleneck, and of each group of flows by its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from fullpipe._util.plain import Tree
from fullpipe.engine import tables
from fullpipe.runs.aggregate import percentile
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["MEASURES", "Row", "back_to", "columns", "metrics", "most_lost", "percentile", "settled"]

Row = dict[str, float | None]

OF_LINK = ("utilization", "p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s", "max_queue_packets")
OF_RUN = (
    *(*OF_LINK, "arrived_packets", "dropped_packets", "loss_rate", "mark_rate", "worst_loss_rate"),
    *("jain_index", "min_max", "starved_flows"),
)
OF_GROUP = ("goodput_bps", "jain_index", "mean_rtt_s", "p50_rtt_s", "p95_rtt_s", "retransmits", "timeouts")

OF_APPLICATION = ("p99_frame_delay_s", "late_fraction", "request_completion_s")

BREAKER_S = 10.0
"""Interval over which a circuit breaker measures loss (RFC 9743, section 7.2)."""

BREAKER_PACKETS = 100
"""Least number of packets in that interval for which a loss rate is defined."""

START_UP_SAMPLES = 16
"""Samples, four per round trip, over which the utilization of a start-up is averaged: slow start sends in bursts within
a round trip.
"""


def metrics(result: Result) -> Row:
    """Metrics that every test case has.

    - Bottleneck: ``utilization``, ``p50_``, ``p95_`` and ``p99_queueing_delay_s``, ``mark_rate``, ``arrived_packets``,
      ``loss_rate`` (packets dropped by its queue over packets arrived; RFC 5166, 2.1.3), and ``worst_loss_rate`` (loss
      rate of the worst 10 s of the whole run, warm-up included: `most_lost`).
    - Each group, as ``NAME.METRIC``: ``goodput_bps`` (RFC 5166, 2.1.1), ``jain_index``, RTTs, ``retransmits`` and
      ``timeouts``; for finite flows ``p50_``, ``p95_`` and ``p99_completion_s``.
    - All flows: ``jain_index``, ``min_max`` (least goodput over greatest; RFC 5166, 2.3.1) and ``starved_flows``
      (goodput below a tenth of the mean).
    - Datagrams: ``udp.loss_rate``.
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
    """The metrics of `metrics`, and ``completion_s``: time until the last flow of the group ``subject`` is complete.

    A transfer that is not complete at the end counts with the duration of the run.
    """
    times = [flow["completion_s"] for flow in result.to_dict()["flows"] if flow["name"] == "subject"]
    whole_s = result.scenario.duration_s
    return {**metrics(result), "completion_s": max(whole_s if time is None else time for time in times)}


def app_limited(result: Result) -> Row:
    """The metrics of `metrics`, and those of the application of the group ``subject``."""
    row = metrics(result)
    (subject,) = (group for group in result.to_dict()["groups"] if group["name"] == "subject")
    return {**row, **{f"subject.{key}": subject.get(key) for key in OF_APPLICATION}}


def call(result: Result) -> Row:
    """The metrics of `metrics`, and of a call, whose audio and video are the first two groups of datagrams.

    ``audio.p95_frame_delay_s`` and ``video.p95_frame_delay_s`` are from the creation of a frame until its last packet
    arrives; ``video.frame_loss_rate`` is the fraction of frames that lack a packet.
    """
    row = metrics(result)
    audio, video = tables.rows(result.columns("traffic"))[:2]
    row["audio.p95_frame_delay_s"] = audio["p95_frame_delay_s"]
    row["video.p95_frame_delay_s"] = video["p95_frame_delay_s"]
    sent = video["sent_frames"]
    row["video.frame_loss_rate"] = max(0.0, 1 - video["received_frames"] / sent) if sent else None
    return row


def camps(result: Result) -> Row:
    """The metrics of `metrics`, and of the groups ``victim`` and ``other``, whose transfers each cross an edge link of
    that name.

    ``NAME.goodput_bps`` is goodput over the measurement interval. ``NAME.p95_completion_s`` is of the transfers that
    began in it; a transfer that is not complete at the end counts with the whole interval.
    """
    row = metrics(result)
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
    """The metrics of `metrics`, and ``ramp_s``: time from the end of the warm-up, at which the network changes, until
    the mean utilization over a second is at least 90 %.
    """
    series = tables.rows(result.columns("link_series"))
    from_s = result.scenario.warmup_s
    used = [(row["t_s"], row["utilization"]) for row in series if row["t_s"] > from_s + 1e-9]
    reached = back_to([time - from_s for time, _ in used], [part or 0.0 for _, part in used], 0.9)
    return {**metrics(result), "ramp_s": result.window_s if reached is None else reached}


def start_up(result: Result) -> Row:
    """The metrics of `metrics`, and of a flow that fills an idle path from its start, sampled four times a round trip.

    ``start_up_s`` is the time from the start of the run until the bottleneck's mean utilization over
    `START_UP_SAMPLES` samples is at least 90 %; the whole run where it never is. ``start_up_loss_rate`` is packets
    dropped over packets arrived, from the start of the run until `START_UP_SAMPLES` samples after that time.
    """
    samples = [row for row in tables.rows(result.columns("link_series")) if row["link"] == 0]
    times = [row["t_s"] for row in samples]
    used = [row["utilization"] or 0.0 for row in samples]
    interval_s = times[1] - times[0]
    reached_s = back_to(times, used, 0.9, START_UP_SAMPLES * interval_s)
    until_s = math.inf if reached_s is None else reached_s + (START_UP_SAMPLES + 0.5) * interval_s
    arrived, dropped = (
        math.fsum(row[key] for row in samples if row["t_s"] < until_s) for key in ("arrived_packets", "dropped_packets")
    )
    return {
        **metrics(result),
        "start_up_s": result.scenario.duration_s if reached_s is None else reached_s,
        "start_up_loss_rate": dropped / arrived if arrived else None,
    }


def latecomer(result: Result) -> Row:
    """The metrics of `metrics`, and ``settle_s``: time from the start of the last flow until its mean rate over a
    second is within 20 % of an equal share of the bottleneck. The rate is packets in flight over RTT.
    """
    scenario = result.scenario.to_dict()
    flows = result.to_dict()["flows"]
    last = max(flow["id"] for flow in flows)
    started_s = result.scenario.warmup_s - 20.0
    rate = Quantity.parse(scenario["links"][0]["rate"])
    assert rate is not None
    equal = rate.value / 8 / scenario["packet_size"] / len(flows)
    rows = [row for row in tables.rows(result.columns("series")) if row["flow"] == last and row["t_s"] > started_s]
    rates = [(row["in_flight_packets"] or 0.0) / row["rtt_s"] if row["rtt_s"] else 0.0 for row in rows]
    reached = settled([row["t_s"] - started_s for row in rows], rates, equal, 0.2)
    return {**metrics(result), "settle_s": result.scenario.duration_s - started_s if reached is None else reached}


MEASURES: Mapping[str, Callable[[Result], Row]] = {
    "metrics": metrics,
    "transfer": transfer,
    "app_limited": app_limited,
    "call": call,
    "camps": camps,
    "upturn": upturn,
    "start_up": start_up,
    "latecomer": latecomer,
}
"""Functions that turn a run into its row, by the name that a test case gives."""


ADDED: Mapping[str, Sequence[str]] = {
    "metrics": (),
    "transfer": ("completion_s",),
    "app_limited": tuple(f"subject.{name}" for name in OF_APPLICATION),
    "call": ("audio.p95_frame_delay_s", "video.p95_frame_delay_s", "video.frame_loss_rate"),
    "camps": tuple(f"{camp}.{name}" for camp in ("victim", "other") for name in ("goodput_bps", "p95_completion_s")),
    "upturn": ("ramp_s",),
    "start_up": ("start_up_s", "start_up_loss_rate"),
    "latecomer": ("settle_s",),
}
"""Columns that a function of `MEASURES` has in addition to those of `metrics`."""


def columns(measure: str, tree: Tree) -> list[str]:
    """Columns in the row of a scenario's run.

    Args:
        measure: A name of `MEASURES`.
        tree: Keys of the scenario.
    """
    groups = {flow["name"]: "size" in flow for flow in tree.get("flows", ())}
    done = [f"p{part}_completion_s" for part in (50, 95, 99)]
    names = [f"{name}.{key}" for name, ends in groups.items() for key in (*OF_GROUP, *(done if ends else ()))]
    return [*OF_RUN, *names, *(["udp.loss_rate"] if "udp" in tree else []), *ADDED[measure]]


def most_lost(times: Sequence[float], arrived: Sequence[float], dropped: Sequence[float]) -> float | None:
    """Largest loss rate within any `BREAKER_S` in which at least `BREAKER_PACKETS` packets arrived; None without such
    an interval. Samples are evenly spaced and hold the counts since the previous sample.
    """
    many = round(BREAKER_S / times[0]) if times else 0
    if not 0 < many <= len(times):
        return None
    came, lost = ([0.0, *accumulate(column)] for column in (arrived, dropped))
    spans = ((came[end] - came[end - many], lost[end] - lost[end - many]) for end in range(many, len(came)))
    return max((part / whole for whole, part in spans if whole >= BREAKER_PACKETS), default=None)


def back_to(times: Sequence[float], values: Sequence[float], level: float, over_s: float = 1.0) -> float | None:
    """First time at which the mean of the last ``over_s`` is at least ``level``; None without one. Evenly spaced."""
    return _first(times, values, over_s, lambda mean: mean >= level)


def settled(times: Sequence[float], values: Sequence[float], level: float, within: float) -> float | None:
    """First time at which the mean of the last second is within a fraction ``within`` of ``level``; or None."""
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
