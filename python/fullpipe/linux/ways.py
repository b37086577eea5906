"""Arguments of tc for a direction of a link, without its queue: losses, reordering, policing, and changes over time.

A netem behind the link loses and reorders (see `fullpipe.linux.job`), so that lost packets have been sent. A policer is
a filter before the queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fullpipe._util.plain import Table
from fullpipe.scenario.quantity import Quantity

__all__ = ["Refusal", "Way", "translate", "whole"]

LEAST_BPS = 1000
"""Lowest rate of the rate limiter above a queue, which cannot stop."""
MOST_CHANGES = 256
"""Of one direction."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class Way:
    """One direction of a link.

    Attributes:
        rates: Times in nanoseconds with the rate from then on in bit/s; the first time is 0.
        wires: Times in nanoseconds with the arguments of the netem behind the link from then on; the first time is 0.
            Empty without a netem.
        policer: Arguments of the filter before the queue; empty without one.
    """

    rates: tuple[tuple[int, int], ...]
    wires: tuple[tuple[int, Words], ...] = ()
    policer: Words = ()

    @property
    def changes_rate(self) -> bool:
        """Whether the rate is another later."""
        return len(self.rates) > 1

    def sent_bits(self, begin_ns: int, end_ns: int) -> float:
        """Capacity of the direction from one time to another."""
        ends = [at for at, _ in self.rates[1:]] + [end_ns]
        parts = ((max(at, begin_ns), min(end, end_ns), rate) for (at, rate), end in zip(self.rates, ends, strict=True))
        return sum((end - at) * rate for at, end, rate in parts if end > at) / 1e9


class Refusal(Exception):
    """A key and its fault."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}")
        self.key, self.what = key, what


def translate(direction: Table, duration_ns: int) -> Way:
    """One direction as a resolved scenario writes it, until the end of the run.

    Raises:
        Refusal: The kernel cannot do that.
    """
    loss, reorder = direction["loss"], direction.get("reorder")
    steps = list(_steps(direction, duration_ns))
    if len(steps) > MOST_CHANGES:
        raise Refusal(
            "schedule", f"must have at most {MOST_CHANGES} changes in a run on the Linux engine, got {len(steps)}"
        )
    rates = [(0, whole(direction["rate"]))]
    wires = [(0, _wire(loss, reorder))]
    for at_ns, step in steps:
        if "delay" in step:
            raise Refusal("schedule", "must change only rate and loss on the Linux engine, got a delay")
        if "rate" in step:
            rates.append((at_ns, _rate(step["rate"])))
        if "loss" in step:
            wires.append((at_ns, _wire(step["loss"], reorder)))
    wired = len(wires) > 1 or bool(loss) or reorder is not None
    return Way(tuple(rates), tuple(wires) if wired else (), _policer(direction.get("policer")))


def _steps(direction: Table, duration_ns: int) -> Iterator[tuple[int, Table]]:
    """The changes with their times, those that come again included."""
    schedule = direction.get("schedule", [])
    every_ns = whole(direction["repeat"]) if schedule and "repeat" in direction else 0
    begin_ns = 0
    while schedule and begin_ns < duration_ns:
        if begin_ns:
            yield begin_ns, {key: direction[key] for key in ("rate", "loss") if any(key in step for step in schedule)}
        for step in schedule:
            if (at_ns := begin_ns + whole(step["at"])) < duration_ns:
                yield at_ns, {key: value for key, value in step.items() if key != "at"}
        if not every_ns:
            return
        begin_ns += every_ns


def _rate(text: str) -> int:
    rate_bps = whole(text)
    if rate_bps < LEAST_BPS or rate_bps % 1000:
        raise Refusal("schedule", "rates must be whole kbit/s above 0 on the Linux engine")
    return rate_bps


def _wire(loss: float | Table, reorder: Table | None) -> Words:
    """Arguments of netem, which takes the part that is not delayed; the scenario has the part that is delayed."""
    words: Words = ()
    if reorder is not None:
        late_us = whole(reorder["delay"]) / 1e3
        words += ("delay", f"{late_us:.3f}us", "reorder", _percent(1 - reorder["probability"]))
    if isinstance(loss, Mapping):
        chances = (loss["p"], loss["r"], 1 - loss["h"], 1 - loss["k"])
        words += ("loss", "gemodel", *map(_percent, chances))
    elif loss:
        words += ("loss", "random", _percent(loss))
    return words


def _policer(policer: Table | None) -> Words:
    if policer is None:
        return ()
    rate_bps, burst = whole(policer["rate"]), whole(policer["burst"])
    return ("police", "rate", f"{rate_bps}bit", "burst", f"{burst}b", "conform-exceed", "drop/pass")


def _percent(part: float) -> str:
    return f"{100 * part:.7g}%"


def whole(text: str) -> int:
    """A quantity as the scenario model writes it, in nanoseconds, bits per second, bytes or packets."""
    quantity = Quantity.parse(text)
    assert quantity is not None
    return round(quantity.value * (1e9 if quantity.base == "s" else 1))
