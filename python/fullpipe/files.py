"""Writing files so that none is ever left half-written; the package's own files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fullpipe.errors import InputError

__all__ = ["PICTURES", "check_directory", "check_picture", "package_fingerprint", "staged", "staged_file"]

PICTURES = (".png", ".svg", ".pdf")
"""What pictures can be written as."""


def check_picture(path: str | os.PathLike[str]) -> None:
    """Says no to a picture that can't be written there.

    Raises:
        InputError: The suffix or the directory won't do.
    """
    target = Path(path)
    if target.suffix.lower() not in PICTURES:
        raise InputError(f"{target}: unknown kind of picture {target.suffix!r} (allowed: {', '.join(PICTURES)})")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"{target}: there is no directory {target.parent} to write in")


def check_directory(path: str | os.PathLike[str]) -> None:
    """Says no to a directory that can't be made or written; makes nothing.

    Raises:
        InputError: The path is a file, or what it would go into can't be written.
    """
    target = Path(path)
    nearest = next(place for place in (target, *target.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise InputError(f"{target}: {nearest} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{target}: {nearest} can't be written")


@contextmanager
def staged(directory: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary directory beside ``directory``; its files move into ``directory`` at the end, unless an exception
    comes.

    Raises:
        InputError: The directory can't be made or written.
    """
    check_directory(directory)
    target = Path(directory).absolute()
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent) as name:
            stage = Path(name, target.name)
            stage.mkdir()
            yield stage
            _move(stage, target)
    except BaseException:
        for parent in missing:
            _remove_if_empty(parent)
        raise


@contextmanager
def staged_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path``, of the same suffix, that takes its place at the end, unless an exception comes.

    Raises:
        InputError: The file can't be written.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a directory")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise InputError(f"{target}: can't be written: {error.strerror}") from None
    os.close(handle)
    stage = Path(name)
    try:
        yield stage
        stage.chmod(0o666 & ~_umask())
        stage.replace(target)
    finally:
        stage.unlink(missing_ok=True)


@cache
def package_fingerprint() -> str:
    """Tells whether two installations of the package are the same: a hash of its sources, its data and the built
    engine.
    """
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".so", ".toml"):
            content = file.read_bytes()
            digest.update(f"{file.relative_to(package).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _move(stage: Path, target: Path) -> None:
    if not target.exists():
        stage.rename(target)
        return
    for source in sorted(path for path in stage.rglob("*") if path.is_file()):
        place = target / source.relative_to(stage)
        place.parent.mkdir(parents=True, exist_ok=True)
        source.replace(place)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
