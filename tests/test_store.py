"""What a sweep's directory keeps."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fullpipe
from fullpipe import Scenario
from fullpipe.errors import Cancelled, InputError
from fullpipe.folder import Folder
from fullpipe.study.sweep import store as stores
from fullpipe.study.sweep.axes import read_axes
from fullpipe.study.sweep.plan import Plan
from fullpipe.study.sweep.store import Store
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
    with Store(tmp_path / "out", PLAN) as store:
        assert store.done == {0, 1, 2}
        assert store.table().equals(table)


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


def test_what_a_kill_leaves_in_the_middle_of_writing_is_cleared_away(tmp_path: Path) -> None:
    code = f"""
import os
from fullpipe.study.sweep.store import Store
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


def test_parts_are_numbered_in_their_order(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        for run in range(3):
            store.add(row(run))
            store.table()
    names = [path.name for path in sorted((tmp_path / "out/parts").iterdir())]
    # The first is what was there at the beginning: nothing.
    assert names == ["000000000.parquet", "000000001.parquet", "000000002.parquet", "000000003.parquet"]
    assert parts(tmp_path / "out") == [[], [0], [1], [2]]
    for path in (tmp_path / "out/parts").iterdir():
        assert pq.read_schema(path).metadata[b"fullpipe.sweep"] == PLAN.fingerprint.encode()
    with Store(tmp_path / "out", PLAN):
        assert [path.name for path in (tmp_path / "out/parts").iterdir()] == ["000000004.parquet"]


def test_the_directory_says_which_sweep_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN):
        pass
    text = (tmp_path / "out/sweep.json").read_text(encoding="utf-8")
    assert text == json.dumps(PLAN.to_dict(), indent=2) + "\n"


def refusal(directory: Path, plan: Plan = PLAN) -> str:
    """What the directory is refused with, without its name."""
    with pytest.raises(InputError) as error, Store(directory, plan):
        pass
    before, colon, what = str(error.value).partition(": ")
    assert (before, colon) == (str(directory), ": ")
    # It is open for others while the error is still around.
    with (directory / "sweep.json").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return what


def test_what_is_refused_and_in_which_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with Store(out, PLAN) as store:
        store.add(row(0))
    with_seeds = Plan(PLAN.scenario, PLAN.axes, 2)
    assert refusal(out, with_seeds) == "holds another sweep (other repeats); choose another directory"
    longer = Plan(PLAN.scenario.replace(duration="20 s"), PLAN.axes, 2)
    assert refusal(out, longer) == "holds another sweep (other scenario, repeats); choose another directory"
    two = Scenario(duration="10 s", links=[LINK], flows=[{"algorithm": "reno"}, {"algorithm": "bic"}])
    axes = {"flows.0.count": [1, 2], "flows.1.count": [1, 2]}
    here, there = (Plan(two, read_axes(dict(order))) for order in (axes.items(), reversed(axes.items())))
    with Store(tmp_path / "two", here):
        pass
    assert refusal(tmp_path / "two", there) == (
        "holds a sweep of these axes in another order (flows.0.count, flows.1.count); keep to that; "
        "choose another directory"
    )
    monkeypatch.setattr("fullpipe.study.sweep.plan.build_fingerprint", lambda: "another")
    other = Plan(PLAN.scenario, PLAN.axes)
    assert refusal(out, other) == (
        f"holds a sweep of another build of fullpipe (version {fullpipe.__version__}); choose another directory"
    )
    monkeypatch.undo()
    (out / "parts/000000007.parquet").write_text("PAR1 no\nmore")
    why = refusal(out)
    assert re.fullmatch(r"its rows can't be read \([^\n]*Parquet[^\n]*\); choose another directory", why), why
    (out / "parts/000000007.parquet").unlink()
    (out / "sweep.json").write_text('{"fullpipe": "1", "axes": 5}')
    assert refusal(out) == "its sweep.json is none of ours; choose another directory"
    (out / "sweep.json").unlink()
    (out / "sweep.json").mkdir()
    with pytest.raises(InputError, match=re.escape("out: its sweep.json is none of ours; choose another")):
        Store(out, PLAN).__enter__()


