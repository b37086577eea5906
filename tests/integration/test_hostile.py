"""Hostile files over all loaders and commands: one line, exit status 2, and at most 200 MB for each."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import SMALL
from hostile import PROGRAM, ending

SEED = 20

MOST_BYTES = 200_000_000
"""Peak memory of each, with the interpreter and its libraries."""

MEASURED = os.environ.get("FULLPIPE_MEASURED")
"""File that gets a line of JSON for each hostile file: processor time, time until the end, and peak memory."""


def text(draw: random.Random, kind: int) -> bytes:
    """Text file of no known format."""
    size = draw.randrange(1, 200_000)
    kinds: list[Callable[[], bytes]] = [
        lambda: draw.randbytes(size),
        lambda: b"[" * size,
        lambda: b"a = " + b"[" * size,
        lambda: b"a" * size,
        lambda: b'"' + b"\\" * size,
        lambda: b"\x1b[2J\x07" * draw.randrange(1, 99),
        lambda: b"x = nan\n" * draw.randrange(1, 99),
        lambda: SMALL.encode()[: draw.randrange(len(SMALL) // 2)] + b"\xff",
        lambda: ("duration = " + "9" * size).encode(),
        lambda: b"",
    ]
    return kinds[kind % len(kinds)]()


def place(draw: random.Random, file: Path, kind: int) -> None:
    """Something that is no file of limited size."""
    if kind % 5 == 0:
        os.mkfifo(file)
    elif kind % 5 == 1:
        file.symlink_to("/dev/zero")
    elif kind % 5 == 2:
        file.touch()
        os.truncate(file, draw.randrange(1 << 36, 1 << 41))
    elif kind % 5 == 3:
        file.symlink_to(file)
    else:
        file.mkdir()


def table(draw: random.Random, file: Path, kind: int) -> None:
    """A Parquet file that is damaged, or expands."""
    if kind % 3 == 0:
        texts = pa.array(["x" * draw.randrange(500_000, 1_000_000)])
        count = draw.randrange(1000, 9000)
        pq.write_table(pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), texts)}), file)
    elif kind % 3 == 1:
        pq.write_table(
            pa.table({"a": pa.array([0.0]).take(pa.array([0] * draw.randrange(11_000_000, 14_000_000)))}), file
        )
    else:
        pq.write_table(pa.table({"a": list(range(1000))}), file)
        content = bytearray(file.read_bytes())
        for _ in range(20):
            content[draw.randrange(len(content) - 200, len(content))] ^= draw.randrange(1, 256)
        file.write_bytes(content)


COMMANDS: dict[str, list[str]] = {
    "run": ["run", "FILE"],
    "compare": ["compare", "FILE", "--algorithms", "reno,vegas"],
    "sweep": ["sweep", "FILE"],
    "bench": ["bench", "FILE", "--out", "page.html"],
    "load": ["run", "small.toml", "--load", "FILE"],
    "object": ["compare", "small.toml", "--algorithms", "FILE"],
    "trace": ["run", "small.toml", "--set", "links.0.rate=", "--set", "links.0.trace=FILE"],
    "delay trace": ["run", "small.toml", "--set", "links.0.delay_trace=FILE"],
    "loss trace": ["compare", "small.toml", "--set", "links.0.loss_trace=FILE", "--algorithms", "reno,vegas"],
    "sweep.json": ["sweep", "sweep.toml", "--out", "FILE"],
    "duel": ["duel", "FILE", "--algorithms", "reno,vegas"],
    "size": ["size", "--rate", "9 Mbit/s", "--rtt", "9 ms", "--flows", "1", "--target", ".9", "--algorithms", "FILE"],
    "evaluate": ["evaluate", "FILE"],
    "statement": ["evaluate", "vegas", "--only", "iot", "--seeds", "1", "--statement", "FILE"],
    "paper": ["reproduce", "--paper", "FILE"],
    "linux": ["linux", "run", "FILE"],
    "suite": ["check", "FILE"],
    "baseline": ["check", "suite.toml", "--baseline", "FILE"],
    "algorithms": ["algorithms", "FILE"],
    "scenario of a suite": ["check", "suite.toml", "--baseline", "none.json"],
    "packet library": ["compare", "small.toml", "--algorithms", "FILE:mine"],
    "packet class": ["conform", "FILE"],
    "conform": ["conform", "FILE"],
    "program": ["conform", "newreno", "--program", "./FILE"],
    "controller of a suite": ["check", "library.toml"],
    "columns": ["run", "small.toml", "--load", "FILE", "--json"],
}
"""What is run with each file; the file's name fits the command."""

LOADERS = ("Result", "Comparison", "Card", "Sizing", "Duel", "Sweep", "table", "rows", "JSON", "library")

NAMES = {
    "scenario of a suite": "small.toml",
    "packet library": "f.so",
    "packet class": "f.py",
    "conform": "f.o",
    "controller of a suite": "f.so",
    "load": "f.py",
    "object": "f.o",
    "size": "f.o",
    "evaluate": "f.o",
    "algorithms": "f.py",
    "columns": "f.py",
}
"""Names of the files where it is not `f.toml`."""


