"""Sizes buffers, for each algorithm and number of flows asked for."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fullpipe import models
from fullpipe.errors import InputError
from fullpipe.files import readable, staged
from fullpipe.runs import engines
from fullpipe.runs.executor import check_stop, count_workers, in_threads
from fullpipe.runs.memory import share_bytes
from fullpipe.study.size.mix import Mix
from fullpipe.study.size.search import Bracket, Samples, smallest
from fullpipe.study.statistics import estimate
from fullpipe.text import listed

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["MOST_BDP", "Sizing", "size"]

MOST_BDP = 4
"""Buffers tried, in bandwidth-delay products, at most."""

MOST_FLOWS = 100_000
"""Flows, at most."""

Progress = Callable[[float, float], object]


def size(
    rate: str,
    rtt: str,
    *,
    flows: Sequence[int],
    target: Sequence[float],
    algorithms: Sequence[str],
    web_load: float = 0.0,
    packet_size: int = 1000,
    queue: str | Mapping[str, Any] = "drop-tail",
    seeds: int = 5,
    precision: float = 0.05,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> Sizing:
    """The smallest buffer with which a link reaches a utilization, for each algorithm, number of flows and target, by
    simulation; beside it, what the rules say.

    Args:
        rate: The link's, such as "155 Mbit/s".
        rtt: The flows' base RTTs, such as "80 ms..250 ms", evenly between the two, or "40 ms": for one flow
            that, for several 5 % to either side of it, lest they move in step.
        flows: Numbers of long-lived flows.
        target: Utilizations, above 0, below 1.
        algorithms: Names; all flows of a run use one.
        web_load: Part of the link that web transfers ask for besides (`Mix`).
        packet_size: Bytes on the wire.
        queue: The link's queueing discipline, as a scenario writes it: a name, or a table with parameters.
        seeds: Runs per buffer, at most; fewer where they agree on which side of the target it is.
        precision: How far below the answer a buffer is known to fail, as a part of it.
        workers: Searches at a time; None for the number of cores.
        progress: Called ten times a second with the answers found and those to find in all.
        stop: As for `run`.
        memory_bytes: As for `run_many`.

    Raises:
        MemoryLimitError: A run needs more memory than its part.
        InputError: A quantity, number or algorithm is not allowed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    mix = Mix.parse(rate, rtt, web_load, packet_size, queue)
    _check(flows, target, algorithms, seeds, precision)
    for algorithm in algorithms:
        mix.scenario(algorithm, 1, 1)
    count = count_workers(workers, len(algorithms) * len(flows))
    part_bytes = share_bytes(count, memory_bytes)
    searches = [Search(mix, a, n, tuple(target), seeds, precision, part_bytes) for a in algorithms for n in flows]
    # Few flows have the longest epochs and runs.
    ordered = sorted(searches, key=lambda search: search.flows)
    with closing(in_threads(ordered, Search.run, count)) as outcomes:
        for _ in outcomes:
            check_stop(stop)
            if progress is not None:
                progress(sum(len(search.rows) for search in searches), len(searches) * len(target))
    rows = sorted((row for search in searches for row in search.rows), key=lambda row: target.index(row["target"]))
    tried = [row for search in searches for row in search.tried()]
    return Sizing(mix, rows, tried)


