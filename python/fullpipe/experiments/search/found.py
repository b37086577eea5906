"""Result of a search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe._util.display import Shown
from fullpipe._util.files import readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.plain import Table
from fullpipe.experiments.search.space import KNOBS, Point
from fullpipe.runs.results import Results
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

__all__ = ["Search"]


class Search(Results):
    """The worst network that a search found. `runs` has a row per run of the shrunk network: ``part`` ("beside",
    "alone", or the name of a reference), ``seed``, and the metrics.

    Attributes:
        tested: The algorithm.
        against: The other algorithm.
        metric: What was maximized.
        value: Mean over fresh seeds, which the search did not see; None if no network was feasible.
        ci95: Half of the width of the mean's 95 % confidence interval (Student's t).
        found: Whether the lower end of the interval exceeds the threshold; None without a threshold.
        threshold: The threshold.
        seeds: Number of fresh seeds.
        evaluations: Networks that were measured.
        knobs: Knobs that differ from the plain dumbbell.
        scenario: The shrunk network; None if no network was feasible.
        path: Number of evaluations and best value, each time that the search found a better one.
    """

    KIND = "search"

    def __init__(self, kept: Table, runs: pa.Table) -> None:
        super().__init__(("part",), runs)
        self.tested: str = kept["algorithm"]
        self.against: str = kept["against"]
        self.metric: str = kept["metric"]
        self.value: float | None = kept["value"]
        self.ci95: float | None = kept["ci95"]
        self.found: bool | None = kept["found"]
        self.threshold: float | None = kept["threshold"]
        self.seeds: int = kept["seeds"]
        self.evaluations: int = kept["evaluations"]
        self.knobs: Point = kept["knobs"]
        self.scenario = None if kept["scenario"] is None else Scenario.from_dict(kept["scenario"])
        self.path: Sequence[Sequence[float]] = kept["path"]

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {
            "algorithm": self.tested,
            "against": self.against,
            "metric": self.metric,
            "value": self.value,
            "ci95": self.ci95,
            "found": self.found,
            "threshold": self.threshold,
            "seeds": self.seeds,
            "evaluations": self.evaluations,
            "knobs": dict(self.knobs),
            "scenario": None if self.scenario is None else self.scenario.to_dict(),
            "path": [list(each) for each in self.path],
        }

    def to_toml(self) -> str:
        """The shrunk network as a scenario file, with the finding in comments.

        Custom algorithms are named; a program has to declare them before it reads the file.
        """
        if self.scenario is None:
            return "# No network was feasible.\n"
        lines = [
            f"fullpipe search {self.tested} --against {self.against} --maximize {self.metric}",
            f"{self.metric} = {self.value:.4g} +- {self.ci95:.2g} (95 % confidence interval, {self.seeds} seeds)",
            f"fullpipe {_core.VERSION}",
        ]
        return "".join(f"# {line}\n" for line in lines) + self.scenario.to_toml()

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
        if self.scenario is None:
            return [f"no network is feasible: {self.against} alone never reaches 0.7 of the capacity"]
        rows = [
            (knob.id, f"{self.knobs[knob.id] * SCALES[knob.unit][0]:g}{SCALES[knob.unit][1]}", knob.meaning)
            for knob in KNOBS
            if knob.id in self.knobs
        ]
        verdict = {True: "found", False: "not found", None: "no threshold"}[self.found]
        limit = "" if self.threshold is None else f" (threshold {self.threshold:g})"
        value = f"{self.metric} = {self.value:.4g} ± {self.ci95:.2g} over {self.seeds} fresh seeds"
        line = f"{value}: {verdict}{limit}; {self.evaluations} networks measured"
        return [
            Shown(
                f"Worst network for {self.tested}", ("knob", "value", "meaning"), rows or [("-", "plain", "")], left=3
            ),
            line,
            *([self.shown_summary(columns)] if columns else []),
        ]

    def _save_more(self, stage: Path) -> None:
        (stage / "worst.toml").write_text(self.to_toml(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Search of {self.tested}: {self.metric} = {self.value}>"


SCALES = {"bit/s": (1e-6, " Mbit/s"), "s": (1e3, " ms"), "BDP": (1.0, " BDP"), "": (1.0, "")}
"""Factor and unit in tables, by a knob's unit."""
