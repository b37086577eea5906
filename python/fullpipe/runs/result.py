"""Result of a run: metrics per link and per flow, and time series."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.files import readable, staged
from fullpipe._util.inputs import MOST_TABLE_BYTES, read_json, read_table, table_metadata
from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import listed, shorten
from fullpipe.engine import tables
from fullpipe.engine.memory import share_bytes
from fullpipe.metrics import column
from fullpipe.runs import transfers
from fullpipe.runs.figures import figures, find_metric, groups, overall
from fullpipe.runs.tidy import tidy

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.plots.draw import Style
    from fullpipe.plots.series import Sampled
    from fullpipe.scenario import Scenario

__all__ = ["TABLES", "Result"]

TABLES = ("links", "flows", "groups", "transfers", "traffic", "series", "link_series")
"""The tables that an engine yields."""

MOST_FLOWS = 12
"""Flows shown one by one; of more their groups are."""


class Result(Outcome):
    """The outcome of one run. Tables are Arrow tables on the engine's own memory; a figure without a value is NaN there
    and null in JSON. All figures are of the measuring window, from the end of the warm-up to the end of the run: its
    first instant counts, its last does not. ``docs/reference/scenarios.md`` defines each of them.

    Attributes:
        scenario: The scenario.
        engine: Name of the engine.
        totals: ``data_packets`` sent, warm-up included; ``wall_s``, the run's length on the clock on the wall;
            ``jain_index``, fairness of the flows' goodputs, 1 where all are equal; ``p50_rtt_s``, ``p95_rtt_s``,
            ``p99_rtt_s``, percentiles over the RTT samples of all flows; those of ``jitter_s``.
        warnings: One line each: keys of the scenario that are allowed but probably not intended, and differences of the
            run from the scenario, for example shared queues of FQ-CoDel.
    """

    labels: ClassVar[tuple[str, ...]] = ()
    """Columns that distinguish runs; a single run has none."""

    def __init__(self, scenario: Scenario, columns: Tree, *, engine: str, wall_s: float) -> None:
        """Takes an engine's tables ``links``, ``flows``, ``groups`` (metrics that do not follow from those of flows),
        ``transfers``, ``traffic``, ``series``, ``link_series`` column by column, ``totals``, and its ``warnings``.
        """
        self.scenario = scenario
        self.engine = engine
        self._columns = {"groups": {}, "transfers": {name: [] for name in transfers.COLUMNS}, **columns}
        self.warnings = [*scenario.warnings, *columns.get("warnings", ())]
        totals = columns["totals"]
        self.totals: Tree = {
            "data_packets": totals["data_packets"],
            "wall_s": wall_s,
            "jain_index": tables.to_list([totals["jain_index"]])[0],
            **overall(totals),
        }

    @cached_property
    def links(self) -> pa.Table:
        """A row per link: ``name``, ``utilization`` (bytes sent over capacity), ``carried_goodput_bps`` (the part of it
        that receivers got for the first time), ``loss_rate``, ``dropped_packets``, ``marked_packets``,
        ``wire_lost_packets``, ``arrived_packets``, ``mean_queue_packets``, ``max_queue_packets``,
        ``p50_queueing_delay_s``, ``p95_queueing_delay_s``, ``p99_queueing_delay_s``, ``max_queueing_delay_s``,
        ``shared_queues`` (FQ-CoDel queues that several flows share; NaN from Linux, which reports none), and these with
        ``reverse_`` for the other direction.
        """
        return tables.to_arrow(self._columns["links"])

    @cached_property
    def flows(self) -> pa.Table:
        """A row per flow: ``id``, ``algorithm``, ``active_s`` (how much of its life lies in the measuring window),
        ``throughput_bps``, ``goodput_bps`` and, without headers, ``payload_goodput_bps`` (over that; NaN without),
        ``retransmits``, ``timeouts``, ``fast_recoveries``, ``loss_rate``, ``mean_rtt_s``, ``p50_rtt_s``, ``p95_rtt_s``,
        ``p99_rtt_s``, those of ``jitter_s`` where the scenario has ``measure_jitter``, ``mean_cwnd_packets``,
        ``base_rtt_s``, ``completion_s``. Where a flow has a ``source``: ``app_limited_fraction``. Where a flow has
        frames: ``p50_frame_delay_s``, ``p95_frame_delay_s``, ``p99_frame_delay_s``, ``late_frames``, and
        ``late_fraction`` (NaN for flows without frames or without a deadline). Where a flow has requests or a video:
        ``request_completion_s``; and ``startup_s``, ``stall_s``, ``rebuffer_ratio``, ``mean_bitrate_bps``,
        ``switches`` of videos. Where a QUIC flow has ECN: ``ecn``, "testing", "capable", or "failed"; else empty.
        """
        return tables.to_arrow(self._columns["flows"])

    @cached_property
    def transfers(self) -> pa.Table:
        """A row per transfer that began, of finite flows and of web traffic, in that order: ``group`` (a flow's name, a
        web group's, or "web"), ``start_s``, ``size_bytes`` (whole packets), ``state`` at the end ("complete",
        "cut off" where its flow stopped before, or "running"), ``completion_s`` from its beginning to its last ACK (NaN
        unless it is complete), ``slowdown`` (that over the time of an idle path for its packets back to back),
        ``retransmits``, ``timeouts``, ``in_warmup``: whether it began in the warm-up.
        """
        import pyarrow as pa

        kinds: dict[str, pa.DataType] = {"group": pa.string(), "state": pa.string(), "in_warmup": pa.bool_()}
        kinds |= dict.fromkeys(("size_bytes", "retransmits", "timeouts"), pa.uint64())
        table = tables.to_arrow(self._columns["transfers"])
        kinds_of_all = [(name, kinds.get(name, pa.float64())) for name in table.column_names]
        return tables.described(table.cast(pa.schema(kinds_of_all)))

    @cached_property
    def transfer_sizes(self) -> pa.Table:
        """A row per group of transfers and size class, a factor of ten each: ``group``, ``from_bytes``,
        ``below_bytes``, and of those that began after the warm-up ``count``, ``completed``, ``cut_off``,
        ``running``, ``mean_s``, ``p50_s``, ``p95_s``, ``p99_s``, ``p50_slowdown``, ``p95_slowdown``, ``p99_slowdown``.
        """
        import pyarrow as pa

        return tables.described(pa.Table.from_pylist(transfers.by_size(tables.rows(self._columns["transfers"]))))

    @cached_property
    def traffic(self) -> pa.Table:
        """A row per UDP group and per web group: ``kind``, ``throughput_bps``, packets sent and received; of web groups
        the transfers begun in the measuring window, how many of these are complete, and how long they took. Where a
        group sends frames, ``sent_frames`` and ``received_frames`` (all of whose packets have arrived), and of these
        ``p50_frame_delay_s``, ``p95_frame_delay_s``, ``p99_frame_delay_s``, from when a frame was made.
        """
        return tables.to_arrow(self._columns["traffic"])

    @cached_property
    def series(self) -> pa.Table:
        """A row per flow and sample: ``t_s``, ``flow``, ``cwnd_packets``, ``ssthresh_packets`` (infinite before the
        first loss), ``rtt_s``, ``in_flight_packets``, ``goodput_bps`` since the row before, and the algorithms' named
        internals; flow by flow, in order of time.
        """
        return tables.to_arrow(self._columns["series"])

    @cached_property
    def link_series(self) -> pa.Table:
        """A row per link and sample: ``t_s``, ``link``, ``queue_packets``; since the sample before ``utilization``,
        ``arrived_packets``, ``dropped_packets`` and ``marked_packets`` (of those, by the queue); and these with
        ``reverse_`` for the other direction.
        """
        return tables.to_arrow(self._columns["link_series"], {"link": self._columns["links"]["name"]})

    @cached_property
    def groups(self) -> pa.Table:
        """A row per group of flows, those of one name: ``name``, ``algorithm``, ``flows``, ``goodput_bps``,
        ``throughput_bps`` and ``payload_goodput_bps`` together, ``share`` of the goodput, ``jain_index`` inside,
        ``loss_rate``, ``mean_rtt_s``, ``p50_rtt_s``, ``p95_rtt_s``, ``p99_rtt_s``, those of ``jitter_s``,
        ``mean_cwnd_packets``, ``retransmits``, ``timeouts``.
        """
        import pyarrow as pa

        return tables.described(pa.Table.from_pylist(self._groups()))

    @cached_property
    def runs(self) -> pa.Table:
        """One row with the seed and all metrics, as experiments have a row per run."""
        import pyarrow as pa

        return tables.described(pa.Table.from_pylist([{"seed": self.scenario.seed, **self.figures()}]))

    def columns(self, table: str) -> tables.Columns:
        """A table's columns as the engine gave them, for those who can do without Arrow."""
        columns: tables.Columns = self._columns[table]
        return columns

    def figures(self) -> Tree:
        """All figures as one row: the bottleneck's (the link of that name or the first one), those of other links as
        ``links.NAME.FIGURE``, and over all flows and all cross traffic; `fullpipe.runs.figures` lists them.
        """
        return figures(self._columns, self.window_s)

    def tidy(self) -> pa.Table:
        """Everything measured as one table, a row per figure: ``quantity``, ``unit`` ("1" for parts of a whole and
        numbers of things), ``group`` ("link bottleneck", "flow 0", "group reno", "web 1", "all"), ``setting`` (which
        run it is; empty for one alone), ``value``.
        """
        return tidy(self.measured(""))

    def measured(self, setting: str) -> Iterator[tuple[str, str, Tree]]:
        """The metrics by group, as `fullpipe.runs.tidy` takes them."""
        for link in tables.rows(self._columns["links"]):
            yield f"link {link['name']}", setting, link
        for flow in tables.rows(self._columns["flows"]):
            yield f"flow {flow['id']}", setting, {name: value for name, value in flow.items() if name != "id"}
        for group in self._groups():
            yield f"group {group['name']}", setting, group
        for i, traffic in enumerate(tables.rows(self._columns["traffic"])):
            metrics = {name: value for name, value in traffic.items() if name != "name"}
            yield f"{traffic['kind']} {traffic.get('name') or i}", setting, metrics
        yield "all", setting, {name: value for name, value in self.totals.items() if name != "wall_s"}

    @property
    def window_s(self) -> float:
        """How long the measuring window is, seconds."""
        return self.scenario.duration_s - self.scenario.warmup_s

    def sampled(self) -> Sampled:
        """The series that plots are drawn of.

        Raises:
            InputError: The run sampled no series.
        """
        from fullpipe.plots.series import Sampled

        scenario = self.scenario
        return Sampled(self._columns, scenario.duration_s, scenario.warmup_s, scenario.series_interval_s)

    def to_dict(self) -> Tree:
        """The figures, without the series, as plain values ready for JSON."""
        return {
            "engine": self.engine,
            "seed": self.scenario.seed,
            "links": [_with_reverse(link) for link in tables.rows(self._columns["links"])],
            "flows": tables.rows(self._columns["flows"]),
            "groups": self._groups(),
            "transfers": transfers.summaries(tables.rows(self._columns["transfers"])),
            "traffic": tables.rows(self._columns["traffic"]),
            "totals": self.totals,
            "warnings": self.warnings,
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``result.json``, ``scenario.toml`` (every key spelled out, as `Scenario.resolved` does), and
        ``links``, ``flows``, ``groups``, ``transfers``, ``traffic``, ``series``, ``link_series`` as Parquet into a
        directory, which is made if need be. All files appear whole or not at all.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "result.json").write_text(self.to_json() + "\n", encoding="utf-8")
            (stage / "scenario.toml").write_text(self.scenario.resolved().to_toml(), encoding="utf-8")
            for name in TABLES:
                pq.write_table(getattr(self, name), stage / f"{name}.parquet")

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Result:
        """The result that `save` wrote into a directory. Its scenario has every key spelled out.

        Raises:
            InputError: There is none, or it can't be read.
        """
        from fullpipe.scenario import Scenario

        with readable(directory) as place:
            kept = read_json(place / "result.json")
            scenario = Scenario.load(place / "scenario.toml")
            columns: Tree = {}
            for name in TABLES:
                file = place / f"{name}.parquet"
                of = {"series": "flows", "link_series": "links"}.get(name)
                most = MOST_TABLE_BYTES if of is None else _series_bytes(file, scenario, len(columns[of]["name"]))
                columns[name] = tables.of_arrow(read_table(file, most))
            totals = kept["totals"]
            jain = totals["jain_index"]
            columns["totals"] = {**totals, "jain_index": math.nan if jain is None else jain}
            columns["warnings"] = [line for line in kept.get("warnings", []) if line not in scenario.warnings]
            return cls(scenario, columns, engine=kept["engine"], wall_s=totals["wall_s"])

    def plot(self, path: str | os.PathLike[str] | None = None, *, style: Style = "screen") -> Figure:
        """Plots windows, queue, utilization, and RTT over time; with ``path``, writes the plot too.

        Args:
            path: File of the plot (.png, .svg, .pdf).
            style: "screen"; "paper" for one column of a paper, 3.4 in wide; "paper-wide" for both columns, 7 in wide.

        Raises:
            InputError: The run sampled no series, or the file can't be written.
        """
        from fullpipe.plots.draw import drawn
        from fullpipe.plots.series import run_plot

        return drawn(run_plot(self.sampled()), path, style)

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints.

        Args:
            columns: Names of `figures`, which make one table in place of the usual ones.
        """
        if columns is not None:
            row = self.figures()
            names = [find_metric(name, list(row)) for name in columns]
            return [_table("", [{"run": "run", **row}], ("run",), names)]
        figures = self.to_dict()
        totals, flows = figures["totals"], figures["flows"]
        jain = totals["jain_index"]
        took = f"{totals['data_packets']:,} data packets in {totals['wall_s']:.2f} s{_speed(totals)}"
        last = f"{took}; seed {figures['seed']}"
        return [
            _table("Links", [{**link, "link": link["name"]} for link in figures["links"]], ("link",), LINK),
            *([_show_flows(flows)] if 0 < len(flows) <= MOST_FLOWS else []),
            *(
                [_table(f"{len(flows):,} flows by group", figures["groups"], ("name",), GROUP)]
                if len(flows) > MOST_FLOWS
                else []
            ),
            *(
                [_table("Transfers begun after the warm-up", figures["transfers"], ("group",), TRANSFERS)]
                if figures["transfers"]
                else []
            ),
            *([_show_traffic(figures["traffic"])] if figures["traffic"] else []),
            *([f"Jain index {jain:.3f}"] if len(flows) > 1 and jain is not None else []),
            last,
        ]

    def _groups(self) -> list[Tree]:
        flows, own_figures = (tables.rows(self._columns[name]) for name in ("flows", "groups"))
        return groups(flows, own_figures, self.window_s)

    def __reduce__(self) -> tuple[object, ...]:
        columns = {name: tables.keep(self._columns[name]) for name in TABLES}
        return _restore, (
            self.scenario,
            {**columns, "totals": self._columns["totals"], "warnings": self._columns.get("warnings", ())},
            self.engine,
            self.totals["wall_s"],
        )

    def __repr__(self) -> str:
        links = listed(f"{row['name']} {row['utilization']:.3f}" for row in tables.rows(self._columns["links"]))
        return f"<Result of {len(self._columns['flows']['id'])} flows on {shorten(self.engine)}; utilization: {links}>"


def _with_reverse(link: Tree) -> Tree:
    """Metrics of a link, with those of its other direction under ``reverse`` where a packet crosses that."""
    prefix = "reverse_"
    own = {key: value for key, value in link.items() if not key.startswith(prefix)}
    if not link.get(f"{prefix}arrived_packets"):
        return own
    return {**own, "reverse": {key.removeprefix(prefix): link[key] for key in link if key.startswith(prefix)}}


def _series_bytes(file: Path, scenario: Scenario, count: int) -> int:
    """Memory allowed for the series of ``count`` flows or links: the size of their samples, up to half of the free
    memory. Series that hardly change compress far below the limit for files of unknown size.
    """
    samples = scenario.duration_s / (scenario.series_interval_s or scenario.duration_s) + 2
    # 8 bytes per value, and a bit for each that may be missing.
    needed = int(9 * samples * count * table_metadata(file).num_columns)
    return max(MOST_TABLE_BYTES, min(needed, share_bytes(1, None) or 0))


def _restore(scenario: Scenario, columns: Tree, engine: str, wall_s: float) -> Result:
    return Result(scenario, columns, engine=engine, wall_s=wall_s)


def _speed(totals: Table) -> str:
    """How many packets a second those are; a virtual machine's are no millions."""
    if not totals["wall_s"]:
        return ""
    per_s = totals["data_packets"] / totals["wall_s"]
    return f", {per_s / 1e6:.1f} million a second" if per_s >= 1e5 else f", {per_s:,.0f} a second"


