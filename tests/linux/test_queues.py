"""The same queues on Linux and in the simulator: each figure beside the other's. Long; `make test-linux` runs it.

10 Mbit/s, 100 ms, room for 1000 packets, 50 s after 20 s of start-up, packets of 1500 bytes, SACK and an ACK per
segment on both sides; CUBIC with HyStart. RED and PIE choose at random: Linux is held to the range that seeds span in
the simulator.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

import pytest

from fullpipe import Scenario
from fullpipe.linux import machine, programs
from fullpipe.runs.engines import run

pytestmark = [
    pytest.mark.slow_linux,
    pytest.mark.skipif(
        shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
        reason="needs qemu-system-x86 and `make linux-objects`",
    ),
]

QUEUES: dict[str, dict[str, Any]] = {
    "codel": {"name": "codel", "sqrt": "newton"},
    "fq-codel": {"name": "fq-codel", "sqrt": "newton", "floor": "all"},
    # The kernel updates at its ticks of 4 ms.
    "pie": {"name": "pie", "variant": "linux", "update": "16 ms"},
    "red": {
        "name": "red",
        "gentle": False,
        "w_q": 2**-9,
        "min_th": "10 packets",
        "max_th": "40 packets",
        "max_p": 0.1,
    },
    "step": {"name": "step", "threshold": "10 ms"},
}
SEEDS = {"red": range(2, 10), "pie": range(2, 10)}
"""What is simulated; seed 2 for the others. With seed 1 two of four flows share one of FQ-CoDel's queues."""
FEW = 50
"""So many marks and drops or fewer are not compared."""


@dataclass(frozen=True)
class Apart:
    """How far Linux may be from what the simulator spans."""

    utilization: float = 0.02
    queue: float = 1.15
    signals: float = 1.3


SINKS = {
    ("codel", "reno", 4, True): Apart(0.07, 1.35),
    ("codel", "reno", 4, False): Apart(0.025, 1.2),
    ("codel", "cubic", 4, True): Apart(0.03, 1.4),
    ("codel", "cubic", 4, False): Apart(queue=1.2),
    ("fq-codel", "reno", 4, True): Apart(0.1),
    ("fq-codel", "reno", 4, False): Apart(0.11, 1.35),
    # A sinking window spans 0.917 to 0.987 of utilization and queues of 7.2 to 9.9 over the seeds.
    ("pie", "cubic", 1, True): Apart(0.07, 1.4),
    ("step", "reno", 1, True): Apart(0.13, 1.45, 1.45),
    ("step", "reno", 4, True): Apart(0.08, 1.25),
}
"""Where more lies between the two because the kernel's window sinks over a round trip: a simulator whose window did so
too came as near as the others (docs/linux.md has its figures).
"""
OPEN = {
    ("red", "cubic", 1, False): "CUBIC uses more of the link under RED than simulated",
    ("red", "cubic", 4, False): "CUBIC uses more of the link under RED than simulated",
    ("step", "cubic", 4, True): "with a sinking window simulated, Linux is in between",
}
"""Misses whose cause is not known."""

CASES = [
    *(("codel", "reno", flows, ecn) for flows in (1, 4) for ecn in (False, True)),
    *(("codel", "cubic", 4, ecn) for ecn in (False, True)),
    *(("fq-codel", "reno", 4, ecn) for ecn in (False, True)),
    ("fq-codel", "cubic", 4, True),
    *(("pie", "reno", *case) for case in ((1, False), (4, False), (4, True))),
    *(("pie", "cubic", *case) for case in ((1, True), (4, False))),
    *(("red", "reno", *case) for case in ((1, False), (4, False), (4, True))),
    *(("red", "cubic", flows, False) for flows in (1, 4)),
    *(("step", *case, True) for case in (("reno", 1), ("reno", 4), ("cubic", 4))),
]


def scenario(queue: str, algorithm: str, flows: int, ecn: bool, seed: int) -> Scenario:
    marking = {} if queue == "step" else {"ecn": ecn}
    # What begins 300 ms later loses its SYN to RED, which slow start has filled; the kernel tries again without ECN.
    apart_ms = 20 if (queue, ecn) == ("red", True) else 300
    flow = {
        "algorithm": algorithm,
        "access_delay": "1 ms",
        "recovery": "sack",
        "prr": True,
        "initial_window": 10,
        "ecn": "classic" if ecn else "off",
        "slow_start": "hystart" if algorithm == "cubic" else "standard",
    }
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": "1000 packets"}
    return Scenario.from_dict(
        {
            "duration": "70 s",
            "warmup": "20 s",
            "seed": seed,
            "packet_size": 1500,
            "series_interval": "20 ms",
            "links": [{**link, "queue": {**QUEUES[queue], **marking}}],
            "flows": [{**flow, "start": f"{apart_ms * i} ms"} for i in range(flows)],
        }
    )


def figures(tried: Scenario, engine: str) -> tuple[float, float, int]:
    """Utilization, mean queue, and marks and drops."""
    link = run(tried, engine=engine).to_dict()["links"][0]
    return link["utilization"], link["mean_queue_packets"], link["marked_packets"] + link["dropped_packets"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.xfail(reason=OPEN[case], strict=False) if case in OPEN else ())
        for case in CASES
    ],
    ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}-{'ecn' if case[3] else 'loss'}",
)
def test_linux_and_simulator_agree(case: tuple[str, str, int, bool]) -> None:
    """Within 2 percentage points of utilization, 15 % of mean queue, 1.3 times the marks and drops, but for `SINKS`."""
    there = figures(scenario(*case, seed=2), "linux")
    here = [figures(scenario(*case, seed=seed), "simulator") for seed in SEEDS.get(case[0], (2,))]
    used, queues, signals = (sorted(column) for column in zip(*here, strict=True))
    print(
        f"\n{case}: utilization Linux {there[0]:.4f}, simulator {used[0]:.4f} to {used[-1]:.4f}; "
        f"mean queue {there[1]:.2f}, {queues[0]:.2f} to {queues[-1]:.2f}; "
        f"marks and drops {there[2]}, {signals[0]} to {signals[-1]}"
    )
    apart = SINKS.get(case, Apart())
    assert used[0] - apart.utilization <= there[0] <= min(used[-1] + apart.utilization, 1.001)
    assert queues[0] / apart.queue <= there[1] <= queues[-1] * apart.queue
    if max(there[2], signals[-1]) > FEW:
        assert signals[0] / apart.signals <= there[2] <= signals[-1] * apart.signals
