"""``fullpipe check``."""

from __future__ import annotations

from pathlib import Path

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import note, progress_bar
from fullpipe._cli.results import Placement, format_options, placement, print_parts
from fullpipe._util.files import check_file, staged_file
from fullpipe.experiments.check import Suite, check
from fullpipe.experiments.check.reports import comment, junit

__all__ = ["command"]


@click.command("check")
@click.argument("suite", shell_complete=complete.files)
@click.option("--baseline", metavar="FILE", help="Baseline file.  [default: NAME.baseline.json for NAME.toml]")
@click.option("--update", is_flag=True, help="Run all seeds and write the baseline file.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write the results as JUnit XML.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write the results for a pull request comment.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if any verdict is 'inconclusive'.")
@format_options
@placement
def command(
    suite: str,
    baseline: str | None,
    update: bool,
    junit_file: str | None,
    markdown_file: str | None,
    strict: bool,
    form: str,
    place: Placement,
) -> int:
    """Check a controller for regressions with the suite in SUITE, a TOML file.

    A suite compares metrics with limits, with other controllers, and with a stored baseline. The exit status is 1 if
    a check is worse.
    """
    files = {path: write for path, write in ((junit_file, junit), (markdown_file, comment)) if path is not None}
    for path in files:
        check_file(path)
    with progress_bar(suite, "runs") as progress:
        checks = check(Suite.load(suite), baseline=baseline, update=update, progress=progress, **place)
    for path, write in files.items():
        with staged_file(path) as stage:
            Path(stage).write_text(write(checks), encoding="utf-8")
    print_parts(form, checks)
    if checks.inconclusive:
        note(f"warning: {len(checks.inconclusive)} checks are inconclusive; add seeds or use a longer scenario")
    return 1 if not checks.passed or (strict and checks.inconclusive) else 0
