"""``fullpipe examples``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from fullpipe._cli.output import print_table
from fullpipe._util.files import check_directory
from fullpipe._util.text import quoted
from fullpipe.errors import InputError

__all__ = ["command"]

PLACES = (Path(__file__).parents[1] / "scenarios", Path(__file__).parents[3] / "scenarios")
"""Directory of the example scenarios in a wheel, and in a clone."""


@click.command("examples")
@click.option("--out", metavar="DIR", help="Copy the example scenarios into this new or empty directory.")
def command(out: str | None) -> None:
    """List the example scenarios, or copy them with --out.

    The documentation runs these files. For example, `fullpipe examples --out scenarios` gives you
    `scenarios/small-link.toml`.
    """
    place = next(place for place in PLACES if place.is_dir())
    files = sorted(place.rglob("*.toml"), key=lambda file: (file.parent != place, file))
    if out is None:
        rows = [(file.relative_to(place).as_posix(), _title(file)) for file in files]
        print_table("Example scenarios", ("file", "content"), rows, left=2)
    else:
        _copy(place, out)
        click.echo(f"{out}: {len(files)} scenarios")


def _title(file: Path) -> str:
    """First line of the comment at the top of a scenario."""
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _copy(place: Path, out: str) -> None:
    """Copies the files. The directory has all of them, or is unchanged."""
    check_directory(out)
    target = Path(out)
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{quoted(out)} has files (allowed: a new or empty directory)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fullpipe.", dir=target.parent) as name:
        stage = Path(name) / "scenarios"
        shutil.copytree(place, stage, ignore=shutil.ignore_patterns("__pycache__"))
        stage.replace(target)
