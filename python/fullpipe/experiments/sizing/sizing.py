"""Sizing of buffers, for each algorithm and number of flows."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from fullpipe import models
from fullpipe._util.display import Shown
from fullpipe._util.files import check_free, readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.text import file_name, listed, quoted, with_params
from fullpipe.engine.memory import share_bytes
from fullpipe.engine.options import RunOptions
from fullpipe.engine.pool import check_stop, count_workers, in_threads
from fullpipe.errors import InputError, check_range, check_several
from fullpipe.experiments.recommendation import Recommendation
from fullpipe.experiments.sizing.advice import first_choice, recommend
from fullpipe.experiments.sizing.mix import BUFFER, Mix
from fullpipe.experiments.sizing.search import Bracket, Search, Verdict
from fullpipe.experiments.sizing.shares import parts_of
from fullpipe.experiments.sizing.shown import show
from fullpipe.experiments.sizing.synchrony import CORRELATION, MOST_SAMPLED
from fullpipe.experiments.sizing.target import Condition, Metrics, Target, check_targets, judge
from fullpipe.runs import design
from fullpipe.runs.aggregate import estimate
from fullpipe.runs.cluster import connected
from fullpipe.runs.design import Run, check_seeds
from fullpipe.runs.engines import ENGINES, check_engines
from fullpipe.runs.measure import Row
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.results import Results, table_of
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import kept_runs

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.plots.draw import Style
    from fullpipe.plots.spec import Plot

__all__ = ["Sizing", "size"]

MOST_FLOWS = 100_000
"""Largest number of flows."""

MOST_SEARCHES = 64
"""Concurrent searches on a cluster."""

MOST_STEPS = 2000
"""Samples of a flow's window in the run that measures the correlation of windows."""

CURVE_BDP = tuple(2.0**power for power in range(-6, 2))
"""Additional buffers for a curve, in bandwidth-delay products."""

DELAYS = ("p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s", "max_queueing_delay_s")
COMPLETIONS = ("mean_fct_s", "p50_fct_s", "p95_fct_s", "p99_fct_s")
MEASURED = ("utilization", "loss_rate", "queueing_delay_s", *DELAYS, "jain_index", *COMPLETIONS)
"""Metrics of an answer."""

Progress = Callable[[float, float], object]


