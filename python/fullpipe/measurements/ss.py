"""Reader of samples of ``ss -tin``.

The grammar is that of iproute2's ``misc/ss.c`` (``tcp_stats_print``) and ``ss(8)``: a line with the socket, then an
indented line with ``key:value``, ``key value``, and bare words. ``-O`` puts both on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fullpipe._util.plain import Tree
from fullpipe.measurements.schema import Builder, Measurement
from fullpipe.measurements.source import Source
from fullpipe.measurements.times import rfc3339, split_prefix, time_line

__all__ = ["Socket", "is_ss", "read_ss", "sockets"]

SOCKET = re.compile(
    r"^(?:(?:tcp|mptcp)\s+)?(?:([A-Z][A-Z0-9-]*)\s+)?(\d{1,10})\s+(\d{1,10})\s+(\S+:[\w*-]+)\s+(\S+:[\w*-]+)(?:\s(.*))?$"
)
INFO = re.compile(r"\b(?:cwnd|rto|mss|wscale):\d")
RATE = re.compile(r"^(\d+(?:\.\d+)?)([KkMGT]?)bps$")
MAPPED = re.compile(r"^\[::ffff:(\d+\.\d+\.\d+\.\d+)(%\w+)?\]")
BARE = re.compile(r"^[a-z][a-z0-9_-]*$")

FLAGS = frozenset({"ts", "usec_ts", "sack", "ecn", "ecnseen", "fastopen"})
"""Bare words before ``wscale:`` or ``rto:`` that are no algorithm."""

FACTORS = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

CONNECTING = "SYN-SENT"

LEAST_PART = 0.01
"""Part of all bytes that a flow has to send; the control connection of iperf3 sends less."""

COUNTED = ("bytes_sent", "data_segs_out", "delivered", "bytes_acked")
"""Keys of kernels that also print ``retrans``, unless it is 0."""


@dataclass
class Socket:
    """A socket in one sample.

    Attributes:
        source, sink: Its two ends.
        t_s: Time of the sample; None where unknown.
        is_relative: Whether the time counts from the start of a loop.
        is_connecting: Whether it waits for the SYN-ACK, and has the default MSS of 524 bytes until then.
        words: Values by key, as text; bare words have the value "".
        algorithm: Name of the congestion control; None where it is missing.
    """

    source: str
    sink: str
    t_s: float | None = None
    is_relative: bool = False
    is_connecting: bool = False
    words: dict[str, str] = field(default_factory=dict)
    algorithm: str | None = None

    def number(self, key: str) -> float | None:
        """Number of a key; None without it, or where it is no number."""
        return _number(self.words.get(key))

    def rate(self, key: str) -> float | None:
        """Rate of a key in bit/s. A rate without ``-n`` has three digits and a suffix."""
        return _rate(self.words.get(key, "").partition("/")[0])

    @property
    def bbr_bps(self) -> float | None:
        """BBR's estimate of the bandwidth, of ``bbr:(bw:9610000bps,mrtt:40.1)``."""
        return _rate(self.words.get("bbr", "").partition("bw:")[2].partition(",")[0])

    def milliseconds(self, key: str) -> float | None:
        """Duration of a key such as ``busy:120ms(3.1%)`` in seconds."""
        text = self.words.get(key)
        value = None if text is None else _number(text.partition("ms")[0])
        return None if value is None else value / 1000

    @property
    def rtt(self) -> tuple[float | None, float | None]:
        """RTT and its variation in seconds, of ``rtt:60/38.2``."""
        mean, _, variation = self.words.get("rtt", "").partition("/")
        first, second = _number(mean), _number(variation)
        return None if first is None else first / 1000, None if second is None else second / 1000

    @property
    def retransmits(self) -> float | None:
        """Segments retransmitted so far: the number after the slash of ``retrans``. A value of 0 is not printed."""
        text = self.words.get("retrans")
        if text is not None:
            return _number(text.partition("/")[2])
        return 0.0 if any(key in self.words for key in COUNTED) else None


