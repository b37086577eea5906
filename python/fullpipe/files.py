"""Writing files so that none is ever left half-written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from fullpipe.errors import LONGEST_PLACE, InputError
from fullpipe.folder import Folder
from fullpipe.text import quoted, shorten

__all__ = [
    "MANIFEST",
    "PICTURES",
    "cache_directory",
    "check_directory",
    "check_file",
    "check_free",
    "check_picture",
    "clear_stages",
    "readable",
    "remove_if_empty",
    "staged",
    "staged_file",
]

PICTURES = (".png", ".svg", ".pdf")
"""What pictures can be written as."""

STAGE = ".fullpipe.{}.tmp"
"""Where files are written before they move to their place."""

MANIFEST = ".fullpipe-files"
"""In a directory of ours, the files that are ours, a line each."""

MOST_MANIFEST_BYTES = 16_000_000
"""Size of that list, at most: of a hundred thousand names."""


def cache_directory(name: str) -> Path:
    """Where something of that name is kept from run to run: ``$XDG_CACHE_HOME/fullpipe/NAME``, by default under
    ``~/.cache``. The crate `fullpipe-kernel` has the same place for ``modules``.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fullpipe" / name


def check_picture(path: str | os.PathLike[str]) -> None:
    """Says no to a picture that can't be written there.

    Raises:
        InputError: The suffix or the directory won't do, or a directory is there.
    """
    target = Path(path)
    if target.suffix.lower() not in PICTURES:
        allowed = ", ".join(PICTURES)
        raise InputError(f"{_shown(target)}: unknown kind of picture {quoted(target.suffix)} (allowed: {allowed})")
    check_file(target)


def check_file(path: str | os.PathLike[str]) -> None:
    """Says no to a file that can't be written there.

    Raises:
        InputError: The directory won't do, or a directory is there.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{_shown(target)}: there is no directory {_shown(target.parent)}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"{_shown(target)}: the directory {_shown(target.parent)} can't be written")
    if _is_there(target) and target.is_dir():
        raise InputError(f"{_shown(target)}: is a directory")


def check_directory(path: str | os.PathLike[str]) -> None:
    """Says no to a directory that can't be made or written; makes nothing.

    Raises:
        InputError: The path is empty or a file, or what it would go into can't be written.
    """
    if not os.fspath(path):
        raise InputError('"": is no directory')
    target = Path(path)
    nearest = next(place for place in (target, *target.absolute().parents) if _is_there(place))
    if not nearest.is_dir():
        raise InputError(f"{_shown(target)}: {_shown(nearest)} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{_shown(target)}: {_shown(nearest)} can't be written")


def check_free(path: str | os.PathLike[str], beside: Collection[str] = ()) -> None:
    """Says no to a directory that can't be made or written, or that holds what is not ours but for what is called so:
    files there might be replaced.

    Raises:
        InputError: It can't, or does.
    """
    check_directory(path)
    target = Path(path)
    if not target.is_dir():
        return
    with _opened(target) as folder:
        if folder.has(MANIFEST):
            return
    stages = target.glob(STAGE.format("*"))
    if {place.name for place in target.iterdir()} - {place.name for place in stages} - set(beside):
        what = "holds something else than an earlier result of fullpipe"
        raise InputError(f"{_shown(target)}: {what} (allowed: a new or empty directory, or one of an earlier result)")


@contextmanager
def staged(directory: str | os.PathLike[str], *, adds: bool = False, beside: Collection[str] = ()) -> Iterator[Path]:
    """A temporary directory in ``directory``, or beside it where it is yet to be made; its files move into
    ``directory`` at the end, unless an exception comes, and take the place of all that was written there so before.

    Args:
        directory: Where to.
        adds: What was written before stays, if it has another name.
        beside: What else may be in the directory.

    Raises:
        InputError: The directory can't be made or written, or holds what is not ours.
        OSError: The disk is full or failing.
    """
    check_free(directory, beside)
    target = Path(directory).absolute()
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
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
    """A path of the same suffix to write to; at the end what is there is on the disk and takes the place of ``path``,
    unless an exception comes.

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
    """A directory to read something of ours from; whatever is missing or broken in it is said of it, in one line.

    Raises:
        InputError: It does not hold what is looked for.
    """
    place = Path(directory)
    try:
        yield place
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        missing = Path(error.filename).name if isinstance(error, OSError) and error.filename else ""
        what = f"{missing}: {why}" if missing else f"{type(error).__name__}: {why}"
        raise InputError(f"{_shown(place)}: holds nothing that can be loaded ({what})") from None


def clear_stages(directory: Path) -> None:
    """Removes the temporary directories of processes that were killed while they wrote."""
    if not directory.is_dir():
        return
    with _opened(directory) as folder:
        for stage in directory.glob(STAGE.format("*")):
            folder.remove_tree(stage.name)


def remove_if_empty(folder: Path) -> None:
    """Removes a directory if it is there and nothing is in it."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def _stage(place: Path, target: Path) -> Iterator[Path]:
    """A path in a temporary directory in ``place`` for what becomes the target; what the system says of it is said of
    the target.
    """
    try:
        prefix, suffix = STAGE.split("{}")
        with tempfile.TemporaryDirectory(prefix=prefix, suffix=suffix, dir=place) as name:
            yield Path(name, "stage").with_suffix(target.suffix)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, why, str(target)) from None


def _move(stage: Path, target: Path, *, adds: bool) -> None:
    ours = {path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file()}
    before = _listed(target)
    # A kill in the middle leaves more names than files.
    _list(ours | before, stage / MANIFEST)
    if not target.exists():
        stage.rename(target)
        return
    with _opened(target) as folder:
        for name in (MANIFEST, *sorted(ours)):
            folder.take(stage / name, name)
        if adds or not before - ours:
            return
        for name in before - ours:
            folder.remove(name)
        _list(ours, stage / MANIFEST)
        folder.take(stage / MANIFEST, MANIFEST)


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


def _list(names: Collection[str], file: Path) -> None:
    with file.open("w", encoding="utf-8") as listed:
        listed.writelines(f"{name}\n" for name in sorted(names))
        listed.flush()
        os.fsync(listed.fileno())


def _listed(target: Path) -> set[str]:
    """The files there that are ours; a list that somebody has changed leads nowhere else."""
    try:
        with Folder(target) as folder:
            names = folder.read(MANIFEST, MOST_MANIFEST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError):
        return set()
    return {name for name in names if name and not Path(name).is_absolute() and ".." not in Path(name).parts}


def _is_there(path: Path) -> bool:
    """Whether there is anything, if only a link that leads nowhere.

    Raises:
        InputError: There can't be anything; the name is too long, say.
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
