"""``fullpipe compare``."""

from __future__ import annotations

import click

from fullpipe._cli.output import algorithms_in, algorithms_option, progress_bar, warn, warn_otherwise, words
from fullpipe._cli.results import Output, Placement, engine_options, output_options, placement
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.experiments.compare import compare
from fullpipe.runs.design import MOST_SEEDS
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


@click.command("compare")
@scenario_options
@algorithms_option(
    "A,B,C",
    "The algorithms, separated by commas; default with several engines: the scenario's algorithms.",
    required=False,
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help="Runs of each algorithm; default: 5 where anything is random, 1 with the engine linux.",
)
@click.option("--baseline", metavar="ALGORITHM", help="Also print the differences from this algorithm.")
@engine_options(ENGINES[0], f"Engine that runs the scenario: {' or '.join(ENGINES)}, or both with a comma.")
@placement
@output_options(
    "Plot the series of the first seed into FILE (.png, .svg or .pdf).",
    "Write comparison.json, Parquet tables, and the files of the first seed's runs into DIR.",
)
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    algorithms: str | None,
    seeds: int | None,
    baseline: str | None,
    engine: str,
    kernel: str | None,
    output: Output,
    place: Placement,
) -> int:
    """Run the scenario in FILE with several algorithms, or on several engines. All flows use one algorithm at a
    time. Exit status 1 if a run fails.
    """
    names = None if algorithms is None else algorithms_in(algorithms)
    scenario = load(file, settings, duration)
    output = output.check(scenario)
    warn(scenario)
    with progress_bar(file, "runs") as progress:
        comparison = compare(
            scenario, names, seeds=seeds, engine=words(engine), kernel=kernel, progress=progress, **place
        )
    warn_otherwise(scenario, comparison.results.values())
    parts = comparison.shown(output.columns)
    if baseline is not None:
        parts += comparison.shown_differences(baseline, output.columns)
    return output.deliver(comparison, parts=parts)
