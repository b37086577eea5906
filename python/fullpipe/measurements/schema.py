"""Measurement of a network: seven Arrow tables and a map of metadata, which every reader returns.

Times are seconds since ``t0`` of the metadata. A value that a format does not have is null, never 0. Counters are
cumulative from the first row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import one_line

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "METADATA", "MOST_ROWS", "TABLES", "UNKNOWN", "Builder", "Measurement", "clean", "schema"]

FORMATS = ("flent", "qlog", "sqlog", "ss", "iperf3", "pcap", "pcapng", "tc", "fullpipe")
"""Formats that can be read."""

UNKNOWN = f"unknown format (allowed: {', '.join(FORMATS)})"
"""Message for a file of another format."""

MOST_ROWS = 10_000_000
"""Rows of ``samples``, at most; of more, every second row is kept, and so on."""

FLUSHED_ROWS = 100_000
"""Rows that are Python objects at a time."""

LONGEST_TEXT = 200
"""Characters of a text from a file, at most."""

TABLES: dict[str, tuple[tuple[str, str, str, bool], ...]] = {
    "flows": (
        ("flow", "int32", "1", False),
        ("name", "string", "", False),
        ("protocol", "string", "", False),
        ("source", "string", "", True),
        ("sink", "string", "", True),
        ("direction", "string", "", False),
        ("algorithm", "string", "", True),
        ("algorithm_source", "string", "", True),
        ("mss_bytes", "int32", "bytes", True),
        ("header_bytes", "int32", "bytes", True),
        ("ecn", "string", "", True),
    ),
    "samples": (
        ("t_s", "float64", "s", False),
        ("flow", "int32", "1", False),
        ("interval_s", "float64", "s", True),
        ("acked_bytes", "int64", "bytes", True),
        ("sent_bytes", "int64", "bytes", True),
        ("rtt_s", "float64", "s", True),
        ("rtt_kind", "string", "", True),
        ("rttvar_s", "float64", "s", True),
        ("min_rtt_s", "float64", "s", True),
        ("cwnd_bytes", "int64", "bytes", True),
        ("ssthresh_bytes", "int64", "bytes", True),
        ("in_flight_bytes", "int64", "bytes", True),
        ("pacing_bps", "float64", "bit/s", True),
        ("delivery_bps", "float64", "bit/s", True),
        ("retransmits", "int64", "packets", True),
        ("lost", "int64", "packets", True),
        ("ce", "int64", "packets", True),
        ("limited", "string", "", True),
    ),
    "packets": (
        ("t_s", "float64", "s", False),
        ("flow", "int32", "1", False),
        ("kind", "string", "", False),
        ("seq", "int64", "bytes", True),
        ("bytes", "int64", "bytes", True),
        ("ecn", "int32", "1", True),
    ),
    "links": (
        ("link", "int32", "1", False),
        ("name", "string", "", False),
        ("queue", "string", "", True),
        ("rate_bps", "float64", "bit/s", True),
        ("limit_bytes", "int64", "bytes", True),
        ("limit_packets", "int64", "packets", True),
        ("options", "string", "", True),
    ),
    "link_samples": (
        ("t_s", "float64", "s", False),
        ("link", "int32", "1", False),
        ("backlog_bytes", "int64", "bytes", True),
        ("backlog_packets", "int64", "packets", True),
        ("sent_bytes", "int64", "bytes", True),
        ("sent_packets", "int64", "packets", True),
        ("drops", "int64", "packets", True),
        ("marks", "int64", "packets", True),
        ("delay_s", "float64", "s", True),
    ),
    "events": (
        ("t_s", "float64", "s", True),
        ("flow", "int32", "1", True),
        ("kind", "string", "", False),
        ("text", "string", "", False),
    ),
    "gaps": (
        ("t_s", "float64", "s", False),
        ("until_s", "float64", "s", False),
        ("flow", "int32", "1", True),
        ("reason", "string", "", False),
    ),
}
"""Columns of each table: name, type, unit by the metric registry ("1" for counts and keys, empty for text), and whether
a value can be null.
"""

METADATA = (
    "format",
    "format_version",
    "tool",
    "tool_version",
    "file",
    "sha256",
    "t0",
    "clock",
    "vantage",
    "duration_s",
    "sysctls",
    "truncated",
    "packets_missing",
)
"""Keys of the metadata."""


def clean(text: object) -> str:
    """Text from a file without control characters and line feeds, of at most 200 characters."""
    return one_line(str(text), LONGEST_TEXT)


def schema(table: str) -> pa.Schema:
    """Arrow schema of a table, with the unit of a column in its field's metadata."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(
                name, cast("Any", pa).type_for_alias(kind), nullable=null, metadata={"unit": unit} if unit else None
            )
            for name, kind, unit, null in TABLES[table]
        ]
    )


