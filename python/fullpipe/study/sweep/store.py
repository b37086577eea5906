"""A sweep's directory: rows are kept as they come, so that a sweep that was killed goes on where it was.

``sweep.json`` says which sweep it is, and is locked while one writes: it is written in place, never replaced, so that
all who come lock the same file, and the kernel opens the lock when its process dies. ``parts/`` holds rows as Parquet
files; each appears whole or not at all, by renaming, and carries the sweep's fingerprint. At the end ``sweep.parquet``
and ``summary.parquet`` take their place.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fullpipe.errors import InputError
from fullpipe.files import MANIFEST, check_directory, clear_stages, readable, remove_if_empty, staged_file
from fullpipe.folder import Folder
from fullpipe.inputs import read_json, read_table, table_metadata
from fullpipe.scenario import Scenario
from fullpipe.study.sweep.axes import Axis
from fullpipe.study.sweep.plan import Plan
from fullpipe.study.sweep.table import join, table_of

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

__all__ = ["Store", "load"]

PATIENCE_S = 1.0
"""How long a finished row waits for others to be written with, seconds of wall time."""

MOST_PARTS = 200
"""Part files before they are put together into one."""

MOST_PLAN_BYTES = 32_000_000
"""Size of ``sweep.json``, at most: a scenario's 16 MB, as JSON."""

MARK = b"fullpipe.sweep"
"""The key of the sweep's fingerprint in a Parquet file."""


