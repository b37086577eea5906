"""`conform`: verdicts on a controller by the rules of an RFC or a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.text import unknown, with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import Progress
from fullpipe.engine.pool import check_stop
from fullpipe.errors import InputError
from fullpipe.experiments.conform.bbr import RULES as BBR
from fullpipe.experiments.conform.harness import Curve, Harness, simulated_by
from fullpipe.experiments.conform.limited import RULES as LIMITED
from fullpipe.experiments.conform.ratelimited import RULES as RATE_LIMITED
from fullpipe.experiments.conform.rfc9002 import RULES as RFC9002
from fullpipe.experiments.conform.rfc9438 import RULES as RFC9438
from fullpipe.experiments.conform.rule import BINDING, FAIL, SKIPPED, Rule, Verdict
from fullpipe.runs.design import error_line
from fullpipe.runs.notebook import shows_progress
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import threading

__all__ = ["RULES", "Conformance", "conform"]

RULES: Mapping[str, Sequence[Rule]] = {
    "rfc9438": RFC9438,
    "rfc9002": RFC9002,
    "bbr": BBR,
    "ratelimited": RATE_LIMITED,
    "limited": LIMITED,
}
"""Rules by the name of their source."""


@shows_progress("rules")
def conform(
    controller: str | Mapping[str, object] | type,
    rules: str = "rfc9438",
    *,
    rule: str | None = None,
    program: str | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Conformance:
    """Measures a controller by the rules of an RFC or a draft. A run that the controller fails in does not stop the
    other rules.

    Args:
        controller: Name, table such as ``{"name": "cubic", "beta": 0.8}``, declared class, or file as for `evaluate`.
        rules: "rfc9438", "rfc9002", "bbr", "ratelimited", or "limited".
        rule: Only this rule, by its id. The result then has the windows of its runs.
        program: Program with further controllers, such as ``fullpipe-quic``, that runs the scenarios; None for the
            simulator in this process.
        progress: Called with the number of judged rules, and of all rules.
        stop: As for `run_many`.

    Raises:
        InputError: The controller or the rules are unknown.
        AlgorithmError: The controller failed in a run of every measured rule, or a call of it has not returned.
        Cancelled: ``stop`` was set.
    """
    if rules not in RULES:
        raise InputError(unknown("rules", rules, RULES))
    if program is None:
        algorithm: Any = as_algorithm(controller)
        Scenario.from_dict({**ALONE, "flows": [{"algorithm": algorithm}]})
        harness = Harness(algorithm, lambda: check_stop(stop))
    else:
        algorithm = controller
        harness = Harness(algorithm, lambda: check_stop(stop), simulated_by(program))
    chosen = [each for each in RULES[rules] if rule in (None, each.id)]
    if not chosen:
        raise InputError(unknown("rule", rule, (each.id for each in RULES[rules])))
    verdicts: list[Verdict] = []
    for each in chosen:
        if progress is not None:
            progress(len(verdicts), len(chosen))
        verdicts.append(each.judge(harness))
    errors = [each.error for each in verdicts if each.error is not None]
    if errors and len(errors) == sum(each.verdict != SKIPPED for each in verdicts):
        raise errors[0]
    label = algorithm if isinstance(algorithm, str) else with_params(algorithm)
    windows = tuple(series.curve() for series in harness.made) if rule is not None else ()
    return Conformance(label, rules, tuple(verdicts), windows)


ALONE = {"duration": "1 s", "links": [{"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}]}
"""Scenario in which a controller is read before any run."""


@dataclass(frozen=True)
class Conformance(Outcome):
    """Verdicts on a controller.

    Attributes:
        controller: Name of the controller.
        source: Name of the rules.
        rules: Verdict on each rule.
        windows: Windows of each run of a single rule.
    """

    controller: str
    source: str
    rules: tuple[Verdict, ...]
    windows: tuple[Curve, ...] = ()

    def failed(self, *, strict: bool = False) -> list[str]:
        """Rules of level MUST or EQ that fail, by id; with ``strict`` also those of level SHOULD. Rules in whose runs
        the controller failed are always among them.
        """
        levels = BINDING | {"SHOULD"} if strict else BINDING
        found = [each for each in self.rules if each.verdict == FAIL]
        return [each.rule.id for each in found if each.error is not None or each.rule.level in levels]

    @property
    def passed(self) -> bool:
        """Whether no rule of level MUST or EQ fails, nor the controller in a run."""
        return not self.failed()

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "controller": self.controller,
            "source": self.source,
            "pass": self.passed,
            "rules": [each.to_dict() for each in self.rules],
        }

    def shown(self, _columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Table of all measured rules, and a line per failure of the controller, and per reason of skipped rules."""
        rows = [_cells(each) for each in self.rules if each.verdict != SKIPPED]
        columns = ("rule", "source", "level", "quantity", "expected", "measured", "verdict")
        reasons: dict[tuple[str, str], list[str]] = {}
        for each in self.rules:
            if each.verdict == SKIPPED:
                reasons.setdefault(("skipped", each.reason), []).append(each.rule.id)
            elif each.error is not None:
                reasons.setdefault(("failed", error_line(each.error)), []).append(each.rule.id)
        lines = [f"{what}: {', '.join(ids)}: {reason}" for (what, reason), ids in reasons.items()]
        table = [Shown(f"{self.controller}: conformance to {self.source}", columns, rows, left=4)] if rows else []
        return [*table, *lines, *self._explained()]

    def _explained(self) -> list[Shown | str]:
        """Method and windows of a single rule."""
        if not self.windows:
            return []
        method = " ".join((self.rules[0].rule.measure.__doc__ or "").split())
        parts: list[Shown | str] = [f"method: {method}"] if method else []
        for i, curve in enumerate(self.windows):
            points = curve.points[:: max(1, len(curve.points) // MOST_WINDOWS)]
            rows = [(f"{time_s:.2f}", f"{window:.1f}") for time_s, window in points]
            parts.append(Shown(f"windows of run {i + 1}", ("time (s)", "window (packets)"), rows, left=0))
        return parts


MOST_WINDOWS = 40
"""Windows of a run that the table of a single rule shows, about."""


def _cells(verdict: Verdict) -> tuple[str, ...]:
    rule = verdict.rule
    unit = "" if rule.unit == "1" else f" {rule.unit}"
    bounds = (None if rule.low is None else f"{rule.low:g}", None if rule.high is None else f"{rule.high:g}")
    if rule.low is None:
        expected = f"at most {bounds[1]}"
    elif rule.high is None:
        expected = f"at least {bounds[0]}"
    else:
        expected = f"{bounds[0]} to {bounds[1]}" if bounds[0] != bounds[1] else str(bounds[0])
    value = verdict.measured
    measured = "failed run" if value is None else f"{value:{'.0f' if abs(value) >= 10_000 else '.4g'}}{unit}"
    return rule.id, rule.source, rule.level, rule.title, expected + unit, measured, verdict.verdict
