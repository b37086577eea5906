"""Instructions per data packet, counted by valgrind: equal on every run of a binary, also on a busy machine.

``python -m benchmarks.speed.instructions [SCENARIO.toml ...]`` counts the given scenarios, by default ten flows and the
beginnings of the cases of ``make speed``. The default cases are kept in ``out/speed/instructions.json``. It needs cargo
and valgrind. For example, ``python -m benchmarks.speed.instructions benchmarks/speed/web.toml`` counts one case.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .measure import keep, shortened

ROOT = Path(__file__).parents[2]
SECONDS = {
    "instructions": 20,
    "one-flow": 20,
    "hundred-flows": 3,
    "ten-thousand-flows": 2,
    "three-links": 3,
    "web": 3,
    "forty-gigabit": 2,
    "four-hundred-gigabit": 3,
    "hundred-thousand-flows": 1,
}
"""Scenarios, and simulated seconds of each."""


def main() -> int:
    """Build the bare engine, count, print."""
    program, compiler = build_engine()
    records = []
    try:
        if sys.argv[1:]:
            for scenario in sys.argv[1:]:
                _count(program, Path(scenario), compiler)
            return 0
        with tempfile.TemporaryDirectory() as folder:
            for name, seconds in SECONDS.items():
                short = Path(folder, f"{name}.toml")
                short.write_text(shortened(name, seconds))
                instructions, packets = _count(program, short, compiler)
                records.append({"case": name, "seconds": seconds, "packets": packets, "instructions": instructions})
    except FileNotFoundError:
        print("instructions: needs valgrind (Debian package valgrind)", file=sys.stderr)
        return 1
    keep("instructions", records)
    return 0


def count(program: Path, scenario: Path) -> tuple[int, int]:
    """Instructions and data packets of a run.

    Args:
        program: Bare engine, from `build_engine`.
        scenario: Scenario file.

    Raises:
        FileNotFoundError: valgrind is not installed.
    """
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), str(scenario)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return _number(r"Collected\s*:\s*(\d+)", done.stderr), _number(r"data_packets (\d+)", done.stdout)


def _count(program: Path, scenario: Path, compiler: str) -> tuple[int, int]:
    """Instructions and data packets, which are printed as well."""
    instructions, packets = count(program, scenario)
    print(
        f"{scenario.name}: {instructions} instructions, {packets} data packets: "
        f"{instructions / packets:.1f} per packet ({compiler})",
        flush=True,
    )
    return instructions, packets


def build_engine(source: Path = ROOT, target: Path | None = None) -> tuple[Path, str]:
    """Bare engine of a source tree, `crates/sim/examples/run.rs`: its path, and the version of the compiler.

    Args:
        source: Source tree, by default this one.
        target: Directory of the build, by default ``target`` of the source tree.
    """
    target = target or source / "target"
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "fullpipe-sim", "--example", "run"]
    subprocess.run([*build, "--target-dir", str(target)], cwd=source, check=True)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return target / "release" / "examples" / "run", compiler


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return int(found.group(1))


if __name__ == "__main__":
    sys.exit(main())
