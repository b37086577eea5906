"""Two algorithms on one link: their shares, and the harm of each to the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe._util.files import check_free, readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.text import listed, with_params
from fullpipe.custom.arguments import as_algorithm
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.experiments.failures import all_done, failed_runs, failures, raise_if_all_failed
from fullpipe.metrics import column
from fullpipe.runs.aggregate import Estimate, estimate
from fullpipe.runs.design import Case, Design, Done, Label, check_seeds, error_line
from fullpipe.runs.engines import check_engines
from fullpipe.runs.measure import Row, full, name_of
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import Details, Results, read_details, table_of
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import kept_runs
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.plots.spec import Plot

__all__ = ["Duel", "duel", "harm"]

HALF, AMONG = "half and half", "one among many"
"""Mixes of the two algorithms, as rows of runs name them."""

MIXES = {HALF: "Equal split", AMONG: "1 vs N-1"}
"""Headings of the mixes."""

FEWEST_AMONG = 10
"""Flows of the second mix if the scenario has fewer than three."""


def harm(alone: float, beside: float, *, more_is_better: bool) -> float:
    """Harm of a competitor to a flow, from 0 (no harm) to 1: (x - y)/x for a metric that should be large, (y - x)/y
    for a metric that should be small, with x solo and y versus the competitor.

    Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion
    Control Algorithms", HotNets 2019, section 3.

    Args:
        alone: Metric without the competitor, at least 0.
        beside: Metric with the competitor, at least 0.
        more_is_better: Whether the metric should be large, as goodput, or small, as RTT and loss.
    """
    whole, rest = (alone, beside) if more_is_better else (beside, alone)
    return max(0.0, (whole - rest) / whole) if whole else 0.0


@shows_progress("runs")
def duel(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
    algorithms: Sequence[str | Mapping[str, object] | type],
    *,
    buffers: Sequence[str] | None = None,
    seeds: int = 5,
    engine: str = "simulator",
    kernel: str | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
    dask: object = None,
) -> Duel:
    """Runs a scenario's flows with two algorithms in two mixes, and each algorithm's flows of a mix solo. The mixes are
    n/2 : n/2 (every second flow), and 1 vs n-1: one flow of the first algorithm, and all others of the second.

    Flows are taken in the scenario's order, and again from the first one if there are too few. A duel has at least two
    flows; the second mix has ten if the scenario has fewer than three. Cross traffic and all other keys stay, and
    series are not sampled. A run that fails does not stop the others.

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        algorithms: Two names, or tables such as ``{"name": "vegas", "alpha": 2}``.
        buffers: Buffers of the link called bottleneck, or of the first link; None for the scenario's buffer.
        seeds: Runs of each part, from the scenario's seed on. All mixes use equal seeds, and differences are paired.
        engine: Engine of the runs, "simulator" or "linux".
        kernel: As for `run`.
        out: Directory that the duel is saved into (`Duel.save`). Finished runs are kept there, so that an interrupted
            duel can be continued.
        workers: As for `run_many`.
        progress: Function that is called with the number of finished runs and the number of all runs.
        stop: As for `run_many`.
        memory: As for `run_many`; on a cluster, the limit of each worker.
        dask: Address of a Dask scheduler, or a client; None for this machine.

    Raises:
        ScenarioError: An algorithm, parameter, or buffer is unknown, or the scenario has no flows.
        InputError: The number of algorithms is not two, a buffer is named twice, or the number of seeds is not allowed.
        Cancelled: ``stop`` was set.
        Exception: All runs failed; this is the first failure.
    """
    check_several("algorithms", algorithms)
    check_several("buffers", buffers)
    check_engines([engine], kernel)
    sides = [as_algorithm(one) for one in algorithms]
    scenario = Scenario.of(scenario)
    labels = labels_of(sides)
    if len(labels) != 2 or labels[0] == labels[1]:
        raise InputError(f"a duel requires two different algorithms, got {listed(labels)}")
    check_seeds(seeds)
    if buffers is not None and (not buffers or len(set(buffers)) < len(buffers)):
        raise InputError(f"buffers requires at least one value, and each once, got {listed(buffers)}")
    bouts = [Bout(buffer, mix) for buffer in buffers or (None,) for mix in (HALF, AMONG)]
    cases = [
        Case(
            bout.scenario(scenario, sides, labels, part),
            {"buffer": bout.buffer, "mix": bout.mix, "part": part},
            measure=FULL,
        )
        for bout in bouts
        for part in PARTS
    ]
    first = scenario.seed
    design = Design(cases, range(first, first + seeds))
    if out is not None:
        check_free(out)
    with kept_runs(out) as store:
        options = RunOptions(workers, memory, stop, progress, dask)
        runner = Runner(
            options, None if out is None else store, engine=engine, kernel=kernel, tolerates=(BaseException,)
        )
        ended = all_done(runner, design)
        raise_if_all_failed(ended)
        outcome = Duel._of_runs(labels, ended)
        if out is not None:
            outcome.save(out)
    return outcome


def labels_of(algorithms: Sequence[str | Mapping[str, object]]) -> list[str]:
    """Names of the groups of flows: an algorithm's name, with its parameters."""
    return [one if isinstance(one, str) else with_params(one) for one in algorithms]


