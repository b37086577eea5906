"""Results of a suite: a verdict per check, as JSON, as tables, for JUnit, and for a pull request."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullpipe._util.display import Outcome, Shown
from fullpipe.experiments.check.statistics import OK
from fullpipe.experiments.check.suite import Arm, Check, Suite
from fullpipe.experiments.conform.judging import Conformance
from fullpipe.experiments.conform.rule import FAIL, PASS, SKIPPED
from fullpipe.metrics import column, metric
from fullpipe.runs.aggregate import INCONCLUSIVE, WORSE, estimate, student_t
from fullpipe.runs.measure import Row

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ORDER", "Checked", "Checks"]

ORDER = (WORSE, INCONCLUSIVE, OK)
"""Verdicts, from the worst."""

UPDATED = "updated"
"""In place of a verdict, for a check whose baseline was written."""


@dataclass(frozen=True)
class Checked:
    """Verdict of a check.

    Attributes:
        check: The check.
        verdict: "ok", "worse", or "inconclusive"; "updated" where its baseline was written.
        seeds: Seeds of its runs.
        baseline: Mean of the values to compare with, or the limit; None where a run failed.
        value: Mean of the controller's values; None where a run failed.
        change: Difference from the baseline; for ratios the relative one: 0.1 is 10 % more.
        ci95: 95 % confidence interval of the change.
        interval: Confidence interval at the confidence of the suite.
        error: Failure of a run.
        wall_s: Processor time of the controller's runs, seconds.
        broken: Rules that the controller breaks, by id, without those that the suite knows.
        known: Rules that the controller breaks as the suite says, by id.
        passing: Rules that the suite says are broken, and that pass, by id.
        skipped: Reasons of skipped rules, by id.
    """

    check: Check
    verdict: str
    seeds: int = 0
    baseline: float | None = None
    value: float | None = None
    change: float | None = None
    ci95: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    error: str | None = None
    wall_s: float = 0.0
    broken: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        check: Check,
        verdict: str,
        values: Sequence[float],
        others: Sequence[float],
        confidence: float,
        wall_s: float,
    ) -> Checked:
        """A check by the values of its runs."""
        value, other = estimate(values).mean, estimate(others).mean
        costs = [check.cost(*pair) for pair in zip(values, others, strict=True)]
        change, ci95 = _interval(check, costs, 0.95)
        _, interval = _interval(check, costs, confidence)
        return cls(check, verdict, len(values), other, value, change, ci95, interval, None, wall_s)

    @classmethod
    def updated(cls, check: Check, new: Sequence[float], old: Sequence[float], wall_s: float) -> Checked:
        """A check whose baseline was written."""
        return cls(check, UPDATED, len(new), estimate(old).mean, estimate(new).mean, wall_s=wall_s)

    @classmethod
    def failed(cls, check: Check, error: str, wall_s: float) -> Checked:
        """A check of which a run failed: it counts as worse."""
        return cls(check, WORSE, error=error, wall_s=wall_s)

    @classmethod
    def judged(cls, check: Check, found: Conformance, wall_s: float) -> Checked:
        """A check of rules."""
        broken = tuple(rule for rule in found.failed() if rule not in check.known)
        failing = {each.rule.id for each in found.rules if each.verdict == FAIL}
        pass_now = {each.rule.id for each in found.rules if each.verdict == PASS}
        return cls(
            check,
            WORSE if broken else OK,
            wall_s=wall_s,
            broken=broken,
            known=tuple(rule for rule in check.known if rule in failing),
            passing=tuple(rule for rule in check.known if rule in pass_now),
            skipped={each.rule.id: each.reason for each in found.rules if each.verdict == SKIPPED},
        )

    @property
    def id(self) -> str:
        """Name of the check."""
        return self.check.id

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "id": self.id,
            "verdict": self.verdict,
            "baseline": self.baseline,
            "value": self.value,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "change": self.change,
            "relative": self.check.ratio,
            "scenario": self.check.scenario,
            "controller": self.check.controller,
            "metric": self.check.metric,
            "unit": metric(self.check.metric).unit if self.check.metric else None,
            "relative_to": self.check.relative_to,
            "seeds": self.seeds,
            "conform": self.check.conform,
            "broken": list(self.broken),
            "known": list(self.known),
            "skipped": dict(self.skipped),
            "error": self.error,
            "text": self.line(),
        }

    def cells(self) -> tuple[str, ...]:
        """Cells of a table: check, metric, baseline, now, and change."""
        title = f"rules {self.check.conform}" if self.check.conform else metric(self.check.metric).full_title
        if self.check.conform and self.error is None:
            return self.id, title, "-", "-", self._rules_text()
        if self.error is not None:
            return self.id, title, "-", "-", self.error
        return self.id, title, self._text(self.baseline), self._text(self.value), self.change_text()

    def line(self) -> str:
        """The outcome in one line."""
        if self.error is not None:
            return self.error
        _, title, baseline, now, change = self.cells()
        if self.check.conform:
            return f"{title}: {change or 'no rule fails'}"
        base = "baseline" if self.check.relative_to else "limit"
        return f"{title}: {base} {baseline}, now {now}, change {change.replace('…', 'to')}"

    def remarks(self) -> list[str]:
        """Remarks on the rules, a line each: reasons of skipped rules, and known failures that are gone."""
        reasons: dict[str, list[str]] = {}
        for rule, reason in self.skipped.items():
            reasons.setdefault(reason, []).append(rule)
        found = [f"check {self.id}: skipped {', '.join(rules)}: {reason}" for reason, rules in reasons.items()]
        if self.passing:
            found.append(f'check {self.id}: {", ".join(self.passing)} pass; remove them from "known"')
        return found

    def _rules_text(self) -> str:
        """Rules that fail, that fail as known, and that are skipped."""
        said = ((self.broken, "fail"), (self.known, "fail as known"))
        parts = [f"{', '.join(rules)} {what}" for rules, what in said if rules]
        return "; ".join([*parts, *([f"{len(self.skipped)} skipped"] if self.skipped else [])])

    def change_text(self) -> str:
        """The change with its interval."""
        if self.change is None or self.interval is None:
            return ""
        low, high = self.interval
        if self.check.ratio:
            return f"{100 * self.change:+.3g} % ({100 * low:+.3g} … {100 * high:+.3g})"
        name = self.check.metric
        heading, (change, least, most) = column(name, [self.change, low, high], signed=True)
        unit = heading.removeprefix(metric(name).full_title).strip(" ()")
        return f"{change}{' ' + unit if unit else ''} ({least} … {most})"

    def _text(self, value: float | None) -> str:
        name = self.check.metric
        heading, (text,) = column(name, [value])
        unit = heading.removeprefix(metric(name).full_title).strip(" ()")
        return f"{text} {unit}".strip()


def _interval(check: Check, costs: Sequence[float], confidence: float) -> tuple[float, tuple[float, float]]:
    """Mean change and its t interval, in the direction of the metric."""
    one = estimate(costs)
    half = student_t(len(costs) - 1, confidence) * (one.sd or 0.0) / math.sqrt(len(costs)) if len(costs) > 1 else 0.0
    sign = -1.0 if check.more_is_better else 1.0
    mean = sign * one.mean
    if check.ratio:
        return math.expm1(mean), (math.expm1(mean - half), math.expm1(mean + half))
    return mean, (mean - half, mean + half)


@dataclass(frozen=True)
class Checks(Outcome):
    """Result of a suite.

    Attributes:
        suite: The suite.
        checks: A verdict for each check, in the order of the suite.
        elapsed_s: Wall time, seconds.
        notes: Remarks, a line each.
        rows: Metrics of the runs, by scenario and controller.
    """

    suite: Suite
    checks: tuple[Checked, ...]
    elapsed_s: float
    notes: tuple[str, ...] = ()
    rows: Mapping[Arm, Sequence[Row]] | None = None

    @property
    def passed(self) -> bool:
        """Whether no check is worse."""
        return not self.worse

    @property
    def worse(self) -> list[str]:
        """Checks that are worse, by id."""
        return [each.id for each in self.checks if each.verdict == WORSE]

    @property
    def inconclusive(self) -> list[str]:
        """Checks that are inconclusive, by id."""
        return [each.id for each in self.checks if each.verdict == INCONCLUSIVE]

    @property
    def runs(self) -> pa.Table:
        """All metrics, a row per run, with the labels ``scenario``, ``controller``, and ``seed``."""
        from fullpipe.runs.results import table_of

        found = []
        for (scenario, controller), rows in (self.rows or {}).items():
            first = self.suite.scenario((scenario, controller)).seed
            found += [
                {"scenario": scenario, "controller": controller, "seed": first + i, **row} for i, row in enumerate(rows)
            ]
        return table_of(found)

    @property
    def seeds(self) -> int:
        """Seeds of the check that has the most."""
        return max((each.seeds for each in self.checks), default=0)

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "pass": self.passed,
            "suite": self.suite.file,
            "elapsed_s": self.elapsed_s,
            "notes": list(self.notes),
            "checks": [each.to_dict() for each in self.checks],
        }

    def headline(self) -> str:
        """The outcome in one line."""
        count = len(self.checks)
        if all(each.verdict == UPDATED for each in self.checks):
            said = f"baseline of {count} checks written"
        elif self.worse:
            said = f"{len(self.worse)} of {count} got worse"
        else:
            said = f"{count} of {count} are not worse"
        more = f", {len(self.inconclusive)} inconclusive" if self.inconclusive else ""
        return f"fullpipe check: {said}{more} ({self.seeds} paired seeds, {self.elapsed_s:.0f} s)"

    def table(self, title: str, checks: Sequence[Checked]) -> Shown:
        """Some checks as a table."""
        head = f"change ({100 * self.suite.confidence:g} % CI)"
        columns = ("check", "metric", "baseline", "now", head, "verdict")
        return Shown(title, columns, [(*each.cells(), each.verdict) for each in checks], left=2)

    def shown(self, _columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Table that the program prints, worst first."""
        checks = sorted(self.checks, key=lambda each: (*ORDER, UPDATED).index(each.verdict))
        return [self.table(self.headline(), checks), *self.notes]