def is_ss(head: str) -> bool:
    """Whether text looks like samples of ss."""
    return any(INFO.search(line) for line in head.splitlines())


def sockets(source: Source) -> Iterator[Socket]:
    """Connected sockets of all samples, in order.

    Raises:
        FileError: The file is damaged, or a line too long.
    """
    return (each for each in _sockets(source) if not each.is_connecting)


def _sockets(source: Source) -> Iterator[Socket]:
    waiting: list[Socket] = []  # sockets whose time may follow
    t_s: float | None = None
    is_relative = False
    for raw in source.lines():
        prefix_s, line = split_prefix(raw)
        if (mark := time_line(line)) is not None:
            if mark.is_after:
                for each in waiting:
                    each.t_s = mark.t_s
                t_s = None
            else:
                t_s, is_relative = mark.t_s, mark.is_relative
            yield from waiting
            waiting = []
            continue
        if ":" not in line:
            continue
        if found := SOCKET.match(line.strip()):
            if t_s is not None:
                yield from waiting
                waiting = []
            when = prefix_s if t_s is None else t_s
            relative = is_relative and prefix_s is None
            waiting.append(Socket(_end(found[4]), _end(found[5]), when, relative, found[1] == CONNECTING))
            line = found[6] or ""
        if waiting and INFO.search(line):
            _read_words(waiting[-1], line)
    yield from waiting


def read_ss(source: Source, metadata: Tree, interval_s: float | None = None) -> Measurement:
    """Measurement of samples of ss.

    Args:
        source: The file.
        metadata: Metadata so far.
        interval_s: Time between two samples, for a file without times.

    Raises:
        FileError: The file has no socket with values of TCP.
    """
    builder = Builder(metadata)
    flows = _Flows(builder)
    start: float | None = None
    counts: dict[tuple[str, str], int] = {}
    is_relative = False
    for each in sockets(source):
        if not each.words:
            continue
        t_s = each.t_s
        if t_s is None:
            key = (each.source, each.sink)
            counts[key] = counts.get(key, -1) + 1
            if interval_s is None and counts[key]:
                raise source.error("samples without times require --interval, for example --interval 100ms")
            t_s = counts[key] * (interval_s or 0.0)
        elif start is None:
            start = t_s
        is_relative = is_relative or each.is_relative
        flows.take(each, t_s - (start or 0.0))
    if not flows.sent:
        raise source.error("requires sockets with values of TCP, as ss -tin prints them")
    if is_relative:
        builder.warn("times count the seconds of a loop; they are inexact")
    metadata |= {"vantage": "sender", "clock": "wall"}
    metadata["t0"] = None if is_relative or start is None else rfc3339(start)
    return builder.build(flows.senders())


