"""Search for the smallest buffer that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Bracket", "Search", "Verdict"]

FIRST_SEEDS = 2
"""Seeds of a buffer before the search decides whether to add more."""

STRIDE = 1.5
"""Factor between buffers until the answer is bracketed."""

Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Verdict:
    """Whether samples meet a target, and whether the 95 % confidence intervals are clear."""

    met: bool
    sure: bool


@dataclass(frozen=True)
class Bracket:
    """Interval of the answer.

    Attributes:
        low: Largest buffer that fails; None if the smallest possible buffer succeeds.
        high: Smallest buffer that succeeds, on the mean over the seeds; None if no buffer up to the limit does.
        sure_low: Nearest buffer below that clearly fails; None without one.
        sure_high: Nearest buffer from `high` on that clearly succeeds; None without one.
    """

    low: int | None
    high: int | None
    sure_low: int | None
    sure_high: int | None


@dataclass(frozen=True)
class Search(Generic[Sample]):
    """Buffers that were tried, and their samples. A buffer gets seeds until its verdict is clear, at most ``seeds``.

    Attributes:
        measure: Function that measures a buffer (packets) with a seed (from 0).
        samples: Samples of each seed, by buffer; shared between targets.
        most: Largest buffer, packets.
        seeds: Most seeds per buffer; 1 without randomness.
        precision: Relative distance, or one packet, between two buffers at which a search ends.
    """

    measure: Callable[[int, int], Sample]
    samples: dict[int, list[Sample]]
    most: int
    seeds: int
    precision: float

    def smallest(self, judge: Callable[[Sequence[Sample]], Verdict], guess: int) -> Bracket:
        """Smallest buffer that succeeds, if all larger ones succeed: strides from a guess until the answer is
        bracketed, then bisection on a logarithmic scale.
        """
        tried = {buffer: self.meets(judge, buffer) for buffer in list(self.samples)}
        high = min((buffer for buffer, good in tried.items() if good), default=None)
        low = max(
            (buffer for buffer, good in tried.items() if not good and (high is None or buffer < high)), default=None
        )
        while low is None or high is None:
            if high is not None:
                buffer = max(1, math.floor(high / STRIDE))
            elif low is not None:
                buffer = min(self.most, math.ceil(low * STRIDE))
            else:
                buffer = min(self.most, max(1, guess))
            if buffer in (low, high):
                break
            if self.meets(judge, buffer):
                high = buffer
            else:
                low = buffer
        return self._between(judge, low, high)

    def first(self, judge: Callable[[Sequence[Sample]], Verdict], below: Bracket, end: int) -> Bracket:
        """Smallest buffer that succeeds, from the high end of a bracket up to ``end``, if larger ones may fail: strides
        upward until one succeeds, then bisection.
        """
        low, buffer = below.low, below.high or 1
        while not self.meets(judge, buffer):
            if buffer >= end:
                return Bracket(buffer, None, buffer, None)
            low, buffer = buffer, min(end, math.ceil(buffer * STRIDE))
        return self._between(judge, low, buffer)

    def meets(self, judge: Callable[[Sequence[Sample]], Verdict], buffer: int) -> bool:
        """Whether a buffer succeeds."""
        return self._verdict(judge, buffer).met

    def sample(self, buffer: int) -> None:
        """Measures a buffer without a target."""
        self._verdict(lambda _: Verdict(met=True, sure=True), buffer)

    def _between(self, judge: Callable[[Sequence[Sample]], Verdict], low: int | None, high: int | None) -> Bracket:
        while low is not None and high is not None and high - low > 1 and high > low * (1 + self.precision):
            middle = min(high - 1, max(low + 1, round(math.sqrt(low * high))))
            if self.meets(judge, middle):
                high = middle
            else:
                low = middle
        sure_low = low if low is None or high is None else self._first_sure(judge, _down(low, self.precision))
        sure_high = high if high is None else self._first_sure(judge, _up(high, self.most, self.precision))
        return Bracket(low, high, sure_low, sure_high)

    def _verdict(self, judge: Callable[[Sequence[Sample]], Verdict], buffer: int) -> Verdict:
        values = self.samples.setdefault(buffer, [])
        while len(values) < self.seeds and (len(values) < FIRST_SEEDS or not judge(values).sure):
            values.append(self.measure(buffer, len(values)))
        return judge(values)

    def _first_sure(self, judge: Callable[[Sequence[Sample]], Verdict], buffers: Iterable[int]) -> int | None:
        for buffer in buffers:
            if self._verdict(judge, buffer).sure or len(self.samples[buffer]) == 1:
                return buffer
        return None


def _down(buffer: int, precision: float) -> Iterator[int]:
    """Buffers downward in growing steps, to 1."""
    while buffer > 1:
        yield buffer
        buffer, precision = max(1, min(buffer - 1, round(buffer / (1 + precision)))), 2 * precision
    yield 1


def _up(buffer: int, most: int, precision: float) -> Iterator[int]:
    """Buffers upward in growing steps, to the limit."""
    while buffer < most:
        yield buffer
        buffer, precision = min(most, max(buffer + 1, round(buffer * (1 + precision)))), 2 * precision
    yield most
