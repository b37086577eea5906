"""Reader of results of fullpipe, from a directory that ``--out`` wrote or from `fullpipe.run`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fullpipe._util.plain import Tree
from fullpipe.measurements.schema import Builder, Measurement
from fullpipe.runs.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["from_result", "read_own"]


def read_own(path: str | os.PathLike[str]) -> Measurement:
    """Measurement of a directory with a result.

    Raises:
        InputError: The directory has no result.
    """
    return from_result(Result.load(path), os.fspath(path))


def from_result(result: Result, file: str = "") -> Measurement:
    """Measurement of a result: its series, one row per sample."""
    version = result.scenario.to_dict().get("version")
    metadata: Tree = {
        "format": "fullpipe",
        "format_version": None if version is None else str(version),
        "tool": f"fullpipe {result.engine}",
        "file": file,
        "clock": "virtual",
        "vantage": "sender",
        "duration_s": result.scenario.duration_s,
        "truncated": False,
    }
    builder = Builder(metadata)
    resolved = result.scenario.resolved().to_dict()
    packet, headers = _sizes(resolved)
    for row in result.flows.to_pylist():
        builder.add(
            "flows",
            flow=row["id"],
            name=row["name"],
            protocol="tcp",
            direction="out",
            algorithm=row["algorithm"],
            algorithm_source="metadata",
            mss_bytes=packet - headers,
            header_bytes=headers,
        )
    _add_samples(builder, result, packet - headers, packet)
    _add_links(builder, result, resolved)
    return builder.build()


def _sizes(resolved: Tree) -> tuple[int, int]:
    """Bytes of a full packet, and of its headers, which are those of an ACK."""
    sizes: list[object] = [resolved.get(key) for key in ("packet_size", "ack_size")]
    packet, ack = (value if isinstance(value, int | float) else None for value in sizes)
    return int(packet or 1500), int(ack or 40)


def _add_samples(builder: Builder, result: Result, mss: int, packet: int) -> None:
    acked: dict[int, float] = {}
    before: dict[int, float] = {}
    # The series have no retransmissions. Their number at the end is that of the whole run, unless it has a warm-up.
    ends = {row["id"]: row["retransmits"] for row in result.flows.to_pylist()} if not result.scenario.warmup_s else {}
    last_s = max((row["t_s"] for row in _rows(result.series)), default=0.0)
    for row in _rows(result.series):
        flow, t_s = row["flow"], row["t_s"]
        width = t_s - before.get(flow, 0.0)
        before[flow] = t_s
        rate = row.get("goodput_bps")
        acked[flow] = acked.get(flow, 0.0) + (rate or 0.0) * width / 8 * mss / packet
        rtt_s = row.get("rtt_s")
        builder.add(
            "samples",
            t_s=t_s,
            flow=flow,
            interval_s=width or None,
            acked_bytes=None if rate is None else acked[flow],
            rtt_s=rtt_s,
            rtt_kind=rtt_s and "sample",
            cwnd_bytes=_times(row.get("cwnd_packets"), mss),
            ssthresh_bytes=_times(row.get("ssthresh_packets"), mss),
            in_flight_bytes=_times(row.get("in_flight_packets"), mss),
            retransmits=ends.get(flow) if t_s == last_s else None,
        )


def _add_links(builder: Builder, result: Result, resolved: Tree) -> None:
    names: dict[str, int] = {}
    for each in resolved.get("links", []):
        names[each["name"]] = len(names)
        builder.add("links", link=names[each["name"]], name=each["name"])
    drops: dict[int, float] = {}
    marks: dict[int, float] = {}
    for row in _rows(result.link_series):
        link = names.get(row["link"])
        if link is None:
            continue
        drops[link] = drops.get(link, 0.0) + (row.get("dropped_packets") or 0.0)
        marks[link] = marks.get(link, 0.0) + (row.get("marked_packets") or 0.0)
        queue = row.get("queue_packets")
        builder.add(
            "link_samples", t_s=row["t_s"], link=link, backlog_packets=queue, drops=drops[link], marks=marks[link]
        )


def _rows(table: pa.Table) -> Iterator[Tree]:
    for batch in table.to_batches(10_000):
        yield from batch.to_pylist()


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