FULL = name_of(full)
"""Measure of the runs."""

PARTS = ("first alone", "second alone", "beside")
"""Parts of a mix."""


@dataclass(frozen=True)
class Bout:
    """A buffer, or None for the scenario's buffer, and a mix."""

    buffer: str | None
    mix: str

    def scenario(
        self, scenario: Scenario, algorithms: Sequence[str | Mapping[str, object]], labels: Sequence[str], part: str
    ) -> Scenario:
        """Scenario of a part. Each flow is named after its algorithm."""
        every = [
            {**group, "count": 1}
            for group in scenario.to_dict().get("flows", ())
            for _ in range(int(group.get("count", 1)))
        ]
        if not every:
            raise ScenarioError("flows", "a duel requires at least one flow", scenario.file)
        many = FEWEST_AMONG if self.mix == AMONG and len(every) < 3 else max(2, len(every))
        flows = []
        for i in range(many):
            side = min(i, 1) if self.mix == AMONG else i % 2
            if part == "beside" or PARTS[side] == part:
                flows.append({**every[i % len(every)], "algorithm": algorithms[side], "name": labels[side]})
        changes: dict[str, object] = {"flows": flows, "series_interval": "off"}
        if self.buffer is not None:
            names = [link["name"] for link in scenario.to_dict()["links"]]
            changes[f"links.{names.index('bottleneck') if 'bottleneck' in names else 0}.buffer"] = self.buffer
        return scenario.replace(**changes)


LABELS = ("buffer", "mix", "part")

Pair = dict[str, Row]
"""Metrics of an algorithm with a seed: ``alone``, and ``beside`` the other one."""


