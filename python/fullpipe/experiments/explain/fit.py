"""Fit of the candidates by simulation: CMA-ES for each, and successive halving between them.

All candidates use equal seeds, so that their differences are those of parameters. N. Hansen's library ``cma`` runs
CMA-ES (Hansen and Ostermeier, Evolutionary Computation 9(2), 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import takewhile
from typing import Any

from fullpipe.errors import InputError
from fullpipe.experiments.explain.objective import distance
from fullpipe.experiments.explain.observation import Metrics, Observation
from fullpipe.experiments.explain.path import Candidate, Params, simulate
from fullpipe.runs.runner import Runner

__all__ = [
    "CROSS_SEEDS",
    "CROSS_STAGES",
    "RANKED",
    "RANKING_SEEDS",
    "SECOND_SEEDS",
    "SEEDS",
    "SHORT_STAGES",
    "Fit",
    "Range",
    "Search",
    "halve",
    "profile",
]

SEEDS = (1, 2)
"""Seeds of the search."""

SHORT_STAGES = ((16, 1.0, 1.0),)
STAGES = ((24, 0.3, 0.5), (48, 0.5, 0.5), (100, 0.8, 0.5), (200, 1.0, 1.0))
"""Stages: evaluations of each remaining candidate, part of the time of the search until the end of the stage, and
fraction of the candidates that go on. With all at once, a short budget would leave each candidate two generations.
"""

CROSS_STAGES = ((1, 0.4, 0.2), (17, 0.7, 0.3), (49, 0.85, 0.4), (121, 1.0, 1.0))
"""Stages of the models with cross traffic, which are many. The first one has only the first estimate."""

POPULATION, STEP = 8, 0.15

SCALES = {"rate_bps": 0.5, "base_rtt_s": 0.3, "buffer_packets": 0.5, "extra": 1.0}
"""Logarithm of a parameter's change at a step of 1. For the buffer it is that of the RTT with a full queue: the RTTs
of a measurement determine this sum much better than its two parts.
"""

BOUNDS = {"rate_bps": (-1.0, 1.0), "base_rtt_s": (-0.5, 0.2), "buffer_packets": (-2.0, 3.0), "extra": (-3.0, 3.0)}
"""Bounds of the logarithm of a parameter over its first value."""

SCANNED = (0.0, -0.12, -0.25, -0.4)
"""Logarithms of base RTTs over the first estimate that are tried first, where the queue may never have been empty."""

LARGER = (0.2, 0.4, 0.7)
"""Logarithms of RTTs with a full queue that are tried first: an algorithm can leave most of the buffer empty."""

PACKETS = (1.0, 3000.0)

MOST_EXTRA = 0.98
"""Greatest loss rate, or ratio of two rates."""

CROSS_SEEDS = (1, 2, 3)
"""Seeds of the search with cross traffic, where runs differ more."""

RANKED, RANKING_SEEDS = 8, tuple(range(11, 27))
"""Number of models with the least distances that get more runs, and the seeds of these."""

GOOD_J = 0.5
"""Distance at which a search ends."""

SECOND_SEEDS = (1, 2, 3, 4, 5, 6)
"""Seeds of a second search around the best parameters: two seeds can be far from the mean of many."""

STALLED, GAIN, LEAST_EVALUATIONS = 8, 0.99, 40
"""Generations without a gain of 1 % that end a search, after that many evaluations."""

WIDER_J = 4.0
"""Growth of the distance up to which a parameter is possible (profile)."""

STEPS = (1.003, 1.006, 1.012, 1.025, 1.05, 1.1, 1.2, 1.35, 1.6, 2.5)
"""Factors of a profile."""

DETERMINED = 1.5
"""Ratio of the ends of an interval below which a parameter is determined."""


@dataclass
class Fit:
    """Search for the parameters of one candidate.

    Attributes:
        candidate: The candidate.
        start: First estimate.
        best: Best parameters so far.
        bits: Size of a packet, in bits.
        distance: Distance of the best parameters.
        evaluations: Number of evaluations.
        known: All parameters with their distances.
        stalled: Generations since the last gain.
    """

    candidate: Candidate
    start: Params
    best: Params
    bits: float
    distance: float = math.inf
    evaluations: int = 0
    known: list[tuple[Params, float]] = field(default_factory=list)
    stalled: int = 0
    _search: Any = None
    _asked: Any = None
    _first: int = 0

    @property
    def names(self) -> list[str]:
        """Parameters of the candidate."""
        names = ["rate_bps", "base_rtt_s"]
        return names + ["buffer_packets"] * self.candidate.has_buffer + ["extra"] * bool(self.candidate.impairment)

    @property
    def is_over(self) -> bool:
        """Whether more evaluations would gain little."""
        return self.distance < GOOD_J or (self.evaluations >= LEAST_EVALUATIONS and self.stalled >= STALLED)

    def ask(self) -> list[Params]:
        """Parameters of the next generation; the first one has `SCANNED` base RTTs and `LARGER` buffers."""
        if not self.known:
            self._asked = self._scanned()
        else:
            if self._search is None:
                self._search = _strategy(self._asked[self._first])
            self._asked = self._search.ask()
        return [self._params(point) for point in self._asked]

    def _scanned(self) -> list[list[float]]:
        tried = [("base_rtt_s", move) for move in (SCANNED[:1] if self.candidate.cross else SCANNED)]
        if self.candidate.has_buffer and not self.candidate.cross:
            tried += [("buffer_packets", move) for move in LARGER]
        return [[move / SCALES[name] if own == name else 0.0 for own in self.names] for name, move in tried]

    def tell(self, params: Sequence[Params], distances: Sequence[float]) -> None:
        """Takes the distances of a generation."""
        if self._search is None:
            self._first = list(distances).index(min(distances))
        else:
            self._search.tell(self._asked, list(distances))
        self.evaluations += len(params)
        self.known += zip(params, distances, strict=True)
        least = min(distances)
        self.stalled = 0 if least < GAIN * self.distance else self.stalled + 1
        if least < self.distance:
            self.distance, self.best = least, params[list(distances).index(least)]

    def moved(self, name: str, factor: float) -> Params:
        """The best parameters with another value of one of them."""
        best = self.best
        if name == "base_rtt_s" and self.candidate.has_buffer:
            base = best.base_rtt_s * factor
            packets = best.buffer_packets + (best.base_rtt_s - base) * best.rate_bps / self.bits
            return replace(best, base_rtt_s=base, buffer_packets=max(PACKETS[0], packets))
        return replace(best, **{name: getattr(best, name) * factor})

    def _params(self, point: Sequence[float]) -> Params:
        factors = dict.fromkeys(SCALES, 1.0)
        for name, x in zip(self.names, point, strict=True):
            low, high = BOUNDS[name]
            factors[name] = math.exp(min(high, max(low, SCALES[name] * float(x))))
        start = self.start
        rate, base = start.rate_bps * factors["rate_bps"], start.base_rtt_s * factors["base_rtt_s"]
        full = (start.base_rtt_s + start.buffer_packets * self.bits / start.rate_bps) * factors["buffer_packets"]
        packets = min(PACKETS[1], max(PACKETS[0], (full - base) * rate / self.bits))
        return Params(rate, base, packets, min(MOST_EXTRA, start.extra * factors["extra"]))


def _strategy(start: Sequence[float]) -> Any:
    numpy = import_module("numpy")
    try:
        cma = import_module("cma")
    except ModuleNotFoundError:
        raise InputError("explain requires cma: pip install 'fullpipe[explain]'") from None
    random = numpy.random.default_rng(1)
    options = {"popsize": POPULATION, "verbose": -9, "seed": numpy.nan}
    options["randn"] = lambda *shape: random.standard_normal(shape)
    return cma.CMAEvolutionStrategy(list(start), STEP, options)


@dataclass
class Search:
    """Measurement, and the means to simulate.

    Attributes:
        seen: The observation.
        measured: Its metrics.
        runner: Runner of the simulator.
        is_over: Whether a part of the budget is used.
        seeds: Seeds of each model.
        evaluations: Models simulated so far.
    """

    seen: Observation
    measured: Metrics
    runner: Runner
    is_over: Callable[[float], bool]
    seeds: Sequence[int] = SEEDS
    evaluations: int = 0

    def distances(self, models: Sequence[tuple[Candidate, Params]], seeds: Sequence[int] | None = None) -> list[float]:
        """Distances of models, with the search's seeds or others."""
        self.evaluations += len(models)
        found = simulate(models, self.seen, seeds or self.seeds, self.runner)
        return [
            distance(self.measured, [each.metrics[0] for each in runs], varies=bool(candidate.cross), compares=True)
            for (candidate, _), runs in zip(models, found, strict=True)
        ]

    def advance(self, fit: Fit, evaluations: int, part: float) -> None:
        """Continues a fit, up to a number of evaluations, or until that part of the budget is used."""
        while fit.evaluations < evaluations and not fit.is_over and not self.is_over(part):
            params = fit.ask()
            fit.tell(params, self.distances([(fit.candidate, each) for each in params]))


