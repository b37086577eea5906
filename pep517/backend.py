"""Builds as maturin does; a wheel's Linux part is compiled before, or there is no wheel."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).parents[1]
PARTS = ("bpf", "python/fullpipe/linux/guest")
"""What is compiled into python/fullpipe/linux/objects: the eBPF programs, and the guest's agent."""

NEEDED = "make, clang, llvm-strip, a C compiler, and the headers of libbpf and libc"


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """See PEP 517."""
    for part in PARTS:
        _compile(part)
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def _compile(part: str) -> None:
    try:
        done = subprocess.run(["make", "--silent", "--directory", ROOT / part], check=False)
    except FileNotFoundError:
        raise SystemExit(f"fullpipe: {part} can't be compiled, make is not there; a wheel needs {NEEDED}") from None
    if done.returncode != 0:
        raise SystemExit(f"fullpipe: {part} can't be compiled, see above; a wheel needs {NEEDED}")
