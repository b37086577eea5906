"""Process that runs an untrusted candidate: limits of time, memory, files, and processes, and no network.

The child reads jobs from its standard input, and writes one JSON object on a private descriptor. Standard output and
error of the candidate are discarded. Limits that the system does not allow are reported as missing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from fullpipe._util.children import end_with_parent
from fullpipe._util.plain import Tree
from fullpipe.errors import InputError
from fullpipe.evaluator.kernel import filter_calls, isolate_network, restrict_files
from fullpipe.evaluator.paths import CANDIDATE, TRANSFER_S
from fullpipe.runs.measure import find_measure
from fullpipe.runs.result import Result
from fullpipe.scenario import Scenario

__all__ = ["MEASURED", "Contained", "contained", "measured"]

MEMORY_BYTES = 4_000_000_000
"""Address space of the child; Numba and its compiler alone take more than 1 GB of it."""

CODE = "import sys; sys.path[:] = sys.argv[2:]; from fullpipe.evaluator.sandbox import work; work(int(sys.argv[1]))"


class Contained(Exception):
    """The candidate did something that is not allowed, or failed; the text says it in one line."""


MEASURED = "fullpipe.evaluator.sandbox:measured"
"""Measure of the runs that the score is computed from."""


def contained(
    file: str,
    jobs: Sequence[Tree],
    limit_s: float,
    *,
    wall_s: float = math.inf,
    require_all: bool = False,
    measure: str = MEASURED,
    placeholder: str = CANDIDATE,
) -> tuple[list[dict[str, Any]], dict[str, bool]]:
    """Rows of the jobs, and whether each limit was active.

    Args:
        file: The candidate.
        jobs: Scenarios; the candidate takes the place of one algorithm.
        limit_s: Processor time, seconds; the wall time is 8 times that at most.
        wall_s: Wall time, seconds.
        require_all: Whether to run nothing if the system lacks one of the limits.
        measure: Function that makes the rows, as ``MODULE:FUNCTION``.
        placeholder: The algorithm that stands for the candidate.

    Raises:
        Contained: The candidate failed, exceeded a limit, or its answer is no result.
        InputError: The system lacks a limit, and all are required.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory(prefix="fullpipe.") as folder:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", CODE, str(writing), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={"HOME": folder, "TMPDIR": folder, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=(writing,),
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        finally:
            os.close(writing)
        work = {"file": os.path.realpath(file), "jobs": list(jobs), "limit_s": limit_s, "require_all": require_all}
        work |= {"measure": measure, "placeholder": placeholder}
        asked = json.dumps(work).encode()
        try:
            answer = _talk(process, asked, reading, min(8 * limit_s, wall_s))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    rows, layers = _checked(answer, len(jobs), measure)
    if require_all and not all(layers.values()):
        missing = ", ".join(name for name, is_active in layers.items() if not is_active)
        raise InputError(f"the sandbox lacks a limit on this system: {missing}")
    return rows, layers


def _talk(process: subprocess.Popen[bytes], asked: bytes, reading: int, wall_s: float) -> bytes:
    import threading

    assert process.stdin is not None
    late = threading.Event()

    def kill() -> None:
        late.set()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(wall_s, kill)
    timer.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(asked)
            process.stdin.close()
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read(MOST_ANSWER)
    finally:
        timer.cancel()
    if late.is_set():
        raise Contained("the process exceeded its time limit")
    if not answer:
        status = process.wait()
        raise Contained(
            "the process exceeded its limit of processor time"
            if status == -signal.SIGXCPU
            else f"the process ended with status {status}"
        )
    return answer


MOST_ANSWER = 10_000_000
"""Bytes of an answer, at most."""


def _checked(answer: bytes, count: int, measure: str) -> tuple[list[dict[str, Any]], dict[str, bool]]:
    try:
        tree = json.loads(answer)
        if "missing" in tree:
            return [], dict.fromkeys(tree["missing"], False)
        if "error" in tree:
            raise Contained(str(tree["error"])[:300])
        rows, layers = tree["rows"], tree["layers"]
        right = _is_measured if measure == MEASURED else _is_row
        good = len(rows) == count and all(right(row) for row in rows)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise Contained("the process returned no valid result")
    return rows, layers


