"""`explain --normal`: values of a snapshot of ``ss`` or ``tc`` outside the usual range of an algorithm on such a path.

Each limit has its source. Those of `SIMULATED` have the 1st to 99th percentile of simulated snapshots inside
(``benchmarks/normal.py``). Verdicts are "usual", "unusual", and "impossible" (an error of the measurement).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.plain import Tree
from fullpipe.errors import InputError
from fullpipe.measurements.reading import detect
from fullpipe.measurements.schema import clean
from fullpipe.measurements.source import Source
from fullpipe.measurements.ss import Socket, sockets
from fullpipe.measurements.tc import qdiscs
from fullpipe.measurements.values import as_number

__all__ = ["Finding", "Normality", "normal"]

BBRS = ("bbr", "bbr1", "bbr2", "bbr3")
SCALABLE = ("dctcp", "prague")
AQMS = ("codel", "fq_codel", "pie", "fq_pie", "cake", "dualpi2")

UNSHAPED = ("pfifo", "bfifo", "pfifo_fast", "codel", "fq_codel", "pie")
"""Disciplines without a rate."""

LEAST_SEGMENTS = 5000
"""Segments sent from which a fraction of them says something. Before, slow start has most of the losses."""

SIMULATED = "200 simulated snapshots per algorithm"
"""Origin of limits that no document has."""

LEAST_BPS, LEAST_RTT_S = 10e6, 0.02
"""Rate and RTT from which the loss of CUBIC and Reno is small."""

MOST_SOCKETS = 1000
"""Sockets of the last sample that are judged."""


@dataclass(frozen=True)
class Finding:
    """A value and its verdict.

    Attributes:
        of: Socket or queueing discipline.
        value: Name of the value.
        measured: The value.
        usual: Range of usual values.
        verdict: "usual", "unusual", or "impossible".
        source: Source of the limit.
        sentence: Meaning of a value that is not usual; empty for one that is.
    """

    of: str
    value: str
    measured: float
    usual: str
    verdict: str
    source: str
    sentence: str


class Normality(Outcome):
    """Verdicts on the values of a snapshot.

    Attributes:
        file: The snapshot.
        findings: A verdict per value.
    """

    def __init__(self, file: str, findings: Sequence[Finding]) -> None:
        self.file = file
        self.findings = tuple(findings)

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {"kind": "normal", "files": [self.file], "values": [asdict(each) for each in self.findings]}

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:  # noqa: ARG002 - as of all outcomes
        """Table of the values, and a sentence for each that is not usual."""
        rows = [(each.of, each.value, f"{each.measured:.4g}", each.usual, each.verdict) for each in self.findings]
        lines = [f"{each.of}: {each.value}: {each.sentence} ({each.source})" for each in self.findings if each.sentence]
        usual = f"{len(self.findings)} values are usual." if self.findings else "There is no value to judge."
        return [
            Shown("Values", ("of", "value", "measured", "usual", "verdict"), rows, left=2),
            "\n".join(lines) if lines else usual,
        ]


def normal(file: str | os.PathLike[str]) -> Normality:
    """Judges the values of a snapshot of ``ss -tin`` or ``tc -s qdisc``; of several samples the last one.

    Raises:
        InputError: The file can't be read, or is of another format.
    """
    source = Source(file)
    kind = detect(source.head())
    if kind == "ss":
        last: dict[tuple[str, str], Socket] = {(each.source, each.sink): each for each in sockets(source) if each.words}
        found = [finding for each in list(last.values())[:MOST_SOCKETS] for finding in of_socket(each)]
    elif kind == "tc":
        samples = list(qdiscs(source))[-1:]
        found = [finding for _, disciplines in samples for each in disciplines for finding in of_discipline(each)]
    else:
        raise InputError(f"{source.name}: --normal requires a snapshot of ss or tc, got {kind or 'an unknown format'}")
    return Normality(source.name, found)


class _Judge:
    """Maker of findings of one socket or discipline."""

    def __init__(self, of: str) -> None:
        self.of = clean(of)

    def __call__(
        self, value: str, measured: float, low: float, high: float, sentence: str, source: str, floor: float = 0.0
    ) -> Finding:
        usual = f"{low:.3g} to {high:.3g}" if high < float("inf") else f"at least {low:.3g}"
        verdict = "impossible" if measured < floor else "usual" if low <= measured <= high else "unusual"
        return Finding(self.of, value, measured, usual, verdict, source, "" if verdict == "usual" else sentence)


def of_socket(each: Socket) -> Iterator[Finding]:
    """Findings of a socket."""
    judge = _Judge(f"{each.source} {each.sink}")
    mss, cwnd = each.number("mss"), each.number("cwnd")
    rtt_s, _ = each.rtt
    minimum = each.number("minrtt")
    is_bbr = each.algorithm in BBRS
    if rtt_s and minimum:
        ratio, held = 1000 * rtt_s / minimum, 1000 * rtt_s - minimum
        text = f"the queue holds {held:.0f} ms: bufferbloat, or a minrtt of another path"
        yield judge("rtt / minrtt", ratio, 1.0, 2.5 if is_bbr else 4.0, text, SIMULATED, floor=0.95)
    if (rto := each.number("rto")) is not None and rtt_s:
        text = "timeouts are repeated: the path loses whole windows"
        yield judge("rto (ms)", rto, min(200.0, rto), max(3000.0, 1000 * rtt_s + 200), text, "Linux TCP_RTO_MIN")
    if backoff := each.number("backoff"):
        text = "timeouts are repeated: the path loses whole windows"
        yield judge("backoff", backoff, 0, 0, text, "RFC 6298 section 5.5")
    if cwnd is not None:
        text = "one-segment window: after a timeout"
        yield judge("cwnd", cwnd, 4 if is_bbr else 2, float("inf"), text, "RFC 5681 section 3.1")
    if mss is not None:
        yield judge("mss", mss, 1220, float("inf"), "the MTU of the path is small", "RFC 8200 section 5")
    if (mtu := each.number("pmtu")) is not None:
        yield judge("pmtu", mtu, 1280, float("inf"), "the MTU of the path is small", "RFC 8200 section 5")
    yield from _loss(judge, each, mss, rtt_s)
    yield from _rates(judge, each, mss, cwnd, rtt_s)
    yield from _limits(judge, each)


def _loss(judge: _Judge, each: Socket, mss: float | None, rtt_s: float | None) -> Iterator[Finding]:
    sent, lost = each.number("data_segs_out"), each.retransmits
    if sent is not None and lost is not None and sent >= LEAST_SEGMENTS:
        rate = each.rate("delivery_rate") or 0.0
        if each.algorithm in ("cubic", "reno") and rate > LEAST_BPS and rtt_s and rtt_s > LEAST_RTT_S and mss:
            expected = 1.5 / (rate * rtt_s / 8 / mss) ** 2
            times = lost / sent / expected
            text = f"loss is {times:.0f} times what this window allows: non-congestion loss or a policer"
            source = f"RFC 3649 section 3: 1.5 / W^2; {SIMULATED}"
            yield judge("retransmitted fraction", lost / sent, 0.0, 0.015, text, source)
        if lost > sent:
            text = "more segments were retransmitted than sent"
            yield Finding(
                judge.of, "retrans", lost, f"at most {sent:.0f}", "impossible", "counters of the kernel", text
            )
    delivered, marks = each.number("delivered"), each.number("delivered_ce")
    if delivered and marks is not None and delivered >= LEAST_SEGMENTS:
        most = 0.5 if each.algorithm in SCALABLE else 0.05
        text = "the queue marks often: a standing queue, or ECN marks that the sender ignores"
        yield judge("delivered_ce / delivered", marks / delivered, 0, most, text, "RFC 3168, RFC 8257")


def _rates(
    judge: _Judge, each: Socket, mss: float | None, cwnd: float | None, rtt_s: float | None
) -> Iterator[Finding]:
    delivery, pacing = each.rate("delivery_rate"), each.rate("pacing_rate")
    is_limited = "app_limited" in each.words
    if not (mss and cwnd and rtt_s):
        return
    window_bps = 8 * mss * cwnd / rtt_s
    if delivery and not is_limited:
        text = "the window is far from the rate: the application or the receiver limits the flow"
        # BBR's window is up to twice the data in flight, and 4 packets while it measures the least RTT.
        low, high = (0.05, 3.5) if each.algorithm in BBRS else (0.5, 3.0)
        yield judge("cwnd x mss / rtt over delivery_rate", window_bps / delivery, low, high, text, SIMULATED)
    if delivery and not is_limited and (estimate := each.bbr_bps):
        text = "BBR's estimate is old, or the rate of the path changes"
        yield judge("BBR bw / delivery_rate", estimate / delivery, 0.7, 1.5, text, "rule of thumb")
    if pacing:
        is_bbr = each.algorithm in BBRS
        # tcp_pacing_ca_ratio is 120 %, tcp_pacing_ss_ratio 200 %.
        low, high = (0.5, 2.9) if is_bbr else (1.08, 2.2)
        text = "pacing does not follow the window; an application may have set SO_MAX_PACING_RATE"
        yield judge(
            "pacing_rate over cwnd x mss / rtt", pacing / window_bps, low, high, text, "Linux tcp_pacing_ss_ratio"
        )


def _limits(judge: _Judge, each: Socket) -> Iterator[Finding]:
    busy = each.milliseconds("busy")
    for key, whose in (("rwnd_limited", "the receiver's window"), ("sndbuf_limited", "the send buffer")):
        part = each.milliseconds(key)
        if busy and part is not None:
            text = f"{whose} limits the flow, not congestion control"
            yield judge(f"{key} / busy", part / busy, 0, 0.05, text, "RFC 4898, tcpEStatsPerfSndLimTime")
    if "app_limited" in each.words:
        text = "the application sends too little: this snapshot shows nothing about the path"
        yield judge("app_limited", 1, 0, 0, text, "ss(8)")


def of_discipline(each: Tree) -> Iterator[Finding]:
    """Findings of a queueing discipline."""
    kind = str(each.get("kind"))
    judge = _Judge(" ".join(str(each[key]) for key in ("dev", "kind", "handle") if each.get(key)))
    options = each["options"] if isinstance(each.get("options"), dict) else {}
    packets, drops = as_number(each.get("packets")), as_number(each.get("drops"))
    is_aqm = kind in AQMS
    if packets is not None and drops is not None and packets + drops >= LEAST_SEGMENTS:
        text = "the queue drops often: many flows, a small buffer, or a sender that ignores loss"
        yield judge("drops / packets", drops / (packets + drops), 0, 0.02 if is_aqm else 0.04, text, SIMULATED)
    rate, backlog = as_number(options.get("rate")), as_number(each.get("backlog"))
    if rate and backlog is not None:
        target_us = as_number(options.get("target")) or 5000.0
        most = 4 * target_us / 1e6 if is_aqm else 0.1
        yield judge("backlog / rate (s)", backlog / rate, 0, most, "a standing queue", "RFC 8289 section 4.2")
    delay_us = as_number(each.get("ldelay"))
    if delay_us is not None and is_aqm:
        target_us = as_number(options.get("target")) or 5000.0
        yield judge("ldelay (s)", delay_us / 1e6, 0, 4 * target_us / 1e6, "a standing queue", "RFC 8289 section 4.2")
    if kind in UNSHAPED and (over := as_number(each.get("overlimits"))) is not None:
        text = "a queue without a shaper holds packets back: the counter is of another discipline"
        yield judge("overlimits", over, 0, 0, text, "rule of thumb")
    if (full := as_number(each.get("drop_overlimit"))) is not None:
        yield judge("drop_overlimit", full, 0, 0, "the limit is too small for the AQM to act", "tc-codel(8)")
