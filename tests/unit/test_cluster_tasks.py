"""Tasks of a cluster: short runs share them, and no run is lost or made twice. The client of Dask is a test double."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker

from fullpipe import FullpipeError, Scenario
from fullpipe.runs import cluster
from fullpipe.runs.design import Case, Done, Run

Answers = Callable[[Sequence[int]], list[dict[str, Any]]]


class Future:
    def __init__(self, key: str, outcome: list[dict[str, Any]] | Exception) -> None:
        self.key, self._outcome = key, outcome

    def add_done_callback(self, call: Callable[[Future], None]) -> None:
        call(self)

    def result(self) -> list[dict[str, Any]]:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def cancelled(self) -> bool:
        return isinstance(self._outcome, CancelledError)

    def release(self) -> None:
        pass


class Client:
    """One worker with one thread, which answers at once."""

    status = "running"

    def __init__(self, answer: Answers) -> None:
        self.tasks: list[list[int]] = []
        self._answer = answer

    def nthreads(self) -> Mapping[str, int]:
        return {"worker": 1}

    def submit(self, _task: object, jobs: Sequence[Any], *_: object, key: str, pure: bool) -> Future:
        assert not pure
        seeds = [job[0]["seed"] for job in jobs]
        self.tasks.append(seeds)
        try:
            return Future(key, self._answer(seeds))
        except (KilledWorker, CancelledError) as error:
            return Future(key, error)

    def cancel(self, futures: Sequence[Future]) -> None:
        assert not futures


def done(small: Scenario, client: Client, runs: int) -> list[Done]:
    case = Case(small)
    design = [Run(i, case, i) for i in range(runs)]
    rows = cluster.rows_on_cluster(design, client, None, find=lambda _: None, keep=lambda *_: None)
    return [one for one, _ in rows if one is not None]


def answered(seeds: Sequence[int], took_s: float) -> list[dict[str, Any]]:
    return [{"row": {"seed": seed}, "took_s": took_s} for seed in seeds]


def test_short_runs_share_tasks_and_long_ones_do_not(small: Scenario) -> None:
    """Runs of 4 ms: 0.2 s are 50 of them. The first four tasks measure one run each."""
    client = Client(lambda seeds: answered(seeds, 0.004))
    assert [one.run.number for one in done(small, client, 1000)] == list(range(1000))
    sizes = [len(task) for task in client.tasks]
    assert sizes[:4] == [1] * 4
    assert set(sizes[4:-1]) == {50}
    long = Client(lambda seeds: answered(seeds, 30.0))
    assert len(done(small, long, 20)) == 20
    assert [len(task) for task in long.tasks] == [1] * 20


def test_runs_that_a_worker_returns_get_a_task_each(small: Scenario) -> None:
    """A worker answers for ten runs of a task, at most."""
    client = Client(lambda seeds: answered(seeds[:10], 0.004))
    found = done(small, client, 300)
    assert sorted(one.run.number for one in found) == list(range(300))
    returned = [seed for task in client.tasks for seed in task[10:]]
    assert returned
    assert all([seed] in client.tasks for seed in returned)


def test_a_run_that_ends_its_workers_fails_alone(small: Scenario) -> None:
    def answer(seeds: Sequence[int]) -> list[dict[str, Any]]:
        if 77 in seeds:
            raise KilledWorker("task", SimpleNamespace(address="tcp://w"), 3)  # type: ignore[arg-type,unused-ignore]
        return answered(seeds, 0.004)

    found = done(small, Client(answer), 200)
    assert sorted(one.run.number for one in found) == list(range(200))
    assert [one.run.number for one in found if one.error is not None] == [77]


def test_tasks_are_sent_again_if_the_connection_was_lost(small: Scenario) -> None:
    """Dask cancels all tasks then. A client that gave up ends the runs with an error."""

    def answer(seeds: Sequence[int]) -> list[dict[str, Any]]:
        if 5 in seeds and client.status == "running":
            client.status = state
            raise CancelledError
        return answered(seeds, 0.05)

    state, client = "connecting", Client(answer)
    assert [one.run.number for one in done(small, client, 20)] == [*range(4), *range(8, 20), *range(4, 8)]
    assert [each for each in client.tasks if 5 in each] == [[4, 5, 6, 7]] * 2
    state, client = "closed", Client(answer)
    with pytest.raises(FullpipeError, match="the Dask scheduler is gone"):
        done(small, client, 20)


def test_a_scheduler_that_is_late_with_its_threads_is_asked_again(
    small: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, asked = Client(lambda seeds: answered(seeds, 0.05)), []

    def nthreads() -> Mapping[str, int]:
        asked.append(len(client.tasks))
        if len(asked) == 2:
            raise TimeoutError
        return {"worker": 1}

    monkeypatch.setattr(client, "nthreads", nthreads)
    assert len(done(small, client, 20)) == 20
    assert len(asked) == 2


def test_a_task_ends_after_its_time(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run takes 0.15 s: the third would begin after 0.3 s, beyond 0.2 s."""
    clock = iter(x * 0.15 for x in (0, 0, 1, 1, 2, 2, 3, 3))
    monkeypatch.setattr(cluster.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(cluster, "_answer", lambda changes, *_: {"row": changes})
    monkeypatch.setattr("distributed.get_worker", lambda: type("W", (), {"state": type("S", (), {"nthreads": 1})}))
    jobs = [({"seed": i}, small.to_dict(), None, "m") for i in range(5)]
    answers = cluster.run_task(jobs, cluster.build_fingerprint(), None, {})
    assert [one["row"]["seed"] for one in answers] == [0, 1]
    assert [one["took_s"] for one in answers] == [pytest.approx(0.15)] * 2
