"""One scenario with several algorithms, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe.display import Shown, any_known, any_marked, count, fairness, marked, milliseconds, rate
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.files import readable, staged
from fullpipe.runs import tables
from fullpipe.runs.engines import check_engines, run_many
from fullpipe.runs.figures import over_flows
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.result import Result
from fullpipe.runs.tidy import tidy
from fullpipe.scenario import Scenario
from fullpipe.study.tabled import Tabled
from fullpipe.text import file_name, listed, with_params

if TYPE_CHECKING:
    import os
    import threading

    import pyarrow as pa
    from matplotlib.figure import Figure


__all__ = ["Comparison", "compare"]


@shows_progress("s simulated")
def compare(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    algorithms: Sequence[str | Mapping[str, Any]] | None = None,
    *,
    engine: str | Sequence[str] = "simulator",
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    kernel: str | None = None,
    memory_bytes: int | None = None,
) -> Comparison:
    """Runs a scenario once per algorithm and engine, all its flows using that algorithm; its recovery too, unless the
    scenario names one. Engines run one after the other; where there are several, a result is called "algorithm on
    engine".

    Args:
        scenario: What to run; also a TOML file's path, or a dictionary with its keys.
        algorithms: Names, or tables such as ``{"name": "vegas", "alpha": 2}``; None for the scenario as it is.
        engine: What runs it; or several.
        workers: Runs at a time; None for the number of cores.
        progress: As for `run_many`.
        stop: As for `run_many`.
        kernel: As for `run`.
        memory_bytes: As for `run_many`.

    Raises:
        ScenarioError: There is no such algorithm or parameter, or the scenario has no flows.
        InputError: No algorithm is given, or one is given twice; an engine or a kernel is not there.
        Cancelled: ``stop`` was set.
    """
    check_several("algorithms", algorithms)
    engines = [engine] if isinstance(engine, str) else list(engine)
    if len(set(engines)) < len(engines):
        raise InputError(f"an engine is named twice: {listed(engines)}")
    check_engines(engines, kernel)
    scenarios = _scenarios(Scenario.of(scenario), algorithms, engines)
    results: dict[str, Result] = {}
    for i, name in enumerate(engines):

        def tell(reached_s: float, total_s: float, done: int = i) -> None:
            if progress is not None:
                progress(done * total_s + reached_s, len(engines) * total_s)

        runs = run_many(
            scenarios,
            workers=workers,
            progress=tell,
            stop=stop,
            engine=name,
            kernel=kernel if name == "linux" else None,
            memory_bytes=memory_bytes,
        )
        results |= {label if len(engines) == 1 else f"{label} on {name}": run for label, run in runs.items()}
    return Comparison(results)


def _scenarios(
    scenario: Scenario, algorithms: Sequence[str | Mapping[str, Any]] | None, engines: Sequence[str]
) -> dict[str, Scenario]:
    """What each engine runs, by the names that results have."""
    if algorithms is None:
        if len(engines) < 2:
            raise InputError("nothing to compare; name --algorithms, or at least two engines")
        names = dict.fromkeys(_label(group["algorithm"]) for group in scenario.to_dict().get("flows", ()))
        return {" + ".join(names) or "no flows": scenario}
    labels = [_label(algorithm) for algorithm in algorithms]
    if not labels:
        raise InputError("no algorithms to compare; name at least one")
    if len(set(labels)) < len(labels):
        raise InputError(f"an algorithm is named twice: {listed(labels)}")
    if not scenario.to_dict().get("flows"):
        raise ScenarioError("flows", "there are none whose algorithm could be compared", scenario.file)
    return {
        label: scenario.replace(**{"flows.algorithm": algorithm})
        for label, algorithm in zip(labels, algorithms, strict=True)
    }


class Comparison(Tabled):
    """The results of one scenario under several algorithms.

    Attributes:
        results: The results by algorithm, in the order asked for.
    """

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = dict(results)

    def rows(self) -> list[dict[str, Any]]:
        """A row per algorithm and link: ``algorithm``, ``engine``, ``link``, ``utilization``, ``loss_rate``,
        ``marked_packets``, ``mean_queue_packets``, ``p99_queueing_delay_s``; and, over all flows, ``goodput_bps``
        together, ``mean_rtt_s`` averaged, ``retransmits`` and ``timeouts`` summed, ``jain_index``.
        """
        return [row for label, result in self.results.items() for row in _rows(label, result)]

    def tidy(self) -> pa.Table:
        """Everything measured as `Result.tidy` has it; the setting is the algorithm."""
        return tidy(one for label, result in self.results.items() for one in result.measured(label))

    def to_dict(self) -> dict[str, Any]:
        """The algorithms' results as plain values ready for JSON."""
        return {"runs": [{"algorithm": label, **result.to_dict()} for label, result in self.results.items()]}

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``comparison.json``, ``comparison.parquet`` and a directory per algorithm, as `Result.save` does.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "comparison.json").write_text(self.to_json() + "\n", encoding="utf-8")
            pq.write_table(self.table, stage / "comparison.parquet")
            for label, result in self.results.items():
                result.save(stage / file_name(label))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Comparison:
        """The comparison that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            kept = json.loads((place / "comparison.json").read_text(encoding="utf-8"))
            return cls({run["algorithm"]: Result.load(place / file_name(run["algorithm"])) for run in kept["runs"]})

    def shown(self) -> list[Shown | str]:
        """The table that the program prints."""
        rows = self.rows()
        marks, waits = any_marked(rows), any_known(rows, "p99_queueing_delay_s")
        return [
            Shown(
                "",
                (
                    "algorithm",
                    "link",
                    "utilization",
                    "loss",
                    *(["marked"] if marks else []),
                    "mean queue",
                    *(["p99 delay"] if waits else []),
                    "goodput",
                    "mean rtt",
                    "sent again",
                    "timeouts",
                    "Jain",
                ),
                [
                    (
                        row["algorithm"],
                        row["link"],
                        f"{row['utilization']:.4f}",
                        f"{row['loss_rate']:.2e}",
                        *([marked(row)] if marks else []),
                        f"{row['mean_queue_packets']:,.1f} packets",
                        *([milliseconds(row["p99_queueing_delay_s"])] if waits else []),
                        rate(row["goodput_bps"]),
                        milliseconds(row["mean_rtt_s"]),
                        count(row["retransmits"]),
                        count(row["timeouts"]),
                        fairness(row["jain_index"]),
                    )
                    for row in rows
                ],
                left=2,
            )
        ]

    def __repr__(self) -> str:
        return f"<Comparison of {listed(self.results)}>"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws all runs into one picture; with ``path``, writes it there too.

        Raises:
            InputError: The runs sampled no series, or the file can't be written.
        """
        from fullpipe.charts.series import comparison_figure
        from fullpipe.charts.style import written

        runs = {label: result.sampled() for label, result in self.results.items()}
        return written(comparison_figure(runs), path)


def _label(algorithm: str | Mapping[str, Any]) -> str:
    return algorithm if isinstance(algorithm, str) else with_params(algorithm)


def _rows(label: str, result: Result) -> list[dict[str, Any]]:
    whole = over_flows(tables.rows(result.columns("flows")), result.window_s)
    of_flows = ("goodput_bps", "mean_rtt_s", "retransmits", "timeouts")
    of_link = ("utilization", "loss_rate", "marked_packets", "mean_queue_packets", "p99_queueing_delay_s")
    return [
        {
            "algorithm": label,
            "engine": result.engine,
            "link": link["name"],
            **{k: link.get(k) for k in of_link},
            **{k: whole.get(k) for k in of_flows},
            "jain_index": result.totals["jain_index"],
        }
        for link in tables.rows(result.columns("links"))
    ]
