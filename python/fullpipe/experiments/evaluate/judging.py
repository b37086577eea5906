"""Verdicts of comparisons, test cases, and criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fullpipe.experiments.evaluate.cell import (
    CANDIDATE,
    DEPLOYED,
    Beside,
    Call,
    Camps,
    Cell,
    Metric,
    Role,
    Rule,
    Setting,
)
from fullpipe.experiments.evaluate.measure import Row
from fullpipe.experiments.evaluate.preset import PACKET_BYTES, STANDARDS
from fullpipe.experiments.evaluate.rules import (
    BETTER,
    FAMILY,
    INCONCLUSIVE,
    INFORMATION,
    LOSS,
    MORE,
    NO_WORSE,
    NOT_RUN,
    WORSE,
    Judgement,
    at_most,
    harms,
    rule_h,
    rule_loss,
    rule_r,
    starves,
    times_tcp,
    worst,
)
from fullpipe.runs.aggregate import holm

__all__ = ["BARS", "WHO", "Compared", "JudgedCell", "Runs", "Values", "corrected", "judge_cell", "unclear"]

BARS = [standard.label for standard in STANDARDS]
WHO = (CANDIDATE, *BARS)
OTHERS = [party.label for party in DEPLOYED]

Values = list[float | None]


class Runs:
    """Metrics of all runs, by test case, configuration, role, and seed."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, Role], dict[int, Row]] = {}
        self._errors: dict[tuple[str, str, Role, int], str] = {}

    @property
    def all_failed(self) -> bool:
        """Whether no run succeeded."""
        return not any(row for rows in self._rows.values() for row in rows.values())

    def has(self, cell: str, setting: str, role: Role, seed: int) -> bool:
        """Whether the run exists."""
        return seed in self._rows.get((cell, setting, role), {})

    def has_any(self, cell: str, setting: str) -> bool:
        """Whether the configuration was run."""
        return any((of_cell, name) == (cell, setting) for of_cell, name, _ in self._rows)

    def has_role(self, cell: str, setting: str, role: Role) -> bool:
        """Whether the configuration was run in that role."""
        return (cell, setting, role) in self._rows

    def add(self, cell: str, setting: str, role: Role, seed: int, row: Row, error: str | None = None) -> None:
        """Adds the metrics of a run, or its failure."""
        self._rows.setdefault((cell, setting, role), {})[seed] = row
        if error is not None:
            self._errors[cell, setting, role, seed] = error

    def values(self, cell: str, setting: str, role: Role, key: str) -> Values:
        """Values of a metric over the seeds."""
        rows = self._rows.get((cell, setting, role), {})
        return [rows[seed].get(key) for seed in sorted(rows)]

    def rows(self) -> list[dict[str, str | float | None]]:
        """A row per run; with the column ``error`` if a run failed."""
        return [
            {
                "cell": cell,
                "setting": setting,
                "role": str(role),
                "victim": role.victim,
                "other": role.other,
                "seed": seed,
                **({"error": self._errors.get((cell, setting, role, seed))} if self._errors else {}),
                **rows[seed],
            }
            for (cell, setting, role), rows in self._rows.items()
            for seed in sorted(rows)
        ]


@dataclass(frozen=True)
class Compared:
    """Metric of a configuration, compared with the standards.

    Attributes:
        setting: Configuration.
        metric: Key of the metric; for harm with the victim.
        title: Title for readers.
        unit: Unit of the values.
        verdict: Verdict; `INFORMATION` if not judged, `NOT_RUN` if the metric is unknown.
        main: Whether the verdict of the test case may be as good as this verdict.
        candidate: Values over the seeds; for harm, the harm.
        standards: Values of the standards.
        judgement: Numbers of the verdict. ``apart`` and ``least`` have the unit of the values.
        starved: Whether the candidate starves flows that no standard starves.
        among_many: Whether the verdict is `WORSE` alone, but not after Holm's correction (`corrected`).
        why: Reason why it was not run.
        shares: Victim's mean goodput over its equal share, by competitor.
        linux: Values on a real kernel by label; empty if the kernel did not run it, or does not report it.
        asked_linux: Whether a real kernel ran the configuration.
        linux_shares: As ``shares``, on the real kernel.
        times_tcp: If losses are more than the standards' losses: rates over TCP's rates at these losses, by label.
        limit: Limit in the unit of the values, for the rule "limit".
        rule: Rule that gives the verdict.
        victim: Label of the victim; empty if no harm is judged.
    """

    setting: str
    metric: str
    title: str
    unit: str
    verdict: str
    main: bool
    candidate: Values
    standards: Mapping[str, Values]
    judgement: Judgement | None = None
    starved: bool = False
    among_many: bool = False
    why: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    linux: Mapping[str, Values] = field(default_factory=dict)
    asked_linux: bool = False
    linux_shares: Mapping[str, float] = field(default_factory=dict)
    times_tcp: Mapping[str, Values] = field(default_factory=dict)
    limit: float | None = None
    rule: Rule = Rule.RATIO
    victim: str = ""