def halve(
    search: Search,
    fits: Sequence[Fit],
    begin: float,
    until: float,
    stages: Sequence[tuple[int, float, float]] = STAGES,
) -> list[Fit]:
    """Fits, best first. After each stage, the better ones go on, and at least two.

    Args:
        search: The measurement.
        fits: Fits of all candidates.
        begin: Part of the budget that is used.
        until: Part of the budget that may be used.
        stages: The stages.
    """
    remaining = list(fits)
    before = 0.0
    for evaluations, end, kept in stages:
        for j, fit in enumerate(remaining):
            # Each candidate gets its part of the time, so that the last one is not left out.
            part = before + (end - before) * (j + 1) / len(remaining)
            search.advance(fit, evaluations, begin + (until - begin) * part)
        remaining.sort(key=lambda each: each.distance)
        remaining = remaining[: max(2, math.ceil(kept * len(remaining)))]
        before = end
    return sorted(fits, key=lambda each: each.distance)


@dataclass(frozen=True)
class Range:
    """Interval of a parameter in which the distance grows by `WIDER_J` at most."""

    low: float
    high: float
    open_below: bool
    open_above: bool

    @property
    def status(self) -> str:
        """Status of the parameter: "determined", "bounded", or "not determined"."""
        if self.open_below and self.open_above:
            return "not determined"
        if self.open_below or self.open_above:
            return "bounded"
        return "determined" if self.high / self.low < DETERMINED else "not determined"


