"""Figures over all flows of a run, and all figures of it as one row."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from fullpipe._core import figure_names
from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import quoted, unknown
from fullpipe.engine import tables
from fullpipe.errors import InputError
from fullpipe.metrics import METRICS
from fullpipe.runs import transfers

__all__ = [
    "FIRST",
    "bottleneck_of",
    "figures",
    "find_metric",
    "groups",
    "jain_index",
    "over_flows",
    "overall",
    "together_bps",
]

Row: TypeAlias = Tree


def figures(columns: Table, window_s: float) -> Row:
    """All metrics of a run as one row.

    The columns of `Result.links` by their own names for the bottleneck, which is the link of that name or the first
    one; those of other links as ``links.NAME.METRIC``. Those of `over_flows` and `overall`, ``jain_index``, and
    ``data_packets``. Where flows differ in algorithm, ``flows.ALGORITHM.mean_goodput_bps``. Where there are 2 to 20
    groups of flows, or one with a name, ``groups.NAME.METRIC`` as in `groups`.

    Of cross traffic, ``udp.`` and ``web.`` with ``throughput_bps``, packets, transfers, and frames summed over the
    sources, and the greatest of their percentiles, such as ``udp.p95_frame_delay_s``. Where there are 2 to 20 sources,
    or one with a name, ``udp.NAME.METRIC``; a source without a name has its number. Where transfers began after the
    warm-up, ``transfers.METRIC`` (`fullpipe.runs.transfers.completions`).

    Args:
        columns: Tables of the run, as its engine gave them.
        window_s: Length of the measurement interval.
    """
    row: Row = {}
    links = tables.rows(columns["links"])
    bottleneck = bottleneck_of([link["name"] for link in links])
    for i, link in enumerate(links):
        prefix = "" if i == bottleneck else f"links.{link['name']}."
        row.update({f"{prefix}{key}": value for key, value in link.items() if key != "name"})
    flows = tables.rows(columns["flows"])
    row.update(over_flows(flows, window_s))
    algorithms = sorted({flow["algorithm"] for flow in flows})
    if len(algorithms) > 1:
        for name in algorithms:
            own = (flow["goodput_bps"] for flow in flows if flow["algorithm"] == name)
            row[f"flows.{name}.mean_goodput_bps"] = _mean(own)
    named = flows and flows[0]["name"] != flows[0]["algorithm"]  # an algorithm's name is the default
    if (1 if named else 2) <= len({flow["name"] for flow in flows}) <= MOST_GROUPS:
        for group in groups(flows, tables.rows(columns["groups"]), window_s):
            name = group.pop("name")
            row.update({f"groups.{name}.{key}": value for key, value in group.items() if key != "algorithm"})
    row.update(overall(columns["totals"]))
    row["jain_index"] = tables.to_list([columns["totals"]["jain_index"]])[0]
    row["data_packets"] = columns["totals"]["data_packets"]
    began = transfers.completions(tables.rows(columns["transfers"]))
    if began["count"]:
        row.update({f"transfers.{key}": value for key, value in began.items()})
    for kind in ("udp", "web"):
        sources = [source for source in tables.rows(columns["traffic"]) if source["kind"] == kind]
        if sources:
            row.update(_of_traffic(kind, sources))
        named = sources and sources[0].get("name")
        if (1 if named else 2) <= len(sources) <= MOST_GROUPS:
            for i, source in enumerate(sources):
                name = source.get("name") or i
                row.update({f"{kind}.{name}.{key}": value for key, value in source.items() if _is_metric(key, value)})
    return row


def bottleneck_of(links: Sequence[str]) -> int:
    """Place of the link whose metrics have plain names: the one called bottleneck, or the first."""
    return links.index("bottleneck") if "bottleneck" in links else 0


MOST_GROUPS = 20
"""Groups, or sources of cross traffic, with separate metrics in the row of a run."""


def _is_metric(name: str, value: object) -> bool:
    return name not in ("kind", "name") and not isinstance(value, str)


PERCENTILES = tuple(name for name in figure_names()["totals"] if re.match(r"p\d+_", name))
"""Percentiles of RTT and jitter; flows together have others than their flows' mean."""

