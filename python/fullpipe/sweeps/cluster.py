"""Runs on a Dask cluster."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Generator, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import fullpipe
from fullpipe.errors import FullpipeError, InputError
from fullpipe.sweeps.rows import outcome

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario
    from fullpipe.sweeps.plan import Plan

__all__ = ["connect", "run_on_cluster"]

MOST_TASKS = 10_000
"""Tasks the scheduler is given at a time."""

PATIENCE_S = 5
"""How long a scheduler may take to answer, seconds of wall time."""


def connect(address: str) -> Any:
    """A client of the Dask scheduler at an address, such as ``tcp://scheduler:8786``.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import get_backend
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'fullpipe[dask]'") from None
    try:
        get_backend(parse_address(address)[0])
        return Client(address, timeout=PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = f"no Dask scheduler answers there in {PATIENCE_S} s" if isinstance(error, OSError) else str(error)
        raise InputError(f"{address}: {reason}") from None


def run_on_cluster(plan: Plan, runs: Iterable[int], client: Any) -> Generator[tuple[dict[str, Any] | None, float]]:
    """The rows of runs in the order in which they finish, as `run_in_threads` gives them.

    A task whose worker dies goes to another one; Dask gives it up when that has happened more often than its setting
    ``distributed.scheduler.allowed-failures`` says, and the run has failed. Closing the iterator cancels the tasks.

    Raises:
        FullpipeError: The scheduler is gone, or a worker can't run our tasks.
    """
    from distributed import KilledWorker

    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    name = f"fullpipe-{uuid.uuid4().hex[:8]}"
    pending: dict[str, tuple[int, Any]] = {}
    waiting = iter(runs)

    def submit(count: int) -> None:
        for run in islice(waiting, count):
            future = client.submit(
                task, plan.scenario, plan.changes(run), fullpipe.__version__, key=f"{name}-{run}", pure=False
            )
            pending[future.key] = run, future
            future.add_done_callback(finished.put)

    submit(MOST_TASKS)
    try:
        while pending:
            try:
                done = finished.get(timeout=0.1)
            except queue.Empty:
                yield None, 0.0
                continue
            run, future = pending.pop(done.key)
            try:
                row = future.result()
            except KilledWorker as error:
                row = {"error": f"lost with its worker too often: {' '.join(str(error).split())}"}
            except InputError:
                raise
            except Exception as error:
                raise FullpipeError(
                    f"the cluster failed: {' '.join(str(error).split()) or type(error).__name__}"
                ) from None
            future.release()
            submit(1)
            yield {**plan.labels(run), **row}, 0.0
    finally:
        client.cancel([future for _, future in pending.values()])


def task(scenario: Scenario, changes: Mapping[str, Any], version: str) -> dict[str, Any]:
    """What a worker does; another version of the package might give other figures."""
    if version != fullpipe.__version__:
        raise InputError(f"a worker has fullpipe {fullpipe.__version__} where the sweep has {version}")
    return outcome(scenario, changes)
