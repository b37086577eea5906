"""Execution profile of the extension module, for builds with profile-guided optimization.

``python release/optimization.py FILE.profdata`` builds a wheel with instrumentation, runs `train.py` with it (every
algorithm, every queue, the ready scenarios, and the beginnings of the speed benchmarks), and merges the counts into
FILE.profdata. A build with ``RUSTFLAGS="-Cprofile-use=FILE.profdata"`` and an equal ``--target`` then places code by
how often it runs.

The merge needs ``llvm-profdata`` of the compiler's LLVM version or newer: Debian's package ``llvm-22``, or
``rustup component add llvm-tools``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["ProfileError", "flags", "host", "profdata_tool", "record"]

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SECONDS = {
    "one-flow": 40,
    "hundred-flows": 5,
    "ten-thousand-flows": 2,
    "three-links": 5,
    "web": 5,
    "forty-gigabit": 2,
}
"""Speed benchmarks in the profile, and the simulated seconds of each."""


class ProfileError(Exception):
    """Missing tool or failed step."""


def main() -> None:
    """Record a profile into the file named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="profile to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fullpipe-profile-") as name:
        try:
            record(ROOT, Path(name), arguments.file)
        except ProfileError as error:
            raise SystemExit(f"profile: {error}") from None


def record(source: Path, scratch: Path, file: Path) -> None:
    """Build with instrumentation, train, and merge.

    Args:
        source: A source tree of the project.
        scratch: An existing directory for the build and the raw counts.
        file: The profile to write.

    Raises:
        ProfileError: A tool is missing, or a step failed.
    """
    tool = profdata_tool()
    counts, scenarios = scratch / "counts", scratch / "scenarios"
    scenarios.mkdir()
    wheels, venv = scratch / "wheels", scratch / "venv"
    # `--target` keeps build scripts uninstrumented, and gives functions the names that they have in a release's build.
    build = [
        str(BIN / "maturin"),
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--target",
        host(),
        "--out",
        str(wheels),
    ]
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "RUSTFLAGS": f"-Cprofile-generate={counts}",
        "CARGO_TARGET_DIR": str(scratch / "target"),
    }
    _run(build, source, environment)
    _run([sys.executable, "-m", "venv", str(venv)], scratch, dict(os.environ))
    _run([str(venv / "bin/pip"), "install", "--quiet", *map(str, wheels.glob("*.whl"))], scratch, dict(os.environ))
    files = [*_shortened(source, scenarios), *sorted((source / "scenarios").glob("*.toml"))]
    # The build itself left counts of procedural macros.
    shutil.rmtree(counts, ignore_errors=True)
    _run([str(venv / "bin/python"), str(source / "release/train.py"), *map(str, files)], scratch, dict(os.environ))
    file.parent.mkdir(parents=True, exist_ok=True)
    _run([tool, "merge", "--output", str(file), str(counts)], source, dict(os.environ))


def flags(file: Path) -> str:
    """``RUSTFLAGS`` of a build that uses a profile."""
    return f"-Cprofile-use={file.resolve()}"


def host() -> str:
    """Target triple of the compiler's own machine."""
    return _compiler()["host"]


def profdata_tool() -> str:
    """Path of an ``llvm-profdata`` that reads the compiler's profiles.

    Raises:
        ProfileError: There is none, or it is older than the compiler's LLVM.
    """
    compiler = _compiler()
    wanted = int(compiler["LLVM version"].split(".")[0])
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    candidates = [
        f"{root}/lib/rustlib/{compiler['host']}/bin/llvm-profdata",
        f"llvm-profdata-{wanted}",
        "llvm-profdata",
    ]
    for candidate in candidates:
        path = shutil.which(candidate)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"LLVM version (\d+)", version)
        if found and int(found[1]) >= wanted:
            return path
    raise ProfileError(
        f"requires llvm-profdata of LLVM {wanted} or newer "
        f"(Debian package llvm-{wanted}, or rustup component add llvm-tools)"
    )


def _shortened(source: Path, folder: Path) -> list[Path]:
    """Copies of the speed benchmarks with the durations of `SECONDS`."""
    files = []
    for name, seconds in SECONDS.items():
        text = (source / f"benchmarks/speed/{name}.toml").read_text(encoding="utf-8")
        text = re.sub(r'(?m)^duration = ".*"', f'duration = "{seconds} s"', text)
        files.append(folder / f"{name}.toml")
        files[-1].write_text(text, encoding="utf-8")
    return files


def _compiler() -> dict[str, str]:
    """What ``rustc -vV`` prints, by key."""
    printed = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProfileError(f"{done.stderr}{command[0]}: exit status {done.returncode}")


if __name__ == "__main__":
    main()
