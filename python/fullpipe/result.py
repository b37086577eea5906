"""What a run yields: figures per link and per flow, and time series."""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe import tables
from fullpipe.files import staged
from fullpipe.text import listed

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.scenario import Scenario

__all__ = ["Result"]


class Result:
    """The outcome of one run. Tables are Arrow tables on the engine's own memory; a figure without a value is NaN there
    and null in JSON. All figures are of the measuring window, from the end of the warm-up to the end of the run: its
    first instant counts, its last does not. What each of them is stands in ``docs/scenarios.md``.

    Attributes:
        scenario: What was run.
        engine: What ran it.
        totals: ``data_packets`` sent, warm-up included; ``wall_s``, the run's length on the clock on the wall;
            ``jain_index``, fairness of the flows' goodputs, 1 where all are equal.
        warnings: What is allowed, but probably not what was meant; and what the engine does otherwise than it says.
    """

    def __init__(self, scenario: Scenario, columns: dict[str, Any], *, engine: str, wall_s: float) -> None:
        """Takes what an engine yields: tables ``links``, ``flows``, ``traffic``, ``series``, ``link_series`` column by
        column, and ``totals``.
        """
        self.scenario = scenario
        self.engine = engine
        self._columns = columns
        self.warnings = [*scenario.warnings, *columns.get("warnings", ())]
        totals = columns["totals"]
        self.totals: dict[str, Any] = {
            "data_packets": totals["data_packets"],
            "wall_s": wall_s,
            "jain_index": tables.to_list([totals["jain_index"]])[0],
        }

    @cached_property
    def links(self) -> pa.Table:
        """A row per link: ``name``, ``utilization`` (bytes sent over capacity), ``loss_rate``, ``dropped_packets``,
        ``marked_packets``, ``wire_lost_packets``, ``arrived_packets``, ``mean_queue_packets``, ``max_queue_packets``,
        and the same with ``reverse_`` for the other direction.
        """
        return tables.to_arrow(self._columns["links"])

    @cached_property
    def flows(self) -> pa.Table:
        """A row per flow: ``id``, ``algorithm``, ``active_s`` (how much of its life lies in the measuring window),
        ``throughput_bps`` and ``goodput_bps`` (over that; NaN without), ``retransmits``, ``timeouts``,
        ``fast_recoveries``, ``mean_rtt_s``, ``mean_cwnd_packets``, ``base_rtt_s``, ``completion_s``.
        """
        return tables.to_arrow(self._columns["flows"])

    @cached_property
    def traffic(self) -> pa.Table:
        """A row per UDP group and per web group: ``kind``, ``throughput_bps``, packets sent and received; of web groups
        the transfers begun in the measuring window, how many of these are complete, and how long they took.
        """
        return tables.to_arrow(self._columns["traffic"])

    @cached_property
    def series(self) -> pa.Table:
        """A row per flow and sample: ``t_s``, ``flow``, ``cwnd_packets``, ``ssthresh_packets`` (infinite before the
        first loss), ``rtt_s``, ``in_flight_packets``, and the algorithms' named internals; flow by flow, in order of
        time.
        """
        return tables.to_arrow(self._columns["series"])

    @cached_property
    def link_series(self) -> pa.Table:
        """A row per link and sample: ``t_s``, ``link``, ``queue_packets``, ``utilization`` since the sample before,
        and the same with ``reverse_`` for the other direction.
        """
        return tables.to_arrow(self._columns["link_series"], {"link": self._columns["links"]["name"]})

    def columns(self, table: str) -> tables.Columns:
        """A table's columns as the engine gave them, for those who can do without Arrow."""
        columns: tables.Columns = self._columns[table]
        return columns

    def together_bps(self, rate: str) -> float:
        """Of all flows together, ``throughput_bps`` or ``goodput_bps`` over the measuring window, whatever part of it
        each lived.
        """
        flows = tables.rows(self._columns["flows"])
        window_s = self.scenario.duration_s - self.scenario.warmup_s
        return math.fsum(flow[rate] * flow["active_s"] for flow in flows if flow["active_s"]) / window_s

    def to_dict(self) -> dict[str, Any]:
        """The figures, without the series, as plain values ready for JSON."""
        return {
            "engine": self.engine,
            "seed": self.scenario.seed,
            "links": tables.rows(self._columns["links"]),
            "flows": tables.rows(self._columns["flows"]),
            "traffic": tables.rows(self._columns["traffic"]),
            "totals": self.totals,
            "warnings": self.warnings,
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``result.json``, ``scenario.toml`` (every key spelled out, as `Scenario.resolved` does), and
        ``links``, ``flows``, ``traffic``, ``series``, ``link_series`` as Parquet into a directory, which is made if
        need be. All files appear whole or not at all.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "result.json").write_text(self.to_json() + "\n", encoding="utf-8")
            (stage / "scenario.toml").write_text(self.scenario.resolved().to_toml(), encoding="utf-8")
            for name in ("links", "flows", "traffic", "series", "link_series"):
                pq.write_table(getattr(self, name), stage / f"{name}.parquet")

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws windows, queue, utilization and RTT over time; with ``path``, writes the picture there too.

        Raises:
            InputError: The run sampled no series, or the file can't be written.
        """
        from fullpipe.plot import result_figure, write

        figure = result_figure(self)
        if path is not None:
            write(figure, path)
        return figure

    def __repr__(self) -> str:
        links = listed(f"{row['name']} {row['utilization']:.3f}" for row in tables.rows(self._columns["links"]))
        return f"<Result of {len(self._columns['flows']['id'])} flows on {self.engine}; utilization: {links}>"
