"""Lines with the time of a sample, as tools and loops in a shell write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["TimeLine", "rfc3339", "split_prefix", "time_line"]

NUMBER = re.compile(r"^(#|time:|Time:)\s*(\d{1,20}(?:\.\d{1,9})?)\s*$")
LOOP = re.compile(r"^=+\s*Time\s+(\d{1,9}(?:\.\d+)?)\s*=+$")
STAMP = re.compile(r"^#?\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\s*$")
PREFIX = re.compile(r"^(\d{9,10}\.\d{1,9})\s(.*)$")

LONGEST_LINE = 80
"""Characters of a time line, at most."""

LATEST_S = 1e11
"""Seconds since 1970 that can be a time; nanoseconds are more."""


class TimeLine:
    """A time line.

    Attributes:
        t_s: Seconds since 1970, or since the start of a loop.
        is_after: Whether the line comes after its sample.
        is_relative: Whether the time counts seconds of a loop.
    """

    def __init__(self, t_s: float, *, is_after: bool = False, is_relative: bool = False) -> None:
        self.t_s = t_s
        self.is_after = is_after
        self.is_relative = is_relative


def time_line(line: str) -> TimeLine | None:
    """Time of a line that has nothing else; None for any other line."""
    if len(line) > LONGEST_LINE:
        return None
    line = line.strip()
    if found := NUMBER.match(line):
        value = float(found[2])
        return TimeLine(value / 1e9 if value > LATEST_S else value, is_after=found[1] == "Time:")
    if found := LOOP.match(line):
        return TimeLine(float(found[1]), is_relative=True)
    if found := STAMP.match(line):
        try:
            moment = datetime.fromisoformat(found[1].replace(",", "."))
        except ValueError:
            return None
        return TimeLine((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return None


def split_prefix(line: str) -> tuple[float | None, str]:
    """Time in front of a line, as ``ts '%.s'`` writes it, and the rest."""
    found = PREFIX.match(line)
    return (float(found[1]), found[2]) if found else (None, line)


def rfc3339(t_s: float) -> str | None:
    """Seconds since 1970 as RFC 3339, UTC; None for a time that is no date."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=t_s)
    except (OverflowError, ValueError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
