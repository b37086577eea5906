"""First load of a shared library in a separate process, which damaged files and code that runs at once may end."""

from __future__ import annotations

import os
import signal
import sys

from fullpipe.errors import InputError

__all__ = ["try_loading"]

TRY_LOADING = """
import ctypes, os, sys
out = os.dup(1)
os.dup2(2, 1)
def mapped():
    try:
        with open("/proc/self/maps") as file:
            return {line.split(None, 5)[5].rstrip() for line in file if "/" in line}
    except OSError:
        return set()
if len(sys.argv) > 2:
    from importlib.util import module_from_spec, spec_from_file_location
    spec = spec_from_file_location("fullpipe._core", sys.argv[2])
    core = module_from_spec(spec)
    spec.loader.exec_module(core)
before = mapped()
try:
    loaded = ctypes.CDLL(sys.argv[1])
except OSError:
    sys.exit()
if len(sys.argv) > 2 and hasattr(loaded, "fullpipe_library"):
    loaded.fullpipe_library.restype = ctypes.c_void_p
    try:
        core.declare_library(loaded.fullpipe_library() or 0, None)
    except ValueError:
        pass
os.write(out, os.fsencode(chr(0).join(sorted(mapped() - before - {sys.argv[1]}))))
"""
"""Code that loads a library, and then writes the names of the files that came with it. The library may write too."""

PATIENCE_S = 60.0
"""Time that loading a library may take, seconds of wall time."""


def try_loading(library: str, named: str, core: str | None = None) -> tuple[str, ...]:
    """Loads a library in another process.

    Args:
        library: Its file.
        named: Name of the library in messages.
        core: File of the module ``fullpipe._core``, which then reads the table of packet-level controllers.

    Returns:
        Files of the libraries that it is linked to or loads, other than those of every process.

    Raises:
        InputError: The process has ended, or takes too long.
    """
    import subprocess  # a tenth of the start of a command; only libraries need it

    command = [sys.executable, "-I", "-S", "-c", TRY_LOADING, library, *([core] if core else [])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{named}: loading takes more than {PATIENCE_S:g} s") from None
    if done.returncode:
        how = f"by {signal.Signals(-done.returncode).name}" if done.returncode < 0 else f"with {done.returncode}"
        raise InputError(f"{named}: loading it ends the process ({how})")
    return tuple(os.fsdecode(done.stdout).split("\0")) if done.stdout else ()