@dataclass(frozen=True)
class JudgedCell:
    """Test case with its comparisons."""

    cell: Cell
    compared: Sequence[Compared]

    @property
    def verdict(self) -> str:
        """Worst verdict of the comparisons. Comparisons that are not main ones can only make it worse."""
        counted = [one for one in self.compared if one.main or one.verdict not in (BETTER, NO_WORSE)]
        return worst(one.verdict for one in counted)

    @property
    def why(self) -> str:
        """Reason why there is no verdict."""
        if self.cell.missing:
            return self.cell.missing
        if not self.compared:
            return "not in this profile"
        return "; ".join(dict.fromkeys(one.why for one in self.compared if one.why))


def judge_cell(cell: Cell, settings: Sequence[Setting], runs: Runs, there: Runs | None = None) -> JudgedCell:
    """Comparisons of a test case in the configurations that were run. ``there`` are runs of a real kernel."""
    return JudgedCell(cell, [one for setting in settings for one in _beside(cell, setting, runs, there)])


def unclear(cell: Cell, setting: Setting, runs: Runs) -> bool:
    """Whether a verdict is inconclusive, so that more seeds may decide it."""
    return any(one.verdict == INCONCLUSIVE for one in _compare(cell, setting, runs))


def corrected(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """Test cases of a criterion after Holm's correction. A ``worse`` that the correction does not confirm is
    ``inconclusive``.
    """
    every = [one for cell in cells for one in cell.compared if one.judgement is not None and one.verdict != INFORMATION]
    kept = holm([one.judgement.p for one in every if one.judgement is not None], FAMILY)
    lost = {id(one) for one, stays in zip(every, kept, strict=True) if not stays and not one.starved}
    return [
        JudgedCell(
            cell.cell,
            [
                replace(one, verdict=INCONCLUSIVE, among_many=True) if id(one) in lost and one.verdict == WORSE else one
                for one in cell.compared
            ],
        )
        for cell in cells
    ]


def _beside(cell: Cell, setting: Setting, runs: Runs, there: Runs | None) -> list[Compared]:
    here = _compare(cell, setting, runs)
    if there is None or not there.has_any(cell.id, setting.name):
        return here
    real = {one.metric: one for one in _compare(cell, setting, there)}
    return [_with_kernel(one, real.get(one.metric)) for one in here]


def _with_kernel(one: Compared, real: Compared | None) -> Compared:
    one = replace(one, asked_linux=True)
    values = {} if real is None else {CANDIDATE: real.candidate, **real.standards}
    known = any(value is not None for each in values.values() for value in each)
    return replace(one, linux=values, linux_shares=real.shares) if real is not None and known else one


def _compare(cell: Cell, setting: Setting, runs: Runs) -> list[Compared]:
    if isinstance(cell, Beside):
        return _compare_harm(cell, setting, runs)
    metrics = [metric for metric in cell.metrics if metric.key not in setting.without]
    return [_compare_ratio(cell, setting, metric, runs) for metric in metrics]


def _compare_ratio(cell: Cell, setting: Setting, metric: Metric, runs: Runs) -> Compared:
    candidate = runs.values(cell.id, setting.name, Role(CANDIDATE), metric.key)
    standards = {bar: runs.values(cell.id, setting.name, Role(bar), metric.key) for bar in BARS}
    times: dict[str, Values] = {}
    if metric.limit is not None:
        judgement = at_most(candidate, metric.limit)
    elif metric.informs:
        judgement = None
    else:
        judgement = rule_r(candidate, standards, metric.kind)
        if metric.senders and judgement and judgement.verdict in (WORSE, INCONCLUSIVE):
            times = {who: _times_tcp(cell, setting, metric, runs, who) for who in WHO}
            judgement = rule_loss(candidate, standards, times[CANDIDATE], {bar: times[bar] for bar in BARS})
    return replace(_compared(setting, metric, "", candidate, standards, judgement, metric.scale), times_tcp=times)


def _times_tcp(cell: Cell, setting: Setting, metric: Metric, runs: Runs, who: str) -> Values:
    """Mean rate of the senders of a role, over TCP's rate at their loss."""
    losses, goodputs_bps, rtts_s = (
        runs.values(cell.id, setting.name, Role(who), key)
        for key in (metric.key, f"{metric.senders}.goodput_bps", f"{metric.senders}.mean_rtt_s")
    )
    groups = setting.tree(STANDARDS[0])["flows"]
    count = sum(group["count"] for group in groups if group["name"] == metric.senders)
    return [
        None
        if loss is None or goodput_bps is None or not rtt_s
        else times_tcp(goodput_bps / count, loss, rtt_s, PACKET_BYTES)
        for loss, goodput_bps, rtt_s in zip(losses, goodputs_bps, rtts_s, strict=True)
    ]


def _compare_harm(cell: Beside, setting: Setting, runs: Runs) -> list[Compared]:
    compared = []
    victims = {party.label: cell.unharmed(party) for party in cell.victims(True)}
    for victim, unharmed in victims.items():
        if not runs.has_role(cell.id, setting.name, unharmed):
            continue
        whose = "" if isinstance(cell, Call) else victim
        for metric in cell.metrics:

            def versus(other: str, metric: Metric = metric, victim: str = victim) -> Values:
                return runs.values(cell.id, setting.name, Role(other, victim), metric.key)

            alone = runs.values(cell.id, setting.name, unharmed, metric.key)
            if metric.informs:
                shown = {who: versus(who) for who in WHO}
                if isinstance(cell, Camps):
                    shown = {who: _ratios(values, alone) for who, values in shown.items()}
                beside = {bar: shown[bar] for bar in BARS}
                compared.append(_compared(setting, metric, whose, shown[CANDIDATE], beside, None, metric.scale))
                continue
            if metric.kind == LOSS:
                candidate, standards = versus(CANDIDATE), {bar: versus(bar) for bar in BARS}
                judgement = rule_r(candidate, standards, LOSS)
                one = _compared(setting, metric, whose, candidate, standards, judgement, metric.scale)
                compared.append(replace(one, main=metric is cell.metrics[0]))
                continue
            more = metric.kind == MORE
            candidate = harms(alone, versus(CANDIDATE), more_is_better=more)
            standards = {bar: harms(alone, versus(bar), more_is_better=more) for bar in BARS}
            one = _compared(setting, metric, whose, candidate, standards, rule_h(candidate, standards), 1.0)
            one = replace(one, title=metric.title(whose, harm=True), unit="", rule=Rule.HARM)
            if victim in OTHERS:
                one = replace(one, verdict=INFORMATION if one.judgement else NOT_RUN)
            elif metric.key == "victim.goodput_bps" and setting.equal_bps:
                one = _with_shares(one, versus, setting.equal_bps)
            compared.append(replace(one, main=metric is cell.metrics[0]))
    return compared


def _ratios(values: Values, to: Values) -> Values:
    return [None if x is None or not y else x / y for x, y in zip(values, to, strict=True)]


def _with_shares(one: Compared, versus: Callable[[str], Values], equal_bps: float) -> Compared:
    parts = {who: [None if v is None else v / equal_bps for v in versus(who)] for who in WHO}
    starved = starves(parts[CANDIDATE], {bar: parts[bar] for bar in BARS})
    known = {role: [value for value in values if value is not None] for role, values in parts.items()}
    shares = {role: sum(values) / len(values) for role, values in known.items() if values}
    return replace(one, starved=starved, verdict=WORSE if starved else one.verdict, shares=shares)


def _compared(
    setting: Setting,
    metric: Metric,
    victim: str,
    candidate: Values,
    standards: Mapping[str, Values],
    judgement: Judgement | None,
    scale: float,
) -> Compared:
    known = any(value is not None for value in candidate)
    if judgement is not None and judgement.apart is not None:
        judgement = replace(judgement, apart=judgement.apart * scale, least=judgement.least * scale)
    verdict = judgement.verdict if judgement else INFORMATION if metric.informs and known else NOT_RUN
    return Compared(
        setting=setting.name,
        metric=metric.key if not victim else f"{metric.key.removeprefix('victim.')} of {victim}",
        title=metric.title(victim),
        unit=metric.unit,
        verdict=verdict,
        main=True,
        candidate=_scaled(candidate, scale),
        standards={bar: _scaled(values, scale) for bar, values in standards.items()},
        judgement=judgement,
        why="" if verdict != NOT_RUN else f"needs {metric.key}",
        limit=None if metric.limit is None else metric.limit * metric.scale,
        rule=Rule.NONE if judgement is None else Rule.RATIO if metric.limit is None else Rule.LIMIT,
        victim=victim,
    )


def _scaled(values: Values, scale: float) -> Values:
    return [None if value is None else value * scale for value in values]
