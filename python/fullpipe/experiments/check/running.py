"""`check`: runs the scenarios of a suite, and judges at more and more seeds."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.files import cache_directory, check_file
from fullpipe._util.text import listed, quoted, unknown
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import AlgorithmError, InputError
from fullpipe.experiments.check.baseline import Baseline, Values, default_path, identity
from fullpipe.experiments.check.checks import Checked, Checks
from fullpipe.experiments.check.statistics import Sample, Trial, looks
from fullpipe.experiments.check.suite import BASELINE, Arm, Check, Suite
from fullpipe.experiments.conform import conform
from fullpipe.registry import algorithms
from fullpipe.runs.aggregate import INCONCLUSIVE
from fullpipe.runs.design import Case, Run, error_line
from fullpipe.runs.measure import Row, name_of
from fullpipe.runs.model_version import MODEL_VERSION
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import Store

if TYPE_CHECKING:
    import threading

    from fullpipe.runs.result import Result

__all__ = ["check", "measure"]


@shows_progress("runs")
def check(
    suite: Suite | str | os.PathLike[str],
    *,
    baseline: str | os.PathLike[str] | None = None,
    update: bool = False,
    cache: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: object = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Checks:
    """Runs a suite of regression checks.

    Args:
        suite: The suite, or its file.
        baseline: Baseline file; None for ``NAME.baseline.json`` next to the file ``NAME.toml``.
        update: Run ``max_seeds`` seeds of each check that is relative to the baseline, and write the baseline file.
        cache: Directory of the store of runs; None for the user's cache.
        workers: Runs at a time; None for the number of cores.
        dask: Address of a Dask scheduler, or a client, whose cluster makes the runs; None for this machine.
        memory: As for `run_many`.
        progress: Called with the runs done and those to do in all.
        stop: As for `run_many`.

    Raises:
        InputError: The suite or the baseline is wrong, or a scenario has no such metric.
        Cancelled: ``stop`` was set.
    """
    begun_s = time.monotonic()
    suite = suite if isinstance(suite, Suite) else Suite.load(suite)
    path = default_path(suite.file) if baseline is None else baseline
    relative = [each for each in suite.checks if each.relative_to == BASELINE]
    if update:
        check_file(path)
        if not relative:
            raise InputError(f"{suite.file}: --update requires a check that is relative_to = {quoted(BASELINE)}")
    stored = Baseline.load(path) if relative and not update else None
    if stored is not None:
        stored.check(suite, relative)
    options = RunOptions(workers, memory, stop, progress, dask)
    with Store(Path(cache_directory("check") if cache is None else cache, "runs.sqlite"), optional=True) as store:
        work = Work(suite, Runner(options, store, tolerates=(AlgorithmError,)))
        if update:
            return _updated(work, relative, path, begun_s)
        notes = [] if stored is None or stored.engine_hash == MODEL_VERSION else work.recompute(stored, relative)
        if stored is not None and not notes:
            work.stored = {each.id: stored.values[each.id].values for each in relative}
        return _judged(work, begun_s, notes)


def measure(result: Result) -> Row:
    """All metrics of a run, and the time that it took."""
    return {**result.figures(), WALL_S: result.totals["wall_s"]}


WALL_S = "wall_s"
"""Column of the time that a run took, seconds of one processor."""


@dataclass
class Work:
    """Runs of a suite, and values of its checks.

    Attributes:
        suite: The suite.
        runner: Runner of all runs.
        stored: Values of the baseline file by check.
        rows: Rows by scenario and controller, in the order of the seeds.
        errors: First failure by scenario and controller.
    """

    suite: Suite
    runner: Runner
    stored: dict[str, Sequence[float]] = field(default_factory=dict)
    rows: dict[Arm, list[Row]] = field(default_factory=dict)
    errors: dict[Arm, str] = field(default_factory=dict)

    def run(self, checks: Iterable[Check], seeds: int, deadline_s: float | None = None) -> bool:
        """Adds the rows that some checks need; False where the deadline ended that.

        Args:
            checks: The checks.
            seeds: Seeds of each run.
            deadline_s: Time of `time.monotonic` after which runs are stopped.
        """
        wanted = [
            (arm, i)
            for arm in self.suite.arms(checks)
            for i in range(len(self.rows.get(arm, ())), self._most(arm, seeds))
        ]
        cases = {
            arm: Case(self.suite.scenario(arm), measure=MEASURE) for arm in dict.fromkeys(arm for arm, _ in wanted)
        }
        runs = [Run(n, cases[arm], cases[arm].scenario.seed + i) for n, (arm, i) in enumerate(wanted)]
        found: dict[tuple[Arm, int], Row] = {}
        failures: dict[int, str] = {}
        with closing(self.runner.rows(runs)) as finished:
            for done in finished:
                arm, i = wanted[done.run.number]
                if done.row is None:
                    assert done.error is not None
                    failures[done.run.number] = f"seed {done.run.seed}: {error_line(done.error)}"
                else:
                    found[arm, i] = done.row
                if (
                    deadline_s is not None
                    and time.monotonic() > deadline_s
                    and len(found) + len(failures) < len(wanted)
                ):
                    return False
        for number in sorted(failures):
            self.errors.setdefault(wanted[number][0], failures[number])
        for arm, i in wanted:
            if arm not in self.errors:
                self.rows.setdefault(arm, []).append(found[arm, i])
        return True

    def _most(self, arm: Arm, seeds: int) -> int:
        return 0 if arm in self.errors else seeds

    def values(self, arm: Arm, check: Check) -> list[float]:
        """Metric of a check in all runs so far.

        Raises:
            InputError: The scenario has no such metric.
        """
        rows = self.rows[arm]
        if check.metric not in rows[0]:
            known = [name for name in rows[0] if name != WALL_S]
            raise InputError(f"{self.suite.file}: check {quoted(check.id)}: {unknown('metric', check.metric, known)}")
        values = [row[check.metric] for row in rows]
        if None in values:
            self.errors[arm] = f"seed {self.suite.scenario(arm).seed + values.index(None)}: {check.metric} has no value"
        return values

    def recompute(self, stored: Baseline, checks: Sequence[Check]) -> list[str]:
        """Runs the controllers of a baseline of another model version again, and returns notes about them.

        Raises:
            InputError: A controller is not built in, and its code has changed.
        """
        for each in checks:
            kept = stored.values[each.id]
            if not _is_same(kept, self.suite.controllers.get(each.controller)):
                what = f"is of model version {stored.engine_hash}, and this is {MODEL_VERSION}"
                lost = f"the controller of check {quoted(each.id)} has changed"
                raise InputError(f"{stored.file}: {what}; {lost}; write a new baseline with --update")
        controllers = {f"{BASELINE} of {each.id}": stored.values[each.id].controller for each in checks}
        again = Work(replace(self.suite, controllers={**self.suite.controllers, **controllers}), self.runner)
        for each in checks:
            arm = each.scenario, f"{BASELINE} of {each.id}"
            ran = replace(each, controller=arm[1], relative_to=None)
            again.run([ran], len(stored.values[each.id].seeds))
            if arm in again.errors:
                raise AlgorithmError(f"{stored.file}: check {quoted(each.id)}: {again.errors[arm]}")
            self.stored[each.id] = again.values(arm, each)
        names = listed(each.id for each in checks)
        return [
            f"baseline of {names} computed again: its model version is {stored.engine_hash}, this is {MODEL_VERSION}"
        ]

    def sample(self, check: Check) -> tuple[Sample, list[float], list[float]] | None:
        """Differences of a check, its values, and those to compare with; None where a run failed."""
        if check.arm in self.errors or check.other in self.errors:
            return None
        values = self.values(check.arm, check)
        if check.other is not None:
            others = self.values(check.other, check)
        elif check.relative_to == BASELINE:
            others = list(self.stored[check.id])
        else:
            others = [check.limit] * len(values)
        if check.arm in self.errors or check.other in self.errors:
            return None
        count = min(len(values), len(others))
        values, others = values[:count], others[:count]
        costs = [check.cost(*pair) for pair in zip(values, others, strict=True)]
        return Sample(costs, check.margin), values, others

    def error(self, check: Check) -> str | None:
        """Failure of a run of a check."""
        return self.errors.get(check.arm) or (self.errors.get(check.other) if check.other else None)

    def wall_s(self, check: Check) -> float:
        """Processor time of the runs of the controller under test, seconds."""
        return math.fsum(row[WALL_S] for row in self.rows.get(check.arm, ()))


MEASURE = name_of(measure)


def _is_same(kept: Values, now: object) -> bool:
    """Whether a stored controller is built in, or the code that the suite has now."""
    if kept.identity is None:
        name = kept.controller if isinstance(kept.controller, str) else kept.controller.get("name")
        is_object = isinstance(kept.controller, Mapping) and "object" in kept.controller
        return is_object or name in algorithms()
    return kept.controller == now and bool(kept.identity) and kept.identity == identity(kept.controller)


def _judged(work: Work, begun_s: float, notes: list[str]) -> Checks:
    suite = work.suite
    steps = looks(suite.seeds, suite.max_seeds)
    trial = Trial(suite.confidence, len(steps))
    deadline_s = None if suite.time_limit_s is None else begun_s + suite.time_limit_s
    open_ = [each for each in suite.checks if each.conform is None]
    timed_out = False
    for i, seeds in enumerate(steps):
        if not work.run(open_, seeds, deadline_s if i else None):
            timed_out = True
            break
        samples = {each.id: found[0] for each in open_ if (found := work.sample(each)) is not None}
        trial.add(samples)
        open_ = [each for each in open_ if each.id in samples and trial.verdicts[each.id] == INCONCLUSIVE]
        if not open_:
            break
    if timed_out:
        notes.append(f"time_limit: no more seeds after {suite.time_limit_s:g} s")
    return _checks(work, trial, begun_s, notes)


def _checks(work: Work, trial: Trial, begun_s: float, notes: list[str]) -> Checks:
    found = []
    for each in work.suite.checks:
        if each.conform is not None:
            judged = _conformance(work, each)
            found.append(judged)
            notes += judged.remarks()
            continue
        sampled = work.sample(each)
        if sampled is None:
            found.append(Checked.failed(each, work.error(each) or "", work.wall_s(each)))
            continue
        sample, values, others = sampled
        if sample.constant and sample.costs[0] != 0:
            notes.append(f"check {each.id}: equal values for every seed; vary start times, or rounding may decide")
        found.append(
            Checked.of(each, trial.verdicts[each.id], values, others, work.suite.confidence, work.wall_s(each))
        )
    return Checks(work.suite, tuple(found), time.monotonic() - begun_s, tuple(notes), work.rows)


def _conformance(work: Work, each: Check) -> Checked:
    """A check of the rules of an RFC."""
    begun_s = time.monotonic()
    controller = work.suite.controllers[each.controller]
    options = work.runner.options
    try:
        found = conform(controller, str(each.conform), stop=options.stop)
    except AlgorithmError as error:
        return Checked.failed(each, error_line(error), time.monotonic() - begun_s)
    failures = [rule.error for rule in found.rules if rule.error is not None]
    if failures:
        return Checked.failed(each, error_line(failures[0]), time.monotonic() - begun_s)
    return Checked.judged(each, found, time.monotonic() - begun_s)


def _updated(work: Work, relative: Sequence[Check], path: str | os.PathLike[str], begun_s: float) -> Checks:
    """Writes the baseline file; nothing where a run failed."""
    old = None
    if Path(path).exists():
        try:
            old = Baseline.load(path)
        except InputError:
            old = None  # a damaged file, or one of another format, is replaced
    suite = work.suite
    work.run(relative, suite.max_seeds)
    values = {}
    found = []
    for each in relative:
        new = work.values(each.arm, each) if each.arm not in work.errors else []
        if each.arm in work.errors:
            found.append(Checked.failed(each, work.errors[each.arm], work.wall_s(each)))
            continue
        values[each.id] = Values.of(each, suite, new)
        before = old.values[each.id].values if old and each.id in old.values else new
        found.append(Checked.updated(each, new, before, work.wall_s(each)))
    notes = [f"nothing is written to {os.fspath(path)}: a run failed"]
    if not work.errors:
        Baseline.of(suite, values, path).save()
        notes = [f"baseline with {suite.max_seeds} seeds written to {os.fspath(path)}"]
    return Checks(suite, tuple(found), time.monotonic() - begun_s, tuple(notes), work.rows)
