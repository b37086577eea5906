"""Options that all commands with results share, and the end of a command: plot, directory, and output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, cast

import click

from fullpipe._cli.output import kernel_option, note, print_json, show, words
from fullpipe._util.display import FORMATS, Outcome, Shown, csv_of, csv_text, latex, markdown
from fullpipe._util.files import check_directory, check_free, check_picture
from fullpipe.engine.memory import parse_bytes
from fullpipe.plots.looks import STYLES, Style

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.runs.results import Results
    from fullpipe.scenario import Scenario

__all__ = [
    "Output",
    "Placement",
    "dask_option",
    "engine_options",
    "format_options",
    "memory_option",
    "output_options",
    "placement",
    "print_parts",
    "workers_option",
]

Command = TypeVar("Command", bound=Callable[..., object])


class Deliverable(Protocol):
    """Result of a run or an experiment."""

    @property
    def labels(self) -> Sequence[str]:
        """Columns of `runs` that identify a scenario."""

    @property
    def runs(self) -> pa.Table:
        """A row per run."""

    def plot(self, path: str, *, style: Style = "screen") -> object:
        """Plots into a file."""

    def save(self, directory: str) -> None:
        """Writes files into a directory."""

    def to_json(self) -> str:
        """One JSON object."""

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints."""


@dataclass(frozen=True)
class Output:
    """Destination of a command's result.

    Attributes:
        format: One of `FORMATS`.
        columns: Metrics of tables; None for the usual ones.
        plot: File of the plot.
        out: Directory of the files.
        style: Style of the plot.
    """

    format: str
    columns: list[str] | None
    plot: str | None
    out: str | None
    style: Style = "screen"

    def check(
        self,
        scenario: Scenario | None = None,
        *,
        more: Collection[str] = (),
        groups: bool = True,
        continues: bool = False,
    ) -> Output:
        """Refuses, before a run, unknown metrics, and files and directories that are not writable. Returns the
        destination with the names that metrics have in results: those of the bottleneck without the link.

        Args:
            scenario: Scenario whose metrics `columns` are; None if they are other quantities.
            more: Further metrics of the experiment.
            groups: Whether groups have the names of the scenario.
            continues: Whether the directory may have an unfinished experiment.
        """
        columns = self.columns
        if columns is not None and scenario is not None:
            from fullpipe.runs.scopes import check_metrics

            columns = check_metrics(columns, scenario.to_dict(), more=more, groups=groups)
        elif columns is not None and more:
            from fullpipe.runs.figures import find_metric

            for name in columns:
                find_metric(name, more)
        if self.plot is not None:
            check_picture(self.plot)
        if self.out is not None:
            (check_directory if continues else check_free)(self.out)
        return replace(self, columns=columns)

    def deliver(self, what: Deliverable, *, saved: bool = False, parts: Sequence[Shown | str] | None = None) -> int:
        """Writes the plot and the directory, and prints the result. The exit status is 1 if runs failed.

        Args:
            what: The result.
            saved: Whether the directory is written already.
            parts: Tables and lines to print instead of `Deliverable.shown`.
        """
        if self.plot is not None:
            what.plot(self.plot, style=self.style)
        if self.out is not None and not saved:
            what.save(self.out)
        self.print(what, parts)
        if not getattr(what, "failed", 0):
            return 0
        from fullpipe.experiments.failures import failures_line

        note(failures_line(cast("Results", what)))
        return 1

    def print(self, what: Deliverable, parts: Sequence[Shown | str] | None = None) -> None:
        """Prints the result in the format."""
        if self.format == "json":
            print_json(what.to_json())
        elif self.format == "csv":
            click.echo(csv_text(what.runs, self.columns, what.labels), nl=False)
        else:
            _print_shown(self.format, what.shown(self.columns) if parts is None else parts)


style_option = click.option(
    "--style",
    type=click.Choice(STYLES),
    help="Style of --plot: for screens, or for one or both columns of a paper.  [default: screen]",
)