@pytest.mark.parametrize("became", ["removed", "another file"])
def test_a_sweep_json_that_went_while_it_was_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, became: str
) -> None:
    mine = tmp_path / "out/sweep.json"

    def flock(_file: object, how: int) -> None:
        assert how == fcntl.LOCK_EX | fcntl.LOCK_NB
        mine.rename(tmp_path / "old")
        if became == "another file":
            mine.touch()

    monkeypatch.setattr(stores.fcntl, "flock", flock)
    with pytest.raises(InputError) as error, Store(tmp_path / "out", PLAN):
        pass
    assert str(error.value) == f"{tmp_path}/out: another sweep is writing there"
    assert mine.exists() == (became == "another file")


def test_without_locks_what_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(0))
    before = sorted((tmp_path / "out").rglob("*"))
    monkeypatch.setattr(stores.fcntl, "flock", full)
    why = (
        "its file system has no locks against a second sweep there (No space left on device); choose another directory"
    )
    with pytest.raises(InputError, match=re.escape(why)), Store(tmp_path / "out", PLAN):
        pass
    assert sorted((tmp_path / "out").rglob("*")) == before


ENDINGS = {"InputError": InputError("no"), "another error": ZeroDivisionError(), "stopped": Cancelled("stopped")}


@pytest.mark.parametrize("with_row", [False, True])
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_an_error_leaves(tmp_path: Path, ending: str, there: bool, with_row: bool) -> None:
    """Only a sweep that is refused leaves nothing, and only if it is new and has no rows."""

    def fails() -> None:
        with Store(tmp_path / "deep/out", PLAN) as store:
            if with_row:
                store.add(row(1))
            raise ENDINGS[ending]

    if there:
        with Store(tmp_path / "deep/out", PLAN):
            pass
    with pytest.raises(type(ENDINGS[ending])):
        fails()
    if ending == "InputError" and not there and not with_row:
        assert list(tmp_path.iterdir()) == []
        return
    with Store(tmp_path / "deep/out", PLAN) as store:
        assert store.done == ({1} if with_row else set())


@pytest.mark.parametrize("step", ["open", "fsync"])
def test_a_disk_that_is_full_before_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.setattr(*{"open": (Folder, "open", full), "fsync": (stores.os, "fsync", full)}[step])
    with pytest.raises(OSError, match="No space left on device") as error, Store(tmp_path / "there/deep/out", PLAN):
        pass
    assert (error.value.errno, error.value.filename) == (28, str(tmp_path / "there/deep/out"))
    assert error.value.strerror == "No space left on device; what is there is whole: start again to go on"
    monkeypatch.undo()
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_a_disk_that_is_full_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(0))
        table = store.table()
        monkeypatch.setattr(stores.os, "fsync", full)
        with pytest.raises(OSError, match="start again to go on"):
            store.finish(table, table)
        monkeypatch.undo()
    with Store(tmp_path / "out", PLAN) as store:
        assert store.done == {0}


def test_what_is_appended_piece_by_piece_is_whole() -> None:
    written = []

    class Slow:
        def write(self, data: bytes) -> int:
            written.append(bytes(data[:3]))
            return len(written[-1])

        def fileno(self) -> int:
            return synced.fileno()

    with tempfile.TemporaryFile() as synced:
        stores._append(Slow(), b"12345678")  # type: ignore[arg-type]
    assert written == [b"123", b"456", b"78"]


def test_leftovers_are_cleared_from_both_directories(tmp_path: Path) -> None:
    with Store(tmp_path / "out", PLAN):
        pass
    for folder in ("out", "out/parts"):
        (tmp_path / folder / ".fullpipe.abc.tmp").mkdir()
    with Store(tmp_path / "out", PLAN):
        assert not list((tmp_path / "out").rglob(".*"))


@pytest.mark.parametrize("name", ["sweep.json", "parts"])
def test_sweep_directory_with_a_link_is_refused_and_nothing_is_touched_outside(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    with Store(tmp_path / "out", PLAN) as store:
        store.add(row(1))
    (tmp_path / "out" / name).rename(tmp_path / "moved")
    (tmp_path / "out" / name).symlink_to(outside if name == "parts" else outside / "precious")
    with pytest.raises(InputError, match=r"symbolic link|none of ours"), Store(tmp_path / "out", PLAN):
        pass
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("precious", "mine")]


def test_sweep_json_that_leads_to_a_new_file_makes_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sweep.json").symlink_to(tmp_path / "new")
    with pytest.raises(InputError, match="none of ours"), Store(tmp_path / "out", PLAN):
        pass
    assert not (tmp_path / "new").exists()
