"""Networks of a search: a dumbbell, and knobs that change it within bounds.

Each knob maps a number from 0 to 1 to its value, which has three significant digits. Knobs such as loss are extras: a
network can do without them.

The scenario avoids phase effects of drop-tail queues (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
Gateways", 1992): starts are random within 0.1 s, access delays within 2 % of the base RTT, and the processing time is
the time of a packet on the link. All flows repair losses by RACK (RFC 8985), which undoes the reductions of a timeout
that was spurious: with SACK alone, a rate that alternates makes timeouts that have nothing to do with the algorithm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = [
    "ATTACK",
    "CHANGES",
    "DROP_TAIL",
    "KNOBS",
    "MEASURED_S",
    "SCALES",
    "SETTLE_S",
    "STEP_NUMBERS",
    "TRANSFERS",
    "TRANSFER_ROOM_S",
    "Knob",
    "Point",
    "Role",
    "Space",
    "network",
    "wanted",
]

RECOVERY = "rack"
"""Loss recovery of all flows."""

SETTLE_S = 15.0
"""Time between the last start and the measuring window, seconds."""

MEASURED_S = 30.0
"""Length of the measuring window, seconds: at least 150 round trips of a base RTT of 200 ms."""

PACKET_BITS = 1500 * 8

LONGEST_RTT_S = 0.2
"""Largest base RTT that `rtt_ratio` makes: with a longer one the measuring window would be part of the start-up."""

LEAST_PACKETS = 5
"""Smallest buffer; below it every sender fails."""

DROP_S, DROP_EVERY_S = 0.002, 5.0
"""Length of a shorter delay, and time between two of them, seconds: 0.04 % of the time."""

OUTAGE_EVERY = 50
"""Time from one outage to the next, over its length: outages take 2 % of the time."""

STEPS = 4
"""Changes of the rate that are not periodic. Each has an equal part of the measuring window for itself."""

STEP_NUMBERS = range(1, STEPS + 1)

STEP_ROOM_S = MEASURED_S / STEPS - 1.0
"""Time in which a change comes, from the begin of its part: two changes are a second apart at least, seconds."""

TRANSFERS = "transfers"
"""Name of the flows that carry 100 kB each in place of the bulk of the other one."""

TRANSFER_COUNT, TRANSFER_ROOM_S = 10, 10.0
"""Transfers in the measuring window, and the time that the last one has at least, seconds."""

Point = Mapping[str, float]
"""Value of each knob."""

Role = tuple[str, Any]
"""Name of a flow, "tested", "other", or `TRANSFERS`, and its algorithm."""


@dataclass(frozen=True)
class Knob:
    """A property of the network.

    Attributes:
        id: Its name.
        meaning: Its meaning.
        unit: Unit of the bounds: "bit/s", "s", "BDP", or "" for a number.
        low: Lower bound.
        high: Upper bound; equal to the lower one where the value is fixed.
        plain: Value in the plain dumbbell.
        is_extra: Whether a network can do without it: it has its plain value then.
        needs: Knob without which this one has no effect.
        log: Whether the scale is logarithmic.
        limits: Smallest and largest bounds that are allowed.
        is_whole: Whether its values are whole numbers.
    """

    id: str
    meaning: str
    unit: str
    low: float
    high: float
    plain: float
    is_extra: bool = False
    needs: str = ""
    log: bool = True
    limits: tuple[float, float] = (0.0, 0.0)
    is_whole: bool = False

    def value(self, place: float | None) -> float:
        """Value at a place from 0 to 1; None is the plain value."""
        if self.low == self.high:
            return self.low
        if place is None:
            return self.plain
        if self.is_whole:
            return float(round(self.low + (self.high - self.low) * place))
        if self.log:
            return _rounded(self.low * (self.high / self.low) ** place)
        return _rounded(self.low + (self.high - self.low) * place)

    def allows(self, value: float) -> bool:
        """Whether a value is within the bounds, or is the plain value of a free knob."""
        return self.low <= value <= self.high or (self.low < self.high and self.is_extra and value == self.plain)

    def bounded(self, text: str) -> Knob:
        """The knob with other bounds, such as ``"1..200 Mbit/s"``, ``"0.1 BDP..2 BDP"``, or a value such as ``"0"``.

        Raises:
            InputError: The text is no range or value in the knob's unit, or is out of the limits.
        """
        low, dots, high = text.partition("..")
        high = high if dots else low
        suffix = re.sub(r"^[\s\d.eE+-]*", "", high)
        ends = [self._number(end if re.search(r"[A-Za-z]$", end.strip()) else f"{end} {suffix}") for end in (low, high)]
        least, most = self.limits
        if None in ends or not least <= ends[0] <= ends[1] <= most:  # type: ignore[operator]
            unit = f" {self.unit}" if self.unit else ""
            what = f"LOW..HIGH or a value in [{least:g}{unit}, {most:g}{unit}]"
            raise InputError(f"bound {self.id} must be {what}, got {quoted(text)}")
        first, last = float(ends[0] or 0), float(ends[1] or 0)
        if first == last:
            return replace(self, low=first, high=last)
        is_extra = self.is_extra and first <= self.plain <= last
        if self.log and first == 0:
            first = last / 1000
        return replace(self, low=first, high=last, is_extra=is_extra)

    def text(self) -> str:
        """Its bounds, or its one value, in the form that `bounded` reads. The plain value of an extra counts."""
        factor, unit = (1.0, " s") if self.unit == "s" and self.high >= 1 else SCALES[self.unit]
        low = min(self.low, self.plain) if self.is_extra and self.low < self.high else self.low
        return "..".join(f"{end * factor:g}" for end in dict.fromkeys((low, self.high))) + unit

    def _number(self, text: str) -> float | None:
        if (quantity := Quantity.parse(text.strip())) is not None:
            return quantity.value if quantity.base == self.unit else None
        try:
            value = float(text)
        except ValueError:
            return None
        return value if self.unit in ("", "BDP") or value == 0 else None


SCALES = {"bit/s": (1e-6, " Mbit/s"), "s": (1e3, " ms"), "BDP": (1.0, " BDP"), "": (1.0, "")}
"""Factor and unit in texts and tables, by a knob's unit."""

