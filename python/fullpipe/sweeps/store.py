"""A sweep's directory: rows are kept as they come, so that a sweep that was killed goes on where it was.

``sweep.json`` says which sweep it is, and is locked while one writes. ``parts/`` holds rows as Parquet files; each
appears whole or not at all, by renaming. At the end ``sweep.parquet`` and ``summary.parquet`` take their place.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fullpipe.errors import InputError
from fullpipe.files import check_directory
from fullpipe.sweeps.table import join, table_of

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

    from fullpipe.sweeps.plan import Plan

__all__ = ["Store"]

PATIENCE_S = 1.0
"""How long a finished row waits for others to be written with, seconds of wall time."""

MOST_PARTS = 200
"""Part files before they are put together into one."""


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
        self.done: set[int] = set()
        self._plan = plan
        self._parts = self.directory / "parts"
        self._waiting: list[Mapping[str, Any]] = []
        self._waiting_since = 0.0

    def __enter__(self) -> Store:
        made = [folder for folder in (self.directory, *self.directory.parents) if not folder.exists()]
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            mine = self.directory / "sweep.json"
            if not mine.exists():
                _write(mine, (json.dumps(self._plan.to_dict(), indent=2) + "\n").encode())
        except OSError as error:
            for folder in made:
                _remove_if_empty(folder)
            self._fail(error)
        self._lock = mine.open("r", encoding="utf-8")
        try:
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
            if kind is None or issubclass(kind, KeyboardInterrupt):
                self._flush()
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
            _write_table(table, self.directory / "sweep.parquet")
            _write_table(summary, self.directory / "summary.parquet")
            shutil.rmtree(self._parts)
        except OSError as error:
            self._fail(error)

    def _claim(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.directory}: another sweep is writing there") from None
        try:
            there = json.load(self._lock)
        except ValueError:
            there = None
        if not isinstance(there, dict):
            raise InputError(f"{self.directory}: its sweep.json is none of ours; choose another directory")
        for key, mine in self._plan.to_dict().items():
            if there.get(key) != mine:
                raise InputError(f"{self.directory}: holds another sweep (its {key} differs); choose another directory")

    def _open_parts(self) -> None:
        """Puts what is there into one part, without failed runs and without what a kill left half-written."""
        import pyarrow.compute as pc

        for folder in (self.directory, self._parts):
            for path in folder.glob(".*.tmp"):
                path.unlink()
        rows = join([*self._read(), table_of([], self._plan)], self._plan)
        rows = rows.filter(pc.is_null(rows["error"]))
        self.done = {run for run in rows["run"].to_pylist() if run is not None}
        try:
            self._parts.mkdir(exist_ok=True)
            self._replace_parts(rows)
        except OSError as error:
            self._fail(error)

    def _read(self) -> list[pa.Table]:
        import pyarrow.parquet as pq

        paths = [*self._part_files(), self.directory / "sweep.parquet"]
        try:
            return [pq.read_table(path, partitioning=None) for path in paths if path.exists()]
        except (OSError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise InputError(f"{self.directory}: its rows can't be read ({first}); choose another directory") from None

    def _flush(self) -> None:
        if not self._waiting:
            return
        try:
            _write_table(table_of(self._waiting, self._plan), self._next_part())
            self._waiting = []
            if len(self._part_files()) > MOST_PARTS:
                self._replace_parts(join(self._read(), self._plan))
        except OSError as error:
            self._fail(error)

    def _replace_parts(self, table: pa.Table) -> None:
        """Puts a table in the place of all parts. A kill in between leaves rows twice, which `join` bears."""
        old = self._part_files()
        _write_table(table, self._next_part())
        for path in old:
            path.unlink()

    def _part_files(self) -> Sequence[Path]:
        return sorted(self._parts.glob("*.parquet"))

    def _next_part(self) -> Path:
        files = self._part_files()
        number = int(files[-1].stem) + 1 if files else 0
        return self._parts / f"{number:09d}.parquet"

    def _fail(self, error: OSError) -> NoReturn:
        # Rows that wait can't be written either; they will run again.
        self._waiting = []
        why = f"{error.strerror or error}; what is there is whole: start again to go on"
        raise OSError(error.errno, why, str(self.directory)) from None


def _write_table(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    _write(path, buffer.getbuffer())


def _write(path: Path, data: bytes | memoryview) -> None:
    stage = path.with_name(f".{path.name}.tmp")
    try:
        with stage.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        stage.replace(path)
    except BaseException:
        stage.unlink(missing_ok=True)
        raise


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