FIRST = (
    *(name for name in figure_names()["links"] if name != "name" and not name.startswith("reverse_")),
    "flows",
    "goodput_bps",
    "throughput_bps",
    "payload_goodput_bps",
    "mean_goodput_bps",
    "min_goodput_bps",
    "max_goodput_bps",
    "jain_index",
    "retransmits",
    "timeouts",
    "fast_recoveries",
    "mean_rtt_s",
    *PERCENTILES,
    "mean_cwnd_packets",
    "completed_flows",
    "mean_completion_s",
    "data_packets",
)
"""The figures that every run has, in the order of a table's columns; all others depend on the scenario."""


SCOPES = ("links", "flows", "groups", "transfers", "udp", "web")
"""First parts of the names of metrics that depend on the scenario."""

FRAME_DELAYS = ("p50_frame_delay_s", "p95_frame_delay_s", "p99_frame_delay_s")
"""Of sources that send frames."""

SOURCE = ("app_limited_fraction", *FRAME_DELAYS, "late_frames", "late_fraction")
"""Metrics of applications, which only flows with a ``source`` have."""

CLIENT = (*("request_completion_s", "startup_s", "stall_s", "rebuffer_ratio", "mean_bitrate_bps", "switches"),)
"""Metrics of requests and of videos; of several flows the mean."""


def find_metric(name: str, known: Collection[str] | None = None) -> str:
    """The name, if it is a known metric; before a run, a metric of any scenario.

    Raises:
        InputError: The metric is unknown.
    """
    scope, _, own = name.rpartition(".")
    kind, own = scope.partition(".")[0], own.removeprefix("reverse_")
    if known is not None:
        if name not in known:
            raise InputError(unknown("metric", name, known))
    elif scope and kind not in SCOPES:
        raise InputError(f"{unknown('scope', kind, SCOPES)}: metric {quoted(name)}")
    elif own not in METRICS:
        # Those of applications, groups, and sources depend on the scenario.
        raise InputError(unknown("metric", name, (*FIRST, *SOURCE, *CLIENT)))
    return name


def over_flows(flows: Sequence[Table], window_s: float) -> Row:
    """Over flows, of `Result.flows`: their number, ``goodput_bps``, ``throughput_bps`` and ``payload_goodput_bps``
    together (`together_bps`), ``mean_``, ``min_`` and ``max_goodput_bps``, ``retransmits``, ``timeouts`` and
    ``fast_recoveries`` summed, ``mean_rtt_s`` and ``mean_cwnd_packets`` averaged, ``completed_flows``, and
    ``mean_completion_s`` of those of them that began after the warm-up; metrics of applications, if there are
    any; of no flows their number alone.
    """
    if not flows:
        return {"flows": 0}
    goodputs = [flow["goodput_bps"] for flow in flows if flow["goodput_bps"] is not None]
    return {
        "flows": len(flows),
        "goodput_bps": together_bps(flows, "goodput_bps", window_s),
        "throughput_bps": together_bps(flows, "throughput_bps", window_s),
        "payload_goodput_bps": together_bps(flows, "payload_goodput_bps", window_s),
        "mean_goodput_bps": _mean(goodputs),
        "min_goodput_bps": min(goodputs, default=None),
        "max_goodput_bps": max(goodputs, default=None),
        **{key: sum(flow[key] for flow in flows) for key in ("retransmits", "timeouts", "fast_recoveries")},
        "mean_rtt_s": _mean(flow["mean_rtt_s"] for flow in flows),
        "mean_cwnd_packets": _mean(flow["mean_cwnd_packets"] for flow in flows),
        "completed_flows": sum(flow["completion_s"] is not None for flow in flows),
        "mean_completion_s": _mean(flow["completion_s"] for flow in flows if not _began_in_warmup(flow)),
        **_of_sources(flows),
    }


def _of_sources(flows: Sequence[Table]) -> Row:
    """Metrics of applications: ``app_limited_fraction``, ``late_fraction``, and `CLIENT` averaged over the flows that
    have them, the greatest percentiles of frame delays, and ``late_frames`` summed. Only where a flow has a
    ``source``, or frames.
    """
    row: Row = {}
    for name in ("app_limited_fraction", "late_fraction", *CLIENT):
        if name in flows[0]:
            row[name] = _mean(flow[name] for flow in flows)
    for name in FRAME_DELAYS:
        if name in flows[0]:
            row[name] = max((flow[name] for flow in flows if flow[name] is not None), default=None)
    if "late_frames" in flows[0]:
        known = [flow["late_frames"] for flow in flows if flow["late_frames"] is not None]
        row["late_frames"] = sum(known) if known else None
    return row


