"""When segments leave a sender, on Linux and in the simulator."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from fullpipe import Scenario
from fullpipe.linux import job, kernel, machine
from fullpipe.linux.plan import Plan

ROOT = Path(__file__).parents[2]


class Sent(NamedTuple):
    """A segment leaves: when, milliseconds after the first one did, and which, counted from 0."""

    at_ms: float
    segment: int


def on_linux(scenario: Scenario) -> list[Sent]:
    """Segments that the scenario's one flow sends."""
    plan = Plan.of(scenario)
    booted = kernel.ensure(modules=job.modules(plan))
    work = job.build(plan, booted, watch=True)
    packets = []
    for line in machine.run(machine.Machine(booted.image, work.archive, work.memory_mib)):
        if line.startswith("p "):
            at_ns, _flow, leaves, seq, _ack, size = map(int, line.split()[1:])
            if leaves and size:
                packets.append((at_ns, seq))
    first_ns, first = packets[0]
    return [Sent((at_ns - first_ns) / 1e6, (seq - first) % 2**32 // plan.segment_bytes) for at_ns, seq in packets]


def simulated(scenario: Scenario, folder: Path) -> list[Sent]:
    """Variant for the simulator; `folder` is for files."""
    file = folder / "scenario.toml"
    file.write_text(scenario.to_toml())
    build = "cargo build --quiet --locked --release --package fullpipe-sim --example sends --features record"
    subprocess.run(build.split(), cwd=ROOT, check=True)
    program = ROOT / "target" / "release" / "examples" / "sends"
    done = subprocess.run([program, file], check=True, capture_output=True, text=True)
    packets = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    first_ns, _ = packets[0]
    return [Sent((at_ns - first_ns) / 1e6, segment) for at_ns, segment in packets]


def again(sent: list[Sent]) -> list[Sent]:
    """Those that have left before."""
    before: set[int] = set()
    repeated = []
    for one in sent:
        if one.segment in before:
            repeated.append(one)
        before.add(one.segment)
    return repeated
