"""``fullpipe examples``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from fullpipe._cli.output import print_table
from fullpipe._util.examples import examples
from fullpipe._util.files import check_directory
from fullpipe._util.text import quoted
from fullpipe.errors import InputError

__all__ = ["command"]

FOLDERS = ("scenarios", "examples", "notebooks")
"""Folders that the documentation uses."""

LEFT_OUT = shutil.ignore_patterns("__pycache__", "own-algorithm", "packet-controller")
"""Parts that are not copied. The crates `own-algorithm` and `packet-controller` need the crates of a clone."""


@click.command("examples")
@click.option("--out", metavar="DIR", help="Copy the examples into this new or empty directory.")
def command(out: str | None) -> None:
    """List the example scenarios, or copy all examples of the documentation with --out.

    DIR gets the folders `scenarios`, `examples` (algorithms and checks), and `notebooks`. Commands of the
    documentation work in DIR, e.g. `fullpipe run scenarios/small-link.toml`.
    """
    place = examples()
    if out is not None:
        _copy(place, out)
        click.echo(f"{out}: {', '.join(FOLDERS)}")
        return
    files = sorted(place.glob("scenarios/*.toml")) + sorted(place.glob("scenarios/*/*.toml"))
    rows = [(file.relative_to(place).as_posix(), _title(file)) for file in files]
    print_table("Example scenarios", ("file", "content"), rows, left=2)


def _title(file: Path) -> str:
    """First line of the comment at the top of a scenario."""
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _copy(place: Path, out: str) -> None:
    """Copies the folders. The directory has all of them, or is unchanged."""
    check_directory(out)
    target = Path(out)
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"--out must be a new or empty directory, and {quoted(out)} has files")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fullpipe.", dir=target.parent) as name:
        stage = Path(name) / "stage"
        for folder in FOLDERS:
            shutil.copytree(place / folder, stage / folder, ignore=LEFT_OUT)
        stage.replace(target)
