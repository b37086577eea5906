"""Runs scenarios: one, or many on all cores."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TypedDict, TypeVar, Unpack

from fullpipe._util.files import check_free
from fullpipe._util.plain import Table
from fullpipe._util.text import hint, listed, quoted, unknown
from fullpipe.engine.memory import share_bytes
from fullpipe.engine.pool import check_stop, count_workers, in_threads
from fullpipe.engine.simulator import simulate
from fullpipe.errors import InputError
from fullpipe.runs.notebook import shows_progress
from fullpipe.runs.recording import Recording
from fullpipe.runs.result import Result
from fullpipe.runs.stepwise import check_not_external
from fullpipe.scenario import Scenario

__all__ = ["ENGINES", "Together", "check_engines", "run", "run_many"]

ENGINES = ("simulator", "linux")
"""Engines that run a scenario."""

Key = TypeVar("Key")


@shows_progress("s simulated")
def run(
    scenario: Scenario | str | os.PathLike[str] | Table,
    *,
    seed: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    stop: threading.Event | None = None,
    engine: str = "simulator",
    kernel: str | None = None,
    memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    recording: Recording | None = None,
) -> Result:
    """Runs a scenario to its end; other Python threads go on meanwhile.

    Ctrl-C reaches Python's main thread alone; ``stop`` ends a run in any.

    Args:
        scenario: Scenario, path of a TOML file, or dictionary with the keys of a scenario.
        seed: Seed in place of the scenario's.
        progress: Called about ten times a second of wall time with the simulated seconds reached and the whole
            duration; an exception it raises ends the run.
        stop: Ends the run within about a tenth of a second of wall time, once it is set.
        engine: One of `ENGINES`.
        kernel: Kernel of the Linux engine: a Debian package, or ``"PACKAGE/SUITE"``; None for the default.
        memory: Memory that the simulator may hold, in bytes or as text such as ``"8 GB"``; None for half of the free
            memory. No metric depends on it.
        out: Directory for ``result.json``, the scenario, and Parquet tables, as `Result.save` writes them; None writes
            nothing. An earlier result in the directory is replaced.
        recording: Files of packets and series for other tools, for example
            ``fullpipe.Recording(pcap="captures")``. The metrics are equal.

    Raises:
        ScenarioError: The scenario or the seed is not allowed.
        MemoryLimitError: The scenario needs more memory than that.
        AlgorithmError: A user's algorithm failed; its exception is the cause.
        InputError: The engine is unknown, or it takes no such kernel; or ``out`` has files that are no result. The
            directory is checked before the run.
        LinuxError: The Linux engine lacks something, or its machine failed.
        Cancelled: ``stop`` was set.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    scenario = Scenario.of(scenario)
    check_engines([engine], kernel)
    if seed is not None:
        scenario = scenario.replace(seed=seed)
    check_not_external(scenario)
    recording = recording or Recording()
    recording.check(scenario, engine)
    if out is not None:
        check_free(out)
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
        with recording.opened() as files:
            tables = simulate(scenario, limit, tell, files)
    result = Result(scenario, tables, engine=engine, wall_s=time.perf_counter() - begun)
    recording.write(result)
    if out is not None:
        result.save(out)
    return result


def check_engines(engines: Sequence[str], kernel: str | None = None) -> None:
    """Checks the names of engines and the kernel.

    Raises:
        InputError: An engine is unknown, or the kernel has no valid name, or no engine takes a kernel.
    """
    for engine in engines:
        if engine not in ENGINES:
            raise InputError(unknown("engine", engine, ENGINES))
    if kernel is not None:
        from fullpipe.linux.kernel import check_name

        check_name(kernel)
        if "linux" not in engines:
            raise InputError(f"kernel = {quoted(kernel)} requires the engine linux, got {listed(engines)}")


class Together(TypedDict, total=False):
    """Options of concurrent runs.

    Attributes:
        workers: Number of concurrent runs; None for the number of cores.
        progress: As for `run`, with the sums over all scenarios; called from the calling thread.
        stop: As for `run`.
        engine: One of `ENGINES`.
        kernel: As for `run`.
        memory: Memory of all concurrent runs of the simulator, in bytes or as text such as ``"8 GB"``; each run gets
            an equal part. None for half of the free memory.
    """

    workers: int | None
    progress: Callable[[float, float], object] | None
    stop: threading.Event | None
    engine: str
    kernel: str | None
    memory: int | str | None


@shows_progress("s simulated")
def run_many(scenarios: Mapping[Key, Scenario], **together: Unpack[Together]) -> dict[Key, Result]:
    """Runs scenarios concurrently, each in a thread, and returns their results by key.

    Args:
        scenarios: Scenarios by keys of the caller.
        together: ``workers``, ``progress``, ``stop``, ``engine``, ``kernel``, ``memory`` of `Together`.

    Raises:
        InputError: They have no keys.
        Exception: The first failure of a run; the others are stopped.
        Cancelled: ``stop`` was set; all runs are stopped.
        KeyboardInterrupt: Ctrl-C was pressed; all runs are stopped.
    """
    given: object = scenarios
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(f"scenarios must be a dictionary such as dict(enumerate(scenarios)), got a {kind}")
    for name in together.keys() - Together.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {name!r}{hint(name, Together.__annotations__)}")
    progress, stop = together.get("progress"), together.get("stop")
    total_s = sum(scenario.duration_s for scenario in scenarios.values())
    count = count_workers(together.get("workers"), len(scenarios))
    part_bytes = share_bytes(count, together.get("memory"))
    reached_s: dict[Key, float] = {}

    def work(task: tuple[Key, Scenario], ended_early: threading.Event) -> Result:
        key, scenario = task

        def watch(now_s: float, _duration_s: float) -> None:
            reached_s[key] = now_s

        result = run(
            scenario,
            progress=watch,
            stop=ended_early,
            engine=together.get("engine", ENGINES[0]),
            kernel=together.get("kernel"),
            memory=part_bytes,
        )
        reached_s[key] = scenario.duration_s
        return result

    results: dict[Key, Result] = {}
    with closing(in_threads(scenarios.items(), work, count)) as outcomes:
        for done in outcomes:
            if done is not None:
                (key, _), results[key] = done
            check_stop(stop)
            if progress is not None:
                progress(sum(list(reached_s.values())), total_s)
    return {key: results[key] for key in scenarios}
