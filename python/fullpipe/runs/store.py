"""Store of finished runs: rows by the content of a run and the build that made it.

An SQLite file, and not parts in Parquet, for four reasons. A transaction is in the file as a whole or not at all,
whatever kills the process. Several processes may write, since SQLite locks the file. A row is found by its key without
reading the others, so that memory does not grow with the number of runs. Nothing has to be merged afterwards. The
rollback journal is used, and not the write-ahead log, which needs shared memory and so fails on network file systems.

Each row has a checksum of its key and content. A row that does not verify is dropped, which is reported in one line,
and its run is made again. A file that SQLite cannot read is removed as a whole, and reported.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fullpipe._util.files import KEPT_RUNS, check_directory, remove_if_empty
from fullpipe._util.inputs import FileError, parse_json
from fullpipe._util.text import one_line
from fullpipe.errors import InputError
from fullpipe.runs.measure import Row

__all__ = ["Store", "kept_runs"]

MOST_KEYS = 1_000_000
"""Keys that are held in memory, about 100 MB of them."""

RUNS = "runs (key BLOB PRIMARY KEY, row BLOB, sum BLOB) STRICT, WITHOUT ROWID"
"""The only table of the file."""

PATIENCE_S = 1.0
"""Time that a finished row waits for others to be written with, seconds of wall time."""

LOCKED_S = 60.0
"""Time that another process may hold the file's lock, seconds of wall time."""

MOST_REPORTS = 10
"""Damaged rows that are reported one by one."""

logger = logging.getLogger(__name__)

MOST_ROW_BYTES = 100_000_000
"""Size of a stored row, at most. Metrics have some kilobytes, tables with series some megabytes; larger rows are not
stored.
"""


class Store:
    """Rows of finished runs by key. Threads may share one; `close` it, or use it as a context manager.

    Attributes:
        path: The file; None for a store in memory.
        fails: The file could not be used, which was reported; rows are in memory alone.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, optional: bool = False) -> None:
        """Opens the file, or makes it.

        Args:
            path: The file; None for a store in memory.
            optional: A file that cannot be used is reported in one line, and rows are kept in memory.

        Raises:
            OSError: The file cannot be made or read, and is not optional.
        """
        self.path = None if path is None else Path(path)
        self.fails = False
        self._optional = optional
        self._lock = threading.RLock()
        self._waiting: dict[bytes, bytes] = {}
        self._waiting_since = 0.0
        self._dropped = 0
        self._file: sqlite3.Connection | None = None
        self._known: set[bytes] | None = None
        if self.path is not None:
            self._attempt(self._open)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, key: bytes) -> Row | None:
        """Row of a run; None if there is none, or if it does not verify."""
        with self._lock:
            if (text := self._waiting.get(key)) is not None:
                row: Row = json.loads(text)
                return row
            if self._known is not None and key not in self._known:
                return None
            found = self._attempt(lambda: self._select(key))
            return None if found is None else self._verified(key, *found)

    def add(self, key: bytes, row: Row) -> None:
        """Keeps the row of a run; it is on the disk `PATIENCE_S` later at most, provided that `tick` is called."""
        text = json.dumps(row).encode()
        if len(text) > MOST_ROW_BYTES and self.path is not None:
            return
        with self._lock:
            if not self._waiting:
                self._waiting_since = time.monotonic()
            self._waiting[key] = text
            if self._known is not None:
                self._known.add(key)

    def tick(self) -> None:
        """Writes rows that have waited long enough."""
        if self._waiting and time.monotonic() - self._waiting_since >= PATIENCE_S:
            self.flush()

    def flush(self) -> None:
        """Writes all rows.

        Raises:
            OSError: The disk is full or failing, and the file is not optional.
        """
        with self._lock:
            if self._waiting and self._file is not None:
                self._attempt(self._insert)

    def has_rows(self) -> bool:
        """Whether the store has any row."""
        if self._waiting:
            return True
        found = self._attempt(lambda: self._file and self._file.execute("SELECT 1 FROM runs LIMIT 1").fetchone())
        return found is not None

    def close(self) -> None:
        """Writes all rows and closes the file."""
        with self._lock:
            try:
                self.flush()
            finally:
                if self._file is not None:
                    self._file.close()
                    self._file = None

    def _open(self) -> None:
        assert self.path is not None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and not self.path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        self._file = sqlite3.connect(
            self.path, timeout=LOCKED_S, isolation_level=None, check_same_thread=False, cached_statements=10
        )
        # The limit is one of a row with its key, and of a statement.
        self._file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_ROW_BYTES + 1000)
        self._file.execute("PRAGMA trusted_schema = OFF")
        self._file.execute("PRAGMA cell_size_check = ON")
        self._file.execute(f"CREATE TABLE IF NOT EXISTS {RUNS}")
        # A view or a trigger of somebody else's file could run without end, or make gigabytes of a few bytes.
        if self._file.execute("SELECT sql FROM sqlite_master LIMIT 2").fetchall() != [(f"CREATE TABLE {RUNS}",)]:
            raise sqlite3.DatabaseError("its tables are not those of a store")
        # A lookup of a run that is not there costs as much as a tiny run. Rows that another process adds later are not
        # seen, and their runs are made again.
        keys = self._file.execute("SELECT key FROM runs LIMIT ?", (MOST_KEYS + 1,)).fetchall()
        self._known = None if len(keys) > MOST_KEYS else {key for (key,) in keys}

    def _select(self, key: bytes) -> tuple[bytes, bytes] | None:
        if self._file is None:
            return None
        found: tuple[bytes, bytes] | None = self._file.execute(
            "SELECT row, sum FROM runs WHERE key = ?", (key,)
        ).fetchone()
        return found

    def _insert(self) -> None:
        assert self._file is not None
        rows = [(key, text, _checksum(key, text)) for key, text in self._waiting.items()]
        self._file.execute("BEGIN IMMEDIATE")
        try:
            self._file.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)
            self._file.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise
        self._waiting = {}

    def _verified(self, key: bytes, text: bytes, checksum: bytes) -> Row | None:
        if isinstance(text, bytes) and checksum == _checksum(key, text):
            # Anybody can make a checksum: the store of a sweep may come with its directory.
            with suppress(FileError):
                row = parse_json(_shown(self.path), text, finite=False)
                if isinstance(row, dict):
                    return row
        self._dropped += 1
        if self._dropped <= MOST_REPORTS:
            more = "; further ones are not reported" if self._dropped == MOST_REPORTS else ""
            logger.warning("fullpipe: %s: a stored run is damaged and is made again%s", _shown(self.path), more)
        return None

    def _attempt(self, use: object) -> tuple[bytes, bytes] | None:
        """Uses the file. A damaged one is set aside, and a new one takes its place."""
        assert callable(use)
        try:
            found: tuple[bytes, bytes] | None = use()
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self._set_aside(error)
                return None
            self._give_up(error)
        except OSError as error:
            self._give_up(error)
        else:
            return found
        return None

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        assert self.path is not None
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
            self._file = None
        logger.warning("fullpipe: %s: is damaged (%s); its runs are made again", _shown(self.path), error)
        for file in (self.path, Path(f"{self.path}-journal")):
            with suppress(OSError):
                file.unlink()
        try:
            self._open()
        except (OSError, sqlite3.Error) as again:
            self._give_up(again)

    def _give_up(self, error: Exception) -> None:
        """Keeps rows in memory alone, or raises."""
        if isinstance(error, OSError):
            number, why = error.errno, error.strerror or str(error)
        else:
            number, why = NUMBERS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF), str(error)
        if not self._optional:
            self._waiting = {}
            raise OSError(
                number, f"{why}; finished runs are kept; run the command again to continue", str(self.path)
            ) from None
        if not self.fails:
            self.fails = True
            logger.warning("fullpipe: runs are not kept for later: %s: %s", _shown(self.path), why)
        self._file = None


NUMBERS = {sqlite3.SQLITE_FULL: 28, sqlite3.SQLITE_READONLY: 30, sqlite3.SQLITE_CANTOPEN: 2, sqlite3.SQLITE_PERM: 13}
"""The system's error numbers of SQLite's (errno.h: ENOSPC, EROFS, ENOENT, EACCES)."""


FILES = ("lock", "runs.sqlite", "runs.sqlite-journal")
"""Files in the folder of a directory's finished runs."""