@dataclass(frozen=True)
class Measurement:
    """A measurement of a network.

    Attributes:
        metadata: Values by the keys of `METADATA`; None where unknown.
        flows: A row per flow. ``direction`` is ``"out"`` if the recorder sends, ``"in"``, or ``"unknown"``.
        samples: Rows sorted by flow and time; all counters are cumulative, bytes are payload, rates bit/s.
        packets: Packets of captures and QUIC logs, with ``kind`` ``sent``, ``acked``, ``lost``, or ``sacked``.
        links: A row per link or queueing discipline.
        link_samples: Rows sorted by link and time.
        events: State changes, timeouts, and warnings of the reader.
        gaps: Times for which nothing is known.
    """

    metadata: Table
    flows: pa.Table
    samples: pa.Table
    packets: pa.Table
    links: pa.Table
    link_samples: pa.Table
    events: pa.Table
    gaps: pa.Table

    @property
    def warnings(self) -> list[str]:
        """Warnings of the reader, one line each."""
        return [row["text"] for row in self.events.to_pylist() if row["kind"] == "warning"]

    @property
    def is_snapshot(self) -> bool:
        """Whether the values are of one moment."""
        times = self.metadata.get("duration_s")
        return times is None or times == 0

    def of_flow(self, flow: int) -> list[Tree]:
        """Samples of a flow, in order of time."""
        import pyarrow.compute as pc

        chosen: Any = cast("Any", pc).equal(self.samples["flow"], flow)
        rows: list[Tree] = self.samples.filter(chosen).to_pylist()
        return rows


@dataclass
class Builder:
    """Tables of a measurement under construction; rows become Arrow's in batches.

    Attributes:
        metadata: The metadata so far.
    """

    metadata: Tree
    _rows: dict[str, list[Tree]] = field(default_factory=lambda: {name: [] for name in TABLES})
    _batches: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in TABLES})
    _counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    _strides: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 1))
    _warned: set[str] = field(default_factory=set)

    def add(self, table: str, **values: object) -> None:
        """Adds a row; columns that are not given are null."""
        rows = self._rows[table]
        rows.append(values)
        if len(rows) >= FLUSHED_ROWS:
            self._flush(table)

    def warn(self, text: str) -> None:
        """Adds a warning of the reader, each once."""
        if text not in self._warned:
            self._warned.add(text)
            self.add("events", kind="warning", text=clean(text))

    def has(self, table: str) -> bool:
        """Whether a table has rows."""
        return bool(self._rows[table] or self._batches[table])

    def build(self, flows: Collection[int] | None = None) -> Measurement:
        """The measurement, with rows in order of flow and time.

        Args:
            flows: Flows to keep; None for all.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        orders: dict[str, Any] = {
            "samples": [("flow", "ascending"), ("t_s", "ascending")],
            "packets": [("flow", "ascending"), ("t_s", "ascending")],
            "link_samples": [("link", "ascending"), ("t_s", "ascending")],
        }
        built: dict[str, pa.Table] = {}
        for name in ("samples", "packets", "flows", "links", "link_samples", "gaps", "events"):
            self._flush(name)
            table: pa.Table = pa.Table.from_batches(self._batches[name], schema(name))
            if flows is not None and name in ("flows", "samples", "packets"):
                # The stubs of pyarrow lack the functions that it makes when it is imported.
                table = table.filter(
                    cast("Any", pc).is_in(table["flow"], value_set=pa.array(sorted(flows), pa.int32()))
                )
            built[name] = table.sort_by(orders[name]) if name in orders else table
        metadata = {key: self.metadata.get(key) for key in METADATA}
        if metadata["duration_s"] is None:
            metadata["duration_s"] = _span(built["samples"], built["link_samples"])
        return Measurement(metadata, **built)

    def _flush(self, table: str) -> None:
        import pyarrow as pa

        rows, self._rows[table] = self._rows[table], []
        if not rows:
            return
        rows = rows[:: self._strides[table]]
        columns = {name: [_value(row.get(name), kind) for row in rows] for name, kind, _, _ in TABLES[table]}
        self._batches[table].append(pa.RecordBatch.from_pydict(columns, schema(table)))
        self._counts[table] += len(rows)
        if self._counts[table] > MOST_ROWS:
            self._strides[table] *= 2
            self._batches[table] = [each.take(pa.array(range(0, len(each), 2))) for each in self._batches[table]]
            self._counts[table] = sum(map(len, self._batches[table]))
            self.warn(f"more than {MOST_ROWS} rows of {table}; one of {self._strides[table]} is kept")


def _value(value: Any, kind: str) -> object:
    """A value as its column takes it; what does not fit is null."""
    if value is None:
        return None
    if kind == "string":
        return clean(value)
    number = float(value)
    if not math.isfinite(number):
        return None
    if kind == "float64":
        return number
    whole = value if isinstance(value, int) else round(number)
    return whole if abs(whole) < (1 << (31 if kind == "int32" else 63)) else None


def _span(*tables: pa.Table) -> float | None:
    """Time from the first row to the last one."""
    times = [time for table in tables for time in _ends(table["t_s"])]
    return max(times) - min(times) if times else None


def _ends(column: pa.ChunkedArray[pa.Scalar[pa.DataType]]) -> Iterator[float]:
    if len(column):
        import pyarrow.compute as pc

        found = cast("Any", pc).min_max(column).as_py()
        yield from (found["min"], found["max"])