def _is_measured(row: dict[str, Any]) -> bool:
    return row.keys() == Measured.__annotations__.keys() and isinstance(row["digest"], str)


def _is_row(row: dict[str, Any]) -> bool:
    return all(value is None or isinstance(value, int | float) for value in row.values())


class Measured(TypedDict):
    """Row of a run: goodput of each group in bit/s, mean RTT of the first flow in seconds, loss rate and p95 queueing
    delay of the link in seconds, its utilization, Jain's index, the part of the sent packets that was of use, the mean
    completion time of transfers in seconds, and a hash of all metrics.
    """

    goodputs: dict[str, float]
    rtt_s: float
    loss: float
    queue_s: float
    utilization: float
    jain: float
    useful: float
    completion_s: float
    digest: str


def measured(result: Result) -> Measured:
    """Row of a run."""
    run = result.figures()
    flows = result.flows.to_pylist()
    sent = math.fsum(flow["throughput_bps"] for flow in flows)
    arrived = run["arrived_packets"]
    retransmits = math.fsum(flow["retransmits"] for flow in flows)
    groups = result.groups.to_pylist()
    times = [_number(flow["completion_s"]) or TRANSFER_S for flow in flows]
    whole = json.dumps([run, flows], sort_keys=True, default=str)
    return {
        "goodputs": {group["name"]: _number(group["goodput_bps"]) for group in groups},
        "rtt_s": _number(flows[0]["mean_rtt_s"]),
        "loss": _number(run["loss_rate"]),
        "queue_s": _number(run["p95_queueing_delay_s"]),
        "utilization": _number(run["utilization"]),
        "jain": _number(run["jain_index"]),
        "useful": 0.0 if not sent or not arrived else max(0.0, 1 - retransmits / arrived),
        "completion_s": math.fsum(times) / len(times),
        "digest": hashlib.sha256(whole.encode()).hexdigest(),
    }


def _number(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else float(value)


def work(writing: int) -> None:
    """The child: reads jobs, limits itself, loads the candidate, and answers."""
    asked = json.load(sys.stdin)
    answer: Mapping[str, object]
    try:
        layers = _limit(asked["limit_s"], asked["file"])
        missing = [name for name, is_active in layers.items() if not is_active]
        refuses = missing and asked["require_all"]
        answer = {"missing": missing} if refuses else {"rows": _rows(asked), "layers": layers}
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(answer).encode())
    os._exit(0)


def _rows(asked: Mapping[str, Any]) -> Sequence[Mapping[str, object]]:
    from fullpipe.custom.arguments import as_algorithm

    candidate, measure = as_algorithm(asked["file"]), find_measure(asked["measure"])
    rows = []
    for job in asked["jobs"]:
        for flow in (*job["flows"], *job.get("web", ())):
            if flow["algorithm"] == asked["placeholder"]:
                flow["algorithm"] = candidate
        scenario = Scenario.from_dict(job)
        tables = scenario.model.run(None, MEMORY_BYTES // 4)
        rows.append(measure(Result(scenario, tables, engine="simulator", wall_s=0.0)))
    return rows


def _limit(limit_s: float, file: str) -> dict[str, bool]:
    """Limits this process; whether each limit is active."""
    import pyarrow  # noqa: F401  # its files are read before the limits

    if file.endswith(".py"):
        import numba  # noqa: F401

    for each, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(each, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s), math.ceil(limit_s) + 1))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    network = isolate_network()
    files = restrict_files([file, *_libraries()])
    if not (calls := filter_calls()) and os.getuid() != 0:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return {
        "time": True,
        "memory": True,
        "file size": True,
        "files": files,
        "network": network,
        "processes": calls or os.getuid() != 0,
        "system calls": calls,
    }


def _libraries() -> set[str]:
    """Folders of Python, of its packages, and of fullpipe."""
    paths = sysconfig.get_paths()
    return {str(Path(__file__).parents[1]), *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))}


def source_of(file: str) -> str:
    """Text of a candidate.

    Raises:
        Contained: It can't be read as text.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Contained(f"it can't be read: {error}") from None
