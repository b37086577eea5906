"""Tables, progress bar, warnings, and shared options of all commands."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TypeVar

import click

from fullpipe._cli import completion as complete
from fullpipe._util.display import Shown
from fullpipe._util.inputs import MOST_OBJECT_BYTES, read_bytes
from fullpipe._util.table import table_lines
from fullpipe._util.text import one_line, quoted, shorten
from fullpipe.errors import InputError, ScenarioError
from fullpipe.scenario import parse

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario

__all__ = [
    "algorithm_in",
    "algorithms_in",
    "algorithms_option",
    "code_of_others",
    "declared",
    "json_option",
    "kernel_option",
    "note",
    "print_json",
    "print_table",
    "progress_bar",
    "seed_option",
    "show",
    "warn",
    "warn_otherwise",
    "words",
]

Command = TypeVar("Command", bound=Callable[..., object])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Seed instead of the scenario's."
)


def algorithms_option(
    metavar: str, what: str, *, required: bool = True, completed: object = complete.algorithms
) -> Callable[[Command], Command]:
    """The option for algorithms separated by commas."""
    return click.option(
        "--algorithms",
        required=required,
        metavar=metavar,
        shell_complete=completed,
        callback=declared,
        help=f"{what} FILE.py or FILE.py:CLASS is a custom algorithm, FILE.so or FILE.so:NAME a controller of a shared "
        "library, FILE.o a kernel object file; a table such as "
        "'{ name = \"vegas\", alpha = 2 }' sets parameters.",
    )


def declared(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Algorithms of an option. Each file of Python code, ``aimd.py`` or ``aimd.py:Aimd``, is run, each library,
    ``libmine.so`` or ``libmine.so:mine``, is loaded, and the algorithms that they declare replace their names.
    """
    return None if text is None else _with_declared(text)


def _with_declared(text: str) -> str:
    if "." not in text:
        return text
    from fullpipe.custom.arguments import load_algorithms

    with code_of_others():
        return re.sub(
            r"[^\s,+*][^,+*]*\.(py|so|dylib|dll)(:[\w-]+)?(?=[\s,+*]|$)", lambda file: load_algorithms(file[0]), text
        )


@contextmanager
def code_of_others() -> Iterator[None]:
    """Redirection of standard output to standard error, for Python, C, and child processes. Standard output is for
    results, which other programs read.
    """
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        # C buffers its output. Only code that ctypes has called can have printed.
        if (ctypes := sys.modules.get("ctypes")) is not None:
            ctypes.CDLL(None).fflush(None)
        os.dup2(output, 1)
        os.close(output)


kernel_option = click.option(
    "--kernel",
    metavar="PACKAGE[/SUITE]",
    help="Kernel of the Linux engine: a Debian package, with a suite if you give one.  "
    "[default: linux-image-cloud-amd64]",
)

PATIENCE_S = 1.0
"""Seconds of wall time after which a run gets a progress bar."""


def warn(scenario: Scenario) -> None:
    """Prints probable mistakes in a scenario to standard error, one per line."""
    _warn(scenario, scenario.warnings)


def warn_otherwise(scenario: Scenario, results: Iterable[Result]) -> None:
    """Prints differences between a scenario and its run on an engine."""
    said = dict.fromkeys(warning for result in results for warning in result.warnings)
    _warn(scenario, [warning for warning in said if warning not in scenario.warnings])


def _warn(scenario: Scenario, warnings: Iterable[str]) -> None:
    place = f"{scenario.file}: " if scenario.file else ""
    for warning in warnings:
        note(f"warning: {place}{warning}")


def words(text: str) -> list[str]:
    """Parts between commas. A comma inside braces, brackets, or quotes separates nothing."""
    found = [""]
    open_, quote = 0, ""
    for c in text:
        if quote or c in "\"'":
            quote = "" if c == quote else quote or c
        else:
            open_ += (c in "{[") - (c in "}]")
        if c == "," and open_ <= 0:
            found.append("")
        else:
            found[-1] += c
    return [word.strip() for word in found if word.strip()]


