"""Registry of metrics: id, title, unit, definition, and which direction is better.

Table headings, plot axes, and units come from this registry. ``metric("p99_rtt_s").title`` is "p99 RTT". A name with a
scope, such as ``links.edge.utilization``, has the metric of its last part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

__all__ = ["METRICS", "Better", "Metric", "axis", "column", "metric"]

Better = Literal["more", "less", ""]
"""Direction in which a metric improves; empty where neither is better."""

Number = float | int | None


@dataclass(frozen=True)
class Metric:
    """A quantity that a run measures.

    Attributes:
        id: Name in columns and JSON. Its last part is the unit.
        title: Heading of tables and plots, without the unit.
        unit: SI unit of the values: "bit/s", "s", "packets", "bytes"; "1" for fractions, indices, and counts.
        definition: What is measured, in one sentence.
        better: Direction in which the metric improves.
        percent: Whether a fraction is shown in percent.
        form: Format of shown values; empty for a format that fits the unit.
        scope: Link, group, or source that the metric is of; empty for the bottleneck and for all flows.
    """

    id: str
    title: str
    unit: str
    definition: str
    better: Better = ""
    percent: bool = False
    form: str = ""
    scope: str = ""

    @property
    def full_title(self) -> str:
        """Title with the scope, for example "Utilization of links.edge"."""
        return f"{self.title} of {self.scope}" if self.scope else self.title


def _percentiles(what: str, title: str, definition: str, better: Better = "less") -> list[Metric]:
    return [
        Metric(f"p{part}_{what}", f"p{part} {title}", "s", f"{part}th percentile of {definition}.", better)
        for part in (50, 95, 99)
    ]


METRICS: Mapping[str, Metric] = {
    each.id: each
    for each in (
        Metric("utilization", "Utilization", "1", "Bytes that the link sent over its capacity.", "more", True, ".2f"),
        Metric("carried_goodput_bps", "Link goodput", "bit/s", "New data that receivers got over the link.", "more"),
        Metric("loss_rate", "Loss", "1", "Lost packets over packets that arrived.", "less", True, ".3g"),
        Metric("mark_rate", "CE marks", "1", "Packets marked CE over packets that arrived.", "", True, ".3g"),
        Metric("dropped_packets", "Drops", "packets", "Packets that the queue dropped.", "less", form=",.0f"),
        Metric("marked_packets", "Marks", "packets", "Packets that the queue marked CE.", form=",.0f"),
        Metric(
            "wire_lost_packets", "Link losses", "packets", "Packets lost on the link, not by the queue.", form=",.0f"
        ),
        Metric("arrived_packets", "Arrivals", "packets", "Packets that arrived at the queue.", form=",.0f"),
        Metric("sent_packets", "Sent", "packets", "Datagrams or segments that senders sent.", form=",.0f"),
        Metric("received_packets", "Received", "packets", "Datagrams or segments that receivers got.", form=",.0f"),
        Metric("data_packets", "Data packets", "packets", "Data packets sent, warm-up included.", form=",.0f"),
        Metric("mean_queue_packets", "Mean queue", "packets", "Time average of the queue length.", "less"),
        Metric("max_queue_packets", "Max queue", "packets", "Greatest queue length.", "less", form=",.0f"),
        Metric("queue_packets", "Queue", "packets", "Queue length at the sample.", "less"),
        *_percentiles("queueing_delay_s", "queueing delay", "the queueing delay of the packets"),
        Metric("max_queueing_delay_s", "Max queueing delay", "s", "Greatest queueing delay of a packet.", "less"),
        Metric("queueing_delay_s", "Mean queueing delay", "s", "Mean queue over the rate of the link.", "less"),
        Metric("flows", "Flows", "1", "Number of flows.", form=",.0f"),
        Metric("goodput_bps", "Goodput", "bit/s", "Data received for the first time, headers included.", "more"),
        Metric("throughput_bps", "Throughput", "bit/s", "Data received, headers and duplicates included.", "more"),
        Metric("payload_goodput_bps", "Payload goodput", "bit/s", "Data received once, without headers.", "more"),
        Metric("mean_goodput_bps", "Mean goodput", "bit/s", "Mean of the flows' goodputs.", "more"),
        Metric("min_goodput_bps", "Min goodput", "bit/s", "Least goodput of a flow.", "more"),
        Metric("max_goodput_bps", "Max goodput", "bit/s", "Greatest goodput of a flow."),
        Metric("share", "Share", "1", "Goodput of the group over the goodput of all flows.", "", True, ".1f"),
        Metric("fair_share", "Fair share", "1", "Flows of the group over all flows.", "", True, ".1f"),
        Metric("jain_index", "Jain index", "1", "Fairness of the goodputs: 1 if all are equal.", "more", form=".3f"),
        Metric("retransmits", "Retransmits", "1", "Segments sent more than once.", "less", form=",.0f"),
        Metric("timeouts", "RTOs", "1", "Expiries of the retransmission timer.", "less", form=",.0f"),
        Metric("fast_recoveries", "Fast recoveries", "1", "Episodes of fast recovery.", form=",.0f"),
        Metric("mean_rtt_s", "Mean RTT", "s", "Mean of the RTT samples.", "less"),
        Metric("base_rtt_s", "Base RTT", "s", "RTT of the path without queues."),
        Metric("rtt_s", "RTT", "s", "RTT at the sample.", "less"),
        *_percentiles("rtt_s", "RTT", "the RTT samples"),
        *_percentiles("jitter_s", "jitter", "the difference of one-way delays of successive segments"),
        *_percentiles("frame_delay_s", "frame delay", "the time from a frame's creation to its last packet"),
        Metric("mean_cwnd_packets", "Mean cwnd", "packets", "Time average of the congestion window."),
        Metric("cwnd_packets", "Congestion window", "packets", "Congestion window at the sample."),
        Metric("ssthresh_packets", "Slow-start threshold", "packets", "Slow-start threshold at the sample."),
        Metric("in_flight_packets", "In flight", "packets", "Packets in flight at the sample."),
        Metric("completion_s", "Completion", "s", "Time of the whole transfer.", "less"),
        Metric("mean_completion_s", "Mean completion", "s", "Mean time of the complete transfers.", "less"),
        Metric("completed_flows", "Complete flows", "1", "Finite flows that are complete.", "more", form=",.0f"),
        Metric("transfers_started", "Transfers", "1", "Web transfers that began.", form=",.0f"),
        Metric("transfers_completed", "Complete transfers", "1", "Web transfers that are complete.", form=",.0f"),
        Metric("count", "Transfers", "1", "Transfers that began after the warm-up.", form=",.0f"),
        Metric("completed", "Complete", "1", "Transfers that are complete.", "more", form=",.0f"),
        Metric("cut_off", "Cut off", "1", "Transfers whose flow stopped before their end.", form=",.0f"),
        Metric("running", "Running", "1", "Transfers that run at the end.", form=",.0f"),
        Metric("mean_s", "Mean completion", "s", "Mean completion time of the transfers.", "less"),
        *(
            Metric(f"p{p}_s", f"p{p} completion", "s", f"{p}th percentile of the completion times.", "less")
            for p in (50, 95, 99)
        ),
        *(
            Metric(f"p{p}_fct_s", f"p{p} completion", "s", f"{p}th percentile of the completion times.", "less")
            for p in (50, 95, 99)
        ),
        Metric("mean_fct_s", "Mean completion", "s", "Mean completion time of the web transfers.", "less"),
        *(
            Metric(f"p{p}_slowdown", f"p{p} slowdown", "1", f"{p}th percentile of completion over ideal.", "less")
            for p in (50, 95, 99)
        ),
        Metric("sent_frames", "Frames sent", "1", "Frames that sources made.", form=",.0f"),
        Metric("received_frames", "Frames received", "1", "Frames all of whose packets arrived.", "more", form=",.0f"),
        Metric("goodput_harm", "Goodput harm", "1", "Goodput lost versus solo (Ware 2019).", "less", form=".2f"),
        Metric("rtt_harm", "RTT harm", "1", "Growth of the RTT versus solo (Ware 2019).", "less", form=".2f"),
        Metric("alone_goodput_bps", "Solo goodput", "bit/s", "Goodput without the competitor.", "more"),
        Metric("alone_rtt_s", "Solo RTT", "s", "Mean RTT without the competitor.", "less"),
    )
}
"""All metrics by id."""

SUFFIXES = {"bps": "bit/s", "s": "s", "packets": "packets", "bytes": "bytes"}
"""Units by the last part of an id."""

SCALES: Mapping[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
}
"""Units that people read, from the largest: size in SI units, and name."""

AXES: Mapping[str, tuple[float, str]] = {"bit/s": (1e6, "Mbit/s"), "s": (1e-3, "ms")}
"""Units of axes and of differences: size in SI units, and name."""


@cache
def metric(name: str) -> Metric:
    """The metric of a column. An unknown name gets the unit of its last part, and a title of its words.

    Args:
        name: An id, also with a scope (``links.edge.utilization``, ``groups.call.goodput_bps``) or with ``reverse_``.
    """
    scope, _, own = name.rpartition(".")
    plain = own.removeprefix("reverse_")
    found = METRICS.get(plain)
    if found is None:
        stem, _, suffix = plain.rpartition("_")
        unit = SUFFIXES.get(suffix, "1") if stem else "1"
        words = (stem if unit != "1" else plain).replace("_", " ")
        found = Metric(plain, words[:1].upper() + words[1:], unit, "")
    title = found.title if plain == own else f"{found.title}, reverse"
    return Metric(name, title, found.unit, found.definition, found.better, found.percent, found.form, scope)


def axis(name: str) -> tuple[str, float]:
    """Label of an axis with its unit, for example "Goodput (Mbit/s)", and the factor of values in SI units."""
    one = metric(name)
    size, unit = AXES.get(one.unit, (1.0, one.unit))
    if one.percent:
        size, unit = 0.01, "%"
    return one.full_title + (f" ({unit})" if unit != "1" else ""), 1 / size


def column(
    name: str, values: Sequence[Number], halves: Iterable[Number] | None = None, *, signed: bool = False
) -> tuple[str, list[str]]:
    """Heading with a unit that suits the values, and the values as text; "-" for None.

    Args:
        name: Id of the metric.
        values: Values in SI units.
        halves: Half widths of the confidence intervals of the values; None or 0 for no interval.
        signed: Whether values are differences, which have a sign.
    """
    one = metric(name)
    size, unit, form = 1.0, one.unit, one.form
    if signed and one.unit in SCALES:
        size, unit = AXES[one.unit]
        form = form or (",.2f" if one.unit == "bit/s" else ",.1f")
    elif one.unit in SCALES:
        most = max((abs(value) for value in values if value is not None), default=0.0)
        steps = SCALES[one.unit]
        size, unit = next((step for step in steps if most >= step[0]), steps[-1] if most else steps[1])
        form = form or (",.2f" if one.unit == "bit/s" or unit == "s" else ",.1f")
    elif one.percent:
        size, unit = 0.01, "%"
    form = ("+" if signed else "") + (form or ",.1f")

    small = one.unit in SCALES

    def text(value: Number, half: Number) -> str:
        if value is None:
            return "-"
        # A value that is far below the others of the column keeps three digits.
        own = form.replace(",.2f", ".3g").replace(",.1f", ".3g") if small and 0 < abs(value) < 0.1 * size else form
        return f"{value / size:{own}}" + (f" ± {half / size:{form.lstrip('+')}}" if half else "")

    widths = [None] * len(values) if halves is None else list(halves)
    heading = one.title + (f" ({unit})" if unit != "1" else "")
    return heading, [text(value, half) for value, half in zip(values, widths, strict=True)]
