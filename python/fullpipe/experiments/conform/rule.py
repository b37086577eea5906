"""Rules of RFCs and drafts: source, level, expected values, and a measurement of any controller."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fullpipe.errors import AlgorithmError, CallLimitError
from fullpipe.experiments.conform.harness import Harness, Series
from fullpipe.runs.design import error_line

__all__ = ["BINDING", "FAIL", "LEVELS", "PASS", "SKIPPED", "Measure", "Rule", "Skip", "Verdict"]

PASS, FAIL, SKIPPED = "pass", "fail", "skipped"
"""Verdicts."""

LEVELS = ("MUST", "EQ", "SHOULD", "MAY", "D")
"""Levels of rules. EQ is an equation or a plain statement of the source, and D a rule of fullpipe."""

BINDING = frozenset({"MUST", "EQ"})
"""Levels whose failure fails the whole check."""

Measure = Callable[[Harness], float]


class Skip(Exception):
    """A rule that cannot be measured; the text is the reason."""


@dataclass(frozen=True)
class Verdict:
    """Verdict on a rule.

    Attributes:
        rule: The rule.
        verdict: One of `PASS`, `FAIL`, `SKIPPED`.
        measured: The measured value; None for a skipped rule, or if the controller failed in a run.
        reason: Reason of a skipped rule.
        error: Failure of the controller in a run.
    """

    rule: Rule
    verdict: str
    measured: float | None = None
    reason: str = ""
    error: AlgorithmError | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON. A measured value that is infinite, because the event never came, is None."""
        rule = self.rule
        measured = self.measured if self.measured is not None and math.isfinite(self.measured) else None
        return {
            "id": rule.id,
            "source": rule.source,
            "level": rule.level,
            "verdict": self.verdict,
            "expected": [rule.low, rule.high],
            "measured": measured,
            "unit": rule.unit,
            "title": rule.title,
            "reason": self.reason or None,
            "error": None if self.error is None else error_line(self.error),
        }


@dataclass(frozen=True)
class Rule:
    """A rule of a source.

    Attributes:
        id: Its name.
        source: RFC or draft, and section.
        level: One of `LEVELS`.
        title: Measured quantity.
        unit: Its unit; "1" for ratios.
        low: Smallest value that follows the source.
        high: Largest value that follows the source.
        measure: Measures a controller. It raises `Skip` for a controller that does not show the quantity.
    """

    id: str
    source: str
    level: str
    title: str
    unit: str
    low: float | None
    high: float | None
    measure: Measure

    def judge(self, harness: Harness) -> Verdict:
        """Verdict on a controller.

        Raises:
            CallLimitError: A call of the controller has not returned. The next rule would take as long.
        """
        try:
            measured = self.measure(harness)
        except Skip as skip:
            return Verdict(self, SKIPPED, reason=str(skip))
        except CallLimitError:
            raise
        except AlgorithmError as error:
            return Verdict(self, FAIL, error=error)
        inside = (self.low is None or measured >= self.low) and (self.high is None or measured <= self.high)
        return Verdict(self, PASS if inside else FAIL, measured)


def window_at(series: Series, time_s: float) -> float:
    """Window at a time of a run, packets.

    Raises:
        Skip: The run ends before.
    """
    found = series.curve().at(time_s)
    if found is None:
        raise Skip(f"the run ends before {time_s} s")
    return found
