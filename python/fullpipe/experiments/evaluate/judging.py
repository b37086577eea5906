"""From runs to words: each comparison, each cell, each criterion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
    INCONCLUSIVE,
    INFORMATION,
    LOSS,
    NO_WORSE,
    NOT_RUN,
    WORSE,
    Judgement,
    at_most,
    harms,
    holm,
    rule_h,
    rule_loss,
    rule_r,
    starves,
    times_tcp,
    worst,
)

__all__ = ["BARS", "WHO", "Compared", "JudgedCell", "Runs", "Values", "corrected", "judge_cell", "unclear"]

BARS = [standard.label for standard in STANDARDS]
WHO = (CANDIDATE, *BARS)
OTHERS = [party.label for party in DEPLOYED]

Values = list[float | None]


class Runs:
    """All runs' figures, by cell, setting, role and seed."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, Role], dict[int, Row]] = {}

    def has(self, cell: str, setting: str, role: Role, seed: int) -> bool:
        """Whether a run is there."""
        return seed in self._rows.get((cell, setting, role), {})

    def has_any(self, cell: str, setting: str) -> bool:
        """Whether a setting was run at all."""
        return any((of_cell, name) == (cell, setting) for of_cell, name, _ in self._rows)

    def has_role(self, cell: str, setting: str, role: Role) -> bool:
        """Whether a setting was run in that role."""
        return (cell, setting, role) in self._rows

    def add(self, cell: str, setting: str, role: Role, seed: int, row: Row) -> None:
        """Takes a run's figures."""
        self._rows.setdefault((cell, setting, role), {})[seed] = row

    def values(self, cell: str, setting: str, role: Role, key: str) -> Values:
        """A figure over the seeds."""
        rows = self._rows.get((cell, setting, role), {})
        return [rows[seed].get(key) for seed in sorted(rows)]

    def rows(self) -> list[dict[str, object]]:
        """A row per run."""
        return [
            {
                "cell": cell,
                "setting": setting,
                "role": str(role),
                "victim": role.victim,
                "other": role.other,
                "seed": seed,
                **rows[seed],
            }
            for (cell, setting, role), rows in self._rows.items()
            for seed in sorted(rows)
        ]


@dataclass(frozen=True)
class Compared:
    """A figure of a setting, beside the standards'.

    Attributes:
        setting: Where.
        metric: What; of harm with the victim.
        title: For readers.
        unit: Of the values.
        verdict: Its word; `INFORMATION` where it is not judged, `NOT_RUN` where the figure is unknown.
        main: Whether it may give its cell a better word than the others do.
        candidate: The figure over the seeds; of harm the harm.
        standards: The same of each standard.
        judgement: The numbers behind the word; ``apart`` and ``least`` are in the unit of the values.
        starved: The candidate starves flows that no standard starves.
        among_many: It is `WORSE` by itself, and not among so many comparisons (`corrected`).
        why: Why it was not run.
        shares: The victim's mean part of its equal share, by who is beside it.
        linux: The values of a real kernel, by who they are of; empty where it was not asked, or does not tell.
        asked_linux: Whether a real kernel ran the setting.
        linux_shares: As ``shares``, of a real kernel.
        times_tcp: Where losses are more than the standards': the rates over TCP's at the losses, of the candidate and
            of each standard, over the seeds.
        limit: How much is allowed, in the unit of the values, where that is what it is held against.
        rule: Rule that gives the verdict.
        victim: Label of the party that harm is done to; empty where no harm is judged.
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
    """A cell and its comparisons."""

    cell: Cell
    compared: Sequence[Compared]

    @property
    def verdict(self) -> str:
        """The worst word of the comparisons; those that are not the main ones can only make it worse."""
        counted = [one for one in self.compared if one.main or one.verdict not in (BETTER, NO_WORSE)]
        return worst(one.verdict for one in counted)

    @property
    def why(self) -> str:
        """Why there is no word."""
        if self.cell.missing:
            return self.cell.missing
        if not self.compared:
            return "not in this profile"
        return "; ".join(dict.fromkeys(one.why for one in self.compared if one.why))


def judge_cell(cell: Cell, settings: Sequence[Setting], runs: Runs, there: Runs | None = None) -> JudgedCell:
    """A cell's comparisons in the settings that were run; ``there`` are runs of a real kernel."""
    return JudgedCell(cell, [one for setting in settings for one in _beside(cell, setting, runs, there)])


def unclear(cell: Cell, setting: Setting, runs: Runs) -> bool:
    """Whether more seeds could tell more."""
    return any(one.verdict == INCONCLUSIVE for one in _compare(cell, setting, runs))


def corrected(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """The cells of a criterion after Holm's correction: what is ``worse`` by itself and not among so many comparisons
    is ``inconclusive``.
    """
    every = [one for cell in cells for one in cell.compared if one.judgement is not None and one.verdict != INFORMATION]
    kept = holm([one.judgement.p for one in every if one.judgement is not None])
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
    """With what the kernel has, where it was asked."""
    here = _compare(cell, setting, runs)
    if there is None or not there.has_any(cell.id, setting.name):
        return here
    real = {one.metric: one for one in _compare(cell, setting, there)}
    return [replace(one, asked_linux=True, **_from_kernel(real.get(one.metric))) for one in here]


def _from_kernel(one: Compared | None) -> dict[str, Any]:
    """What a comparison on the kernel adds to the simulator's."""
    if one is None:
        return {}
    values = {CANDIDATE: one.candidate, **one.standards}
    known = any(value is not None for each in values.values() for value in each)
    return {"linux": values, "linux_shares": one.shares} if known else {}


def _compare(cell: Cell, setting: Setting, runs: Runs) -> list[Compared]:
    if isinstance(cell, Beside):
        return _compare_harm(cell, setting, runs)
    return [_compare_ratio(cell, setting, metric, runs) for metric in cell.metrics]


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
    """The rate of a sender, in the mean of all of its role, over TCP's at what they lose."""
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
            more = metric.kind == "more"
            candidate = harms(alone, versus(CANDIDATE), more_is_better=more)
            standards = {bar: harms(alone, versus(bar), more_is_better=more) for bar in BARS}
            one = _compared(setting, metric, whose, candidate, standards, rule_h(candidate, standards), 1.0)
            one = replace(one, rule=Rule.HARM)
            if victim in OTHERS:
                one = replace(one, verdict=INFORMATION if one.judgement else NOT_RUN)
            elif metric.key == "victim.goodput_bps" and setting.equal_bps:
                one = _with_shares(one, versus, setting.equal_bps)
            compared.append(replace(one, main=metric is cell.metrics[0]))
    return compared


def _ratios(values: Values, to: Values) -> Values:
    """Seed by seed; None where one is unknown."""
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
        title=metric.title if not victim else f"{metric.title} of {victim}",
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
