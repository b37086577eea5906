"""``fullpipe reproduce``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import (
    code_of_others,
    json_option,
    kernel_option,
    note,
    print_json,
    print_table,
    progress_bar,
)
from fullpipe._util.files import check_directory
from fullpipe.papers import select
from fullpipe.reproduce import Check, Outcome, Shape, reproduce_all
from fullpipe.reproduce.report import write_report
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]

VERDICTS = {"pass": "pass", "documented miss": "known discrepancy", "fail": "DISCREPANCY"}


@click.command("reproduce")
@click.argument("item", required=False, metavar="[PAPER[/ITEM]]", shell_complete=complete.items)
@click.option(
    "--paper",
    "papers",
    multiple=True,
    metavar="DIR",
    help="Directory of your own paper. Without PAPER or ITEM, all its results.",
)
@click.option("--list", "only_list", is_flag=True, help="List the results and exit.")
@click.option("--quick", is_flag=True, help="Shorten the runs. The output states the changes.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Engine that runs the scenarios.",
)
@kernel_option
@json_option
@click.option(
    "--out",
    metavar="DIR",
    help="Write the report into DIR and each result into DIR/PAPER/ITEM. Finished results are cached.",
)
@click.pass_context
def command(
    context: click.Context,
    item: str | None,
    papers: tuple[str, ...],
    only_list: bool,
    quick: bool,
    engine: str,
    kernel: str | None,
    as_json: bool,
    out: str | None,
) -> None:
    """Reproduce tables and figures of papers: all, those of a paper, or one.

    With --out, a result in DIR is cached: it runs again only if the program or its scenarios changed. The exit status
    is 1 if a check fails and the cause is not known.
    """
    with code_of_others():
        chosen = select(item, papers)
    if only_list:
        return print_table("", ("item", "shows"), [(each.id, each.title) for each in chosen], left=2)
    if out is not None:
        check_directory(out)
    outcomes = []
    label = f"{len(chosen)} items" if len(chosen) > 1 else chosen[0].id
    with progress_bar(label, prints=not as_json) as progress:
        for outcome in reproduce_all(chosen, quick=quick, out=out, progress=progress, engine=engine, kernel=kernel):
            if not as_json:
                _print(outcome)
            outcomes.append(outcome)
    if as_json:
        print_json(json.dumps({"items": [outcome.to_dict() for outcome in outcomes]}, indent=2, allow_nan=False))
    elif len(outcomes) > 1:
        _print_summary(outcomes)
    if out is not None:
        report = write_report(outcomes, out, command=shlex.join(["fullpipe", *sys.argv[1:]]))
        note(f"wrote the report {report}, with scenarios, results, and plots in its directory")
    if any(outcome.status == "fail" for outcome in outcomes):
        context.exit(1)
    return None


def _print(outcome: Outcome) -> None:
    print_table(
        f"{outcome.item.id}: {outcome.item.title}",
        ("quantity", "published", "measured", "difference", "tolerance", "", "origin"),
        [row(check, outcome.rows.intervals) for check in outcome.checks],
    )
    for cause in dict.fromkeys(check.miss for check in outcome.checks if check.status == "documented miss"):
        click.echo(f"cause of a known discrepancy: {cause}")
    if outcome.shortened:
        click.echo(f"{'Linux' if outcome.engine == 'linux' else 'quick'}: {outcome.shortened}")
    kept = "; kept from an earlier run" if outcome.kept else ""
    click.echo(f"{outcome.item.id}: {_verdict(outcome)}; {outcome.wall_s:.1f} s{kept}")


def _print_summary(outcomes: list[Outcome]) -> None:
    print_table(
        "Results",
        ("result", "verdict", "checks", "passed", "wall time"),
        [
            (
                outcome.item.id,
                VERDICTS[outcome.status],
                str(len(outcome.checks)),
                str(sum(check.passed for check in outcome.checks)),
                f"{outcome.wall_s:.1f} s",
            )
            for outcome in outcomes
        ],
        left=2,
    )


def _verdict(outcome: Outcome) -> str:
    count = len(outcome.checks)
    documented, missed = (sum(c.status == status for c in outcome.checks) for status in ("documented miss", "fail"))
    if not documented and not missed:
        return f"all {count} checks pass"
    parts = [f"{missed} of {count} checks fail"] if missed else []
    return ", ".join(parts + ([f"{documented} of {count} are known discrepancies"] if documented else []))


def row(check: Check, intervals: Mapping[str, Mapping[str, float | None]]) -> tuple[str, ...]:
    """A check's name, published and measured figure, difference, tolerance, verdict and origin, as text.

    Args:
        check: The check.
        intervals: Means among the figures, as `Rows.intervals` has them; the text of one shows its interval.
    """
    verdict = VERDICTS[check.status]
    if isinstance(check, Shape):
        single = next(iter(check.figures)) if len(check.figures) == 1 and check.shape == "bounds" else ""
        measured = f"{check.measured:.4g}{_interval(intervals.get(single), '.2g')}"
        return (check.name, check.required, measured, "", "", verdict, check.origin)
    digits = 2 if check.name.endswith("%") else 3
    if check.within_factor is None:
        difference, tolerance = f"{check.difference:+.{digits + 1}f}", f"{check.allowed:.{digits}f}"
    else:
        difference, tolerance = f"{check.ratio:.3g} times", f"factor {check.allowed:g}"
    return (
        check.name,
        f"{check.published:.{digits}f}",
        f"{check.measured:.{digits + 1}f}{_interval(intervals.get(check.name), f'.{digits + 1}f')}",
        difference,
        tolerance,
        verdict,
        check.origin,
    )


def _interval(of: Mapping[str, float | None] | None, form: str) -> str:
    """Half of the width of a mean's 95 % confidence interval, and the number of runs."""
    if of is None or of["ci95"] is None:
        return ""
    return f" ± {of['ci95']:{form}} ({of['runs']} runs)"
