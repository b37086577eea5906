"""The program: ``fullpipe``, or ``python -m fullpipe``."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as typing's, which takes longer to load than all before the handler
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the program; Ctrl-C while it loads ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))
    from fullpipe._cli import main as command_line

    command_line()


if __name__ == "__main__":
    # `python -m` puts the current folder in front of everything that is imported.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()
