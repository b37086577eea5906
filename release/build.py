"""Build and trial of a release: ``make release``, into out/release.

The committed tree is built in a separate directory: the crates, each compiled from its package; the source
distribution; and from that alone the wheel, optimized with an execution profile (`optimization.py`) and linked for the
C library of 2018 (manylinux_2_28) or newer. The wheel is then installed for every Python of the machine, outside the
repository, and the main commands run from there.

A package index shows README.md without other files. With ``--home URL``, the project's address at a forge, its links
and images become absolute; otherwise links become text, and images are removed.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import optimization

__all__ = ["check_wheel", "portable", "pythons"]

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out/release"
BIN = Path(sys.executable).parent
PLATFORM = "manylinux_2_28"
OLDEST = (3, 11)
CRATES = ("fullpipe-cc", "fullpipe-abi", "fullpipe-check", "fullpipe-sim", "fullpipe-net")

INSIDE = (
    "fullpipe/_core.abi3.so",
    "fullpipe/_core.pyi",
    "fullpipe/py.typed",
    "fullpipe/playground/page.html",
    "fullpipe/examples/scenarios/small-link.toml",
    "fullpipe/examples/scenarios/sweeps/which-algorithm.toml",
    "fullpipe/examples/scenarios/traces/lte.down",
    "fullpipe/examples/examples/aimd.py",
    "fullpipe/examples/notebooks/buffer.py",
    *(
        f"fullpipe/linux/objects/{name}.bpf.{kind}"
        for name in ("adaptive_aimd", "hyun_jang", "ehstcp")
        for kind in "oc"
    ),
    "fullpipe/linux/objects/agent",
    "fullpipe/linux/objects/LICENSE",
    "fullpipe/linux/guest/agent.c",
)
"""Files that a wheel must contain."""

LICENCES = ("LICENSE-MIT", "LICENSE-APACHE", "LICENSE-THIRD-PARTY", "bpf/LICENSE")

SMALL = "scenarios/small-link.toml"
COMMANDS = (
    ("--version",),
    ("algorithms", "vegas"),
    ("queues", "codel"),
    ("run", SMALL, "--json", "--plot", "run.png", "--out", "run"),
    ("compare", SMALL, "--algorithms", "newreno,cubic", "--duration", "40 s", "--out", "compared"),
    ("duel", SMALL, "--algorithms", "cubic,newreno", "--duration", "40 s", "--seeds", "2"),
    ("size", "--rate=5Mbit/s", "--rtt=40ms", "--flows=2", "--target=0.9", "--algorithms=newreno", "--seeds=2"),
    ("reproduce", "hyun-jang/table-1", "--quick", "--out", "report"),
    ("linux", "list"),
)
LIBRARY = """
import fullpipe
result = fullpipe.run("scenarios/small-link.toml")
assert 0 < result.links["utilization"][0].as_py() <= 1
assert result.series.num_rows > 0
assert fullpipe.Result.load("run").links == result.links
"""


def main() -> None:
    """Build, check, and try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", help="the project's address at a forge")
    parser.add_argument("--try", dest="wheel", type=Path, metavar="WHEEL", help="only try this wheel")
    arguments = parser.parse_args()
    if arguments.wheel is not None:
        for python in pythons():
            _try(python, arguments.wheel.absolute())
        return
    home = arguments.home
    if changed := _output(["git", "status", "--porcelain"], ROOT):
        raise SystemExit(f"a release requires a clean working tree; uncommitted:\n{changed.rstrip()}")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="fullpipe-release-") as name:
        _build(Path(name), home)
    _run([BIN / "twine", "check", "--strict", *sorted(OUT.iterdir())], ROOT)
    (wheel,) = OUT.glob("*.whl")
    check_wheel(wheel)
    for python in pythons():
        _try(python, wheel)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(OUT.iterdir())]
    (OUT / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


def _build(place: Path, home: str | None) -> None:
    """Crates, source distribution, and wheel of the committed tree."""
    clone = place / "clone"
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        file.extractall(clone, filter="data")
    _say(f"crates {', '.join(CRATES)}")
    _run(["cargo", "package", "--locked", "--target-dir", place / "crates", *(f"-p{crate}" for crate in CRATES)], clone)
    readme = clone / "README.md"
    readme.write_text(portable(readme.read_text(encoding="utf-8"), home), encoding="utf-8")

    _say("source distribution")
    _run([BIN / "python", "-c", f"import backend; backend.build_sdist({str(OUT)!r})"], clone, PYTHONPATH="pep517")
    (sdist,) = OUT.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        file.extractall(place / "sdist", filter="data")
    _say(f"wheel for {PLATFORM}")
    pip = [BIN / "python", "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", OUT]
    source = place / "sdist" / sdist.name.removesuffix(".tar.gz")
    profile = _profile(clone, place)
    # The profile names functions as a build with `--target` does.
    arguments = f"build-args=--zig --compatibility {PLATFORM} --target {optimization.host()}"
    environment = {"CARGO_TARGET_DIR": str(place / "target"), "RUSTFLAGS": optimization.flags(profile)}
    _run([*pip, f"--config-settings={arguments}", source], place, **environment)


def _profile(clone: Path, place: Path) -> Path:
    """Execution profile of the committed tree, for the build of the wheel."""
    _say("profile for the optimization of the wheel")
    scratch = place / "profile"
    scratch.mkdir()
    try:
        optimization.record(clone, scratch, scratch / "fullpipe.profdata")
    except optimization.ProfileError as error:
        raise SystemExit(f"profile: {error}") from None
    return scratch / "fullpipe.profdata"


def portable(readme: str, home: str | None) -> str:
    """README.md for a package index: the module's docstring has the rules."""

    def target(match: re.Match[str]) -> str:
        mark, text, link = match[1], match[2], match[3]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        if home is None:
            return "" if mark else text
        return f"{mark}[{text}]({home.rstrip('/')}/{'raw' if mark else 'blob'}/HEAD/{link})"

    def outside_code(text: str) -> str:
        text = re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", target, text)
        if home is None:
            return re.sub(r"<picture>.*?</picture>\n", "", text, flags=re.DOTALL)
        return re.sub(r'(?<=src=")|(?<=srcset=")', f"{home.rstrip('/')}/raw/HEAD/", text)

    parts = re.split(r"(^```.*?^```$)", readme, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else outside_code(part) for part in parts)


def check_wheel(wheel: Path) -> None:
    """Check the wheel's tags and files; exit with a message if one is wrong."""
    if f"-cp311-abi3-{PLATFORM}_" not in wheel.name:
        raise SystemExit(f"{wheel.name}: is to be for cp311-abi3 and {PLATFORM}")
    with zipfile.ZipFile(wheel) as file:
        names = {name: file.read(name) for name in file.namelist()}
    missing = set(INSIDE) - names.keys()
    missing |= {name for name in LICENCES if not any(each.endswith(f".dist-info/licenses/{name}") for each in names)}
    if missing:
        raise SystemExit(f"{wheel.name}: lacks {', '.join(sorted(missing))}")
    for name in INSIDE:
        if name.endswith((".o", ".so", "/agent")) and not names[name].startswith(b"\x7fELF"):
            raise SystemExit(f"{wheel.name}: {name} is not compiled")


def pythons() -> list[Path]:
    """Supported Pythons of the machine, one of each version, oldest first."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep) if folder]
    folders += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found: dict[tuple[int, int], Path] = {}
    for version, python in _candidates(folders):
        if version >= OLDEST and version not in found:
            found[version] = python
    return [found[version] for version in sorted(found)]


def _candidates(folders: list[Path]) -> Iterator[tuple[tuple[int, int], Path]]:
    code = (
        "import json, sys; whole = sys.prefix == sys.base_prefix; "
        "print(json.dumps([sys.implementation.name, *sys.version_info[:2], whole]))"
    )
    for folder in folders:
        for python in sorted(folder.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", python.name):
                done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    kind, major, minor, whole = json.loads(done.stdout)
                    if kind == "cpython" and whole:
                        yield (major, minor), python


def _try(python: Path, wheel: Path) -> None:
    """Install the wheel for one Python and run the main commands, outside the repository."""
    with tempfile.TemporaryDirectory(prefix="fullpipe-try-") as name:
        place = Path(name)
        _run([python, "-m", "venv", place / "venv"], place)
        inside = place / "venv/bin"
        _run([inside / "pip", "install", "--quiet", "--disable-pip-version-check", wheel], place)
        commands = [command for command in COMMANDS if command[0] != "linux" or sys.platform == "linux"]
        work = place / "work"
        _run([inside / "fullpipe", "examples", "--out", work], place, quiet=True)
        for command in commands:
            _run([inside / "fullpipe", *command], work, quiet=True)
        _run([inside / "python", "-c", LIBRARY], work)
        files = [file for file in (place / "venv").rglob("*") if file.is_file() and not file.is_symlink()]
        size = sum(file.stat().st_size for file in files if "/pip/" not in str(file))
        _say(f"{python}: {len(commands)} commands and the library; {size / 1e6:.0f} MB installed, with what it needs")


def _run(command: list[object] | list[Path | str], folder: Path, *, quiet: bool = False, **environment: str) -> None:
    words = [str(word) for word in command]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    into = subprocess.PIPE if quiet else None
    done = subprocess.run(
        words, cwd=folder, env={**clean, "PATH": path, **environment}, stdout=into, stderr=into, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr or ''}{' '.join(words)}: exit status {done.returncode}")


def _output(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
