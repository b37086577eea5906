"""Arguments of tc for the queue of a scenario, and settings that tc does not support.

A queueing discipline of the kernel holds the waiting packets; the rate limiter above it takes the next packet when the
link would be free. A packet that is being sent is in neither (see `fullpipe.linux.job`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import frexp
from typing import Self

from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import quoted, unknown
from fullpipe.linux.ways import whole
from fullpipe.scenario.quantity import Quantity

__all__ = [
    "ETHERNET_BYTES",
    "NAMES",
    "Discipline",
    "Line",
    "Refusal",
    "advised",
    "fifo",
    "limits",
    "named",
    "translate",
]

ETHERNET_BYTES = 14
"""Header that queues count on top of the IP packet."""
FIFOS = ("pfifo", "bfifo", "pfifo_fast")
"""Disciplines of the kernel without queue management."""
UNLIMITED_PACKETS = 10_000_000
MOST_BPS = 10**10
"""Upper limit of the rate limiter above a queue."""
MOST_BYTES = 2**31
"""Limit above the size of all queues here, where tc counts in bytes."""
SIXTEENTHS = 32
"""The most sixteenths that tc takes for PIE's alpha and beta."""
RED_BITS = 32
"""Bits of RED's average in the kernel, w_q's included."""


@dataclass(frozen=True)
class Discipline:
    """A qdisc: its name (the module is ``sch_NAME``), its arguments, and its differences from the scenario, by
    parameter.
    """

    kind: str
    words: tuple[str, ...]
    otherwise: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """The link of a queue: its rate, the size of full packets, and the maximum number of packets with the one being
    sent; None for no limit.
    """

    rate_bps: int
    packet_bytes: int
    limit_packets: int | None

    @classmethod
    def of(cls, link: Table, packet_bytes: int) -> Self:
        """The line of a link as a resolved scenario writes it. A buffer in bytes holds full packets. The rate of a link
        that follows a trace is 0.
        """
        rate_bps = whole(link["rate"]) if "rate" in link else 0
        packets, size = limits(link["buffer"], rate_bps, packet_bytes)
        return cls(rate_bps, packet_bytes, packets if size is None else size // packet_bytes)

    @property
    def waiting_packets(self) -> int:
        """How many may wait."""
        return UNLIMITED_PACKETS if self.limit_packets is None else self.limit_packets - 1

    @property
    def waiting_bytes(self) -> int:
        """How many bytes may wait."""
        return min(self.waiting_packets * self.packet_bytes, MOST_BYTES)


class Refusal(Exception):
    """A parameter, "" for the queue itself, and its fault."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}")
        self.key, self.what = key, what


def limits(text: str, rate_bps: int, packet_bytes: int) -> tuple[int | None, int | None]:
    """A buffer in packets or in bytes; one in time is the full packets sent in it, and the one being sent."""
    quantity = Quantity.parse(text)
    if quantity is None:
        return None, None
    if quantity.base == "s":
        return 1 + whole(text) * rate_bps // (8 * packet_bytes * 10**9), None
    return (whole(text), None) if quantity.base == "packets" else (None, whole(text))


def translate(queue: str | Table, line: Line) -> Discipline | None:
    """The kernel's counterpart of a queue as a resolved scenario writes it; None for drop-tail.

    Raises:
        Refusal: There is none, or not with these parameters.
    """
    params: Tree = {"name": queue} if isinstance(queue, str) else dict(queue)
    name = params.pop("name")
    if name == "drop-tail":
        return None
    if name not in _ALL:
        raise Refusal("", unknown("queue of the Linux engine", name, NAMES))
    _check(line, name)
    return _ALL[name](params, line)


def named(kind: str) -> str | None:
    """Queue of a queueing discipline of the kernel; None if there is none."""
    name = "drop-tail" if kind in FIFOS else kind.replace("_", "-")
    return name if name in NAMES else None


def fifo(line: Line) -> Discipline:
    """Drop-tail as a qdisc below another, where that has to keep a rate that changes.

    Raises:
        Refusal: The rate limiter cannot keep the rate, or nothing may wait.
    """
    _check(line, "drop-tail")
    return Discipline("pfifo", ("limit", str(line.waiting_packets)))


def advised(queue: str | Table, line: Line) -> Discipline:
    """The kernel's counterpart of a queue, for a person to configure on an interface; drop-tail too, at any rate.

    Raises:
        Refusal: There is none, or not with these parameters.
    """
    params: Tree = {"name": queue} if isinstance(queue, str) else dict(queue)
    name = params.pop("name")
    if line.waiting_packets < 1:
        raise Refusal("", f"{name} on Linux requires a buffer of at least 2 packets")
    if name == "drop-tail":
        return Discipline("pfifo", ("limit", str(line.waiting_packets)))
    if name not in {**_ALL, **_ADVISED}:
        raise Refusal("", f"tc has no queue such as {name}")
    return {**_ALL, **_ADVISED}[name](params, line)


def _check(line: Line, name: str) -> None:
    if line.rate_bps % 1000 or line.rate_bps >= MOST_BPS:
        raise Refusal("", f"{name} on Linux requires a rate in whole kbit/s below 10 Gbit/s")
    if line.waiting_packets < 1:
        raise Refusal("", f"{name} on Linux requires a buffer of at least 2 packets")


def _codel(params: Table, line: Line) -> Discipline:
    return Discipline("codel", ("limit", str(line.waiting_packets), *_control(params, line)), _root(params))


def _fq_codel(params: Table, line: Line) -> Discipline:
    _only(params, "floor", "all", "the kernel's CoDel counts the bytes of all queues")
    words = (
        *("limit", str(line.waiting_packets), "memory_limit", str(MOST_BYTES)),
        *("flows", str(params["flows"]), "quantum", str(_whole(params["quantum"]))),
        *("drop_batch", str(_whole(params["drop_batch"]))),
    )
    return Discipline("fq_codel", (*words, *_control(params, line)), _root(params))


def _control(params: Table, line: Line) -> tuple[str, ...]:
    """Parameters of codel and fq_codel."""
    if _whole(params["mtu"]) != line.packet_bytes:
        raise Refusal("mtu", f'must be the packet size for tc, "{line.packet_bytes} B", got {quoted(params["mtu"])}')
    words = ["target", _microseconds(params, "target"), "interval", _microseconds(params, "interval")]
    if params["ce_threshold"] != "off":
        words += ["ce_threshold", _microseconds(params, "ce_threshold")]
    return (*words, "ecn" if params["ecn"] else "noecn")


def _root(params: Table) -> tuple[tuple[str, str], ...]:
    """Warning for CoDel's exact square root, which the kernel approximates (reports/linux.md has the effect)."""
    if params["sqrt"] == "newton":
        return ()
    return (
        (
            "sqrt",
            'the kernel computes one Newton step per drop, as variant = "linux"; the simulator computes the exact root',
        ),
    )


def _step(params: Table, line: Line) -> Discipline:
    """CoDel that never drops: its target and interval are the longest that its 32 bits of 1024 ns compare."""
    if not _is_time(params["threshold"]):
        raise Refusal("threshold", 'must be a time such as "1 ms" for tc')
    words = ("target", NEVER, "interval", NEVER, "ce_threshold", _microseconds(params, "threshold"), "noecn")
    return Discipline("codel", ("limit", str(line.waiting_packets), *words))


def _pie(params: Table, line: Line) -> Discipline:
    words = _controller(params)
    _only(params, "delay", "timestamp", "the kernel uses timestamps")
    return Discipline("pie", ("limit", str(line.waiting_packets), *words))


def _fq_pie(params: Table, line: Line) -> Discipline:
    words = (
        *("limit", str(line.waiting_packets), "memory_limit", str(MOST_BYTES)),
        *("flows", str(params["flows"]), "quantum", str(_whole(params["quantum"]))),
    )
    return Discipline("fq_pie", (*words, *_controller(params)))


def _controller(params: Table) -> tuple[str, ...]:
    """Parameters of pie and fq_pie."""
    _only(params, "variant", "linux", "the kernel's PIE differs from the RFC's")
    fixed = {
        "max_burst": ("150 ms", "the kernel's burst allowance is fixed"),
        "ecn_threshold": (0.1, "the kernel marks below a probability of 0.1"),
        "derandomize": (True, "the kernel always does"),
        "cap_step": (True, "the kernel always does"),
        "decay": ("empty", "the kernel's p decays so"),
        "decay_factor": (63 / 64, "the kernel's is 63/64"),
        "long_delay_step": (True, "the kernel always takes it"),
    }
    for key, (value, why) in fixed.items():
        _only(params, key, value, why)
    return (
        *("target", _microseconds(params, "target"), "tupdate", _microseconds(params, "update")),
        *("alpha", _sixteenths(params, "alpha"), "beta", _sixteenths(params, "beta")),
        "ecn" if params["ecn"] else "noecn",
    )


def _cake(params: Table, line: Line) -> Discipline:
    """CAKE in the Linux engine."""
    _only(params, "isolation", "flows", "flows on Linux share hosts")
    return _any_cake(params, line, ETHERNET_BYTES)


def _any_cake(params: Table, line: Line, header_bytes: int = 0) -> Discipline:
    """CAKE, whose limit is an amount of kernel memory: as much as full packets take there.

    With ``overhead`` the kernel counts IP packets, so ``header_bytes`` is what the scenario's sizes have beyond them.
    """
    _only(params, "flows", 1024, "the kernel has 1024 queues in a tin")
    _only(params, "root", "linux", "the kernel begins at 0")
    rtt, target = (Quantity.parse(params[key]) for key in ("rtt", "target"))
    assert rtt is not None
    assert target is not None
    if abs(target.value - rtt.value / 20) > NANOSECOND:
        raise Refusal("target", f"must be a twentieth of rtt for tc, got {quoted(params['target'])}")
    overhead, mpu = round(params["overhead"]) + header_bytes, _whole(params["mpu"])
    bandwidth = () if params["bandwidth"] == "unlimited" else ("bandwidth", f"{whole(params['bandwidth'])}bit")
    words = (
        *(bandwidth or ("unlimited",)),
        *("rtt", _microseconds(params, "rtt")),
        "besteffort" if params["diffserv"] == "auto" else params["diffserv"],
        ISOLATION.get(params["isolation"], params["isolation"]),
        "no-ack-filter",
        *("no-split-gso", "nonat", "nowash"),
        *("overhead", str(overhead), "mpu", str(mpu), {"none": "noatm"}.get(params["framing"], params["framing"])),
        *("memlimit", str(min(line.waiting_packets * _memory(line.packet_bytes), MOST_BYTES))),
        "ingress" if params["ingress"] else "egress",
    )
    memory = (
        f"the kernel limits memory, of which a packet of {line.packet_bytes} B takes {_memory(line.packet_bytes)} B"
    )
    return Discipline("cake", words, (("limit", memory),))


def _memory(packet_bytes: int) -> int:
    """Kernel memory of a packet in bytes, about 1.5 times its size."""
    return packet_bytes * 3 // 2


def _dualpi2(params: Table, line: Line) -> Discipline:
    """DualPI2 with the kernel's own gains, which follow from its target and RTT as those of RFC 9332 do."""
    return Discipline("dualpi2", ("limit", str(line.waiting_packets), "target", _microseconds(params, "target")))


def _red(params: Table, line: Line) -> Discipline:
    _only(params, "gentle", False, "the kernel drops everything from max_th on")
    _only(params, "gaps", "drawn", "the kernel draws once a gap")
    low, high = (_whole(params[key]) * line.packet_bytes for key in ("min_th", "max_th"))
    probability = params["max_p"]
    if not (high - low) / 2**31 < probability < 1:
        raise Refusal("max_p", f"must be in (0, 1) for tc, got {probability:g}")
    bits = _bits(params["w_q"])
    if high.bit_length() + bits >= RED_BITS:
        raise Refusal(
            "max_th",
            f"must be smaller for tc with this w_q: the average has {RED_BITS} bits, of which w_q takes {bits}",
        )
    words = (
        *("limit", str(line.waiting_bytes), "min", str(low), "max", str(high)),
        *("avpkt", str(line.packet_bytes), "burst", str(_burst(low / line.packet_bytes, bits))),
        *("probability", f"{probability:.10g}", "bandwidth", f"{line.rate_bps}bit"),
        *(("ecn", "harddrop") if params["ecn"] else ()),
    )
    return Discipline("red", words)


def _bits(weight: float) -> int:
    """The k of a w_q of 2^-k."""
    fraction, exponent = frexp(weight)
    if fraction != 0.5 or exponent > 0:
        raise Refusal("w_q", f"must be a power of two for tc, such as 0.001953125 (1/512), got {weight:g}")
    return 1 - exponent


def _burst(min_packets: float, bits: int) -> int:
    """The burst, packets, from which tc works out a w_q of 2^-bits.

    It takes the greatest power of two with which such a burst into an empty queue leaves the average below min_th:
    S. Floyd, V. Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, 1993, section 6.
    """

    def bits_of(burst: int) -> int:
        excess = burst + 1 - min_packets
        return next((k for k in range(1, RED_BITS) if excess <= (1 - (1 - 2.0**-k) ** burst) * 2**k), RED_BITS)

    low, high = int(min_packets), MOST_BYTES
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bits_of(middle) >= bits else (middle + 1, high)
    if bits_of(low) != bits:
        raise Refusal("w_q", f"must fit min_th for tc, got {2.0**-bits:g}; try a larger value")
    return low


def _only(params: Table, key: str, allowed: object, why: str) -> None:
    """Refuses another value than the kernel's."""
    if params[key] != allowed:
        shown = str(allowed).lower() if isinstance(allowed, bool | float) else f'"{allowed}"'
        raise Refusal(key, f"must be {shown} for tc: {why}")


def _microseconds(params: Table, key: str) -> str:
    quantity = Quantity.parse(params[key])
    assert quantity is not None
    micros = round(quantity.value * 1e9) / 1e3
    if micros != int(micros):
        raise Refusal(key, f"must be whole microseconds for tc, got {quoted(params[key])}")
    return f"{int(micros)}us"


def _sixteenths(params: Table, key: str) -> str:
    sixteenths = params[key] * 16
    if sixteenths != int(sixteenths) or not 1 <= sixteenths <= SIXTEENTHS:
        raise Refusal(key, f"must be in [0.0625, 2] in steps of 0.0625 for tc, got {params[key]:g}")
    return str(int(sixteenths))


def _is_time(text: str) -> bool:
    quantity = Quantity.parse(text)
    return quantity is not None and quantity.base == "s"


def _whole(text: str) -> int:
    """Packets or bytes."""
    quantity = Quantity.parse(text)
    assert quantity is not None
    return round(quantity.value)


NEVER = "2000s"
NANOSECOND = 1e-9
ISOLATION = {"triple": "triple-isolate", "none": "flowblind"}
"""Words of tc-cake(8) that differ from the scenario's."""
_ALL: Mapping[str, Callable[[Table, Line], Discipline]] = {
    "cake": _cake,
    "codel": _codel,
    "fq-codel": _fq_codel,
    "fq-pie": _fq_pie,
    "pie": _pie,
    "red": _red,
    "step": _step,
}
"""Parameters of each queue with their defaults (docs/reference/queues), and their arguments for tc."""

_ADVISED: Mapping[str, Callable[[Table, Line], Discipline]] = {"cake": _any_cake, "dualpi2": _dualpi2}
"""Queues that tc knows and the Linux engine does not run like that: tc-dualpi2(8) (kernel 6.17), CAKE with hosts."""

NAMES = ("drop-tail", *_ALL)
"""The queues that the kernel has."""
