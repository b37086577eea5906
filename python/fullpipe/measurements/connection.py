"""One direction of a TCP connection in a capture: sequence numbers, acknowledgments, RTTs, and retransmissions.

In flight is sent - acknowledged - SACKed. An RTT is the time from the first packet that an ACK covers to this ACK, if
it was sent once (Karn); in a recovery it is the time since the echoed timestamp was first sent (RFC 7323). Sequence
numbers are compared modulo 2^32.
"""

from __future__ import annotations

import math
from collections import Counter, deque

__all__ = ["Direction"]

WRAP, HALF = 1 << 32, 1 << 31

MOST_SIZES, MOST_RANGES, MOST_TIMES, MOST_SENT = 64, 1000, 4096, 100_000
"""Bounds of the state of a direction."""

DELIVERED = 8 * 1448
"""Bytes of a delivery rate, at least: eight full packets."""


class Direction:
    """Data in one direction.

    Attributes:
        sent: Payload bytes, with retransmissions.
        retransmits, ce, missing: Packets retransmitted, CE marks as the sender learns of them, packets not captured.
        rtt_s: Last RTT; None before the first one.
        delivery_bps: Greatest delivery rate outside recoveries, since the last call of `take_delivery`.
        min_rtt_s: Least RTT, with that of the handshake.
        has_rtt: Whether the time to an ACK is an RTT here; it is not at the receiver.
        offload: Whether packets are larger than a segment.
        has_stamps: Whether its packets have timestamps.
        option_mss: MSS of the SYN; None without one.
    """

    def __init__(self) -> None:
        self.sent = self.retransmits = self.ce = self.missing = self.packets = 0
        self.rtt_s: float | None = None
        self.min_rtt_s: float | None = None
        self.delivery_bps: float | None = None
        self.has_rtt = True
        self.offload = False
        self.has_stamps = False
        self.option_mss: int | None = None
        self.accurate = False
        self._sizes: Counter[int] = Counter()
        self._base: int | None = None
        self._high = self._cum = self._recover = 0
        self._sacked: list[tuple[int, int]] = []
        self._sent_at: deque[tuple[int, float]] = deque()
        self._stamps: dict[int, float] = {}
        self._acks: deque[tuple[int, float]] = deque()
        self._ace: int | None = None
        self._ece = False

    @property
    def acked(self) -> int:
        """Payload bytes that were acknowledged or SACKed."""
        return self._cum + sum(end - begin for begin, end in self._sacked)

    @property
    def in_flight(self) -> int:
        """Payload bytes in flight."""
        return max(0, self._high - self.acked)

    @property
    def mss(self) -> int | None:
        """Payload of a full packet: the most common size that is no more than the MSS."""
        limit = self.option_mss or 9000
        full = [(count, size) for size, count in self._sizes.items() if size <= limit]
        return max(full)[1] if full else self.option_mss

    @property
    def cumulative(self) -> int:
        """Payload bytes below the last cumulative acknowledgment."""
        return self._cum

    def place_of(self, number: int) -> int:
        """Bytes of payload before a sequence number; 0 before the first data."""
        return 0 if self._base is None else max(0, self._place(number, self._high))

    def on_data(self, t_s: float, seq: int, size: int, stamp: int | None) -> None:
        """Takes a packet with data."""
        if self._base is None:
            self._base = seq
        begin = self._place(seq, self._high)
        end = begin + size
        if size <= 1 and end <= self._cum:  # a keep-alive
            return
        self.packets += 1
        self.sent += size
        if size in self._sizes or len(self._sizes) < MOST_SIZES:
            self._sizes[size] += 1
        limit = self.option_mss or 9000
        if size > limit:
            self.offload = True
        if stamp is not None and stamp not in self._stamps:
            if len(self._stamps) >= MOST_TIMES:
                self._stamps.pop(next(iter(self._stamps)))
            self._stamps[stamp] = t_s
        if begin < self._high:
            self.retransmits += max(1, math.ceil(size / limit)) if size > limit else 1
            self._recover = self._high
        if end > self._high:
            self._high = end
            if len(self._sent_at) < MOST_SENT:
                self._sent_at.append((end, t_s))

    def on_ack(self, t_s: float, ack: int, blocks: list[tuple[int, int]], echo: int | None) -> None:
        """Takes an acknowledgment."""
        if self._base is None:
            return
        place = self._place(ack, self._high)
        if place < 0:  # of data before the capture
            return
        if place > self._high + 1:  # a FIN takes one number
            self.missing += math.ceil((place - self._high) / (self.mss or 1448))
            self._high = place
        place = min(place, self._high)
        if place > self._cum:
            self._cum = place
            self._take_rtt(t_s, place, echo)
        if blocks or self._sacked:
            self._acks.clear()
            self._take_sacks(blocks)
        else:
            self._take_rate(t_s, place)

    def on_ecn(self, ace: int, *, ece: bool) -> None:
        """Takes the ECN bits of an ACK: the ACE counter (RFC 9768, section 3.2), or ECE (RFC 3168)."""
        if self.accurate:
            self.ce += (ace - (5 if self._ace is None else self._ace)) % 8
            self._ace = ace
        else:
            self.ce += ece and not self._ece
            self._ece = ece

    def take_delivery(self) -> float | None:
        """Greatest delivery rate since the last call."""
        rate, self.delivery_bps = self.delivery_bps, None
        return rate

    def take_idle_rtt(self, rtt_s: float) -> None:
        """Takes the RTT of the handshake."""
        self.min_rtt_s = rtt_s if self.min_rtt_s is None else min(self.min_rtt_s, rtt_s)

    def _take_rtt(self, t_s: float, place: int, echo: int | None) -> None:
        began: float | None = None
        while self._sent_at and self._sent_at[0][0] <= place:
            sent_at = self._sent_at.popleft()[1]
            began = sent_at if began is None else began
        if place <= self._recover or began is None:
            began = self._stamps.get(echo) if echo is not None else None
        if began is not None and self.has_rtt and t_s > began:
            self.rtt_s = t_s - began
            self.take_idle_rtt(self.rtt_s)

    def _take_rate(self, t_s: float, place: int) -> None:
        acks = self._acks
        if acks and place <= acks[-1][0]:
            return
        acks.append((place, t_s))
        while len(acks) > 1 and place - acks[1][0] >= DELIVERED:
            acks.popleft()
        first, began = acks[0]
        if place - first >= DELIVERED and t_s > began:
            self.delivery_bps = max(self.delivery_bps or 0.0, 8 * (place - first) / (t_s - began))

    def _take_sacks(self, blocks: list[tuple[int, int]]) -> None:
        ranges = list(self._sacked)
        for left, right in blocks:
            begin, end = self._place(left, self._high), self._place(right, self._high)
            if self._cum <= begin < end <= self._high:
                ranges.append((begin, end))
        merged: list[tuple[int, int]] = []
        for begin, end in sorted(ranges):
            if end <= self._cum:
                continue
            begin = max(begin, self._cum)
            if merged and begin <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((begin, end))
        self._sacked = merged[-MOST_RANGES:]

    def _place(self, number: int, near: int) -> int:
        """Bytes since the first one of the capture, of a sequence number."""
        assert self._base is not None
        offset = (number - self._base - near) % WRAP
        return near + (offset - WRAP if offset >= HALF else offset)
