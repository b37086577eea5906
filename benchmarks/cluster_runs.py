"""Memory of client, scheduler, and two workers of Dask over a sweep of tiny runs, which is killed once and resumed.

``.venv/bin/python -m benchmarks.cluster_runs --runs 100000 --out out/cluster-runs.json``
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

SCENARIO = """
duration = "1 s"
[[links]]
name = "bottleneck"
rate = "1 Mbit/s"
delay = "10 ms"
buffer = "10 packets"
[[flows]]
algorithm = "newreno"
[sweep]
repeats = REPEATS
"links.bottleneck.buffer" = { from = "1 packets", to = "100 packets", count = 100 }
"""
"""A run sends about 80 packets."""

EVERY_S = 5.0
"""Time between two samples of the memory."""

Processes = Mapping[str, "subprocess.Popen[bytes]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--kill-at", type=float, default=0.4, help="part of the runs after which the client is killed")
    parser.add_argument("--out", type=Path, default=Path("out/cluster-runs.json"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(SCENARIO.replace("REPEATS", str(given.runs // 100)))
        started: list[subprocess.Popen[bytes]] = []
        try:
            found = measured(folder, given.runs, given.kill_at, started)
        finally:
            for process in started:
                process.kill()
                process.wait()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary(found), indent=1))


def measured(folder: Path, runs: int, kill_at: float, started: list[subprocess.Popen[bytes]]) -> dict[str, object]:
    """Samples of a sweep that is killed once, of its second start, and whether a sweep on this machine is equal."""

    def start(log: str, *command: str) -> subprocess.Popen[bytes]:
        with (folder / log).open("wb") as file:
            started.append(subprocess.Popen(command, cwd=folder, stdout=file, stderr=file))
        return started[-1]

    dask = (sys.executable, "-m", "dask")
    scheduler = start("scheduler", *dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    address = waited(folder / "scheduler", r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    workers = {f"worker {i}": start(f"worker-{i}", *dask, "worker", address, *options) for i in (1, 2)}
    program = (str(Path(sys.executable).parent / "fullpipe"), "sweep", "sweep.toml", "--format", "csv")
    command = (*program, "--columns", "goodput_bps", "--dask", address, "--out", "out")
    parts = []
    for part in ("until the kill", "resumed"):
        client = start("client", *command)
        stop_at = int(kill_at * runs) if part == "until the kill" else None
        parts.append(sampled({"client": client, "scheduler": scheduler, **workers}, folder / "out", stop_at))
        if client.returncode != (0 if stop_at is None else -signal.SIGKILL):
            raise RuntimeError((folder / "client").read_text(encoding="utf-8"))
    begun = time.monotonic()
    subprocess.run([*program, "--out", "here"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    here_s = time.monotonic() - begun
    names = ("runs.parquet", "summary.parquet", "flows.parquet", "links.parquet")
    equal = all((folder / "out" / name).read_bytes() == (folder / "here" / name).read_bytes() for name in names)
    return {"runs": runs, "equal": equal, "here_s": here_s, "parts": parts}


def sampled(processes: Processes, out: Path, stop_at: int | None) -> dict[str, object]:
    """Memory over time until the client ends, or until it is killed at a number of stored runs."""
    client, begun, samples = processes["client"], time.monotonic(), []
    while client.poll() is None:
        rows = stored(out)
        memory = {name: resident_mb(process.pid) for name, process in processes.items()}
        samples.append({"t_s": round(time.monotonic() - begun, 1), "rows": rows, **memory})
        if stop_at is not None and (rows or 0) >= stop_at:
            os.kill(client.pid, signal.SIGKILL)
            client.wait()
        try:
            client.wait(EVERY_S)
        except subprocess.TimeoutExpired:
            continue
    return {"exit": client.returncode, "samples": samples}


def stored(out: Path) -> int | None:
    """Runs in the store of a sweep; None before it has one."""
    file = out / ".fullpipe-runs/runs.sqlite"
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as base:
            return int(base.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.Error:
        return None


def resident_mb(process: int) -> float | None:
    """Resident memory of a process."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1000 if found else None


def waited(log: Path, pattern: str) -> str:
    """Text that a log shows within a minute."""
    for _ in range(600):
        if found := re.search(pattern, log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"{log}: no {pattern}")


def summary(found: Mapping[str, object]) -> dict[str, object]:
    """Memory after a tenth, a half, and all of the samples of each part."""
    parts: object = found["parts"]
    assert isinstance(parts, list)
    tables = []
    for part in parts:
        samples = [each for each in part["samples"] if each["rows"]]
        places = sorted({len(samples) // 10, len(samples) // 2, len(samples) - 1}) if samples else []
        tables.append([samples[place] for place in places])
    return {"equal": found["equal"], "here_s": found["here_s"], "samples": tables}


if __name__ == "__main__":
    main()
