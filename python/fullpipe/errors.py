"""What can go wrong, as exceptions whose text is one line."""

from collections.abc import Mapping

from fullpipe._util.text import one_line, quoted, shorten

__all__ = [
    "AlgorithmError",
    "Cancelled",
    "FullpipeError",
    "InputError",
    "MemoryLimitError",
    "ScenarioError",
    "check_several",
]

LONGEST_PLACE = 200
"""Characters of a file's or a key's name in a message, at most."""


class FullpipeError(Exception):
    """Anything fullpipe itself reports; its text is one line, short and printable whatever it repeats."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InputError(FullpipeError, ValueError):
    """What was asked for can't be done as asked: an unknown name, a path that can't be written."""


class ScenarioError(InputError):
    """A scenario is wrong.

    Attributes:
        file: The scenario's file; None for one built in code.
        key: The key at fault, such as ``links[0].rate``; empty where the fault is in no key.
        what: What is wrong and what is allowed.
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
    """A scenario needs more memory than its run may hold; `key` names what fills it."""


class AlgorithmError(FullpipeError):
    """An algorithm of one's own has failed: it raised, which is the error's cause, or its window was none."""


class Cancelled(FullpipeError):  # it is no error, like asyncio's CancelledError
    """A run was told to stop before its end."""


def check_several(name: str, values: object) -> None:
    """Says no to one where several are asked for; Python takes text for its letters, and a dictionary for its keys.

    Raises:
        InputError: It is one.
    """
    if isinstance(values, str | Mapping):
        raise InputError(f"{name} = {quoted(values)}: expected a list (allowed: [{quoted(values)}])")
