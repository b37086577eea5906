"""Runner of experiments: makes the rows of runs, in threads, in processes for interpreted algorithms, or on a cluster.

Rows that a store has are taken from it. The order in which rows come is that in which runs end; no row depends on it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
from collections.abc import Generator, Iterable, Sequence, Sized
from contextlib import closing
from dataclasses import dataclass, field

from fullpipe._util.fingerprint import build_fingerprint
from fullpipe.custom.declared import identity_of, used_in
from fullpipe.engine.memory import share_bytes
from fullpipe.engine.options import Progress, RunOptions
from fullpipe.engine.pool import check_stop, count_workers, in_threads
from fullpipe.errors import Cancelled
from fullpipe.runs import engines
from fullpipe.runs.design import Design, Done, Run
from fullpipe.runs.measure import Row, find_measure
from fullpipe.runs.store import Store
from fullpipe.scenario import Scenario

__all__ = ["Keys", "Runner"]

logger = logging.getLogger(__name__)


class Keys:
    """Content addresses of runs: hashes of the build, the scenario, the custom algorithms in it, and the function that
    measures.

    Args:
        build: Identity of the program that makes rows; `build_fingerprint` by default.
        algorithms: Identity of all custom algorithms together; by default, for each run that of those in it.
    """

    def __init__(self, build: str | None = None, algorithms: str | None = None) -> None:
        self._build = build_fingerprint() if build is None else build
        self._algorithms = algorithms
        self._scenarios: dict[int, tuple[Scenario, bytes, list[str]]] = {}
        self._identities: dict[tuple[str, ...], str | None] = {}

    def of(self, run: Run) -> bytes | None:
        """Address of a run; None where a custom algorithm's content cannot be known, which is reported once."""
        _, digest, names = self._base(run.case.scenario)
        changes = run.changes
        identity = self._algorithms
        if identity is None:
            identity = self._identity(tuple(sorted({*names, *used_in(changes)})))
        if identity is None:
            return None
        asked = digest if run.case.asked is None else run.case.asked.encode()
        text = json.dumps([self._build, run.case.measure, identity, changes], sort_keys=True)
        return hashlib.sha256(asked + b"\0" + text.encode()).digest()[:20]

    def _base(self, scenario: Scenario) -> tuple[Scenario, bytes, list[str]]:
        found = self._scenarios.get(id(scenario))
        if found is None:
            tree = scenario.to_dict()
            digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).digest()
            if len(self._scenarios) > MOST_SCENARIOS:
                self._scenarios.clear()
            found = self._scenarios[id(scenario)] = scenario, digest, used_in(tree)
        return found

    def _identity(self, names: tuple[str, ...]) -> str | None:
        if names not in self._identities:
            found = identity_of(names)
            if found.digest is None:
                logger.warning("fullpipe: %s; its runs are not cached", found.why)
            self._identities[names] = found.digest
        return self._identities[names]


MOST_SCENARIOS = 1000
"""Scenarios whose hashes are remembered."""


