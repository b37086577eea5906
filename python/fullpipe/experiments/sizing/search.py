"""Looks for the buffers that meet what is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Bracket", "Search", "Verdict"]

FIRST_SEEDS = 2
"""Seeds a buffer gets before it is asked whether more are needed."""

STRIDE = 1.5
"""From one buffer to the next while the answer is not yet between two of them."""

Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Verdict:
    """Whether samples meet what is asked of them, and whether the 95 % confidence intervals leave no doubt."""

    met: bool
    sure: bool


@dataclass(frozen=True)
class Bracket:
    """Where the answer lies.

    Attributes:
        low: The largest buffer found too small; None where the smallest possible one will do.
        high: The smallest that will do, on the mean over the seeds; None where none up to the limit does.
        sure_low: The nearest one tried below that surely will not; None without.
        sure_high: The nearest one tried from `high` on that surely will; None without.
    """

    low: int | None
    high: int | None
    sure_low: int | None
    sure_high: int | None


@dataclass(frozen=True)
class Search(Generic[Sample]):
    """Buffers tried, and what came of them.

    A buffer gets seeds until the verdict on it is sure, or ``seeds`` of them.

    Attributes:
        measure: What comes of a buffer (packets) with a seed (from 0).
        samples: What was measured, one per seed, by buffer; grows, and serves one question after another.
        most: The largest buffer tried, packets.
        seeds: Seeds per buffer, at most; 1 where nothing is random.
        precision: A search ends once two buffers are no further apart than this part of the smaller one, or a packet.
    """

    measure: Callable[[int, int], Sample]
    samples: dict[int, list[Sample]]
    most: int
    seeds: int
    precision: float

    def smallest(self, judge: Callable[[Sequence[Sample]], Verdict], guess: int) -> Bracket:
        """The smallest buffer that will do, taking it that all larger ones do: strides out from a guess until it lies
        between two buffers, then halves between them on a logarithmic scale.
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
        """The smallest buffer that will do, from the high end of a bracket on to ``end``, where larger ones need not:
        strides up until one does, then halves between the last two.
        """
        low, buffer = below.low, below.high or 1
        while not self.meets(judge, buffer):
            if buffer >= end:
                return Bracket(buffer, None, buffer, None)
            low, buffer = buffer, min(end, math.ceil(buffer * STRIDE))
        return self._between(judge, low, buffer)

    def meets(self, judge: Callable[[Sequence[Sample]], Verdict], buffer: int) -> bool:
        """Whether a buffer will do."""
        return self._verdict(judge, buffer).met

    def sample(self, buffer: int) -> None:
        """Measures a buffer, whatever is asked of it."""
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
        """The first buffer whose seeds leave no doubt."""
        for buffer in buffers:
            if self._verdict(judge, buffer).sure or len(self.samples[buffer]) == 1:
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
