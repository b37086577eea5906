"""``fullpipe sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fullpipe.cli.output import check_targets, json_option, memory_option, note, print_json, print_table, progress_bar
from fullpipe.runs.figures import find_figure
from fullpipe.study.sweep import Sweep, load_plan, sweep_plan
from fullpipe.study.sweep.axes import find_axis
from fullpipe.text import file_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["command"]

MOST_POINTS = 60
"""Combinations listed in the table."""


@click.command("sweep")
@click.argument("file")
@json_option
@click.option("--out", metavar="DIR", help="Keep rows in DIR as they come; started again, a sweep goes on from there.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Runs at a time; default: one a core.")
@memory_option
@click.option("--dask", metavar="ADDRESS", help="Run on the cluster of this Dask scheduler, e.g. tcp://scheduler:8786.")
@click.option("--plot", nargs=2, metavar="X Y", help="Draw the figure Y against the axis X, e.g. buffer utilization.")
@click.option("--by", metavar="Z", help="A line for each value of the axis Z; default: of all other axes.")
@click.option("--picture", metavar="FILE", help="Where the picture goes; default: Y-X.png in DIR, or here.")
@click.pass_context
def command(
    context: click.Context,
    file: str,
    as_json: bool,
    out: str | None,
    workers: int | None,
    memory_bytes: int | None,
    dask: str | None,
    plot: tuple[str, str] | None,
    by: str | None,
    picture: str | None,
) -> None:
    """Run the scenario in FILE with every combination of the values in its [sweep] table.

    Exit status 1 if a run fails.
    """
    with progress_bar(file, "values checked") as checked:
        plan = load_plan(file, progress=checked)
    if plot is None and (by is not None or picture is not None):
        raise click.UsageError("--by and --picture need --plot X Y")
    if dask is not None and workers is not None:
        raise click.UsageError("--workers counts runs on this machine; with --dask the cluster has its own")
    if plot is not None:
        find_figure(plot[1])
        plot = find_axis(plan.axes, plot[0]).path, plot[1]
        by = None if by is None else find_axis(plan.axes, by).path
        name = file_name(f"{plot[1]}-{plot[0].rpartition('.')[2]}")
        here = str(Path(out or ".", f"{name}.png"))
        check_targets(picture or (here if out is None else None), out)
        picture = picture or here
    check_targets(None, out)
    try:
        with progress_bar(file, "runs") as progress:
            outcome = sweep_plan(
                plan, out=out, workers=workers, client=dask, progress=progress, memory_bytes=memory_bytes
            )
    except KeyboardInterrupt:
        if out is None:
            raise
        note(f"interrupted; finished runs are in {out}: start again to go on")
        context.exit(130)
    if as_json:
        print_json(outcome.to_json())
    else:
        _print(outcome)
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


def _print(outcome: Sweep) -> None:
    rows = outcome.summary.slice(0, MOST_POINTS).to_pylist()
    axes = [axis.path for axis in outcome.plan.axes]
    endings = [axis.rpartition(".")[2] for axis in axes]
    headings = [end if endings.count(end) == 1 else axis for axis, end in zip(axes, endings, strict=True)]
    known = outcome.summary.column_names
    figures = [
        figure for figure in FIGURES if f"{figure}_mean" in known and (figure != "marked_packets" or _marked(outcome))
    ]
    count = len(outcome.summary)
    more = f", the first {MOST_POINTS} of {count} combinations" if count > MOST_POINTS else ""
    repeats = outcome.plan.repeats
    title = f"Means over {repeats} seeds and their 95 % confidence intervals{more}" if repeats > 1 else more[2:]
    print_table(
        title,
        (*headings, *(FIGURES[figure][0] for figure in figures), *(["failed"] if outcome.failed else [])),
        [
            (
                *(str(row[axis]) for axis in axes),
                *(_estimate(row, figure) for figure in figures),
                *([str(row["failed"])] if outcome.failed else []),
            )
            for row in rows
        ],
        left=max(1, len(axes)),
    )


FIGURES: dict[str, tuple[str, float, str]] = {
    "utilization": ("utilization", 1.0, ".4f"),
    "loss_rate": ("loss, %", 100.0, ".4f"),
    "marked_packets": ("marked", 1.0, ",.0f"),
    "mean_queue_packets": ("queue, packets", 1.0, ",.1f"),
    "goodput_bps": ("goodput, Mbit/s", 1e-6, ",.2f"),
    "mean_rtt_s": ("rtt, ms", 1e3, ",.1f"),
    "jain_index": ("Jain", 1.0, ".3f"),
}
"""The figures shown: their headings, scales and formats; marks where there are any."""


def _marked(outcome: Sweep) -> bool:
    """Whether any run had a packet marked."""
    return any(outcome.table["marked_packets"].to_pylist())


def _estimate(row: Mapping[str, Any], figure: str) -> str:
    _, scale, form = FIGURES[figure]
    mean, ci = row[f"{figure}_mean"], row[f"{figure}_ci95"]
    if mean is None:
        return "-"
    return f"{mean * scale:{form}}" if ci is None else f"{mean * scale:{form}} ± {ci * scale:{form}}"