COLUMNS = "Metrics to show, separated by commas, e.g. goodput_bps or groups.call.p99_rtt_s."


def format_options(command: Command) -> Command:
    """The options ``--json`` and ``--format``; the command takes ``form``."""

    @wraps(command)
    def call(*arguments: object, **given: object) -> object:
        as_json, form = given.pop("as_json"), given.pop("form")
        if as_json and form not in (None, "json"):
            raise click.UsageError("--json conflicts with --format")
        return command(*arguments, form="json" if as_json else str(form or "table"), **given)

    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object: short for --format json.")
    form = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="How results are printed; csv has a row per run.  [default: table]",
    )
    return cast("Command", as_json(form(call)))


def print_parts(form: str, what: Outcome) -> None:
    """Prints an outcome without runs in a format. In CSV, each table follows the earlier one after an empty line."""
    parts = what.shown()
    if form == "json":
        print_json(what.to_json())
    elif form == "csv":
        click.echo("\n".join(csv_of(part) for part in parts if isinstance(part, Shown)), nl=False)
    else:
        _print_shown(form, parts)


def _print_shown(form: str, parts: Sequence[Shown | str]) -> None:
    """Prints tables and lines as a table of the terminal, Markdown, or LaTeX."""
    if form == "table":
        show(parts)
    else:
        click.echo((markdown if form == "markdown" else latex)(parts), nl=False)


def output_options(plot: str | None, out: str, *, columns: str = COLUMNS) -> Callable[[Command], Command]:
    """The options ``--json``, ``--format``, ``--columns``, ``--plot``, and ``--out``; the command takes an `Output`.

    Args:
        plot: Help of ``--plot``; None for a command without it.
        out: Help of ``--out``.
        columns: Help of ``--columns``.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def call(*arguments: object, **given: object) -> object:
            columns, style = given.pop("columns"), given.pop("style", None)
            if style is not None and given["plot_file"] is None:
                raise click.UsageError("--style requires --plot")
            output = Output(
                str(given.pop("form")),
                words(str(columns)) if columns is not None else None,
                cast("str | None", given.pop("plot_file", None)),
                cast("str | None", given.pop("out")),
                cast("Style", style or "screen"),
            )
            return command(*arguments, output=output, **given)

        call = format_options(call)
        options = [
            click.option("--columns", metavar="M,M", help=columns),
            *([click.option("--plot", "plot_file", metavar="FILE", help=plot), style_option] if plot else []),
            click.option("--out", metavar="DIR", help=out),
        ]
        for option in reversed(options):
            call = option(call)
        return cast("Command", call)

    return decorate


class Placement(TypedDict, total=False):
    """Where runs are made; options of all experiments."""

    workers: int | None
    dask: str | None
    memory: str | None


workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Concurrent runs; default: one per core."
)

dask_option = click.option(
    "--dask", metavar="ADDRESS", help="Run on the cluster of this Dask scheduler, e.g. tcp://scheduler:8786."
)


def _checked_memory(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    if text is not None:
        parse_bytes(text)
    return text


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_checked_memory,
    help="Memory of all concurrent runs of the simulator, e.g. '8 GB'; default: half of the free memory.",
)


def placement(command: Command) -> Command:
    """The options ``--workers``, ``--dask``, and ``--memory``; the command takes a `Placement`."""

    @wraps(command)
    def call(*arguments: object, **given: object) -> object:
        place = {name: given.pop(name) for name in ("workers", "dask", "memory")}
        if place["dask"] is not None and place["workers"] is not None:
            raise click.UsageError("--workers conflicts with --dask: the cluster has its own workers")
        return command(*arguments, place=place, **given)

    return cast("Command", workers_option(dask_option(memory_option(call))))


def engine_options(default: str, help_text: str) -> Callable[[Command], Command]:
    """The options ``--engine`` and ``--kernel``."""
    engine = click.option("--engine", default=default, show_default=True, metavar="ENGINE", help=help_text)
    return lambda command: engine(kernel_option(command))
