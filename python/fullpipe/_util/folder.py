"""Directory that is held open: files in it are reached by name from there, and no symbolic link below it is followed.

A result directory may come from somebody else. A link in it would lead writes and deletions to any place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from fullpipe._util.text import shorten
from fullpipe.errors import LONGEST_PLACE, InputError

__all__ = ["Folder", "check_below"]

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for a directory below another one."""

OPEN_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags for a file below a directory. A pipe without a writer does not block."""


class Folder:
    """Directory held open; a context manager.

    The path of the directory itself may be or contain symbolic links: the user has named it. Names below it are
    relative, with ``/`` between their parts.

    Attributes:
        path: The directory, for messages.

    Raises:
        OSError: The directory is not there or can't be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def take(self, source: Path, name: str) -> None:
        """Moves a file to a name, in the place of a file or link that is there. Makes the directories on the way.

        Raises:
            InputError: A symbolic link or a file is in the place of a directory of the name.
            OSError: The disk is full or failing.
        """
        with self._parent(name, make=True) as (handle, last):
            os.replace(source, last, dst_dir_fd=handle)

    def remove(self, name: str) -> None:
        """Removes a file or a link, and the directories on the way that are empty then.

        Nothing is removed if one of the directories is a symbolic link, or the file is a directory.

        Raises:
            OSError: The disk is failing, or the directory can't be written.
        """
        try:
            with self._parent(name) as (handle, last):
                os.unlink(last, dir_fd=handle)
        except (InputError, FileNotFoundError, IsADirectoryError):
            pass
        for parent in list(PurePosixPath(name).parents)[:-1]:
            with suppress(OSError, InputError), self._parent(str(parent)) as (handle, last):
                os.rmdir(last, dir_fd=handle)

    def remove_tree(self, name: str) -> None:
        """Removes whatever has the name: a directory with all that is in it, or a file, or a link itself.

        Raises:
            InputError: A directory on the way is a symbolic link.
            OSError: The disk is failing, or the directory can't be written.
        """
        with suppress(FileNotFoundError), self._parent(name) as (handle, last):
            if stat.S_ISDIR(os.lstat(last, dir_fd=handle).st_mode):
                from shutil import rmtree

                rmtree(last, dir_fd=handle)
            else:
                os.unlink(last, dir_fd=handle)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """Descriptor of a regular file.

        Args:
            name: The file.
            flags: Flags of open(2), such as ``os.O_RDWR | os.O_CREAT``.
            mode: Permissions of a new file.

        Raises:
            InputError: The file is a symbolic link or no regular file, or a directory on the way is a link.
            FileNotFoundError: The file is not there.
            OSError: It can't be opened.
        """
        with self._parent(name) as (handle, last):
            self._refuse_links(handle, last, name)
            opened = os.open(last, flags | OPEN_FILE, mode, dir_fd=handle)
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise self._refusal(name, "must be a regular file")
        return opened

    def read(self, name: str, most: int) -> bytes:
        """Content of a regular file of at most ``most`` bytes.

        Raises:
            InputError: As for `open`, or the file is larger.
            OSError: As for `open`.
        """
        with os.fdopen(self.open(name), "rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise self._refusal(name, f"must have at most {most / 1e6:g} MB")
        return content

    def has(self, name: str) -> bool:
        """Whether there is a regular file of this name, by no link."""
        try:
            os.close(self.open(name))
        except (OSError, InputError):
            return False
        return True

    @contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Descriptor of the directory that has the name's last part, and that part."""
        *parts, last = PurePosixPath(name).parts or ("",)
        if not last or PurePosixPath(name).is_absolute() or ".." in (*parts, last):
            raise self._refusal(name, "must be inside the directory")
        handle = os.dup(self._handle)
        try:
            for i, part in enumerate(parts):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=handle)
                self._refuse_links(handle, part, "/".join(parts[: i + 1]))
                below = os.open(part, OPEN_FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle, last
        except NotADirectoryError:
            # Linux reports a link that was put there meanwhile in this way too.
            raise self._refusal(name, "must not lead through a file or a symbolic link") from None
        finally:
            os.close(handle)

    def _refuse_links(self, handle: int, part: str, name: str) -> None:
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.lstat(part, dir_fd=handle).st_mode):
                raise self._refusal(name, "must be a file or directory of the result itself, got a symbolic link")

    def _refusal(self, name: str, why: str) -> InputError:
        return InputError(f"{shorten(str(self.path / name), LONGEST_PLACE)}: {why}")


def check_below(directory: str | os.PathLike[str], name: str) -> None:
    """Refuses a name of which a part below the directory is a symbolic link. Parts may be missing.

    Raises:
        InputError: A part is a link.
    """
    place = Path(directory)
    for part in PurePosixPath(name).parts:
        place /= part
        if place.is_symlink():
            raise InputError(
                f"{shorten(str(place), LONGEST_PLACE)}: must be a directory of the result itself, got a symbolic link"
            )
