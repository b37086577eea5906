"""How much memory runs may hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fullpipe.errors import InputError

__all__ = ["parse_bytes", "share_bytes"]

SHARE = 0.5
"""Of the free memory, how much runs may hold: the engine has packets twice for a moment where it sorts them anew."""

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
"""Bytes."""


def share_bytes(runs: int = 1) -> int | None:
    """What each of so many runs side by side may hold: their part of half the memory that is free now; None where the
    system does not tell.
    """
    free = [size for size in (_free_of_machine(), _free_of_group()) if size is not None]
    return int(SHARE * min(free) / max(runs, 1)) if free else None


def parse_bytes(text: str) -> int:
    """Bytes from text such as ``"8 GB"``.

    Raises:
        InputError: It is no size.
    """
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(kB|MB|GB|TB)\s*", text, re.ASCII)
    if match is None or not float(match[1]):
        raise InputError(
            f"memory: {text[:40]!r} is no size (allowed: a number above 0 and {', '.join(UNITS)}, such as '8 GB')"
        )
    return int(float(match[1]) * UNITS[match[2]])


def _free_of_machine() -> int | None:
    """Linux's own estimate; elsewhere all there is."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _free_of_group(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container's limit leaves, control groups version 2; None without a limit."""
    try:
        limit, used = ((root / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None
