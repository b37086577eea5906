"""Provenance of a report: program, machine, and time."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import fullpipe
from fullpipe._util.fingerprint import build_fingerprint

__all__ = ["build", "machine", "now"]


@cache
def build() -> str:
    """Commit of the package in a clone, with ``, changed`` if files differ from it; otherwise the start of the
    package's fingerprint.
    """
    package = Path(fullpipe.__file__).parent
    commit = _git(package, "rev-parse", "--short=12", "HEAD") if _git(package, "ls-files", "__init__.py") else ""
    if not commit:
        return f"build {build_fingerprint()[:12]}"
    return f"commit {commit}{', changed' if _git(package, 'status', '--porcelain', '.') else ''}"


@cache
def machine() -> str:
    """Processor, cores, operating system, and interpreter."""
    cores = os.cpu_count() or 1
    system = f"{platform.system()} {platform.release()}"
    return f"{_processor()}, {cores} core{'s' if cores > 1 else ''}, {system}, Python {platform.python_version()}"


def now() -> str:
    """Coordinated universal time, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _git(directory: Path, *arguments: str) -> str:
    """Output of git; empty if git is missing or fails."""
    if shutil.which("git") is None:
        return ""
    done = subprocess.run(["git", "-C", directory, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
