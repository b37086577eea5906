"""``fullpipe reproduce``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fullpipe.cli.output import json_option, print_json, print_table, progress_bar
from fullpipe.files import check_directory
from fullpipe.papers import Check, Outcome, reproduce, select

__all__ = ["command"]


@click.command("reproduce")
@click.argument("item", required=False, metavar="[PAPER[/ITEM]]")
@click.option("--list", "only_list", is_flag=True, help="List the items and run nothing.")
@json_option
@click.option("--out", metavar="DIR", help="Write figures, pictures and results into DIR/PAPER/ITEM.")
@click.pass_context
def command(context: click.Context, item: str | None, only_list: bool, as_json: bool, out: str | None) -> None:
    """Reproduce the papers' tables and figures: all, one paper's, or one. Exit status 1 if a check misses."""
    chosen = select(item)
    if only_list:
        return print_table("", ("item", "shows"), [(each.id, each.title) for each in chosen], left=2)
    if out is not None:
        check_directory(out)
    outcomes = []
    for each in chosen:
        with progress_bar(each.id) as progress:
            outcome = reproduce(each, progress=progress)
        if out is not None:
            outcome.save(Path(out, each.id))
        if not as_json:
            _print(outcome)
        outcomes.append(outcome)
    if as_json:
        print_json(json.dumps({"items": [outcome.to_dict() for outcome in outcomes]}, indent=2, allow_nan=False))
    if out is not None:
        click.echo(f"Pictures and results are in {out}", err=True)
    if not all(outcome.passed for outcome in outcomes):
        context.exit(1)
    return None


def _print(outcome: Outcome) -> None:
    print_table(
        f"{outcome.item.id}: {outcome.item.title}",
        ("quantity", "published", "measured", "difference", "tolerance", "", "origin"),
        [_row(check) for check in outcome.checks],
    )
    missed = sum(not check.passed for check in outcome.checks)
    verdict = f"{missed} of {len(outcome.checks)} checks missed" if missed else f"all {len(outcome.checks)} checks pass"
    click.echo(f"{outcome.item.id}: {verdict}; {outcome.wall_s:.1f} s")


def _row(check: Check) -> tuple[str, ...]:
    digits = 2 if check.name.endswith("%") else 3
    return (
        check.name,
        f"{check.published:.{digits}f}",
        f"{check.measured:.{digits + 1}f}",
        f"{check.difference:+.{digits + 1}f}",
        f"{check.tolerance:.{digits}f}",
        "pass" if check.passed else "MISS",
        check.origin,
    )
