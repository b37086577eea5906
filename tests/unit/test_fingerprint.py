"""The fingerprint of the build changes with every file of the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fullpipe
from fullpipe._util.fingerprint import build_fingerprint, hash_of

PACKAGE = Path(fullpipe.__file__).parent
EXTENSION = next(file.name for file in PACKAGE.glob("_core*.so"))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, without bytecode."""
    place = tmp_path_factory.mktemp("copy") / "fullpipe"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def test_the_same_files_are_the_same_build(copy: Path) -> None:
    assert hash_of(copy) == build_fingerprint()
    (copy / "__pycache__").mkdir(exist_ok=True)
    (copy / "__pycache__/tables.cpython-311.pyc").write_bytes(b"bytecode")
    assert hash_of(copy) == build_fingerprint()


@pytest.mark.parametrize(
    "name",
    [
        "_util/text.py",
        "runs/result.py",
        "scenario/keypath.py",
        "papers/hyun_jang/single.py",
        "papers/survey/paper.toml",
        EXTENSION,
    ],
)
def test_every_file_counts(copy: Path, name: str) -> None:
    file = copy / name
    before = file.read_bytes()
    file.write_bytes(before + b"\n")
    assert hash_of(copy) != build_fingerprint()
    file.write_bytes(before)
    assert hash_of(copy) == build_fingerprint()


def test_names_and_the_borders_between_files_count(tmp_path: Path) -> None:
    def hashed(**files: str) -> str:
        package = tmp_path / str(len(list(tmp_path.iterdir())))
        package.mkdir()
        for name, text in files.items():
            (package / name).write_text(text)
        return hash_of(package)

    hashes = [hashed(a="xy", b=""), hashed(a="x", b="y"), hashed(a="xy"), hashed(b="xy"), hashed(a="xyb", c="")]
    assert len(set(hashes)) == len(hashes)
