"""Controllers in shared libraries: version 2 of ``include/fullpipe.h``.

A library exports ``fullpipe_library``, whose table lists packet-level controllers. ``libmine.so:mine`` names one of
them, on the command line and in Python. ``libmine.so`` is enough for a library with one controller.
"""

from __future__ import annotations

import ctypes
import os

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe._util.text import listed
from fullpipe.custom.declared import remember
from fullpipe.custom.loading import load_shared
from fullpipe.errors import InputError

__all__ = ["SUFFIXES", "declare", "load_library"]

SUFFIXES = (".so", ".dylib", ".dll")
"""Ends of the names of shared libraries."""


def load_library(what: str) -> str:
    """Loads a library and declares its controllers.

    Args:
        what: A file, or a file and a controller: ``./libmine.so:mine``.

    Returns:
        Name of the controller.

    Raises:
        InputError: The file is no such library, or has no or several such controllers.
    """
    file, _, name = what.partition(":")
    names = declare(file, name or None)
    if len(names) > 1:
        raise InputError(
            f"{file}: several controllers require a name, e.g. {file}:{names[0]} (allowed: {listed(names)})"
        )
    return names[0]


def declare(file: str, name: str | None = None) -> list[str]:
    """Declares the controller of this name, or all that a library has. Returns their names.

    Raises:
        InputError: The file is no such library, or has no such controller.
    """
    path = os.path.realpath(file)
    loaded, content = load_shared(path, file, _core.__file__)
    try:
        function = loaded.fullpipe_library
    except AttributeError:
        raise InputError(f"{file}: requires the function fullpipe_library (include/fullpipe.h)") from None
    function.restype = ctypes.c_void_p
    try:
        names = _core.declare_library(function() or 0, name)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    for each in names:
        kind = type(each, (), {"__module__": "__main__", "__doc__": "Controller of a shared library."})
        options = {"controller": each, "library": path, "compiled": False}
        remember(each, kind, options, content, _declare_again)
    return names


def _declare_again(_name: str, _kind: type, options: Tree) -> None:
    declare(options["library"], options["controller"])
