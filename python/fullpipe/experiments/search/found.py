"""Result of a search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe._util.display import Shown
from fullpipe._util.files import readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.plain import Table
from fullpipe.experiments.search.space import DROP_TAIL, KNOBS, SCALES, Point
from fullpipe.runs.engines import run
from fullpipe.runs.results import Results
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from fullpipe.plots.spec import Plot

__all__ = ["Finding", "Search"]


@dataclass(frozen=True)
class Finding:
    """A network on which the algorithm does badly.

    Attributes:
        value: Mean of the metric over fresh seeds, which the search did not see.
        ci95: Half of the width of the mean's 95 % confidence interval (Student's t).
        found: Whether the lower end of the interval exceeds the threshold; None without a threshold.
        knobs: Knobs that differ from the plain dumbbell.
        scenario: The network.
    """

    value: float
    ci95: float | None
    found: bool | None
    knobs: Point
    scenario: Scenario

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "value": self.value,
            "ci95": self.ci95,
            "found": self.found,
            "knobs": dict(self.knobs),
            "scenario": self.scenario.to_dict(),
        }


class Search(Results):
    """The worst networks that a search found. `runs` has a row per run of a shrunk network: ``finding`` (its number,
    from 1), ``part`` ("beside", "alone", or the name of a reference), ``seed``, and the metrics.

    Attributes:
        tested: The algorithm.
        against: The other algorithm.
        metric: What was maximized.
        findings: The worst network, and others that show the weakness by other knobs; empty if no network was feasible.
        threshold: The threshold.
        seeds: Number of fresh seeds.
        seed: Seed of the search's own choices.
        beyond_standard: Whether the harm of a standard is subtracted.
        bounds: Bounds of the search by knob; knobs that are not listed had their plain value.
        queue: Queueing discipline of the bottleneck.
        evaluations: Networks that were measured.
        path: Number of evaluations and best value, each time that the search found a better one.
    """

    KIND = "search"

    def __init__(self, kept: Table, runs: pa.Table) -> None:
        super().__init__(("finding", "part"), runs)
        self.tested: str = kept["algorithm"]
        self.against: str = kept["against"]
        self.metric: str = kept["metric"]
        self.findings = tuple(
            Finding(**{**each, "scenario": Scenario.from_dict(each["scenario"])}) for each in kept["findings"]
        )
        self.threshold: float | None = kept["threshold"]
        self.seeds: int = kept["seeds"]
        self.seed: int = kept["seed"]
        self.beyond_standard: bool = kept["beyond_standard"]
        self.bounds: Mapping[str, str] = kept["bounds"]
        self.queue: str = kept["queue"]
        self.evaluations: int = kept["evaluations"]
        self.path: Sequence[Sequence[float]] = kept["path"]

    @property
    def value(self) -> float | None:
        """Value on the worst network; None if no network was feasible."""
        return self.findings[0].value if self.findings else None

    @property
    def ci95(self) -> float | None:
        """Half of the width of its 95 % confidence interval."""
        return self.findings[0].ci95 if self.findings else None

    @property
    def found(self) -> bool | None:
        """Whether the lower end of the interval exceeds the threshold; None without a threshold."""
        if self.threshold is None:
            return None
        return bool(self.findings) and bool(self.findings[0].found)

    @property
    def knobs(self) -> Point:
        """Knobs of the worst network that differ from the plain dumbbell."""
        return self.findings[0].knobs if self.findings else {}

    @property
    def scenario(self) -> Scenario | None:
        """The worst network; None if no network was feasible."""
        return self.findings[0].scenario if self.findings else None

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON. Those of the worst network are repeated outside of ``findings``."""
        return {
            "algorithm": self.tested,
            "against": self.against,
            "metric": self.metric,
            "value": self.value,
            "ci95": self.ci95,
            "found": self.found,
            "threshold": self.threshold,
            "seeds": self.seeds,
            "seed": self.seed,
            "beyond_standard": self.beyond_standard,
            "bounds": dict(self.bounds),
            "queue": self.queue,
            "evaluations": self.evaluations,
            "knobs": dict(self.knobs),
            "scenario": None if self.scenario is None else self.scenario.to_dict(),
            "findings": [each.to_dict() for each in self.findings],
            "path": [list(each) for each in self.path],
        }

    def to_toml(self, number: int = 1) -> str:
        """A shrunk network as a scenario file, with the finding in comments.

        Custom algorithms are named; a program has to declare them before it reads the file.

        Args:
            number: Number of the finding, from 1: the worst network.
        """
        if not self.findings:
            return "# No network was feasible.\n"
        finding = self.findings[number - 1]
        half = 0.0 if finding.ci95 is None else finding.ci95
        more = " --beyond-standard" if self.beyond_standard else ""
        more += "" if self.queue == DROP_TAIL else f" --queue {self.queue}"
        bounds = ", ".join(f"{name}={text}" for name, text in self.bounds.items())
        lines = [
            f"fullpipe search {self.tested} --against {self.against} --maximize {self.metric}{more} --seed {self.seed}",
            *wrap(f"within {bounds} ({self.evaluations} networks measured)", COMMENT),
            f"{self.metric} = {finding.value:.4g} +- {half:.2g} (95 % confidence interval, {self.seeds} seeds)",
            f"fullpipe {_core.VERSION}",
        ]
        return "".join(f"# {line}\n" for line in lines) + finding.scenario.to_toml()

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Search:
        """The search that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            return cls(read_json(place / "search.json"), read_table(place / "runs.parquet"))

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables that the program prints.

        Args:
            columns: Metrics of the runs, shown in a separate table.
        """
        if not self.findings:
            return [f"no network is feasible: {self.against} alone never reaches 0.7 of the capacity"]
        tables: list[Shown | str] = []
        for number, finding in enumerate(self.findings, 1):
            title = f"Worst network for {self.tested}" if number == 1 else f"Other network {number}"
            rows = [
                (knob.id, f"{finding.knobs[knob.id] * SCALES[knob.unit][0]:g}{SCALES[knob.unit][1]}", knob.meaning)
                for knob in KNOBS
                if knob.id in finding.knobs
            ]
            tables.append(Shown(title, ("knob", "value", "meaning"), rows or [("-", "plain", "")], left=3))
            verdict = {True: "found", False: "not found", None: "no threshold"}[finding.found]
            limit = "" if self.threshold is None else f" (threshold {self.threshold:g})"
            value = f"{self.metric} = {finding.value:.4g} ± {finding.ci95 or 0:.2g} over {self.seeds} fresh seeds"
            tables.append(f"{value}: {verdict}{limit}")
        tables.append(f"{self.evaluations} networks measured")
        return [*tables, *([self.shown_summary(columns)] if columns else [])]

    def _own_plot(self, x: str | None) -> Plot:
        from fullpipe.plots.search import search_plot

        if x is not None:
            return super()._own_plot(x)
        worst = self.scenario
        result = None if worst is None else run(worst.replace(series_interval="100 ms", seed=PLOTTED_SEED))
        return search_plot(self.path, self.evaluations, self.metric, None if result is None else result.sampled())

    def _save_more(self, stage: Path) -> None:
        (stage / "worst.toml").write_text(self.to_toml(), encoding="utf-8")
        for number in range(2, len(self.findings) + 1):
            (stage / f"worst-{number}.toml").write_text(self.to_toml(number), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Search of {self.tested}: {self.metric} = {self.value}>"


COMMENT = 120
"""Length of a comment line."""

PLOTTED_SEED = 1001
"""Seed of the run in a plot: the first of the fresh ones."""
