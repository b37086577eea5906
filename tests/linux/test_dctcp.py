"""DCTCP on Linux and in the simulator, over a step: comparison of each metric. Long; `make test-linux` runs it.

10 Mbit/s, 100 ms, a buffer of 1000 packets, marks above a threshold, 50 s after 20 s of start-up, packets of 1500
bytes, SACK, and an ACK per segment on both sides. After a mark, the window decreases over a round trip, as Linux's
does.
"""

from __future__ import annotations

import shutil

import pytest

from fullpipe import Scenario
from fullpipe.engine.tables import to_numpy
from fullpipe.linux import machine, programs
from fullpipe.runs.engines import run

pytestmark = [
    pytest.mark.slow_linux,
    pytest.mark.skipif(
        shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
        reason="needs qemu-system-x86 and `make linux-objects`",
    ),
]


def scenario(threshold: str, flows: int) -> Scenario:
    queue = {"name": "step", "threshold": threshold}
    flow = {"algorithm": "dctcp", "access_delay": "1 ms", "recovery": "sack", "prr": True, "initial_window": 10}
    return Scenario.from_dict(
        {
            "duration": "70 s",
            "warmup": "20 s",
            "packet_size": 1500,
            "series_interval": "20 ms",
            "links": [
                {"name": "l", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": "1000 packets", "queue": queue},
            ],
            "flows": [{**flow, "start": f"{300 * i} ms"} for i in range(flows)],
        }
    )


def figures(tried: Scenario, engine: str) -> tuple[float, float, float, int]:
    """Utilization, mean queue, mean window, and marks."""
    result = run(tried, engine=engine)
    link = result.to_dict()["links"][0]
    windows = to_numpy(result.columns("flows")["mean_cwnd_packets"])
    return link["utilization"], link["mean_queue_packets"], float(windows.mean()), link["marked_packets"]


@pytest.mark.parametrize(("threshold", "flows"), [("5 ms", 1), ("20 ms", 1), ("5 ms", 4), ("20 ms", 4)])
def test_linux_and_simulator_agree(threshold: str, flows: int) -> None:
    """Within 2 percentage points of utilization, 15 % of mean queue, 6 % of mean window, and 1.3 times the marks."""
    tried = scenario(threshold, flows)
    there, here = figures(tried, "linux"), figures(tried, "simulator")
    print(f"\n{threshold}, {flows} flows: utilization, queue, window, marks: Linux {there}, simulator {here}")
    assert abs(there[0] - here[0]) <= 0.02
    assert here[1] / 1.15 <= there[1] <= here[1] * 1.15
    assert here[2] / 1.06 <= there[2] <= here[2] * 1.06
    assert here[3] / 1.3 <= there[3] <= here[3] * 1.3
