"""``fullpipe bench``: opens the playground."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from fullpipe._cli.completion import files
from fullpipe._cli.scenarios import named, text_of
from fullpipe._util.files import check_file, staged_file
from fullpipe.errors import InputError
from fullpipe.lessons import lesson as lesson_of
from fullpipe.playground import PAGE, page
from fullpipe.scenario import Scenario, parse

__all__ = ["command"]


@click.command("bench")
@click.argument("file", required=False, shell_complete=files)
@click.option("--out", metavar="PAGE", help="Write the page to this file instead of opening it.")
@click.option(
    "--lesson",
    metavar="NAME",
    help="Open a lesson: slow-start, sawtooth, fairness, bufferbloat, aqm-ecn, rtt-unfairness, bbr-phases, or l4s.",
)
@click.option("--sheets", metavar="DIR", help="Write exercise sheets and keys of all lessons into DIR (HTML to print).")
@click.option("--address", metavar="URL", help="Address of your playground, which --sheets prints on each sheet.")
def command(file: str | None, out: str | None, lesson: str | None, sheets: str | None, address: str | None) -> None:
    """Open the playground in the browser, with the scenario in FILE if you give one.

    The page is one file. It needs no server and no network, so that you can copy and send it. It has eight lessons for
    classes: each has a question, tasks, a hint, and an answer.
    """
    given = {"FILE": file, "--out": out, "--lesson": lesson, "--sheets": sheets}
    for one in ("--sheets", "--lesson"):
        others = [name for name, value in given.items() if value is not None and name != one]
        if given[one] is not None and others:
            raise InputError(f"{one} conflicts with {others[0]}")
    if address is not None and sheets is None:
        raise InputError("--address requires --sheets")
    if sheets is not None:
        from fullpipe.lessons.sheets import write_sheets

        for written in write_sheets(sheets, address):
            click.echo(written)
        return
    fragment = "" if lesson is None else f"#lesson={lesson_of(lesson).name}"
    if out is not None:
        check_file(out)
    html = page(None if file is None else _text(file))
    if out is not None:
        _write(html, Path(out))
        return
    place = PAGE if file is None else _kept(html)
    click.echo(place)
    if not webbrowser.open(place.as_uri() + fragment):
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
