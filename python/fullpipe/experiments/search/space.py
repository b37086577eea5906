"""Networks of a search: a dumbbell, and knobs that change it within bounds.

Each knob maps a number from 0 to 1 to its value. A knob with a plain value, such as no loss, has it for a part of that
range, so that the plain value is as likely as all others together. Values have three significant digits.

The scenario avoids phase effects of drop-tail queues (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
Gateways", 1992): starts are random within 0.1 s, access delays within 2 % of the base RTT, and the processing time is
the time of a packet on the link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = ["KNOBS", "MEASURED_S", "SETTLE_S", "Knob", "Point", "Role", "Space", "network"]

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

Point = Mapping[str, float]
"""Value of each knob."""

Role = tuple[str, Any]
"""Name of a flow, "tested" or "other", and its algorithm."""


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
        atom: Part of the range that has the plain value.
        log: Whether the scale is logarithmic.
        limits: Smallest and largest bounds that are allowed.
    """

    id: str
    meaning: str
    unit: str
    low: float
    high: float
    plain: float
    atom: float = 0.0
    log: bool = True
    limits: tuple[float, float] = (0.0, 0.0)

    def value(self, place: float) -> float:
        """Value at a place from 0 to 1."""
        if self.low == self.high:
            return self.low
        if place < self.atom:
            return self.plain
        rest = (place - self.atom) / (1 - self.atom)
        if self.log:
            return _rounded(self.low * (self.high / self.low) ** rest)
        return _rounded(self.low + (self.high - self.low) * rest)

    def allows(self, value: float) -> bool:
        """Whether a value is within the bounds, or is the plain value of a free knob."""
        free = self.low < self.high
        return self.low <= value <= self.high or (free and self.atom > 0 and value == self.plain)

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
        atom = self.atom if first <= self.plain <= last else 0.0
        if self.log and first == 0:
            first = last / 1000
        return replace(self, low=first, high=last, atom=atom)

    def _number(self, text: str) -> float | None:
        if (quantity := Quantity.parse(text.strip())) is not None:
            return quantity.value if quantity.base == self.unit else None
        try:
            return float(text) if self.unit in ("", "BDP") else None
        except ValueError:
            return None


KNOBS = (
    Knob("rate", "rate of the link", "bit/s", 1e6, 200e6, 10e6, limits=(1e5, 1e10)),
    Knob("rtt", "base RTT, of two flows the shorter one", "s", 0.005, 0.2, 0.04, limits=(0.001, 1.0)),
    Knob(
        "rtt_ratio", "base RTT of the other flow over that of the tested one", "", 0.1, 10, 1, 0.3, limits=(0.01, 100)
    ),
    Knob("buffer", "buffer in BDP of the shorter base RTT, at least 5 packets", "BDP", 0.1, 16, 1, limits=(0.01, 100)),
    Knob("loss", "random loss on the link", "", 1e-5, 0.01, 0, 0.5, limits=(0, 0.05)),
    Knob("late", "how much later the tested flow starts", "s", 0, 30, 0, 0.5, log=False, limits=(0, 60)),
    Knob("cross", "constant-rate datagrams over the rate", "", 0.01, 0.3, 0, 0.5, log=False, limits=(0, 0.5)),
    Knob("swing", "greater over lesser rate of a link that alternates", "", 1.1, 4, 1, 0.5, limits=(1, 16)),
    Knob("period", "time after which the rate has had both values", "s", 2, 20, 10, limits=(1, 60)),
    Knob("jitter", "mean random delay over base RTT, at most 10 ms", "", 1e-3, 0.1, 0, 0.5, limits=(0, 0.5)),
    Knob("rtt_drop", "drop of the tested flow's RTT for 2 ms of each 5 s", "s", 0, 0, 0, 0.2, limits=(0, 0.1)),
)
"""All knobs with their default bounds. The drop of the RTT is off unless a bound asks for it. The mean of a rate that
alternates is the rate.
"""


@dataclass(frozen=True)
class Space:
    """Knobs with the bounds of a search."""

    knobs: tuple[Knob, ...]

    @classmethod
    def of(cls, bounds: Mapping[str, str]) -> Space:
        """The knobs with other bounds, by the knob's name.

        Raises:
            InputError: A knob is unknown, or its bounds are not allowed.
        """
        names = [knob.id for knob in KNOBS]
        for name in bounds:
            if name not in names:
                raise InputError(unknown("bound", name, names))
        return cls(tuple(knob.bounded(bounds[knob.id]) if knob.id in bounds else knob for knob in KNOBS))

    @property
    def free(self) -> tuple[Knob, ...]:
        """Knobs whose value is not fixed."""
        return tuple(knob for knob in self.knobs if knob.low < knob.high)

    def point(self, places: Sequence[float]) -> dict[str, float]:
        """The point at a place of the unit cube, which has a dimension for each free knob."""
        at = dict(zip((knob.id for knob in self.free), places, strict=True))
        return tidy({knob.id: knob.value(at.get(knob.id, 0.0)) for knob in self.knobs})

    def changed(self, point: Point) -> list[Knob]:
        """Knobs that differ from the plain dumbbell."""
        return [knob for knob in self.knobs if point[knob.id] != knob.plain]


def tidy(point: Point) -> dict[str, float]:
    """The point with the period of a rate that does not change set to the plain one."""
    return {**point, "period": 10.0} if point["swing"] == 1 else dict(point)


def example(bounds: Mapping[str, str]) -> Scenario:
    """Network in the middle of the bounds, with both groups of flows."""
    space = Space.of(bounds)
    return network(space.point([0.5] * len(space.free)), (("tested", "newreno"), ("other", "newreno")))


def network(point: Point, roles: Iterable[Role]) -> Scenario:
    """Scenario of a point, with the flows of some roles.

    Raises:
        ScenarioError: An algorithm is unknown, or has a parameter that is not allowed.
    """
    rate, ratio, drop_s = point["rate"], point["rtt_ratio"], min(point["rtt_drop"], point["rtt"] / 2)
    short_s = point["rtt"]
    longest_s = max(short_s, LONGEST_RTT_S)
    own_s = {"tested": short_s * max(1.0, 1 / ratio), "other": short_s * max(1.0, ratio)}
    own_s = {name: min(longest_s, value_s) for name, value_s in own_s.items()}
    warmup_s = point["late"] + SETTLE_S
    link: dict[str, object] = {
        "name": "bottleneck",
        "rate": _rate(rate),
        "delay": _time(0.475 * short_s - drop_s / 2),
        "buffer": _buffer(point["buffer"], rate * short_s / PACKET_BITS),
    }
    if point["loss"]:
        link["loss"] = point["loss"]
    if point["jitter"]:
        link["jitter"] = {"mean": _time(min(point["jitter"] * short_s, 0.01))}
    if point["swing"] > 1:
        high = 2 * rate * point["swing"] / (1 + point["swing"])
        changes = [(0.0, high), (point["period"] / 2, 2 * rate - high)]
        link["schedule"] = [{"at": _time(at_s), "rate": _rate(value)} for at_s, value in changes]
        link["repeat"] = _time(point["period"])
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
        }
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
        tree["udp"] = [{"rate": _rate(point["cross"] * rate), "packet_size": 1500, **more}]
    return Scenario.from_dict(tree)


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
