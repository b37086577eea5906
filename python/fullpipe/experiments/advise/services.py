"""Services of a scenario, and the metric by which people judge each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe._util.plain import Table
from fullpipe.engine import tables
from fullpipe.metrics import metric
from fullpipe.runs import transfers
from fullpipe.runs.figures import groups
from fullpipe.runs.measure import Row, name_of
from fullpipe.scenario import algorithm_name

if TYPE_CHECKING:
    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario

__all__ = ["MEASURED", "Service", "measured", "services_of", "shortfall"]

FLOORS = {
    "p99_frame_delay_s": 0.010,
    "request_completion_s": 0.020,
    "p95_s": 0.020,
    "p99_rtt_s": 0.010,
    "rebuffer_ratio": 0.01,
    "frame_loss_rate": 0.01,
    "loss_rate": 0.01,
}
"""Amounts that are added before two values are compared, because people do not notice less."""


@dataclass(frozen=True)
class Service:
    """Traffic with one purpose, and a metric of it.

    Attributes:
        name: Name of the group of flows, the UDP source, or the web users.
        column: Column of runs, for example "groups.call.p99_frame_delay_s".
    """

    name: str
    column: str

    @property
    def more(self) -> bool:
        """Whether larger values are better."""
        return metric(self.column).better == "more"

    @property
    def floor(self) -> float:
        """Amount that is added before two values are compared."""
        return FLOORS.get(self.column.rpartition(".")[2], 0.0)


def services_of(scenario: Scenario) -> list[Service]:
    """Services in the order of the scenario: flows, UDP sources, web users.

    Frames are judged by their p99 delay, videos by the part of the time that they rebuffer, requests by their mean
    completion time, flows with a limited rate by their p99 RTT, transfers of web users and of finite flows by their p95
    completion time, other flows by the mean goodput, and datagrams without frames by their loss.
    """
    tree = scenario.resolved().to_dict()
    found: dict[str, Service] = {}
    for flow in tree.get("flows", ()):
        name = _group_name(flow)
        column = f"groups.{name}.{_of_flow(flow)}"
        found.setdefault(column, Service(name, column))
    for i, source in enumerate(tree.get("udp", ())):
        name = source.get("name") or str(i)
        for own in ("p99_frame_delay_s", "frame_loss_rate") if "frames" in source else ("loss_rate",):
            found[f"udp.{name}.{own}"] = Service(name, f"udp.{name}.{own}")
    if tree.get("web"):
        found["web.p95_s"] = Service("web", "web.p95_s")
    return list(found.values())


def _of_flow(flow: Table) -> str:
    source = flow.get("source", "bulk")
    if isinstance(source, Mapping):
        kinds = {"frames": "p99_frame_delay_s", "video": "rebuffer_ratio", "requests": "request_completion_s"}
        return next((own for key, own in kinds.items() if key in source), "p99_rtt_s")
    return "mean_goodput_bps" if "size" not in flow else "p95_s"


def _group_name(flow: Table) -> str:
    return str(flow.get("name") or algorithm_name(flow["algorithm"]))


def measured(result: Result) -> Row:
    """Metrics of a run, and the metrics of its services."""
    row = result.figures()
    flows, own_figures = (tables.rows(result.columns(name)) for name in ("flows", "groups"))
    of_groups = {group["name"]: group for group in groups(flows, own_figures, result.window_s)}
    of_transfers: dict[str, list[Table]] = {}
    for each in tables.rows(result.columns("transfers")):
        of_transfers.setdefault(each["group"], []).append(each)
    traffic = [source for source in tables.rows(result.columns("traffic")) if source["kind"] == "udp"]
    of_udp = {source.get("name") or str(i): source for i, source in enumerate(traffic)}
    for service in services_of(result.scenario):
        kind, _, rest = service.column.partition(".")
        own = rest.rpartition(".")[2]
        if own == "p95_s":
            row[service.column] = transfers.completions(of_transfers.get(service.name, ()))[own]
        elif kind == "udp":
            row[service.column] = _of_udp(of_udp[service.name], own)
        else:
            group = of_groups[service.name]
            row[service.column] = group["goodput_bps"] / group["flows"] if own == "mean_goodput_bps" else group[own]
    return row


def _of_udp(source: Table, name: str) -> float | None:
    if name == "frame_loss_rate":
        return max(0.0, 1 - source["received_frames"] / source["sent_frames"]) if source["sent_frames"] else None
    if name == "loss_rate":
        return max(0.0, 1 - source["received_packets"] / source["sent_packets"]) if source["sent_packets"] else None
    value: float | None = source[name]
    return value


MEASURED = name_of(measured)
"""Measure of the runs."""


def shortfall(services: Sequence[Service], own: Callable[[str], float | None], best: Mapping[str, float]) -> float:
    """Distance of a queue from the best queue, for the service that suffers most: 0 if it is best for all, 1 for twice
    the delay or half the goodput; infinite if a service has no value.

    Args:
        services: The services.
        own: Value of the queue by column.
        best: Best value of all queues by column.
    """
    worst = 1.0
    for service in services:
        if service.column not in best:
            continue
        value = own(service.column)
        if value is None:
            return math.inf
        low, high = best[service.column] + service.floor, value + service.floor
        if service.more:
            low, high = high, low
        worst = max(worst, high / low if low > 0 else math.inf if high > 0 else 1.0)
    return worst - 1