def overall(totals: Table) -> Row:
    """`PERCENTILES` over the samples of all flows, where the engine reports them."""
    return {key: tables.to_list([totals[key]])[0] for key in PERCENTILES if key in totals}


def groups(flows: Sequence[Table], own_figures: Sequence[Table], window_s: float) -> list[Row]:
    """A row per group of flows, those of one name, in the order of their first flows: ``name``, ``algorithm`` (several
    with commas), ``flows``, ``goodput_bps``, ``throughput_bps`` and ``payload_goodput_bps`` together, ``share`` of all
    groups' goodput (None where there is none), ``jain_index`` inside, ``mean_rtt_s`` and ``mean_cwnd_packets``
    averaged, ``retransmits`` and ``timeouts`` summed; and the metrics of groups from the engine (``own_figures``),
    ``loss_rate``, `PERCENTILES`, and delays of frames; `SOURCE` where a flow has a ``source``.
    """
    known = {row["name"]: row for row in own_figures}
    names = dict.fromkeys(flow["name"] for flow in flows)
    total_bps = together_bps(flows, "goodput_bps", window_s)
    rows = []
    for name in names:
        own = [flow for flow in flows if flow["name"] == name]
        whole = over_flows(own, window_s)
        fairness = jain_index([flow["goodput_bps"] for flow in own if flow["goodput_bps"] is not None])
        rows.append(
            {
                "name": name,
                "algorithm": ", ".join(dict.fromkeys(flow["algorithm"] for flow in own)),
                "flows": len(own),
                "goodput_bps": whole["goodput_bps"],
                "throughput_bps": whole["throughput_bps"],
                "payload_goodput_bps": whole["payload_goodput_bps"],
                "share": whole["goodput_bps"] / total_bps if total_bps else None,
                "jain_index": None if math.isnan(fairness) else fairness,
                "loss_rate": known.get(name, {}).get("loss_rate"),
                "mean_rtt_s": whole["mean_rtt_s"],
                **{key: known.get(name, {}).get(key) for key in PERCENTILES},
                **{key: whole[key] for key in ("mean_cwnd_packets", "retransmits", "timeouts")},
                **{key: known.get(name, {}).get(key, whole[key]) for key in (*SOURCE, *CLIENT) if key in whole},
            }
        )
    return rows


def jain_index(rates: Sequence[float]) -> float:
    """Jain's fairness index, 1 where all rates are equal, 1/n where one of n has all; NaN where none is above 0.

    Of mean m and variance v it is m^2 / (m^2 + v): rounding cannot lift that above 1.
    """
    if not any(rates):
        return math.nan
    mean = math.fsum(rates) / len(rates)
    variance = math.fsum((rate - mean) ** 2 for rate in rates) / len(rates)
    return mean**2 / (mean**2 + variance)


def together_bps(flows: Sequence[Table], rate: str, window_s: float) -> float:
    """Of flows together, ``throughput_bps`` or another rate over the measuring window, whatever part of it each
    lived.
    """
    return math.fsum(flow[rate] * flow["active_s"] for flow in flows if flow["active_s"]) / window_s


def _began_in_warmup(flow: Table) -> bool:
    """Whether a flow that is complete lived before the window; one that is not has no completion time anyway."""
    took_s = flow["completion_s"]
    return took_s is not None and flow["active_s"] < took_s


def _of_traffic(kind: str, groups: Sequence[Row]) -> Row:
    sums = ["throughput_bps", "sent_packets", "received_packets"]
    if kind == "web":
        sums += ["transfers_started", "transfers_completed"]
    row = {f"{kind}.{key}": sum(group[key] for group in groups) for key in sums}
    if kind == "web":
        row["web.mean_completion_s"] = _mean_completion(groups)
    elif "sent_frames" in groups[0]:
        row |= {f"udp.{key}": sum(group[key] for group in groups) for key in ("sent_frames", "received_frames")}
        for key in FRAME_DELAYS:
            row[f"udp.{key}"] = max((group[key] for group in groups if group[key] is not None), default=None)
    return row


def _mean_completion(groups: Sequence[Row]) -> float | None:
    known = [group for group in groups if group["mean_completion_s"] is not None]
    transfers = sum(group["transfers_completed"] for group in known)
    total = math.fsum(group["mean_completion_s"] * group["transfers_completed"] for group in known)
    return total / transfers if transfers else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