class Duel(Results):
    """Results of two algorithms on one link. The labels of `runs` are ``buffer`` (null for the scenario's buffer),
    ``mix`` ("``half and half``", "``one among many``"), and ``part`` (``"first alone"``, ``"second alone"``,
    ``"beside"``). If a run failed, `runs` has the column ``error``.

    Attributes:
        algorithms: Names of the two algorithms.
        groups: A row per run and algorithm in it: the labels, ``seed``, ``algorithm``, ``flows``, ``goodput_bps``
            together, ``share`` of all flows' goodput, ``mean_rtt_s``, ``retransmits``.
    """

    KIND = "duel"

    def __init__(
        self,
        algorithms: Sequence[str],
        groups: Sequence[Row],
        runs: pa.Table | None = None,
        flows: pa.Table | None = None,
        links: pa.Table | None = None,
    ) -> None:
        self.algorithms = list(algorithms)
        self.groups = [dict(group) for group in groups]
        super().__init__(LABELS, table_of(_runs_of(groups), LABELS) if runs is None else runs, flows, links)

    @classmethod
    def _of_runs(cls, algorithms: Sequence[str], ended: Sequence[Done]) -> Duel:
        flows, links = Details(), Details()
        groups, rows = [], []
        failed = any(done.error is not None for done in ended)
        for done in ended:
            number, labels = done.run.number, {**done.run.case.labels, "seed": done.run.seed}
            error = {"error": None if done.error is None else error_line(done.error)} if failed else {}
            row = {"run": number, **labels, **error}
            if done.row is not None:
                flows.add(number, done.row["flows"])
                links.add(number, done.row["links"])
                groups += [{**labels, **group} for group in group_rows(done.row["runs"], done.row["flows"])]
                row |= done.row["runs"]
            rows.append(row)
        runs = table_of(rows, LABELS)
        return cls(algorithms, groups, runs, flows.table(runs, LABELS), links.table(runs, LABELS))

    def rows(self) -> list[Row]:
        """A row per buffer, mix, and algorithm: ``buffer``, ``mix``, ``algorithm``, ``flows``, ``seeds``, and
        ``fair_share`` (fraction of all flows). Means over the seeds, each with ``_ci95``, half of the width of the 95 %
        confidence interval: ``share`` of the goodput, ``goodput_bps``, ``alone_goodput_bps``, ``mean_rtt_s``,
        ``alone_rtt_s``, and the harm by the other algorithm, ``goodput_harm`` and ``rtt_harm`` (`harm`, per seed).
        Seeds with a failed run are left out.
        """
        found: dict[tuple[Label, str, str], dict[int, Pair]] = {}
        for run in self.groups:
            side = found.setdefault((run["buffer"], run["mix"], run["algorithm"]), {})
            side.setdefault(run["seed"], {})["beside" if run["part"] == "beside" else "alone"] = run
        flows = {
            place: parts["beside"]["flows"]
            for place, side in found.items()
            for parts in side.values()
            if "beside" in parts
        }
        complete = {place: [each for each in side.values() if len(each) > 1] for place, side in found.items()}
        return [
            {
                "buffer": buffer,
                "mix": mix,
                "algorithm": algorithm,
                "flows": flows[buffer, mix, algorithm],
                "seeds": len(pairs),
                "fair_share": flows[buffer, mix, algorithm] / sum(flows[buffer, mix, name] for name in self.algorithms),
                **_estimates(pairs),
            }
            for (buffer, mix, algorithm), pairs in complete.items()
            if pairs
        ]

    def to_dict(self) -> dict[str, object]:
        """The algorithms, rows, and groups of all runs as plain values ready for JSON; ``failed`` lists failed runs."""
        names = ("run", *LABELS, "seed", "error")
        failed = [{name: row[name] for name in names} for row in failures(self)]
        more = {"failed": failed} if failed else {}
        return {"algorithms": self.algorithms, "rows": self.rows(), "runs": self.groups, **more}

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Duel:
        """The duel that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            kept = read_json(place / "duel.json")
            return cls(kept["algorithms"], kept["runs"], read_table(place / "runs.parquet"), *read_details(place))

    def _own_plot(self, _: str | None) -> Plot:
        from fullpipe.plots.duel import duel_plot

        return duel_plot(self.rows(), MIXES)

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables that the program prints.

        Args:
            columns: Metrics of all runs, shown in a separate table.
        """
        rows = self.rows()
        many = len({row["buffer"] for row in rows}) > 1
        parts: list[Shown | str] = []
        for mix in (HALF, AMONG):
            chosen = [row for row in rows if row["mix"] == mix]
            if not chosen:
                continue
            counts = dict.fromkeys(f"{row['flows']} {row['algorithm']}" for row in chosen)
            cells = [
                column(
                    name,
                    [row[name] for row in chosen],
                    [row.get(f"{name}_ci95") for row in chosen],
                )
                for name in MEASURED
            ]
            named = [("algorithm", [row["algorithm"] for row in chosen])]
            named = [*([("buffer", [row["buffer"] for row in chosen])] if many else []), *named]
            parts.append(
                Shown(
                    f"{MIXES[mix]}: {' and '.join(counts)}",
                    [heading for heading, _ in (*named, *cells)],
                    list(zip(*(texts for _, texts in (*named, *cells)), strict=True)),
                    left=len(named),
                )
            )
        if rows:
            random = any(row[f"{name}_ci95"] for row in rows for name in PAIRED)
            over = f"means over {rows[0]['seeds']} seeds, 95 % confidence intervals paired by seed"
            parts.append(
                "Harm is the fraction of its solo performance that an algorithm loses to the other (0 to 1); "
                f"{over if random else 'one value: this scenario has no randomness'}"
            )
        return [*parts, *failed_runs(self), *([self.shown_summary(columns)] if columns else [])]

    def __repr__(self) -> str:
        return f"<Duel of {listed(self.algorithms)}>"


