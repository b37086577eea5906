"""Store of finished runs after a kill, with a second process, with a full disk, and after damage."""

from __future__ import annotations

import logging
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fullpipe._util.files import KEPT_RUNS
from fullpipe.errors import InputError
from fullpipe.runs import store as stores
from fullpipe.runs.store import Store, kept_runs

ROWS = {bytes([i]) * 20: {"x": i / 7, "name": f"row {i}", "none": None} for i in range(100)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with all rows."""
    with Store(tmp_path / "runs.sqlite") as store:
        for key, row in ROWS.items():
            store.add(key, row)
    return tmp_path / "runs.sqlite"


def found(file: Path) -> int:
    """Rows that are found; each of them must be right."""
    with Store(file) as store:
        rows = {key: store.find(key) for key in ROWS}
    assert all(row is None or row == ROWS[key] for key, row in rows.items())
    return sum(row is not None for row in rows.values())


def test_rows_come_back_as_they_were(file: Path) -> None:
    assert found(file) == 100
    with Store(file) as store:
        assert store.find(b"another key") is None
        store.add(b"\0" * 20, {"x": float("inf"), "nan": float("nan"), "text": "\ud800"})
        before = store.find(b"\0" * 20)
    with Store(file) as store:
        assert repr(store.find(b"\0" * 20)) == repr(before)


def test_a_store_without_a_file() -> None:
    with Store() as store:
        assert not store.has_rows()
        store.add(b"a", {"x": 1})
        store.flush()
        assert store.find(b"a") == {"x": 1}
        assert store.has_rows()


def test_rows_wait_for_others_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(stores.time, "monotonic", lambda: now)

    def written() -> int:
        with Store(tmp_path / "runs.sqlite") as other:
            return sum(other.find(key) is not None for key in (b"a", b"b"))

    with Store(tmp_path / "runs.sqlite") as store:
        store.add(b"a", {})
        now = 100.9
        store.add(b"b", {})
        store.tick()
        assert written() == 0
        now = 101.0
        store.tick()
        assert written() == 2


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_rows_are_found_with_and_without_their_keys_in_memory(
    file: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(stores, "MOST_KEYS", most)
    assert found(file) == 100
    with Store(file) as store:
        assert store.find(b"new") is None
        store.add(b"new", {"x": 1})
        store.flush()
        assert store.find(b"new") == {"x": 1}


def test_a_changed_byte_loses_rows_and_never_changes_one(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ninety places, as an earlier cache was tested with: 22 tracebacks and 5 wrong cards."""
    whole, chance = file.read_bytes(), random.Random(1)
    lost = 0
    for _ in range(90):
        data = bytearray(whole)
        place = chance.randrange(len(data))
        data[place] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        caplog.clear()
        count = found(file)
        lost += count < 100
        if count < 100:
            # Of a row that is not found at all, such as one whose key has changed, there is nothing to report.
            assert len(caplog.records) <= 100 - count
        assert all("made again" in record.getMessage() for record in caplog.records)
    assert lost > 20


def test_a_row_that_does_not_verify_is_reported_in_a_line(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = next(iter(ROWS))
    with sqlite3.connect(file) as database:
        database.execute("UPDATE runs SET row = CAST(replace(row, '0.0', '9.0') AS BLOB) WHERE key = ?", (key,))
    database.close()
    assert found(file) == 99
    (record,) = caplog.records
    assert record.getMessage() == f"fullpipe: {file}: a stored run is damaged and is made again"


@pytest.mark.parametrize(
    "row", [b"[" * 100_000, b'{"a":' * 999, b"[]", b"1", b'{"a": }', b'{"a": "\xff"}'], ids=range(6)
)
def test_a_row_that_is_none_is_reported_whatever_its_checksum(
    file: Path, caplog: pytest.LogCaptureFixture, row: bytes
) -> None:
    key = next(iter(ROWS))
    with sqlite3.connect(file) as database:
        database.execute("UPDATE runs SET row = ?, sum = ? WHERE key = ?", (row, stores._checksum(key, row), key))
    database.close()
    assert found(file) == 99
    (record,) = caplog.records
    assert record.getMessage() == f"fullpipe: {file}: a stored run is damaged and is made again"


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_none(file: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    file.write_bytes(content)
    assert found(file) == 0
    assert len(caplog.records) == (content != b"")
    with Store(file) as store:
        store.add(b"a", {"x": 1})
    with Store(file) as store:
        assert store.find(b"a") == {"x": 1}


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
"""Rows without end."""


@pytest.mark.parametrize(
    "hostile",
    [
        f"CREATE VIEW runs AS {ENDLESS} SELECT zeroblob(1000) AS key, zeroblob(9) AS row, x'00' AS sum FROM n",
        "CREATE TABLE runs (x, key AS (zeroblob(1000)), row AS (zeroblob(9)), sum)",
        f"CREATE TABLE {stores.RUNS}; CREATE TRIGGER more AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    ],
    ids=["view", "computed", "trigger"],
)
def test_a_file_with_other_tables_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture, hostile: str) -> None:
    """The store of an unfinished sweep may come from somebody else with the directory."""
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.executescript(hostile)
    database.close()
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.find(b"a" * 20) is None
        store.add(b"a" * 20, {"x": 1})
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.find(b"a" * 20) == {"x": 1}
    (record,) = caplog.records
    assert "its tables are not those of a store" in record.getMessage()


def test_many_damaged_rows_are_not_reported_one_by_one(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with sqlite3.connect(file) as database:
        database.execute("UPDATE runs SET sum = x'00'")
    database.close()
    assert found(file) == 0
    assert len(caplog.records) == 10
    assert caplog.records[-1].getMessage().endswith("; further ones are not reported")


WRITER = """
import sys
from fullpipe.runs import store as stores
stores.PATIENCE_S = 0.0
first, last = int(sys.argv[2]), int(sys.argv[3])
with stores.Store(sys.argv[1]) as store:
    for i in range(first, last):
        store.add(i.to_bytes(20, "big"), {"x": i, "filler": "x" * 100})
        store.tick()
        print(i, flush=True)
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "runs.sqlite")]
    spans = (("0", "150"), ("100", "250"))
    writers = [subprocess.Popen([*command, *span], stdout=subprocess.DEVNULL) for span in spans]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with Store(tmp_path / "runs.sqlite") as store:
        rows = [store.find(i.to_bytes(20, "big")) for i in range(250)]
    assert [row and row["x"] for row in rows] == list(range(250))


def test_a_kill_loses_nothing_that_was_written(tmp_path: Path) -> None:
    chance = random.Random(2)
    for attempt in range(8):
        file = tmp_path / f"{attempt}.sqlite"
        command = [sys.executable, "-c", WRITER, str(file), "0", "100000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            last = -1
            for _ in range(chance.randrange(1, 200)):
                last = int(writer.stdout.readline())
            writer.kill()
        with Store(file) as store:
            assert [store.find(i.to_bytes(20, "big")) is not None for i in range(last + 1)] == [True] * (last + 1)


def test_a_full_disk_is_an_error_or_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fill(store: Store) -> None:
        assert store._file is not None
        store._file.execute("PRAGMA max_page_count = 3")
        for key in ROWS:
            store.add(key, {"text": "x" * 1000})
        store.flush()

    with pytest.raises(OSError, match="full; finished runs are kept; run the command again to continue") as error:
        fill(Store(tmp_path / "runs.sqlite"))
    assert error.value.errno == 28
    store = Store(tmp_path / "other.sqlite", optional=True)
    fill(store)
    assert store.fails
    assert all(store.find(key) == {"text": "x" * 1000} for key in ROWS)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "runs are not kept for later" in record.getMessage()


def test_a_large_row_is_kept_in_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = {"text": "x" * 988}, {"text": "x" * 989}
    monkeypatch.setattr(stores, "MOST_ROW_BYTES", 1000)  # of JSON: 12 characters and the text
    for path, kept in ((tmp_path / "deep/er/runs.sqlite", None), (None, large)):
        with Store(path) as store:
            store.add(b"a", small)
            store.add(b"b", large)
            assert (store.find(b"a"), store.find(b"b")) == (small, kept)
    with Store(tmp_path / "deep/er/runs.sqlite") as store:
        assert (store.find(b"a"), store.find(b"b")) == (small, None)


@pytest.mark.parametrize(
    ("error", "why"), [(OSError(37, "No locks available"), "No locks available"), (OSError("odd"), "odd")]
)
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, why: str
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(stores.fcntl, "flock", refuse)
    with pytest.raises(InputError, match=rf"has no locks against a second command \({why}\)"):
        kept_runs(tmp_path / "out").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_keeps_runs_until_its_result_is_there(tmp_path: Path) -> None:
    def interrupted() -> None:
        with kept_runs(tmp_path / "deep/out") as store:
            store.add(b"a", {"x": 1})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with kept_runs(tmp_path / "deep/out") as store:
        assert store.find(b"a") == {"x": 1}
        with pytest.raises(InputError, match="out: another command is writing there"), kept_runs(tmp_path / "deep/out"):
            pass
        assert (tmp_path / "deep/out" / KEPT_RUNS).exists()
    assert list((tmp_path / "deep/out").iterdir()) == []


def test_a_command_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    def refused(*rows: bytes) -> None:
        with kept_runs(tmp_path / "deep/out") as store:
            for row in rows:
                store.add(row, {})
            raise InputError("no")

    with pytest.raises(InputError, match="no"):
        refused()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="no"):
        refused(b"a")
    with pytest.raises(InputError, match="no"):
        refused()
    with kept_runs(tmp_path / "deep/out") as store:
        assert store.find(b"a") == {}
