"""Faults 9 to 12: runs, the playground, clusters, and libraries."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .build import HANGS_S, ROOT, SMALL, Build, peak_of

BURST = """
import fullpipe, math
@fullpipe.algorithm("burst")
class Burst:
    cwnd: float = 2.0
    ssthresh: float = math.inf
    def on_ack(self, flow, ack):
        self.cwnd = 2147483647.0
    def on_congestion(self, flow, signal):
        pass
"""

LOOP = """
import fullpipe, math
@fullpipe.algorithm("endless")
class Endless:
    cwnd: float = 2.0
    ssthresh: float = math.inf
    def on_ack(self, flow, ack):
        sum(iter(int, 1))
    def on_congestion(self, flow, signal):
        pass
"""
"""Algorithm that never returns from code in C."""


def _interrupted(build: Build, *arguments: str) -> str:
    """Time from Ctrl-C after 5 s until the end of the program."""
    process = build.start(*arguments)
    time.sleep(5)
    if process.poll() is not None:
        return f"ended before Ctrl-C ({process.communicate()[1].strip()[:100]})"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=HANGS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no end {HANGS_S} s after Ctrl-C"
    return f"ends {time.monotonic() - begun:.1f} s after Ctrl-C, exit {process.returncode}"


def interrupted_burst(build: Build) -> str:
    """9. Ctrl-C while a window of 2,147,483,647 segments is sent."""
    build.write(own__py=BURST, small__toml=SMALL.replace('"newreno"', '"burst"').replace("40 packets", "unlimited"))
    return _interrupted(build, "run", "small.toml", "--load", "own.py", "--memory", "1000 GB")


def burst_memory(build: Build) -> str:
    """9. Peak memory of that run with a limit of 100 MB."""
    build.write(own__py=BURST, small__toml=SMALL.replace('"newreno"', '"burst"').replace("40 packets", "unlimited"))
    return peak_of(build, "run", "small.toml", "--load", "own.py", "--memory", "100 MB")


def interrupted_loop(build: Build) -> str:
    """9. Ctrl-C in a call that does not return."""
    build.write(own__py=LOOP, small__toml=SMALL.replace('"newreno"', '"endless"'))
    return _interrupted(build, "run", "small.toml", "--load", "own.py")


def endless_loop(build: Build) -> str:
    """9. A call that does not return, without Ctrl-C."""
    build.write(own__py=LOOP, small__toml=SMALL.replace('"newreno"', '"endless"'))
    done = build.run("run", "small.toml", "--load", "own.py")
    return f"{done}: {done.errors.strip()[:110]}"


PAGE = """
const fs = require("fs");
const source = fs.existsSync(process.argv[1] + "/colours.ts") ? "colours.ts" : "editor.ts";
const text = fs.readFileSync(process.argv[1] + "/" + source, "utf8");
const found = /TOML =\\s*\\n?\\s*\\/([^\\n]*)\\/gm;/.exec(text);
const begun = performance.now();
"\\n".repeat(60000).replace(new RegExp(found[1], "gm"), "x");
console.log(((performance.now() - begun) / 1000).toFixed(2));
"""


def page_expression(build: Build) -> str:
    """10. Expression that colors the playground's text, over 60,000 line breaks."""
    sources = build.environment.resolve().parent / "web/src"
    done = subprocess.run(["node", "-e", PAGE, str(sources)], capture_output=True, text=True, timeout=600, check=False)
    return f"{done.stdout.strip()} s" if done.returncode == 0 else "not measured"


LINK = """
import { deflateRawSync } from "node:zlib";
const { carried } = await import(process.argv[2]);
const packed = (bytes) => deflateRawSync(bytes).toString("base64url");
const links = { "200 MB": packed(Buffer.alloc(200_000_000, 97)), damaged: "AAAA" };
for (const [name, link] of Object.entries(links)) {
  const begun = performance.now();
  const said = await carried(`#s=${link}`).then(() => "shown", (error) => error.message);
  console.log(`${name}: ${said} (${((performance.now() - begun) / 1000).toFixed(2)} s)`);
}
console.log(`${Math.round(process.resourceUsage().maxRSS / 1000)} MB`);
"""


