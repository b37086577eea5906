"""``fullpipe advise``."""

from __future__ import annotations

import click

from fullpipe._cli.output import progress_bar, resumable, warn, words
from fullpipe._cli.results import Output, Placement, output_options, placement
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.experiments.advise import advise
from fullpipe.experiments.advise.services import services_of

__all__ = ["command"]


@click.command("advise")
@scenario_options
@click.option("--queues", metavar="A,B", help="Queues to compare, separated by commas, e.g. drop-tail,fq-codel.")
@click.option("--link", metavar="NAME", help="Link whose queue is chosen; default: bottleneck, or the first link.")
@click.option("--seeds", type=int, default=5, show_default=True, metavar="N", help="Runs of each queue, 2 to 1000.")
@placement
@output_options(
    "Plot a delay against a rate, with a mark per queue, into FILE (.png, .svg or .pdf).",
    "Write advice.json and Parquet tables into DIR. A re-run continues an earlier one.",
)
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    queues: str | None,
    link: str | None,
    seeds: int,
    place: Placement,
    output: Output,
) -> int:
    """Compare queues for the traffic of the scenario in FILE, and recommend one.

    Each group of flows has the metric that its users notice: p99 delay of frames, rebuffer ratio of videos, completion
    time of web transfers and requests, goodput of downloads. The last lines are the recommendation: the queue with a
    line for tc, its cost, its certainty, and the assumptions.
    """
    scenario = load(file, settings, duration)
    services = services_of(scenario) if output.columns else ()
    output = output.check(scenario, more=[each.column for each in services], continues=True)
    warn(scenario)
    with resumable(click.get_current_context(), output.out), progress_bar(file, "runs") as progress:
        advice = advise(
            scenario,
            queues=None if queues is None else words(queues),
            link=link,
            seeds=seeds,
            out=output.out,
            progress=progress,
            **place,
        )
    return output.deliver(advice, saved=True)
