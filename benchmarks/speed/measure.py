"""One timed run of each simulator, in a separate child process."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..simulators import OUT, SimulatorError, fullpipe_command, ns2_command

HERE = Path(__file__).parent
DUMBBELL_TCL = HERE.parent / "agreement" / "dumbbell.tcl"
NS3_MODULES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core", "stats")


@dataclass(frozen=True)
class Timing:
    """A run: data packets sent (retransmissions included), seconds in the event loop, peak memory of the process."""

    data_packets: int
    wall_s: float
    peak_bytes: int

    @property
    def packets_per_second(self) -> float:
        return self.data_packets / self.wall_s


@dataclass(frozen=True)
class Dumbbell:
    """Parameters of a case for ns-2 and ns-3: bit/s, packets, flows, range of base RTTs above 80 ms in ms, seconds."""

    rate: float
    buffer: int
    flows: int
    spread_ms: float
    duration: float


def keep(name: str, records: Any) -> None:
    """Writes ``out/speed/NAME.json``, which ``docs/tables.py --take`` reads."""
    OUT.joinpath("speed").mkdir(parents=True, exist_ok=True)
    OUT.joinpath(f"speed/{name}.json").write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")


def shortened(scenario: str, duration_s: float) -> str:
    """Text of a scenario of this directory, by the name of its file without the ending, with another duration."""
    text = (HERE / f"{scenario}.toml").read_text(encoding="utf-8")
    return re.sub(r'(?m)^duration = ".*"', f'duration = "{duration_s:g} s"', text)


def spend(program: list[str], scenario: Path) -> tuple[float, int]:
    """Seconds of processor time of a program that prints its ``data_packets``, and their number.

    Raises:
        ValueError: It prints none.
    """
    printed, seconds = output_and_seconds([*program, str(scenario)])
    packets = re.search(r"data_packets (\d+)", printed)
    if not packets:
        raise ValueError(f"{program[0]}: no data_packets in {printed!r}")
    return seconds, int(packets[1])


def output_and_seconds(command: list[str]) -> tuple[str, float]:
    """What a program prints, and seconds of processor time of it and of its children, without those of the kernel."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def time_fullpipe(scenario: Path) -> Timing:
    """`fullpipe run`; the time is the core's own, the memory is the whole program's."""
    result, peak = _json_and_peak([*fullpipe_command(), "run", str(scenario), "--json"])
    totals = result["totals"]
    return Timing(totals["data_packets"], totals["wall_s"], peak)


def time_ns2(case: Dumbbell, *, same_figures: bool) -> Timing:
    """SACK. With `same_figures`, also timestamps and window averages sampled every 10 ms, as a run of fullpipe
    includes. Without them, ns-2's fastest variant.
    """
    flows = []
    for i in range(case.flows):
        share = i / max(case.flows - 1, 1)
        start = share if case.flows > 1 else 0.0
        flows.append(f"{{{1e-3 + share * case.spread_ms / 2e3:.6f} {start:.6f}}}")
    options = {
        "agent": "TCP/Sack1",
        "sink": "TCPSink/Sack1",
        "rate": f"{case.rate:.0f}",
        "delay": "0.039",
        "buffer": str(case.buffer),
        "flows": " ".join(flows),
        "duration": str(case.duration),
        "warmup": "1",
        "sample": "0.01" if same_figures else "0",
    }
    if same_figures:
        # Timestamps take 10 bytes, so packets stay at 1000 bytes on the wire.
        options |= {"settings": "timestamps_ true", "payload": "950"}
    words = [word for pair in options.items() for word in pair]
    return _timing(*_json_and_peak([ns2_command(), str(DUMBBELL_TCL), *words]))


def time_ns3(program: Path, case: Dumbbell, queue: str | None = None) -> Timing:
    """TcpLinuxReno with SACK and timestamps; drop-tail, or a queue discipline by ns-3's name, such as ``CoDel``."""
    options = {
        "rate": f"{case.rate:.0f}",
        "buffer": str(case.buffer),
        "flows": str(case.flows),
        "spread": str(case.spread_ms),
        "duration": str(case.duration),
    }
    if queue:
        options["queue"] = queue
    return _timing(*_json_and_peak([str(program), *(f"--{key}={value}" for key, value in options.items())]))


def build_ns3() -> tuple[Path, str] | None:
    """Compiles dumbbell.cc against the installed ns-3; its path and ns-3's version, or `None` without libns3-dev."""
    version = _output(["pkg-config", "--modversion", "ns3-core"])
    if not version:
        return None
    program, source = OUT / "speed" / "ns3-dumbbell", HERE / "dumbbell.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        # Debian's .pc files carry a stray semicolon, so the flags are spelled out here.
        libraries = [f"-lns3-{module}" for module in NS3_MODULES]
        subprocess.run(["g++", "-O2", "-std=c++17", str(source), "-o", str(program), *libraries], check=True)
    return program, version


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _timing(result: dict[str, Any], peak: int) -> Timing:
    return Timing(result["data_packets"], result["wall_s"], peak)


_WATCH = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status if status >= 0 else 1)
"""
"""Runs a command and prints the peak of its resident memory. A process of its own, and small: Linux counts for a child
what its parent had resident when it began."""


def _json_and_peak(command: list[str]) -> tuple[dict[str, Any], int]:
    """Runs `command`; the JSON object it prints and its peak resident memory in bytes."""
    run = subprocess.run([sys.executable, "-IS", "-c", _WATCH, *command], capture_output=True, text=True, check=False)
    *errors, peak = run.stderr.strip().splitlines() or [""]
    if run.returncode != 0 or "{" not in run.stdout:
        raise SimulatorError(f"{command[0]}: status {run.returncode}: {' '.join(errors)[-500:]}")
    return json.JSONDecoder().raw_decode(run.stdout[run.stdout.index("{") :])[0], int(peak) * 1024
