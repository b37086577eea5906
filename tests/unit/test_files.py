"""Files and directories that are written whole or not at all, and places that are refused beforehand."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import pytest

from fullpipe._core import module_file
from fullpipe._util import files
from fullpipe._util.files import (
    MANIFEST,
    cache_directory,
    check_directory,
    check_picture,
    check_whole,
    clear_stages,
    readable,
    remove_if_empty,
    staged,
    staged_file,
    uninterrupted,
    write_manifest,
)
from fullpipe._util.folder import Folder, check_below
from fullpipe._util.text import shorten
from fullpipe.errors import InputError
from fullpipe.linux import kernel


def full(*_: object, **__: object) -> NoReturn:
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

    monkeypatch.setattr(files.os, "fsync", fsync)
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


def test_a_directory_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> None:
        with staged(tmp_path / "a/b/c") as stage:
            (stage / "file").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert list(tmp_path.iterdir()) == []


def write(directory: Path, contents: dict[str, str], **options: bool) -> None:
    with staged(directory, **options) as stage:
        for name, text in contents.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text(text)


def there(directory: Path) -> dict[str, str]:
    """Files of a directory, without the list of fullpipe's own files."""
    found = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    return {name: path.read_text() for name, path in found.items() if name != MANIFEST}


def test_a_directory_is_that_of_what_was_written_last(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"deep/down/old": "1", "deep/file": "1", "file": "1"})
    (out / "mine").write_text("mine")
    write(out, {"deep/file": "2", "new": "2"})
    assert there(out) == {"deep/file": "2", "new": "2", "mine": "mine"}
    assert not (out / "deep/down").exists()
    write(out, {"more": "3"}, adds=True)
    assert there(out) == {"deep/file": "2", "new": "2", "more": "3", "mine": "mine"}
    write(out, {"new": "4"})
    assert there(out) == {"new": "4", "mine": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("precious")
    refused = "must be a new or empty directory, or one of an earlier result; it has other files"
    with pytest.raises(InputError, match=refused):
        write(tmp_path, {"result.json": "{}"})
    assert there(tmp_path) == {"result.json": "precious"}
    with staged(tmp_path, beside=("result.json",)) as stage:
        (stage / "item.json").write_text("{}")
    assert there(tmp_path) == {"result.json": "precious", "item.json": "{}"}
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", {"file": "1"})
    with pytest.raises(InputError, match=r'^"": is not a directory$'):
        check_directory("")


def test_a_list_that_was_changed_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    write(tmp_path / "out", {"file": "1"})
    with (tmp_path / "out" / MANIFEST).open("a") as file:
        file.write(f"-  ../precious\n-  {tmp_path}/precious\n-  deep/../../precious\n")
    write(tmp_path / "out", {"other": "2"})
    assert (tmp_path / "precious").read_text() == "mine"
    assert there(tmp_path / "out") == {"other": "2"}


OLD, NEW = {"a": "1", "b": "1", "deep/c": "1"}, {"a": "2", "b": "2", "new": "2"}


def test_a_mixture_of_two_results_is_refused_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends before each of its steps: the directory has one result, or is refused, and can be replaced."""
    steps_of = ((Path, "replace"), (Path, "rename"), (Folder, "take"), (Folder, "remove"))
    real = {name: getattr(kind, name) for kind, name in steps_of}
    outcomes = []
    for dies_at in range(1, 20):
        out = tmp_path / str(dies_at)
        write(out, OLD)
        steps = 0

        def step(name: str, *arguments: object, at: int = dies_at, **options: object) -> object:
            nonlocal steps
            steps += 1
            if steps >= at:
                raise OSError(28, "No space left on device")
            return real[name](*arguments, **options)

        for kind, name in steps_of:
            monkeypatch.setattr(kind, name, partialmethod_of(step, name))
        try:
            write(out, NEW)
            died = False
        except OSError:
            died = True
        monkeypatch.undo()
        try:
            with readable(out) as place:
                outcomes.append("old" if there(place) == OLD else "new")
                assert there(place) in (OLD, NEW)
        except InputError as error:
            expected = f"{out}: writing was interrupted, and the directory has parts of two results; write it again"
            outcomes.append("refused" if str(error) == expected else str(error))
        write(out, {"d": "3"})
        assert there(out) == {"d": "3"}
        check_whole(out)
        if not died:
            break
    assert outcomes == ["old", *["refused"] * (len(outcomes) - 2), "new"]
    assert len(outcomes) == 7  # the manifest, three files, one that goes, the manifest; and none


def partialmethod_of(step: Callable[..., object], name: str) -> Callable[..., object]:
    return lambda *arguments, **options: step(name, *arguments, **options)


def test_a_changed_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "b").write_text("2")
    with pytest.raises(InputError, match=r"out: b has changed since it was written$"), readable(out):
        pass
    (out / "b").unlink()
    with pytest.raises(InputError, match=r"out: b is missing$"), readable(out):
        pass
    (out / MANIFEST).unlink()
    with readable(out) as place:  # files that were copied without it
        assert (place / "a").read_text() == "1"


def test_ctrl_c_waits_until_files_are_in_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out", OLD)
    real = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", NEW)
    monkeypatch.undo()
    check_whole(tmp_path / "out")
    assert there(tmp_path / "out") == NEW


def test_stages_of_killed_processes_go_and_those_of_others_stay(tmp_path: Path) -> None:
    code = (
        "import os, sys; from fullpipe._util.files import staged\n"
        "with staged(sys.argv[1]) as stage:\n (stage / 'file').write_text('half'); print('ready', flush=True); input()"
    )
    for out in (tmp_path / "new", tmp_path / "there"):
        command = [sys.executable, "-c", code, str(out)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes) as other:  # type: ignore[call-overload]
            assert other.stdout.readline() == b"ready\n"
            write(out, {"mine": "1"})
            assert len(list(tmp_path.rglob(".fullpipe.*.tmp"))) == 1, "the other process lives"
            other.kill()
            other.wait()
        write(out, {"mine": "2"})
        assert not list(tmp_path.rglob(".fullpipe.*.tmp"))
        assert there(out) == {"mine": "2"}


def test_what_is_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a directory"):
        check_directory(tmp_path / "file/deep")
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "no/such.png", "No such file")):
        with pytest.raises(OSError, match=why) as error, staged_file(path) as stage:
            stage.write_text("whole")
        assert error.value.filename == str(path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(InputError, match=r"unknown suffix '.gif' of a plot \(allowed: .png, .svg, .pdf\)"):
        check_picture(tmp_path / "a.gif")
    check_picture(tmp_path / "a.PNG")
    (tmp_path / "a.PNG").touch()
    check_picture(tmp_path / "a.PNG")  # what is there will be replaced


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.gif", "unknown suffix '.gif' of a plot (allowed: .png, .svg, .pdf)"),
        ("a", "unknown suffix '' of a plot (allowed: .png, .svg, .pdf)"),
        ("no/a.png", "directory {}/no does not exist"),
        ("folder.png", "must be a file, got a directory"),
        ("x" * 300 + ".png", "File name too long"),
    ],
)
def test_a_picture_is_refused_in_these_words(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError) as error:
        check_picture(tmp_path / name)
    assert str(error.value) == f"{shorten(str(tmp_path / name), 200)}: {says.format(tmp_path)}"


def test_a_directory_is_refused_in_these_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("nowhere").symlink_to("nobody")
    check_directory("new/deep")
    for name, says in (
        ("file", "file is not a directory"),
        ("file/deep", f"{tmp_path}/file is not a directory"),
        ("nowhere", "nowhere is not a directory"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(InputError) as error:
            check_directory(name)
        assert str(error.value) == f"{shorten(name, 200)}: {says}"


def test_where_nothing_may_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def access(path: Path, how: int) -> bool:
        asked.append((path, how))
        return False

    monkeypatch.setattr(files.os, "access", access)
    with pytest.raises(InputError) as error:
        check_picture(tmp_path / "a.png")
    assert str(error.value) == f"{tmp_path}/a.png: the directory {tmp_path} can't be written"
    with pytest.raises(InputError) as error:
        check_directory(tmp_path / "a/b")
    assert str(error.value) == f"{tmp_path}/a/b: {tmp_path} can't be written"
    # To make a file there takes both.
    assert asked == [(tmp_path, os.W_OK | os.X_OK)] * 2


def test_what_is_staged_moves_within_one_file_system(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name, place in (("there", "there"), ("new", "."), ("deep/new", "deep")):
        with staged(tmp_path / name) as stage:
            assert stage.parent.parent == tmp_path / place
            assert re.fullmatch(r"\.fullpipe\..+\.tmp", stage.parent.name)
    with staged_file(tmp_path / "there/file.svg") as stage:
        assert stage.parent.parent == tmp_path / "there"
        stage.touch()


def test_a_directory_is_where_it_was_meant_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with staged("out") as stage:
        (stage / "file").write_text("whole")
        os.chdir(tmp_path / "elsewhere")
    assert (tmp_path / "out/file").read_text() == "whole"


def test_a_directory_that_is_there_gets_new_ones(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with staged(tmp_path / "out") as stage:
        (stage / "a/b/c").mkdir(parents=True)
        (stage / "a/b/c/file").write_text("deep")
        (stage / "a/file").write_text("less deep")
    assert (tmp_path / "out/a/b/c/file").read_text() == "deep"
    assert (tmp_path / "out/a/file").read_text() == "less deep"
    assert there(tmp_path / "out") == {"a/b/c/file": "deep", "a/file": "less deep"}


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(27, "[Errno 27] writing bytes failed"), (27, "File too large")),
        (OSError("it broke"), (None, "it broke")),
    ],
    ids=["numbered", "in words"],
)
def test_an_error_is_of_the_file_that_was_to_be(tmp_path: Path, error: OSError, says: tuple[int | None, str]) -> None:
    def fails(what: AbstractContextManager[Path]) -> None:
        with what:
            raise error

    for target, what in ((tmp_path / "file", staged_file), (tmp_path / "folder", staged)):
        with pytest.raises(OSError) as caught:  # noqa: PT011  # its parts are looked at
            fails(what(target))
        assert (caught.value.errno, caught.value.strerror, caught.value.filename) == (*says, str(target))


def test_a_full_disk_leaves_no_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(OSError, match="No space left on device"), staged(tmp_path / "a/b/c"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_something_in_it_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "empty").mkdir()
    for name in ("full", "empty", "missing"):
        remove_if_empty(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_only_what_was_staged_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".fullpipe.abc.tmp/stage").mkdir(parents=True)
    (tmp_path / ".fullpipe.abc.tmp/stage/file").touch()
    (tmp_path / ".mine.tmp").touch()
    (tmp_path / "fullpipe.tmp").touch()
    clear_stages(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "fullpipe.tmp"]


def test_what_is_kept_from_run_to_run_is_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the XDG Base Directory Specification: an empty variable is none. The crate of modules agrees."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for told, place in (("", "home/.cache"), (str(tmp_path / "cache"), "cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", told)
        assert cache_directory("evaluate") == tmp_path / place / "fullpipe/evaluate"
        assert module_file("6.1", "bbr").is_relative_to(cache_directory("modules"))
        assert kernel.kept_in() == cache_directory("linux")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with a file that no command may touch."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_text("mine")
    return tmp_path / "outside"


def test_result_directory_with_links_deletes_nothing_outside(tmp_path: Path, outside: Path) -> None:
    out = tmp_path / "out"
    write(out, {"file": "1"})
    (out / "deep").symlink_to(outside)
    (out / "link").symlink_to(outside / "precious")
    with (out / MANIFEST).open("a") as file:
        file.write("-  deep/precious\n-  link\n")
    write(out, {"other": "2"})
    assert (outside / "precious").read_text() == "mine"
    assert sorted(path.name for path in out.iterdir()) == [MANIFEST, "deep", "other"]


def test_result_directory_with_links_overwrites_nothing_outside(tmp_path: Path, outside: Path) -> None:
    out = tmp_path / "out"
    write(out, {"file": "1"})
    (out / "precious").symlink_to(outside / "precious")
    (out / "deep").symlink_to(outside)
    write(out, {"precious": "2"})
    assert (out / "precious").read_text() == "2"
    assert not (out / "precious").is_symlink()
    with pytest.raises(InputError, match=r"out/deep: must be a directory of the result itself"):
        write(out, {"before": "3", "deep/precious": "3"})
    assert (outside / "precious").read_text() == "mine"
    # Links are looked for before the first file is replaced, so that the earlier result is whole.
    assert not (out / "before").exists()
    check_whole(out)


@pytest.mark.parametrize("name", ["../outside/precious", "deep/../../outside/precious", "/etc/passwd"])
def test_names_that_lead_out_of_a_directory_are_not_of_its_result(tmp_path: Path, outside: Path, name: str) -> None:
    write(tmp_path / "out", {"file": "1"})
    with (tmp_path / "out" / MANIFEST).open("a") as file:
        file.write(f"{'0' * 64}  {name}\n")
    check_whole(tmp_path / "out")
    assert outside.exists()


def test_list_of_our_files_is_no_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    (outside / "list").write_text("-  mine\n")
    (tmp_path / "out" / MANIFEST).symlink_to(outside / "list")
    with pytest.raises(InputError, match="must be a new or empty directory"):
        write(tmp_path / "out", {"file": "1"})
    assert (tmp_path / "out/mine").read_text() == "mine"


def test_directory_that_is_named_may_be_a_link(tmp_path: Path, outside: Path) -> None:
    (outside / "new").mkdir()
    (tmp_path / "out").symlink_to(outside / "new")
    write(tmp_path / "out", {"file": "1"})
    assert there(outside / "new") == {"file": "1"}


def test_stage_that_is_a_link_is_removed_and_not_followed(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.fullpipe.abc.tmp").symlink_to(outside)
    clear_stages(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    assert (outside / "precious").read_text() == "mine"


def test_folder_refuses_links_pipes_and_names_that_lead_out(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to(outside)
    (tmp_path / "out/file").write_text("whole")
    os.mkfifo(tmp_path / "out/pipe")
    with Folder(tmp_path / "out") as folder:
        assert folder.read("file", 5) == b"whole"
        for name, why in (
            ("link/precious", "link: must be a (file or )?directory of the result itself"),
            ("link/deeper/precious", "link: must be a (file or )?directory of the result itself"),
            ("link", "link: must be a (file or )?directory of the result itself"),
            ("pipe", "pipe: must be a regular file"),
            ("../outside/precious", "must be inside the directory"),
            (str(outside / "precious"), "must be inside the directory"),
            ("file/deep", "must not lead through a file"),
        ):
            with pytest.raises(InputError, match=why):
                folder.read(name, 5)
        with pytest.raises(InputError, match=r"file: must have at most 4e-06 MB"):
            folder.read("file", 4)
        with pytest.raises(InputError, match=r"link: must be a (file or )?directory of the result itself"):
            folder.remove_tree("link/precious")
    check_below(tmp_path / "out", "missing/deep")
    with pytest.raises(InputError, match=r"link: must be a (file or )?directory of the result itself"):
        check_below(tmp_path / "out", "link/new")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ValueError("no number"), r"\(ValueError: no number\)"),
        (OSError("broken"), r"\(OSError: broken\)"),
        (FileNotFoundError(2, "No such file", "/a/runs.parquet"), r"\(runs.parquet: No such file\)"),
    ],
)
def test_errors_of_a_reader_become_one_line(tmp_path: Path, error: Exception, why: str) -> None:
    with pytest.raises(InputError, match=f"is not a result {why}"), readable(tmp_path):
        raise error


def test_manifest_that_is_written_later_holds_for_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("1")
    write_manifest(tmp_path, ["rows"])
    check_whole(tmp_path)
    (tmp_path / "rows").write_text("2")
    with pytest.raises(InputError, match="rows has changed since it was written"):
        check_whole(tmp_path)


def test_interruption_waits_for_the_end_of_a_short_piece_of_work() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        done.append("work")
    assert done == ["work"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