LINK = (
    *("utilization", "loss_rate", "dropped_packets", "marked_packets"),
    *("mean_queue_packets", "max_queue_packets", "p99_queueing_delay_s"),
)
FLOW = (
    *("goodput_bps", "mean_rtt_s", "p99_rtt_s", "p99_jitter_s", "mean_cwnd_packets", "retransmits", "timeouts"),
    *("app_limited_fraction", "p99_frame_delay_s", "late_fraction"),
    *("request_completion_s", "mean_bitrate_bps", "rebuffer_ratio"),
)
GROUP = (
    *("flows", "goodput_bps", "share", "jain_index", "loss_rate"),
    *("mean_rtt_s", "p99_rtt_s", "p99_jitter_s", "retransmits", "timeouts"),
    *("app_limited_fraction", "p99_frame_delay_s", "late_fraction"),
    *("request_completion_s", "mean_bitrate_bps", "rebuffer_ratio"),
)
TRANSFERS = (
    *("count", "completed", "cut_off", "running"),
    *("p50_s", "p95_s", "p99_s", "p50_slowdown", "p99_slowdown"),
)
TRAFFIC = (
    *("throughput_bps", "sent_packets", "received_packets", "transfers_started", "transfers_completed"),
    *("mean_completion_s", "sent_frames", "received_frames", "p95_frame_delay_s"),
)
"""Metrics of the tables; one without a value in any row has no column, and marks only where a queue marked."""