class Store:
    """A sweep's directory, opened for writing; a context manager.

    Attributes:
        done: The runs whose rows are there. Rows with an error do not count: those runs are tried again.

    Raises:
        InputError: The directory can't be made or written, holds another sweep, or is in use.
        OSError: The disk is full or failing.
    """

    def __init__(self, directory: str | os.PathLike[str], plan: Plan) -> None:
        check_directory(directory)
        self.directory = Path(directory)
        if (self.directory / MANIFEST).exists():
            raise self._refusal("holds a result that is no sweep")
        self.done: set[int] = set()
        self._plan = plan
        self._mine = self.directory / "sweep.json"
        self._parts = self.directory / "parts"
        self._new = False
        self._made: Sequence[Path] = ()
        self._waiting: list[Mapping[str, Any]] = []
        self._waiting_since = 0.0

    def __enter__(self) -> Store:
        self._made = [folder for folder in (self.directory, *self.directory.parents) if not folder.exists()]
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = self._open_mine()
        except OSError as error:
            for folder in self._made:
                remove_if_empty(folder)
            self._fail(error)
        try:
            self._take_lock()
            self._claim()
            self._open_parts()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            self._flush()
            if kind is not None and issubclass(kind, InputError) and self._new and not self._has_rows():
                self._remove_parts()
                self._remove()
        finally:
            self._lock.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Takes a run's row; it is on the disk a second later at most, provided that `tick` is called."""
        if not self._waiting:
            self._waiting_since = time.monotonic()
        self._waiting.append(row)

    def tick(self) -> None:
        """Writes the rows that have waited long enough."""
        if self._waiting and time.monotonic() - self._waiting_since >= PATIENCE_S:
            self._flush()

    def table(self) -> pa.Table:
        """All rows so far."""
        self._flush()
        return join([*self._read(), table_of([], self._plan)], self._plan)

    def finish(self, table: pa.Table, summary: pa.Table) -> None:
        """Puts the final tables in the place of the parts."""
        try:
            self._write_table(table, self.directory / "sweep.parquet")
            self._write_table(summary, self.directory / "summary.parquet")
            self._remove_parts()
        except OSError as error:
            self._fail(error)

    def _remove_parts(self) -> None:
        with Folder(self.directory) as folder:
            folder.remove_tree(self._parts.name)

    def _open_mine(self) -> io.FileIO:
        """``sweep.json``, which is made if need be; a link in its place, or in that of ``parts``, is refused."""
        with Folder(self.directory) as folder:
            if self._parts.is_symlink():
                raise self._refusal("its parts are a symbolic link")
            try:
                mine = folder.open(self._mine.name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            except (InputError, IsADirectoryError):
                raise self._refusal("its sweep.json is none of ours") from None
        return io.FileIO(mine, "a+")

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = self._mine.exists() and os.path.samestat(os.fstat(self._lock.fileno()), self._mine.stat())
        except BlockingIOError:
            locked = False
        except OSError as error:
            why = error.strerror or str(error)
            if not self._mine.stat().st_size:
                self._remove()
            raise self._refusal(f"its file system has no locks against a second sweep there ({why})") from None
        if not locked:
            raise InputError(f"{self.directory}: another sweep is writing there")

    def _claim(self) -> None:
        """Makes sure that what is there is of this sweep, and writes ``sweep.json`` where it is new."""
        text = (json.dumps(self._plan.to_dict(), indent=2) + "\n").encode()
        self._lock.seek(0)
        there = self._lock.read(MOST_PLAN_BYTES + 1)
        if len(there) > MOST_PLAN_BYTES:
            raise self._refusal("its sweep.json is none of ours")
        self._new = not there
        try:
            # A kill may have left the beginning of it.
            if not text.startswith(there):
                self._compare(there)
            self._check_rows()
            if text.startswith(there):
                _append(self._lock, text[len(there) :])
        except BaseException as error:
            if self._new:
                self._remove()
            if isinstance(error, OSError):
                self._fail(error)
            raise

    def _remove(self) -> None:
        """Takes back what was made for a sweep of which there is no row."""
        self._mine.unlink()
        for folder in self._made:
            remove_if_empty(folder)

    def _has_rows(self) -> bool:
        return any(table_metadata(path).num_rows for path in self._part_files())

    def _compare(self, there: bytes) -> None:
        """Says no to another sweep's ``sweep.json``."""
        mine = self._plan.to_dict()
        try:
            theirs = json.loads(there)
            version = theirs["fullpipe"]
            order = [axis["key"] for axis in theirs["axes"]]
            reordered = sorted(map(json.dumps, theirs["axes"])) == sorted(map(json.dumps, mine["axes"]))
            differing = [key for key in mine if json.dumps(theirs[key]) != json.dumps(mine[key])]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self._refusal("its sweep.json is none of ours") from None
        if "build" in differing:
            raise self._refusal(f"holds a sweep of another build of fullpipe (version {version})")
        if differing == ["axes"] and reordered:
            raise self._refusal(f"holds a sweep of these axes in another order ({', '.join(order)}); keep to that")
        if differing:
            raise self._refusal(f"holds another sweep (other {', '.join(differing)})")

    def _check_rows(self) -> None:
        """Says no to rows of another sweep."""
        mark = self._plan.fingerprint.encode()
        for path in (*self._part_files(), self.directory / "sweep.parquet", self.directory / "summary.parquet"):
            if path.exists():
                try:
                    theirs = table_metadata(path).metadata or {}
                except (OSError, ValueError) as error:
                    raise self._unreadable(error) from None
                if theirs.get(MARK) != mark:
                    raise self._refusal(f"{path.name} holds another sweep")

    def _open_parts(self) -> None:
        """Puts what is there into one part, without failed runs and without what a kill left half-written."""
        import pyarrow.compute as pc

        for folder in (self.directory, self._parts):
            clear_stages(folder)
        rows = join([*self._read(), table_of([], self._plan)], self._plan)
        rows = rows.filter(pc.is_null(rows["error"]))
        self.done = {run for run in rows["run"].to_pylist() if run is not None}
        try:
            self._parts.mkdir(exist_ok=True)
            self._replace_parts(rows)
        except OSError as error:
            self._fail(error)

    def _read(self) -> list[pa.Table]:
        try:
            return read_rows(self.directory)
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _flush(self) -> None:
        if not self._waiting:
            return
        try:
            self._write_table(table_of(self._waiting, self._plan), self._next_part())
            self._waiting = []
            if len(self._part_files()) > MOST_PARTS:
                self._replace_parts(join(self._read(), self._plan))
        except OSError as error:
            self._fail(error)

    def _replace_parts(self, table: pa.Table) -> None:
        """Puts a table in the place of all parts. A kill in between leaves rows twice, which `join` bears."""
        old = self._part_files()
        self._write_table(table, self._next_part())
        for path in old:
            path.unlink()

    def _part_files(self) -> Sequence[Path]:
        return sorted(self._parts.glob("*.parquet"))

    def _next_part(self) -> Path:
        files = self._part_files()
        number = int(files[-1].stem) + 1 if files else 0
        return self._parts / f"{number:09d}.parquet"

    def _write_table(self, table: pa.Table, path: Path) -> None:
        import pyarrow.parquet as pq

        with staged_file(path) as stage:
            pq.write_table(table.replace_schema_metadata({MARK: self._plan.fingerprint}), stage)

    def _unreadable(self, error: Exception) -> InputError:
        return self._refusal(f"its rows can't be read ({str(error).splitlines()[0]})")

    def _refusal(self, why: str) -> InputError:
        return InputError(f"{self.directory}: {why}; choose another directory")

    def _fail(self, error: OSError) -> NoReturn:
        # Rows that wait can't be written either; they will run again.
        self._waiting = []
        why = f"{error.strerror or error}; what is there is whole: start again to go on"
        raise OSError(error.errno, why, str(self.directory)) from None


def load(directory: str | os.PathLike[str]) -> tuple[Plan, pa.Table]:
    """What was run into a directory, and its rows so far.

    Raises:
        InputError: There is no sweep, or it can't be read.
    """
    with readable(directory) as place:
        kept = read_json(place / "sweep.json", MOST_PLAN_BYTES)
        plan = Plan(Scenario.from_dict(kept["scenario"]), tuple(map(Axis.of, kept["axes"])), kept["repeats"])
        rows = join([*read_rows(place), table_of([], plan)], plan)
        return plan, rows.replace_schema_metadata(None)


def read_rows(directory: Path) -> list[pa.Table]:
    """The tables of rows in a directory, in the order in which they were written: of a run that failed and was tried
    again the last row counts.
    """
    paths = [directory / "sweep.parquet", *sorted((directory / "parts").glob("*.parquet"))]
    return [read_table(path) for path in paths if path.exists()]


def _append(file: io.FileIO, data: bytes) -> None:
    while data:
        data = data[file.write(data) :]
    os.fsync(file.fileno())
