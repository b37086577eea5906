"""``fullpipe duel``."""

from __future__ import annotations

import click

from fullpipe._cli.output import (
    algorithms_in,
    algorithms_option,
    check_targets,
    deliver,
    json_option,
    memory_option,
    progress_bar,
    resumable,
    show,
    warn,
    words,
    workers_option,
)
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.experiments.duel import Duel, duel

__all__ = ["command"]


@click.command("duel")
@scenario_options
@algorithms_option("A,B", "The two algorithms, separated by a comma.")
@click.option("--buffers", metavar="B,B", help="Buffers of the bottleneck, e.g. '0.1 BDP,1 BDP'; default: its own.")
@click.option("--seeds", type=int, default=5, show_default=True, metavar="N", help="Runs of each mix, 2 to 1000.")
@workers_option()
@memory_option
@json_option
@click.option("--plot", metavar="FILE", help="Draw harm against buffers into FILE (.png, .svg or .pdf).")
@click.option(
    "--out", metavar="DIR", help="Write duel.json and Parquet tables into DIR; started again, a duel continues."
)
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    algorithms: str,
    buffers: str | None,
    seeds: int,
    workers: int | None,
    memory_bytes: int | None,
    as_json: bool,
    plot: str | None,
    out: str | None,
) -> None:
    """Set two algorithms against each other in the scenario in FILE: each alone, half and half, one among many."""
    names = algorithms_in(algorithms)
    scenario = load(file, settings, duration)
    check_targets(plot, out)
    warn(scenario)
    with resumable(click.get_current_context(), out), progress_bar(file, "runs") as progress:
        outcome = duel(
            scenario,
            names,
            buffers=None if buffers is None else words(buffers),
            seeds=seeds,
            workers=workers,
            memory_bytes=memory_bytes,
            out=out,
            progress=progress,
        )
    deliver(outcome, _print, as_json=as_json, plot=plot, out=None)


def _print(outcome: Duel) -> None:
    show(outcome.shown())
