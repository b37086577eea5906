"""How much memory runs may hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fullpipe.errors import check_range
from fullpipe.scenario.quantity import read_quantity

__all__ = ["parse_bytes", "share_bytes"]

SHARE = 0.5
"""Of the free memory, how much runs may hold: the engine has packets twice for a moment where it sorts them again."""

MOST_BYTES = 2**63 - 1
"""The largest limit."""


def share_bytes(runs: int, memory: int | str | None) -> int | None:
    """Memory that each of several concurrent runs may hold: an even part of ``memory``.

    Args:
        runs: Number of concurrent runs.
        memory: Limit of all runs together, in bytes or as text such as ``"8 GB"``. None for half of the free memory;
            the result is None where the system does not report that.

    Raises:
        InputError: The limit is not a size.
    """
    together_bytes = parse_bytes(memory) if isinstance(memory, str) else memory
    if together_bytes is None:
        free = [size for size in (_free_of_machine(), _free_of_group()) if size is not None]
        return int(SHARE * min(free) / max(runs, 1)) if free else None
    check_range("memory", together_bytes, 1, MOST_BYTES, "bytes")
    return together_bytes // max(runs, 1)


def parse_bytes(text: str) -> int:
    """Bytes from text such as ``"8 GB"``.

    Raises:
        InputError: It is no size.
    """
    return int(read_quantity("memory", text, "bytes", '"8 GB"'))


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
    """Memory that the limit of a container leaves, control groups version 2; None without a limit."""
    try:
        limit, used = ((root / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None
