"""What can go wrong between a scenario and a kernel."""

from fullpipe.errors import FullpipeError

__all__ = ["LinuxError"]


class LinuxError(FullpipeError):
    """A run or a load on Linux failed; its text is one line that says what failed and, where known, what would help."""
