"""Custom algorithm in Rust: the example is built and run. The crates can be published."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLE = ROOT / "examples/own-algorithm"

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")


def cargo(*arguments: str, folder: Path = ROOT) -> str:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(
        ["cargo", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_runs(debug_build: Path) -> None:
    """Compiled with the workspace's crates, which takes a second; its manifest and lock are those of a reader."""
    cargo("metadata", "--format-version=1", "--locked", folder=EXAMPLE)
    check(subprocess.run([debug_build / "examples/own-algorithm"], capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_the_example_runs_as_a_package_of_its_own() -> None:
    check(cargo("run", "--quiet", "--locked", folder=EXAMPLE))


def check(printed: str) -> None:
    rates = {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()}
    assert list(rates) == ["my-aimd", "cubic"]
    # Both share what 100 Mbit/s leave; neither starves.
    assert 95 < sum(rates.values()) <= 100
    assert min(rates.values()) > 10


def test_the_example_is_short() -> None:
    lines = (EXAMPLE / "src/main.rs").read_text().splitlines()
    assert sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in lines) <= 45


@pytest.mark.parametrize("name", ["cc", "sim"])
def test_a_crate_is_whole(name: str) -> None:
    packed = cargo("package", "--list", "--locked", "--allow-dirty", "--package", f"fullpipe-{name}").split()
    assert {"LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs", "Cargo.toml"} <= set(packed)
