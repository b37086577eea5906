"""``fullpipe advise``."""

from __future__ import annotations

import click

from fullpipe._cli.completion import files
from fullpipe._cli.output import progress_bar, resumable, warn, words
from fullpipe._cli.results import Output, Placement, output_options, placement
from fullpipe._cli.scenarios import change_options, changing, load
from fullpipe.errors import InputError
from fullpipe.experiments.advise import advise
from fullpipe.experiments.advise.mixes import USERS
from fullpipe.experiments.advise.mixes import mix as mix_of
from fullpipe.experiments.advise.services import services_of

__all__ = ["command"]


@click.command("advise")
@click.argument("file", required=False, shell_complete=files)
@change_options
@click.option("--rate", metavar="RATE", help="Rate of your link instead of FILE, e.g. '50 Mbit/s'.")
@click.option("--rtt", metavar="TIME", help="Base RTT with --rate, e.g. '40 ms'; default: that of the mix.")
@click.option(
    "--users",
    type=int,
    metavar="N",
    help="Users with --rate: people, customers (pon), or flows (backbone, rack); default: as in the mix.",
)
@click.option(
    "--mix",
    metavar="NAME",
    help=f"Traffic with --rate: {', '.join(USERS)}; default: home. "
    "'branch' is an office with calls, and 'pon' the customers on one fiber.",
)
@click.option("--buffer", metavar="SIZE", help="Buffer as it is with --rate, e.g. '100 ms' or '1000 packets'.")
@click.option("--queues", metavar="A,B", help="Queues to compare, separated by commas, e.g. drop-tail,fq-codel.")
@click.option("--link", metavar="NAME", help="Link whose queue is chosen; default: bottleneck, or the first link.")
@click.option("--seeds", type=int, default=5, show_default=True, metavar="N", help="Runs of each queue, 2 to 1000.")
@placement
@output_options(
    "Plot a delay against a rate, with a mark per queue, into FILE (.png, .svg or .pdf).",
    "Write advice.json and Parquet tables into DIR. A re-run continues an earlier one.",
)
def command(
    file: str | None,
    settings: tuple[str, ...],
    duration: str | None,
    rate: str | None,
    rtt: str | None,
    users: int | None,
    mix: str | None,
    buffer: str | None,
    queues: str | None,
    link: str | None,
    seeds: int,
    place: Placement,
    output: Output,
) -> int:
    """Compare queueing disciplines for the traffic of the scenario in FILE, and recommend one. Instead of FILE, --rate
    with --rtt, --users, and --mix makes a scenario from a ready mix of traffic.

    Each group of flows has the metric that its users notice: p99 delay of frames, rebuffer ratio of videos, completion
    time of web transfers and requests, goodput of downloads. The last lines are the recommendation: the queue with a
    line for tc, its cost, its certainty, and the assumptions.
    """
    of_link = {"--rtt": rtt, "--users": users, "--mix": mix, "--buffer": buffer}
    if rate is None:
        if file is None:
            raise InputError("requires FILE or --rate, e.g. fullpipe advise --rate '50 Mbit/s'")
        for option, value in of_link.items():
            if value is not None:
                raise InputError(f"{option} requires --rate")
        scenario = load(file, settings, duration)
    else:
        if file is not None:
            raise InputError("--rate conflicts with FILE")
        made = mix_of(rate, rtt=rtt, users=users, name="home" if mix is None else mix, buffer=buffer)
        scenario = changing(settings, duration)(made)
    services = services_of(scenario) if output.columns else ()
    output = output.check(scenario, more=[each.column for each in services], continues=True)
    warn(scenario)
    with resumable(click.get_current_context(), output.out), progress_bar(file or "advise", "runs") as progress:
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
