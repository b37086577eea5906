"""Starts fullpipe and ns-2 and reads the JSON object each prints."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"


class SimulatorError(RuntimeError):
    """A simulator is missing, failed, or printed something else than one JSON object."""


def fullpipe_command() -> list[str]:
    """Command that starts fullpipe: `$FULLPIPE`, split as by a shell, or the program next to the interpreter, or
    `.venv`.
    """
    if command := os.environ.get("FULLPIPE"):
        return shlex.split(command)
    for program in (Path(sys.executable).parent / "fullpipe", ROOT / ".venv/bin/fullpipe"):
        if program.exists():
            return [str(program)]
    raise SimulatorError("no fullpipe here: run `make build`")


def run_fullpipe(scenario: Path) -> dict[str, Any]:
    """`fullpipe run SCENARIO --json`, parsed."""
    return _json_of([*fullpipe_command(), "run", str(scenario), "--json"])


def ns2_command() -> str:
    """The path of ns-2's `ns`."""
    if program := shutil.which("ns"):
        return program
    raise SimulatorError("no ns-2 here: install Debian's package ns2")


def ns2_version() -> str:
    """Version of the ns2 package; "unknown" if dpkg does not have it."""
    try:
        query = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "ns2"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return query.stdout.strip()


def run_ns2(script: Path, options: dict[str, str]) -> dict[str, Any]:
    """Runs an ns-2 script with `key value ...` arguments."""
    return _json_of([ns2_command(), str(script), *(word for pair in options.items() for word in pair)])


def run_ns2_cached(script: Path, options: dict[str, str]) -> dict[str, Any]:
    """Cached variant of [`run_ns2`]: returns the output in `out/ns2-cache` if script, options, and version are
    unchanged.
    """
    inputs = json.dumps([script.read_text(), options, ns2_version()], sort_keys=True)
    entry = OUT / "ns2-cache" / f"{hashlib.sha256(inputs.encode()).hexdigest()[:32]}.json"
    if entry.exists():
        cached: dict[str, Any] = json.loads(entry.read_text())
        return cached
    result = run_ns2(script, options)
    entry.parent.mkdir(parents=True, exist_ok=True)
    unfinished = entry.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(entry)
    return result


def _json_of(command: list[str]) -> dict[str, Any]:
    process = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in process.stdout.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        raise SimulatorError(f"{shlex.join(command)}: status {process.returncode}: {process.stderr.strip()[-500:]}")
    # ns-2's Linux agent prints an additional line first; fullpipe's object may span lines.
    text = process.stdout[process.stdout.index(lines[0]) :]
    parsed: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
    return parsed
