"""Sequential decision on the checks of a suite: paired differences, looks at more seeds, and Holm's correction.

Each look is a one-sided t test of every open check, at an error probability of (1 - confidence) / looks. A suite as a
whole then has a false "worse" in at most 1 - confidence of all runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fullpipe.runs.aggregate import INCONCLUSIVE, WORSE, holm, p_above

__all__ = ["OK", "Sample", "Trial", "looks"]

OK = "ok"
"""Verdict of a check that is no worse than allowed."""


def looks(seeds: int, most: int) -> list[int]:
    """Numbers of seeds at which a suite is judged: doubled each time, the last one is ``most``."""
    found = [seeds]
    while 2 * found[-1] < most:
        found.append(2 * found[-1])
    return found if found[-1] == most else [*found, most]


@dataclass(frozen=True)
class Sample:
    """Paired differences of a check at a look.

    Attributes:
        costs: A difference for each seed; positive where the controller is worse.
        margin: Difference that does not count.
    """

    costs: Sequence[float]
    margin: float = 0.0

    @property
    def constant(self) -> bool:
        """Whether no test is needed: the seed makes no difference."""
        return min(self.costs) == max(self.costs)


@dataclass
class Trial:
    """Verdicts of a suite, look by look.

    Attributes:
        confidence: Confidence of the whole suite.
        looks: Number of looks.
        verdicts: Verdicts so far, by check.
    """

    confidence: float
    looks: int
    verdicts: dict[str, str] = field(default_factory=dict)
    _untested: set[str] = field(default_factory=set)

    def add(self, samples: Mapping[str, Sample]) -> None:
        """Judges the open checks by all seeds so far.

        Args:
            samples: A sample of each check that is still inconclusive.
        """
        error = (1 - self.confidence) / self.looks
        tested: dict[str, Sample] = {}
        for name, sample in samples.items():
            if sample.constant:
                self._untested.add(name)
                self.verdicts[name] = WORSE if sample.costs[0] > sample.margin else OK
            else:
                tested[name] = sample
        # Checks that were "ok" at an earlier look remain in the family. Each has a p value of 1 there.
        settled = sum(word == OK for name, word in self.verdicts.items() if name not in self._untested)
        p_values = [p_above(sample.costs, sample.margin) for sample in tested.values()]
        rejected = holm([*p_values, *[1.0] * settled], error)
        for (name, sample), worse in zip(tested.items(), rejected, strict=False):
            better = p_above([-cost for cost in sample.costs], -sample.margin) <= error
            self.verdicts[name] = WORSE if worse else OK if better else INCONCLUSIVE

    @property
    def open(self) -> list[str]:
        """Checks that are inconclusive so far."""
        return [name for name, word in self.verdicts.items() if word == INCONCLUSIVE]
