"""``fullpipe duel``."""

from __future__ import annotations

from dataclasses import replace

import click

from fullpipe._cli.output import algorithms_in, algorithms_option, progress_bar, resumable, warn, words
from fullpipe._cli.results import Output, Placement, engine_options, output_options, placement
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.experiments.duel import duel, labels_of
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


@click.command("duel")
@scenario_options
@algorithms_option("A,B", "The two algorithms, separated by a comma.")
@click.option("--buffers", metavar="B,B", help="Buffers of the bottleneck, e.g. '0.1 BDP,1 BDP'; default: its own.")
@click.option("--seeds", type=int, default=5, show_default=True, metavar="N", help="Runs of each mix, 2 to 1000.")
@engine_options(ENGINES[0], f"Engine that runs the scenario: {' or '.join(ENGINES)}.")
@placement
@output_options(
    "Plot harm against buffers into FILE (.png, .svg or .pdf).",
    "Write duel.json and Parquet tables into DIR; a re-run continues an earlier one.",
)
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    algorithms: str,
    buffers: str | None,
    seeds: int,
    engine: str,
    kernel: str | None,
    output: Output,
    place: Placement,
) -> int:
    """Let two algorithms compete in the scenario in FILE: alone (solo), with half of the flows each
    (n/2 : n/2), and one flow against all others (1 vs n-1).

    Exit status 1 if a run fails.
    """
    names = algorithms_in(algorithms)
    scenario = load(file, settings, duration)
    if output.columns is not None:
        shares = [f"groups.{label}.share" for label in labels_of(names)]
        output = replace(
            output,
            columns=[each for name in output.columns for each in (shares if name == "share" else [name])],
        )
    output = output.check(scenario, groups=False)
    warn(scenario)
    with resumable(click.get_current_context(), output.out), progress_bar(file, "runs") as progress:
        outcome = duel(
            scenario,
            names,
            buffers=None if buffers is None else words(buffers),
            seeds=seeds,
            engine=engine,
            kernel=kernel,
            out=output.out,
            progress=progress,
            **place,
        )
    return output.deliver(outcome, saved=True)
