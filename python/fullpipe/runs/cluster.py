"""Runs on a Dask cluster: the only place that knows Dask."""

from __future__ import annotations

import asyncio
import logging
import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import Any, NoReturn, TypeAlias

from fullpipe._util.fingerprint import build_fingerprint
from fullpipe._util.plain import Table, Tree
from fullpipe.custom.declared import carried, restore, used_in
from fullpipe.engine.memory import share_bytes
from fullpipe.engine.pool import TICK_S
from fullpipe.errors import FullpipeError, InputError
from fullpipe.runs.design import Done, Run, error_line
from fullpipe.runs.measure import Row, find_measure
from fullpipe.scenario import Scenario

__all__ = ["check_scheduler", "connect", "connected", "rows_on_cluster"]

DaskClient: TypeAlias = Any
"""A ``distributed.Client``; Dask is optional and has no types."""

MOST_RUNS = 10_000
"""Runs that the scheduler is given at a time."""

TASK_S = 0.2
"""Length of a task of short runs: a task costs Dask some milliseconds. A worker returns the rest of a task that takes
longer, so that other workers share it.
"""

LONGEST_TASK = 100
"""Runs of a task, at most."""

AHEAD = 4
"""Tasks for each thread of the cluster, at least."""

PATIENCE_S = 5
"""How long a scheduler may take to answer, and a cluster may have no workers without a report, seconds of wall time."""

CONNECTED = ("running", "connecting")
"""States of a client that can be used. A client that lost its connection connects again for `PATIENCE_S`, and has
cancelled its tasks.
"""

DASK_LOGGERS = ("distributed", "tornado", "asyncio")
"""Loggers that are silent: failures are reported once, by an exception."""

logger = logging.getLogger(__name__)


@contextmanager
def connect(address: str) -> Iterator[DaskClient]:
    """Client of the Dask scheduler at an address, such as ``tcp://scheduler:8786``.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    check_scheduler(address)
    from distributed import Client

    with _silent(*DASK_LOGGERS):
        try:
            client: DaskClient = Client(address, timeout=PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except OSError:
            raise InputError(f"{address}: the Dask scheduler there does not answer any more") from None
        try:
            yield client
        finally:
            try:
                client.close(timeout=PATIENCE_S)
            except Exception:  # the scheduler may be gone
                client.status = "closed"  # otherwise its destructor waits again, and then prints a traceback


@contextmanager
def connected(dask: object) -> Iterator[DaskClient]:
    """A client of a scheduler's address; a client, or None for this machine, stays as it is."""
    if isinstance(dask, str):
        with connect(dask) as client:
            yield client
    else:
        yield dask


