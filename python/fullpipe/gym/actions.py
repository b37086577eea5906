"""Actions: effects of the number of a policy on the window and the pacing rate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.gym.features import Raw, Values
from fullpipe.scenario.quantity import Quantity

__all__ = ["ACTIONS", "Action", "chosen"]

ACTIONS: Mapping[str, str] = {
    "rate-multiplier": "rate times 1 + x for x = scale a of at least 0, rate / (1 - x) below (Aurora)",
    "window-multiplier": "window times 4^a (Orca's law); the base algorithm of the flow, if any, continues from it",
    "rate": "pacing rate from 10 kbit/s to 10 Gbit/s, on a logarithmic scale",
    "window": "window from 2 to 2^20 segments, on a logarithmic scale",
    "discrete": "one of some operations on the window",
}
"""Actions by name."""

RATES_BPS = (1e4, 1e10)
WINDOWS = (2.0, 2.0**20)
OPERATIONS = ("/2", "-10", "+0", "+10", "*2")


@dataclass(frozen=True)
class Action:
    """An action.

    Attributes:
        name: A name of `ACTIONS`.
        scale: Factor on the number of ``rate-multiplier``.
        operations: Operations of ``discrete``.
        bounds_bps: Least and largest rate of ``rate-multiplier`` and ``rate``, bit/s.
    """

    name: str
    scale: float = 1.0
    operations: Sequence[str] = OPERATIONS
    bounds_bps: tuple[float, float] = RATES_BPS

    @property
    def is_rate(self) -> bool:
        """Whether the rate is controlled, and not the window."""
        return self.name.startswith("rate")

    def space(self) -> spaces.Space[Any]:
        """Space of the policy's numbers."""
        if self.name == "discrete":
            return spaces.Discrete(len(self.operations))
        return spaces.Box(-1, 1, (1,), np.float32)

    def apply(self, given: Values, raw: Raw, packet_bits: Values) -> tuple[Values, Values]:
        """Windows in segments, and pacing rates in segments per second, infinite without pacing.

        Args:
            given: Numbers of the policy, one for each flow.
            raw: Measurements of the last interval, and ``set_rate_bps``, ``set_window``: the last controls.
            packet_bits: Size of a packet.
        """
        if not self.is_rate:
            window = np.clip(self._window(given, raw["set_window"]), *WINDOWS)
            return window, np.full(len(window), UNPACED)
        if self.name == "rate":
            rate = _between(self.bounds_bps, given)
        else:
            x = self.scale * given
            rate = raw["set_rate_bps"] * np.where(x >= 0, 1 + x, 1 / (1 - np.minimum(x, 0)))
        rate = np.clip(rate, *self.bounds_bps)
        packets = rate / packet_bits
        return np.maximum(4.0, 4 * packets * raw["srtt_s"]), packets

    def _window(self, given: Values, window: Values) -> Values:
        if self.name == "window":
            return _between(WINDOWS, given)
        if self.name == "window-multiplier":
            return window * 4.0**given
        found = window.copy()
        for place, operation in enumerate(self.operations):
            number = float(operation[1:])
            match operation[0]:
                case "*":
                    changed = window * number
                case "/":
                    changed = window / number
                case "+":
                    changed = window + number
                case _:
                    changed = window - number
            found = np.where(given == place, changed, found)
        return found


UNPACED = 1e12
"""Pacing rate that never delays a packet, segments per second."""


def chosen(action: str | Mapping[str, object]) -> Action:
    """Action of a name, or of a table such as ``{"name": "rate-multiplier", "scale": 0.025}``. The bounds of a rate are
    a table's ``"bounds": ["100 kbit/s", "200 Mbit/s"]``.

    Raises:
        InputError: A name or a value is not allowed.
    """
    table = {"name": action} if isinstance(action, str) else dict(action)
    name = str(table.pop("name", ""))
    if name not in ACTIONS:
        raise InputError(unknown("action", name, ACTIONS))
    allowed = {
        "rate-multiplier": {"scale", "bounds"},
        "rate": {"bounds"},
        "discrete": {"operations"},
    }.get(name, set())
    for key in table:
        if key not in allowed:
            raise InputError(f"action {name}: {unknown('key', key, allowed)}")
    bounds = _bounds(name, table.pop("bounds")) if "bounds" in table else RATES_BPS
    found = Action(name, bounds_bps=bounds, **table)
    if not found.scale > 0:
        raise InputError(f"action {name}: scale must be above 0, got {found.scale}")
    for operation in found.operations:
        if not re.fullmatch(r"[-+*/]\d+(\.\d+)?", operation) or (float(operation[1:]) == 0 and operation[0] in "*/"):
            raise InputError(
                f'action discrete: an operation must be such as "/2", "-10", "+0", or "*2", got {quoted(operation)}'
            )
    return found


def _bounds(name: str, given: object) -> tuple[float, float]:
    """Least and largest rate, bit/s."""
    rates = [Quantity.parse(value) for value in given] if isinstance(given, Sequence) and len(given) == 2 else []
    found = [rate.value for rate in rates if rate is not None and rate.base == "bit/s"]
    if len(found) != 2 or not RATES_BPS[0] <= found[0] < found[1] <= RATES_BPS[1]:
        raise InputError(
            f"action {name}: bounds must be two rates from 10 kbit/s to 10 Gbit/s, the lesser one first, such as "
            f'["100 kbit/s", "200 Mbit/s"], got {quoted(str(given))}'
        )
    return found[0], found[1]


def _between(limits: tuple[float, float], given: Values) -> Values:
    """Value at a place from -1 to 1 of a logarithmic scale."""
    low, high = limits
    return low * (high / low) ** ((np.clip(given, -1, 1) + 1) / 2)
