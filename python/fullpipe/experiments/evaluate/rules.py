"""Rules from runs to verdicts: rule H (harm), rule R (a ratio), starvation, and Holm's correction.

Each verdict is relative to an IETF standard: for each metric, to the one of NewReno and CUBIC with the worse mean. The
thresholds are ours, because RFC 9743 section 5 gives none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fullpipe.experiments.duel import harm
from fullpipe.runs.aggregate import BETTER, INCONCLUSIVE, NO_WORSE, WORSE, estimate, tails, verdict

__all__ = [
    "BETTER",
    "FAMILY",
    "HARM_MARGIN",
    "IDLE",
    "INCONCLUSIVE",
    "INFORMATION",
    "KINDS",
    "LESS",
    "LOSS",
    "MORE",
    "NOT_APPLICABLE",
    "NOT_RUN",
    "NO_WORSE",
    "TIMES_TCP",
    "WORSE",
    "Judgement",
    "Kind",
    "at_most",
    "harms",
    "judge",
    "rule_h",
    "rule_loss",
    "rule_r",
    "starves",
    "tcp_bps",
    "times_tcp",
    "worst",
]

NOT_RUN, NOT_APPLICABLE, INFORMATION = "not run", "not applicable", "information"
BADNESS = (BETTER, NO_WORSE, INCONCLUSIVE, WORSE)
"""Verdicts from runs, from best to worst."""

HARM_MARGIN = 0.05
"""Harm beyond the baseline's harm that is still no worse. Ten seeds can resolve it."""

FAMILY = 0.05
"""Probability of one false "worse" among all comparisons of a criterion, after Holm's correction."""

STARVED = 0.1
"""Fraction of its equal share below which a flow starves."""


TIMES_TCP = 10.0
"""Largest acceptable rate over TCP's rate at the loss. Loss is acceptable if a TCP flow on that path, under that loss,
would have the sender's throughput within an order of magnitude (RFC 3551, section 2; RFC 8083, section 4.3).
"""


@dataclass(frozen=True)
class Kind:
    """Comparison of a metric by rule R.

    Attributes:
        cost: Function that returns the natural logarithm of the cost, which should be small.
        factor: Cost over the baseline's cost that is still no worse.
        least: Difference of the means that does not count, whatever their ratio.
    """

    cost: Callable[[float], float]
    factor: float
    least: float = 0.0


LESS, MORE, IDLE, LOSS = "less", "more", "idle", "loss"
TINY = 1e-5
KINDS = {
    # Delays and completion times. Values below 0.1 ms, one packet of 1500 bytes at 120 Mbit/s, count as equal.
    LESS: Kind(lambda value: math.log(max(value, 1e-4)), 1.1),
    MORE: Kind(lambda value: -math.log(max(value, TINY)), 1.1),
    # Idle fraction of the capacity plus one point, so that 99.9 % is not ten times as good as 99 %.
    IDLE: Kind(lambda value: math.log(max(1 - value, 0.0) + 0.01), 1.1),
    LOSS: Kind(lambda value: math.log(max(value, TINY)), 1.3, 0.001),
}


@dataclass(frozen=True)
class Judgement:
    """Comparison of a candidate's runs with the baseline's.

    Attributes:
        verdict: One of `BETTER`, `NO_WORSE`, `INCONCLUSIVE`, `WORSE`.
        bar: Standard that is the baseline; empty for a fixed limit.
        mean: Mean difference over the seeds; positive if the candidate is worse.
        ci95: Half of the width of its 95 % confidence interval, paired by seed.
        margin: Difference that is still no worse.
        p: Two-sided probability of a mean this far beyond the margin by chance; 1 if it is within the margin.
        seeds: Number of pairs.
        of_rates: Whether rates over TCP's rates are compared (`rule_loss`) and not losses.
        apart: Difference of the means if it is too small to count and gives the verdict; None otherwise.
        least: Difference that would count.
    """

    verdict: str
    bar: str
    mean: float
    ci95: float
    margin: float
    p: float
    seeds: int
    of_rates: bool = False
    apart: float | None = None
    least: float = 0.0


def judge(differences: Sequence[float], margin: float, bar: str = "") -> Judgement:
    """Verdict for at least two paired differences of a cost, candidate less baseline.

    ``worse`` if the interval is above the margin, ``better`` if it is below the negative margin, ``no worse`` if it
    ends at or below the margin, ``inconclusive`` otherwise.
    """
    over = estimate(differences)
    assert over.sd is not None
    assert over.ci95 is not None
    mean, ci95, n = over.mean, over.ci95, len(differences)
    beyond = mean - margin
    error = over.sd / math.sqrt(n)
    p = 1.0 if beyond <= 0 else tails(beyond / error if error else math.inf, n - 1)
    return Judgement(verdict(over, margin), bar, mean, ci95, margin, p, n)


def harms(alone: Sequence[float | None], beside: Sequence[float | None], *, more_is_better: bool) -> list[float | None]:
    """Harm by Ware et al. for each seed; None if a metric is unknown."""
    return [
        None if x is None or y is None else harm(x, y, more_is_better=more_is_better)
        for x, y in zip(alone, beside, strict=True)
    ]


