"""Limits of the bounded readers: a file at a limit is read, and one beyond it is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fullpipe._util import files, inputs
from fullpipe._util.inputs import FileError, digest, read_bytes, read_json, read_rows, read_table, read_text
from fullpipe.errors import InputError


def test_file_of_the_size_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * 100)
    assert read_bytes(file, 100) == b"x" * 100
    assert read_text(file, 100) == "x" * 100
    inputs.check_regular(file, 100)
    # SHA-256 of a hundred letters x, by `printf 'x%.0s' $(seq 100) | sha256sum`.
    assert digest(file, 100) == "09ecb6ebc8bcefc733f6f2ec44f791abeed6a99edf0cc31519637898aebd52d8"
    for read in (read_bytes, read_text, digest, inputs.check_regular):
        with pytest.raises(FileError, match="must have at most"):
            read(file, 99)


def test_file_that_grows_after_its_size_was_checked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reported size is 0 for files of /proc, and stale for a file that another process appends to."""
    file = tmp_path / "a"
    file.write_bytes(b"x" * 101)
    real = os.fstat

    def smaller(handle: int) -> os.stat_result:
        values = list(real(handle))
        values[6] = 0
        return os.stat_result(values)

    monkeypatch.setattr(inputs.os, "fstat", smaller)
    with pytest.raises(FileError, match="must have at most"):
        read_bytes(file, 100)
    assert read_bytes(file, 101) == b"x" * 101


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_nesting_is_counted_in_levels(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    value: Any = json.loads(nested(64))
    file.write_text(nested(64))
    assert read_json(file) == value
    file.write_text(nested(65))
    with pytest.raises(FileError, match="must have at most 64 levels"):
        read_json(file)
    # A list that has ended leaves its level: 50 and then 60 more, below one.
    file.write_text(f"[{nested(50)}, {nested(60)}]")
    assert len(read_json(file)) == 2
    # Closed lists give no room for deeper ones.
    file.write_text("[" + "[]," * 20 + nested(64) + "]")
    with pytest.raises(FileError, match="must have at most 64 levels"):
        read_json(file)


def test_lists_are_counted_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_JSON_PARTS", 4)
    file = tmp_path / "a.json"
    file.write_text('[{}, [], {"a": 1}]')
    assert len(read_json(file)) == 3
    file.write_text('[{}, [], {"a": []}]')
    with pytest.raises(FileError, match="must have at most 4 tables and lists"):
        read_json(file)


def test_numbers_without_a_value_are_read_on_request_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("[1e999, -Infinity]")
    with pytest.raises(FileError, match="is not valid JSON"):
        read_json(file)
    assert read_json(file, finite=False) == [float("inf"), float("-inf")]
    file.write_text("[1.5e308, -0.5]")
    assert read_json(file) == [1.5e308, -0.5]


def test_json_text_has_finite_numbers_unless_asked_for() -> None:
    assert inputs.parse_json("a", b"[-Infinity]", finite=False) == [float("-inf")]
    with pytest.raises(FileError, match="a: is not valid JSON"):
        inputs.parse_json("a", b"[-Infinity]")


def test_object_files_have_the_limit_of_the_crate() -> None:
    """`LARGEST` of `crates/kernel/src/source.rs`."""
    assert inputs.MOST_OBJECT_BYTES == 16 * 1024 * 1024


def test_table_in_memory_may_have_200_times_its_file(tmp_path: Path) -> None:
    """300,000 equal numbers are 2.4 MB in memory; the file has a few kilobytes."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [0.0] * 300_000}), file)
    assert 200 * file.stat().st_size < 2_400_000
    with pytest.raises(FileError, match="must have at most"):
        read_table(file, 1)
    pq.write_table(pa.table({"a": [x / 7 for x in range(10_000)]}), file)
    assert read_table(file, 1).num_rows == 10_000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of two columns and three rows."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]}), file)
    return file


def test_columns_and_cells_are_counted_up_to_the_limit(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "x"}]
    monkeypatch.setattr(inputs, "MOST_COLUMNS", 2)
    monkeypatch.setattr(inputs, "MOST_CELLS", 6)
    assert read_rows(table) == rows
    monkeypatch.setattr(inputs, "MOST_CELLS", 5)
    with pytest.raises(FileError, match="must have at most 5 cells, got 6"):
        read_rows(table)
    monkeypatch.setattr(inputs, "MOST_COLUMNS", 1)
    for read in (read_table, inputs.table_metadata):
        with pytest.raises(FileError, match=r"must have at most 1 columns, got 2"):
            read(table)


def test_memory_that_the_metadata_claims_is_counted_up_to_the_limit(tmp_path: Path) -> None:
    """300 rows of two columns, 8 bytes for each cell: 4,800 bytes."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [0] * 300, "b": [0] * 300}), file)
    metadata = inputs.table_metadata(file)
    inputs._check_size(file, metadata, 4800)
    with pytest.raises(FileError, match="must have at most"):
        inputs._check_size(file, metadata, 4799)


def test_repeated_texts_count_with_their_whole_length() -> None:
    """Three texts of 5, 5 and 1 bytes, and 4 bytes for each index; three numbers of 8 bytes."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1], pa.int32()), pa.array(["abcde", "f"]))
    batch = pa.record_batch({"a": texts, "b": pa.array([1, 2, 3], pa.int64())})
    assert inputs._plain_bytes(batch) == 4 * 3 + 11 + 24
    empty = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array(["abcde"]))
    assert inputs._plain_bytes(pa.record_batch({"a": empty})) == 0


def test_files_of_a_result_have_a_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    monkeypatch.setattr(files, "MOST_FILE_BYTES", 100)
    assert len(files._digest_below(tmp_path, "a")) == 64
    monkeypatch.setattr(files, "MOST_FILE_BYTES", 99)
    with pytest.raises(InputError, match="a: must have at most"):
        files._digest_below(tmp_path, "a")
