"""Errors of runs on Linux."""

from fullpipe.errors import FullpipeError

__all__ = ["LinuxError"]


class LinuxError(FullpipeError):
    """A run on Linux failed; the message is one line with the reason and, where known, a remedy."""
