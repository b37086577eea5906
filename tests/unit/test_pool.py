"""How work is shared out over the cores."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import NoReturn

import pytest

from fullpipe import InputError
from fullpipe.engine import pool
from fullpipe.engine.pool import check_stop, count_workers, in_threads
from fullpipe.errors import Cancelled


def test_a_thread_for_each_core_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1, 3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert (count_workers(None, 10), count_workers(None, 2), count_workers(8, 10), count_workers(8, 0)) == (3, 2, 8, 1)
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_workers(None, 100) == 64


@pytest.mark.parametrize("workers", [0, -1, 1001])
def test_so_many_workers_are_refused(workers: int) -> None:
    with pytest.raises(InputError, match=rf"workers must be in \[1, 1000\], got {workers}"):
        count_workers(workers, 5)


def test_outcomes_come_as_they_are_done() -> None:
    seen = threading.Event()

    def work(task: int, _stop: threading.Event) -> int:
        assert task == 1 or seen.wait(30)
        return 10 * task

    with closing(done for done in in_threads([0, 1], work, 2) if done is not None) as outcomes:
        assert next(outcomes) == (1, 10)
        seen.set()
        assert list(outcomes) == [(0, 0)]


def test_time_passes_without_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "TICK_S", 0.001)
    go_on = threading.Event()
    with closing(in_threads([0], lambda task, _stop: (go_on.wait(30), task)[1], 1)) as outcomes:
        assert next(outcomes) is None
        go_on.set()
        assert next(done for done in outcomes if done is not None) == (0, 0)


def test_tasks_beyond_those_begun_ahead_are_done_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "AHEAD", 3)
    taken = []

    def tasks() -> Iterator[int]:
        for task in range(10):
            taken.append(task)
            yield task

    with closing(in_threads(tasks(), lambda task, _stop: task, 2)) as outcomes:
        first = next(done for done in outcomes if done is not None)
        assert len(taken) < 10
        assert sorted([first, *(done for done in outcomes if done is not None)]) == [(i, i) for i in range(10)]


@pytest.mark.parametrize("ahead", [1, 2])
def test_more_threads_than_results_that_may_wait_come_to_an_end(monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    monkeypatch.setattr(pool, "AHEAD", ahead)
    outcomes = in_threads(range(20), lambda task, _stop: task, 5)
    assert sorted(done[0] for done in outcomes if done is not None) == list(range(20))


def test_the_first_failure_stops_the_others() -> None:
    stopped = threading.Event()

    def work(task: int, stop: threading.Event) -> NoReturn:
        if task == 0:
            raise ValueError("broken")
        assert stop.wait(30)
        stopped.set()
        check_stop(stop)
        raise AssertionError

    with pytest.raises(ValueError, match="broken"):
        list(in_threads(range(50), work, 2))
    assert stopped.is_set()


def test_a_set_event_ends_what_is_under_way() -> None:
    event = threading.Event()
    check_stop(event)
    check_stop(None)
    event.set()
    with pytest.raises(Cancelled, match="stopped"):
        check_stop(event)


def test_the_process_of_a_run_ends_while_its_parent_lives() -> None:
    code = (
        "import threading, time\n"
        "from fullpipe.engine import simulator\n"
        "threading.Thread(target=simulator._end_with_the_other, daemon=True).start()\n"
        "time.sleep(0.5)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
