"""``fullpipe bench``."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from fullpipe._cli.completion import files
from fullpipe._cli.scenarios import named, text_of
from fullpipe._util.files import check_file, staged_file
from fullpipe.bench import PAGE, page
from fullpipe.scenario import Scenario, parse

__all__ = ["command"]


@click.command("bench")
@click.argument("file", required=False, shell_complete=files)
@click.option("--out", metavar="PAGE", help="Write the page to this file instead of opening it.")
def command(file: str | None, out: str | None) -> None:
    """Open the bench in the browser, with the scenario in FILE if one is given.

    The page is one file; it needs no server and asks the network for nothing, and can be copied and sent.
    """
    if out is not None:
        check_file(out)
    html = page(None if file is None else _text(file))
    if out is not None:
        _write(html, Path(out))
        return
    place = PAGE if file is None else _kept(html)
    click.echo(place)
    if not webbrowser.open(place.as_uri()):
        click.echo("fullpipe: found no browser here; open that file in one", err=True)


def _text(file: str) -> str:
    """The scenario as it is written; where it names files, with what is in them, since the page can read none."""
    text = text_of(file)
    scenario = Scenario.loads(text, file=named(file))
    return text if parse(text) == scenario.to_dict() else scenario.to_toml()


def _kept(html: str) -> Path:
    """A file of its own, which stays: the browser reads it after this program has ended."""
    place = Path(tempfile.mkdtemp(prefix="fullpipe-")) / "bench.html"
    place.write_text(html, encoding="utf-8")
    return place


def _write(html: str, target: Path) -> None:
    with staged_file(target) as stage:
        stage.write_text(html, encoding="utf-8")