PAIRED = ("share", "goodput_harm", "rtt_harm")
"""Metrics shown with their intervals."""

MEASURED = (
    *("share", "fair_share", "goodput_bps", "alone_goodput_bps", "goodput_harm"),
    *("mean_rtt_s", "alone_rtt_s", "rtt_harm"),
)
"""Metrics of the tables."""

GROUP = ("flows", "goodput_bps", "share", "mean_rtt_s", "retransmits")
"""Metrics of `Duel.groups`."""


def group_rows(metrics: Row, flows: Row) -> list[Row]:
    """A row per algorithm in a run."""
    names = list(dict.fromkeys(flows["name"]))
    if len(names) == 1:  # solo: the metrics of the run are those of the algorithm
        share = 1.0 if metrics["goodput_bps"] else None
        return [{"algorithm": names[0], **{key: share if key == "share" else metrics[key] for key in GROUP}}]
    return [{"algorithm": name, **{key: metrics[f"groups.{name}.{key}"] for key in GROUP}} for name in names]


def _runs_of(groups: Sequence[Row]) -> list[Row]:
    """A row per run with the metrics of each algorithm."""
    runs: dict[tuple[Label, ...], Row] = {}
    for group in groups:
        place = {key: group[key] for key in (*LABELS, "seed")}
        row = runs.setdefault(tuple(place.values()), {"run": len(runs), **place})
        row |= {f"groups.{group['algorithm']}.{key}": group.get(key) for key in GROUP}
    return list(runs.values())


def _estimates(pairs: Sequence[Pair]) -> Row:
    """Means over the seeds of an algorithm's metrics, versus the other algorithm and solo."""
    values = {
        "share": [pair["beside"]["share"] for pair in pairs],
        "goodput_bps": [pair["beside"]["goodput_bps"] for pair in pairs],
        "alone_goodput_bps": [pair["alone"]["goodput_bps"] for pair in pairs],
        "mean_rtt_s": [pair["beside"]["mean_rtt_s"] for pair in pairs],
        "alone_rtt_s": [pair["alone"]["mean_rtt_s"] for pair in pairs],
        "goodput_harm": [_harm(pair, "goodput_bps", more_is_better=True) for pair in pairs],
        "rtt_harm": [_harm(pair, "mean_rtt_s", more_is_better=False) for pair in pairs],
    }
    row: Row = {}
    for name, known in values.items():
        told = [value for value in known if value is not None]
        over = estimate(told) if told else Estimate(None, None, None)  # type: ignore[arg-type]
        row |= {name: over.mean, f"{name}_ci95": over.ci95}
    return row


def _harm(pair: Pair, name: str, *, more_is_better: bool) -> float | None:
    alone, beside = pair["alone"][name], pair["beside"][name]
    return None if alone is None or beside is None else harm(alone, beside, more_is_better=more_is_better)
