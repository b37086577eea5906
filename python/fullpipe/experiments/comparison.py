"""Results of a comparison: all runs, and the first seed's results with their series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe._util.files import readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.text import file_name, listed
from fullpipe.metrics import METRICS
from fullpipe.runs import tables
from fullpipe.runs.figures import FIRST
from fullpipe.runs.result import Result
from fullpipe.runs.results import Details, Results, read_details, table_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["Comparison"]

Plain = dict[str, object]
"""A run as its JSON has it: ``algorithm``, and the keys of `Result.to_dict`."""

LABELS = ("algorithm",)


class Comparison(Results):
    """Results of one scenario with several algorithms. The label is ``algorithm``.

    Attributes:
        results: Result of the first seed by algorithm, in the order asked for.
    """

    KIND = "comparison"

    def __init__(self, results: Mapping[str, Result | Sequence[Result]], *, exact: bool = False) -> None:
        """Takes the results by algorithm, of several seeds in order."""
        every = [(label, [one] if isinstance(one, Result) else list(one)) for label, one in results.items()]
        each = [(label, result) for label, of_seeds in every for result in of_seeds]
        self.results = {label: of_seeds[0] for label, of_seeds in every}
        self._plain: list[Plain] = [{"algorithm": label, **result.to_dict()} for label, result in each]
        runs = table_of(
            [
                {"run": i, "algorithm": label, "engine": one.engine, "seed": one.scenario.seed, **one.figures()}
                for i, (label, one) in enumerate(each)
            ]
        )
        flows, links = Details(), Details()
        for i, (_, result) in enumerate(each):
            for details, name in ((flows, "flows"), (links, "links")):
                columns = result.columns(name)
                details.add(i, {key: tables.to_list(column) for key, column in columns.items()})
        super().__init__(LABELS, runs, flows.table(runs, LABELS), links.table(runs, LABELS), exact=exact)

    @property
    def seeds(self) -> int:
        """Runs of each algorithm, at most."""
        labels = self.runs["algorithm"].to_pylist()
        return max((labels.count(label) for label in self.results), default=0)

    def by_link(self) -> Results:
        """Runs with a row per run and link, and the labels ``algorithm`` and ``link``."""
        import pyarrow as pa

        links, runs = self.links, self.runs
        place = {run: row for row, run in enumerate(runs["run"].to_pylist())}
        rows = pa.array([place[run] for run in links["run"].to_pylist()], pa.int64())
        table = links.rename_columns(["link" if name == "name" else name for name in links.column_names])
        for name in FIRST[FIRST.index("flows") :]:
            if name in METRICS and name in runs.column_names and name not in table.column_names:
                table = table.append_column(name, runs[name].take(rows))
        return Results((*LABELS, "link"), table, exact=self.exact)

    def to_dict(self) -> Plain:
        """All runs as plain values ready for JSON, algorithm by algorithm and seed by seed."""
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
            labels = dict.fromkeys(run["algorithm"] for run in kept["runs"])
            found = cls.__new__(cls)
            found.results = {label: Result.load(place / file_name(label)) for label in labels}
            found._plain = kept["runs"]
            flows, links = read_details(place)
            Results.__init__(found, LABELS, read_table(place / "runs.parquet"), flows, links, exact=kept["exact"])
            return found

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Table that the program prints: means with 95 % confidence intervals, a row per algorithm and link."""
        return [(self if columns else self.by_link()).shown_summary(columns)]

    def __repr__(self) -> str:
        seeds = f", {self.seeds} seeds" if self.seeds > 1 else ""
        return f"<Comparison of {listed(self.results)}{seeds}>"

    def _own_figure(self, _: str | None) -> Figure:
        from fullpipe.charts.series import comparison_figure

        return comparison_figure({label: one.sampled() for label, one in self.results.items()})