def rule_h(candidate: Sequence[float | None], standards: Mapping[str, Sequence[float | None]]) -> Judgement | None:
    """Rule H: the candidate's harm compared with the largest mean harm that a standard does to these flows. CUBIC's
    harm to NewReno counts, because CUBIC is a standard. None without two pairs.
    """
    return _against(candidate, standards, lambda value: value, HARM_MARGIN)


def rule_r(
    candidate: Sequence[float | None], standards: Mapping[str, Sequence[float | None]], kind: str
) -> Judgement | None:
    """Rule R: the logarithm of the ratio of costs to the standard with the larger mean cost. None without two pairs."""
    how = KINDS[kind]
    judged = _against(candidate, standards, how.cost, math.log(how.factor))
    if judged is None or not how.least:
        return judged
    pairs = _pairs(candidate, standards[judged.bar])
    apart = math.fsum(one - other for one, other in pairs) / len(pairs)
    if judged.verdict in (WORSE, INCONCLUSIVE, BETTER) and abs(apart) <= how.least:
        return replace(judged, verdict=NO_WORSE, p=1.0, apart=apart, least=how.least)
    return judged


def rule_loss(
    candidate: Sequence[float | None],
    standards: Mapping[str, Sequence[float | None]],
    times: Sequence[float | None],
    standards_times: Mapping[str, Sequence[float | None]],
) -> Judgement | None:
    """Rule R for the loss rates of senders. Losses that are not "no worse" are ``worse`` only if the sender's rate over
    TCP's rate is also more than `TIMES_TCP` times a standard's rate over TCP's rate. None without two pairs.

    TCP's rate is RFC 5348's equation for independent losses. The standards' rates show how far TCP is from the equation
    in this network; they count as at least 1.

    Args:
        candidate: Loss rate by seed.
        standards: Loss rates of each standard.
        times: Candidate's rate over TCP's rate at its loss and RTT (`tcp_bps`), by seed.
        standards_times: Rates of each standard over TCP's rate.
    """
    judged = rule_r(candidate, standards, LOSS)
    if judged is None or judged.verdict in (BETTER, NO_WORSE):
        return judged
    bars = {name: [None if v is None else max(v, 1.0) for v in values] for name, values in standards_times.items()}
    beyond = _against(times, bars, lambda value: math.log(max(value, TINY)), math.log(TIMES_TCP))
    if beyond is None:
        return judged
    beyond = replace(beyond, of_rates=True)
    if beyond.verdict == WORSE:
        return replace(judged, p=max(judged.p, beyond.p))
    if beyond.verdict == INCONCLUSIVE:
        return replace(beyond, p=max(judged.p, beyond.p))
    return replace(beyond, verdict=NO_WORSE)


def tcp_bps(loss: float, rtt_s: float, packet_bytes: float) -> float:
    """Rate of a TCP flow with this loss rate: RFC 5348, section 3.1, with ``b`` of 1 and ``t_RTO`` of four RTTs."""
    if not loss:
        return math.inf
    waits = 4 * (3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    return 8 * packet_bytes / (rtt_s * (math.sqrt(2 * loss / 3) + waits))


def times_tcp(goodput_bps: float, loss: float, rtt_s: float, packet_bytes: float) -> float:
    """Sending rate of a flow over TCP's rate at its loss (`tcp_bps`)."""
    return goodput_bps / (1 - loss) / tcp_bps(loss, rtt_s, packet_bytes)


def at_most(candidate: Sequence[float | None], limit: float) -> Judgement | None:
    """Limit of an RFC. One run beyond it is a violation."""
    known = [value for value in candidate if value is not None]
    if not known:
        return None
    most = max(known)
    broken = most > limit
    return Judgement(WORSE if broken else NO_WORSE, "", most - limit, 0.0, 0.0, 0.0 if broken else 1.0, len(known))


def starves(shares: Sequence[float | None], standards: Mapping[str, Sequence[float | None]]) -> bool:
    """Whether a candidate starves flows that no standard starves: goodput below a tenth of the equal share in more than
    half of the seeds.

    Args:
        shares: Goodput over the equal share versus the candidate, by seed.
        standards: Goodput over the equal share versus each standard.
    """
    return _starved(shares) and not any(_starved(others) for others in standards.values())


def worst(verdicts: Iterable[str]) -> str:
    """Worst verdict; `NOT_RUN` if there is none."""
    earned = [verdict for verdict in verdicts if verdict in BADNESS]
    return max(earned, key=BADNESS.index) if earned else NOT_RUN


def _against(
    candidate: Sequence[float | None],
    standards: Mapping[str, Sequence[float | None]],
    cost: Callable[[float], float],
    margin: float,
) -> Judgement | None:
    costs = {name: [cost(value) for value in values if value is not None] for name, values in standards.items()}
    known = {name: math.fsum(values) / len(values) for name, values in costs.items() if values}
    if not known:
        return None
    bar = max(known, key=lambda name: known[name])
    differences = [cost(one) - cost(other) for one, other in _pairs(candidate, standards[bar])]
    return judge(differences, margin, bar) if len(differences) > 1 else None


def _pairs(ones: Sequence[float | None], others: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(one, other) for one, other in zip(ones, others, strict=True) if one is not None and other is not None]


def _starved(shares: Sequence[float | None]) -> bool:
    known = [share for share in shares if share is not None]
    return 2 * sum(share < STARVED for share in known) > len(known)
