"""Two algorithms on one link: what each gets beside the other, and what that costs the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Shown, milliseconds, percent, rate
from fullpipe._util.files import check_free, readable, staged
from fullpipe._util.inputs import read_json
from fullpipe._util.text import listed, with_params
from fullpipe.errors import InputError, ScenarioError, check_several
from fullpipe.experiments.tabled import Tabled
from fullpipe.runs import tables
from fullpipe.runs.aggregate import Estimate, estimate
from fullpipe.runs.design import Case, Design
from fullpipe.runs.figures import groups
from fullpipe.runs.measure import Row, name_of
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.options import RunOptions
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import kept_runs
from fullpipe.runs.tidy import setting, tidy
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.runs.result import Result

__all__ = ["Duel", "duel", "harm"]

HALF, AMONG = "half and half", "one among many"
"""The mixes of the two."""

FEWEST_AMONG = 10
"""Flows of the second mix where the scenario has fewer than three."""

SEEDS = (2, 1000)
"""Seeds that intervals can be made of: at least, at most."""


def harm(alone: float, beside: float, *, more_is_better: bool) -> float:
    """How much of what a flow has alone a competitor takes: (x - y)/x of what should be large, (y - x)/y of what should
    be small, for x alone and y beside it; never below 0. 0 for none, 1 for all of it.

    Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion
    Control Algorithms", HotNets 2019, section 3.

    Args:
        alone: The figure without the competitor, at least 0.
        beside: The figure beside it, at least 0.
        more_is_better: Whether it should be large, as goodput, or small, as RTT and loss.
    """
    whole, rest = (alone, beside) if more_is_better else (beside, alone)
    return max(0.0, (whole - rest) / whole) if whole else 0.0


@shows_progress("runs")
def duel(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    algorithms: Sequence[str | Mapping[str, Any]],
    *,
    buffers: Sequence[str] | None = None,
    seeds: int = 5,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    memory_bytes: int | None = None,
    dask: Any = None,
) -> Duel:
    """Runs a scenario's flows as a mix of two algorithms, and each one's flows of that mix without the other's: half
    and half (every second flow), and one flow of the first among all others of the second.

    The scenario's flows are taken in order, from the first one again where there are too few: two at least, and for the
    second mix ten where there are fewer than three. All else in it stays, cross traffic too; series are not sampled.

    Args:
        scenario: What to run; also a TOML file's path, or a dictionary with its keys.
        algorithms: Two names, or tables such as ``{"name": "vegas", "alpha": 2}``.
        buffers: Buffers of the link called bottleneck, or of the first one, as scenarios write them; None for its own.
        seeds: Runs of each, with the scenario's seed and those after it; the same for all mixes, so that differences
            are between runs under the same random choices.
        out: A directory that the duel is saved into (`Duel.save`). Finished runs are there meanwhile: a duel that was
            stopped continues where it was.
        workers: As for `run_many`.
        progress: Called with the runs done and those to do in all.
        stop: As for `run_many`.
        memory_bytes: As for `run_many`; on a cluster, the memory that the runs of each worker may hold together.
        dask: The address of a Dask scheduler whose cluster makes the runs, or a client; None for this machine.

    Raises:
        ScenarioError: There is no such algorithm, parameter or buffer, or the scenario has no flows.
        InputError: These are not two algorithms, a buffer is named twice, or so many seeds are not allowed.
        Cancelled: ``stop`` was set.
    """
    check_several("algorithms", algorithms)
    check_several("buffers", buffers)
    scenario = Scenario.of(scenario)
    labels = [one if isinstance(one, str) else with_params(one) for one in algorithms]
    if len(labels) != 2 or labels[0] == labels[1]:
        raise InputError(f"a duel is of two algorithms, not of: {listed(labels)}")
    if not SEEDS[0] <= seeds <= SEEDS[1]:
        raise InputError(f"seeds = {seeds} (allowed: {SEEDS[0]} to {SEEDS[1]})")
    if buffers is not None and (not buffers or len(set(buffers)) < len(buffers)):
        raise InputError(f"buffers: there are none, or one is named twice: {listed(buffers)}")
    bouts = [Bout(buffer, mix) for buffer in buffers or (None,) for mix in (HALF, AMONG)]
    places = [(bout, part) for bout in bouts for part in PARTS]
    measure = name_of(group_rows)
    cases = [Case(bout.scenario(scenario, algorithms, labels, part), measure=measure) for bout, part in places]
    first = scenario.seed
    design = Design(cases, range(first, first + seeds))
    if out is not None:
        check_free(out)
    with kept_runs(out) as store:
        options = RunOptions(workers, memory_bytes, stop, progress, dask)
        rows = Runner(options, None if out is None else store).all_rows(design)
        runs = [
            {"buffer": bout.buffer, "mix": bout.mix, "part": part, "seed": first + seed, **group}
            for place, (bout, part) in enumerate(places)
            for seed in range(seeds)
            for group in rows[place * seeds + seed]["groups"]
        ]
        outcome = Duel(labels, runs)
        if out is not None:
            outcome.save(out)
    return outcome


PARTS = ("first alone", "second alone", "beside")
"""What a mix is run as."""


@dataclass(frozen=True)
class Bout:
    """A buffer, None for the scenario's own, and a mix."""

    buffer: str | None
    mix: str

    def scenario(
        self, scenario: Scenario, algorithms: Sequence[str | Mapping[str, Any]], labels: Sequence[str], part: str
    ) -> Scenario:
        """What is run of it; flows are called after their algorithms."""
        every = [
            {**group, "count": 1}
            for group in scenario.to_dict().get("flows", ())
            for _ in range(int(group.get("count", 1)))
        ]
        if not every:
            raise ScenarioError("flows", "there are none that could be of two algorithms", scenario.file)
        many = FEWEST_AMONG if self.mix == AMONG and len(every) < 3 else max(2, len(every))
        flows = []
        for i in range(many):
            side = min(i, 1) if self.mix == AMONG else i % 2
            if part == "beside" or PARTS[side] == part:
                flows.append({**every[i % len(every)], "algorithm": algorithms[side], "name": labels[side]})
        changes: dict[str, Any] = {"flows": flows, "series_interval": "off"}
        if self.buffer is not None:
            names = [link["name"] for link in scenario.to_dict()["links"]]
            changes[f"links.{names.index('bottleneck') if 'bottleneck' in names else 0}.buffer"] = self.buffer
        return scenario.replace(**changes)