@dataclass
class Runner:
    """Makes rows of runs.

    Attributes:
        options: How runs are carried out.
        store: Store of rows; None for none.
        keys: Addresses of runs in the store; None for those by build, engine, and kernel.
        engine: One of `engines.ENGINES`.
        kernel: As for `engines.run`.
        tolerates: Failures that are handed to the caller instead of being raised; interruptions never are.
    """

    options: RunOptions
    store: Store | None = None
    keys: Keys | None = None
    engine: str = engines.ENGINES[0]
    kernel: str | None = None
    tolerates: tuple[type[BaseException], ...] = ()
    _keys_lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def rows(self, runs: Iterable[Run], count: int | None = None) -> Generator[Done]:
        """Rows of runs, as they end. Closing the iterator stops those under way.

        Args:
            runs: The runs.
            count: Number of runs, where ``runs`` does not know it.

        Raises:
            InputError: The number of workers, or the cluster's address, is not allowed.
            Exception: A run failed, and the failure is not tolerated; the others are stopped.
            Cancelled: The event ``stop`` was set.
        """
        total = len(runs) if count is None and isinstance(runs, Sized) else count or 0
        check_stop(self.options.stop)
        if self.options.dask is not None and self.engine == engines.ENGINES[0]:
            from fullpipe.runs.cluster import rows_on_cluster

            made = rows_on_cluster(runs, self.options.dask, self.options.memory_bytes, find=self.find, keep=self.keep)
        else:
            made = self._here(runs, total)
        done = 0
        with closing(made) as steps:
            for each, under_way in steps:
                if each is not None:
                    done += 1
                    if each.error is not None and not self.accepts(each.error):
                        raise each.error
                    yield each
                if self.store is not None:
                    self.store.tick()
                if self.options.progress is not None:
                    self.options.progress(done + under_way, total)
                check_stop(self.options.stop)

    def all_rows(self, design: Design | Sequence[Run]) -> list[Row]:
        """Rows of all runs of a design, in its order; their numbers count from 0.

        Raises:
            Exception: A run failed; the others are stopped.
        """
        found: dict[int, Row] = {}
        with closing(self.rows(design)) as finished:
            for done in finished:
                assert done.row is not None
                found[done.run.number] = done.row
        return [found[number] for number in range(len(design))]

    def accepts(self, error: BaseException) -> bool:
        """Whether a failure is handed to the caller."""
        never = (Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)
        return isinstance(error, self.tolerates) and not isinstance(error, never)

    def find(self, run: Run) -> Row | None:
        """Row of a run that was made before."""
        if self.store is None:
            return None
        key = self.key(run)
        return None if key is None else self.store.find(key)

    def keep(self, run: Run, row: Row) -> None:
        """Puts a row into the store, where its content address is known."""
        if self.store is not None and (key := self.key(run)) is not None:
            self.store.add(key, row)

    def key(self, run: Run) -> bytes | None:
        """Address of a run in the store."""
        with self._keys_lock:
            if self.keys is None:
                of_engine = f"{build_fingerprint()} {self.engine} {self.kernel}"
                self.keys = Keys(None if self.engine == engines.ENGINES[0] else of_engine)
            return self.keys.of(run)

    def make(self, run: Run, watch: Progress | None = None, memory_bytes: int | None = None) -> Row:
        """Row of one run, made here unless the store has it.

        Args:
            run: The run.
            watch: As ``progress`` of `engines.run`.
            memory_bytes: As ``memory`` of `engines.run`.

        Raises:
            Exception: The run failed.
        """
        key = None if self.store is None else self.key(run)
        kept = self.store.find(key) if self.store is not None and key is not None else None
        if kept is not None:
            return kept
        result = engines.run(
            run.scenario(), progress=watch, engine=self.engine, kernel=self.kernel, memory=memory_bytes
        )
        row = find_measure(run.case.measure)(result)
        if self.store is not None and key is not None:
            self.store.add(key, row)
        return row

    def _here(self, runs: Iterable[Run], total: int) -> Generator[tuple[Done | None, float]]:
        """Runs on this machine's cores; with each, how much of the runs under way is done, in runs."""
        count = count_workers(self.options.workers, total)
        part_bytes = share_bytes(count, self.options.memory_bytes)
        reached: dict[int, float] = {}

        def work(run: Run, stop: threading.Event) -> Done:
            def watch(now_s: float, duration_s: float) -> None:
                check_stop(stop)
                reached[run.number] = now_s / duration_s

            try:
                return Done(run, self.make(run, watch, part_bytes))
            except BaseException as error:  # a panic of the engine is not an Exception
                if not self.accepts(error):
                    raise
                return Done(run, None, error)

        with closing(in_threads(runs, work, count)) as steps:
            for step in steps:
                if step is not None:
                    reached.pop(step[0].number, None)
                yield None if step is None else step[1], math.fsum(list(reached.values())) if reached else 0.0
