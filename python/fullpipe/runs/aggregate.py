"""Statistics of all experiments: means over repeats, confidence intervals, paired differences, percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

__all__ = [
    "BETTER",
    "INCONCLUSIVE",
    "NO_WORSE",
    "WORSE",
    "Estimate",
    "estimate",
    "holm",
    "p_above",
    "paired",
    "percentile",
    "student_t",
    "tails",
    "verdict",
]

BETTER, NO_WORSE, INCONCLUSIVE, WORSE = "better", "no worse", "inconclusive", "worse"
"""Verdicts of a comparison. "No worse" is non-inferior at a margin."""


@dataclass(frozen=True)
class Estimate:
    """Estimate of a metric from repeats.

    Attributes:
        mean: Their mean.
        sd: Their standard deviation, with n - 1 below; None for one repeat.
        ci95: Half of the width of the mean's 95 % confidence interval, by Student's t; None for one repeat.
    """

    mean: float
    sd: float | None
    ci95: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of at least one value, taking them for independent and normal."""
    n = len(values)
    # The mean of equal values is that value, however their sum is rounded.
    mean = values[0] if min(values) == max(values) else math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, None)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Estimate(mean, sd, student_t(n - 1) * sd / math.sqrt(n))


def paired(ones: Sequence[float | None], others: Sequence[float | None]) -> Estimate | None:
    """Mean difference of the first values from the others, pair by pair under equal random choices; None without a pair
    that has both values.
    """
    differences = [
        one - other for one, other in zip(ones, others, strict=True) if one is not None and other is not None
    ]
    return estimate(differences) if differences else None


def verdict(cost: Estimate, margin: float = 0.0) -> str:
    """Verdict on a mean difference of costs, candidate minus baseline.

    "Worse": the 95 % confidence interval is above the margin. "Better": the interval is below the negative margin. "No
    worse": the interval ends at or below the margin. All else, and one repeat alone, is "inconclusive".

    Args:
        cost: Difference; positive where the candidate is worse.
        margin: Greatest difference that is no worse, at least 0.
    """
    if cost.ci95 is None:
        return INCONCLUSIVE
    if cost.mean - cost.ci95 > margin:
        return WORSE
    if cost.mean + cost.ci95 < -margin:
        return BETTER
    return NO_WORSE if cost.mean + cost.ci95 <= margin else INCONCLUSIVE


def percentile(values: Sequence[float], fraction: float) -> float:
    """Percentile by nearest rank: the least of the values that at least this fraction of them does not exceed.

    Args:
        values: One value at least, in any order.
        fraction: Above 0, at most 1.
    """
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]


@cache
def student_t(freedom: int, confidence: float = 0.95) -> float:
    """The t that Student's distribution stays within with that probability, on both sides.

    Args:
        freedom: Degrees of freedom, at least 1.
        confidence: Probability, above 0, below 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def tails(t: float, freedom: int) -> float:
    """The probability that Student's distribution lies further from 0 than t, on either side.

    Args:
        t: At least 0; infinity is allowed.
        freedom: Degrees of freedom, at least 1.
    """
    return max(0.0, 1.0 - _within(t, freedom))


def p_above(values: Sequence[float], limit: float = 0.0) -> float:
    """Probability of error of the one-sided t test that the mean of the values is above a limit.

    Args:
        values: At least two independent values.
        limit: Mean of the null hypothesis.
    """
    one = estimate(values)
    over = one.mean - limit
    if not one.sd:
        return 0.0 if over > 0 else 1.0
    half = tails(abs(over) / (one.sd / math.sqrt(len(values))), len(values) - 1) / 2
    return half if over > 0 else 1 - half


def holm(p_values: Sequence[float], family: float) -> list[bool]:
    """Hypotheses to reject, so that the probability of one false rejection stays within ``family``.

    S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6(2), 1979:
    the k-th smallest of n values is compared with family/(n - k + 1), up to the first one above it.
    """
    rejected = [False] * len(p_values)
    for done, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        if p_values[place] > family / (len(p_values) - done):
            break
        rejected[place] = True
    return rejected


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t): Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for i in range((freedom - 1) // 2 if odd else freedom // 2):
        total += term
        term *= square * (2 * i + 1 + odd) / (2 * i + 2 + odd)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
