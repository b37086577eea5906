"""Bounded readers of the files that the program takes: regular files alone, of limited size and nesting, in UTF-8.

A file may come from somebody else, or be no file. A pipe would block without Ctrl-C, and a device has no end. A few
bytes of JSON or Parquet can stand for gigabytes.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from typing import IO, TYPE_CHECKING, Any, NoReturn

from fullpipe._util.plain import Tree
from fullpipe._util.text import shorten
from fullpipe.errors import LONGEST_PLACE, InputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = [
    "MOST_CELLS",
    "MOST_CODE_BYTES",
    "MOST_JSON_BYTES",
    "MOST_LEVELS",
    "MOST_LIBRARY_BYTES",
    "MOST_OBJECT_BYTES",
    "MOST_TABLE_BYTES",
    "FileError",
    "check_regular",
    "digest",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_rows",
    "read_table",
    "read_text",
    "table_metadata",
]

MOST_CODE_BYTES = 16_000_000
"""Size of a file of Python code, at most."""

MOST_OBJECT_BYTES = 16 << 20
"""Size of an eBPF object file, at most; the crate `fullpipe-kernel` has the same limit."""

MOST_LIBRARY_BYTES = 1_000_000_000
"""Size of a shared library, at most."""

MOST_JSON_BYTES = 100_000_000
"""Size of a JSON file, at most: of a result of 100,000 flows."""

MOST_JSON_PARTS = 300_000
"""Tables and lists in a JSON file, at most; each takes 60 to 200 bytes of memory, however short its text is."""

MOST_LEVELS = 64
"""Nesting of JSON, at most; results have five levels."""

MOST_TABLE_BYTES = 80_000_000
"""Memory of a decoded Parquet file, at most, unless it is less than `MOST_EXPANSION` times the file."""

MOST_EXPANSION = 200
"""Ratio of a decoded table to its file that is allowed above `MOST_TABLE_BYTES`."""

MOST_CELLS = 2_000_000
"""Cells of a table whose rows become Python objects, at most; each takes 30 to 100 bytes."""

MOST_COLUMNS = 10_000
"""Columns of a Parquet file, at most."""

CODECS = ("UNCOMPRESSED", "SNAPPY")
"""Compression of our Parquet files. Snappy yields at most 64 bytes for 3; other codecs yield thousands for one."""

BATCH_ROWS = 10_000
"""Rows decoded at a time; the limit is checked after each."""

MARKS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
"""Strings and brackets of JSON text. Each match is final (possessive), so that time grows with the length alone."""


class FileError(InputError):
    """A file can't be taken.

    Attributes:
        file: The file.
        why: The reason.
    """

    def __init__(self, file: str, why: str) -> None:
        self.file = file
        self.why = why
        super().__init__(f"{shorten(file, LONGEST_PLACE)}: {why}")

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str]]:
        return type(self), (self.file, self.why)


def check_regular(path: str | os.PathLike[str], most: int) -> None:
    """Refuses a file that another library is going to open.

    Raises:
        FileError: As for `read_bytes`.
    """
    os.close(_opened(path, most))


def digest(path: str | os.PathLike[str], most: int = MOST_LIBRARY_BYTES) -> str:
    """SHA-256 of a regular file's content, in hexadecimal.

    Raises:
        FileError: As for `read_bytes`.
    """
    from hashlib import file_digest

    with os.fdopen(_opened(path, most), "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Content of a regular file.

    Args:
        path: The file.
        most: Size allowed, bytes.

    Raises:
        FileError: The file can't be read, is no regular file, or is larger.
    """
    with os.fdopen(_opened(path, most), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(path, most)
    return content


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Text of a regular file in UTF-8.

    Raises:
        FileError: As for `read_bytes`, or the file is not UTF-8.
    """
    return _decoded(path, read_bytes(path, most))


def read_json(path: str | os.PathLike[str], most: int = MOST_JSON_BYTES, *, finite: bool = True) -> Any:
    """Value of a JSON file (RFC 8259).

    Args:
        path: The file.
        most: Size allowed, bytes.
        finite: Refuse NaN and numbers beyond the range of a double.

    Raises:
        FileError: As for `read_text`; or the file is no JSON, or is nested too deeply, or has too many parts.
    """
    return parse_json(path, read_bytes(path, most), finite=finite)


def parse_json(path: str | os.PathLike[str], content: bytes, *, finite: bool = True) -> Any:
    """Value of JSON text.

    Args:
        path: Source of the text in messages.
        content: The text.
        finite: As for `read_json`.

    Raises:
        FileError: As for `read_json`.
    """
    _check_nesting(path, content)
    text = _decoded(path, content)
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant if finite else None,
            parse_float=_finite if finite else None,
        )
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"is not valid JSON: {error}") from None


def read_table(path: str | os.PathLike[str], most: int = MOST_TABLE_BYTES) -> pa.Table:
    """Table of a Parquet file, as `fullpipe` writes them.

    Args:
        path: The file.
        most: Memory of the decoded table allowed, in bytes. A large file may take `MOST_EXPANSION` times its size.

    Raises:
        FileError: The file can't be read, is no regular file or no Parquet, or the table is too large in memory.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with os.fdopen(_opened(path, None), "rb") as file:
        allowed = max(most, MOST_EXPANSION * os.fstat(file.fileno()).st_size)
        try:
            metadata = _metadata(path, file)
            _check_size(path, metadata, allowed)
            schema = pq.read_schema(file)
            texts = [field.name for field in schema if pa.types.is_string(field.type)]
            # A text that is repeated stays one in memory until the size of all is known.
            parquet = pq.ParquetFile(file, read_dictionary=texts, metadata=metadata)
            batches, taken = [], 0
            for batch in parquet.iter_batches(BATCH_ROWS):
                batches.append(batch)
                taken += _plain_bytes(batch)
                if taken > allowed:
                    raise _too_much(path, taken, allowed)
            return pa.Table.from_batches(batches, parquet.schema_arrow).cast(schema)
        except (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError) as error:
            if isinstance(error, FileError):
                raise
            raise _wrong(path, f"is not a valid Parquet file: {_first_line(error)}") from None


def read_rows(path: str | os.PathLike[str]) -> list[Tree]:
    """Rows of a small Parquet file as dictionaries.

    Raises:
        FileError: As for `read_table`, or the table has too many cells.
    """
    metadata = table_metadata(path)
    cells = metadata.num_rows * metadata.num_columns
    if cells > MOST_CELLS:
        raise _wrong(path, f"must have at most {MOST_CELLS} cells, got {cells}")
    rows: list[Tree] = read_table(path).to_pylist()
    return rows


def table_metadata(path: str | os.PathLike[str]) -> pq.FileMetaData:
    """Metadata of a Parquet file (``pyarrow.parquet.FileMetaData``).

    Raises:
        FileError: As for `read_table`.
    """
    import pyarrow as pa

    with os.fdopen(_opened(path, None), "rb") as file:
        try:
            return _metadata(path, file)
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise _wrong(path, f"is not a valid Parquet file: {_first_line(error)}") from None


def _metadata(path: str | os.PathLike[str], file: IO[bytes]) -> pq.FileMetaData:
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, thrift_string_size_limit=MOST_CODE_BYTES, thrift_container_size_limit=1_000_000)
    metadata = parquet.metadata
    if metadata.num_columns > MOST_COLUMNS:
        raise _wrong(path, f"must have at most {MOST_COLUMNS} columns, got {metadata.num_columns}")
    return metadata