KNOBS = (
    Knob("rate", "rate of the link", "bit/s", 1e6, 200e6, 10e6, limits=(1e5, 1e10)),
    Knob("rtt", "base RTT, of two flows the shorter one", "s", 0.005, 0.2, 0.04, limits=(0.001, 1.0)),
    Knob(
        "rtt_ratio", "base RTT of the other flow over that of the tested one", "", 0.1, 10, 1, True, limits=(0.01, 100)
    ),
    Knob("buffer", "buffer in BDP of the shorter base RTT, at least 5 packets", "BDP", 0.1, 16, 1, limits=(0.01, 100)),
    Knob("loss", "random loss on the link", "", 1e-5, 0.01, 0, True, limits=(0, 0.05)),
    Knob("late", "how much later the tested flow starts", "s", 0, 30, 0, True, log=False, limits=(0, 60)),
    Knob("cross", "constant-rate datagrams over the rate", "", 0.01, 0.3, 0, True, log=False, limits=(0, 0.5)),
    Knob("swing", "greater over lesser rate of a link that alternates", "", 1.1, 4, 1, True, limits=(1, 16)),
    Knob("period", "time after which the rate has had both values", "s", 2, 20, 10, needs="swing", limits=(1, 60)),
    Knob("jitter", "mean random delay over base RTT, at most 10 ms", "", 1e-3, 0.1, 0, True, limits=(0, 0.5)),
    Knob("outage", "time without a rate, once in 50 times as long", "s", 0.02, 0.5, 0, True, limits=(0, 0.5)),
    Knob("rtt_drop", "drop of the tested flow's RTT for 2 ms of each 5 s", "s", 0, 0, 0, True, limits=(0, 0.1)),
    Knob("flows", "flows of the tested algorithm", "", 1, 1, 1, True, log=False, limits=(1, 64), is_whole=True),
    Knob("pulse", "period of pulses of the datagrams", "s", 0, 0, 0, True, needs="cross", limits=(0, 5)),
    *(
        Knob(f"step{i}", f"factor on the rate after change {i}", "", 1, 1, 1, True, limits=(0.25, 4))
        for i in STEP_NUMBERS
    ),
    *(
        Knob(
            f"at{i}",
            f"time of change {i} after {MEASURED_S / STEPS * (i - 1):g} s of the window",
            "s",
            0,
            STEP_ROOM_S,
            0,
            needs=f"step{i}",
            log=False,
            limits=(0, STEP_ROOM_S),
        )
        for i in STEP_NUMBERS
    ),
)
"""All knobs with their default bounds. Those from the drop of the RTT on are off unless a bound asks for them. A rate
that changes keeps its mean.
"""