def profile(search: Search, fit: Fit) -> dict[str, Range]:
    """Ranges of the parameters, from steps away from the best values and from the points of the search.

    A step of the base RTT keeps the RTT with a full queue: the data may not tell two base RTTs
    apart whose buffers differ too.
    """
    names = fit.names
    wanted = [(name, sign, fit.moved(name, step**sign)) for name in names for sign in (-1, 1) for step in STEPS]
    distances = search.distances([(fit.candidate, params) for _, _, params in wanted])
    limit = min([fit.distance, *distances]) + WIDER_J
    inside: dict[tuple[str, int], list[Params]] = {}
    for name in names:
        for sign in (-1, 1):
            steps = [
                (params, value <= limit)
                for (one, way, params), value in zip(wanted, distances, strict=True)
                if (one, way) == (name, sign)
            ]
            inside[name, sign] = [params for params, _ in takewhile(lambda step: step[1], steps)]
    possible = [params for some in inside.values() for params in some]
    possible += [fit.best, *(params for params, value in fit.known if value <= limit)]

    def is_open(name: str, sign: int) -> bool:
        return len(inside.get((name, sign), ())) == len(STEPS)

    found = {}
    for name in names:
        values = [getattr(params, name) for params in possible]
        below, above = is_open(name, -1), is_open(name, 1)
        if name == "buffer_packets":
            below, above = below or is_open("base_rtt_s", 1), above or is_open("base_rtt_s", -1)
        found[name] = Range(min(values), max(values), below, above)
    return found
