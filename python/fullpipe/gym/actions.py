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
from fullpipe.gym.formula import Formula
from fullpipe.scenario.quantity import Quantity

__all__ = ["ACTIONS", "Action", "chosen"]

ACTIONS: Mapping[str, str] = {
    "rate-multiplier": "rate times 1 + x for x = scale a of at least 0, rate / (1 - x) below (Aurora)",
    "aurora": "rate-multiplier of PCC-RL: no bounds of a, scale 0.025, from 40 to 1000 packets/s",
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
        bounds: Least and largest rate, bit/s, or window, segments.
        limit: Largest absolute value of a number.
        start: Range of the first rate as a share of the link's rate; None to wait for the first RTT sample.
    """

    name: str
    bounds: tuple[float, float]
    scale: float = 1.0
    operations: Sequence[str] = OPERATIONS
    limit: float = 1.0
    start: tuple[float, float] | None = None

    @property
    def is_rate(self) -> bool:
        """Whether the rate is controlled, and not the window."""
        return self.name.startswith("rate")

    def space(self) -> spaces.Space[Any]:
        """Space of the policy's numbers."""
        if self.name == "discrete":
            return spaces.Discrete(len(self.operations))
        return spaces.Box(-self.limit, self.limit, (1,), np.float32)

    def formula(self) -> Formula:
        """Rate in bit/s, or window in segments, that ``action`` sets, from the last ones."""
        match self.name:
            case "rate-multiplier":
                x = f"({self.scale!r} * action)"
                return Formula(f"set_rate_bps * where(action >= 0, 1 + {x}, 1 / (1 - minimum({x}, 0.0)))")
            case "rate" | "window":
                low, high = self.bounds
                return Formula(f"{low!r} * {high / low!r} ** ((action + 1) / 2)")
            case "window-multiplier":
                return Formula("set_window * 4.0 ** action")
        text = "set_window"
        for place, operation in enumerate(self.operations):
            text = f"where(action == {place}, set_window {operation[0]} {float(operation[1:])!r}, {text})"
        return Formula(text)


AURORA = Action("rate-multiplier", (40 * 12000.0, 1000 * 12000.0), scale=0.025, limit=1e12, start=(0.3, 1.5))
"""The action of PCC-RL (``src/gym/network_sim.py``, ``src/common/config.py``)."""


def chosen(action: str | Mapping[str, object]) -> Action:
    """Action of a name, or of a table such as ``{"name": "rate-multiplier", "scale": 0.025}``. ``"bounds"`` are the
    least and the largest rate or window, such as ``["100 kbit/s", "200 Mbit/s"]``.

    Raises:
        InputError: A name or a value is not allowed.
    """
    table = {"name": action} if isinstance(action, str) else dict(action)
    name = str(table.pop("name", ""))
    if name == "parameter":
        raise InputError("action parameter is not built in: an algorithm reads its parameters once, when a flow begins")
    if name not in ACTIONS:
        raise InputError(unknown("action", name, ACTIONS))
    if name == "aurora" and not table:
        return AURORA
    allowed = {"bounds", *{"rate-multiplier": ["scale"], "discrete": ["operations"]}.get(name, [])}
    for key in table:
        if key not in allowed:
            raise InputError(f"action {name}: {unknown('key', key, allowed)}")
    found = Action(name, _bounds(name, table.pop("bounds", None)), **table)
    if not found.scale > 0:
        raise InputError(f"action {name}: scale must be above 0, got {found.scale}")
    for operation in found.operations:
        if not re.fullmatch(r"[-+*/]\d+(\.\d+)?", operation) or (float(operation[1:]) == 0 and operation[0] in "*/"):
            raise InputError(
                f'action discrete: an operation must be such as "/2", "-10", "+0", or "*2", got {quoted(operation)}'
            )
    return found


def _bounds(name: str, given: object) -> tuple[float, float]:
    """Least and largest rate, bit/s, or window, segments."""
    is_rate = name.startswith("rate")
    limits, base = (RATES_BPS, "bit/s") if is_rate else (WINDOWS, "packets")
    if given is None:
        return limits
    ends = [Quantity.parse(value) for value in given] if isinstance(given, Sequence) and len(given) == 2 else []
    found = [end.value for end in ends if end is not None and end.base == base]
    if len(found) != 2 or not limits[0] <= found[0] < found[1] <= limits[1]:
        what = "rates from 10 kbit/s to 10 Gbit/s" if is_rate else "windows from 2 to 1048576 packets"
        example = '["100 kbit/s", "200 Mbit/s"]' if is_rate else '["4 packets", "1000 packets"]'
        raise InputError(
            f"action {name}: bounds must be two {what}, the lesser one first, such as {example}, "
            f"got {quoted(str(given))}"
        )
    return found[0], found[1]
