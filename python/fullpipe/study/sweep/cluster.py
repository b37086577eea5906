"""Runs on a Dask cluster."""

from __future__ import annotations

import asyncio
import logging
import queue
import time
import uuid
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from fullpipe.errors import FullpipeError, InputError
from fullpipe.fingerprint import build_fingerprint
from fullpipe.own import restore
from fullpipe.runs.memory import share_bytes
from fullpipe.scenario import Scenario
from fullpipe.study.sweep.rows import outcome

if TYPE_CHECKING:
    from fullpipe.study.sweep.plan import Plan

__all__ = ["check_scheduler", "connect", "run_on_cluster"]

MOST_TASKS = 10_000
"""Tasks the scheduler is given at a time."""

PATIENCE_S = 5
"""How long a scheduler may take to answer, and a cluster have no workers before that is said, seconds of wall time."""

DASKS = ("distributed", "tornado", "asyncio")
"""Whose messages are not logged."""

logger = logging.getLogger(__name__)


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address, such as ``tcp://scheduler:8786``. Dask's own messages are not
    logged meanwhile: what fails is told once, by an exception.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    check_scheduler(address)
    from distributed import Client

    with _silent(*DASKS):
        try:
            client: Any = Client(address, timeout=PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except OSError:
            raise InputError(f"{address}: the Dask scheduler there does not answer any more") from None
        try:
            yield client
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=PATIENCE_S)


def run_on_cluster(
    plan: Plan, runs: Collection[int], *, client: Any, memory_bytes: int | None = None
) -> Generator[tuple[dict[str, Any] | None, float]]:
    """The rows of runs in the order in which they finish, as `run_in_threads` gives them.

    A task whose worker dies goes to another one; Dask gives it up when that has happened more often than its setting
    ``distributed.scheduler.allowed-failures`` says, and the run has failed. The runs of one worker may hold so much
    memory together, each an even part. Closing the iterator cancels the tasks.

    Raises:
        InputError: A worker can't import fullpipe, or has another build.
        FullpipeError: The scheduler is gone, or the cluster failed otherwise.
    """
    from distributed import KilledWorker

    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    name = f"fullpipe-{uuid.uuid4().hex[:8]}"
    pending: dict[str, tuple[int, Any]] = {}
    waiting = iter(runs)
    task = _task()
    common = plan.scenario.to_dict(), plan.scenario.file, build_fingerprint(), memory_bytes, plan.own_algorithms

    def submit(count: int) -> None:
        for run in islice(waiting, count):
            future = client.submit(task, plan.changes(run), *common, key=f"{name}-{run}", pure=False)
            pending[future.key] = run, future
            future.add_done_callback(finished.put)

    begun, told = time.monotonic(), False
    try:
        submit(MOST_TASKS)
        while pending:
            try:
                done = finished.get(timeout=0.1)
            except queue.Empty:
                if not told and time.monotonic() - begun > PATIENCE_S:
                    told = True
                    if not client.scheduler_info().get("workers"):
                        logger.warning("fullpipe: the cluster has no workers yet; the sweep waits for some")
                yield None, 0.0
                continue
            run, future = pending.pop(done.key)
            try:
                row = future.result()
            except KilledWorker as error:
                row = {"error": f"lost with its worker too often: {_line(error)}"}
            future.release()
            if "refused" in row:
                raise InputError(row["refused"])
            submit(1)
            yield {**plan.labels(run), **row}, 0.0
    except FullpipeError:
        raise
    except Exception as error:
        _fail(client, error)
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.cancel([future for _, future in pending.values()])


def check_scheduler(address: str) -> None:
    """Says no to an address where no scheduler answers; a client would take half a minute and longer for that, and
    leave threads behind that fail loudly.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed.comm.core import connect
        from distributed.core import send_recv
        from distributed.security import Security
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'fullpipe[dask]'") from None

    async def identity() -> Any:
        comm = await connect(address, timeout=PATIENCE_S, **Security().get_connection_args("client"))  # type: ignore[no-untyped-call]
        try:
            return await send_recv(comm, op="identity")
        finally:
            comm.abort()

    try:
        # A thread of its own: in a notebook this one has a loop already.
        with _silent(*DASKS), ThreadPoolExecutor(1) as thread:
            who = thread.submit(asyncio.run, asyncio.wait_for(identity(), PATIENCE_S)).result()
    except OSError:
        raise InputError(f"{address}: no Dask scheduler answers there in {PATIENCE_S} s") from None
    except Exception as error:  # whatever Dask says of such an address
        raise InputError(f"{address}: {_line(error)}; an address is such as tcp://scheduler:8786") from None
    if not isinstance(who, dict) or who.get("type") != "Scheduler":
        raise InputError(f"{address}: something other than a Dask scheduler answers there")


def run_task(
    changes: Mapping[str, Any],
    scenario: Mapping[str, Any],
    file: str | None,
    build: str,
    memory_bytes: int | None,
    own_algorithms: Mapping[str, bytes],
) -> dict[str, Any]:
    """What a worker does: a run's row, or why it is ``refused``; another build might give other figures."""
    if build != build_fingerprint():
        return {"refused": "has another build of fullpipe than the sweep; install the same one everywhere"}
    from distributed import get_worker

    restore(own_algorithms)
    part_bytes = share_bytes(get_worker().state.nthreads, memory_bytes)
    return outcome(Scenario.from_dict(scenario, file=file), changes, memory_bytes=part_bytes)


def _task() -> Callable[..., dict[str, Any]]:
    """`run_task` for Dask to send. A function inside a function travels as code, and its arguments are plain: what
    named our modules would end a worker that can't import them, over and over.
    """

    def task(*arguments: Any) -> dict[str, Any]:
        from distributed import get_worker

        try:
            from fullpipe.study.sweep.cluster import run_task
        except Exception as error:  # whatever stands there in our place
            row = {"refused": f"can't import fullpipe ({type(error).__name__}: {error})"}
        else:
            row = run_task(*arguments)
        if "refused" in row:
            row["refused"] = " ".join(f"the worker {get_worker().address} {row['refused']}".split())
        return row

    return task


def _fail(client: Any, error: Exception) -> NoReturn:
    # The connection may break before the client has noticed why.
    if client.status != "running" or isinstance(error, OSError):
        raise FullpipeError("the Dask scheduler is gone; start it and the sweep again") from None
    raise FullpipeError(f"the cluster failed: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Loggers of these names, and those below them, say nothing."""
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.split(".")[0] in names]
    before = [one.disabled for one in known]
    for one in known:
        one.disabled = True
    try:
        yield
    finally:
        for one, disabled in zip(known, before, strict=True):
            one.disabled = disabled
