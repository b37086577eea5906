"""Groups of flows and sources of cross traffic in the runs of an experiment: a row per run and group, from columns such
as ``groups.call.goodput_bps``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from fullpipe._core import figure_names
from fullpipe._util.plain import Tree
from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.metrics import metric
from fullpipe.runs.figures import FRAME_DELAYS, bottleneck_of, find_metric

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["by_group", "check_metrics"]

RATES = ("goodput_bps", "throughput_bps")
"""Metrics that every group or every source has."""

OWN = (
    *(*RATES, "share", "loss_rate", "mean_rtt_s", "p99_rtt_s", "p99_jitter_s"),
    *("p99_frame_delay_s", "late_fraction", "request_completion_s", "mean_completion_s"),
    *("mean_bitrate_bps", "rebuffer_ratio"),
)
"""Metrics of groups and sources that tables show."""

OF_TRAFFIC = (
    *(name for name in figure_names()["traffic"] if name not in ("kind", "name")),
    *("sent_frames", "received_frames", *FRAME_DELAYS),
)
"""Metrics of sources of cross traffic."""

KINDS = ("groups", "udp", "web")
"""Scopes of groups and sources."""


def by_group(runs: pa.Table, labels: Sequence[str]) -> pa.Table | None:
    """A row per run and group or source, with the column ``group``: "call" for ``groups.call``, "udp call" for
    ``udp.call``. None for a single group without sources, and where sources have only a throughput.

    Args:
        runs: A row per run.
        labels: Columns that identify the scenario of a run.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for i, (scope, columns) in enumerate(_scopes(runs).items()):
        kind, _, name = scope.partition(".")
        group = pa.array([name if kind == "groups" else f"{kind} {name}".strip()] * len(runs), pa.string())
        found: dict[str, pa.ChunkedArray[pa.Scalar[pa.DataType]] | pa.Array[pa.Scalar[pa.DataType]]] = {
            name: runs[name] for name in (*labels, "run", "seed")
        }
        found |= {"group": group, "place": pa.array([i] * len(runs), pa.int64())}
        found |= {own: runs[column] for own, column in columns.items()}
        part = pa.Table.from_arrays(list(found.values()), names=list(found))
        # An axis that changes names, or a failed run, leaves a run without this group.
        parts.append(part.filter(pc.is_valid(part[next(rate for rate in RATES if rate in columns)])))
    if not parts:
        return None
    table = pa.concat_tables(parts, promote_options="permissive")
    table = table.sort_by([("run", "ascending"), ("place", "ascending")])
    shown = [name for name in OWN if name in table.column_names]
    return table.select([*labels, "run", "seed", "group", *shown])


def check_metrics(
    names: Sequence[str], scenario: Tree, *, more: Collection[str] = (), groups: bool = True
) -> list[str]:
    """Names of metrics in the row of a run, after a check before the run that it can have them. For example,
    ``links.bottleneck.loss_rate`` is ``loss_rate``.

    Args:
        names: The metrics.
        scenario: Keys of the scenario.
        more: Further metrics of the experiment.
        groups: Whether groups have the names of the scenario, if all flows have one. An experiment may change the
            default, which is the algorithm's name.

    Raises:
        InputError: A metric, link, group, or source is unknown.
    """
    tables = {key: scenario.get(key, []) for key in ("links", "flows", "udp", "web")}
    known = {key: [str(table.get("name") or i) for i, table in enumerate(rows)] for key, rows in tables.items()}
    for kind in ("udp", "web"):  # a single source without a name is the sum over all sources
        known[kind] = [] if known[kind] == ["0"] and "name" not in tables[kind][0] else known[kind]
    flows, bottleneck = known.pop("flows"), known["links"][bottleneck_of(known["links"])]
    if groups and all("name" in table for table in tables["flows"]):
        known["groups"] = flows
    found = []
    for name in names:
        scope = "" if name in more else metric(find_metric(name)).scope
        kind, _, own = scope.partition(".")
        if own and kind in known and own not in known[kind]:
            raise InputError(unknown("metric", name, (f"{kind}.{each}.METRIC" for each in known[kind])))
        if kind in ("udp", "web"):
            _check_traffic(name, any("frames" in source for source in tables[kind]))
        found.append(name.removeprefix(f"links.{bottleneck}."))
    return found


def _check_traffic(name: str, has_frames: bool) -> None:
    """Refuses a metric that sources of cross traffic do not have, or have only with frames."""
    scope, _, own = name.rpartition(".")
    if own not in OF_TRAFFIC:
        raise InputError(unknown("metric", name, (f"{scope}.{each}" for each in OF_TRAFFIC)))
    if "frame" in own and not has_frames:
        raise InputError(f"metric {quoted(name)} requires a source with frames")


def _scopes(runs: pa.Table) -> dict[str, dict[str, str]]:
    """Columns by scope and metric, of the groups and sources that tables show."""
    found: dict[str, dict[str, str]] = {}
    for column in runs.column_names:
        scope = metric(column).scope
        own = column.removeprefix(f"{scope}.")
        if scope.partition(".")[0] in KINDS and own in OWN and runs[column].null_count < len(runs):
            found.setdefault(scope, {})[own] = column
    for kind in KINDS:  # a sum over sources that have rows
        if any(scope.startswith(f"{kind}.") for scope in found):
            found.pop(kind, None)
    several = sum(scope.startswith("groups.") for scope in found) > 1
    sources = (columns for scope, columns in found.items() if not scope.startswith("groups."))
    if not several and not any(set(columns) - set(RATES) for columns in sources):
        return {}
    for columns in found.values():
        if "goodput_bps" in columns:
            columns.pop("throughput_bps", None)
    return found
