"""``fullpipe reproduce``."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import code_of_others, note, print_json, print_table, progress_bar, show
from fullpipe._cli.results import Output, Placement, engine_options, output_options, placement
from fullpipe._util.display import Shown, latex, markdown
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.papers import select
from fullpipe.reproduce import COLUMNS, Check, Item, Outcome, Shape, reproduce_all
from fullpipe.reproduce.report import write_report
from fullpipe.runs.design import MOST_SEEDS
from fullpipe.runs.engines import ENGINES

__all__ = ["command", "row"]

VERDICTS = {"pass": "pass", "documented miss": "known discrepancy", "fail": "DISCREPANCY"}
HEADINGS = ("quantity", "published", "measured", "difference", "tolerance", "verdict", "origin")


@click.command("reproduce")
@click.argument("item", required=False, metavar="[PAPER[/RESULT]]", shell_complete=complete.items)
@click.option(
    "--paper",
    "papers",
    multiple=True,
    metavar="DIR",
    help="Directory of your own paper. Without PAPER or RESULT, all its results.",
)
@click.option("--list", "only_list", is_flag=True, help="List the results and exit.")
@click.option("--quick", is_flag=True, help="Shorten the runs. The output states the changes.")
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of measurements of each result, with different seeds; values are their means.",
)
@engine_options(ENGINES[0], f"Engine that runs the scenarios: {' or '.join(ENGINES)}.")
@placement
@output_options(
    "Plot one result, PAPER/RESULT, into FILE (.png, .svg or .pdf).",
    "Write the report into DIR and each result into DIR/PAPER/RESULT. Finished results are cached.",
    columns="Quantities to show, e.g. utilization,loss.",
)
@click.pass_context
def command(
    context: click.Context,
    item: str | None,
    papers: tuple[str, ...],
    only_list: bool,
    quick: bool,
    seeds: int,
    engine: str,
    kernel: str | None,
    output: Output,
    place: Placement,
) -> None:
    """Reproduce tables and figures of papers: all, those of a paper, or one.

    With --out, a result in DIR is cached: it runs again only if the program or its scenarios changed. The exit status
    is 1 if a check fails and the cause is not known.
    """
    with code_of_others():
        chosen = select(item, papers)
    if only_list:
        return print_table("", ("item", "shows"), [(each.id, each.title) for each in chosen], left=2)
    _check_plot(output, chosen)
    output.check(continues=True)
    live = output.format == "table"
    outcomes = []
    label = f"{len(chosen)} items" if len(chosen) > 1 else chosen[0].id
    with progress_bar(label, "runs", prints=live) as progress:
        for outcome in reproduce_all(
            chosen, quick=quick, seeds=seeds, out=output.out, progress=progress, engine=engine, kernel=kernel, **place
        ):
            if live:
                show(shown(outcome, output.columns))
            outcomes.append(outcome)
    if output.plot is not None:
        outcomes[0].plot(output.plot)
    _print_all(outcomes, output)
    if output.out is not None:
        report = write_report(outcomes, output.out, command=shlex.join(["fullpipe", *sys.argv[1:]]))
        note(f"wrote the report {report}, with scenarios, results, and plots in its directory")
    if any(outcome.status == "fail" for outcome in outcomes):
        context.exit(1)
    return None


def _check_plot(output: Output, chosen: Sequence[Item]) -> None:
    """Refuses ``--plot`` for several results, for a result without a plot, and with ``--out``, which writes plots."""
    if output.plot is None:
        return
    if output.out is not None:
        raise click.UsageError("--plot conflicts with --out, which writes all plots into DIR")
    if len(chosen) > 1 or not chosen[0].pictures:
        drawn = [each.id for each in chosen if each.pictures]
        raise click.UsageError(f"--plot requires one result with a plot (e.g. {drawn[0] if drawn else 'bbr/figure-8'})")


def _print_all(outcomes: Sequence[Outcome], output: Output) -> None:
    """Prints all results, or after the results of format "table" their summary."""
    if output.format == "json":
        print_json(json.dumps({"items": [outcome.to_dict() for outcome in outcomes]}, indent=2, allow_nan=False))
    elif output.format == "csv":
        click.echo(_csv(outcomes, output.columns), nl=False)
    else:
        last = [summary(outcomes)] if len(outcomes) > 1 else []
        if output.format == "table":
            return show(last)
        parts = [part for outcome in outcomes for part in shown(outcome, output.columns)]
        click.echo((markdown if output.format == "markdown" else latex)([*parts, *last]), nl=False)
    return None


def _csv(outcomes: Iterable[Outcome], quantities: Sequence[str] | None) -> str:
    """Measured values with a row each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", *COLUMNS])
    for outcome in outcomes:
        names = _quantities(outcome, quantities)
        writer.writerows([outcome.item.id, *row.cells] for row in outcome.rows if row.quantity in names)
    return text.getvalue()


