"""Runs in the simulator: in this process, or in a child process. Interpreted algorithms hold the interpreter's lock, so
that threads would wait for one another.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe._core import Column
from fullpipe._util.plain import Tree
from fullpipe.custom.declared import called, interpreted, of_library, own_lines, used_in
from fullpipe.engine.options import PacketFiles
from fullpipe.engine.pool import TICK_S, check_stop
from fullpipe.engine.tables import to_numpy
from fullpipe.errors import AlgorithmError, CallLimitError, FullpipeError, MemoryLimitError

if TYPE_CHECKING:
    from subprocess import Popen

    from fullpipe.scenario import Scenario

__all__ = ["simulate", "work"]


WORK = "import sys; sys.path[:] = sys.argv[1:]; from fullpipe.engine.simulator import work; work()"
"""Code of the child process. The path is set after the start, which runs a ``sitecustomize`` of any folder on it."""


MOST_SILENT_S = 60.0
"""Processor time after which a call of an algorithm counts as an endless loop, seconds. Progress comes every 0.1 s."""

LIBRARY_SILENT_S = 10.0
"""As `MOST_SILENT_S`, for shared libraries, which compile nothing in a call."""

WATCH_S = 1.0
"""Time between two looks at a run of the main thread, seconds of wall time."""


class Endless(BaseException):
    """Ends a call of an algorithm that has not returned. It is no `Exception`, since the algorithm may
    catch those.
    """


class WorkerTraceback(Exception):
    """Exception of a worker process; its text is the traceback in that process."""

    def __str__(self) -> str:
        return f"in the worker process\n{self.args[0]}"


NO_FILES = PacketFiles()
"""No files of packets."""


def simulate(
    scenario: Scenario,
    memory_bytes: int | None,
    tell: Callable[[float], object],
    files: PacketFiles = NO_FILES,
) -> Tree:
    """Tables of a run. ``tell`` gets the simulated seconds reached; its exceptions end the run.

    Raises:
        MemoryLimitError: The run needs more memory than ``memory_bytes``.
        AlgorithmError: A custom algorithm has failed.
        OSError: A file of packets is not complete.
    """
    # Ctrl-C reaches the main thread alone, so that its runs stay in this process.
    if scenario.model.holds_lock and threading.current_thread() is not threading.main_thread():
        return _simulate_apart(scenario, memory_bytes, tell, files)
    if of_library(used_in(scenario.to_dict())):
        return _simulate_apart(scenario, memory_bytes, tell, files)
    if scenario.model.is_compiled:
        return _simulate_beside(scenario, memory_bytes, tell, files)
    if scenario.model.holds_lock:
        return _simulate_watched(scenario, memory_bytes, tell, files)
    return _simulate_here(scenario, memory_bytes, tell, files)


def _simulate_here(
    scenario: Scenario, memory_bytes: int | None, tell: Callable[[float], object], files: PacketFiles
) -> Tree:
    told: list[SystemExit] = []

    def hear(reached_s: float) -> None:
        try:
            tell(reached_s)
        except SystemExit as ended:
            told.append(ended)
            raise

    try:
        return scenario.model.run(
            hear,
            memory_bytes,
            pcap=files.pcap,
            pcap_at=files.pcap_at,
            qlog=files.qlog,
            qlog_version=files.qlog_version,
            most_packets=files.most_packets,
        )
    except SystemExit as ended:
        # The caller may end the program; an algorithm may not.
        if ended in told:
            raise
        raise AlgorithmError(f"algorithm {_own_of(scenario)}: it ends the program (SystemExit: {ended})") from ended
    except _core.Problem as problem:
        key, what, _ = problem.args
        raise MemoryLimitError(key, what, scenario.file) from None
    except _core.Failure as failure:
        if failure.__cause__ is None and scenario.model.is_compiled:
            _explain(scenario, memory_bytes)
        raise AlgorithmError(str(failure)) from failure.__cause__


def _own_of(scenario: Scenario) -> str:
    return called(used_in(scenario.to_dict()))


def _explain(scenario: Scenario, memory_bytes: int | None) -> None:
    """Repeats a failed run of compiled code in the interpreter, whose exception has line numbers."""
    tree = scenario.to_dict()
    with interpreted(used_in(tree)):
        model = type(scenario).from_dict(tree, file=scenario.file).model
        try:
            model.run(None, memory_bytes)
        except _core.Failure as failure:
            if failure.__cause__ is not None:
                raise AlgorithmError(str(failure)) from failure.__cause__


def _simulate_beside(
    scenario: Scenario, memory_bytes: int | None, tell: Callable[[float], object], files: PacketFiles
) -> Tree:
    """Tables of a run in another thread, so that this one can be stopped inside compiled code. Code that never returns
    to the engine runs until the process ends.
    """
    outcome: list[Tree | BaseException] = []
    reached = [0.0]
    heard, ended = threading.Event(), threading.Event()

    def watch(reached_s: float) -> None:
        reached[0] = reached_s
        heard.set()
        check_stop(ended)

    def work() -> None:
        try:
            outcome.append(_simulate_here(scenario, memory_bytes, watch, files))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    silence = Silence(scenario, f"self/task/{thread.native_id}")
    try:
        while thread.is_alive():
            thread.join(TICK_S)
            if heard.is_set():
                heard.clear()
                silence.end()
            else:
                silence.check()
            tell(reached[0])
    finally:
        ended.set()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    tables: Tree = outcome[0]
    return tables


def _simulate_watched(
    scenario: Scenario, memory_bytes: int | None, tell: Callable[[float], object], files: PacketFiles
) -> Tree:
    """Tables of a run in this thread. Another thread ends a call of its interpreted algorithm that does not return; one
    of C code, such as ``sum(iter(int, 1))``, ends when it returns to the interpreter.
    """
    from ctypes import c_ulong, py_object, pythonapi

    silence = Silence(scenario, f"self/task/{threading.get_native_id()}")
    telling, ended, ending = threading.Event(), threading.Event(), threading.Lock()

    def hear(reached_s: float) -> None:
        telling.set()  # The caller's own code has no limit.
        try:
            tell(reached_s)
        finally:
            silence.end()
            telling.clear()

    def put(exception: type[BaseException] | None, thread: int = threading.get_ident()) -> None:
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), exception and py_object(exception))

    def watch() -> None:
        while not ended.wait(WATCH_S):
            with ending:
                if not ended.is_set() and not telling.is_set() and silence.is_long():
                    put(Endless)

    threading.Thread(target=watch, daemon=True).start()
    try:
        try:
            return _simulate_here(scenario, memory_bytes, hear, files)
        finally:
            with ending:
                ended.set()
                put(None)
    except Endless as endless:
        ended.set()
        raise silence.error() from endless


def _simulate_apart(
    scenario: Scenario, memory_bytes: int | None, tell: Callable[[float], object], files: PacketFiles
) -> Tree:
    """Tables of a run in a child process. Terminals and notebooks send Ctrl-C to the whole process group."""
    import pickle

    with _begin_process() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        listener = threading.Thread(target=_listen, args=(process.stdout, told), daemon=True)
        try:
            pickle.dump((scenario, memory_bytes, files), process.stdin)
            process.stdin.flush()
            listener.start()
            reached_s, silence = 0.0, Silence(scenario, str(process.pid))
            while True:
                try:
                    kind, what = told.get(timeout=TICK_S)
                    silence.end()
                except Empty:
                    kind, what = "reached", reached_s
                    silence.check()
                if kind == "tables":
                    tables: Tree = what
                    return tables
                if kind == "interrupted":
                    raise KeyboardInterrupt
                if kind == "error":
                    error, lines = what
                    raise error from lines and WorkerTraceback(lines)
                if kind == "ended":
                    how = _ending(process)
                    raise AlgorithmError(f"algorithm {_own_of(scenario)}: the process of its run ended {how}")
                reached_s = what
                tell(reached_s)
        finally:
            process.kill()


class Silence:
    """Processor time that a run takes without progress.

    Args:
        scenario: The run's scenario.
        task: Its process or thread below ``/proc``.
    """

    def __init__(self, scenario: Scenario, task: str) -> None:
        self._scenario = scenario
        library = of_library(used_in(scenario.to_dict()))
        self._most_s = min(MOST_SILENT_S, LIBRARY_SILENT_S) if library else MOST_SILENT_S
        self._file = Path("/proc", task, "stat")
        self._begun_s = 0.0
        self._begun_s = self._used_s()

    def end(self) -> None:
        """Notes progress."""
        self._begun_s = self._used_s()

    def check(self) -> None:
        """Ends a run whose algorithm does not return.

        Raises:
            CallLimitError: The time exceeds the limit.
        """
        if self.is_long():
            raise self.error()

    def is_long(self) -> bool:
        """Whether the time exceeds the limit."""
        return self._used_s() > self._begun_s + self._most_s

    def error(self) -> CallLimitError:
        """Exception for that time."""
        endless = f"a call of it has not returned for {self._most_s:g} s"
        return CallLimitError(f"algorithm {_own_of(self._scenario)}: {endless}")

    def _used_s(self) -> float:
        """Processor time so far, seconds; wall time on systems that don't show it."""
        if not HAS_STAT:
            return time.monotonic()
        try:
            used = self._file.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            return self._begun_s
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