def _table(title: str, rows: Sequence[Table], labels: Sequence[str], names: Sequence[str]) -> Shown:
    """Table of text: labels, and metrics that have values."""
    known = [name for name in names if any(row.get(name) is not None for row in rows)]
    known = [name for name in known if name != "marked_packets" or any(row[name] for row in rows)]
    cells = [column(name, [row.get(name) for row in rows]) for name in known]
    heads = [HEADINGS.get(label, label) for label in labels]
    columns = [[str(row[label]) for row in rows] for label in labels]
    return Shown(
        title,
        (*heads, *(heading for heading, _ in cells)),
        list(zip(*columns, *(texts for _, texts in cells), strict=True)),
        left=len(labels),
    )


HEADINGS = {"id": "flow", "name": "group", "ecn": "ECN"}
"""Headings of labels that differ from the names of the columns."""


def _show_flows(flows: Sequence[Table]) -> Shown:
    named = any(flow["name"] != flow["algorithm"] for flow in flows)
    validated = any(flow.get("ecn") for flow in flows)
    labels = ("id", *(["name"] if named else []), "algorithm", *(["ecn"] if validated else []))
    return _table("Flows", flows, labels, FLOW)


def _show_traffic(traffic: Sequence[Table]) -> Shown:
    """Table of cross traffic; of web transfers and of frames nothing where a source has none."""
    web = ("transfers_started", "transfers_completed")
    rows = [
        {name: None if (name in web and row["kind"] != "web") or _no_frames(row, name) else row[name] for name in row}
        for row in traffic
    ]
    named = any(row.get("name") for row in rows)
    return _table("Cross traffic", rows, ("kind", *(["name"] if named else [])), TRAFFIC)


def _no_frames(row: Table, name: str) -> bool:
    return name in ("sent_frames", "received_frames") and not row["sent_frames"] and not row["received_frames"]