class Duel(Tabled):
    """The outcome of a duel.

    Attributes:
        algorithms: The two, as `runs` and `rows` call them.
        runs: A row per run and algorithm in it: ``buffer`` (None for the scenario's own), ``mix`` ("half and half",
            "one among many"), ``part`` ("first alone", "second alone", "beside"), ``seed``, ``algorithm``, ``flows``,
            ``goodput_bps`` together, ``share`` of all flows' goodput, ``mean_rtt_s``, ``retransmits``.
    """

    def __init__(self, algorithms: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> None:
        self.algorithms = list(algorithms)
        self.runs = [dict(run) for run in runs]

    def rows(self) -> list[dict[str, Any]]:
        """A row per buffer, mix and algorithm: ``buffer``, ``mix``, ``algorithm``, ``flows``, ``seeds``,
        ``fair_share`` (its flows over all); over the seeds, each with ``_ci95``, half of the 95 % confidence interval:
        ``share`` of the goodput, ``goodput_bps``, ``alone_goodput_bps``, ``mean_rtt_s``, ``alone_rtt_s``, and what the
        other one does to it, ``goodput_harm`` and ``rtt_harm`` (`harm`, seed by seed).
        """
        found: dict[tuple[Any, ...], dict[int, dict[str, Mapping[str, Any]]]] = {}
        for run in self.runs:
            side = found.setdefault((run["buffer"], run["mix"], run["algorithm"]), {})
            side.setdefault(run["seed"], {})["beside" if run["part"] == "beside" else "alone"] = run
        flows = {place: next(iter(side.values()))["beside"]["flows"] for place, side in found.items()}
        return [
            {
                "buffer": buffer,
                "mix": mix,
                "algorithm": algorithm,
                "flows": flows[buffer, mix, algorithm],
                "seeds": len(pairs),
                "fair_share": flows[buffer, mix, algorithm] / sum(flows[buffer, mix, name] for name in self.algorithms),
                **_estimates(list(pairs.values())),
            }
            for (buffer, mix, algorithm), pairs in found.items()
        ]

    def tidy(self) -> pa.Table:
        """Everything measured as `Result.tidy` has it; the group is the algorithm, the setting the run."""
        places = ("buffer", "mix", "part", "seed")
        return tidy(
            (
                run["algorithm"],
                setting(**{place: run[place] for place in places}),
                {name: value for name, value in run.items() if name not in places},
            )
            for run in self.runs
        )

    def to_dict(self) -> dict[str, Any]:
        """The algorithms, rows and runs as plain values ready for JSON."""
        return {"algorithms": self.algorithms, "rows": self.rows(), "runs": self.runs}

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``duel.json``, ``duel.parquet`` and ``runs.parquet``; all appear whole or not at all.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "duel.json").write_text(self.to_json() + "\n", encoding="utf-8")
            pq.write_table(self.table, stage / "duel.parquet")
            pq.write_table(pa.Table.from_pylist(self.runs), stage / "runs.parquet")

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Duel:
        """The duel that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            kept = read_json(place / "duel.json")
            return cls(kept["algorithms"], kept["runs"])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws what each does to the other's goodput over the buffers, a panel per mix; with ``path``, writes the
        picture too.

        Raises:
            InputError: The file can't be written.
        """
        from fullpipe.charts.duel import duel_figure
        from fullpipe.charts.style import written

        return written(duel_figure(self.rows()), path)

    def shown(self) -> list[Shown | str]:
        """The tables that the program prints."""
        rows = self.rows()
        many = len({row["buffer"] for row in rows}) > 1
        first, second = self.algorithms
        parts: list[Shown | str] = []
        for mix in (HALF, AMONG):
            chosen = [row for row in rows if row["mix"] == mix]
            counts = dict.fromkeys(f"{row['flows']} {row['algorithm']}" for row in chosen)
            parts.append(
                Shown(
                    f"{mix.capitalize()}: {' and '.join(counts)}",
                    (
                        *(["buffer"] if many else []),
                        "algorithm",
                        "share",
                        "fair",
                        "goodput",
                        "goodput alone",
                        "harm to it",
                        "rtt",
                        "rtt alone",
                        "harm to it",
                    ),
                    [
                        (
                            *([row["buffer"]] if many else []),
                            row["algorithm"],
                            _per_cent(row, "share"),
                            percent(row["fair_share"]),
                            rate(row["goodput_bps"]),
                            rate(row["alone_goodput_bps"]),
                            _part(row, "goodput_harm"),
                            milliseconds(row["mean_rtt_s"]),
                            milliseconds(row["alone_rtt_s"]),
                            _part(row, "rtt_harm"),
                        )
                        for row in chosen
                    ],
                    left=2 if many else 1,
                )
            )
        seeds = rows[0]["seeds"]
        random = any(row[f"{name}_ci95"] for row in rows for name in ("share", "goodput_harm", "rtt_harm"))
        over = f"means over {seeds} seeds, 95 % confidence intervals paired by seed"
        parts.append(
            f"Harm is the part that {first} and {second} lose beside each other of what they have alone (0 to 1); "
            f"{over if random else 'one value: this scenario has no randomness'}"
        )
        return parts

    def __repr__(self) -> str:
        return f"<Duel of {listed(self.algorithms)}>"


