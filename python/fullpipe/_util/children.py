"""Child processes that end when this process is killed."""

from __future__ import annotations

import signal
import sys

__all__ = ["end_with_parent"]

PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal that the kernel sends to this process when its parent ends."""

if sys.platform == "linux":
    import ctypes

    # Loaded here: a child process runs `end_with_parent` between fork and exec, where a lock may be held for ever.
    _LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Has the kernel end this process when its parent is gone, whatever lock it holds. Linux only; elsewhere no effect.

    The parent is the thread that started this process. Its children do not inherit the setting.
    """
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
