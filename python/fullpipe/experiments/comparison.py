"""Results of a comparison: all runs, and the first seed's results with their series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe._util.files import readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.text import file_name, listed
from fullpipe.engine import tables
from fullpipe.experiments.failures import failed_runs
from fullpipe.metrics import METRICS
from fullpipe.runs.design import Label
from fullpipe.runs.figures import FIRST
from fullpipe.runs.result import Result
from fullpipe.runs.results import OF_APPLICATIONS, Details, Results, read_details, table_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from fullpipe.plots.spec import Plot

__all__ = ["Comparison", "Failure"]

Plain = dict[str, object]
"""A run in JSON: ``algorithm``, and the keys of `Result.to_dict`."""

LABELS = ("algorithm",)


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    Attributes:
        engine: Engine of the run.
        seed: Seed of the scenario.
        error: The failure in one line.
    """

    engine: str
    seed: int
    error: str


class Comparison(Results):
    """Results of one scenario with several algorithms. The label is ``algorithm``. If a run failed, `runs` has the
    column ``error``.

    Attributes:
        results: Result of the first seed by algorithm, unless that run failed.
    """

    KIND = "comparison"

    def __init__(self, results: Mapping[str, Result | Sequence[Result | Failure]], *, exact: bool = False) -> None:
        """Results by algorithm, in order of the seeds."""
        by_label = {label: [one] if isinstance(one, Result) else list(one) for label, one in results.items()}
        each = [(label, one) for label, of_seeds in by_label.items() for one in of_seeds]
        self.results = {label: ones[0] for label, ones in by_label.items() if isinstance(ones[0], Result)}
        self._plain: list[Plain] = [
            {"algorithm": label, **(one.to_dict() if isinstance(one, Result) else asdict(one))} for label, one in each
        ]
        failed = any(isinstance(one, Failure) for _, one in each)
        runs = table_of([_row(i, label, one, failed) for i, (label, one) in enumerate(each)])
        flows, links = Details(), Details()
        for i, (_, one) in enumerate(each):
            if isinstance(one, Result):
                flows.add(i, _plain_columns(one, "flows"))
                links.add(i, _plain_columns(one, "links"))
        super().__init__(LABELS, runs, flows.table(runs, LABELS), links.table(runs, LABELS), exact=exact)

    @property
    def seeds(self) -> int:
        """Largest number of runs of an algorithm."""
        labels = self.runs["algorithm"].to_pylist()
        return max((labels.count(label) for label in labels), default=0)

    def by_link(self) -> Results:
        """Runs with a row per run and link, and the labels ``algorithm`` and ``link``."""
        import pyarrow as pa

        links, runs = self.links, self.runs
        place = {run: row for row, run in enumerate(runs["run"].to_pylist())}
        rows = pa.array([place[run] for run in links["run"].to_pylist()], pa.int64())
        table = links.rename_columns(["link" if name == "name" else name for name in links.column_names])
        for name in (*FIRST[FIRST.index("flows") :], *OF_APPLICATIONS):
            if name in METRICS and name in runs.column_names and name not in table.column_names:
                table = table.append_column(name, runs[name].take(rows))
        return Results((*LABELS, "link"), table, exact=self.exact)

    def to_dict(self) -> Plain:
        """All runs as plain values ready for JSON, by algorithm and seed. A run that failed has ``error``."""
        return {"exact": self.exact, "runs": self._plain}

    def _save_more(self, stage: Path) -> None:
        for label, result in self.results.items():
            result.save(stage / file_name(label))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Comparison:
        """The comparison that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            kept = read_json(place / "comparison.json")
            first = {run["algorithm"]: run for run in reversed(kept["runs"])}
            labels = dict.fromkeys(run["algorithm"] for run in kept["runs"])
            found = cls.__new__(cls)
            saved = [label for label in labels if "error" not in first[label]]
            found.results = {label: Result.load(place / file_name(label)) for label in saved}
            found._plain = kept["runs"]
            flows, links = read_details(place)
            Results.__init__(found, LABELS, read_table(place / "runs.parquet"), flows, links, exact=kept["exact"])
            return found

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables that the program prints: means with 95 % confidence intervals, a row per algorithm and link, and a row
        per algorithm and group (`by_group`).
        """
        return [*self._means(columns), *failed_runs(self)]

    def _overall(self) -> Results:
        return self.by_link()

    def __repr__(self) -> str:
        seeds = f", {self.seeds} seeds" if self.seeds > 1 else ""
        return f"<Comparison of {listed(dict.fromkeys(self.runs['algorithm'].to_pylist()))}{seeds}>"

    def _own_plot(self, _: str | None) -> Plot:
        from fullpipe.plots.series import comparison_plot

        return comparison_plot({label: one.sampled() for label, one in self.results.items()})


def _row(number: int, label: str, one: Result | Failure, failed: bool) -> dict[str, Label]:
    """Row of a run; with the column ``error`` if a run of the comparison failed."""
    if isinstance(one, Failure):
        return {"run": number, "algorithm": label, "engine": one.engine, "seed": one.seed, "error": one.error}
    labels = {"run": number, "algorithm": label, "engine": one.engine, "seed": one.scenario.seed}
    return {**labels, **({"error": None} if failed else {}), **one.figures()}


def _plain_columns(result: Result, name: str) -> dict[str, list[Label]]:
    return {key: tables.to_list(column) for key, column in result.columns(name).items()}