def group_rows(result: Result) -> Row:
    """Measure of a duel: ``groups``, with the algorithm's name and metrics of each."""
    metrics = ("flows", "goodput_bps", "share", "mean_rtt_s", "retransmits")
    found = groups(tables.rows(result.columns("flows")), [], result.window_s)
    return {"groups": [{"algorithm": group["name"], **{key: group[key] for key in metrics}} for group in found]}


def _estimates(pairs: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Over the seeds; `pairs` are a side's figures beside the other one and alone."""
    values = {
        "share": [pair["beside"]["share"] for pair in pairs],
        "goodput_bps": [pair["beside"]["goodput_bps"] for pair in pairs],
        "alone_goodput_bps": [pair["alone"]["goodput_bps"] for pair in pairs],
        "mean_rtt_s": [pair["beside"]["mean_rtt_s"] for pair in pairs],
        "alone_rtt_s": [pair["alone"]["mean_rtt_s"] for pair in pairs],
        "goodput_harm": [_harm(pair, "goodput_bps", more_is_better=True) for pair in pairs],
        "rtt_harm": [_harm(pair, "mean_rtt_s", more_is_better=False) for pair in pairs],
    }
    row: dict[str, Any] = {}
    for name, known in values.items():
        told = [value for value in known if value is not None]
        over = estimate(told) if told else Estimate(None, None, None)  # type: ignore[arg-type]
        row |= {name: over.mean, f"{name}_ci95": over.ci95}
    return row


def _harm(pair: Mapping[str, Mapping[str, Any]], name: str, *, more_is_better: bool) -> float | None:
    alone, beside = pair["alone"][name], pair["beside"][name]
    return None if alone is None or beside is None else harm(alone, beside, more_is_better=more_is_better)


def _per_cent(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    ci = row[f"{name}_ci95"]
    return f"{100 * row[name]:.1f} ± {100 * ci:.1f} %" if ci else percent(row[name])


def _part(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    ci = row[f"{name}_ci95"]
    return f"{row[name]:.2f} ± {ci:.2f}" if ci else f"{row[name]:.2f}"
