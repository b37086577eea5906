"""Bounded readers: one line for whatever is no regular file, too large, nested too deeply, or expands too far."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fullpipe
from fullpipe import Result, Scenario
from fullpipe._util.inputs import MOST_EXPANSION, digest, read_bytes, read_json, read_rows, read_table, read_text
from fullpipe.custom.files import load_file
from fullpipe.errors import InputError

READERS: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda file: read_bytes(file, 100),
    "text": lambda file: read_text(file, 100),
    "JSON": read_json,
    "table": read_table,
    "rows": read_rows,
    "digest": digest,
    "code": lambda file: load_file(str(file)),
    "library": lambda file: fullpipe.algorithm("of-library", library=file)(fullpipe.Classic),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pipe", "can't be read: it is not a regular file"),
        ("/dev/zero", "can't be read: it is not a regular file"),
        ("folder", "can't be read: it is a directory"),
        ("missing", "can't be read: No such file or directory"),
        ("sparse", "must have at most|is not a valid Parquet file"),
    ],
)
def test_every_reader_refuses_what_is_no_file_of_limited_size(tmp_path: Path, reader: str, name: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 40)
    with pytest.raises(InputError, match=why):
        READERS[reader](tmp_path / name)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "must have at most 64 levels of tables and lists"),
        ('{"a":' * 65 + "1" + "}" * 65, "must have at most 64 levels"),
        ("[" + "[]," * 300_000 + "1]", "must have at most 300000 tables and lists"),
        ('{"x": NaN}', "is not valid JSON: numbers must be finite, got NaN"),
        ('{"x": 1e999}', "is not valid JSON: numbers must be finite, got 1e999"),
        ('{"x": ' + "9" * 5000 + "}", "is not valid JSON: Exceeds the limit"),
        ('"' + r"\"" * 100_000, "is not valid JSON: Unterminated string"),
        ('{"x": 1', "is not valid JSON"),
        ("", "is not valid JSON"),
    ],
    ids=range(9),
)
def test_json_is_limited(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError) as error:
        read_json(tmp_path / "a.json")
    assert str(error.value).startswith(f"{tmp_path}/a.json: {why}")


def test_brackets_in_strings_are_no_nesting(tmp_path: Path) -> None:
    value = {"a": "[" * 100, 'b"': ['\\"[[', {"c": []}]}
    (tmp_path / "a.json").write_text(json.dumps(value))
    assert read_json(tmp_path / "a.json") == value


def test_text_that_is_not_utf_8_is_refused_by_place(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InputError, match=r"a\.json: is not UTF-8 text \(byte 7\)"):
        read_json(tmp_path / "a.json")


def test_tables_are_limited_by_what_they_become(tmp_path: Path) -> None:
    # 8,000 rows of one text of a megabyte: 8 GB, in a file of some 50 kB.
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 8000, pa.int32()), pa.array(["x" * 1_000_000]))
    tables = {
        "8000 MB in memory": pa.table({"a": text}),
        "96 MB in memory": pa.table({"a": pa.array([0.0] * 12_000_000)}),
    }
    for why, table in tables.items():
        pq.write_table(table, tmp_path / "a.parquet")
        assert (tmp_path / "a.parquet").stat().st_size < 300_000
        with pytest.raises(
            InputError, match=rf"a\.parquet: must have at most 80 MB in memory, got {why.removesuffix(' in memory')}"
        ):
            read_table(tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1.5]}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"unknown compression ZSTD \(allowed: UNCOMPRESSED, SNAPPY\)"):
        read_table(tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [0] * 2_000_001}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="must have at most 2000000 cells, got 2000001"):
        read_rows(tmp_path / "a.parquet")


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    columns = {"a": ["x", "y", None], "b": [True, False, None], "c": [1.5, None, 2], "d": [[1, 2], [], None]}
    table = pa.table(columns).replace_schema_metadata({b"key": b"value"})
    pq.write_table(table, tmp_path / "a.parquet")
    again = read_table(tmp_path / "a.parquet")
    assert again.equals(table)
    assert again.schema.metadata == {b"key": b"value"}
    pq.write_table(table.slice(0, 0), tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table.slice(0, 0))


def test_series_expand_by_less_than_is_allowed(small: Scenario, tmp_path: Path) -> None:
    """Flows that never send have the series that compress best."""
    quiet = small.replace(**{"flows.0.count": 200, "flows.0.start": "19 s", "series_interval": "10 ms"})
    fullpipe.run(quiet).save(tmp_path / "out")
    file = tmp_path / "out/series.parquet"
    assert read_table(file).nbytes < MOST_EXPANSION * file.stat().st_size


def test_representations_of_foreign_results_have_no_control_characters(small: Scenario, tmp_path: Path) -> None:
    fullpipe.run(small).save(tmp_path / "out")
    (tmp_path / "out/.fullpipe-files").unlink()
    file = tmp_path / "out/result.json"
    file.write_text(file.read_text().replace('"engine": "simulator"', '"engine": "\\u001b[2J"'))
    shown = repr(Result.load(tmp_path / "out"))
    assert shown.isprintable()
    assert r"\x1b[2J" in shown
