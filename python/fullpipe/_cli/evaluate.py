"""``fullpipe evaluate``."""

from __future__ import annotations

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import algorithm_in, declared, print_json, progress_bar, show, words
from fullpipe._cli.results import Output, Placement, output_options, placement
from fullpipe.experiments.evaluate import PROFILES, Statement, evaluate, plan
from fullpipe.experiments.evaluate.running import metrics_of
from fullpipe.runs.cluster import check_scheduler
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


def asked(context: click.Context, parameter: click.Parameter, text: str) -> str | None:
    """Name of the algorithm. The text of the argument is kept for the commands on the card."""
    context.meta["fullpipe.asked"] = text
    return declared(context, parameter, text)


@click.command("evaluate")
@click.argument("algorithm", shell_complete=complete.algorithms, callback=asked)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="Number of test cases, configurations, and seeds.",
)
@click.option("--only", metavar="S,S", help="Sections of RFC 9743 or test cases, e.g. '5.1.2,duel'.")
@click.option(
    "--seeds", type=int, metavar="N", help="Runs of each configuration, 2 to 1000; default: those of the profile."
)
@click.option("--statement", metavar="FILE.toml", help="Authors' statements for sections that no run can answer.")
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    default="simulator",
    show_default=True,
    help="With linux, also run duel, bloat, and shallow up to 50 Mbit/s on a real kernel.",
)
@click.option("--dry-run", is_flag=True, help="Print the number of runs and the estimated time, then exit.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if any verdict is 'worse'.")
@placement
@output_options(
    "Plot the comparison that decides each criterion into FILE (.png, .svg or .pdf).",
    "Write card.json, card.html, runs.parquet, and the scenarios into DIR.",
)
def command(
    algorithm: str,
    profile: str,
    only: str | None,
    seeds: int | None,
    statement: str | None,
    engine: str,
    dry_run: bool,
    strict: bool,
    output: Output,
    place: Placement,
) -> int:
    """Evaluate ALGORITHM by RFC 9743: a verdict per criterion. For each metric, the baseline is the one of NewReno
    and CUBIC with the worse mean. Exit status 1 if a run fails.

    ALGORITHM is a name, a table such as '{ name = "vegas", alpha = 2 }', FILE.py or FILE.py:CLASS for a custom
    algorithm, FILE.so or FILE.so:NAME for a controller of a shared library, or FILE.o for a kernel object file.
    """
    parts = None if only is None else words(only)
    said = None if statement is None else Statement.load(statement)
    candidate = algorithm_in(algorithm.strip())
    known = metrics_of(candidate, profile=profile, only=parts, statement=said) if output.columns else ()
    output.check(more=known)
    if dry_run:
        if place["dask"] is not None:
            check_scheduler(place["dask"])
        needed = plan(candidate, profile=profile, only=parts, seeds=seeds, statement=said, engine=engine)
        if output.format == "json":
            print_json(needed.to_json())
        else:
            show(needed.shown())
        return 0
    called = click.get_current_context().meta["fullpipe.asked"]
    with progress_bar("evaluate", "runs") as progress:
        card = evaluate(
            candidate,
            profile=profile,
            only=parts,
            seeds=seeds,
            statement=said,
            engine=engine,
            progress=progress,
            called=called,
            **place,
        )
    failed = output.deliver(card)
    return 1 if failed or (strict and card.worse) else 0
