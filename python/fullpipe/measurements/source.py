"""Bounded streams of measurement files: decompressed, with limits on size, expansion, and lines.

A measurement may come from somebody else. A few kilobytes of gzip can stand for gigabytes, and one line or one record
can be as long as the file.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from fullpipe._util.inputs import FileError, check_regular

__all__ = ["CHUNK_BYTES", "HEAD_BYTES", "MOST_FILE_BYTES", "MOST_LINE_BYTES", "Progress", "Source"]

MOST_FILE_BYTES = 4 << 30
"""Size of a file, at most."""

HEAD_BYTES = 65536
"""Bytes that decide the format."""

MOST_LINE_BYTES = 16 << 20
"""Length of one line or one record of text, at most."""

CHECKED_LINES, LEAST_MEAN_BYTES = 1_000_000, 24
"""Lines after which their mean length is checked, and its least value: each line takes microseconds."""

MOST_EXPANSION = 200
"""Ratio of decompressed to compressed bytes, at most, beyond `FREE_BYTES`."""

FREE_BYTES = 64 << 20
"""Decompressed bytes from which the ratio counts."""

CHUNK_BYTES = 65536
"""Bytes read at a time."""

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
"""First bytes of compressed files."""

Progress = Callable[[float, float], object]
"""Function that is called with the compressed bytes read, and their number."""


class Source:
    """A measurement file, read from its beginning to its end, once or several times.

    Attributes:
        name: The path as the user gave it, for messages.

    Raises:
        FileError: The file can't be read, is no regular file, or is larger than 4 GiB.
    """

    def __init__(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        self.name = os.fspath(path)
        self._progress = progress
        check_regular(path, MOST_FILE_BYTES)
        self.size = Path(path).stat().st_size

    def error(self, why: str) -> FileError:
        """Error of this file."""
        return FileError(self.name, why)

    def head(self) -> bytes:
        """The first decompressed bytes, 64 KiB at most. A damaged end of them is left out."""
        with self.open() as stream:
            found = b""
            while len(found) < HEAD_BYTES:
                try:
                    more = stream.read(HEAD_BYTES - len(found))
                except FileError:
                    if found:
                        break
                    raise
                if not more:
                    break
                found += more
            return found

    def digest(self) -> str:
        """SHA-256 of the file, in hexadecimal."""
        from hashlib import file_digest

        with Path(self.name).open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    def open(self) -> Stream:
        """The decompressed content from its beginning."""
        return Stream(self)

    def lines(self) -> Iterator[str]:
        """Lines of text without their ends and without empty ones; bytes that are not UTF-8 are replaced.

        Raises:
            FileError: A line is longer than 16 MiB, lines are shorter than in any format, or the file is damaged.
        """
        length = 0
        for count, line in enumerate(filter(None, self.records(b"\n")), 1):
            length += len(line)
            if count % CHECKED_LINES == 0 and length < LEAST_MEAN_BYTES * count:
                raise self.error(f"has {count} lines of {length / count:.1f} bytes on average; they are no samples")
            yield line.decode("utf-8", "replace").rstrip("\r")

    def records(self, separator: bytes) -> Iterator[bytes]:
        """Parts of the content between separators.

        Raises:
            FileError: A part is longer than 16 MiB, or the file is damaged.
        """
        with self.open() as stream:
            parts: list[bytes] = []
            length = 0
            while chunk := stream.read(CHUNK_BYTES):
                first, *others = chunk.split(separator)
                parts.append(first)
                length += len(first)
                if length > MOST_LINE_BYTES:
                    raise self.error(f"a line must have at most {MOST_LINE_BYTES >> 20} MiB")
                if others:
                    yield b"".join(parts)
                    yield from others[:-1]
                    parts, length = [others[-1]], len(others[-1])
            if length:
                yield b"".join(parts)

    def tell(self, read_bytes: int) -> None:
        """Reports progress."""
        if self._progress is not None:
            self._progress(read_bytes, self.size)


class Stream(io.RawIOBase):
    """Decompressed content of a file, forwards only.

    Attributes:
        position: Decompressed bytes that were read.
        truncated: Whether the compressed data end before their end mark.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        handle = os.open(source.name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._file = os.fdopen(handle, "rb")
        start = self._file.read(4)
        self._file.seek(0)
        self._kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "")
        self._counted = _Counted(self._file, source)
        self._content = _decompressed(self._counted, self._kind)
        self.position = 0
        self.truncated = False

    def readable(self) -> bool:
        """Whether it can be read, which it can."""
        return True

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes, as many as come at once; none at the end.

        Raises:
            FileError: The compressed data are damaged, or expand too much.
        """
        try:
            found: bytes = self._content(CHUNK_BYTES if size < 0 else size)
        except EOFError:
            self.truncated = True
            return b""
        except (OSError, zlib.error) as error:
            raise self._source.error(f"holds damaged {self._kind} data ({error})") from None
        self.position += len(found)
        if self._kind and self.position > FREE_BYTES and self.position > MOST_EXPANSION * self._counted.bytes:
            raise self._source.error(f"must expand at most {MOST_EXPANSION} times")
        return found

    def read_exactly(self, size: int) -> bytes:
        """``size`` bytes, fewer at the end of the file only."""
        found = self.read(size)
        if len(found) == size:
            return found
        parts = [found]
        missing = size - len(found)
        while missing and (more := self.read(missing)):
            parts.append(more)
            missing -= len(more)
        return b"".join(parts)


class _Counted(io.RawIOBase):
    """File that counts the bytes it yields."""

    def __init__(self, file: BinaryIO, source: Source) -> None:
        self._file = file
        self._source = source
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        self.bytes += len(found)
        self._source.tell(self.bytes)
        return len(found)


def _decompressed(file: _Counted, kind: str) -> Callable[[int], bytes]:
    """Function that reads decompressed bytes. Members that follow one another count as one."""
    raw = io.BufferedReader(file, CHUNK_BYTES)
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=raw).read1
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(raw).read1
    if kind == "zstd":
        import pyarrow as pa

        # Arrow's decoder has the default limit of the library: a window of 128 MiB.
        stream: Callable[[int], bytes] = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd").read
        return stream
    return raw.read1