@shows_progress("answers")
def size(
    rate: str,
    rtt: str,
    *,
    flows: Sequence[int],
    target: Sequence[float | str],
    algorithms: Sequence[str | Mapping[str, object]],
    web_load: float = 0.0,
    packet_size: int = 1000,
    queue: str | Mapping[str, object] = "drop-tail",
    sized: str = BUFFER,
    seeds: int = 5,
    precision: float = 0.05,
    curve: bool = False,
    engine: str = ENGINES[0],
    kernel: str | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: object = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory: int | str | None = None,
) -> Sizing:
    """Smallest buffer with which a link reaches a target, for each algorithm, number of flows, and target, by
    simulation, with the analytical sizing rules.

    Args:
        rate: Rate of the link, such as "155 Mbit/s".
        rtt: Base RTTs of the flows, such as "80 ms..250 ms", spaced evenly, or "40 ms"; several flows then vary by 5 %,
            because equal RTTs synchronize.
        flows: Numbers of long-lived flows.
        target: Targets, each a utilization above 0 and below 1, or conditions to meet together:
            "utilization>=0.98,p99_delay<=20ms,loss<=0.1%". `MEASURES` lists their names.
        algorithms: Names, each for all flows of a run, tables such as ``{"name": "vegas", "alpha": 2}``, object files
            ("my.bpf.o"), or mixes of names and such files: "cubic*0.7+bbr*0.3".
        web_load: Offered web load as a fraction of the link (`Mix`).
        packet_size: Bytes on the wire.
        queue: Queueing discipline of the link: a name, or a table with parameters.
        sized: "buffer", or a parameter of the queue that is a time, packets, or bytes, such as CoDel's "target".
        seeds: Most runs per buffer. A buffer with a clear verdict gets fewer.
        precision: Relative tolerance of the answer.
        curve: Whether eight buffers from 1/64 to 2 bandwidth-delay products are run for `Sizing.plot_curve`.
        engine: Engine of the runs, "simulator" or "linux". The kernel measures no queueing delays of packets.
        kernel: As for `run`.
        out: Directory that the sizing is saved into (`Sizing.save`). Finished runs are kept there, so that an
            interrupted sizing can be continued.
        workers: Concurrent searches; None for one per core, and on a cluster for all.
        dask: Address of a Dask scheduler, or a client; None for this machine.
        progress: Function that is called ten times a second with the number of answers found and of all answers.
        stop: As for `run`.
        memory: As for `run_many`.

    Raises:
        MemoryLimitError: A run needs more memory than its part.
        InputError: A quantity, number, or algorithm is not allowed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    check_several("algorithms", algorithms)
    check_several("target", target)
    check_engines([engine], kernel)
    targets = [Target.parse(one) for one in target]
    mix = Mix.parse(rate, rtt, web_load, packet_size, queue, sized)
    check_targets(targets, web=web_load > 0)
    names = [one if isinstance(one, str) else with_params(one) for one in algorithms]
    _check(flows, names, seeds, precision)
    mix = replace(mix, tables=_tables(algorithms))
    for algorithm in names:
        for count in flows if len(parts_of(algorithm)) > 1 else (1,):
            mix.scenario(algorithm, count, 1)
    searches = len(names) * len(flows)
    count = count_workers(min(searches, MOST_SEARCHES) if dask is not None and workers is None else workers, searches)
    part_bytes = share_bytes(count, memory)
    if out is not None:
        check_free(out)
    with kept_runs(out) as store, connected(dask) as client:
        options = RunOptions(workers, memory, stop, progress, client)
        runner = Runner(options, None if out is None else store, engine=engine, kernel=kernel)
        common = tuple(targets), seeds, precision, curve, part_bytes
        cases = [Case(mix, a, n, *common, runner) for a in names for n in flows]
        _search_all(cases, count, runner, len(targets))
        order = [one.text for one in targets]
        rows = sorted((row for case in cases for row in case.rows), key=lambda row: order.index(row["target"]))
        outcome = Sizing(mix, rows, table_of([row for case in cases for row in case.tried()]))
        if out is not None:
            outcome.save(out)
    return outcome


def _search_all(cases: Sequence[Case], workers: int, runner: Runner, targets: int) -> None:
    options = runner.options
    # Few flows have the longest epochs and runs.
    ordered = sorted(cases, key=lambda case: case.flows)
    with closing(in_threads(ordered, Case.run, workers)) as outcomes:
        for _ in outcomes:
            check_stop(options.stop)
            if runner.store is not None:
                runner.store.tick()
            if options.progress is not None:
                options.progress(sum(len(case.rows) for case in cases), len(cases) * targets)


class Sizing(Results):
    """Answers of a sizing, and all its runs. The labels of `runs` are ``algorithm``, ``flows``, and ``buffer_packets``.

    Columns of sizes begin with ``buffer``, or with the name of a sized parameter of the queue: ``queue_target``.

    Attributes:
        mix: Link, traffic, and kind of size.
        rows: Answer per target, algorithm, and number of flows: ``target``, as text; ``algorithm``, ``flows``;
            ``buffer_packets``, the smallest buffer that reaches the target, None if none up to 4 bandwidth-delay
            products does; also as ``buffer_bdp``, ``buffer_bytes``, and ``buffer_s`` (time of these packets on the
            link); ``too_small_packets``, the largest buffer that fails; ``sure_low_packets`` and ``sure_high_packets``,
            the nearest buffers that clearly fail and succeed by the 95 % confidence intervals; ``at_most_packets``, the
            largest that meets the conditions on delay (0 for none), None without such conditions. Metrics over
            ``seeds`` runs at that buffer, or at the nearest one: ``unmet``, the conditions missed there;
            ``utilization`` and ``utilization_ci95``, half of the width of its 95 % confidence interval; ``loss_rate``,
            ``queueing_delay_s`` and ``p50_``, ``p95_``, ``p99_`` and ``max_queueing_delay_s``; ``jain_index``, None
            without goodput; ``p50_fct_s``, ``p95_fct_s``, ``p99_fct_s``, completion times of web transfers;
            ``warmup_s``, ``duration_s``; ``window_correlation``, how far the windows of several flows move together,
            1 for synchronized ones (`synchrony.correlation`). The rules: ``rule_bdp_packets``, ``rule_sqrt_packets``
            (one bandwidth-delay product over the square root of the flows), ``rule_reno_packets`` and
            ``rule_adaptive_packets`` (closed forms of one flow, or synchronized flows, at the utilization),
            ``rule_adaptive_full_packets`` (for a link that is always full).
    """

    KIND = "size"

    def __init__(self, mix: Mix, rows: Sequence[Row], runs: pa.Table) -> None:
        self.mix = mix
        self.rows = [dict(row) for row in rows]
        super().__init__(("algorithm", "flows", f"{mix.column}_packets"), runs)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Sizing:
        """Sizing that `save` wrote into a directory.

        Raises:
            InputError: The directory has no sizing, or a file is not readable.
        """
        with readable(directory) as place:
            kept = read_json(place / "size.json")
            mix = {key: value for key, value in kept["mix"].items() if key != "bdp_packets"}
            return cls(Mix(**mix), kept["rows"], read_table(place / "runs.parquet"))

    @property
    def answers(self) -> pa.Table:
        """Answers as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows)

    @property
    def recommendations(self) -> list[Recommendation]:
        """What to configure, for each target and algorithm: the size that all numbers of flows need, its cost, its
        certainty, and the assumptions.
        """
        return recommend(self.mix, self.rows)

    def to_dict(self) -> dict[str, object]:
        """Mix, rows, and recommendations as plain values ready for JSON."""
        mix = {**asdict(self.mix), "bdp_packets": self.mix.bdp_packets}
        if not mix["tables"]:
            del mix["tables"]
        return {
            "mix": mix,
            "rows": self.rows,
            "recommendations": [each.to_dict() for each in self.recommendations],
        }

    def _save_more(self, stage: Path) -> None:
        """Writes ``answers.parquet``, and the scenario of each answer into ``scenarios/``."""
        import pyarrow.parquet as pq

        pq.write_table(self.answers, stage / "answers.parquet")
        (stage / "scenarios").mkdir()
        targets = list(dict.fromkeys(row["target"] for row in self.rows))
        for row in self.rows:
            if row[f"{self.mix.column}_packets"] is not None:
                scenario = self.mix.scenario(row["algorithm"], row["flows"], row[f"{self.mix.column}_packets"])
                target = row["target"]
                which = f"target-{1 + targets.index(target)}" if "=" in target else target
                name = f"{file_name(row['algorithm'])}-{row['flows']}-{which}.toml"
                said = f"# The smallest {self.mix.what} found for the target {target}\n"
                (stage / "scenarios" / name).write_text(said + scenario.to_toml(), encoding="utf-8")

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints.

        Args:
            columns: Metrics of all runs, shown in a table of their means.
        """
        said = [each.text() for each in self.recommendations]
        first = first_choice(self.mix, self.rows)
        said += [first] if first else []
        return [*show(self.mix, self.rows), *([self.shown_summary(columns)] if columns else []), *said]

    def __repr__(self) -> str:
        return f"<Sizing of {listed(dict.fromkeys(row['algorithm'] for row in self.rows))}: {self.mix.what}>"

    def _own_plot(self, _: str | None) -> Plot:
        from fullpipe.plots.size import sizing_plot

        return sizing_plot(self.rows, self.mix.column, self.mix.what)

    def plot_curve(self, path: str | os.PathLike[str] | None = None, *, style: Style = "screen") -> Figure:
        """Plots utilization against the 99th percentile of the queueing delay: a panel per number of flows, with a line
        per algorithm through all buffers tried. Full marks are Pareto-optimal. With ``path``, writes the plot too.

        Args:
            path: File of the plot (.png, .svg, .pdf).
            style: Look of the plot, as for `plot`.

        Raises:
            InputError: The file is not writable.
        """
        from fullpipe.plots.draw import drawn
        from fullpipe.plots.size import curve_plot

        return drawn(curve_plot(self.runs.to_pylist(), self.mix.column, self.mix.what), path, style)


@dataclass
class Case:
    """Answers for one algorithm and number of flows. Samples are shared between targets."""

    mix: Mix
    algorithm: str
    flows: int
    targets: tuple[Target, ...]
    seeds: int
    precision: float
    curve: bool = False
    part_bytes: int | None = None
    runner: Runner = field(default_factory=lambda: Runner(RunOptions()))
    rows: list[Row] = field(default_factory=list)
    samples: dict[int, list[Metrics]] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        """Finds the answers, until the event is set."""
        search = Search(
            partial(self._measure, stop=stop),
            self.samples,
            self.mix.most_packets,
            self.seeds if self.mix.is_random(self.flows) else 1,
            self.precision,
        )
        for target in sorted(self.targets, key=lambda target: target.utilization or 0.0):
            answer = self._search(search, target)
            self.rows.append({**self._row(target, answer), "window_correlation": self._correlation(answer.at, stop)})
        if self.curve:
            for part in CURVE_BDP:
                search.sample(max(1, round(part * self.mix.bdp_packets)))

    def tried(self) -> list[Row]:
        """A row per run."""
        names = ("algorithm", "flows", f"{self.mix.column}_packets", "seed")
        return [
            {
                **(labels := dict(zip(names, (self.algorithm, self.flows, size, 1 + seed), strict=True))),
                **found,
                **labels,
            }
            for size, runs in sorted(self.samples.items())
            for seed, found in enumerate(runs)
        ]

    def _search(self, search: Search[Metrics], target: Target) -> Answer:
        beta = 0.8 if self.algorithm == "adaptive-aimd" else 0.5
        share = models.aimd_buffer(target.utilization or 0.98, beta)
        guess = max(1, round(share * self.mix.bdp_packets / math.sqrt(self.flows)))
        needs, limits, others = (target.on(side) for side in ("needs", "limits", "both"))
        found = search.smallest(partial(judge, needs), guess) if needs else Bracket(None, 1, None, 1)
        at_most = _at_most(search, limits, found.high or guess) if limits else None
        if found.high is None:
            return Answer(found, found.low or 1, at_most)
        if search.meets(partial(judge, target.conditions), found.high):
            return Answer(found, found.high, None if at_most is None else max(at_most, found.high))
        last = search.most if at_most is None else at_most
        if others and found.high < last:
            later = search.first(partial(judge, target.conditions), found, last)
            return Answer(later, later.high or found.high, at_most)
        return Answer(Bracket(found.low, None, found.sure_low, None), found.high, at_most)

    def _measure(self, size: int, seed: int, *, stop: threading.Event) -> Metrics:
        scenario = self.mix.scenario(self.algorithm, self.flows, size, 1 + seed)
        metrics = self._made(Run(0, design.Case(scenario)), stop)
        known = {
            **metrics,
            "queueing_delay_s": metrics["mean_queue_packets"] * self.mix.packet_s,
            "mean_fct_s": metrics.get("web.mean_completion_s"),
            **{f"p{percent}_fct_s": metrics.get(f"transfers.p{percent}_s") for percent in (50, 95, 99)},
        }
        for condition in (condition for target in self.targets for condition in target.conditions):
            if condition.measure.metric not in known or (
                self.runner.engine != ENGINES[0] and known[condition.measure.metric] is None
            ):
                raise InputError(
                    f"target: {quoted(condition.text)}: the engine {self.runner.engine} does not measure that"
                )
        return {**known, **{name: known.get(name) for name in MEASURED}}

    def _correlation(self, size: int, stop: threading.Event) -> float | None:
        """Correlation of the windows of several flows at a size, in a run of its own; None if that is not measured."""
        if not 1 < self.flows <= MOST_SAMPLED or self.runner.engine != ENGINES[0]:
            return None
        scenario = self.mix.scenario(self.algorithm, self.flows, size)
        step_s = max(self.mix.rtt_s, scenario.duration_s / MOST_STEPS)
        case = design.Case(scenario, changes={"series_interval": f"{1e6 * step_s:.0f} us"}, measure=CORRELATION)
        found: float | None = self._made(Run(0, case), stop)["window_correlation"]
        return found

    def _made(self, run: Run, stop: threading.Event) -> Row:
        """Row of a run, made here or on the cluster, until the event is set."""

        def watch(_reached_s: float, _duration_s: float) -> None:
            check_stop(stop)

        check_stop(stop)
        if self.runner.options.dask is None:
            return self.runner.make(run, watch, self.part_bytes)
        return _on_cluster(self.runner, run, stop)

    def _row(self, target: Target, answer: Answer) -> Row:
        mix, bdp, size = self.mix, self.mix.bdp_packets, answer.bracket.high
        used = target.utilization
        runs = self.samples[answer.at]
        return {
            "target": target.text,
            "algorithm": self.algorithm,
            "flows": self.flows,
            f"{mix.column}_packets": size,
            f"{mix.column}_bdp": None if size is None else size / bdp,
            f"{mix.column}_bytes": None if size is None else size * mix.packet_size,
            f"{mix.column}_s": None if size is None else size * mix.packet_s,
            "too_small_packets": answer.bracket.low,
            "sure_low_packets": answer.bracket.sure_low,
            "sure_high_packets": answer.bracket.sure_high,
            "at_most_packets": answer.at_most,
            "at_packets": answer.at,
            "unmet": target.unmet(runs),
            "seeds": len(runs),
            **_over(runs),
            "warmup_s": mix.warmup_s(self.flows, answer.at),
            "duration_s": mix.duration_s(self.flows, answer.at),
            "rule_bdp_packets": bdp,
            "rule_sqrt_packets": models.sqrt_rule_buffer(bdp, self.flows),
            "rule_reno_packets": None if used is None else models.aimd_buffer(used) * bdp,
            "rule_adaptive_packets": None if used is None else models.aimd_buffer(used, 0.8) * bdp,
            "rule_adaptive_full_packets": models.adaptive_aimd_buffer() * bdp,
        }


def _on_cluster(runner: Runner, run: Run, stop: threading.Event) -> Row:
    alone = replace(runner, options=replace(runner.options, progress=None, stop=stop))
    (row,) = alone.all_rows([run])
    return row


@dataclass(frozen=True)
class Answer:
    """Result of a search.

    Attributes:
        bracket: Interval of the answer.
        at: Size of the metrics: the answer, or the nearest size without an answer.
        at_most: Largest size that meets the limits, 0 for none; None without limits.
    """

    bracket: Bracket
    at: int
    at_most: int | None


def _at_most(search: Search[Metrics], limits: Sequence[Condition], guess: int) -> int:
    """Largest size that meets the limits."""

    def exceeds(runs: Sequence[Metrics]) -> Verdict:
        verdict = judge(limits, runs)
        return Verdict(not verdict.met, verdict.sure)

    found = search.smallest(exceeds, guess)
    return search.most if found.high is None else found.low or 0


def _over(runs: Sequence[Metrics]) -> dict[str, float | None]:
    """Mean metrics over the runs of a size."""
    row: dict[str, float | None] = {}
    for name in MEASURED:
        known = [value for run in runs if (value := run[name]) is not None]
        over = estimate(known) if known else None
        row[name] = over.mean if over else None
        if name == "utilization":
            row["utilization_ci95"] = over.ci95 if over else None
    return row


def _tables(algorithms: Sequence[str | Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
    """Algorithms with parameters, by the names that stand for them."""
    tables = {with_params(one): one for one in algorithms if isinstance(one, Mapping)}
    parts = {name for one in algorithms if isinstance(one, str) for name in parts_of(one)}
    return {**tables, **{name: {"object": name} for name in sorted(parts) if name.endswith(".o")}}


def _check(flows: Sequence[int], algorithms: Sequence[str], seeds: int, precision: float) -> None:
    for name, values in (("flows", flows), ("algorithms", algorithms)):
        if not values:
            raise InputError(f"{name} requires at least one value")
        if len(set(values)) < len(values):
            raise InputError(f"{name} must have each value once, got {listed(values)}")
    for count in flows:
        check_range("flows", count, 1, MOST_FLOWS)
    check_seeds(seeds)
    check_range("precision", precision, 0.001, 1)
