"""The source distribution is complete, and the wheel built from it contains the Linux engine's files, and works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fullpipe.linux import host, programs
from fullpipe.playground import PAGE

from .conftest import Claim

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.skipif(not (programs.OBJECTS / "agent").exists(), reason="needs `make linux-objects`")


QUICKLY = {
    "CARGO_TARGET_DIR": str(ROOT / "target/wheel"),
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}
"""What is tested is what is inside, not how fast it is."""


def run(command: list[object], **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    return subprocess.run([str(word) for word in command], text=True, capture_output=True, env=known, check=False)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This directory's files under version control, without build results."""
    place = tmp_path_factory.mktemp("clone")
    for name in run(["git", "-C", ROOT, "ls-files"]).stdout.splitlines():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    # If the playground is built here and newer than its sources, it is not built again.
    if PAGE.exists():
        shutil.copy2(PAGE, place / PAGE.relative_to(ROOT))
        (place / "web/node_modules").symlink_to(ROOT / "web/node_modules")
    return place


@pytest.fixture(scope="module")
def sdist(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of the clone, unpacked."""
    place = tmp_path_factory.mktemp("sdist")
    code = "import sys; sys.path.insert(0, 'pep517'); import backend; backend.build_sdist(sys.argv[1])"
    done = run([sys.executable, "-c", f"import os; os.chdir({str(clone)!r}); {code}", place], **QUICKLY)
    assert done.returncode == 0, done.stderr
    (archive,) = place.iterdir()
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")
    return place / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def installed(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nothing but the installed wheel, which is built from the source distribution."""
    place = tmp_path_factory.mktemp("wheel")
    for command in (
        ["wheel", "--no-build-isolation", "--wheel-dir", place, sdist],
        ["install", "--target", place / "installed", "--no-index", "--find-links", place, "fullpipe"],
    ):
        done = run([sys.executable, "-m", "pip", "--quiet", *command, "--no-deps"], **QUICKLY)
        assert done.returncode == 0, done.stderr
    return place / "installed"


@pytest.mark.parametrize("tool", ["CLANG", "STRIP", "CC"])
def test_there_is_no_wheel_without_its_linux_part(clone: Path, tmp_path: Path, tool: str) -> None:
    shutil.copytree(clone, tmp_path / "clone", symlinks=True)
    command = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-build-isolation", "--no-deps"]
    # A make variable as the environment gives it; no compiler of Rust is come to.
    done = run([*command, "--wheel-dir", tmp_path / "wheel", tmp_path / "clone"], MAKEFLAGS=f"{tool}=false", **QUICKLY)
    assert done.returncode != 0
    part = "python/fullpipe/linux/guest" if tool == "CC" else "bpf"
    assert f"fullpipe: {part} can't be compiled, see above; a wheel needs make, clang, llvm-strip" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("wheel/*"))


def test_the_source_distribution_has_every_source(clone: Path, sdist: Path) -> None:
    parts = (
        "bpf",
        "pep517",
        "crates",
        "web",
        "python",
        "scenarios",
        "notebooks",
        "examples/check",
        "examples/museum",
        "examples/aimd.py",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "README.md",
        "Cargo.lock",
    )
    sources = run(["git", "-C", ROOT, "ls-files", *parts]).stdout.splitlines()
    assert len(sources) > 300
    for name in sources:
        if not name.endswith(".md") or name == "README.md":
            assert (sdist / name).read_bytes() == (clone / name).read_bytes(), name
    assert {str(file.relative_to(sdist)) for file in sdist.rglob("*.o")} <= set(sources)


def test_the_crates_can_be_packaged(tmp_path: Path) -> None:
    published = ["fullpipe-abi", "fullpipe-cc", "fullpipe-net", "fullpipe-sim"]
    options = ["--locked", "--offline", "--no-verify", "--allow-dirty", "--target-dir", tmp_path]
    done = run(
        ["cargo", "package", "--manifest-path", ROOT / "Cargo.toml", *(f"-p{name}" for name in published), *options]
    )
    assert done.returncode == 0, done.stderr
    names = sorted(file.name for file in (tmp_path / "package").glob("*.crate"))
    assert [name.rpartition("-")[0] for name in names] == published


def fullpipe(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import fullpipe._cli, sys; print(fullpipe.__file__, file=sys.stderr); fullpipe._cli.main()"
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


def test_the_page_is_inside(installed: Path, tmp_path: Path) -> None:
    assert fullpipe(installed, "bench", "--out", str(tmp_path / "playground.html")).returncode == 0
    assert "<title>fullpipe playground</title>" in (tmp_path / "playground.html").read_text()


def test_the_examples_are_inside(installed: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    assert fullpipe(installed, "examples", "--out", str(place)).returncode == 0
    copied = {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}
    tracked = run(["git", "-C", ROOT, "ls-files", "scenarios", "examples", "notebooks"]).stdout.splitlines()
    wanted = [
        name for name in tracked if not name.startswith(("examples/own-algorithm/", "examples/packet-controller/"))
    ]
    assert copied == {name: (ROOT / name).read_bytes() for name in wanted}
    assert fullpipe(installed, "run", str(place / "scenarios/lte.toml"), "--duration", "13 s").returncode == 0


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
