"""`explain`: reads a measurement, fits a model of the path, and judges it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullpipe._util.files import check_free
from fullpipe._util.plain import Tree
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.errors import InputError
from fullpipe.experiments.explain.estimate import Estimate, estimate
from fullpipe.experiments.explain.explanation import Explanation, Overlay
from fullpipe.experiments.explain.fit import (
    CROSS_SEEDS,
    CROSS_STAGES,
    RANKED,
    RANKING_SEEDS,
    SECOND_SEEDS,
    SEEDS,
    SHORT_STAGES,
    Fit,
    Range,
    Search,
    halve,
    profile,
)
from fullpipe.experiments.explain.objective import MOST_J, SIGMAS, Verdict, judge
from fullpipe.experiments.explain.observation import Observation, metrics_of, observe
from fullpipe.experiments.explain.path import LINK, Candidate, Params, Simulated, scenario_of, simulate
from fullpipe.measurements import Measurement, join, read
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import table_of
from fullpipe.runs.runner import Runner
from fullpipe.scenario.quantity import read_quantity

__all__ = ["explain"]

VERDICT_SEEDS = tuple(range(101, 117))
"""Seeds of the verdict, which the search does not see."""

CROSS_VERDICT_SEEDS = tuple(range(101, 165))
"""Seeds of the verdict with other flows. There, goodput differs between seeds by much more than the tolerances. A value
of the true model is then outside the range of n runs with a probability of 2 / (n + 1). With 16 runs more than one of
14 windows would be outside in half of the cases, with 64 in 7 %.
"""

SHORT, SEARCHING, CROSSED, SECOND, PROFILING, LOOKING = 0.15, 0.3, 0.65, 0.75, 0.8, 0.95
"""Parts of the budget at the end of the short search, of the search, of that with cross traffic, of the second search,
of the profile, and of the second look.
"""

SECOND_SEARCH, MOST_SECOND = 40, 3.0
"""Evaluations of a second search, and the distance over `MOST_J` of a model that gets one."""

MOST_BITS = 6e9
"""Bits that are fitted, at most: of 60 s at 100 Mbit/s. Of more, the first ones count."""

CLOSE = 1.3
"""Ratio of two distances below which two algorithms are not told apart."""

LEAST_BUSY = 0.2
"""Part of the time with a queue below which the capacity is a lower bound."""

EMPTY_PACKETS = 4
"""Transmission times above the base RTT up to which a least RTT is one of an empty queue."""

MOST_LIMITED = 0.5
"""Part of the samples in which the application may limit the flow."""

SECOND_LOOK = 60
"""Evaluations of each impairment."""

IMPAIRMENTS = {"loss": 0.003, "policer": 0.8, "rate change": 0.8}
"""Impairments of the second look, with the values they start from."""


@shows_progress("s")
def explain(
    *files: str | os.PathLike[str] | Measurement,
    budget: str = "60 s",
    interval: str | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
) -> Explanation:
    """Explains a measurement: finds a path whose simulation gives its metrics, or says that none does.

    Args:
        files: A file of another tool (`fullpipe.measurements.read`), a directory with a result, or a measurement.
        budget: Wall time of the fit.
        interval: Time between two samples of ``ss``, for a file without times.
        out: Directory for ``explain.json``, ``scenario.toml``, ``report.md``, ``overlay.png``, and Parquet tables.
        workers: As for `run_many`.
        progress: Function that is called with the seconds used and the budget.
        stop: As for `run_many`.
        memory: As for `run_many`.

    Raises:
        InputError: A file can't be read, has no sender's metrics or too few samples, or ``cma`` is not installed.
        Cancelled: ``stop`` was set.
    """
    budget_s = read_quantity("budget", budget, "s", '"60 s"')
    if budget_s <= 0:
        raise InputError(f"budget must be above 0 s, got {budget}")
    if not files:
        raise InputError("explain requires a file")
    if out is not None:
        check_free(out)
    interval_s = None if interval is None else read_quantity("interval", interval, "s", '"100 ms"')
    measurements = [each if isinstance(each, Measurement) else _read(each, interval_s, progress) for each in files]
    names = [
        str(each.metadata["file"] or "measurement") if isinstance(each, Measurement) else os.fspath(each)
        for each in files
    ]
    measurement = join(measurements, names)
    runner = Runner(RunOptions(workers, memory, stop, None, None), None)
    work = Work(names, measurement, runner, budget_s, progress)
    result = work.explain(None if out is None else os.fspath(out))
    if out is not None:
        result.save(out)
    return result


def _read(path: str | os.PathLike[str], interval_s: float | None, progress: Progress | None) -> Measurement:
    """Measurement of a file. Progress is called with the part that is read, of no known time."""
    if progress is None:
        return read(path, interval_s=interval_s)
    return read(path, interval_s=interval_s, progress=lambda done, size: progress(0.0, max(1.0, size - done)))


@dataclass
class Best:
    """The chosen model and its verdict."""

    fit: Fit
    verdict: Verdict
    runs: list[Simulated]
    seeds: Sequence[int]


class Work:
    """An explanation under way."""

    def __init__(
        self, names: list[str], measurement: Measurement, runner: Runner, budget_s: float, progress: Progress | None
    ) -> None:
        self.names = names
        self.measurement = measurement
        self.budget_s = budget_s
        self.progress = progress
        self.begun_s = time.monotonic()
        seen = observe(measurement, names[0])
        self.first: Estimate = estimate(seen)
        if self.first.params.rate_bps * seen.span_s > MOST_BITS:
            seen = seen.until(MOST_BITS / self.first.params.rate_bps)
        self.seen: Observation = seen
        measured = metrics_of(
            seen.trace, seen.begin_s, seen.span_s, has_samples=seen.has_samples, varying_s=seen.varying_s
        )
        if seen.has_handshake and seen.least_rtt_s is not None:
            measured.values["min_rtt_s"] = seen.least_rtt_s
        if seen.capacity_bps is not None:
            measured.values["capacity_bps"] = seen.capacity_bps
        self.search = Search(seen, measured, runner, self.is_over)

    def is_over(self, part: float) -> bool:
        """Whether that part of the budget is used."""
        used_s = time.monotonic() - self.begun_s
        if self.progress is not None:
            self.progress(min(used_s, self.budget_s), self.budget_s)
        return used_s >= part * self.budget_s

    def explain(self, out: str | None) -> Explanation:
        """Fits, judges, looks for other causes, and reports."""
        start = self.first.params
        fits = [self.fit(each, start) for each in self.first.candidates]
        crossed = [
            self.fit(each, replace(start, rate_bps=start.rate_bps * each.spacing)) for each in self.first.crossed
        ]
        fits = halve(self.search, fits, 0.0, SHORT, SHORT_STAGES)
        # A flow with a small part of the rate is far from all models with one flow.
        if not crossed or fits[0].distance <= MOST_SECOND * MOST_J:
            fits = halve(self.search, fits, SHORT, SEARCHING)
        best = self.judged(fits[0])
        if not best.verdict.explained:
            self.search.seeds = CROSS_SEEDS
            fits += halve(self.search, crossed, SEARCHING, CROSSED, CROSS_STAGES) if crossed else []
            fits = self.ranked(fits)
            self.search.seeds = SEEDS
            best = self.judged(fits[0])
        if not best.verdict.explained:
            best = self.second(best, [each for each in fits[:2] if each.distance <= MOST_SECOND * MOST_J])
        ranges = profile(self.search, best.fit)
        impaired = self.impaired(best)
        return self.report(best, fits, ranges, impaired, out)

    def fit(self, candidate: Candidate, start: Params) -> Fit:
        """A fit that has not begun."""
        return Fit(candidate, start, start, 8.0 * self.seen.packet)

    def ranked(self, fits: Sequence[Fit]) -> list[Fit]:
        """Fits, best first. The first ones get distances from more runs: three are too few for a variance."""
        rest = sorted(fits, key=lambda each: each.distance)
        first = [each for each in rest[:RANKED] if math.isfinite(each.distance)]
        distances = self.search.distances([(each.candidate, each.best) for each in first], RANKING_SEEDS)
        for fit, distance in zip(first, distances, strict=True):
            fit.distance = distance
        return sorted(first, key=lambda each: each.distance) + rest[len(first) :]

    def second(self, best: Best, fits: Sequence[Fit]) -> Best:
        """Best model after a second search around the best ones, with more seeds."""
        self.search.seeds = SECOND_SEEDS
        for i, fit in enumerate(fits):
            again = self.fit(fit.candidate, fit.best)
            self.search.advance(again, SECOND_SEARCH, CROSSED + (SECOND - CROSSED) * (i + 1) / len(fits))
            if math.isfinite(again.distance):
                one = self.judged(again)
                if one.verdict.explained or (i == 0 and not best.verdict.explained):
                    best = one
            if best.verdict.explained:
                break
        self.search.seeds = SEEDS
        return best

    def judged(self, fit: Fit) -> Best:
        """Verdict on the best model of a fit."""
        shifted = not self.seen.from_start
        seeds = CROSS_VERDICT_SEEDS if fit.candidate.cross else VERDICT_SEEDS
        (runs,) = simulate([(fit.candidate, fit.best)], self.seen, seeds, self.search.runner, shifted=shifted)
        metrics = [each for run in runs for each in run.metrics]
        verdict = judge(self.search.measured, metrics, self.seen.span_s, varies=bool(fit.candidate.cross))
        return Best(fit, verdict, runs, seeds)

    def impaired(self, best: Best) -> list[Best]:
        """Models with random loss, a policer, or a rate change that explain the measurement as well.

        They are fitted where the plain model does not explain it, and for BBR, which hides loss and policers.
        """
        names = list(IMPAIRMENTS)
        if best.verdict.explained:
            names = names[:2] if best.fit.candidate.algorithm in ("bbr", "bbr3") else []
        if self.first.change_s is None and "rate change" in names:
            names.remove("rate change")
        found = []
        for i, name in enumerate(names):
            candidate = replace(best.fit.candidate, impairment=name, change_s=self.first.change_s or 0.0)
            start = replace(best.fit.best, extra=IMPAIRMENTS[name])
            if name == "policer":
                start = replace(start, rate_bps=start.rate_bps / start.extra)
            fit = self.fit(candidate, start)
            part = PROFILING + (LOOKING - PROFILING) * (i + 1) / len(names)
            self.search.advance(fit, SECOND_LOOK, part)
            if math.isfinite(fit.distance) and fit.distance <= MOST_J and (one := self.judged(fit)).verdict.explained:
                found.append(one)
        return found

    def report(
        self, best: Best, fits: Sequence[Fit], ranges: dict[str, Range], impaired: Sequence[Best], out: str | None
    ) -> Explanation:
        """The result."""
        seen, verdict, params = self.seen, best.verdict, best.fit.best
        limited = seen.limited > MOST_LIMITED
        few = sum(each.id in SIGMAS for each in verdict.metrics) < 3
        explained = verdict.explained and not limited and not few
        scenario = scenario_of(best.fit.candidate, params, seen)
        kept: Tree = {
            "kind": "explain",
            "files": self.names,
            "scenario": scenario.to_dict(),
            "fit": self.fitted(best, fits, ranges),
            "explained": explained,
            "metrics": [
                {
                    "id": each.id,
                    "measured": each.measured,
                    "simulated": each.simulated,
                    "tolerance": each.tolerance,
                    "low": each.low,
                    "high": each.high,
                    "inside": each.inside,
                }
                for each in verdict.metrics
            ],
            "windows": [{**each.__dict__, "inside": each.inside} for each in verdict.windows],
            "distance": verdict.distance,
            "spread": verdict.spread,
            "hint": self.hint(explained, limited, few, impaired),
            "not_determined": self.not_determined(best, fits, ranges, impaired if explained else ()),
            "buffer_packets": max(1, round(params.buffer_packets)) if best.fit.candidate.has_buffer else None,
            "warnings": self.measurement.warnings,
            "evaluations": self.search.evaluations,
            "seconds": round(time.monotonic() - self.begun_s, 1),
            "next": self.commands(best.fit.candidate, out),
        }
        rows: list[Tree] = [
            {"model": "best", "seed": seed, **run.metrics[0].values}
            for seed, run in zip(best.seeds, best.runs, strict=True)
        ]
        overlay = Overlay(seen.trace, [run.trace for run in best.runs], seen.interval_s)
        return Explanation(kept, table_of(rows, ("model",)), overlay, self.measurement)

    def fitted(self, best: Best, fits: Sequence[Fit], ranges: dict[str, Range]) -> Tree:
        """Parameters with their intervals, and the candidates."""
        candidate, params, size = best.fit.candidate, best.fit.best, self.seen.packet
        values = {"rate_bps": (params.rate_bps, "rate_bps", 1.0), "base_rtt_s": (params.base_rtt_s, "base_rtt_s", 1.0)}
        values["buffer_bytes"] = (round(params.buffer_packets) * size, "buffer_packets", float(size))
        found: Tree = {}
        for name, (value, own, factor) in values.items():
            known = ranges.get(own)
            found[name] = None if known is None else value
            found[f"{name}_status"] = "not determined" if known is None else self.status(name, known, params)
            if known is not None and found[f"{name}_status"] == "determined":
                found[f"{name}_ci95"] = [known.low * factor, known.high * factor]
        found |= {"queue": candidate.queue, "algorithm": candidate.algorithm, "cross": candidate.traffic}
        found["candidates"] = [
            {
                "algorithm": each.candidate.algorithm,
                "queue": each.candidate.queue,
                "cross": each.candidate.traffic,
                "objective": each.distance,
            }
            for each in fits
            if math.isfinite(each.distance)
        ]
        return found

    def status(self, name: str, known: Range, params: Params) -> str:
        """Status of a parameter. A queue that was never full bounds the buffer, one that was never empty the base RTT
        and the buffer, and a link without a queue the rate.
        """
        bits = 8.0 * self.seen.packet
        least = self.seen.least_rtt_s or math.inf
        never_empty = not self.seen.has_handshake and least > params.base_rtt_s + EMPTY_PACKETS * bits / params.rate_bps
        never_full = self.search.measured.values.get("retransmits") == 0
        never_busy = self.first.busy is not None and self.first.busy < LEAST_BUSY
        # A queue that was never empty shows only the sum of base RTT and queueing delay.
        bounds = {"buffer_bytes": never_full or never_empty, "base_rtt_s": never_empty, "rate_bps": never_busy}
        return "bounded" if bounds[name] and known.status == "determined" else known.status

    def not_determined(
        self, best: Best, fits: Sequence[Fit], ranges: dict[str, Range], impaired: Sequence[Best]
    ) -> list[str]:
        """Sentences on parameters that the data do not determine."""
        found = []
        fitted = self.fitted(best, fits, ranges)
        for name, title in (("rate_bps", "the rate"), ("base_rtt_s", "the base RTT"), ("buffer_bytes", "the buffer")):
            status = fitted[f"{name}_status"]
            if name == "buffer_bytes" and not best.fit.candidate.has_buffer:
                found.append("the buffer; an active queue never fills it")
            elif name == "buffer_bytes" and self.search.measured.values.get("retransmits") == 0:
                found.append("the buffer; the queue never filled")
            elif status != "determined":
                found.append(title if status == "not determined" else f"{title}; the data bound it on one side")
        limit = max(CLOSE * best.fit.distance, 0.0)
        names = [each.candidate.algorithm for each in fits if each.distance <= limit and each is not best.fit]
        own = best.fit.candidate.algorithm
        found += [f"the algorithm; {own} and {other} fit" for other in dict.fromkeys(names) if other != own]
        if best.fit.candidate.queue == "codel":
            found.append("the queue: CoDel or FQ-CoDel; one flow does not show the difference")
        if best.fit.candidate.cross:
            found.append("the number and algorithm of the other flows; the flow shows only their load")
        found += [f"whether there is {_named(each)}; it fits as well" for each in impaired]
        return found

    def hint(self, explained: bool, limited: bool, few: bool, impaired: Sequence[Best]) -> str | None:
        """Reason for no verdict, or another cause that explains the measurement."""
        if few:
            return "the measurement has too little data"
        if limited:
            return (
                "the application or the receiver limits the flow most of the time, so the measurement shows little "
                "of the path"
            )
        if explained:
            return None
        if impaired:
            return "; ".join(f"a model with {_named(each)} explains it" for each in impaired)
        if self.first.change_s is not None:
            return f"the rate shifts at {self.first.change_s:.1f} s"
        return None

    def commands(self, candidate: Candidate, out: str | None) -> list[str]:
        """Next questions as commands."""
        if out is None:
            return [f"fullpipe explain {' '.join(self.names)} --out DIR"]
        run = f"fullpipe run {out}/scenario.toml --set"
        queue = "drop-tail" if candidate.queue == "fq-codel" else "fq-codel"
        algorithm = "cubic" if candidate.algorithm == "bbr" else "bbr"
        return [f"{run} links.{LINK}.queue={queue}", f"{run} flows.0.algorithm={algorithm}"]


def _named(best: Best) -> str:
    """Name of an impairment with its value."""
    candidate, params = best.fit.candidate, best.fit.best
    if candidate.impairment == "loss":
        return f"random loss of {100 * params.extra:.2g} %"
    rate = params.extra * params.rate_bps / 1e6
    if candidate.impairment == "policer":
        return f"a policer of {rate:.3g} Mbit/s"
    return f"a rate change to {rate:.3g} Mbit/s at {candidate.change_s:.1f} s"
