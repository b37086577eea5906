"""Results of a comparison: runs, means with confidence intervals, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Shown, any_known, any_marked, plus_minus, rate_plus_minus
from fullpipe._util.files import readable, staged
from fullpipe._util.inputs import read_json, read_rows
from fullpipe._util.text import file_name, listed
from fullpipe.experiments.tabled import Tabled
from fullpipe.runs.aggregate import estimate
from fullpipe.runs.figures import over_flows
from fullpipe.runs.result import Result
from fullpipe.runs.tidy import tidy

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["Comparison"]

OF_LINK = ("utilization", "loss_rate", "marked_packets", "mean_queue_packets", "p99_queueing_delay_s")
OF_FLOWS = ("goodput_bps", "mean_rtt_s", "retransmits", "timeouts")
MEANS = (*OF_LINK, *OF_FLOWS, "jain_index")
"""Metrics of `Comparison.rows`."""

Plain = dict[str, Any]
"""A run as its JSON has it: ``algorithm``, and the keys of `Result.to_dict`."""


class Comparison(Tabled):
    """Results of one scenario with several algorithms.

    Attributes:
        results: The result of the first seed by algorithm, in the order asked for.
        runs: A row per run: ``algorithm``, ``engine``, ``seed``, and the metrics that `Result.figures` lists.
    """

    def __init__(
        self,
        results: Mapping[str, Result],
        plain: Sequence[Plain] | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Takes the results of the first seed; of all runs the JSON and the metrics, where there are more."""
        self.results = dict(results)
        single = [(label, [result]) for label, result in self.results.items()]
        self._plain = _plain_of(single) if plain is None else list(plain)
        self._metrics = _metrics_of(single) if metrics is None else [dict(row) for row in metrics]

    @classmethod
    def of(cls, results: Mapping[str, Sequence[Result]]) -> Comparison:
        """The comparison of results by algorithm, of each the first seed's first."""
        every = list(results.items())
        return cls({label: of_seeds[0] for label, of_seeds in every}, _plain_of(every), _metrics_of(every))

    @property
    def runs(self) -> pa.Table:
        """A row per run: ``algorithm``, ``engine``, ``seed``, and all metrics."""
        import pyarrow as pa

        names = dict.fromkeys(name for row in self._metrics for name in row)
        return pa.table({name: [row.get(name) for row in self._metrics] for name in names})

    @property
    def seeds(self) -> int:
        """Runs of each algorithm, at most."""
        labels = [run["algorithm"] for run in self._plain]
        return max((labels.count(label) for label in self.results), default=0)

    def rows(self) -> list[dict[str, Any]]:
        """A row per algorithm and link: ``algorithm``, ``engine``, ``link``, ``seeds``; means over the seeds of
        ``utilization``, ``loss_rate``, ``marked_packets``, ``mean_queue_packets``, ``p99_queueing_delay_s``; and, over
        all flows, ``goodput_bps`` together, ``mean_rtt_s`` averaged, ``retransmits`` and ``timeouts`` summed,
        ``jain_index``. Each has ``_ci95``, half of the width of its 95 % confidence interval (Student's t), None for
        one seed.
        """
        found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for run in self._plain:
            for row in _rows(run, self.results[run["algorithm"]].window_s):
                found.setdefault((run["algorithm"], run["engine"], row["link"]), []).append(row)
        return [
            {"algorithm": label, "engine": engine, "link": link, "seeds": len(of_seeds), **_estimates(of_seeds)}
            for (label, engine, link), of_seeds in found.items()
        ]

    def tidy(self) -> pa.Table:
        """All metrics as `Result.tidy` has them, of the first seed; the setting is the algorithm."""
        return tidy(one for label, result in self.results.items() for one in result.measured(label))

    def to_dict(self) -> dict[str, Any]:
        """All runs as plain values ready for JSON, algorithm by algorithm and seed by seed."""
        return {"runs": self._plain}

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``comparison.json``, ``comparison.parquet`` (`rows`), ``runs.parquet``, and for each algorithm a
        directory of the first seed's result, as `Result.save` does.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "comparison.json").write_text(self.to_json() + "\n", encoding="utf-8")
            pq.write_table(self.table, stage / "comparison.parquet")
            pq.write_table(self.runs, stage / "runs.parquet")
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
            results = {label: Result.load(place / file_name(label)) for label in labels}
            return cls(results, kept["runs"], read_rows(place / "runs.parquet"))

    def shown(self) -> list[Shown | str]:
        """The table that the program prints: means with 95 % confidence intervals."""
        rows = self.rows()
        marks, waits = any_marked(rows), any_known(rows, "p99_queueing_delay_s")
        title = f"Means over {self.seeds} seeds and their 95 % confidence intervals" if self.seeds > 1 else ""
        headings = [
            *("algorithm", "link", "utilization", "loss"),
            *(["marked"] if marks else []),
            "mean queue",
            *(["p99 delay"] if waits else []),
            *("goodput", "mean rtt", "sent again", "timeouts", "Jain"),
        ]
        cells = [
            (
                row["algorithm"],
                row["link"],
                _shown(row, "utilization", ".4f"),
                _shown(row, "loss_rate", ".2e"),
                *([_shown(row, "marked_packets", ",.0f")] if marks else []),
                _shown(row, "mean_queue_packets", ",.1f", unit=" packets"),
                *([_shown(row, "p99_queueing_delay_s", ".1f", 1e3, " ms")] if waits else []),
                rate_plus_minus(row["goodput_bps"], row["goodput_bps_ci95"]),
                _shown(row, "mean_rtt_s", ".1f", 1e3, " ms"),
                _shown(row, "retransmits", ",.0f"),
                _shown(row, "timeouts", ",.0f"),
                _shown(row, "jain_index", ".3f"),
            )
            for row in rows
        ]
        return [Shown(title, tuple(headings), cells, left=2)]

    def __repr__(self) -> str:
        seeds = f", {self.seeds} seeds" if self.seeds > 1 else ""
        return f"<Comparison of {listed(self.results)}{seeds}>"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the runs of the first seed into one picture; with ``path``, writes it there too.

        Raises:
            InputError: The runs sampled no series, or the file can't be written.
        """
        from fullpipe.charts.series import comparison_figure
        from fullpipe.charts.style import written

        runs = {label: result.sampled() for label, result in self.results.items()}
        return written(comparison_figure(runs), path)


def _plain_of(results: Sequence[tuple[str, Sequence[Result]]]) -> list[Plain]:
    return [{"algorithm": label, **result.to_dict()} for label, of_seeds in results for result in of_seeds]


def _metrics_of(results: Sequence[tuple[str, Sequence[Result]]]) -> list[dict[str, Any]]:
    return [
        {"algorithm": label, "engine": result.engine, "seed": result.scenario.seed, **result.figures()}
        for label, of_seeds in results
        for result in of_seeds
    ]


def _rows(run: Plain, window_s: float) -> list[dict[str, Any]]:
    whole = over_flows(run["flows"], window_s)
    return [
        {
            "link": link["name"],
            **{name: link.get(name) for name in OF_LINK},
            **{name: whole.get(name) for name in OF_FLOWS},
            "jain_index": run["totals"]["jain_index"],
        }
        for link in run["links"]
    ]


def _estimates(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Means over the seeds that have a value, and their intervals."""
    found: dict[str, float | None] = {}
    for name in MEANS:
        known = [row[name] for row in rows if row[name] is not None]
        over = estimate(known) if known else None
        found |= {name: over.mean if over else None, f"{name}_ci95": over.ci95 if over else None}
    return found


def _shown(row: Mapping[str, Any], name: str, form: str, scale: float = 1.0, unit: str = "") -> str:
    return plus_minus(row[name], row[f"{name}_ci95"], form, scale, unit)
