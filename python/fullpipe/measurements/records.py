"""Records of capture files: pcap (draft-ietf-opsawg-pcap-09) and pcapng (draft-ietf-opsawg-pcapng).

The lengths in a file are checked before they are used. dpkt trusts them, and does not return the length of a packet on
the wire, which segmentation offload needs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from fullpipe.measurements.source import Source

__all__ = ["LINK_TYPES", "PCAPNG_MAGIC", "PCAP_MAGIC", "Record", "records"]

PCAP_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}
"""Byte order and unit of time by the first bytes of a pcap file."""

PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"

LINK_TYPES = {
    1: "Ethernet",
    113: "Linux cooked",
    276: "Linux cooked",
    101: "raw IP",
    228: "raw IP",
    229: "raw IP",
    0: "null",
}
"""Link types that are read."""

MOST_RECORD_BYTES = 256 << 10
"""Captured bytes of a packet, at most."""

MOST_BLOCK_BYTES = 1 << 20
"""Bytes of a block of pcapng, at most."""

CHUNK_BYTES = 1 << 20

SECTION, INTERFACE, SIMPLE, ENHANCED, BYTE_ORDER, RESOLUTION = 0x0A0D0D0A, 1, 3, 6, 0x1A2B3C4D, 9
"""Types of blocks, the mark of the byte order, and the option for the unit of time."""

Record = tuple[float, int, int, bytes]
"""Time in seconds, link type, length on the wire, and captured bytes."""


class _Buffer:
    """Content of a file, of which a few megabytes are in memory."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stream = source.open()
        self.data = b""
        self.at = 0
        self.before = 0

    @property
    def position(self) -> int:
        """Bytes that are used."""
        return self.before + self.at

    def has(self, size: int) -> bool:
        """Whether ``size`` more bytes are there."""
        while len(self.data) - self.at < size:
            more = self.stream.read_exactly(CHUNK_BYTES)
            if not more:
                return False
            self.before += self.at
            self.data, self.at = self.data[self.at :] + more, 0
        return True

    @property
    def left(self) -> int:
        """Bytes that are in memory and not used."""
        return len(self.data) - self.at


def records(source: Source, on_cut: list[int]) -> Iterator[Record]:
    """Records of a capture file, in its order.

    Args:
        source: The file.
        on_cut: Takes the position in bytes, and the number of bytes, where the file ends inside a record.

    Raises:
        FileError: A link type, a record, or a block is not allowed.
    """
    buffer = _Buffer(source)
    with buffer.stream:
        if not buffer.has(24):
            raise source.error("has no packets")
        start = buffer.data[:4]
        yield from (_pcapng(buffer) if start == PCAPNG_MAGIC else _pcap(buffer, *PCAP_MAGIC[start]))
        if buffer.left or buffer.stream.truncated:
            on_cut += [buffer.position, buffer.position + buffer.left]


def _pcap(buffer: _Buffer, order: str, unit: float) -> Iterator[Record]:
    link = struct.unpack_from(f"{order}I", buffer.data, 20)[0] & 0x0FFFFFFF
    _check_link(buffer.source, link)
    buffer.at = 24
    head = struct.Struct(f"{order}IIII")
    while buffer.has(16):
        data, at = buffer.data, buffer.at
        last = len(data) - 16
        while at <= last:  # records of one block, without calls
            seconds, fraction, captured, length = head.unpack_from(data, at)
            if captured > MOST_RECORD_BYTES:
                raise _too_long(buffer, "record", captured, MOST_RECORD_BYTES)
            begin = at + 16
            if begin + captured > len(data):
                break
            buffer.at = at = begin + captured
            yield seconds + fraction * unit, link, length, data[begin:at]
        else:
            continue
        if not buffer.has(16 + captured):
            return


def _pcapng(buffer: _Buffer) -> Iterator[Record]:
    order = "<"
    interfaces: list[tuple[int, float]] = []
    while buffer.has(12):
        kind = struct.unpack_from(f"{order}I", buffer.data, buffer.at)[0]
        if kind == SECTION:
            order = "<" if struct.unpack_from("<I", buffer.data, buffer.at + 8)[0] == BYTE_ORDER else ">"
            interfaces = []
        length = struct.unpack_from(f"{order}I", buffer.data, buffer.at + 4)[0]
        if length < 12 or length % 4:
            raise buffer.source.error(
                f"the block at byte {buffer.position} must have a multiple of 4 bytes, at least 12, got {length}"
            )
        if length > MOST_BLOCK_BYTES:
            raise _too_long(buffer, "block", length, MOST_BLOCK_BYTES)
        if not buffer.has(length):
            return
        block = buffer.data[buffer.at + 8 : buffer.at + length - 4]
        buffer.at += length
        if kind == INTERFACE and len(block) >= 8:
            link = struct.unpack_from(f"{order}H", block)[0]
            interfaces.append((link, _resolution(block[8:], order)))
        elif kind == ENHANCED and len(block) >= 20:
            number, high, low, captured, size = struct.unpack_from(f"{order}IIIII", block)
            if number >= len(interfaces):
                raise buffer.source.error(f"the interface of a packet must be below {len(interfaces)}, got {number}")
            link, unit = interfaces[number]
            _check_link(buffer.source, link)
            yield ((high << 32) | low) * unit, link, size, block[20 : 20 + captured]


def _resolution(options: bytes, order: str) -> float:
    """Unit of time of an interface, in seconds."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, at)
        if code == RESOLUTION and length >= 1 and at + 4 < len(options):
            value = options[at + 4]
            return float(2.0 ** -(value & 127) if value & 128 else 10.0**-value)
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 1e-6


def _check_link(source: Source, link: int) -> None:
    if link not in LINK_TYPES:
        allowed = ", ".join(dict.fromkeys(LINK_TYPES.values()))
        raise source.error(f"unknown link type {link} (allowed: {allowed})")


def _too_long(buffer: _Buffer, what: str, size: int, most: int) -> Exception:
    return buffer.source.error(f"the {what} at byte {buffer.position} must have at most {most} bytes, got {size}")