class Sizing:
    """The answers.

    Attributes:
        mix: The link and the traffic.
        rows: An answer per target, algorithm and number of flows: ``target``, ``algorithm``, ``flows``;
            ``buffer_packets``, the smallest found to reach the target, None where none up to 4 bandwidth-delay products
            does; the same as ``buffer_bdp``, ``buffer_bytes``, ``buffer_s`` (how long the link takes to send it);
            ``too_small_packets``, the largest found not to; ``sure_low_packets`` and
            ``sure_high_packets``, the nearest buffers of which the 95 % confidence interval of the utilization lies
            below and above the target. At that buffer, over ``seeds`` runs: ``utilization`` and ``utilization_ci95``,
            half of its 95 % confidence interval; ``loss_rate``, ``queueing_delay_s``; ``jain_index``, None where no
            flow got anything through; ``warmup_s``, ``duration_s``. The rules: ``rule_bdp_packets``,
            ``rule_sqrt_packets`` (one bandwidth-delay product over the root of the flows), ``rule_reno_packets`` and
            ``rule_adaptive_packets`` (closed forms of one flow, or synchronized ones, at the target),
            ``rule_adaptive_full_packets`` (the same for a link that is always full).
        tried: A row per run made: ``algorithm``, ``flows``, ``buffer_packets``, ``seed``, ``utilization``.
    """

    def __init__(self, mix: Mix, rows: Sequence[Mapping[str, Any]], tried: Sequence[Mapping[str, Any]]) -> None:
        self.mix = mix
        self.rows = [dict(row) for row in rows]
        self.tried = [dict(row) for row in tried]

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Sizing:
        """The sizing that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        import pyarrow.parquet as pq

        with readable(directory) as place:
            kept = json.loads((place / "size.json").read_text(encoding="utf-8"))
            mix = {key: value for key, value in kept["mix"].items() if key != "bdp_packets"}
            return cls(Mix(**mix), kept["rows"], pq.read_table(place / "tried.parquet").to_pylist())

    @property
    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The mix and the rows as plain values ready for JSON."""
        mix = {**asdict(self.mix), "bdp_packets": self.mix.bdp_packets}
        return {"mix": mix, "rows": self.rows}

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``size.json``, ``size.parquet``, ``tried.parquet`` and, under ``scenarios/``, a file to run each
        answer with. All appear whole or not at all.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / "size.json").write_text(self.to_json() + "\n", encoding="utf-8")
            pq.write_table(self.table, stage / "size.parquet")
            pq.write_table(pa.Table.from_pylist(self.tried), stage / "tried.parquet")
            (stage / "scenarios").mkdir()
            for row in self.rows:
                if row["buffer_packets"] is not None:
                    scenario = self.mix.scenario(row["algorithm"], row["flows"], row["buffer_packets"])
                    name = f"{row['algorithm']}-{row['flows']}-{row['target']:g}.toml"
                    (stage / "scenarios" / name).write_text(scenario.to_toml(), encoding="utf-8")

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws buffers against numbers of flows beside the rules, both axes logarithmic; with ``path``, writes the
        picture too.

        Raises:
            InputError: The file can't be written.
        """
        from fullpipe.charts.size import sizing_figure
        from fullpipe.charts.style import written

        return written(sizing_figure(self.rows), path)


@dataclass
class Search:
    """The answers for one algorithm and number of flows; what is measured for one target serves the next."""

    mix: Mix
    algorithm: str
    flows: int
    targets: tuple[float, ...]
    seeds: int
    precision: float
    memory_bytes: int | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    _samples: Samples = field(default_factory=dict)
    _figures: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        """Finds them, unless it is stopped."""
        bdp = self.mix.bdp_packets
        for target in sorted(self.targets):
            beta = 0.8 if self.algorithm == "adaptive-aimd" else 0.5
            guess = models.aimd_buffer(target, beta) * bdp / math.sqrt(self.flows)
            bracket = smallest(
                partial(self._measure, stop=stop),
                target,
                samples=self._samples,
                guess=max(1, round(guess)),
                most=math.ceil(MOST_BDP * bdp),
                seeds=self.seeds if self.mix.is_random(self.flows) else 1,
                precision=self.precision,
            )
            self.rows.append(self._row(target, bracket))

    def tried(self) -> list[dict[str, Any]]:
        """A row per run."""
        return [
            {
                "algorithm": self.algorithm,
                "flows": self.flows,
                "buffer_packets": buffer,
                "seed": 1 + seed,
                "utilization": found["utilization"],
            }
            for (buffer, seed), found in sorted(self._figures.items())
        ]

    def _measure(self, buffer: int, seed: int, *, stop: threading.Event) -> float:
        scenario = self.mix.scenario(self.algorithm, self.flows, buffer, 1 + seed)
        found = engines.run(scenario, stop=stop, memory_bytes=self.memory_bytes).figures()
        self._figures[buffer, seed] = found
        return float(found["utilization"])

    def _row(self, target: float, bracket: Bracket) -> dict[str, Any]:
        bdp, buffer = self.mix.bdp_packets, bracket.high
        row: dict[str, Any] = {
            "target": target,
            "algorithm": self.algorithm,
            "flows": self.flows,
            "buffer_packets": buffer,
            "buffer_bdp": None if buffer is None else buffer / bdp,
            "buffer_bytes": None if buffer is None else buffer * self.mix.packet_size,
            "buffer_s": None if buffer is None else buffer * self.mix.packet_s,
            "too_small_packets": bracket.low,
            "sure_low_packets": bracket.sure_low,
            "sure_high_packets": bracket.sure_high,
            **self._at(buffer if buffer is not None else bracket.low or 1),
            "rule_bdp_packets": bdp,
            "rule_sqrt_packets": models.sqrt_rule_buffer(bdp, self.flows),
            "rule_reno_packets": models.aimd_buffer(target) * bdp,
            "rule_adaptive_packets": models.aimd_buffer(target, 0.8) * bdp,
            "rule_adaptive_full_packets": models.adaptive_aimd_buffer() * bdp,
        }
        return row

    def _at(self, buffer: int) -> dict[str, Any]:
        """The figures with a buffer, over its seeds."""
        runs = [found for (tried, _), found in self._figures.items() if tried == buffer]
        used = estimate([found["utilization"] for found in runs])
        known = [found["jain_index"] for found in runs if found["jain_index"] is not None]
        return {
            "seeds": len(runs),
            "utilization": used.mean,
            "utilization_ci95": used.ci95,
            "loss_rate": estimate([found["loss_rate"] for found in runs]).mean,
            "queueing_delay_s": estimate([found["mean_queue_packets"] for found in runs]).mean * self.mix.packet_s,
            "jain_index": estimate(known).mean if known else None,
            "warmup_s": self.mix.warmup_s(self.flows, buffer),
            "duration_s": self.mix.duration_s(self.flows, buffer),
        }


def _check(
    flows: Sequence[int], target: Sequence[float], algorithms: Sequence[str], seeds: int, precision: float
) -> None:
    for name, values in (("flows", flows), ("target", target), ("algorithms", algorithms)):
        if not values:
            raise InputError(f"{name}: there are none; name at least one")
        if len(set(values)) < len(values):
            raise InputError(f"{name}: one is named twice: {listed(values)}")
    for count in flows:
        if not 1 <= count <= MOST_FLOWS:
            raise InputError(f"flows = {count} (allowed: 1 to {MOST_FLOWS})")
    for part in target:
        if not 0 < part < 1:
            raise InputError(f"target = {part:g} (allowed: above 0, below 1; 0.98 for 98 %)")
    if not 2 <= seeds <= 1000:
        raise InputError(f"seeds = {seeds} (allowed: 2 to 1000)")
    if not 0.001 <= precision <= 1:
        raise InputError(f"precision = {precision:g} (allowed: 0.001 to 1)")