def _quantities(outcome: Outcome, names: Sequence[str] | None) -> set[str]:
    known = {row.quantity for row in outcome.rows}
    for name in names or ():
        if name not in known:
            raise InputError(f"{outcome.item.id}: {unknown('quantity', name, sorted(known))}")
    return known if names is None else set(names)


def shown(outcome: Outcome, quantities: Sequence[str] | None = None) -> list[Shown | str]:
    """Table of the checks of a result, causes of known discrepancies, and the summary line."""
    names = _quantities(outcome, quantities)
    checks = [check for check in outcome.checks if quantities is None or names & _quantities_of(outcome, check)]
    causes = dict.fromkeys(check.miss for check in checks if check.status == "documented miss")
    kept = "; kept from an earlier run" if outcome.kept else ""
    return [
        Shown(
            f"{outcome.item.id}: {outcome.item.title}",
            HEADINGS,
            [row(check, outcome.rows.intervals) for check in checks],
        ),
        *(f"cause of a known discrepancy: {cause}" for cause in causes),
        *([f"{'Linux' if outcome.engine == 'linux' else 'quick'}: {outcome.shortened}"] if outcome.shortened else []),
        f"{outcome.item.id}: {_verdict(outcome)}; {outcome.wall_s:.1f} s{kept}",
    ]


def _quantities_of(outcome: Outcome, check: Check) -> set[str]:
    """Quantities that a check judges."""
    judged = [*check.values, *(check.than or {})] if isinstance(check, Shape) else [check.name]
    return {outcome.rows.called(name).quantity for name in judged}


def summary(outcomes: Iterable[Outcome]) -> Shown:
    rows = [
        (
            outcome.item.id,
            VERDICTS[outcome.status],
            str(len(outcome.checks)),
            str(sum(check.passed for check in outcome.checks)),
            f"{outcome.wall_s:.1f} s",
        )
        for outcome in outcomes
    ]
    return Shown("Results", ("result", "verdict", "checks", "passed", "run time"), rows, left=2)


def _verdict(outcome: Outcome) -> str:
    count = len(outcome.checks)
    documented, missed = (sum(c.status == status for c in outcome.checks) for status in ("documented miss", "fail"))
    if not documented and not missed:
        return f"all {count} checks pass"
    parts = [f"{missed} of {count} checks fail"] if missed else []
    return ", ".join(parts + ([f"{documented} of {count} are known discrepancies"] if documented else []))


def row(check: Check, intervals: Mapping[str, Mapping[str, float | None]]) -> tuple[str, ...]:
    """Cells of a check under `HEADINGS`. Means have their confidence intervals (`Rows.intervals`)."""
    verdict = VERDICTS[check.status]
    if isinstance(check, Shape):
        single = next(iter(check.values)) if len(check.values) == 1 and check.shape == "bounds" else ""
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
    return "" if of is None or of["ci95"] is None else f" ± {of['ci95']:{form}} ({of['runs']} runs)"
