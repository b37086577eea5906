"""Hash of the code of this package, which changes while its version number does not."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["build_fingerprint", "hash_of"]


@cache
def build_fingerprint() -> str:
    """A hash of the installed package, in hexadecimal: the names and contents of all its files, sources, data, eBPF
    objects and the extension module, as they are at the first call. Bytecode is left out.
    """
    return hash_of(Path(__file__).parents[1])


def hash_of(package: Path) -> str:
    """Hash of all files of a directory, but for bytecode; or of a single file."""
    digest = hashlib.sha256()
    for file in [package] if package.is_file() else sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(package).as_posix()}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
