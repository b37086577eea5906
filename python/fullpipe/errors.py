"""Exceptions; each message is one line."""

import math
from collections.abc import Mapping

from fullpipe._util.text import number_text, one_line, quoted, shorten

__all__ = [
    "AlgorithmError",
    "CallLimitError",
    "Cancelled",
    "FullpipeError",
    "InputError",
    "MemoryLimitError",
    "ScenarioError",
    "check_range",
    "check_several",
]

LONGEST_PLACE = 200
"""Characters of a file's or a key's name in a message, at most."""


class FullpipeError(Exception):
    """Anything fullpipe itself reports; its text is one line, short and printable whatever it repeats."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InputError(FullpipeError, ValueError):
    """An argument is not allowed, for example an unknown name, or a path that is not writable."""


class ScenarioError(InputError):
    """A scenario is wrong.

    Attributes:
        file: The scenario's file; None for one built in code.
        key: The key at fault, such as ``links[0].rate``; empty where the fault is in no key.
        what: The fault and the allowed values.
        line: The line of the file, from 1; None where unknown.
    """

    def __init__(self, key: str, what: str, file: str | None = None, line: int | None = None) -> None:
        self.file = file
        self.key = key
        self.what = what
        self.line = line
        name, key = (shorten(part or "", LONGEST_PLACE) for part in (file, key))
        place = f"{name}:{line}" if name and line else name
        super().__init__(": ".join(part for part in (place, key, what) if part))

    def __reduce__(self) -> tuple[type["ScenarioError"], tuple[str, str, str | None, int | None]]:
        return type(self), (self.key, self.what, self.file, self.line)


class MemoryLimitError(ScenarioError):
    """A scenario needs more memory than its run may hold; `key` names the key that needs it."""


class AlgorithmError(FullpipeError):
    """A custom algorithm failed: it raised an exception, which is the cause, or its window was not a number."""


class CallLimitError(AlgorithmError):
    """A call of a custom algorithm has not returned."""


class Cancelled(FullpipeError):  # it is no error, like asyncio's CancelledError
    """A run was stopped before its end."""


def check_range(name: str, value: float, least: float, most: float = math.inf, unit: str = "") -> None:
    """Refuses a number outside a range, whose ends are allowed.

    Raises:
        InputError: The number is outside, or NaN.
    """
    if not least <= value <= most:
        low, high, got = map(number_text, (least, most, value))
        allowed = f"in [{low}, {high}]" if most < math.inf else f"at least {low}"
        raise InputError(f"{name} must be {allowed}{unit and f' {unit}'}, got {got}")


def check_several(name: str, values: object) -> None:
    """Refuses a text or a dictionary in place of several values; Python would iterate over its letters or keys.

    Raises:
        InputError: The value is a text or a dictionary.
    """
    if isinstance(values, str | Mapping):
        raise InputError(f"{name} must be a list such as [{quoted(values)}], got {quoted(values)}")
