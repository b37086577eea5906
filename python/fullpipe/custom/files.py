"""Files of Python code that declare algorithms."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from types import ModuleType

from fullpipe._util.inputs import MOST_CODE_BYTES, FileError, read_bytes
from fullpipe.errors import AlgorithmError, InputError

__all__ = ["load_file"]


def load_file(file: str) -> ModuleType:
    """Runs a file of Python code, once for each version of it.

    Raises:
        InputError: The file is missing or ends the program, or a declared class is no algorithm.
        AlgorithmError: It raises.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(os.path.realpath(file))
    try:
        content = read_bytes(path, MOST_CODE_BYTES)
    except FileError as error:
        raise FileError(file, error.why) from None
    name = "fullpipe_own_" + hashlib.sha256(str(path).encode() + content).hexdigest()[:12]
    if name not in sys.modules:
        _check_code(file, content)
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{file}: Python code requires a file name that ends in .py")
        module = sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, InputError):
                raise InputError(f"{file}: {error}") from None
            if isinstance(error, SystemExit):
                from traceback import extract_tb

                lines = [str(frame.lineno) for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
                place = ":".join([file, *lines[-1:]])
                raise InputError(f"{place}: loading it ends the program ({_said(error)})") from None
            if not isinstance(error, Exception):
                raise
            raise AlgorithmError(f"{file}: {_said(error)}") from error
    return sys.modules[name]


def _check_code(file: str, content: bytes) -> None:
    """Refuses code that Python cannot compile.

    Raises:
        InputError: It can't; the message has the line.
    """
    try:
        compile(content, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        why, line = (error.msg, error.lineno) if isinstance(error, SyntaxError) else (str(error), None)
        place = f"{file}:{line}" if line else file
        raise InputError(f"{place}: is not Python code: {why or type(error).__name__}") from None


def _said(error: BaseException) -> str:
    """Exception as one line of text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
