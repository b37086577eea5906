"""JSON as a stream of values: the document is never in memory as a whole.

`values` yields the parts of a document that its caller wants, in order. A document that breaks off yields the parts
before its end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from fullpipe._util.text import shorten
from fullpipe.errors import InputError
from fullpipe.measurements.source import CHUNK_BYTES, MOST_LINE_BYTES, Source

__all__ = ["MOST_JSON_BYTES", "Path", "Reader", "as_number", "as_text", "values"]

MOST_JSON_BYTES = 512 << 20
"""Size of a JSON document after decompression, at most."""

MOST_LEVELS = 200
"""Nesting, at most."""

MOST_PARTS = 1_000_000
"""Values inside one wanted part, at most; each takes 60 to 200 bytes of memory."""

Path = tuple[str | None, ...]
"""Place of a value: keys from the outermost one, None for an element of a list."""


class Reader(Protocol):
    """A stream of bytes."""

    def read(self, size: int = ..., /) -> bytes:
        """At most ``size`` bytes."""


TOKENS = re.compile(
    rb'"(?:[^"\\]|\\.)*"|-?\bnan\b|-?\b[0-9]+(?:\.[0-9]+)?e\+?[0-9]{3,}|(?<=[0-9.])e (?=[0-9])', re.IGNORECASE
)
"""Strings, ``nan``, numbers that may exceed a double, and exponents with a space, as versions of iperf3 write them."""

SUSPECT = re.compile(rb"nan|e\+?[0-9]{3}|e [0-9]", re.IGNORECASE)
"""Part of a token that needs repair."""


class _Bounded:
    """Stream that refuses a document that is too long, or has too long a string. It repairs ``nan``, which becomes
    null, as does a number beyond a double, and exponents with a space.
    """

    def __init__(self, stream: Reader, source: Source) -> None:
        self._stream = stream
        self._source = source
        self._bytes = self._run = 0
        self._left = b""
        self.is_at_end = False

    def read(self, size: int = -1, /) -> bytes:
        if size == 0:  # ijson asks in order to see whether these are bytes
            return b""
        found = b""
        while not found and not self.is_at_end:
            found = self._repaired(self._read(size))
        return found

    def _repaired(self, chunk: bytes) -> bytes:
        content = self._left + chunk
        # A line feed is in no token, and a comma is in no number.
        end = len(content) if self.is_at_end else content.rfind(b"\n") + 1 or content.rfind(b",") + 1
        if not end and len(content) > CHUNK_BYTES:
            end = len(content)
        self._left, content = content[end:], content[:end]
        return TOKENS.sub(_repair, content) if SUSPECT.search(content) else content

    def _read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        self._bytes += len(chunk)
        self.is_at_end = not chunk
        if self._bytes > MOST_JSON_BYTES:
            raise self._source.error(f"a JSON document must have at most {MOST_JSON_BYTES >> 20} MiB")
        ends = chunk.count(b'"') - chunk.count(b'\\"')
        self._run = 0 if ends > 0 else self._run + len(chunk)
        if self._run > MOST_LINE_BYTES:
            raise self._source.error(f"a text or number must have at most {MOST_LINE_BYTES >> 20} MiB")
        return chunk


def values(
    source: Source, stream: Reader, wanted: Callable[[Path], bool], on_cut: Callable[[], object] | None = None
) -> Iterator[tuple[Path, object]]:
    """Parts of the first JSON value of a stream, with their places.

    Args:
        source: File of the stream, for messages.
        stream: The JSON text. Text after the first complete value is ignored.
        wanted: Whether a part is yielded as a whole; asked for each part outside of those.
        on_cut: Called where the document ends early. None makes that an error.

    Raises:
        FileError: The text is no JSON, or exceeds a limit.
        InputError: The package ``ijson`` is missing.
    """
    try:
        ijson = import_module("ijson")
    except ModuleNotFoundError:
        raise InputError("JSON measurements require ijson: pip install 'fullpipe[explain]'") from None
    walk, bounded = _Walk(source, wanted), _Bounded(stream, source)
    try:
        # Without use_float, the parser in C crashes on a number that Python refuses.
        for event, value in ijson.basic_parse(bounded, use_float=True):
            if walk.take(event, value):
                yield walk.found
            if walk.is_complete:
                return
    except ijson.IncompleteJSONError as error:
        if bounded.is_at_end and walk.begun and on_cut is not None:
            on_cut()
            return
        raise source.error(f"is not valid JSON: {shorten(str(error).splitlines()[0])}") from None
    except (ijson.JSONError, ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise source.error(f"is not valid JSON: {shorten(str(error))}") from None


class _Walk:
    """State between two events of the parser."""

    def __init__(self, source: Source, wanted: Callable[[Path], bool]) -> None:
        self.found: tuple[Path, object] = ((), None)
        self.begun = False
        self.is_complete = False
        self._source = source
        self._wanted = wanted
        self._path: list[str | None] = []
        self._open: list[Any] = []  # containers of the part under construction
        self._keys: list[str | None] = []
        self._parts = 0
        self._level = 0

    def take(self, event: str, value: Any) -> bool:
        """Takes an event; True where `found` is a new part."""
        self.begun = True
        if event == "map_key":
            if self._open:
                self._keys[-1] = value
            else:
                self._path[-1] = value
            return False
        if event in ("start_map", "start_array"):
            return self._enter({} if event == "start_map" else [])
        if event in ("end_map", "end_array"):
            return self._leave()
        value = _plain(value)
        if self._open:
            self._attach(value)
            return False
        self.is_complete = self._level == 0
        if self._wanted(tuple(self._path)):
            self.found = (tuple(self._path), value)
            return True
        return False

    def _enter(self, container: object) -> bool:
        self._level += 1
        if self._level > MOST_LEVELS:
            raise self._source.error(f"must have at most {MOST_LEVELS} levels of lists and objects")
        if self._open:
            self._attach(container)
            self._open.append(container)
            self._keys.append(None)
        elif self._wanted(tuple(self._path)):
            self._open, self._keys, self._parts = [container], [None], 0
        else:
            self._path.append(None)
        return False

    def _leave(self) -> bool:
        self._level -= 1
        self.is_complete = self._level == 0
        if not self._open:
            self._path.pop()
            return False
        done = self._open.pop()
        self._keys.pop()
        if self._open:
            return False
        self.found = (tuple(self._path), done)
        return True

    def _attach(self, value: object) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self._source.error(f"a part must have at most {MOST_PARTS} values")
        outer = self._open[-1]
        if isinstance(outer, dict):
            outer[self._keys[-1]] = value
        else:
            outer.append(value)


def _plain(value: object) -> object:
    """A scalar: whole numbers stay whole, and numbers that are not finite become None."""
    return value if not isinstance(value, float) or math.isfinite(value) else None


def as_number(value: object) -> float | None:
    """A number, also if it is written as a string; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def as_text(value: object) -> str | None:
    """A text; None for anything else, and for an empty one."""
    return value if isinstance(value, str) and value else None


def _repair(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text.startswith(b'"'):
        return text
    if text.lower().endswith(b"nan"):
        return b"null"
    if text == b"e " or text == b"E ":
        return b"e+"
    return text if math.isfinite(float(text)) else b"null"