PLAIN = {knob.id: knob.plain for knob in KNOBS}


LINK_KEY = re.compile(r"links\.[^.]+\.(rate|buffer|loss)")
"""Key of a link that has a knob: a network has one bottleneck, whatever its name."""

DROP_TAIL = "drop-tail"

ATTACK = {"pulse": "0.1..5 s"}
"""Bounds of pulses of cross traffic: the low-rate attack that CC-Fuzz found again (Ray and Seshan, HotNets 2022)."""

CHANGES = {f"step{i}": "0.25..4" for i in STEP_NUMBERS}
"""Bounds of changes of the rate that are not periodic."""


@dataclass(frozen=True)
class Space:
    """Knobs with the bounds of a search, and the queueing discipline of its networks."""

    knobs: tuple[Knob, ...]
    queue: str = DROP_TAIL

    @classmethod
    def of(cls, bounds: Mapping[str, str], queue: str = DROP_TAIL) -> Space:
        """The knobs with other bounds, by the knob's name, or by the key of the link such as ``links.l.rate``.

        Raises:
            InputError: A knob is unknown, or its bounds are not allowed.
        """
        names = [knob.id for knob in KNOBS]
        bounds = {LINK_KEY.sub(r"\1", name): text for name, text in bounds.items()}
        for name in bounds:
            if name not in names:
                raise InputError(unknown("bound", name, names))
        return cls(tuple(knob.bounded(bounds[knob.id]) if knob.id in bounds else knob for knob in KNOBS), queue)

    @property
    def free(self) -> tuple[Knob, ...]:
        """Knobs whose value is not fixed, and has an effect in some network."""
        fixed = {knob.id for knob in self.knobs if knob.low == knob.high == knob.plain}
        return tuple(knob for knob in self.knobs if knob.low < knob.high and knob.needs not in fixed)

    @property
    def extras(self) -> list[tuple[int, ...]]:
        """Places among the free knobs of each one that a network can do without, and of those that need it."""
        free = self.free
        return [
            tuple(i for i, knob in enumerate(free) if extra.id in (knob.id, knob.needs))
            for extra in free
            if extra.is_extra and not extra.needs
        ]

    def texts(self) -> dict[str, str]:
        """Bounds of the free knobs, and values of those that are fixed elsewhere than in the plain network."""
        fixed = [knob for knob in self.knobs if knob.low == knob.high != knob.plain]
        return {knob.id: knob.text() for knob in (*self.free, *fixed)}

    def point(self, place: Sequence[float | None]) -> dict[str, float]:
        """The point at a place of the unit cube, which has a dimension for each free knob; None is the plain value."""
        at = dict(zip((knob.id for knob in self.free), place, strict=True))
        return tidy({knob.id: knob.value(at.get(knob.id, 0.0)) for knob in self.knobs})

    def causes(self, point: Point) -> frozenset[str]:
        """Knobs that could have had their plain value, and have not."""
        return frozenset(
            knob.id for knob in self.free if knob.is_extra and not knob.needs and point[knob.id] != knob.plain
        )

    def changed(self, point: Point) -> list[Knob]:
        """Knobs that differ from the plain dumbbell."""
        return [knob for knob in self.knobs if point[knob.id] != knob.plain]


def tidy(point: Point) -> dict[str, float]:
    """The point with those knobs plain that have no effect, such as the period of a rate that does not change."""
    idle = [knob.id for knob in KNOBS if knob.needs and point[knob.needs] == PLAIN[knob.needs]]
    return {**point, **{name: PLAIN[name] for name in idle}}


