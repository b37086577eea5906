"""Failed runs of a batch: the other runs are completed, and results name the ones that failed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe.errors import InputError
from fullpipe.runs.design import Design, Done, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.runs.results import Results
    from fullpipe.runs.runner import Runner

__all__ = ["all_done", "failed_runs", "failures", "failures_line", "raise_if_all_failed"]

MOST_NAMED = 10
"""Failed runs that a line or a table names."""


def all_done(runner: Runner, runs: Design | Sequence[Run]) -> list[Done]:
    """Runs that ended, in order of their numbers, failed ones included. The runner has to tolerate failures.

    Raises:
        InputError: A run is not possible, for example on a kernel without the algorithm.
    """
    ended: list[Done] = []
    with closing(runner.rows(runs)) as finished:
        for done in finished:
            if isinstance(done.error, InputError):
                raise done.error
            ended.append(done)
    return sorted(ended, key=lambda done: done.run.number)


def raise_if_all_failed(ended: Sequence[Done]) -> None:
    """Raises the first failure if no run succeeded."""
    errors = [done.error for done in ended if done.error is not None]
    if errors and len(errors) == len(ended):
        raise errors[0]


def failures(results: Results) -> list[Mapping[str, object]]:
    """Rows of `Results.runs` that failed."""
    rows = results.runs.to_pylist() if results.failed else []
    return [{"run": i, **row} for i, row in enumerate(rows) if row["error"] is not None]


def failures_line(results: Results) -> str:
    """Line with the number of failed runs, the first failure, and the numbers of the other failed runs."""
    first, *others = failures(results)
    numbers = ", ".join([*(str(row["run"]) for row in others[:MOST_NAMED]), *(["..."] if others[MOST_NAMED:] else [])])
    also = f"; also run{'s' if len(others) > 1 else ''} {numbers}" if others else ""
    return f"{results.failed} of {len(results.runs)} runs failed, run {first['run']}: {first['error']}{also}"


def failed_runs(results: Results) -> list[Shown | str]:
    """Table of the failed runs; no table where all runs succeeded."""
    failed = failures(results)
    if not failed:
        return []
    names = ("run", *results.labels, "seed", "error")
    title = f"Failed runs{f', the first {MOST_NAMED} of {len(failed)}' if len(failed) > MOST_NAMED else ''}"
    return [Shown(title, names, [[str(row[name]) for name in names] for row in failed[:MOST_NAMED]], len(names))]
