"""What can go wrong between a scenario and a kernel."""


class LinuxError(Exception):
    """A run or a load on Linux failed; its text is one line that says what failed and what would help."""


class UnsupportedError(LinuxError):
    """The scenario asks for something a kernel cannot do; its text names the key and what is allowed."""