def algorithms_in(text: str) -> list[str | dict[str, object]]:
    """Algorithms between commas, as `algorithm_in` returns them.

    Call it before you read the scenario, which may name a declared algorithm.
    """
    return [algorithm_in(word) for word in words(text)]


def algorithm_in(text: str) -> str | dict[str, object]:
    """Algorithm of a scenario, from a name, an object file, or a TOML table such as ``{ name = "vegas", beta = 2 }``.

    Raises:
        InputError: The table is no TOML, or the file cannot be read.
    """
    if text.endswith(".o"):
        return {"object": _content_of(text)}
    if not text.startswith("{"):
        return text
    try:
        table = parse(f"algorithm = {text}")["algorithm"]
    except ScenarioError as error:
        raise InputError(f"algorithm {quoted(text)}: {error.what}") from None
    if isinstance(name := table.get("name"), str):
        table["name"] = _with_declared(name)
    if isinstance(name := table.get("object"), str):
        table["object"] = _content_of(name)
    return dict(table)


def _content_of(file: str) -> dict[str, str]:
    """Content of an object file as a scenario has it.

    A path on the command line is relative to the current folder, and a path in a scenario to the scenario.
    """
    import base64

    return {"name": file, "base64": base64.b64encode(read_bytes(file, MOST_OBJECT_BYTES)).decode()}


@contextmanager
def resumable(context: click.Context, out: str | None) -> Iterator[None]:
    """Context of a command that can be resumed: after Ctrl-C, a line names the directory of its finished runs."""
    try:
        yield
    except KeyboardInterrupt:
        if out is None:
            raise
        note(f"interrupted; finished runs are in {out}; run the command again to continue")
        context.exit(130)


def note(message: str) -> None:
    """Prints a line on standard error."""
    click.echo(f"fullpipe: {one_line(message)}", err=True)


def print_json(text: str) -> None:
    """Prints one JSON object, the only thing on standard output."""
    click.echo(text)


def show(parts: Iterable[Shown | str]) -> None:
    """Prints tables and lines on standard output."""
    for part in parts:
        if isinstance(part, Shown):
            print_table(part.title, part.columns, part.rows, left=part.left)
        else:
            click.echo("\n".join(_folded(line) for line in part.split("\n")))


def _folded(line: str) -> str:
    """A line of text as it is, or on a terminal too narrow for it on several, between words."""
    if not sys.stdout.isatty():
        return line
    import textwrap

    return textwrap.fill(line, _terminal_width(), break_long_words=False, break_on_hyphens=False)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Prints a table on standard output; the first ``left`` columns are text, the others numbers.

    On a terminal, `table_lines` splits a table that is too wide. A file or a pipe has no width.
    """
    terminal = sys.stdout.isatty()
    width = _terminal_width() if terminal else None
    bold = terminal and os.environ.get("TERM", "dumb") != "dumb"
    click.echo("\n".join(table_lines(title, columns, rows, left=left, width=width, bold=bold)), color=bold)


def _terminal_width() -> int:
    from shutil import get_terminal_size

    return get_terminal_size().columns


@contextmanager
def progress_bar(
    label: str, unit: str = "s simulated", *, prints: bool = False
) -> Iterator[Callable[[float, float], None]]:
    """Function that takes the progress (amount of ``unit`` done, total) and draws a bar with the time left.

    The bar appears on a terminal's standard error once a run takes longer than a second. Output of algorithms goes to
    standard error (`code_of_others`), unless the command ``prints`` results during the run.
    """
    begun = time.perf_counter()
    bar: tuple[Progress, TaskID] | None = None
    with ExitStack() as stack:
        if not prints:
            stack.enter_context(code_of_others())

        def tell(reached: float, total: float) -> None:
            nonlocal bar
            if bar is None:
                if time.perf_counter() - begun < PATIENCE_S or not sys.stderr.isatty():
                    return
                progress = stack.enter_context(_bar(unit))
                bar = progress, progress.add_task(shorten(label), total=total)
            bar[0].update(bar[1], completed=reached, total=total)

        yield tell


def _bar(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:.0f}} of {{task.total:.0f}} {unit}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