class _Flows:
    """Flows by their ends. A port that is used again starts new counters, and so another flow."""

    def __init__(self, builder: Builder) -> None:
        self.sent: dict[int, float] = {}
        self._builder = builder
        self._known: dict[tuple[str, str], tuple[int, float]] = {}
        self._limited: dict[int, tuple[float, float, float]] = {}

    def senders(self) -> set[int]:
        """Flows that sent at least 1 % of the bytes."""
        least = LEAST_PART * sum(self.sent.values())
        return {flow for flow, sent in self.sent.items() if sent >= least}

    def take(self, each: Socket, t_s: float) -> None:
        """Adds a sample."""
        mss = each.number("mss")
        acked = each.number("bytes_acked")
        flow = self._flow(each, mss, acked or 0.0)
        delivered = each.number("delivered")
        self.sent[flow] = each.number("bytes_sent") or acked or (delivered or 0.0) * (mss or 0.0)
        rtt_s, rttvar_s = each.rtt
        smallest = each.number("minrtt")

        def in_bytes(segments: float | None) -> float | None:
            return None if segments is None or mss is None else segments * mss

        self._builder.add(
            "samples",
            t_s=t_s,
            flow=flow,
            acked_bytes=acked if delivered is None else in_bytes(delivered),
            sent_bytes=each.number("bytes_sent"),
            rtt_s=rtt_s,
            rtt_kind=None if rtt_s is None else "smoothed",
            rttvar_s=rttvar_s,
            min_rtt_s=None if smallest is None else smallest / 1000,
            cwnd_bytes=in_bytes(each.number("cwnd")),
            ssthresh_bytes=in_bytes(each.number("ssthresh")),
            in_flight_bytes=in_bytes(_in_flight(each)),
            pacing_bps=each.rate("pacing_rate"),
            delivery_bps=each.rate("delivery_rate"),
            retransmits=each.retransmits,
            ce=each.number("delivered_ce") if delivered is None else each.number("delivered_ce") or 0,
            limited=self._limit(flow, each, t_s),
        )

    def _flow(self, each: Socket, mss: float | None, acked: float) -> int:
        key = (each.source, each.sink)
        flow, before = self._known.get(key, (-1, 0.0))
        if flow < 0 or acked < before:
            flow = len(self.sent)
            self._builder.add(
                "flows",
                flow=flow,
                name=f"{each.source} {each.sink}",
                protocol="tcp",
                source=each.source,
                sink=each.sink,
                direction="out",
                algorithm=each.algorithm,
                algorithm_source=None if each.algorithm is None else "ss",
                mss_bytes=mss,
                ecn="classic" if "ecn" in each.words else None,
            )
        self._known[key] = flow, acked
        return flow

    def _limit(self, flow: int, each: Socket, t_s: float) -> str | None:
        """Cause that limited the flow for most of the time since its last sample."""
        receiver, buffer = (each.milliseconds(f"{name}_limited") or 0.0 for name in ("rwnd", "sndbuf"))
        before_s, receiver_before, buffer_before = self._limited.get(flow, (t_s, receiver, buffer))
        self._limited[flow] = t_s, receiver, buffer
        half = (t_s - before_s) / 2
        if "app_limited" in each.words:
            return "app"
        if half > 0 and receiver - receiver_before > half:
            return "rwnd"
        return "sndbuf" if half > 0 and buffer - buffer_before > half else None


def _in_flight(each: Socket) -> float | None:
    """Segments in flight: sent and not acknowledged, without those that were SACKed or lost."""
    if all(key not in each.words for key in ("unacked", *COUNTED)):
        return None
    now = _number(each.words.get("retrans", "0/0").partition("/")[0]) or 0.0
    unacked, sacked, lost = (each.number(key) or 0.0 for key in ("unacked", "sacked", "lost"))
    return max(0.0, unacked - sacked - lost + now)


def _read_words(socket: Socket, line: str) -> None:
    words = line.split()
    for word, after in zip(words, [*words[1:], ""], strict=True):
        key, colon, value = word.partition(":")
        if colon:
            # The name of an algorithm can be a key too: "bbr wscale:7,7 ... bbr:(bw:...)".
            socket.words[key] = socket.words.get(key) or value
        elif RATE.match(after.partition("/")[0]):
            socket.words.setdefault(word, after)
        elif not RATE.match(word.partition("/")[0]):
            socket.words.setdefault(word, "")
    for mark in ("wscale:", "rto:"):
        place = next((i for i, word in enumerate(words) if word.startswith(mark)), 0)
        if place:
            before = words[place - 1]
            if BARE.match(before) and before not in FLAGS:
                socket.algorithm = before
            return


def _end(text: str) -> str:
    """An end of a connection. IPv4 addresses in IPv6 form become plain."""
    return MAPPED.sub(lambda found: found[1], text)


def _rate(text: str) -> float | None:
    """Rate in bit/s; None where the text is none."""
    found = RATE.match(text)
    return float(found[1]) * FACTORS[found[2]] if found else None


def _number(text: str | None) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
