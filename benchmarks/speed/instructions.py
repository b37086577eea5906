"""Instructions per data packet, counted by valgrind: the same on every run of a binary, whatever else the machine does.

``python -m benchmarks.speed.instructions [SCENARIO.toml ...]``, by default the one beside it; needs cargo and valgrind.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCENARIO = Path(__file__).with_suffix(".toml")


def main() -> int:
    """Build the bare engine, count, print."""
    program, compiler = build_engine()
    for scenario in sys.argv[1:] or [str(SCENARIO)]:
        count = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), scenario]
        try:
            done = subprocess.run(count, capture_output=True, text=True, check=True)
        except FileNotFoundError:
            print("instructions: needs valgrind (Debian package valgrind)", file=sys.stderr)
            return 1
        instructions = _number(r"Collected\s*:\s*(\d+)", done.stderr)
        packets = _number(r"data_packets (\d+)", done.stdout)
        print(
            f"{Path(scenario).name}: {instructions} instructions, {packets} data packets: "
            f"{instructions / packets:.1f} per packet ({compiler})",
            flush=True,
        )
    return 0


def build_engine() -> tuple[Path, str]:
    """Builds the program that is the engine and nothing else; its path, and the compiler's version."""
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "fullpipe-sim", "--example", "run"]
    subprocess.run(build, cwd=ROOT, check=True)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return ROOT / "target" / "release" / "examples" / "run", compiler


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return int(found.group(1))


if __name__ == "__main__":
    sys.exit(main())
