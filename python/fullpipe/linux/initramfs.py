"""A cpio archive (format "newc") with the files of the guest, which the kernel unpacks into its first file system."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path, PurePosixPath

from fullpipe.linux.errors import LinuxError

DIRECTORY, PROGRAM, DEVICE = 0o040755, 0o100755, 0o020600


class Initramfs:
    """Files by their path in the guest; `pack` yields the archive.

    Equal files give equal bytes: the archive contains no times, owners, or inode numbers of the host.
    """

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def add(self, path: str, content: bytes) -> None:
        """Puts `content` at the absolute `path`, executable."""
        self._files[path.lstrip("/")] = content

    def add_program(self, path: str, source: Path) -> None:
        """Puts the host's program `source` at `path`, with every shared library it needs where it looks for them."""
        self.add(path, source.read_bytes())
        for library in _libraries(source):
            self.add(str(library), library.resolve().read_bytes())

    def pack(self) -> bytes:
        """The archive, uncompressed: a guest that executes every instruction in software should not decompress."""
        directories = {str(parent) for path in self._files for parent in PurePosixPath(path).parents} - {"."}
        entries = [(path, DIRECTORY, b"", (0, 0)) for path in sorted(directories | {"dev"})]
        entries.append(("dev/console", DEVICE, b"", (5, 1)))
        entries += [(path, PROGRAM, self._files[path], (0, 0)) for path in sorted(self._files)]
        records = [_record(number, *entry) for number, entry in enumerate(entries, start=1)]
        return b"".join([*records, _record(0, "TRAILER!!!", 0, b"", (0, 0))])


def _record(number: int, path: str, mode: int, content: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if mode == DIRECTORY else 1
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _libraries(program: Path) -> list[Path]:
    """The shared libraries of `program`, its loader included; none for a static one."""
    try:
        listing = subprocess.run(["ldd", os.fspath(program)], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise LinuxError(f"ldd, which lists the libraries of {program}, can't run: {error.strerror}") from error
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listing)]
