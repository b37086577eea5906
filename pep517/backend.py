"""Build backend: maturin's. Before, it compiles the Linux part and the playground, and copies the examples."""

from __future__ import annotations

import shutil
import subprocess
import sys
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
        if (part == "web" and not (ROOT / "PKG-INFO").exists()) or (part != "web" and sys.platform == "linux"):
            _compile(part)
    copied = ROOT / "python/fullpipe/examples"
    shutil.rmtree(copied, ignore_errors=True)
    try:
        for folder in ("scenarios", "examples", "notebooks"):
            left_out = shutil.ignore_patterns("__pycache__", "own-algorithm", "packet-controller")
            shutil.copytree(ROOT / folder, copied / folder, ignore=left_out)
        return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))
    finally:
        shutil.rmtree(copied, ignore_errors=True)


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