LOAD = """
import sys
import fullpipe
from fullpipe.errors import InputError
from fullpipe._util.inputs import read_json, read_rows, read_table
kind, path = sys.argv[1:]
library = lambda file: fullpipe.algorithm("foreign", library=file)(fullpipe.Classic)
loaders = {"table": read_table, "rows": read_rows, "JSON": read_json, "library": library}
status = 0
try:
    (loaders.get(kind) or getattr(fullpipe, kind).load)(path)
except InputError as error:
    print(f"fullpipe: {error}", file=sys.stderr)
    status = 2
"""

SUITE = """
scenarios = [{ name = "small", file = "small.toml" }]
[[checks]]
id = "same"
scenario = "small"
controller = "newreno"
metric = "goodput_bps"
relative_to = "baseline"
"""
"""Suite that needs a baseline."""

SAVED = {
    "Result": "result",
    "Comparison": "comparison",
    "Card": "card",
    "Sizing": "size",
    "Duel": "duel",
    "Sweep": "sweep",
}


def made(draw: random.Random, folder: Path, number: int) -> tuple[str, list[str]]:
    """Writes a hostile file; the code to run with it, and its arguments."""
    (folder / "small.toml").write_text(SMALL)
    (folder / "sweep.toml").write_text(f"{SMALL}\n[sweep]\nseed = [1]\n")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "library.toml").write_text(SUITE + '[controllers]\nmine = "f.so:mine"\n')
    uses = [*COMMANDS, *LOADERS]
    use = uses[number % len(uses)]
    kind = draw.randrange(1000)
    if use in SAVED:
        (folder / "saved").mkdir()
        file, argument = folder / "saved" / f"{SAVED[use]}.json", "saved"
    elif use == "sweep.json":
        (folder / "saved").mkdir()
        file, argument = folder / "saved/sweep.json", "saved"
    else:
        file = folder / NAMES.get(use, "f.toml")
        file.unlink(missing_ok=True)
        argument = file.name
    if use in ("table", "rows"):
        table(draw, file, kind)
    elif draw.randrange(2):
        place(draw, file, kind)
    elif use == "program":
        file.write_bytes(b"#!/bin/sh\nexec head -c 300000 /dev/urandom\n" if kind % 2 else draw.randbytes(9999))
        file.chmod(0o755)
    elif NAMES.get(use) == "f.py":
        # Valid code may do anything.
        file.write_bytes(b"(" * draw.randrange(1, 100_000) + draw.randbytes(9))
    else:
        file.write_bytes(text(draw, kind))
    if use == "paper":
        folder_of_paper(folder, file)
        argument = "paper"
    if use in COMMANDS:
        return PROGRAM, [argument if part == "FILE" else part.replace("FILE", argument) for part in COMMANDS[use]]
    return LOAD, [use, argument]


LINES = {"times": b"1\n", "blank lines": b"\n", "bytes that are no text": b"\xff" * 100, "one line": b"1" * 100}
"""Content of a file of 99 MB, which is below the limit, repeated."""


@pytest.mark.parametrize("key", ["trace", "delay_trace", "loss_trace"])
@pytest.mark.parametrize("part", LINES.values(), ids=LINES)
def test_traces_of_many_lines_are_refused_in_little_memory(tmp_path: Path, key: str, part: bytes) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "a.trace").write_bytes(part * (99_000_000 // len(part)))
    setting = ["--set", "links.0.rate="] if key == "trace" else []
    end = ending(["run", "small.toml", "--set", f"links.0.{key}=a.trace", *setting], tmp_path)
    assert (end.status, len(end.lines)) == (2, 1), end
    assert end.peak_bytes < MOST_BYTES, end


def folder_of_paper(folder: Path, content: Path) -> None:
    """A paper whose expectations are the hostile file."""
    (folder / "paper").mkdir()
    (folder / "paper/__init__.py").write_text("ITEMS = []\n")
    content.rename(folder / "paper/paper.toml")


@pytest.mark.parametrize("tens", range(13))
def test_hostile_files_are_refused_in_one_line_and_little_memory(tmp_path: Path, tens: int) -> None:
    for number in range(20 * tens, 20 * tens + 20):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, arguments = made(random.Random(SEED + number), folder, number)
        end = ending(arguments, folder, code)
        told = f"{number}: {arguments}: {end}"
        assert (end.status, end.output, len(end.lines)) == (2, b"", 1), told
        assert end.lines[0].startswith("fullpipe: "), told
        assert end.lines[0].isprintable(), told
        assert len(end.lines[0]) < 2200, told
        assert end.peak_bytes < MOST_BYTES, told
        if MEASURED is not None:
            row = {
                "number": number,
                "use": arguments,
                "cpu_s": end.cpu_s,
                "wall_s": end.wall_s,
                "bytes": end.peak_bytes,
            }
            with Path(MEASURED).open("a") as file:
                file.write(json.dumps(row) + "\n")
