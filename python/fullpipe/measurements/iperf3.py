"""Reader of iperf3's JSON, from ``-J`` and ``--json-stream`` (``src/iperf_api.c``)."""

from __future__ import annotations

import io
from collections.abc import Iterator

from fullpipe._util.plain import Tree
from fullpipe._util.text import shorten
from fullpipe.measurements.schema import Builder, Measurement, clean
from fullpipe.measurements.source import Source
from fullpipe.measurements.times import rfc3339
from fullpipe.measurements.values import Path, as_number, as_text, values

__all__ = ["read_iperf3"]

OUTPUT = "server_output_json"


def read_iperf3(source: Source, metadata: Tree) -> Measurement:
    """Measurement of a test of iperf3.

    The sender counts the bytes that it wrote to the socket. Received bytes replace them where the server's output is
    there. Otherwise the bytes of the first interval, which fill the socket's buffer, do not count.

    Raises:
        FileError: The file is no JSON of iperf3, or iperf3 reports an error.
    """
    builder = Builder(metadata)
    parts: dict[str, Tree] = {"start": {}, "end": {}}
    intervals = _Intervals(builder)
    for name, value in _parts(source, metadata):
        if name == "error" and as_text(value):
            raise source.error(f"iperf3 reports an error: {clean(str(value).removeprefix('error - '))}")
        if name == "interval" and isinstance(value, dict):
            intervals.take(value)
        elif name == "received" and isinstance(value, dict):
            intervals.take_received(value)
        elif name in parts and isinstance(value, dict):
            parts[name] = value
    start, end = parts["start"], parts["end"]
    if not intervals.rows:
        raise source.error("requires intervals with streams, as iperf3 -J writes them")
    test = _table(start.get("test_start"))
    began = as_number(_table(start.get("timestamp")).get("timesecs"))
    if began is not None:
        metadata["t0"] = rfc3339(began + (as_number(test.get("omit")) or 0.0))
    metadata |= {"tool": "iperf3", "tool_version": as_text(start.get("version")), "clock": "wall"}
    intervals.write(start, as_text(end.get("sender_tcp_congestion")), str(test.get("protocol", "TCP")).lower())
    metadata["vantage"] = "sender" if intervals.sends else "receiver"
    return builder.build()


def _parts(source: Source, metadata: Tree) -> Iterator[tuple[str, object]]:
    """Start, intervals, end, and error, of either form of the file."""
    first = next(source.records(b"\n"), b"")
    if b'"event"' in first[:200]:
        names = {"start": "start", "interval": "interval", "end": "end", "error": "error"}
        for record in source.records(b"\n"):
            if record.strip():
                found = dict(values(source, io.BytesIO(record), lambda path: path in (("event",), ("data",))))
                yield names.get(str(found.get(("event",))), ""), found.get(("data",))
        return

    def wanted(path: Path) -> bool:
        names = path[1:] if path[:1] == (OUTPUT,) else path
        return names in (("start",), ("end",), ("error",), ("intervals", None))

    def cut() -> None:
        metadata["truncated"] = True

    with source.open() as stream:
        for path, value in values(source, stream, wanted, cut):
            if path[0] == OUTPUT:
                yield ("received" if path[1] == "intervals" else "", value)
            else:
                yield ("interval" if path[0] == "intervals" else str(path[0]), value)


class _Intervals:
    """Rows of the streams, by socket and direction."""

    def __init__(self, builder: Builder) -> None:
        self.rows: dict[tuple[object, bool], list[Tree]] = {}
        self.sends = False
        self._received: dict[object, list[Tree]] = {}
        self._builder = builder

    def take(self, interval: Tree) -> None:
        """Adds the streams of an interval. Those that the test omits do not count."""
        for each in _streams(interval):
            sends = each.get("sender") is not False
            self.sends = self.sends or sends
            self.rows.setdefault((shorten(str(each.get("socket"))), sends), []).append(each)

    def take_received(self, interval: Tree) -> None:
        """Adds the streams of an interval as the server saw them."""
        for each in _streams(interval):
            if each.get("sender") is not True:
                self._received.setdefault(each.get("socket"), []).append(each)

    def write(self, start: Tree, algorithm: str | None, protocol: str) -> None:
        """Writes flows and samples."""
        ends = {shorten(str(each.get("socket"))): each for each in _list(start.get("connected"))}
        received = list(self._received.values())
        mss = as_number(start.get("tcp_mss_default")) or None
        for flow, ((socket, sends), rows) in enumerate(self.rows.items()):
            end = ends.get(str(socket), {})
            self._builder.add(
                "flows",
                flow=flow,
                name=f"stream {socket}" + ("" if sends else " received"),
                protocol="udp" if protocol == "udp" else "tcp",
                source=_end(end, "local"),
                sink=_end(end, "remote"),
                direction="out" if sends else "in",
                algorithm=algorithm,
                algorithm_source=algorithm and "metadata",
                mss_bytes=mss,
            )
            arrived = received[flow] if sends and len(received) == len(self.rows) else None
            self._write_samples(flow, rows, sends=sends)
            if arrived:
                self._builder.warn("bytes are those that the server received")
                self._write_received(flow, arrived)

    def _write_samples(self, flow: int, rows: list[Tree], *, sends: bool) -> None:
        written = len(self._received) == 0
        acked = 0.0
        lost: float | None = None
        for i, row in enumerate(rows):
            count = as_number(row.get("bytes")) or 0.0
            # The first interval of a sender fills the socket's buffer.
            acked += 0.0 if sends and i == 0 else count
            again = as_number(row.get("retransmits"))
            lost = lost if again is None else (lost or 0.0) + again
            rtt_us, deviation_us = (as_number(row.get(name)) or None for name in ("rtt", "rttvar"))
            self._builder.add(
                "samples",
                t_s=as_number(row.get("end")) or 0.0,
                flow=flow,
                interval_s=as_number(row.get("seconds")),
                acked_bytes=acked if written or not sends else None,
                rtt_s=rtt_us and rtt_us / 1e6,
                rtt_kind=rtt_us and "smoothed",
                rttvar_s=deviation_us and deviation_us / 1e6,
                cwnd_bytes=as_number(row.get("snd_cwnd")) or None,
                retransmits=lost,
            )

    def _write_received(self, flow: int, rows: list[Tree]) -> None:
        acked = 0.0
        for row in rows:
            acked += as_number(row.get("bytes")) or 0.0
            t_s = as_number(row.get("end")) or 0.0
            self._builder.add(
                "samples", t_s=t_s, flow=flow, interval_s=as_number(row.get("seconds")), acked_bytes=acked
            )


def _streams(interval: Tree) -> list[Tree]:
    return [each for each in _list(interval.get("streams")) if each.get("omitted") is not True]


def _end(connected: Tree, side: str) -> str | None:
    host, port = connected.get(f"{side}_host"), as_number(connected.get(f"{side}_port"))
    return f"{clean(host)}:{port:.0f}" if isinstance(host, str) and port is not None else None


def _table(value: object) -> Tree:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Tree]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
