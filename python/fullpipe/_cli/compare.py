"""``fullpipe compare``."""

from __future__ import annotations

import click

from fullpipe._cli.output import (
    algorithms_in,
    algorithms_option,
    check_targets,
    deliver,
    json_option,
    kernel_option,
    memory_option,
    plot_option,
    progress_bar,
    show,
    warn,
    warn_otherwise,
    words,
)
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.experiments.compare import MOST_SEEDS, Comparison, compare
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


@click.command("compare")
@scenario_options
@algorithms_option(
    "A,B,C",
    "The algorithms, separated by commas; default, where there are several engines: the scenario's own.",
    required=False,
)
@click.option(
    "--engine",
    "engines",
    default=ENGINES[0],
    show_default=True,
    metavar="ENGINE[,ENGINE]",
    help=f"What runs the scenario: {' or '.join(ENGINES)}, or both.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help="Runs of each algorithm; default: 5 where anything is random, 1 with the engine linux.",
)
@kernel_option
@memory_option
@json_option
@plot_option
@click.option("--out", metavar="DIR", help="Write comparison.json, a Parquet table and each run's files into DIR.")
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    algorithms: str | None,
    engines: str,
    seeds: int | None,
    kernel: str | None,
    memory_bytes: int | None,
    as_json: bool,
    plot: str | None,
    out: str | None,
) -> None:
    """Run the scenario in FILE with several algorithms, or on several engines. All flows use one algorithm at a
    time.
    """
    names = None if algorithms is None else algorithms_in(algorithms)
    scenario = load(file, settings, duration)
    check_targets(plot, out)
    warn(scenario)
    with progress_bar(file) as progress:
        comparison = compare(
            scenario,
            names,
            seeds=seeds,
            engine=words(engines),
            progress=progress,
            kernel=kernel,
            memory_bytes=memory_bytes,
        )
    warn_otherwise(scenario, comparison.results.values())
    deliver(comparison, _print, as_json=as_json, plot=plot, out=out)


def _print(comparison: Comparison) -> None:
    show(comparison.shown())
