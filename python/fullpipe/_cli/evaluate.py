"""``fullpipe evaluate``."""

from __future__ import annotations

from typing import Any

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import (
    algorithm_in,
    check_targets,
    declared,
    json_option,
    memory_option,
    print_json,
    progress_bar,
    show,
    words,
)
from fullpipe.experiments.evaluate import PROFILES, Statement, evaluate, plan
from fullpipe.runs.cluster import check_scheduler
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


def asked(context: click.Context, parameter: click.Parameter, text: str) -> str | None:
    """The algorithm's name; what was typed is remembered for the commands on the card."""
    context.meta["fullpipe.asked"] = text
    return declared(context, parameter, text)


@click.command("evaluate")
@click.argument("algorithm", shell_complete=complete.algorithms, callback=asked)
@click.option(
    "--profile", type=click.Choice(list(PROFILES)), default="quick", show_default=True, help="How much is run."
)
@click.option("--only", metavar="S,S", help="Sections of RFC 9743 or cells, e.g. '5.1.2,duel'.")
@click.option("--seeds", type=int, metavar="N", help="Runs of each, 2 to 1000; default: the profile's.")
@click.option("--jobs", "workers", type=click.IntRange(min=1), metavar="N", help="Runs at a time; default: one a core.")
@click.option("--dask", metavar="ADDRESS", help="Run on the cluster of this Dask scheduler, e.g. tcp://scheduler:8786.")
@click.option("--statement", metavar="FILE.toml", help="What the authors state of sections that no run can answer.")
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    default="simulator",
    show_default=True,
    help="linux: duel, bloat and shallow up to 50 Mbit/s on a real kernel too.",
)
@click.option("--dry-run", is_flag=True, help="Say how many runs that are, and about how long they take; run nothing.")
@click.option("--strict", is_flag=True, help="Exit status 1 where any word is 'worse'.")
@memory_option
@json_option
@click.option("--out", metavar="DIR", help="Write card.json, card.html, runs.parquet and the scenarios into DIR.")
def command(
    algorithm: str,
    profile: str,
    only: str | None,
    seeds: int | None,
    workers: int | None,
    dask: str | None,
    statement: str | None,
    engine: str,
    dry_run: bool,
    strict: bool,
    memory_bytes: int | None,
    as_json: bool,
    out: str | None,
) -> int:
    """Judge ALGORITHM after RFC 9743: a word per criterion, in each figure relative to the less favourable of NewReno
    and CUBIC.

    ALGORITHM is a name, a table such as '{ name = "vegas", alpha = 2 }', FILE.py or FILE.py:CLASS for what that file
    declares, or FILE.o for the kernel's.
    """
    check_targets(None, out)
    if dask is not None and workers is not None:
        raise click.UsageError("--jobs counts runs on this machine; with --dask the cluster has its own")
    said = None if statement is None else Statement.load(statement)
    chosen: dict[str, Any] = {
        "algorithm": algorithm_in(algorithm.strip()),
        "profile": profile,
        "only": None if only is None else words(only),
        "seeds": seeds,
        "statement": said,
        "engine": engine,
    }
    if dry_run:
        if dask is not None:
            check_scheduler(dask)
        needed = plan(**chosen)
        if as_json:
            print_json(needed.to_json())
        else:
            show(needed.shown())
        return 0
    with progress_bar("evaluate", "runs") as progress:
        card = evaluate(
            **chosen,
            workers=workers,
            dask=dask,
            memory_bytes=memory_bytes,
            progress=progress,
            called=click.get_current_context().meta["fullpipe.asked"],
        )
    if out is not None:
        card.save(out)
    if as_json:
        print_json(card.to_json())
    else:
        show(card.shown())
    return 1 if strict and card.worse else 0