def wanted(bounds: Mapping[str, str] | None, *, attack: bool, changes: bool) -> dict[str, str]:
    """Bounds with those of pulses and of changes that are not periodic, if asked for."""
    return {**(ATTACK if attack else {}), **(CHANGES if changes else {}), **(bounds or {})}


def example(bounds: Mapping[str, str]) -> Scenario:
    """Network in the middle of the bounds, with both groups of flows."""
    space = Space.of(bounds)
    return network(space.point([0.5] * len(space.free)), (("tested", "newreno"), ("other", "newreno")))


def network(point: Point, roles: Iterable[Role], queue: str = DROP_TAIL) -> Scenario:
    """Scenario of a point, with the flows of some roles.

    Raises:
        ScenarioError: An algorithm or the queue is unknown, or has a parameter that is not allowed.
    """
    rate, ratio, drop_s = point["rate"], point["rtt_ratio"], min(point["rtt_drop"], point["rtt"] / 2)
    short_s = point["rtt"]
    longest_s = max(short_s, LONGEST_RTT_S)
    own_s = {"tested": short_s * max(1.0, 1 / ratio), "other": short_s * max(1.0, ratio)}
    own_s = {name: min(longest_s, value_s) for name, value_s in own_s.items()}
    own_s[TRANSFERS] = own_s["other"]
    warmup_s = point["late"] + SETTLE_S
    link: dict[str, object] = {
        "name": "bottleneck",
        "rate": _rate(rate),
        "delay": _time(0.475 * short_s - drop_s / 2),
        "buffer": _buffer(point["buffer"], rate * short_s / PACKET_BITS),
    }
    if queue != DROP_TAIL:
        link["queue"] = queue
    if point["loss"]:
        link["loss"] = point["loss"]
    if point["jitter"]:
        link["jitter"] = {"mean": _time(min(point["jitter"] * short_s, 0.01))}
    link |= _changes(point, warmup_s)
    flows = []
    for name, algorithm in sorted(roles, key=lambda role: own_s[role[0]]):
        dropped = drop_s if name == "tested" else 0.0
        spare_s = (own_s[name] - 0.95 * short_s + drop_s - dropped) / 2
        late_s = point["late"] if name == "tested" else 0.0
        flow = {
            "name": name,
            "algorithm": algorithm,
            "start": f"{_time(late_s)}..{_time(late_s + 0.1)}",
            "access_delay": f"{_time(spare_s - 0.01 * short_s)}..{_time(spare_s + 0.01 * short_s)}",
            "processing_time": _time(PACKET_BITS / rate),
            "recovery": RECOVERY,
        }
        if name == "tested" and point["flows"] > 1:
            flow["count"] = int(point["flows"])
        if name == TRANSFERS:
            last_s = warmup_s + MEASURED_S - TRANSFER_ROOM_S
            flow |= {"count": TRANSFER_COUNT, "size": "100 kB", "start": f"{_time(warmup_s)}..{_time(last_s)}"}
        if drop_s:
            flow["path"] = ["side", "bottleneck"] if dropped else ["bottleneck"]
        flows.append(flow)
    tree: dict[str, object] = {
        "duration": _time(warmup_s + MEASURED_S),
        "warmup": _time(warmup_s),
        "packet_size": 1500,
        "series_interval": "off",
        "links": [link, _side(drop_s)] if drop_s and any("side" in flow.get("path", ()) for flow in flows) else [link],
        "flows": flows,
    }
    if point["cross"]:
        more = {"path": ["bottleneck"]} if drop_s else {}
        tree["udp"] = [{**_datagrams(point), "packet_size": 1500, **more}]
    return Scenario.from_dict(tree)


def _datagrams(point: Point) -> dict[str, object]:
    """Datagrams at a constant rate, or in pulses at the rate of the link with the same mean."""
    mean = point["cross"] * point["rate"]
    if not point["pulse"]:
        return {"rate": _rate(mean)}
    frames = {"per_second": 1 / point["pulse"], "size": f"{max(1500, round(mean * point['pulse'] / 8))} B"}
    return {"rate": _rate(point["rate"]), "frames": frames}


