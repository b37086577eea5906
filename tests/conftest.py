"""What the tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fullpipe import Scenario

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).parent / "fullpipe"

Program = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = """\
duration = "20 s"
warmup = "5 s"

[[links]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "19 ms"
buffer = "0.5 BDP"

[[flows]]
algorithm = "newreno"
count = 2
start = "0 s..1 s"
access_delay = "1 ms..5 ms"
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs the installed program in an empty directory."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """A scenario file that runs in milliseconds, two flows with random starts and delays."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def small() -> Scenario:
    """The same scenario."""
    return Scenario.loads(SMALL)
