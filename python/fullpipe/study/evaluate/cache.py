"""What runs have measured, kept by what was run: a run that was made is not made again.

A directory per build of what runs and measures. What a kernel measured outlives a new build of the simulator: its runs
are kept by what the guest is asked to do. Each process appends to a file of its own, a line per run, so that several
may write at a time and a kill loses no more than the line under way.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fullpipe import _core
from fullpipe.runs import figures, tables
from fullpipe.study.evaluate import measure
from fullpipe.text import one_line

__all__ = ["Cache", "key_of"]

Row = dict[str, float | None]

logger = logging.getLogger(__name__)


class Cache:
    """Rows of figures of an engine's runs by key; None for the directory keeps them in memory alone, and so does one
    that can't be made, read or written: a card is worth more than what it saves the next one. That is said once.

    Attributes:
        fails: The directory can't be used, which has been said.
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None, engine: str = "simulator", *, fails: bool = False
    ) -> None:
        self.fails = fails
        self._rows: dict[str, Row] = {}
        self._file: Path | None = None
        if directory is None:
            return
        place = Path(directory) / _build(engine)
        try:
            place.mkdir(parents=True, exist_ok=True)
            for path in sorted(place.glob("*.jsonl")):
                self._read(path)
        except OSError as error:
            self._give_up(place, error)
            return
        self._file = place / f"{os.getpid()}.jsonl"

    def find(self, key: str) -> Row | None:
        """The figures of a run, if it was made."""
        return self._rows.get(key)

    def add(self, key: str, row: Row) -> None:
        """Keeps a run's figures."""
        self._rows[key] = row
        if self._file is not None:
            line = json.dumps([key, row]) + "\n"
            # A line that a kill broke off is ended first, by a line break of its own.
            try:
                with self._file.open("ab") as file:
                    file.write(f"\n{line}".encode())
            except OSError as error:
                self._give_up(self._file.parent, error)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                key, row = json.loads(line)
            except ValueError:  # empty, or broken off by a kill
                continue
            self._rows[key] = row

    def _give_up(self, place: Path, error: OSError) -> None:
        self._file = None
        if not self.fails:
            self.fails = True
            why = error.strerror or error
            logger.warning("fullpipe: runs are not kept for other cards: %s: %s", one_line(str(place)), why)


def key_of(asked: Mapping[str, Any] | str, measured: str, stamp: str = "") -> str:
    """What tells a run from others: what is asked for, such as its scenario, what is measured, and what else it depends
    on.
    """
    text = json.dumps([asked, measured, stamp], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _build(engine: str) -> str:
    """A hash of what figures depend on besides what is asked for: our engine, and what is made of its tables."""
    digest = hashlib.sha256(engine.encode())
    simulator = () if engine == "linux" else (_core,)
    for module in (*simulator, figures, tables, measure):
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()[:16]
