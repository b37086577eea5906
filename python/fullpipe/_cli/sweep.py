"""``fullpipe sweep``."""

from __future__ import annotations

import click

from fullpipe._cli.output import note, progress_bar, resumable
from fullpipe._cli.results import Output, Placement, engine_options, output_options, placement
from fullpipe._cli.scenarios import changing, named, scenario_options, text_of
from fullpipe.engine.options import RunOptions
from fullpipe.experiments.failures import failures_line
from fullpipe.experiments.sweep import read_plan, sweep_plan
from fullpipe.experiments.sweep.axes import find_axis, find_value
from fullpipe.runs.engines import ENGINES
from fullpipe.runs.figures import find_metric

__all__ = ["command"]


@click.command("sweep")
@scenario_options
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Runs of each combination; default: the file's.")
@click.option("--versus", metavar="VALUE", help="Also print the differences from this value of an axis, e.g. newreno.")
@click.option("--x", metavar="AXIS", help="Horizontal axis of --plot; default: the first axis.")
@click.option("--y", metavar="METRIC", help="Vertical axis of --plot.  [default: goodput_bps]")
@click.option("--by", metavar="AXIS", help="A line of --plot for each value of this axis; default: of all other axes.")
@engine_options(ENGINES[0], f"Engine that runs the scenarios: {' or '.join(ENGINES)}.")
@placement
@output_options(
    "Plot a metric against an axis into FILE (.png, .svg or .pdf).",
    "Write each row into DIR when its run ends; a re-run continues an earlier one.",
)
@click.pass_context
def command(
    context: click.Context,
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    seeds: int | None,
    versus: str | None,
    x: str | None,
    y: str | None,
    by: str | None,
    engine: str,
    kernel: str | None,
    output: Output,
    place: Placement,
) -> None:
    """Run the scenario in FILE with every combination of the values in its [sweep] table.

    Exit status 1 if a run fails.
    """
    change = changing(settings, duration)
    with progress_bar(file, "values checked") as checked:
        details = output.out is not None  # only the files have rows of flows and links
        plan = read_plan(text_of(file), file=named(file), change=change, seeds=seeds, details=details, progress=checked)
    if output.plot is None and (x, y, by) != (None, None, None):
        raise click.UsageError("--x, --y, and --by require --plot")
    if versus is not None:
        find_value(plan.axes, versus)
    if y is not None:
        find_metric(y)
    for name in (x, by):
        if name is not None:
            find_axis(plan.axes, name)
    output = output.check(plan.scenario, continues=True)
    with resumable(context, output.out), progress_bar(file, "runs") as progress:
        outcome = sweep_plan(plan, RunOptions(progress=progress, **place), engine=engine, kernel=kernel, out=output.out)
    output.print(outcome, outcome.shown(output.columns, versus))
    if output.plot is not None and outcome.failed < plan.runs:
        outcome.plot(output.plot, x=x, metric=y or "goodput_bps", by=by)
    if outcome.failed:
        again = "" if output.out is None else "; a re-run tries them again"
        note(f"{failures_line(outcome)}{again}")
        context.exit(1)