def check_scheduler(address: str) -> None:
    """Refuses an address where no scheduler answers; a client would take half a minute and longer for that, and leave
    threads behind that fail loudly.

    Raises:
        InputError: Dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed.comm.core import connect
        from distributed.core import send_recv
        from distributed.security import Security
    except ImportError:
        raise InputError("a cluster requires Dask: pip install 'fullpipe[dask]'") from None

    async def identity() -> object:
        comm = await connect(address, timeout=PATIENCE_S, **Security().get_connection_args("client"))  # type: ignore[no-untyped-call]
        try:
            return await send_recv(comm, op="identity")
        finally:
            comm.abort()

    try:
        # A separate thread, because in a notebook this one already runs a loop.
        with _silent(*DASK_LOGGERS), ThreadPoolExecutor(1) as thread:
            who = thread.submit(asyncio.run, asyncio.wait_for(identity(), PATIENCE_S)).result()
    except OSError:
        raise InputError(f"{address}: no Dask scheduler answers there in {PATIENCE_S} s") from None
    except Exception as error:  # any complaint of Dask's about such an address
        raise InputError(f"{address}: {error_line(error)}; an address is such as tcp://scheduler:8786") from None
    if not isinstance(who, dict) or who.get("type") != "Scheduler":
        raise InputError(f"{address}: something other than a Dask scheduler answers there")


def rows_on_cluster(
    runs: Iterable[Run],
    client: DaskClient,
    memory_bytes: int | None,
    *,
    find: Callable[[Run], Row | None],
    keep: Callable[[Run, Row], None],
) -> Generator[tuple[Done | None, float]]:
    """Rows of runs as they end; None ten times a second.

    A task whose worker dies goes to another one. Dask gives it up when that has happened more often than its setting
    ``distributed.scheduler.allowed-failures`` allows, and the run has failed. If the connection to the scheduler was
    lost, tasks are submitted again. The runs of one worker share the memory limit, each an even part. Closing the
    iterator cancels the tasks.

    Args:
        runs: The runs.
        client: A client, or the address of a scheduler.
        memory_bytes: Memory that the runs of each worker may hold together.
        find: Row of a run that was made before.
        keep: Called with each new row.

    Raises:
        InputError: No scheduler answers, or a worker can't import fullpipe or has another build.
        FullpipeError: The scheduler is gone, or the cluster failed otherwise.
    """
    with ExitStack() as stack:
        if isinstance(client, str):
            client = stack.enter_context(connect(client))
        cluster = Cluster(client, memory_bytes, find, keep)
        try:
            yield from cluster.rows(iter(runs))
        except FullpipeError:
            raise
        except Exception as error:
            if not _of_dask(client, error):
                raise
            _fail(client, error)
        finally:
            cluster.cancel()


class Cluster:
    """Tasks on a cluster, bounded in number. Short runs are sent together."""

    def __init__(
        self,
        client: DaskClient,
        memory_bytes: int | None,
        find: Callable[[Run], Row | None],
        keep: Callable[[Run, Row], None],
    ) -> None:
        self._client = client
        self._memory_bytes = memory_bytes
        self._find = find
        self._keep = keep
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pending: dict[str, tuple[list[Run], Any]] = {}
        self._name = f"fullpipe-{uuid.uuid4().hex[:8]}"
        self._task = _task()
        self._tasks = 0
        self._sent: dict[int, tuple[Scenario, Tree]] = {}
        self._again: deque[list[Run]] = deque()  # tasks that are sent once more
        self._run_s: float | None = None
        self._size = 1
        self._most_tasks = 0
        self._planned_at: float | None = None

    def rows(self, waiting: Iterator[Run]) -> Generator[tuple[Done | None, float]]:
        """Rows of runs as they end."""
        last, reported, more = time.monotonic(), False, True
        while more or self._pending or self._again:
            self._plan()
            while (more or self._again) and len(self._pending) < self._most_tasks:
                if self._again:
                    self._submit(self._again.popleft())
                    continue
                task, size = [], self._size
                asked = list(islice(waiting, size))
                for run in asked:
                    if (kept := self._find(run)) is not None:
                        yield Done(run, kept), 0.0
                    else:
                        task.append(run)
                if task:
                    self._submit(task)
                more = len(asked) == size
            if not self._pending and self._most_tasks:
                continue
            try:
                done = self._finished.get(timeout=TICK_S)
            except queue.Empty:
                if not reported and time.monotonic() - last > PATIENCE_S:
                    reported = True
                    if not self._client.scheduler_info().get("workers"):
                        logger.warning("fullpipe: the cluster has no workers yet; the runs wait for some")
                if self._client.status not in CONNECTED:
                    _fail(self._client, OSError())
                yield None, 0.0
                continue
            last = time.monotonic()
            for one in self._take(done):
                yield one, 0.0

    def cancel(self) -> None:
        """Cancels the tasks that are left."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([future for _, future in self._pending.values()])

    def _plan(self) -> None:
        """Chooses the number of tasks and of runs in each, once a second. The first tasks measure one run each."""
        if self._planned_at is not None and time.monotonic() - self._planned_at < 1:
            return
        if self._client.status != "running":
            return
        self._planned_at = time.monotonic()
        try:
            least = AHEAD * max(1, sum(self._client.nthreads().values()))
        except OSError:  # the scheduler takes too long to answer, or the connection is lost
            if not self._most_tasks:
                raise
            return
        if self._run_s is None:
            self._most_tasks = least
            return
        self._size = max(1, min(round(TASK_S / max(self._run_s, 1e-9)), LONGEST_TASK, MOST_RUNS // least))
        self._most_tasks = max(least, MOST_RUNS // self._size)

    def _submit(self, runs: list[Run]) -> None:
        jobs: list[tuple[Table, Tree, str | None, str]] = []
        algorithms: dict[str, bytes] = {}
        for run in runs:
            case, changes = run.case, run.changes
            found = self._sent.get(id(case.scenario))
            if found is None:
                if len(self._sent) > MOST_RUNS:
                    self._sent.clear()
                found = self._sent[id(case.scenario)] = case.scenario, case.scenario.to_dict()
            jobs.append((changes, found[1], case.scenario.file, case.measure))
            algorithms |= carried(used_in(found[1], changes))
        key = f"{self._name}-{self._tasks}"
        self._tasks += 1
        common = build_fingerprint(), self._memory_bytes, algorithms
        future = self._client.submit(self._task, jobs, *common, key=key, pure=False)
        self._pending[future.key] = runs, future
        future.add_done_callback(self._finished.put)

    def _take(self, done: Any) -> list[Done]:
        from distributed import KilledWorker

        runs, future = self._pending.pop(done.key)
        try:
            answers: list[Tree] = future.result()
        except KilledWorker as error:
            if len(runs) > 1:  # one of them may end every worker
                self._again.extend([run] for run in runs)
                return []
            return [Done(runs[0], None, FullpipeError(f"lost with its worker too often: {error_line(error)}"))]
        except Exception:
            if not future.cancelled() or self._client.status not in CONNECTED:
                raise
            self._again.append(runs)
            return []
        finally:
            future.release()
        self._again.extend([run] for run in runs[len(answers) :])
        return [self._ended(run, answer) for run, answer in zip(runs, answers, strict=False)]

    def _ended(self, run: Run, answer: Tree) -> Done:
        if "refused" in answer:
            raise InputError(answer["refused"])
        took_s: float = answer["took_s"]
        if self._run_s is None:
            self._run_s, self._planned_at = took_s, None
        self._run_s += (took_s - self._run_s) / 8
        if "failure" in answer:
            return Done(run, None, _raised(answer))
        row: Row = answer["row"]
        self._keep(run, row)
        return Done(run, row)


def run_task(
    jobs: Sequence[tuple[Table, Tree, str | None, str]],
    build: str,
    memory_bytes: int | None,
    algorithms: Mapping[str, bytes],
) -> list[Tree]:
    """Work of a worker: the ``row`` of each run or its ``failure``, with ``took_s``, or why it is ``refused``; another
    build might have other results. Runs that are not begun within `TASK_S` have no answer.

    Args:
        jobs: Changes, scenario, its file, and the measure of each run.
        build: Fingerprint of the client's build.
        memory_bytes: Memory that the runs of this worker may hold together.
        algorithms: Custom algorithms by name.
    """
    if build != build_fingerprint():
        return [{"refused": "has another build of fullpipe than this one; install the same one everywhere"}]
    from distributed import get_worker

    try:
        restore(algorithms)
    except InputError as error:
        return [{"refused": f"can't load an algorithm: {error}"}]
    part_bytes = share_bytes(get_worker().state.nthreads, memory_bytes)
    answers: list[Tree] = []
    begun = time.monotonic()
    for job in jobs:
        before = time.monotonic()
        if answers and before - begun > TASK_S:
            break
        answers.append(_answer(*job, part_bytes))
        answers[-1]["took_s"] = time.monotonic() - before
    return answers


def _answer(changes: Table, tree: Table, file: str | None, measure: str, memory_bytes: int | None) -> Tree:
    from fullpipe.runs import engines

    try:
        scenario = Scenario.from_dict(tree, file=file)
        result = engines.run(scenario.replace(**changes) if changes else scenario, memory=memory_bytes)
        return {"row": find_measure(measure)(result)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is not an Exception
        return {"failure": error_line(error), "pickled": _pickled(error)}


def _pickled(error: BaseException) -> bytes | None:
    """A failure for another process, without its cause, which may be any object."""
    if not isinstance(error, FullpipeError):
        return None
    try:
        return pickle.dumps(error)
    except Exception:  # whatever it holds
        return None


def _raised(answer: Table) -> BaseException:
    if answer["pickled"] is not None:
        error: BaseException = pickle.loads(answer["pickled"])
        return error
    return FullpipeError(answer["failure"])


def _task() -> Callable[..., list[Tree]]:
    """`run_task` for Dask to send. A function inside a function travels as code, and its arguments are plain: names of
    our modules would end a worker that can't import them, over and over.
    """

    def task(*arguments: Any) -> list[Tree]:
        from distributed import get_worker

        try:
            from fullpipe.runs.cluster import run_task
        except Exception as error:  # any module that is there in our place
            answers = [{"refused": f"can't import fullpipe ({type(error).__name__}: {error})"}]
        else:
            answers = run_task(*arguments)
        for answer in answers:
            if "refused" in answer:
                answer["refused"] = " ".join(f"the worker {get_worker().address} {answer['refused']}".split())
        return answers

    return task


def _of_dask(client: DaskClient, error: Exception) -> bool:
    """Whether the cluster failed, and not the caller's own work."""
    module = type(error).__module__.partition(".")[0]
    return client.status != "running" or module in ("distributed", "dask", "tornado", "asyncio", "concurrent")


def _fail(client: DaskClient, error: Exception) -> NoReturn:
    # The connection may break before the client has noticed why.
    if client.status != "running" or isinstance(error, OSError):
        raise FullpipeError("the Dask scheduler is gone; start it and the command again") from None
    raise FullpipeError(f"the cluster failed: {error_line(error)}") from None


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Silences loggers of these names, and those below them."""
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.split(".")[0] in names]
    before = [one.disabled for one in known]
    for one in known:
        one.disabled = True
    try:
        yield
    finally:
        for one, disabled in zip(known, before, strict=True):
            one.disabled = disabled