def _changes(point: Point, warmup_s: float) -> dict[str, object]:
    """Schedule of the link: a rate that alternates, changes at any time, and outages."""
    end_s = warmup_s + MEASURED_S
    steps = _steps(point, warmup_s)
    if not point["outage"] and len(steps) == 1:
        if point["swing"] == 1:
            return {}
        schedule = [{"at": _time(at_s), "rate": _rate(rate)} for at_s, rate in _swings(point, point["period"])]
        return {"schedule": schedule, "repeat": _time(point["period"])}
    swings = _swings(point, end_s)
    outages = _outages(point, end_s)
    times_s = {0.0, *(at_s for at_s, _ in [*swings, *steps]), *(at_s for pair in outages for at_s in pair)}
    schedule = []
    for at_s in sorted(time_s for time_s in times_s if time_s < end_s):
        is_out = any(from_s <= at_s < to_s for from_s, to_s in outages)
        rate = 0.0 if is_out else _at(swings, at_s) * _at(steps, at_s)
        schedule.append({"at": _time(at_s), "rate": _rate(rate)})
    return {"schedule": schedule}


def _swings(point: Point, end_s: float) -> list[tuple[float, float]]:
    """Times before an end, seconds, and the rate from then on: alternating, with equal halves."""
    rate, half_s = point["rate"], point["period"] / 2
    high = 2 * rate * point["swing"] / (1 + point["swing"])
    if point["swing"] == 1:
        return [(0.0, rate)]
    return [(_tick(i * half_s), 2 * rate - high if i % 2 else high) for i in range(math.ceil(end_s / half_s))]


def _steps(point: Point, warmup_s: float) -> list[tuple[float, float]]:
    """Times, and the factor on the rate from then on, with a mean of 1 over the measuring window."""
    part_s = MEASURED_S / STEPS
    found = [
        (_tick(warmup_s + part_s * (i - 1) + point[f"at{i}"]), point[f"step{i}"])
        for i in STEP_NUMBERS
        if point[f"step{i}"] != 1
    ]
    if not found:
        return [(0.0, 1.0)]
    steps = [(warmup_s, 1.0), *found]
    ends_s = [*(at_s for at_s, _ in found), warmup_s + MEASURED_S]
    mean = math.fsum(factor * (to_s - at_s) for (at_s, factor), to_s in zip(steps, ends_s, strict=True)) / MEASURED_S
    return [(0.0, 1 / mean), *((at_s, factor / mean) for at_s, factor in found)]


def _outages(point: Point, end_s: float) -> list[tuple[float, float]]:
    """Begin and end of each outage, seconds."""
    length_s = point["outage"]
    if not length_s:
        return []
    starts_s = (_tick(i * length_s * OUTAGE_EVERY) for i in range(1, math.ceil(end_s)))
    return [(at_s, _tick(at_s + length_s)) for at_s in starts_s if at_s < end_s]


def _tick(value_s: float) -> float:
    """Time of a change as the scenario has it: two changes at one time are one."""
    return round(value_s, 4)


def _at(values: Sequence[tuple[float, float]], at_s: float) -> float:
    """The last value that began by then."""
    return [value for begun_s, value in values if begun_s <= at_s][-1]


def _side(drop_s: float) -> dict[str, object]:
    """Link of the tested flow alone, whose data takes no time for `DROP_S` of each `DROP_EVERY_S`."""
    at_s = DROP_EVERY_S / 2
    return {
        "name": "side",
        "rate": "10 Gbit/s",
        "delay": _time(drop_s),
        "buffer": "100000 packets",
        "schedule": [{"at": _time(at_s), "delay": "0 s"}, {"at": _time(at_s + DROP_S), "delay": _time(drop_s)}],
        "repeat": _time(DROP_EVERY_S),
        "reverse": {"delay": "0 s", "schedule": []},
    }


def _buffer(bdps: float, packets: float) -> str:
    return f"{bdps:g} BDP" if bdps * packets >= LEAST_PACKETS else f"{LEAST_PACKETS} packets"


def _rate(value: float) -> str:
    return f"{float(f'{value / 1e6:.6g}'):g} Mbit/s"


def _time(value_s: float) -> str:
    return f"{round(value_s * 1e3, 4):g} ms" if value_s < 1 else f"{round(value_s, 4):g} s"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
