"""Fixtures of all tests."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fullpipe
from fullpipe import Scenario

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).parent / "fullpipe"

BUILT_IN = dict(fullpipe.algorithms())
"""The package's algorithms, as they are before a test declares one of its own."""

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


LATE = (
    "test_report.py",  # reads the results of test_reproduction.py
    "test_conformance.py",  # these run programs of `debug_build`, and `make test` compiles the same packages meanwhile
    "test_net.py",
    "test_own_rust.py",
    "test_packet_library.py",
)
"""Files whose tests wait for others if they start early."""


def pytest_configure() -> None:
    """Enables interrupts of started processes: in a shell's background job, SIGINT is ignored, and children inherit
    this.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders the files so that workers end together, and none waits for another one or for a build of the crates."""
    order = {"test_reproduction.py": 0, "linux": 1, "unit": 4, **dict.fromkeys(LATE, 3)}

    def rank(item: pytest.Item) -> int:
        parts = item.path.relative_to(ROOT / "tests").parts
        return order.get(parts[-1], order.get(parts[0], 2))

    items.sort(key=rank)


def module_of(path: Path) -> ModuleType:
    """Module that a file outside of the package defines; it is not added to ``sys.modules``."""
    spec = importlib.util.spec_from_file_location(f"tested_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def imports_from(folder: Path) -> Iterator[None]:
    """Context in which Python imports from a folder. Its modules are forgotten afterwards."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        if any(place.startswith(str(folder)) for place in places):
            del sys.modules[name]


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that does not outlive its test; options as for `subprocess.Popen`."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="session")
def debug_build() -> Path:
    """Directory of the crates' debug build: libraries, and ``examples``. ``make test-rust`` makes most of it."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    build = ["cargo", "build", "--quiet", "--locked"]
    packages = [word for name in ("kernel", "net", "wasm") for word in ("--package", f"fullpipe-{name}")]
    subprocess.run([*build, *packages, "--lib", "--examples"], cwd=ROOT, check=True, timeout=900)
    recorder = ["--package", "fullpipe-sim", "--example", "record", "--features", "record"]
    subprocess.run([*build, *recorder], cwd=ROOT, check=True, timeout=900)
    return ROOT / "target/debug"


@pytest.fixture(scope="session")
def report_directory(pytestconfig: pytest.Config) -> Path:
    """Directory of the quick reproduction, kept between runs of the tests; results of this build are not run again."""
    cache = pytestconfig.cache
    assert cache is not None
    return cache.mkdir("report")


@pytest.fixture(scope="module")
def reproduced(report_directory: Path) -> dict[str, Any]:
    """Outcome of the quick reproduction. One process at a time runs it; the next one reads its results."""
    with (report_directory.parent / "report.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [PROGRAM, "reproduce", "--quick", "--json", "--out", report_directory],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


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
    """The small scenario."""
    return Scenario.loads(SMALL)