def _check_size(path: str | os.PathLike[str], metadata: pq.FileMetaData, allowed: int) -> None:
    """Refuses a table by its metadata, before anything is decoded."""
    taken = 8 * metadata.num_rows * metadata.num_columns
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.compression not in CODECS:
                allowed_codecs = ", ".join(CODECS)
                raise _wrong(path, f"unknown compression {column.compression} (allowed: {allowed_codecs})")
            taken = max(taken, column.total_uncompressed_size)
    if taken > allowed:
        raise _too_much(path, taken, allowed)


def _plain_bytes(batch: Any) -> int:
    """Memory of a batch without dictionaries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary)
            total += 4 * len(column) + (pc.sum(lengths.take(column.indices)).as_py() or 0)
        else:
            total += column.nbytes
    return total


def _opened(path: str | os.PathLike[str], most: int | None) -> int:
    """Descriptor of a regular file. To open a pipe does not block, and no terminal becomes the process's own."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise _wrong(path, f"can't be read: {why or error}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise _wrong(path, f"can't be read: it is {kind}")
    if most is not None and status.st_size > most:
        os.close(handle)
        raise _too_large(path, most)
    return handle


def _decoded(path: str | os.PathLike[str], content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(path, f"is not UTF-8 text (byte {error.start})") from None


def _check_nesting(path: str | os.PathLike[str], content: bytes) -> None:
    level = parts = 0
    for mark in MARKS.finditer(content):
        first = content[mark.start()]
        if first in b"[{":
            level += 1
            parts += 1
            if level > MOST_LEVELS:
                raise _wrong(path, f"must have at most {MOST_LEVELS} levels of tables and lists")
            if parts > MOST_JSON_PARTS:
                raise _wrong(path, f"must have at most {MOST_JSON_PARTS} tables and lists")
        elif first in b"]}":
            level -= 1


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"numbers must be finite, got {name}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"numbers must be finite, got {shorten(text)}")
    return number


def _too_large(path: str | os.PathLike[str], most: int) -> FileError:
    return _wrong(path, f"must have at most {most / 1e6:g} MB")


def _too_much(path: str | os.PathLike[str], taken: int, allowed: int) -> FileError:
    return _wrong(path, f"must have at most {allowed / 1e6:.0f} MB in memory, got {taken / 1e6:.0f} MB")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _wrong(path: str | os.PathLike[str], why: str) -> FileError:
    return FileError(os.fspath(path), why)
