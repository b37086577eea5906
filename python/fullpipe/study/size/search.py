"""Looks for the smallest buffer that reaches a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fullpipe.study.statistics import Estimate, estimate

__all__ = ["Bracket", "Samples", "smallest"]

Samples = dict[int, list[float]]
"""The utilizations measured, one per seed, by the buffer they were measured with, packets."""

FIRST_SEEDS = 2
"""Seeds a buffer gets before it is asked whether more are needed."""

STRIDE = 1.5
"""From one buffer to the next while the answer is not yet between two of them."""


@dataclass(frozen=True)
class Bracket:
    """Where the answer lies.

    Attributes:
        low: The largest buffer found too small; None where the smallest possible one reaches the target.
        high: The smallest that reaches it, on the mean over the seeds; None where none up to the limit does.
        sure_low: The nearest one tried below of which the 95 % confidence interval leaves the target out; None without.
        sure_high: The nearest one tried from `high` on of which it does; None without.
    """

    low: int | None
    high: int | None
    sure_low: int | None
    sure_high: int | None


def smallest(
    measure: Callable[[int, int], float],
    target: float,
    *,
    samples: Samples,
    guess: int,
    most: int,
    seeds: int,
    precision: float,
) -> Bracket:
    """The smallest buffer whose mean utilization reaches a target: strides out from a guess until it lies between two
    buffers, then halves between them on a logarithmic scale. Utilization is taken to grow with the buffer.

    A buffer gets seeds until its 95 % confidence interval leaves the target out, or `seeds` of them.

    Args:
        measure: The utilization with a buffer (packets) and a seed (from 0).
        target: The utilization to reach.
        samples: What was measured before, for another target; grows.
        guess: A buffer to begin with, packets.
        most: The largest buffer tried, packets.
        seeds: Seeds per buffer, at most; 1 where nothing is random.
        precision: Ends once the two are no further apart than this part of the smaller one, or a packet.
    """

    def reaches(buffer: int) -> bool:
        values = samples.setdefault(buffer, [])
        while len(values) < seeds and (len(values) < FIRST_SEEDS or not _decided(estimate(values), target)):
            values.append(measure(buffer, len(values)))
        return estimate(values).mean >= target

    tried = {buffer: reaches(buffer) for buffer in list(samples)}
    high = min((buffer for buffer, good in tried.items() if good), default=None)
    low = max((buffer for buffer, good in tried.items() if not good and (high is None or buffer < high)), default=None)
    while low is None or high is None:
        if high is not None:
            buffer = max(1, math.floor(high / STRIDE))
        elif low is not None:
            buffer = min(most, math.ceil(low * STRIDE))
        else:
            buffer = min(most, max(1, guess))
        if buffer in (low, high):
            break
        if reaches(buffer):
            high = buffer
        else:
            low = buffer
    while low is not None and high is not None and high - low > 1 and high > low * (1 + precision):
        middle = min(high - 1, max(low + 1, round(math.sqrt(low * high))))
        if reaches(middle):
            high = middle
        else:
            low = middle
    sure_low = low if low is None or high is None else _first(_down(low, precision), reaches, samples, target)
    sure_high = high if high is None else _first(_up(high, most, precision), reaches, samples, target)
    return Bracket(low, high, sure_low, sure_high)


def _first(buffers: Iterable[int], reaches: Callable[[int], bool], samples: Samples, target: float) -> int | None:
    """The first buffer whose seeds leave no doubt on which side of the target it is."""
    for buffer in buffers:
        reaches(buffer)
        if len(samples[buffer]) == 1 or _decided(estimate(samples[buffer]), target):
            return buffer
    return None


def _down(buffer: int, precision: float) -> Iterator[int]:
    """From a buffer down in growing steps, to 1."""
    while buffer > 1:
        yield buffer
        buffer, precision = max(1, min(buffer - 1, round(buffer / (1 + precision)))), 2 * precision
    yield 1


def _up(buffer: int, most: int, precision: float) -> Iterator[int]:
    """From a buffer up in growing steps, to the limit."""
    while buffer < most:
        yield buffer
        buffer, precision = min(most, max(buffer + 1, round(buffer * (1 + precision)))), 2 * precision
    yield most


def _decided(measured: Estimate, target: float) -> bool:
    return measured.ci95 is not None and abs(measured.mean - target) > measured.ci95
