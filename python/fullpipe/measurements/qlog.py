"""Reader of qlog and sqlog: drafts 00 to 02, versions 0.3 and 0.4, and the schemas of later drafts.

Names are matched after the colon and in any case, because writers mix the versions. Arrays with ``event_fields`` are
those of the first drafts, which mvfst and picoquic still write.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from fullpipe._util.inputs import parse_json
from fullpipe._util.plain import Tree
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.measurements.schema import Builder, Measurement
from fullpipe.measurements.source import Source
from fullpipe.measurements.times import rfc3339
from fullpipe.measurements.values import Path, as_number, as_text, values

__all__ = ["read_qlog"]

VERSIONS = ("draft-00", "draft-01", "draft-02", "0.3", "0.4")
"""Versions that are read; those of the form ``draft-02-wip`` too."""

SCHEMAS = ("urn:ietf:params:qlog:file:contained", "urn:ietf:params:qlog:file:sequential")

HEADERS = ("vantage_point", "common_fields", "event_fields", "configuration")

BIN_S = 0.01
"""Width of a row."""

MOST_SENT = 1_000_000
"""Packets whose size and time are remembered."""

PAIRS, FIRST_ROWS = 32, 20_000
"""RTTs that decide their unit, and rows that wait for them."""

SECONDS = (1 / 3000, 1 / 300)
"""Ratio of an RTT in seconds, read as milliseconds, to the time from a packet to its ACK."""

NAMES = {"metric_update": "metrics_updated", "recovery_metrics_updated": "metrics_updated", "cwnd": "congestion_window"}
"""Names of older and newer drafts."""


def read_qlog(source: Source, metadata: Tree, *, packets: bool = False) -> Measurement:
    """Measurement of a QUIC log. The trace that sent most bytes is the sender.

    Args:
        source: The file.
        metadata: What is known of it.
        packets: Whether to keep a row per packet. Its place is the number of bytes sent before.

    Raises:
        FileError: The version is unknown, or the file has no packets with increasing times.
    """
    builder = Builder(metadata)
    traces = [_Trace(builder, 0, packets)]
    for kind, value in _parts(source, metadata):
        if kind == "version":
            _check_version(source, value)
            metadata["format_version"] = str(value)
        elif kind == "event":
            traces[-1].take(value)
        else:
            if traces[-1].has_events:
                traces.append(_Trace(builder, len(traces), packets))
            traces[-1].head[kind] = value
    traces = [each for each in traces if each.sent or each.received]
    if not traces:
        raise source.error("requires the events packet_sent and packet_received; the file has none")
    if all(each.last_s <= 0 for each in traces):
        raise source.error("qlog requires increasing times")
    sender = max(traces, key=lambda each: each.sent)
    for each in traces:
        each.finish("out" if each is sender and each.sent > each.received else "in")
    metadata |= {"t0": sender.t0, "clock": "wall" if sender.t0 else "monotonic"}
    metadata["vantage"] = "sender" if sender.sent > sender.received else "receiver"
    return builder.build()


def _check_version(source: Source, value: object) -> None:
    text = str(value)
    if text.startswith("urn:"):
        if not text.startswith(SCHEMAS):
            raise source.error(unknown("qlog schema", text, SCHEMAS))
    elif not text.startswith(VERSIONS):
        raise source.error(unknown("qlog version", text, VERSIONS))


def _parts(source: Source, metadata: Tree) -> Iterator[tuple[str, Any]]:
    """Version, headers of traces, and events, in the order of the file."""
    first = source.head()
    if first[:1] == b"\x1e":
        yield from _of_records(source, (part for part in source.records(b"\x1e") if part.strip()), ends=b"\n")
        return
    line, feed, more = first.partition(b"\n")
    if feed and more.strip() and line.rstrip().endswith(b"}") and b'"trace"' in line:
        yield from _of_records(source, (part for part in source.records(b"\n") if part.strip()), ends=b"")
        return

    def wanted(path: Path) -> bool:
        if path in (("qlog_version",), ("file_schema",)):
            return True
        return path[:2] == ("traces", None) and (
            path[2:] == ("events", None) or path[2:] in [(name,) for name in HEADERS]
        )

    def cut() -> None:
        metadata["truncated"] = True

    with source.open() as stream:
        for path, value in values(source, stream, wanted, cut):
            if len(path) == 1:
                yield "version", value
            else:
                yield ("event" if path[2] == "events" else str(path[2])), value


def _of_records(source: Source, records: Iterator[bytes], ends: bytes) -> Iterator[tuple[str, Any]]:
    """Parts of a sequence of records. A last one that is not whole is dropped (RFC 7464, section 2.4)."""
    waiting: bytes | None = None
    is_head = True
    for record in (*records, None):
        if waiting is not None:
            is_last = record is None
            if is_last and not waiting.endswith(ends):
                return
            try:
                value = parse_json(source.name, waiting, finite=False)
            except InputError:
                if is_last:
                    return
                raise
            if is_head and isinstance(value, dict):
                yield "version", value.get("qlog_version") or value.get("file_schema")
                trace = value.get("trace")
                yield from ((name, trace[name]) for name in HEADERS if isinstance(trace, dict) and name in trace)
            else:
                yield "event", value
            is_head = False
        waiting = record


IPV4_UDP_BYTES = 28
"""Headers in front of a packet, whose size in a log is the payload of UDP."""


class _Trace:
    """A trace: one connection at one vantage point."""

    def __init__(self, builder: Builder, flow: int, has_packets: bool) -> None:
        self.head: Tree = {}
        self.has_events = False
        self.sent = self.received = 0.0
        self.last_s = 0.0
        self.t0: str | None = None
        self._builder = builder
        self._flow = flow
        self._start: float | None = None
        self._clock = 0.0
        self._unit = 1e-3
        self._delta = self._absolute = False
        self._state: Tree = {"retransmits": 0, "lost": 0}
        self._acked = 0.0
        self._has_packets = has_packets
        self._sizes: Counter[int] = Counter()
        self._packets: dict[tuple[str, int], tuple[float, float, float]] = {}
        """Packets by number space and number: time, size, and bytes sent before."""
        self._probes: set[tuple[str, int]] = set()
        self._ratios: list[float] = []
        self._factor: float | None = None
        self._waiting: list[Tree] = []
        self._bin = -1

    def take(self, event: Any) -> None:
        """Takes an event."""
        if not self.has_events:
            self.has_events = True
            self._begin()
        found = self._event(event)
        if found is None:
            return
        time, name, data = found
        t_s = self._seconds(time)
        if int(t_s / BIN_S) != self._bin:
            self._add_row()
            self._bin = int(t_s / BIN_S)
        self.last_s = max(self.last_s, t_s)
        if name == "packet_sent":
            self._on_sent(t_s, data)
        elif name == "packet_received":
            self._on_received(t_s, data)
        elif name == "packet_lost":
            self._on_lost(t_s, data)
        elif name == "metrics_updated":
            self._on_metrics(data)
        elif name == "congestion_state_updated":
            text = f"{data.get('old')} to {data.get('new')}"
            self._builder.add("events", t_s=t_s, flow=self._flow, kind="state", text=text)

    def finish(self, direction: str) -> None:
        """Writes the last rows and the flow."""
        self._add_row()
        self._flush()
        common = self._sizes.most_common(1)
        self._builder.add(
            "flows",
            flow=self._flow,
            name=f"QUIC {as_text(_table(self.head.get('vantage_point')).get('type')) or 'trace'}",
            protocol="quic",
            direction=direction,
            mss_bytes=common[0][0] if common else None,
            header_bytes=IPV4_UDP_BYTES,
        )

    def _begin(self) -> None:
        """Reads the units and the kind of the times."""
        common = _table(self.head.get("common_fields"))
        units = str(_table(self.head.get("configuration")).get("time_units", "ms"))
        self._unit = 1e-6 if units == "us" else 1e-3
        fields = self.head.get("event_fields")
        self._fields = [str(each).lower() for each in fields] if isinstance(fields, list) else []
        kind = str(common.get("time_format") or "")
        reference = common.get("reference_time")
        if isinstance(reference, dict):
            moment = as_text(reference.get("wall_clock_time")) or as_text(reference.get("epoch"))
            self.t0 = _utc(moment)
        elif (start := as_number(reference)) is not None and start * self._unit > 1e8:
            self.t0 = rfc3339(start * self._unit)
        self._delta = kind in ("delta", "relative_to_previous_event") or "delta_time" in self._fields
        self._absolute = kind == "absolute" or (not kind and not self._fields and reference is None)

    def _event(self, event: Any) -> tuple[float, str, Tree] | None:
        if isinstance(event, dict):
            time, name, data = event.get("time"), event.get("name"), event.get("data")
        elif isinstance(event, list) and len(event) == len(self._fields):
            row = dict(zip(self._fields, event, strict=True))
            time = next((row[key] for key in ("relative_time", "time", "delta_time") if key in row), None)
            name, data = row.get("event_type", row.get("event")), row.get("data")
        else:  # the last event of some files is an empty list
            return None
        number = as_number(time)
        if number is None or not isinstance(name, str):
            return None
        plain = name.rpartition(":")[2].lower()
        return number, NAMES.get(plain, plain), _table(data)

    def _seconds(self, time: float) -> float:
        """Seconds since the first event."""
        self._clock = self._clock + time if self._delta else time
        if self._start is None:
            self._start = self._clock
            if self._absolute and self._clock * self._unit > 1e8:
                self.t0 = rfc3339(self._clock * self._unit)
        return max(0.0, (self._clock - self._start) * self._unit)

    def _add_packet(self, t_s: float, kind: str, place: float, size: float) -> None:
        if self._has_packets:
            self._builder.add("packets", t_s=t_s, flow=self._flow, kind=kind, seq=place, bytes=size)

    def _on_sent(self, t_s: float, data: Tree) -> None:
        size = _size(data)
        place = self.sent
        self._add_packet(t_s, "sent", place, size)
        self.sent += size
        if size and (int(size) in self._sizes or len(self._sizes) < 64):
            self._sizes[int(size)] += 1
        key = _number_of(data)
        if key is not None and data.get("is_mtu_probe_packet") is True and len(self._probes) < MOST_SENT:
            self._probes.add(key)
        if key is not None and len(self._packets) < MOST_SENT:
            self._packets[key] = t_s, size, place

    def _on_lost(self, t_s: float, data: Tree) -> None:
        """Counts a lost packet, unless it probed the path MTU, which is no congestion (RFC 9000, section 14.4)."""
        if data.get("is_mtu_probe_packet") is not True and _number_of(data) not in self._probes:
            self._state["lost"] += 1
        if (packet := self._packets.get(_number_of(data) or ("", -1))) is not None:
            self._add_packet(t_s, "lost", packet[2], packet[1])

    def _on_received(self, t_s: float, data: Tree) -> None:
        self.received += _size(data)
        space = _space(data)
        for frame in data.get("frames") or []:
            if isinstance(frame, dict) and str(frame.get("frame_type")).lower() == "ack":
                self._on_ack(t_s, space, frame)

    def _on_ack(self, t_s: float, space: str, frame: Tree) -> None:
        newest: float | None = None
        for entry in frame.get("acked_ranges") or []:
            ends = [as_number(each) for each in entry] if isinstance(entry, list) else [as_number(entry)]
            if not ends or ends[0] is None or ends[-1] is None:
                continue
            first, last = int(ends[0]), int(ends[-1])
            keys = (
                [(space, n) for n in range(first, last + 1)]
                if last - first < len(self._packets)
                else [key for key in self._packets if key[0] == space and first <= key[1] <= last]
            )
            for key in keys:
                if (packet := self._packets.pop(key, None)) is not None:
                    self._acked += packet[1]
                    self._add_packet(t_s, "acked", packet[2], packet[1])
                    newest = packet[0] if newest is None else max(newest, packet[0])
        if (count := as_number(frame.get("ce"))) is not None:
            self._state["ce"] = max(count, self._state.get("ce", 0))
        rtt = self._state.get("rtt")
        if newest is not None and rtt and t_s > newest and len(self._ratios) < PAIRS:
            self._ratios.append(rtt / (t_s - newest))

    def _on_metrics(self, data: Tree) -> None:
        found = {NAMES.get(str(key).lower(), str(key).lower()): as_number(value) for key, value in data.items()}
        for key, own, unit in (
            ("latest_rtt", "rtt", self._unit),
            ("smoothed_rtt", "smoothed", self._unit),
            ("min_rtt", "min_rtt", self._unit),
            ("rtt_variance", "rttvar", self._unit),
            ("congestion_window", "cwnd", 1.0),
            ("bytes_in_flight", "in_flight", 1.0),
            ("ssthresh", "ssthresh", 1.0),
            ("pacing_rate", "pacing", 1.0),
        ):
            if (value := found.get(key)) is not None:
                self._state[own] = value * unit

    def _add_row(self) -> None:
        if self._bin < 0:
            return
        state = self._state
        rtt = state.get("rtt", state.get("smoothed"))
        self._waiting.append(
            {
                "t_s": (self._bin + 1) * BIN_S,
                "acked_bytes": self._acked,
                "sent_bytes": self.sent,
                "rtt_s": rtt,
                "rtt_kind": None if rtt is None else "sample" if "rtt" in state else "smoothed",
                "rttvar_s": state.get("rttvar"),
                "min_rtt_s": state.get("min_rtt"),
                "cwnd_bytes": state.get("cwnd"),
                "ssthresh_bytes": state.get("ssthresh"),
                "in_flight_bytes": state.get("in_flight"),
                "pacing_bps": state.get("pacing"),
                "retransmits": state["lost"],
                "lost": state["lost"],
                "ce": state.get("ce"),
            }
        )
        if self._factor is not None or len(self._ratios) >= PAIRS or len(self._waiting) >= FIRST_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._factor is None:
            ratio = statistics.median(self._ratios) if self._ratios else 1.0
            self._factor = 1000.0 if SECONDS[0] < ratio < SECONDS[1] else 1.0
            if self._factor != 1.0:
                self._builder.warn("RTTs are in seconds, and not in milliseconds; they are corrected")
        for row in self._waiting:
            for name in ("rtt_s", "rttvar_s", "min_rtt_s"):
                if row[name] is not None:
                    row[name] *= self._factor
            self._builder.add("samples", flow=self._flow, **row)
        self._waiting = []


def _size(data: Tree) -> float:
    header = _table(data.get("header"))
    for value in (_table(data.get("raw")).get("length"), header.get("packet_size"), data.get("packet_size")):
        if (number := as_number(value)) is not None:
            return number
    return 0.0


def _space(data: Tree) -> str:
    """Packet number space of a packet."""
    kind = str(_table(data.get("header")).get("packet_type") or data.get("packet_type") or "1RTT").lower()
    return kind if kind in ("initial", "handshake") else "application"


def _number_of(data: Tree) -> tuple[str, int] | None:
    header = _table(data.get("header"))
    number = as_number(header.get("packet_number", data.get("packet_number")))
    return None if number is None else (_space(data), int(number))


def _utc(text: str | None) -> str | None:
    """A time of RFC 3339; None for another text, such as "unknown"."""
    try:
        return rfc3339(datetime.fromisoformat(text or "").timestamp())
    except (ValueError, OverflowError):
        return None


def _table(value: object) -> Tree:
    return value if isinstance(value, dict) else {}
