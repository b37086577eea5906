"""Requests of a client on Linux and in the simulator: completion times, and windows after pauses. Long; `make
test-linux` runs it.

Reno with whole segments, `host = "linux"`, an ACK per segment. Responses of 8 packets over 10 Mbit/s and 40 ms fit the
first window. Responses of 120 packets over 50 Mbit/s and 100 ms take round trips. Their pauses of 1 s are about 3.5
RTOs, after which the kernel halves the window three times.
"""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

import pytest

from fullpipe import Result, Scenario
from fullpipe.runs.engines import run
from linux.beside import ALGORITHMS, keep_rows, needs_guest, records_rows

pytestmark = [pytest.mark.slow_linux, needs_guest]

PACKET_BYTES = 1514
WARMUP_S, DURATION_S = 4.0, 14.0
COMPLETION = 0.05
"""Largest relative difference of completion times."""


class Case(NamedTuple):
    """Round trip is twice the ``delay``; ``server`` is the time of the server."""

    rate: str
    delay: str
    packets: int
    think: str
    server: str
    idle: str


CASES = {
    "below the window": Case("10 Mbit/s", "20 ms", 8, "130 ms", "0 s", "linux"),
    "pauses": Case("50 Mbit/s", "50 ms", 120, "1 s", "0 s", "linux"),
    "pauses, server of 50 ms": Case("50 Mbit/s", "50 ms", 120, "1 s", "50 ms", "linux"),
    "pauses, no restart": Case("50 Mbit/s", "50 ms", 120, "1 s", "0 s", "none"),
}


def scenario(case: Case) -> Scenario:
    source = {"requests": case.think, "size": f"{case.packets * PACKET_BYTES} B", "server": case.server}
    flow = {"algorithm": ALGORITHMS["reno"], "host": "linux", "delayed_ack": False, "idle": case.idle, "source": source}
    return Scenario(
        duration=f"{DURATION_S} s",
        warmup=f"{WARMUP_S} s",
        packet_size=PACKET_BYTES,
        series_interval="10 ms",
        links=[{"name": "l", "rate": case.rate, "delay": case.delay, "buffer": "400 packets"}],
        flows=[flow],
    )


def windows(result: Result) -> list[float]:
    """Window with which each response begins, from the second on: the lowest between its request and its end."""
    samples = list(zip(*(result.series[name].to_pylist() for name in ("t_s", "cwnd_packets")), strict=True))
    done = [row for row in result.transfers.to_pylist() if row["state"] == "complete"]
    ends = [(row["start_s"], row["start_s"] + row["completion_s"]) for row in done[1:]]
    return [min(window for t_s, window in samples if start < t_s < end) for start, end in ends]


def figures(result: Result) -> dict[str, Any]:
    done = [row for row in result.transfers.to_pylist() if row["state"] == "complete" and not row["in_warmup"]]
    (flow,) = result.flows.to_pylist()
    return {
        "p50_ms": round(1e3 * median(row["completion_s"] for row in done), 1),
        "mean_ms": round(1e3 * flow["request_completion_s"], 1),
        "requests": len(done),
        "window": windows(result)[-1],
    }


@pytest.mark.parametrize("case", CASES)
def test_requests_and_restarts_agree(case: str) -> None:
    results = {engine: run(scenario(CASES[case]), engine=engine) for engine in ("linux", "simulator")}
    there, here = (figures(result) for result in results.values())
    print(f"\n{case}: Linux {there}, simulator {here}")
    if records_rows():
        keep_rows("requests", {case: {"linux": there, "simulator": here}})
    for key in ("p50_ms", "mean_ms"):
        assert there[key] == pytest.approx(here[key], rel=COMPLETION)
    assert abs(there["requests"] - here["requests"]) <= 1
    on_linux, simulated = (windows(result) for result in results.values())
    shared = min(len(on_linux), len(simulated))
    assert on_linux[:shared] == simulated[:shared]
