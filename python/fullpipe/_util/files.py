"""Writing files so that none is ever left half-written."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from fullpipe._util.folder import Folder, check_below
from fullpipe._util.text import quoted, shorten
from fullpipe.errors import LONGEST_PLACE, InputError

__all__ = [
    "KEPT_RUNS",
    "MANIFEST",
    "PICTURES",
    "SWEEP",
    "cache_directory",
    "check_directory",
    "check_file",
    "check_free",
    "check_picture",
    "check_whole",
    "clear_stages",
    "readable",
    "remove_if_empty",
    "staged",
    "staged_file",
    "uninterrupted",
    "write_manifest",
]

PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of plots."""

STAGE = ".fullpipe.{}.tmp"
"""Where files are written before they move to their place."""

MANIFEST = ".fullpipe-files"
"""In a directory of ours, the list of its files: a line each, ``SHA-256  NAME``. It is written last; while files are
being replaced, their hash is `REPLACED`.
"""

SWEEP = "sweep.json"
"""In the directory of a sweep, the file that identifies it."""

REPLACED = "-"
"""In place of a file's hash: a kill came before the file and its hash were written."""

KEPT_RUNS = ".fullpipe-runs"
"""In the directory of a result that is not finished yet, the folder of its finished runs."""

MOST_FILE_BYTES = 4_000_000_000
"""Size of a file of a result, at most."""

MOST_MANIFEST_BYTES = 16_000_000
"""Size of that list, at most: of a hundred thousand names."""


def cache_directory(name: str) -> Path:
    """Directory of a cache: ``$XDG_CACHE_HOME/fullpipe/NAME``, by default under ``~/.cache``. The crate
    `fullpipe-kernel` uses it for ``modules``.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fullpipe" / name


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuses the path of a plot that is not writable.

    Raises:
        InputError: The suffix is unknown, the directory is missing or not writable, or the path is a directory.
    """
    target = Path(path)
    if target.suffix.lower() not in PICTURES:
        allowed = ", ".join(PICTURES)
        raise InputError(f"{_shown(target)}: unknown suffix {quoted(target.suffix)} of a plot (allowed: {allowed})")
    check_file(target)


def check_file(path: str | os.PathLike[str]) -> None:
    """Refuses the path of a file that is not writable.

    Raises:
        InputError: The directory is missing or not writable, or the path is a directory.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{_shown(target)}: directory {_shown(target.parent)} does not exist")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"{_shown(target)}: the directory {_shown(target.parent)} can't be written")
    if _is_there(target) and target.is_dir():
        raise InputError(f"{_shown(target)}: must be a file, got a directory")


def check_directory(path: str | os.PathLike[str]) -> None:
    """Refuses a directory that cannot be made or written; makes nothing.

    Raises:
        InputError: The path is empty or a file, or its parent directory is not writable.
    """
    if not os.fspath(path):
        raise InputError('"": is not a directory')
    target = Path(path)
    nearest = next(place for place in (target, *target.absolute().parents) if _is_there(place))
    if not nearest.is_dir():
        raise InputError(f"{_shown(target)}: {_shown(nearest)} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{_shown(target)}: {_shown(nearest)} can't be written")


def check_free(path: str | os.PathLike[str], beside: Collection[str] = ()) -> None:
    """Refuses a directory that cannot be made or written, or that has files of others, which might be replaced.

    Raises:
        InputError: The directory is refused.
    """
    check_directory(path)
    target = Path(path)
    if not target.is_dir():
        return
    with _opened(target) as folder:
        # A sweep may have taken days: it is not replaced like other results.
        if folder.has(MANIFEST) and not folder.has(SWEEP):
            return
    stages = target.glob(STAGE.format("*"))
    if {place.name for place in target.iterdir()} - {place.name for place in stages} - {KEPT_RUNS, *beside}:
        what = "it has other files"
        raise InputError(f"{_shown(target)}: must be a new or empty directory, or one of an earlier result; {what}")


@contextmanager
def staged(directory: str | os.PathLike[str], *, adds: bool = False, beside: Collection[str] = ()) -> Iterator[Path]:
    """A temporary directory in ``directory``, or next to it if that is missing. At the end, unless there is an
    exception, its files move into ``directory`` and replace all earlier files of ours.

    Args:
        directory: The directory.
        adds: Keep earlier files with other names.
        beside: Names of further files allowed in the directory.

    Raises:
        InputError: The directory cannot be made or written, or has files of others.
        OSError: The disk is full or failing.
    """
    check_free(directory, beside)
    target = Path(directory).absolute()
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_stages(target.parent)
        # A file is moved within one file system: an existing directory may be the root of another one.
        with _stage(target if target.is_dir() else target.parent, target) as stage:
            stage.mkdir()
            yield stage
            _move(stage, target, adds=adds)
    except BaseException:
        for parent in missing:
            remove_if_empty(parent)
        raise


@contextmanager
def staged_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path with the suffix of ``path``. At the end, unless there is an exception, its file is synced to the
    disk and replaces ``path``.

    Raises:
        OSError: The directory is not there or can't be written, ``path`` is a directory, the disk is full or failing.
    """
    target = Path(path)
    with _stage(target.parent, target) as stage:
        yield stage
        with stage.open("rb+") as file:
            os.fsync(file.fileno())
        stage.replace(target)


