"""Runs of the program on input of strangers, with the peak of their memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 240
"""Time after which a command hangs. It takes a fraction of a second where the machine is idle."""

PROGRAM = """
import sys
from fullpipe._cli import _status
status = _status()
"""

PEAK = """
# Peak of this program alone: getrusage(2) counts that of the process that started it.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
used = __import__("resource").getrusage(__import__("resource").RUSAGE_SELF)
print("PEAK", int(peak) * 1024, used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(status)
"""


@dataclass(frozen=True)
class Ending:
    """How a command ended.

    Attributes:
        status: Exit status.
        output: Standard output.
        lines: Lines on standard error.
        peak_bytes: Peak of the memory, with the interpreter and its libraries.
        cpu_s: Processor time, with that of starting the interpreter.
        wall_s: Time until it ended.
    """

    status: int
    output: bytes
    lines: list[str]
    peak_bytes: int
    cpu_s: float
    wall_s: float


def ending(arguments: list[str], folder: Path, code: str = PROGRAM) -> Ending:
    """Ending of the command line with these arguments, or of other code that sets ``status``."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-c", code + PEAK, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=_limit,
    )
    wall_s = time.monotonic() - begun
    *lines, last = done.stderr.decode(errors="replace").splitlines() or [""]
    name, *figures = last.split()
    assert name == "PEAK", done.stderr[-2000:]
    return Ending(done.returncode, done.stdout, lines, int(figures[0]), float(figures[1]), wall_s)


def _limit() -> None:
    """Address space of 8 GB, so that a reader without bounds takes no more of the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (8_000_000_000, 8_000_000_000))
