"""The wheel holds what the laboratory and `fullpipe linux` need, and works from where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fullpipe.linux import host, programs

from .conftest import Claim

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.skipif(not (programs.OBJECTS / "agent").exists(), reason="needs `make linux-objects`")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nothing but the installed wheel."""
    place = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    for command in (
        ["wheel", "--no-build-isolation", "--wheel-dir", place, ROOT],
        ["install", "--target", place / "installed", "--no-index", "--find-links", place, "fullpipe"],
    ):
        subprocess.run(
            [sys.executable, "-m", "pip", "--quiet", *command, "--no-deps"],
            check=True, capture_output=True, env=environment,
        )  # fmt: skip
    return place / "installed"


def fullpipe(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import fullpipe.cli, sys; print(fullpipe.__file__, file=sys.stderr); fullpipe.cli.main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments], cwd=installed.parent, text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(installed)}, check=False,
    )  # fmt: skip
    assert done.stderr.startswith(str(installed))
    return done


def test_objects_and_their_source_are_inside(installed: Path) -> None:
    inside = installed / "fullpipe" / "linux" / "objects"
    for program in programs.OURS.values():
        assert (inside / f"{program.kernel_name}.bpf.o").read_bytes().startswith(b"\x7fELF")
        assert (inside / f"{program.kernel_name}.bpf.c").exists()
        assert (inside / f"{program.kernel_name}.h").exists()
    assert (inside / "agent").read_bytes().startswith(b"\x7fELF")
    assert "GNU GENERAL PUBLIC LICENSE" in (inside / "LICENSE").read_text()


def test_no_path_of_the_builder_is_inside(installed: Path) -> None:
    for file in (installed / "fullpipe" / "linux" / "objects").iterdir():
        assert str(ROOT).encode() not in file.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0 or not host.BTF.exists(), reason="needs root and BTF")
def test_load_list_unload(installed: Path, claim: Claim) -> None:
    claim("ehstcp")
    try:
        assert "sysctl net.ipv4.tcp_congestion_control=ehstcp" in fullpipe(installed, "linux", "load", "ehstcp").stdout
        rows = [line.split() for line in fullpipe(installed, "linux", "list").stdout.splitlines()]
        assert ["ehstcp", "ehstcp", "yes"] in rows
        assert ["hyun-jang", "hyun_jang"] in [row[:2] for row in rows]
    finally:
        assert fullpipe(installed, "linux", "unload", "ehstcp").returncode == 0
    assert "ehstcp" not in host.available()
