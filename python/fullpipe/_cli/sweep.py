"""``fullpipe sweep``."""

from __future__ import annotations

from pathlib import Path

import click

from fullpipe._cli.output import (
    check_targets,
    json_option,
    memory_option,
    note,
    print_json,
    progress_bar,
    resumable,
    show,
    workers_option,
)
from fullpipe._cli.scenarios import changing, named, scenario_options, text_of
from fullpipe._util.text import file_name
from fullpipe.experiments.sweep import Sweep, read_plan, sweep_plan
from fullpipe.experiments.sweep.axes import find_axis, find_value
from fullpipe.runs.figures import find_figure

__all__ = ["command"]


@click.command("sweep")
@scenario_options
@json_option
@click.option("--out", metavar="DIR", help="Keep rows in DIR as they come; started again, a sweep goes on from there.")
@workers_option()
@memory_option
@click.option("--dask", metavar="ADDRESS", help="Run on the cluster of this Dask scheduler, e.g. tcp://scheduler:8786.")
@click.option("--versus", metavar="VALUE", help="Print the differences from this value of an axis too, e.g. newreno.")
@click.option("--plot", nargs=2, metavar="X Y", help="Draw the figure Y against the axis X, e.g. buffer utilization.")
@click.option("--by", metavar="Z", help="A line for each value of the axis Z; default: of all other axes.")
@click.option("--picture", metavar="FILE", help="Where the picture goes; default: Y-X.png in DIR, or here.")
@click.pass_context
def command(
    context: click.Context,
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    as_json: bool,
    out: str | None,
    workers: int | None,
    memory_bytes: int | None,
    dask: str | None,
    versus: str | None,
    plot: tuple[str, str] | None,
    by: str | None,
    picture: str | None,
) -> None:
    """Run the scenario in FILE with every combination of the values in its [sweep] table.

    Exit status 1 if a run fails.
    """
    with progress_bar(file, "values checked") as checked:
        plan = read_plan(text_of(file), file=named(file), change=changing(settings, duration), progress=checked)
    if plot is None and (by is not None or picture is not None):
        raise click.UsageError("--by and --picture need --plot X Y")
    if dask is not None and workers is not None:
        raise click.UsageError("--workers counts runs on this machine; with --dask the cluster has its own")
    if versus is not None:
        find_value(plan.axes, versus)
    if plot is not None:
        find_figure(plot[1])
        plot = find_axis(plan.axes, plot[0]).path, plot[1]
        by = None if by is None else find_axis(plan.axes, by).path
        name = file_name(f"{plot[1]}-{plot[0].rpartition('.')[2]}")
        here = str(Path(out or ".", f"{name}.png"))
        check_targets(picture or (here if out is None else None), out, goes_on=True)
        picture = picture or here
    check_targets(None, out, goes_on=True)
    with resumable(context, out), progress_bar(file, "runs") as progress:
        outcome = sweep_plan(plan, out=out, workers=workers, client=dask, progress=progress, memory_bytes=memory_bytes)
    if as_json:
        print_json(outcome.to_json())
    else:
        _print(outcome, versus)
    if plot is not None and outcome.failed < plan.runs:
        outcome.plot(*plot, by=by, path=picture)
    if outcome.failed:
        again = "" if out is None else "; started again, they are tried again"
        note(f"{_failures(outcome)}{again}")
        context.exit(1)


def _failures(outcome: Sweep) -> str:
    """How many runs failed, and why the first of them did."""
    run, why = next(
        (row["run"], row["error"]) for row in outcome.table.select(["run", "error"]).to_pylist() if row["error"]
    )
    return f"{outcome.failed} of {outcome.plan.runs} runs failed, run {run}: {why}"


def _print(outcome: Sweep, versus: str | None = None) -> None:
    show(outcome.shown(versus))
