"""What a sweep's directory keeps, and files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fullpipe import Scenario
from fullpipe.errors import InputError
from fullpipe.files import check_directory, check_picture, staged, staged_file
from fullpipe.sweeps import store as stores
from fullpipe.sweeps.axes import read_axes
from fullpipe.sweeps.plan import Plan
from fullpipe.sweeps.store import Store
from test_tables import LINK


def plan_of(*buffers: str) -> Plan:
    scenario = Scenario(duration="10 s", links=[LINK], flows=[{"algorithm": "reno"}])
    return Plan(scenario, read_axes({"links.bottleneck.buffer": list(buffers)}))


PLAN = plan_of("1 packets", "2 packets", "3 packets")


def row(run: int, error: str | None = None) -> dict[str, object]:
    return {**PLAN.labels(run), "error": error, "utilization": None if error else run / 10}


def parts(directory: Path) -> list[list[int | None]]:
    """The runs in each part file."""
    return [pq.read_table(path)["run"].to_pylist() for path in sorted((directory / "parts").glob("*.parquet"))]


def test_rows_of_failed_runs_are_not_done(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        assert store.done == set()
        for each in (row(0), row(1, "it failed"), row(2)):
            store.add(each)
    with Store(tmp_path / "out", PLAN) as store:
        assert store.done == {0, 2}
        assert store.table()["run"].to_pylist() == [0, 2]
        store.add(row(1))
        assert store.table()["utilization"].to_pylist() == [0.0, 0.1, 0.2]


def test_of_a_run_that_is_there_twice_the_last_counts(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(1))
        store.table()
        store.add({**row(1), "utilization": 9.0})
        store.add(row(0))
        assert store.table()["utilization"].to_pylist() == [0.0, 9.0]


def test_rows_that_wait_are_written_at_the_end(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(2))
    assert [runs for runs in parts(tmp_path / "out") if runs] == [[2]]


def test_rows_that_wait_are_written_at_ctrl_c(tmp_path: Path) -> None:
    def interrupted() -> None:
        with Store(tmp_path / "out", PLAN) as store:
            store.add(row(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [runs for runs in parts(tmp_path / "out") if runs] == [[2]]


def test_rows_wait_for_others_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(stores.time, "monotonic", lambda: now)
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(0))
        now = 100.9
        store.add(row(1))
        store.tick()
        assert not any(parts(tmp_path / "out"))
        now = 101.0
        store.tick()
        assert [0, 1] in parts(tmp_path / "out")


def test_many_parts_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_PARTS", 2)
    with Store(tmp_path / "out", PLAN) as store:
        for run in range(3):
            store.add(row(run))
            store.table()
            assert len(parts(tmp_path / "out")) <= 2
        assert sorted(run for runs in parts(tmp_path / "out") for run in runs if run is not None) == [0, 1, 2]


def test_finished_tables_take_the_place_of_the_parts(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        for run in range(3):
            store.add(row(run))
        table = store.table()
        store.finish(table, table.select(["run"]))
    assert not (tmp_path / "out/parts").exists()
    assert pq.read_table(tmp_path / "out/sweep.parquet").equals(table)
    assert pq.read_table(tmp_path / "out/summary.parquet").column_names == ["run"]


def test_another_sweep_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(0))
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="holds another sweep"), Store(tmp_path / "out", plan_of("1 packets")):
        pass
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "out", PLAN),
        pytest.raises(InputError, match="another sweep is writing there"),
        Store(tmp_path / "out", PLAN),
    ):
        pass


def test_a_full_disk_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(0))
        store.table()
        monkeypatch.setattr(stores.os, "fsync", full)
        store.add(row(1))
        with pytest.raises(OSError, match="start again to go on") as error:
            store.table()
        assert error.value.errno == 28
        monkeypatch.undo()
    assert not list((tmp_path / "out").rglob(".*"))
    with Store(tmp_path / "out", PLAN) as store:
        assert store.done == {0}


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_files_have_the_mode_that_the_user_asks_for(tmp_path: Path) -> None:
    with staged_file(tmp_path / "file.png") as stage:
        stage.write_text("whole")
        assert stage.suffix == ".png"
    assert mode(tmp_path / "file.png") == 0o640
    with staged(tmp_path / "deep/folder") as stage:
        (stage / "file").write_text("whole")
    assert mode(tmp_path / "deep/folder/file") == 0o640
    assert mode(tmp_path / "deep/folder") == mode(tmp_path / "deep") == 0o750
    assert os.umask(0o027) == 0o027


def test_a_file_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def fails() -> None:
        with staged_file(tmp_path / "file.png") as stage:
            stage.write_text("half")
            raise ZeroDivisionError

    (tmp_path / "file.png").write_text("old")
    with pytest.raises(ZeroDivisionError):
        fails()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file.png", "old")]


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.png").write_text("old")
    seen = []

    def fsync(handle: int) -> None:
        seen.append((os.pread(handle, 10, 0), (tmp_path / "file.png").read_text()))

    monkeypatch.setattr(stores.os, "fsync", fsync)
    with staged_file(tmp_path / "file.png") as stage:
        stage.write_text("new")
    assert seen == [(b"new", "old")]
    assert (tmp_path / "file.png").read_text() == "new"


def test_a_disk_that_is_full_from_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OSError, match="No space left on device") as error, staged_file(tmp_path / "file.png"):
        pass
    assert (error.value.errno, error.value.filename) == (28, str(tmp_path / "file.png"))


def test_what_a_kill_leaves_in_the_middle_of_writing_is_cleared_away(tmp_path: Path) -> None:
    code = f"""
import os
from fullpipe.sweeps.store import Store
from test_store import PLAN, row
with Store({str(tmp_path / "out")!r}, PLAN) as store:
    store.add(row(0))
    store.table()
    os.fsync = lambda _: os.kill(os.getpid(), 9)
    store.add(row(1))
    store.table()
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=False)
    assert killed.returncode == -9
    assert len(list((tmp_path / "out/parts").glob(".*"))) == 1
    with Store(tmp_path / "out", PLAN) as store:
        assert not list((tmp_path / "out").rglob(".*"))
        assert store.done == {0}


def test_a_directory_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> None:
        with staged(tmp_path / "a/b/c") as stage:
            (stage / "file").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_keeps_what_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/mine").write_text("mine")
    (tmp_path / "out/deep/file").write_text("old")
    with staged(tmp_path / "out") as stage:
        (stage / "deep").mkdir()
        (stage / "deep/file").write_text("new")
    assert (tmp_path / "out/mine").read_text() == "mine"
    assert (tmp_path / "out/deep/file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a directory"):
        check_directory(tmp_path / "file/deep")
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "no/such.png", "No such file")):
        with pytest.raises(OSError, match=why) as error, staged_file(path) as stage:
            stage.write_text("whole")
        assert error.value.filename == str(path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(InputError, match=r"unknown kind of picture '.gif' \(allowed: .png, .svg, .pdf\)"):
        check_picture(tmp_path / "a.gif")
    check_picture(tmp_path / "a.PNG")
