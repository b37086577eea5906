"""Black-box maximization in the unit cube: a low-discrepancy sequence, then CMA-ES from its best regions.

Halton's sequence (Numerische Mathematik 2, 1960) with a random shift covers the cube. N. Hansen's library ``cma`` runs
CMA-ES (Hansen and Ostermeier, Evolutionary Computation 9(2), 2001), which sees ranks alone. The order of the questions
depends on the seed and on the answers, and never on the clock or on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from fullpipe.errors import InputError

__all__ = ["Fitness", "maximize"]

Fitness = tuple[bool, float]
"""Whether a point counts, and its value, or the negative violation of one that does not."""

Vector = tuple[float, ...]

FIRST = 256
"""Points of the sequence, at most."""

BATCH = 32
"""Points that are asked together."""

REGIONS = 2
"""Searches side by side."""

POPULATION = 10
"""Candidates of a search in each round; doubled at each restart."""

SPREAD = 0.2
"""First standard deviation of a search; half of it is the least distance of two regions."""

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def maximize(
    answer: Callable[[Sequence[Vector], int], Sequence[Fitness]],
    dimensions: int,
    evaluations: int,
    is_over: Callable[[float], bool],
    seed: int = 1,
) -> None:
    """Asks for the fitness of points, those with promise more often, until there were enough.

    Args:
        answer: Function that measures points with some seeds each (first one, then two).
        dimensions: Number of dimensions, 1 to 12.
        evaluations: Number of points.
        is_over: Whether to end early; called with the part of the whole time that has been planned for the phase.
        seed: Seed of the random choices.

    Raises:
        InputError: The package ``cma`` is missing.
    """
    numpy = import_module("numpy")
    try:
        cma = import_module("cma")
    except ModuleNotFoundError:
        raise InputError("search requires cma: pip install 'fullpipe[search]'") from None
    random = numpy.random.default_rng(seed)
    shift = random.random(dimensions)
    first = min(FIRST, max(1, evaluations * 2 // 5))
    known: list[tuple[Fitness, Vector]] = []
    while len(known) < first and not is_over(0.4):
        numbers = range(len(known), min(len(known) + BATCH, first))
        points = [_halton(number + 1, shift) for number in numbers]
        known += zip(answer(points, 1), points, strict=True)
    known.sort(key=lambda each: each[0], reverse=True)
    asked = len(known)
    starts = _regions([point for _, point in known])
    population = POPULATION
    searches: list[Any] = []

    def begin(size: int) -> Any:
        start = starts.pop(0) if starts else tuple(random.random(dimensions))
        # CMA-ES of one dimension is not defined: a second one has no effect.
        mean = [*start, 0.5] if dimensions == 1 else list(start)
        options = {"bounds": [0, 1], "popsize": size, "verbose": -9, "seed": numpy.nan}
        options["randn"] = lambda *shape: random.standard_normal(shape)
        return cma.CMAEvolutionStrategy(mean, SPREAD, options)

    while asked < evaluations and not is_over(1.0):
        searches = [each for each in searches if not each.stop()]
        while len(searches) < REGIONS:
            searches.append(begin(population))
            population = population if starts else min(4 * POPULATION, 2 * population)
        questions = [each.ask() for each in searches]
        points = [tuple(min(1.0, max(0.0, float(x))) for x in one)[:dimensions] for many in questions for one in many]
        points = points[: evaluations - asked]
        found = list(answer(points, 2))
        asked += len(points)
        if len(points) < sum(map(len, questions)):
            break
        ranks = {
            place: rank for rank, place in enumerate(sorted(range(len(found)), key=found.__getitem__, reverse=True))
        }
        place = 0
        for each, many in zip(searches, questions, strict=True):
            each.tell(many, [float(ranks[place + i]) for i in range(len(many))])
            place += len(many)


def _halton(number: int, shift: Sequence[float]) -> Vector:
    """Point of the sequence, from 1, moved by the shift around the cube."""
    return tuple(
        (_radical_inverse(number, prime) + float(move)) % 1 for prime, move in zip(PRIMES, shift, strict=False)
    )


def _radical_inverse(number: int, base: int) -> float:
    found, part = 0.0, 1 / base
    while number:
        number, digit = divmod(number, base)
        found += digit * part
        part /= base
    return found


def _regions(points: Sequence[Vector]) -> list[Vector]:
    """The best points, of which no two are close."""
    found: list[Vector] = []
    for point in points:
        if all(max(abs(a - b) for a, b in zip(point, other, strict=True)) > SPREAD / 2 for other in found):
            found.append(point)
        if len(found) == 4 * REGIONS:
            break
    return found