@contextmanager
def kept_runs(directory: str | os.PathLike[str] | None) -> Iterator[Store]:
    """Store of finished runs in the directory of a result, until the result is there: a command that was killed finds
    them when it starts again. The store is removed at the end, unless an exception comes. One command at a time.

    Args:
        directory: Where the result goes; made if need be. None for a store in memory.

    Raises:
        InputError: The directory can't be made or written, or another command is writing there.
        OSError: The disk is full or failing.
    """
    if directory is None:
        with Store() as store:
            yield store
        return
    check_directory(directory)
    folder = Path(directory, KEPT_RUNS).absolute()
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in (folder, *(folder / name for name in FILES)):
        if place.is_symlink():
            raise InputError(f"{os.fspath(directory)}: {KEPT_RUNS}: is reached by a symbolic link; remove it")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as file:
        try:
            locked = _take_lock(file, folder, directory)
        except InputError:
            _clear(folder, made)
            raise
        if not locked:  # The folder belongs to the command that has the lock, even where this one made it.
            raise InputError(f"{os.fspath(directory)}: another command is writing there")
        store = Store(folder / "runs.sqlite")
        try:
            yield store
        except BaseException as error:
            if not isinstance(error, InputError) or store.has_rows():
                made = []
            _leave(store, folder, made)
            raise
        store.close()
        shutil.rmtree(folder, ignore_errors=True)


def _leave(store: Store, folder: Path, made: list[Path]) -> None:
    """Closes the store of a command that failed, and removes the folders made for one that was refused at once."""
    with suppress(OSError):
        store.close()
    _clear(folder, made)


def _clear(folder: Path, made: list[Path]) -> None:
    if folder in made:
        shutil.rmtree(folder, ignore_errors=True)
    for place in made:
        remove_if_empty(place)


def _take_lock(file: IO[bytes], folder: Path, directory: str | os.PathLike[str]) -> bool:
    """Whether the lock is free, and the file is still the folder's."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), (folder / "lock").stat())
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        why = error.strerror or str(error)
        what = f"its file system has no locks against a second command ({why}); choose another directory"
        raise InputError(f"{os.fspath(directory)}: {what}") from None


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error is about the file's content, and not about the disk or a lock."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    disk = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
    return code not in (*disk, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM)


def _checksum(key: bytes, text: bytes) -> bytes:
    return hashlib.sha256(key + text).digest()[:16]


def _shown(path: Path | None) -> str:
    return one_line(str(path))
