"""Loading of shared libraries: first in another process, which damaged files and code that runs at once may end."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from fullpipe._util.inputs import MOST_LIBRARY_BYTES, check_regular
from fullpipe._util.text import one_line
from fullpipe.errors import InputError

if TYPE_CHECKING:
    import ctypes

__all__ = ["load_shared"]

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


_loaded: dict[str, str] = {}
"""Digests of the libraries that this process has loaded, by their files."""


def load_shared(library: str, named: str, core: str | None = None) -> tuple[ctypes.CDLL, str]:
    """Loads a library, once another process has loaded it without harm.

    Args:
        library: Its file.
        named: Name of the library in messages.
        core: File of the module ``fullpipe._core``, with which that process reads the table of packet-level
            controllers.

    Returns:
        The library, and digests of its bytes and of those that it is linked to.

    Raises:
        InputError: It can't be loaded, or ends the other process, or takes too long there.
    """
    import shutil
    from ctypes import CDLL
    from tempfile import TemporaryDirectory

    from fullpipe.custom.identity import file_digest

    check_regular(library, MOST_LIBRARY_BYTES)
    linked = _try_loading(library, named, core)
    # Before the library is loaded here: a file that changes meanwhile must not pass for the loaded code.
    content = " ".join(map(file_digest, (library, *linked)))
    try:
        if _loaded.setdefault(library, content) == content:
            return CDLL(library), content
        # Under its own name the system would return the code that was loaded before the file changed.
        with TemporaryDirectory() as folder:
            return CDLL(shutil.copy(library, folder)), content
    except OSError as error:
        raise InputError(f"{named}: it can't be loaded: {one_line(str(error))}") from None


def _try_loading(library: str, named: str, core: str | None) -> tuple[str, ...]:
    """Files of the libraries that a library is linked to or loads, other than those of every process."""
    import subprocess  # a tenth of the start of a command; only libraries need it

    from fullpipe._util.children import end_with_parent

    command = [sys.executable, "-I", "-S", "-c", TRY_LOADING, library, *([core] if core else [])]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
            timeout=PATIENCE_S,
            preexec_fn=end_with_parent,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{named}: loading takes more than {PATIENCE_S:g} s") from None
    if done.returncode:
        how = f"by {signal.Signals(-done.returncode).name}" if done.returncode < 0 else f"with {done.returncode}"
        raise InputError(f"{named}: loading it ends the process ({how})")
    return tuple(os.fsdecode(done.stdout).split("\0")) if done.stdout else ()