def page_links(build: Build) -> str:
    """10. A link that inflates to 200 MB, and a damaged one."""
    compiled = build.environment.resolve().parent / "target/web-test/src/link.js"
    build.write(links__mjs=LINK)
    done = subprocess.run(
        ["node", "links.mjs", str(compiled)],
        cwd=build.folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return "; ".join(done.stdout.splitlines()) if done.returncode == 0 else "not measured"


@contextmanager
def _scheduler(build: Build, workers: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Address and process of a Dask scheduler with workers of this build."""
    python = [str(build.environment / "bin/python"), "-P", "-m"]
    file = build.folder / "scheduler.json"
    quiet = {"cwd": build.folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
    processes = [subprocess.Popen([*python, *command, "--scheduler-file", str(file)], **quiet)]  # type: ignore[call-overload]
    try:
        begun = time.monotonic()
        while not file.exists() and time.monotonic() - begun < 60:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        command = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes += [subprocess.Popen([*python, *command], **quiet) for _ in range(workers)]  # type: ignore[call-overload]
        yield address, processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


WIDE = 8_000_000_000
"""Address space of a command with Dask, bytes."""


def no_workers(build: Build) -> str:
    """11. `evaluate --dask` with a scheduler that has no workers: its message within 20 s."""
    with _scheduler(build, 0) as (address, _):
        process = build.start("evaluate", "bbr", "--only", "iot", "--dask", address)
        time.sleep(20)
        process.kill()
        said = process.communicate()[1].strip()
    return f"waits with a line ({said[:80]})" if said else "waits without a line"


def killed_scheduler(build: Build) -> str:
    """11. `evaluate --dask` whose scheduler is killed after 15 s."""
    with _scheduler(build, 1) as (address, scheduler):
        process = build.start("evaluate", "bbr", "--only", "5.1.1", "--seeds", "200", "--dask", address)
        time.sleep(15)
        ended = process.poll() is not None
        scheduler.kill()
        try:
            said = process.communicate(timeout=HANGS_S)[1].strip()
        except subprocess.TimeoutExpired:
            process.kill()
            return f"no end within {HANGS_S} s"
    what = "traceback" if "Traceback" in said else said[-110:]
    return f"{'ended before' if ended else 'exit'} {process.returncode}: {what}"


def cluster_memory(build: Build) -> str:
    """11. `evaluate --dask --memory '2 kB'`."""
    with _scheduler(build, 1) as (address, _):
        arguments = ("evaluate", "bbr", "--only", "iot", "--dask", address, "--memory", "2 kB")
        done = build.run(*arguments, limit_bytes=WIDE)
    return f"{done}: {done.errors.strip()[:100]}" if done.status else "the limit is dropped, exit 0"


def crashing_library(command: str, ends: str) -> Callable[[Build], str]:
    """12. Library of a custom algorithm that ends its process."""
    from test_crashes import LIBRARY, OWN

    def probe(build: Build) -> str:
        build.library(LIBRARY.replace("ENDS", ends))
        build.write(own__py=OWN, small__toml=SMALL)
        arguments = {
            "compare": ("compare", "small.toml", "--algorithms", "own.py,newreno"),
            "evaluate": ("evaluate", "own.py", "--only", "grid", "--seeds", "2"),
        }[command]
        done = build.run(*arguments)
        return f"{done}: {done.errors.strip().removeprefix('fullpipe: ')[:90]}" if done.errors.strip() else str(done)

    return probe


def packet_library(old: str, new: str) -> Callable[[Build], str]:
    """12. Packet-level library with a fault."""

    def probe(build: Build) -> str:
        text = (ROOT / "examples/packet_aimd.c").read_text()
        build.library(text.replace(old, new, 1))
        build.write(small__toml=SMALL)
        done = build.run("compare", "small.toml", "--algorithms", "./own.so:c-aimd,newreno", "--seeds", "1")
        return f"{done}: {done.errors.strip().removeprefix('fullpipe: ')[:110]}"

    return probe
