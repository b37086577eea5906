"""Builds as maturin does; a wheel's Linux part and its page are compiled before, or there is no wheel."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
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
PARTS = {
    "bpf": "make, clang, llvm-strip, a C compiler, and the headers of libbpf and libc",
    "python/fullpipe/linux/guest": "make, clang, llvm-strip, a C compiler, and the headers of libbpf and libc",
    "web": "make, npm, and Rust's target wasm32-unknown-unknown",
}
"""Compiled parts and their requirements: the eBPF programs, the guest's agent, and the page of the playground. A source
distribution includes the page, so that a wheel can be built from it without npm."""


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """See PEP 517."""
    for part in PARTS:
        if part != "web" or not (ROOT / "PKG-INFO").exists():
            _compile(part)
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """See PEP 517."""
    _compile("web")
    return str(maturin.build_sdist(sdist_directory, config_settings))


def _compile(part: str) -> None:
    needed = f"a wheel needs {PARTS[part]}"
    try:
        done = subprocess.run(["make", "--silent", "--directory", ROOT / part], check=False)
    except FileNotFoundError:
        raise SystemExit(f"fullpipe: {part} can't be compiled, make is not there; {needed}") from None
    if done.returncode != 0:
        raise SystemExit(f"fullpipe: {part} can't be compiled, see above; {needed}")
