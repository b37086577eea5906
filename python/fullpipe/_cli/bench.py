"""``fullpipe bench``: opens the playground."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from fullpipe._cli.completion import files
from fullpipe._cli.scenarios import named, text_of
from fullpipe._util.files import check_file, staged_file
from fullpipe.playground import PAGE, page
from fullpipe.scenario import Scenario, parse

__all__ = ["command"]


@click.command("bench")
@click.argument("file", required=False, shell_complete=files)
@click.option("--out", metavar="PAGE", help="Write the page to this file instead of opening it.")
def command(file: str | None, out: str | None) -> None:
    """Open the playground in the browser, with the scenario in FILE if you give one.

    The page is one file. It needs no server and no network, so that you can copy and send it.
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
    """Scenario text. The content of files that it names is inserted, because the page cannot read files."""
    text = text_of(file)
    scenario = Scenario.loads(text, file=named(file))
    return text if parse(text) == scenario.to_dict() else scenario.to_toml()


def _kept(html: str) -> Path:
    """New file with the page, which the browser reads after this program has ended."""
    place = Path(tempfile.mkdtemp(prefix="fullpipe-")) / "playground.html"
    place.write_text(html, encoding="utf-8")
    return place


def _write(html: str, target: Path) -> None:
    with staged_file(target) as stage:
        stage.write_text(html, encoding="utf-8")
