"""Black-box maximization in the unit cube, one subspace after another: a low-discrepancy sequence, then CMA-ES.

Some dimensions are *extras*, which a point can do without. Weaknesses seldom need many extras at once, so that the
sequence covers the cube without extras, with each one, with each pair of them, and with some larger sets. CMA-ES then
searches the one without extras, and then those with the best points, of which each second one has at most one extra.

Halton's sequence (Numerische Mathematik 2, 1960) with a random shift covers a subspace. N. Hansen's library ``cma``
runs CMA-ES (Hansen and Ostermeier, Evolutionary Computation 9(2), 2001), which sees ranks alone. The order of the
questions depends on the seed and on the answers, and never on the clock or on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, combinations, cycle
from typing import Any

from fullpipe.errors import InputError

__all__ = ["Fitness", "Place", "maximize"]

Fitness = tuple[bool, float]
"""Whether a point counts, and its value, or the negative violation of one that does not."""

Place = tuple[float | None, ...]
"""Point of the cube; None for an extra that it does without."""

Subspace = tuple[int, ...]
"""Dimensions that vary."""

FIRST = 0.4
"""Part of the evaluations, or of the time, that the sequence takes."""

BATCH = 32
"""Points that are asked together."""

LARGER = 8
"""Sets of three or more extras that the sequence covers."""

SEARCHES = 2
"""Searches side by side."""

POPULATION = 10
"""Candidates of a search in each round; doubled when all subspaces have been searched."""

ROUNDS = 10
"""Rounds of a search, at most."""

SPREAD = 0.2
"""First standard deviation of a search."""

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)


def maximize(
    answer: Callable[[Sequence[Place], int], Sequence[Fitness]],
    dimensions: int,
    extras: Sequence[Subspace],
    evaluations: int,
    is_over: Callable[[float], bool],
    seed: int = 1,
) -> None:
    """Asks for the fitness of points, those with promise more often, until there were enough.

    Args:
        answer: Function that measures points with some seeds each (first one, then two).
        dimensions: Number of dimensions, 1 to 20.
        extras: Sets of them that a point can do without.
        evaluations: Number of points.
        is_over: Whether to end early; called with the part of the whole time that has been planned for the phase.
        seed: Seed of the random choices.

    Raises:
        InputError: The package ``cma`` is missing.
    """
    numpy = import_module("numpy")
    try:
        import_module("cma")
    except ModuleNotFoundError:
        raise InputError("search requires cma: pip install 'fullpipe[search]'") from None
    random = numpy.random.default_rng(seed)
    best: dict[Subspace, tuple[Fitness, Place]] = {}
    first = max(1, int(FIRST * evaluations))
    places = _sequence(_schedule(dimensions, extras, random), dimensions, random)
    asked = 0
    while asked < first and not is_over(FIRST):
        batch = [next(places) for _ in range(min(BATCH, first - asked))]
        for fitness, place in zip(answer(batch, 1), batch, strict=True):
            subspace = tuple(i for i, x in enumerate(place) if x is not None)
            best[subspace] = max(best.get(subspace, (fitness, place)), (fitness, place), key=lambda each: each[0])
        asked += len(batch)
    starts = _starts(best, extras)
    searches: list[Climb] = []
    while asked < evaluations and starts and not is_over(1.0):
        searches = [each for each in searches if not each.is_done]
        while len(searches) < SEARCHES:
            searches.append(Climb(*next(starts), dimensions, random))
        asked += _round(searches, answer, evaluations - asked)


def _round(searches: Sequence[Climb], answer: Callable[[Sequence[Place], int], Sequence[Fitness]], most: int) -> int:
    """A round of the searches; returns the number of points, at most ``most``."""
    questions = [each.ask() for each in searches]
    places = [place for many in questions for place in many][:most]
    found = list(answer(places, 2))
    for each, many in zip(searches, questions, strict=True):
        answers, found = found[: len(many)], found[len(many) :]
        if len(answers) == len(many):
            each.tell(answers)
    return len(places)


@dataclass
class Climb:
    """A search by CMA-ES in a subspace.

    Attributes:
        start: Where it begins; its extras stay.
        population: Candidates of a round.
        dimensions: Number of dimensions of the cube.
        random: Random numbers.
    """

    start: Place
    population: int
    dimensions: int
    random: Any
    rounds: int = 0
    strategy: Any = field(init=False)
    asked: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.subspace = [i for i, x in enumerate(self.start) if x is not None]
        # CMA-ES of one dimension is not defined: a second one has no effect.
        mean = [x for x in self.start if x is not None] + [0.5] * (2 - len(self.subspace))
        options = {"bounds": [0, 1], "popsize": self.population, "verbose": -9, "seed": float("nan")}
        options["randn"] = lambda *shape: self.random.standard_normal(shape)
        self.strategy = import_module("cma").CMAEvolutionStrategy(mean, SPREAD, options)

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.rounds >= ROUNDS or bool(self.strategy.stop())

    def ask(self) -> list[Place]:
        """The next points."""
        self.asked = self.strategy.ask()
        found = []
        for values in self.asked:
            at = {i: min(1.0, max(0.0, float(x))) for i, x in zip(self.subspace, values, strict=False)}
            found.append(tuple(at.get(i) for i in range(self.dimensions)))
        return found

    def tell(self, answers: Sequence[Fitness]) -> None:
        """Takes in the fitness of the points."""
        order = sorted(range(len(answers)), key=answers.__getitem__, reverse=True)
        ranks = {place: float(rank) for rank, place in enumerate(order)}
        self.strategy.tell(self.asked, [ranks[place] for place in range(len(answers))])
        self.rounds += 1


def _schedule(dimensions: int, extras: Sequence[Subspace], random: Any) -> list[Subspace]:
    """Subspaces of the sequence, in turn: those with at most one extra come more often."""
    base = set(range(dimensions)).difference(*extras)
    few: list[tuple[Subspace, ...]] = [(), (), *((extra,) for extra in extras)]
    larger = []
    for _ in range(LARGER if len(extras) > 2 else 0):
        count = int(random.integers(3, len(extras) + 1))
        larger.append(tuple(extras[int(i)] for i in random.choice(len(extras), count, replace=False)))
    sets = [*few, *few, *combinations(extras, 2), *larger]
    return [tuple(sorted(base.union(*chosen))) for chosen in sets if base or chosen]


def _sequence(schedule: Sequence[Subspace], dimensions: int, random: Any) -> Iterator[Place]:
    """Points of Halton's sequence in each subspace, one after another. Each subspace has a shift of its own: with an
    equal one, dimensions that all subspaces have would take the same few values in each.
    """
    shifts = {subspace: [float(x) for x in random.random(dimensions)] for subspace in dict.fromkeys(schedule)}
    counts: dict[Subspace, int] = {}
    for subspace in cycle(schedule):
        number = counts[subspace] = counts.get(subspace, 0) + 1
        values = {
            i: (_radical_inverse(number, prime) + shifts[subspace][i]) % 1
            for i, prime in zip(subspace, PRIMES, strict=False)
        }
        yield tuple(values.get(i) for i in range(dimensions))


def _starts(best: dict[Subspace, tuple[Fitness, Place]], extras: Sequence[Subspace]) -> Iterator[tuple[Place, int]]:
    """Where searches begin, and their populations: in the subspace without extras, and then alternately in the best one
    that is left, and in the best one with at most one extra.
    """
    population = POPULATION
    counts = {subspace: sum(set(extra) <= set(subspace) for extra in extras) for subspace in best}
    while True:
        left = sorted(best, key=lambda subspace: best[subspace][0], reverse=True)
        for most in chain((0,), cycle((len(extras), 1))):
            if not left:
                break
            subspace = next((each for each in left if counts[each] <= most), left[0])
            left.remove(subspace)
            yield best[subspace][1], population
        population *= 2


def _radical_inverse(number: int, base: int) -> float:
    found, part = 0.0, 1 / base
    while number:
        number, digit = divmod(number, base)
        found += digit * part
        part /= base
    return found
