"""A run's row: which run it is, its figures, or its error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe.errors import Cancelled
from fullpipe.runs import engines, tables

if TYPE_CHECKING:
    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario

__all__ = ["figures", "outcome"]

Row = dict[str, Any]


def outcome(
    scenario: Scenario,
    changes: Mapping[str, Any],
    progress: Callable[[float, float], object] | None = None,
    memory_bytes: int | None = None,
) -> Row:
    """Runs a scenario with some keys changed: its figures with ``error`` None, or only the ``error``, in one line.
    `memory_bytes` as for `run`.

    Raises:
        Cancelled: `progress` said so.
    """
    try:
        return {
            "error": None,
            **figures(engines.run(scenario.replace(**changes), progress=progress, memory_bytes=memory_bytes)),
        }
    except Cancelled:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        return {"error": " ".join(str(error).split()) or type(error).__name__}


def figures(result: Result) -> Row:
    """A result's figures as one row.

    The columns of `Result.links` by their own names for the bottleneck, which is the link of that name or the first
    one; those of other links as ``links.NAME.FIGURE``. Over all flows: their number, ``goodput_bps`` and
    ``throughput_bps`` together (`Result.together_bps`), ``mean_``, ``min_`` and ``max_goodput_bps``, ``retransmits``,
    ``timeouts`` and ``fast_recoveries`` summed, ``mean_rtt_s``, ``mean_cwnd_packets`` and ``mean_completion_s``
    averaged, ``completed_flows``, ``jain_index``; where flows differ in algorithm,
    ``flows.ALGORITHM.mean_goodput_bps`` too. Of cross traffic, ``udp.`` and ``web.`` with ``throughput_bps``, packets
    and transfers summed over the groups.
    """
    row: Row = {}
    links = tables.rows(result.columns("links"))
    names = [link["name"] for link in links]
    bottleneck = names.index("bottleneck") if "bottleneck" in names else 0
    for i, link in enumerate(links):
        prefix = "" if i == bottleneck else f"links.{link['name']}."
        row.update({f"{prefix}{key}": value for key, value in link.items() if key != "name"})
    row.update(_of_flows(result))
    row["jain_index"] = result.totals["jain_index"]
    row["data_packets"] = result.totals["data_packets"]
    for kind in ("udp", "web"):
        groups = [group for group in tables.rows(result.columns("traffic")) if group["kind"] == kind]
        if groups:
            row.update(_of_traffic(kind, groups))
    return row


def _of_flows(result: Result) -> Row:
    flows = tables.rows(result.columns("flows"))
    if not flows:
        return {"flows": 0}
    goodputs = [flow["goodput_bps"] for flow in flows if flow["goodput_bps"] is not None]
    row: Row = {
        "flows": len(flows),
        "goodput_bps": result.together_bps("goodput_bps"),
        "throughput_bps": result.together_bps("throughput_bps"),
        "mean_goodput_bps": _mean(goodputs),
        "min_goodput_bps": min(goodputs, default=None),
        "max_goodput_bps": max(goodputs, default=None),
        **{key: sum(flow[key] for flow in flows) for key in ("retransmits", "timeouts", "fast_recoveries")},
        "mean_rtt_s": _mean(flow["mean_rtt_s"] for flow in flows),
        "mean_cwnd_packets": _mean(flow["mean_cwnd_packets"] for flow in flows),
        "completed_flows": sum(flow["completion_s"] is not None for flow in flows),
        "mean_completion_s": _mean(flow["completion_s"] for flow in flows),
    }
    algorithms = sorted({flow["algorithm"] for flow in flows})
    if len(algorithms) > 1:
        for name in algorithms:
            own = (flow["goodput_bps"] for flow in flows if flow["algorithm"] == name)
            row[f"flows.{name}.mean_goodput_bps"] = _mean(own)
    return row


def _of_traffic(kind: str, groups: Sequence[Row]) -> Row:
    sums = ["throughput_bps", "sent_packets", "received_packets"]
    if kind == "web":
        sums += ["transfers_started", "transfers_completed"]
    row = {f"{kind}.{key}": sum(group[key] for group in groups) for key in sums}
    if kind == "web":
        row["web.mean_completion_s"] = _mean_completion(groups)
    return row


def _mean_completion(groups: Sequence[Row]) -> float | None:
    known = [group for group in groups if group["mean_completion_s"] is not None]
    transfers = sum(group["transfers_completed"] for group in known)
    total = math.fsum(group["mean_completion_s"] * group["transfers_completed"] for group in known)
    return total / transfers if transfers else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