HAS_STAT = Path("/proc/self/stat").exists()
"""Whether the system shows processor time in ``/proc``."""


def _begin_process() -> Popen[bytes]:
    """Child process that receives no Ctrl-C before it is ready for it. Modules of the current folder do not shadow
    installed ones (``-P``).
    """
    from subprocess import PIPE, Popen

    user = ["-s"] if sys.flags.no_user_site else []
    # In an interactive session, where the current folder comes first here, it comes last there.
    folders = [path for path in sys.path if path] + ([str(Path.cwd())] if "" in sys.path else [])
    command = [sys.executable, "-P", *user, "-c", WORK, *folders]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return Popen(command, stdin=PIPE, stdout=PIPE)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _listen(stream: IO[bytes], told: SimpleQueue[tuple[str, Any]]) -> None:
    """Queues the messages of the child process, and its end."""
    import pickle

    try:
        while True:
            told.put(pickle.load(stream))
    except (EOFError, pickle.UnpicklingError, OSError, ValueError):
        told.put(("ended", None))


def _ending(process: Popen[bytes]) -> str:
    """Signal or exit status of a process that ended without an outcome."""
    status = process.wait()
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"


def _plain(tables: Tree) -> Tree:
    """Tables and warnings in types that pickle accepts."""
    return {
        name: {key: _sendable(column) for key, column in part.items()} if isinstance(part, dict) else part
        for name, part in tables.items()
    }


def _sendable(column: object) -> object:
    return to_numpy(column) if isinstance(column, Column) else column


def _end_with_the_other() -> None:
    """Ends this process when its parent is gone, also inside an algorithm, unless that holds the interpreter's lock."""
    # Not sys.stdin: the interpreter needs the lock of its buffer at the end, and aborts if a thread holds it.
    while os.read(0, 1):
        pass
    os._exit(1)


def work() -> None:
    """Main function of the child process: reads a scenario and writes tables."""
    import pickle

    from fullpipe._util.children import end_with_parent

    end_with_parent()
    out = os.fdopen(os.dup(1), "wb")
    # Output of the algorithm must not mix with the messages.
    os.dup2(2, 1)

    def say(kind: str, what: object) -> None:
        pickle.dump((kind, what), out)
        out.flush()

    scenario, memory_bytes, files = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        say(
            "tables", _plain(_simulate_here(scenario, memory_bytes, lambda reached_s: say("reached", reached_s), files))
        )
    except FullpipeError as error:
        cause = error.__cause__
        say("error", (error, cause and own_lines(cause)))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say("interrupted", None)
