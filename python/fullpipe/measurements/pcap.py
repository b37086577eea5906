"""Reader of captures (pcap, pcapng) of TCP connections.

The state of a connection is bounded, and rows are bins of 10 ms, so that a file of any size takes little memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from fullpipe._util.plain import Tree
from fullpipe.measurements.connection import Direction
from fullpipe.measurements.records import records
from fullpipe.measurements.schema import Builder, Measurement
from fullpipe.measurements.source import Source
from fullpipe.measurements.times import rfc3339

__all__ = ["read_pcap"]

BIN_S = 0.01
"""Width of a row."""

LEAST_PACKETS = 100
"""Data packets of a truncated file, at least."""

BACK_S = 0.01
"""Time by which a packet may be earlier than the one before."""

GAP_S = 7 * 86400.0
"""Time between two packets that starts a gap."""

TWICE_S = 0.001
"""Time in which a capture of all devices may hold a packet a second time."""

MOST_CONNECTIONS = 10_000

LEAST_PART = 0.01
"""Part of all payload that a flow has to send."""

MISSING = 0.01
"""Part of the packets that may be missing without a warning."""

IPV4, IPV6, TCP, UDP = 0x0800, 0x86DD, 6, 17
VLAN = (0x8100, 0x88A8)
FIN, SYN, ACK, ECE, CWR = 1, 2, 16, 64, 128

LINK_BYTES = {1: 14}
"""Header of Ethernet, which the rates and queues of Linux count."""
ACE_OF_CLASSIC = (0, 1, 7)
"""ECN bits of a SYN-ACK that does not take up Accurate ECN."""


@dataclass
class Connection:
    """A TCP connection: the data of the end that comes first in its key, and of the other one."""

    directions: tuple[Direction, Direction] = field(default_factory=lambda: (Direction(), Direction()))
    syn: tuple[float, int] | None = None
    syn_ack: float | None = None
    is_open: bool = False
    asks_accurate: bool = False
    vantage: str = "unknown"
    client: int = 0
    row_bin: int = -1


COMMON = struct.Struct("!12xHBxHHHxB2x12sIIBB")
"""Ethernet, IPv4 without options, and TCP up to the flags: type, version, length, identification, fragment, protocol,
both addresses and ports, sequence number, acknowledgment, offset, flags.
"""

COMMON_BYTES = 54
"""Bytes of these headers."""

ONLY_STAMPS, STAMPS = b"\x01\x01\x08\x0a", struct.Struct("!II")
"""Begin of options that are timestamps alone, and their values."""


class Segment:
    """TCP segment of a packet."""

    __slots__ = ("ace", "ack", "blocks", "echo", "ends", "flags", "ident", "mss", "seq", "side", "size", "stamp")

    def __init__(
        self,
        side: int,
        ends: tuple[bytes, bytes],
        numbers: Sequence[int],
        size: int,
        ident: int,
        data: bytes,
        options_at: int,
    ) -> None:
        self.side = side
        self.ends = ends
        self.ident = ident
        self.seq, self.ack, offset, self.flags = numbers
        self.ace = (offset & 1) << 2 | self.flags >> 6
        length = (offset >> 4) * 4
        self.size = size - length if size > length else 0
        self.mss: int | None = None
        self.stamp: int | None = None
        self.echo: int | None = None
        self.blocks: list[tuple[int, int]] = []
        self._read(data, options_at, length - 20)

    def _read(self, data: bytes, at: int, length: int) -> None:
        """Reads options of that length, at an offset of the data."""
        if length == 12 and data.startswith(ONLY_STAMPS, at) and len(data) >= at + 12:
            self.stamp, self.echo = STAMPS.unpack_from(data, at + 4)
        elif length > 0:
            self._read_options(data[at : at + length])

    def _read_options(self, options: bytes) -> None:
        at = 0
        count = len(options)
        while at < count:
            kind = options[at]
            if kind == 1:
                at += 1
                continue
            if kind == 0 or at + 1 >= count:
                return
            length = options[at + 1]
            if length < 2 or at + length > count:  # cut by the snapshot length
                return
            if kind == 8 and length == 10:
                self.stamp, self.echo = struct.unpack_from("!II", options, at + 2)
            elif kind == 5:
                self.blocks = [struct.unpack_from("!II", options, at + 2 + 8 * i) for i in range((length - 2) // 8)]
            elif kind == 2 and length == 4:
                self.mss = struct.unpack_from("!H", options, at + 2)[0]
            at += length


def read_pcap(source: Source, metadata: Tree, *, packets: bool = False) -> Measurement:
    """Measurement of a capture.

    Args:
        source: The file.
        metadata: What is known of it.
        packets: Whether to keep a row per packet.

    Raises:
        FileError: The link type is not read, the file is damaged, or it has no TCP connection with data.
    """
    builder = Builder(metadata)
    capture = _Capture(builder, packets)
    cut: list[int] = []
    number = 0
    for t_s, link, length, data in records(source, cut):
        number += 1
        capture.take(t_s, link, length, data)
    senders = capture.finish()
    count = sum(each.packets for connection in capture.known.values() for each in connection.directions)
    if cut:
        said = f"truncated after packet {number} (byte {cut[0]} of {max(cut[1], source.size)}); the rest is left out"
        metadata["truncated"] = True
        if count < LEAST_PACKETS:
            raise source.error(said)
        builder.warn(said)
    if not senders:
        raise source.error(f"explain requires a TCP or QUIC sender; found {capture.udp} UDP packets")
    metadata |= {"clock": "wall", "t0": None if capture.start is None else rfc3339(capture.start)}
    metadata |= {"vantage": capture.vantage, "packets_missing": capture.missing}
    if capture.missing > MISSING * max(1, count):
        builder.warn(f"{capture.missing} of {count + capture.missing} packets are missing in the capture")
    if capture.vantage == "receiver":
        builder.warn("explain requires a capture at the sender; this one is from the receiver")
    return builder.build(senders)


class _Capture:
    """Connections of a capture."""

    def __init__(self, builder: Builder, has_packets: bool) -> None:
        self.known: dict[tuple[bytes, bytes], Connection] = {}
        self.udp = 0
        self.start: float | None = None
        self.vantage = "unknown"
        self.missing = 0
        self._builder = builder
        self._has_packets = has_packets
        self._last = 0.0
        self._link = 0
        self._seen: dict[tuple[bytes, int, int, int], float] = {}
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._sides: dict[bytes, tuple[int, tuple[bytes, bytes]]] = {}

    def take(self, t_s: float, link: int, length: int, data: bytes) -> None:
        """Takes a packet."""
        if self.start is None:
            self.start = self._last = t_s
        if t_s < self._last:
            if self._last - t_s > BACK_S:
                self._builder.warn("times go back by more than 10 ms")
            t_s = self._last
        elif t_s - self._last > GAP_S:
            begin, end = self._last - self.start, t_s - self.start
            self._builder.add("gaps", t_s=begin, until_s=end, reason="no packets")
        self._last = t_s
        self._link = link
        segment = self._common(length, data) if link == 1 else None
        if segment is None:
            segment = self._segment(link, length, data)
        if segment is None:
            return
        if link in (113, 276) and self._is_twice(t_s, segment):
            return
        connection = self.known.get(segment.ends)
        if connection is None:
            if len(self.known) >= MOST_CONNECTIONS:
                return
            connection = self.known[segment.ends] = Connection()
            self._numbers[segment.ends] = 2 * len(self._numbers)
        now = t_s - self.start
        number = int(now / BIN_S)
        if number != connection.row_bin and connection.row_bin >= 0:
            self._write(segment.ends, connection)
        connection.row_bin = number
        if self._has_packets:
            self._take_packet(connection, now, segment, _ecn(link, data))
        else:
            _take_segment(connection, now, segment)

    def _take_packet(self, connection: Connection, now: float, segment: Segment, ecn: int | None) -> None:
        """Takes a segment, and writes rows for its data and for what it acknowledges."""
        own, other = connection.directions[segment.side], connection.directions[1 - segment.side]
        before = other.cumulative
        _take_segment(connection, now, segment)
        flow = self._numbers[segment.ends] + segment.side
        back = self._numbers[segment.ends] + 1 - segment.side

        def add(flow: int, kind: str, seq: int, size: int, ecn: int | None = None) -> None:
            self._builder.add("packets", t_s=now, flow=flow, kind=kind, seq=seq, bytes=size, ecn=ecn)

        if segment.size:
            add(flow, "sent", own.place_of(segment.seq), segment.size, ecn)
        if other.cumulative > before:
            add(back, "acked", before, other.cumulative - before)
        for left, right in segment.blocks:
            begin, end = other.place_of(left), other.place_of(right)
            if other.cumulative <= begin < end:  # not a D-SACK block
                add(back, "sacked", begin, end - begin)

    def finish(self) -> set[int]:
        """Writes the last rows and the flows; returns the flows that sent at least 1 % of the payload."""
        total = sum(each.sent for connection in self.known.values() for each in connection.directions)
        senders = set()
        most = 0
        for ends, connection in self.known.items():
            self._write(ends, connection)
            for side, each in enumerate(connection.directions):
                if not each.sent or each.sent < LEAST_PART * total:
                    continue
                flow = self._numbers[ends] + side
                senders.add(flow)
                vantage = _vantage_of(connection, side)
                self.missing += each.missing
                if each.sent > most:
                    most, self.vantage = each.sent, vantage
                self._add_flow(flow, ends, side, each, vantage)
        return senders

    def _add_flow(self, flow: int, ends: tuple[bytes, bytes], side: int, each: Direction, vantage: str) -> None:
        source, sink = (_shown(ends[i]) for i in (side, 1 - side))
        ipv6 = len(ends[0]) > 6
        self._builder.add(
            "flows",
            flow=flow,
            name=f"{source} {sink}",
            protocol="tcp",
            source=source,
            sink=sink,
            direction={"sender": "out", "receiver": "in"}.get(vantage, "unknown"),
            mss_bytes=each.mss,
            header_bytes=LINK_BYTES.get(self._link, 0) + (40 if ipv6 else 20) + 20 + 12 * each.has_stamps,
            ecn="accurate" if each.accurate else None,
        )
        if each.offload:
            text = "packets are larger than a segment: the capture is before segmentation"
            self._builder.add("events", flow=flow, kind="offload", text=text)

    def _write(self, ends: tuple[bytes, bytes], connection: Connection) -> None:
        for side, each in enumerate(connection.directions):
            if each.packets:
                self._builder.add(
                    "samples",
                    t_s=(connection.row_bin + 1) * BIN_S,
                    flow=self._numbers[ends] + side,
                    acked_bytes=each.acked,
                    sent_bytes=each.sent,
                    rtt_s=each.rtt_s,
                    rtt_kind=None if each.rtt_s is None else "sample",
                    min_rtt_s=each.min_rtt_s,
                    in_flight_bytes=each.in_flight,
                    delivery_bps=each.take_delivery(),
                    retransmits=each.retransmits,
                    ce=each.ce,
                )

    def _is_twice(self, t_s: float, segment: Segment) -> bool:
        key = (segment.ends[segment.side], segment.ident, segment.seq, segment.size)
        before = self._seen.pop(key, -math.inf)
        self._seen[key] = t_s
        if len(self._seen) > LEAST_PACKETS:
            self._seen.pop(next(iter(self._seen)))
        return segment.ident != 0 and t_s - before < TWICE_S

    def _common(self, length: int, data: bytes) -> Segment | None:
        """Segment of a frame with the headers of `COMMON`, which most frames have; None for another one."""
        if len(data) < COMMON_BYTES:
            return None
        kind, version, total, ident, fragment, protocol, path, *numbers = COMMON.unpack_from(data)
        if kind != IPV4 or version != 0x45 or protocol != TCP or fragment & 0x1FFF:
            return None
        known = self._sides.get(path)
        if known is None:
            if len(self._sides) > MOST_CONNECTIONS:
                self._sides.clear()
            known = self._sides[path] = _sorted(path[:4] + path[8:10], path[4:8] + path[10:])
        # Segmentation offload leaves the length of IP at 0.
        return Segment(*known, numbers, (total or length - 14) - 20, ident, data, COMMON_BYTES)

    def _segment(self, link: int, length: int, data: bytes) -> Segment | None:
        at = _network(link, data)
        if at is None or len(data) < at + 20:
            return None
        wire = length - at
        first = data[at]
        if first >> 4 == 4:
            header = (first & 15) * 4
            total, ident, fragment = struct.unpack_from("!HHH", data, at + 2)
            protocol = data[at + 9]
            addresses = data[at + 12 : at + 16], data[at + 16 : at + 20]
            if header < 20 or fragment & 0x1FFF:
                return None
        elif first >> 4 == 6 and len(data) >= at + 40:
            header, ident = 40, 0
            total, protocol = struct.unpack_from("!HB", data, at + 4)
            total = total + 40 if total else 0
            addresses = data[at + 8 : at + 24], data[at + 24 : at + 40]
            if protocol == 0 and len(data) >= at + 48:  # hop-by-hop options, of a jumbo payload
                protocol, header = data[at + 40], 48 + 8 * data[at + 41]
        else:
            return None
        if protocol == UDP:
            self.udp += 1
        tcp = data[at + header :]
        if protocol != TCP or len(tcp) < 20:
            return None
        numbers = struct.unpack_from("!IIBB", tcp, 4)
        ends = _sorted(addresses[0] + tcp[:2], addresses[1] + tcp[2:4])
        return Segment(*ends, numbers, (total or wire) - header, ident, tcp, 20)


def _sorted(source: bytes, sink: bytes) -> tuple[int, tuple[bytes, bytes]]:
    """Side of the source, and both ends in their order."""
    return (0, (source, sink)) if source <= sink else (1, (sink, source))


def _take_segment(connection: Connection, now: float, segment: Segment) -> None:
    side = segment.side
    own, other = connection.directions[side], connection.directions[1 - side]
    flags = segment.flags
    if flags & SYN:
        own.option_mss = segment.mss
        if not flags & ACK:
            connection.syn, connection.client = (now, segment.seq), side
            connection.asks_accurate = segment.ace == 7
        elif connection.syn is not None:
            connection.syn_ack = now
            accurate = connection.asks_accurate and segment.ace not in ACE_OF_CLASSIC
            own.accurate = other.accurate = accurate
        return
    is_first = not connection.is_open
    if is_first:
        connection.is_open = True
        if connection.syn is not None and connection.syn_ack is not None:
            _place_capture(connection, now)
    if segment.size:
        own.has_stamps = segment.stamp is not None
        own.on_data(now, segment.seq, segment.size, segment.stamp)
    if flags & ACK:
        other.on_ack(now, segment.ack, segment.blocks, segment.echo)
        if other.packets and not (is_first and side == connection.client):
            other.on_ecn(segment.ace, ece=bool(flags & ECE))


def _place_capture(connection: Connection, now: float) -> None:
    """Place of the capture by the handshake, whose RTT is one of an idle path."""
    assert connection.syn is not None
    assert connection.syn_ack is not None
    first, second = connection.syn_ack - connection.syn[0], now - connection.syn_ack
    client, server = connection.directions[connection.client], connection.directions[1 - connection.client]
    if second < first / 5:
        connection.vantage = "client"
        client.take_idle_rtt(first)
        server.has_rtt = False
    elif first < second / 5:
        connection.vantage = "server"
        server.take_idle_rtt(second)
        client.has_rtt = False
    else:
        connection.vantage = "middle"


def _vantage_of(connection: Connection, side: int) -> str:
    if connection.vantage not in ("client", "server"):
        return connection.vantage
    is_client = side == connection.client
    return "sender" if is_client == (connection.vantage == "client") else "receiver"


def _network(link: int, data: bytes) -> int | None:
    """Offset of the IP header; None for a packet of another protocol."""
    if link in (101, 228, 229):
        return 0
    if link == 0:
        return 4
    kind_at = {1: 12, 113: 14, 276: 0}[link]
    if len(data) < kind_at + 2:
        return None
    kind = struct.unpack_from("!H", data, kind_at)[0]
    at = {1: 14, 113: 16, 276: 20}[link]
    while kind in VLAN and len(data) >= at + 4:
        kind = struct.unpack_from("!H", data, at + 2)[0]
        at += 4
    return at if kind in (IPV4, IPV6) else None


def _ecn(link: int, data: bytes) -> int | None:
    """ECN field of the IP header."""
    at = _network(link, data)
    if at is None or len(data) < at + 2:
        return None
    return data[at + 1] & 3 if data[at] >> 4 == 4 else data[at + 1] >> 4 & 3


def _shown(end: bytes) -> str:
    from ipaddress import ip_address

    address = ip_address(end[:-2])
    port = int.from_bytes(end[-2:], "big")
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
