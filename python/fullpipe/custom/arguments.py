"""Algorithms as arguments of functions and commands: names, classes, files, libraries, and objects."""

from __future__ import annotations

import base64
import sys

from fullpipe._util.inputs import MOST_OBJECT_BYTES, read_bytes
from fullpipe._util.plain import Table
from fullpipe._util.text import listed, unknown
from fullpipe.custom.declared import declared_in, name_of
from fullpipe.custom.files import load_file
from fullpipe.custom.library import SUFFIXES, load_library
from fullpipe.errors import InputError

__all__ = ["as_algorithm", "load_algorithms"]


def as_algorithm(algorithm: str | Table | type) -> str | Table:
    """Algorithm in the form of a scenario, from an argument of a function.

    Args:
        algorithm: A name, a table with a name and parameters, a declared class, ``FILE.py`` or ``FILE.py:CLASS`` for
            an algorithm of that file, ``FILE.so`` or ``FILE.so:NAME`` for a controller of a library, or ``FILE.o`` for
            an object file.

    Raises:
        InputError: The class is not declared, or the file can't be read or declares no algorithm.
        AlgorithmError: The file raises.
    """
    if isinstance(algorithm, type):
        name = name_of(algorithm)
        if name is None:
            kind = algorithm.__name__
            raise InputError(f'class {kind} is not an algorithm; write @fullpipe.algorithm("name") before it')
        return name
    if isinstance(algorithm, str):
        file = algorithm.partition(":")[0]
        if file.endswith((".py", *SUFFIXES)):
            return load_algorithms(algorithm)
        if algorithm.endswith(".o"):
            content = base64.b64encode(read_bytes(algorithm, MOST_OBJECT_BYTES)).decode()
            return {"object": {"name": algorithm, "base64": content}}
    return algorithm


def load_algorithms(what: str) -> str:
    """Runs a file of Python code that declares algorithms: ``aimd.py``, or ``aimd.py:Aimd`` for one of several classes.

    Returns:
        The name of the algorithm.

    Raises:
        InputError: There is no such file or class, it raises, or it declares none, or several and none is named.
    """
    file, _, wanted = what.partition(":")
    if not file.endswith(".py"):
        return load_library(what)
    module = load_file(file)
    if not declared_in(module):  # a later class of this name has replaced it
        del sys.modules[module.__name__]
        module = load_file(file)
    found = declared_in(module)
    classes = [kind.__name__ for kind in found.values()]
    if wanted:
        found = {name: kind for name, kind in found.items() if kind.__name__ == wanted}
    if len(found) == 1:
        return next(iter(found))
    if wanted:
        raise InputError(f"{file}: {unknown('algorithm class', wanted, classes)}")
    if not found:
        raise InputError(f'{file}: declares no algorithm; write @fullpipe.algorithm("name") before its class')
    raise InputError(
        f"{file}: several algorithms require a class, e.g. {file}:{classes[0]} (allowed: {listed(classes)})"
    )
