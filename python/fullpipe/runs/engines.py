"""Runs scenarios: one, or many on all cores."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

from fullpipe._util.text import hint, listed, quoted, unknown
from fullpipe.errors import InputError
from fullpipe.runs.memory import share_bytes
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.pool import check_stop, count_workers, in_threads
from fullpipe.runs.result import Result
from fullpipe.runs.simulator import simulate
from fullpipe.runs.stepwise import check_not_external
from fullpipe.scenario import Scenario

__all__ = ["ENGINES", "Together", "check_engines", "run", "run_groups", "run_many"]

ENGINES = ("simulator", "linux")
"""What can run a scenario."""

Key = TypeVar("Key")
Group = TypeVar("Group")


@shows_progress("s simulated")
def run(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    engine: str = "simulator",
    kernel: str | None = None,
    memory: int | str | None = None,
) -> Result:
    """Runs a scenario to its end; other Python threads go on meanwhile.

    Ctrl-C reaches Python's main thread alone; ``stop`` ends a run in any.

    Args:
        scenario: What to run; also a TOML file's path, or a dictionary with its keys.
        seed: Takes the place of the scenario's own.
        progress: Called about ten times a second of wall time with the simulated seconds reached and the whole
            duration; an exception it raises ends the run.
        stop: Ends the run within about a tenth of a second of wall time, once it is set.
        engine: One of `ENGINES`.
        kernel: What the Linux engine boots: Debian's package, or ``"PACKAGE/SUITE"``; None for its default.
        memory: Memory that the simulator may hold, in bytes or as text such as ``"8 GB"``; None for half of the free
            memory. No metric depends on it.

    Raises:
        ScenarioError: The scenario or the seed is not allowed.
        MemoryLimitError: The scenario needs more memory than that.
        AlgorithmError: An algorithm of one's own has failed; what it raised is the cause.
        InputError: There is no such engine, or it takes no such kernel.
        LinuxError: The Linux engine lacks something, or its machine failed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    scenario = Scenario.of(scenario)
    check_engines([engine], kernel)
    if seed is not None:
        scenario = scenario.replace(seed=seed)
    check_not_external(scenario)
    duration_s = scenario.duration_s

    def tell(reached_s: float) -> None:
        check_stop(stop)
        if progress is not None:
            progress(reached_s, duration_s)

    check_stop(stop)
    begun = time.perf_counter()
    if engine == "linux":
        from fullpipe import linux

        tables = linux.run(scenario, tell, kernel=kernel)
    else:
        limit = share_bytes(1, memory)
        tables = simulate(scenario, limit, tell)
    return Result(scenario, tables, engine=engine, wall_s=time.perf_counter() - begun)


def check_engines(engines: Sequence[str], kernel: str | None = None) -> None:
    """Says no to what runs nothing, and to a kernel that none of the engines takes.

    Raises:
        InputError: There is no such engine; the kernel is not named like one, or there is no engine for it.
    """
    for engine in engines:
        if engine not in ENGINES:
            raise InputError(unknown("engine", engine, ENGINES))
    if kernel is not None:
        from fullpipe.linux.kernel import check_name

        check_name(kernel)
        if "linux" not in engines:
            raise InputError(f"kernel = {quoted(kernel)}: for the engine linux, not {listed(engines)}")


class Together(TypedDict, total=False):
    """How scenarios are run side by side.

    Attributes:
        workers: How many at a time; None for the number of cores.
        progress: As for `run`, with the sums over all scenarios; called from the calling thread.
        stop: As for `run`.
        engine: One of `ENGINES`.
        kernel: As for `run`.
        memory: Memory that the runs under way may hold together in the simulator, in bytes or as text such as
            ``"8 GB"``; each holds an even part. None for half of the free memory.
    """

    workers: int | None
    progress: Callable[[float, float], object] | None
    stop: threading.Event | None
    engine: str
    kernel: str | None
    memory: int | str | None


@shows_progress("s simulated")
def run_many(scenarios: Mapping[Key, Scenario], **together: Unpack[Together]) -> dict[Key, Result]:
    """Runs scenarios side by side, each in a thread of its own, and returns their results under the same keys.

    Args:
        scenarios: What to run, each by a key of the caller's.
        together: ``workers``, ``progress``, ``stop``, ``engine``, ``kernel``, ``memory``, as `Together` says.

    Raises:
        InputError: They have no keys.
        Exception: The first failure of a run; the others are stopped.
        Cancelled: ``stop`` was set; all runs are stopped.
        KeyboardInterrupt: Ctrl-C was pressed; all runs are stopped.
    """
    given: object = scenarios
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(f"scenarios: found a {kind}; expected a dictionary (allowed: dict(enumerate(scenarios)))")
    ((_, results, _),) = run_groups({None: scenarios}, **together)
    return results


def run_groups(
    groups: Mapping[Group, Mapping[Key, Scenario]],
    *,
    recall: Callable[[Group, Scenario, Callable[[], Result]], Result] | None = None,
    **together: Unpack[Together],
) -> Iterator[tuple[Group, dict[Key, Result], float]]:
    """Runs groups of scenarios as `run_many` does; later groups go on while the caller works on one's results.

    Args:
        groups: What to run.
        recall: Called in place of each run, with its group, its scenario and the run; its result is taken.
        together: As for `run_many`.

    Yields:
        In the order of the groups: a group's key, its results, and the seconds from its first run's beginning to its
        last one's end.
    """
    for name in together.keys() - Together.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {name!r}{hint(name, Together.__annotations__)}")
    progress, stop = together.get("progress"), together.get("stop")
    tasks = [(group, key, scenario) for group, runs in groups.items() for key, scenario in runs.items()]
    total_s = sum(scenario.duration_s for _, _, scenario in tasks)
    count = count_workers(together.get("workers"), len(tasks))
    part_bytes = share_bytes(count, together.get("memory"))
    reached_s: dict[tuple[Group, Key], float] = {}
    begun: dict[Group, float] = {}
    ended: dict[Group, float] = {}

    def work(task: tuple[Group, Key, Scenario], ended_early: threading.Event) -> Result:
        group, key, scenario = task

        def watch(now_s: float, _duration_s: float) -> None:
            reached_s[group, key] = now_s

        begun.setdefault(group, time.perf_counter())
        now = partial(
            run,
            scenario,
            progress=watch,
            stop=ended_early,
            engine=together.get("engine", ENGINES[0]),
            kernel=together.get("kernel"),
            memory=part_bytes,
        )
        result = recall(group, scenario, now) if recall else now()
        reached_s[group, key] = scenario.duration_s
        ended[group] = time.perf_counter()
        return result

    results: dict[Group, dict[Key, Result]] = {group: {} for group in groups}
    with closing(in_threads(tasks, work, count)) as outcomes:
        for group, runs in groups.items():
            while len(results[group]) < len(runs):
                done = next(outcomes)
                if done is not None:
                    (of_group, key, _), result = done
                    results[of_group][key] = result
                check_stop(stop)
                if progress is not None:
                    progress(sum(list(reached_s.values())), total_s)
            finished = results.pop(group)
            yield group, {key: finished[key] for key in runs}, ended[group] - begun[group] if runs else 0.0
