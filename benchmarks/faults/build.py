"""Program and Python of one build, used in one folder."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/integration")]

HANGS_S = 1000
"""Wall time limit of a command, seconds."""

SMALL = """
duration = "20 s"
packet_size = "1500 B"
seed = 1

[[links]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "40 packets"

[[flows]]
algorithm = "newreno"
count = 2
"""

OWN = """
import fullpipe
KEEP = 0.5
@fullpipe.algorithm("own-aimd")
class OwnAimd(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1 / w
    def decrease(self, w, flow, signal):
        return w * KEEP
"""


@dataclass(frozen=True)
class Ended:
    """Ending of a command.

    Attributes:
        status: Exit status; negative for a signal; None where it exceeded `HANGS_S`.
        output: Standard output.
        errors: Standard error.
        wall_s: Wall time, seconds.
    """

    status: int | None
    output: str
    errors: str
    wall_s: float

    def __str__(self) -> str:
        lines = self.errors.splitlines()
        if self.status is None:
            return f"no end within {HANGS_S} s"
        if "Traceback" in self.errors:
            return f"traceback ({lines[-1].partition(':')[0]})"
        if self.status < 0:
            return f"ended by signal {-self.status}"
        return f"{len(lines)} line{'' if len(lines) == 1 else 's'}, exit {self.status}"


@dataclass(frozen=True)
class Build:
    """Program of one build, used in one folder.

    Attributes:
        environment: Directory of the virtual environment.
        folder: Current directory of all commands.
    """

    environment: Path
    folder: Path

    def run(self, *arguments: str, limit_bytes: int = 4_000_000_000) -> Ended:
        """Ending of the program with these arguments, in an address space of limited size."""
        return self._end([str(self.environment / "bin/fullpipe"), *arguments], limit_bytes)

    def python(self, code: str, *arguments: str, limit_bytes: int = 6_000_000_000) -> Ended:
        """Ending of Python code that imports the build's package."""
        return self._end([str(self.environment / "bin/python"), "-P", "-c", code, *arguments], limit_bytes)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts the program."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")}
        # Shells start jobs in the background without Ctrl-C.
        command = ["env", "--default-signal=INT", self.environment / "bin/fullpipe", *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)  # type: ignore[call-overload,no-any-return]

    def library(self, text: str, name: str = "own") -> None:
        """Shared library of C code; code that includes our header finds it."""
        (self.folder / f"{name}.c").write_text(text)
        include = f"-I{ROOT / 'python/fullpipe/include'}"
        command = ["cc", "-shared", "-fPIC", include, "-o", f"{name}.so", f"{name}.c"]
        subprocess.run(command, cwd=self.folder, check=True)

    def write(self, **files: str) -> None:
        """Text files by name, with ``__`` in place of the dot."""
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text)

    def _end(self, command: list[str], limit_bytes: int) -> Ended:
        begun = time.monotonic()
        limit = (limit_bytes, limit_bytes)
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        )
        try:
            output, errors = process.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return Ended(None, output, errors, time.monotonic() - begun)
        return Ended(process.returncode, output, errors, time.monotonic() - begun)


PEAK = """
import sys
try:
    from fullpipe._cli import main
except ImportError:
    from fullpipe.cli import main
sys.argv[0] = "fullpipe"
try:
    main()
finally:
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", int(line.split()[1]) // 1000, file=sys.stderr)
"""


def peak_of(build: Build, *arguments: str) -> str:
    """Ending of the program and the peak of its memory."""
    done = build.python(PEAK, *arguments, limit_bytes=8_000_000_000)
    found = re.search(r"PEAK (\d+)\n", done.errors)
    rest = Ended(done.status, done.output, re.sub(r"PEAK \d+\n", "", done.errors), done.wall_s)
    return f"{rest}, {found[1] if found else '?'} MB"