@contextmanager
def readable(directory: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory to read a result of ours from. Files that are missing, changed, or of another result than the others
    are reported in one line.

    Raises:
        InputError: The directory does not have the result.
    """
    place = Path(directory)
    try:
        check_whole(place)
        yield place
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        missing = Path(error.filename).name if isinstance(error, OSError) and error.filename else ""
        what = f"{missing}: {why}" if missing else f"{type(error).__name__}: {why}"
        raise InputError(f"{_shown(place)}: is not a result ({what})") from None


def check_whole(place: Path) -> None:
    """Compares the files of a directory with its manifest; a directory without a manifest is not checked.

    Raises:
        InputError: A file is missing or differs, or the result was not written to its end.
    """
    for name, digest in sorted(_listed(place).items()):
        if digest == REPLACED:
            raise InputError(
                f"{_shown(place)}: writing was interrupted, and the directory has parts of two results; write it again"
            )
        try:
            found = _digest_below(place, name)
        except FileNotFoundError:
            raise InputError(f"{_shown(place)}: {shorten(name)} is missing") from None
        if found != digest:
            raise InputError(f"{_shown(place)}: {shorten(name)} has changed since it was written")


def write_manifest(directory: Path, names: Collection[str]) -> None:
    """Writes the list of the files in a directory, with their hashes."""
    with staged_file(directory / MANIFEST) as file:
        _list({name: _digest(directory / name) for name in names}, file)


def clear_stages(directory: Path) -> None:
    """Removes the temporary directories of processes that were killed while they wrote. Of a link, the link goes."""
    if not directory.is_dir():
        return
    with _opened(directory) as folder:
        for stage in directory.glob(STAGE.format("*")):
            with suppress(OSError, InputError), _locked(stage):
                folder.remove_tree(stage.name)


def remove_if_empty(folder: Path) -> None:
    """Removes a directory if it is there and nothing is in it."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def _stage(place: Path, target: Path) -> Iterator[Path]:
    """A path in a temporary directory in ``place`` that becomes the target; errors of the system name the target.

    The directory is locked while its process lives, so that others recognize the files of a killed process.
    """
    from tempfile import TemporaryDirectory

    try:
        clear_stages(place)
        prefix, suffix = STAGE.split("{}")
        with TemporaryDirectory(prefix=prefix, suffix=suffix, dir=place) as name, _locked(Path(name)):
            yield Path(name, "stage").with_suffix(target.suffix)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, why, str(target)) from None


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock on a directory; the system releases it when the process dies. A file system without locks has none.

    Raises:
        BlockingIOError: Another process has it.
    """
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def _move(stage: Path, target: Path, *, adds: bool) -> None:
    """Moves a stage's files into the target. From the first replaced file to the manifest, Ctrl-C waits; after a kill
    in between, the manifest shows that the target has parts of two results.
    """
    ours = {path.relative_to(stage).as_posix(): _digest(path) for path in stage.rglob("*") if path.is_file()}
    before = _listed(target)
    if not target.exists():
        _list(ours, stage / MANIFEST)
        stage.rename(target)
        return
    for parent in {str(Path(name).parent) for name in ours}:
        check_below(target, parent)  # before the first file is replaced
    stays = {name: digest for name, digest in before.items() if name not in ours} if adds else {}
    with _opened(target) as folder, uninterrupted():
        with staged_file(target / MANIFEST) as file:
            _list({**dict.fromkeys([*before, *ours], REPLACED), **stays}, file)
        for name in sorted(ours):
            folder.take(stage / name, name)
        for name in before.keys() - ours.keys() - stays.keys():
            folder.remove(name)
        with staged_file(target / MANIFEST) as file:
            _list({**stays, **ours}, file)


@contextmanager
def _opened(directory: Path) -> Iterator[Folder]:
    """The directory, held open.

    Raises:
        InputError: It can't be opened.
    """
    try:
        folder = Folder(directory)
    except OSError as error:
        raise InputError(f"{_shown(directory)}: can't be opened: {error.strerror}") from None
    with folder:
        yield folder


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C until the end of a short piece of work; in other threads than the main one it does not come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
        if came and callable(before):
            before(*came[0])


def _digest_below(directory: Path, name: str) -> str:
    """Hash of a file of a directory that may be somebody else's.

    Raises:
        InputError: The file is reached by a symbolic link, is no regular file or is too large.
        FileNotFoundError: The file is missing.
    """
    from hashlib import file_digest

    with _opened(directory) as folder, os.fdopen(folder.open(name), "rb") as opened:
        if os.fstat(opened.fileno()).st_size > MOST_FILE_BYTES:
            raise InputError(f"{_shown(directory / name)}: must have at most {MOST_FILE_BYTES / 1e9:g} GB")
        return file_digest(opened, "sha256").hexdigest()


def _digest(file: Path) -> str:
    from hashlib import file_digest

    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _list(files: Mapping[str, str], file: Path) -> None:
    file.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())), encoding="utf-8")


def _listed(target: Path) -> dict[str, str]:
    """Hashes of the files there that are ours, by name; a list that somebody has changed leads nowhere else."""
    try:
        with Folder(target) as folder:
            lines = folder.read(MANIFEST, MOST_MANIFEST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    found = {}
    for line in lines:
        digest, _, name = line.partition("  ")
        if name and not Path(name).is_absolute() and ".." not in Path(name).parts:
            found[name] = digest
    return found


def _is_there(path: Path) -> bool:
    """Whether the path exists, if only as a broken link.

    Raises:
        InputError: The path is not possible, for example because the name is too long.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InputError(f"{_shown(path)}: {error.strerror}") from None
    return True


def _shown(path: Path) -> str:
    return shorten(str(path), LONGEST_PLACE)
