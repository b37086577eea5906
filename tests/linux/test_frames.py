"""Frames of an application on Linux and in the simulator: their delays, and windows after pauses. Long; `make
test-linux` runs it.

10 Mbit/s and 200 packets of buffer; `host = "linux"`, an ACK per segment, Reno with whole segments. Frames of 14
packets 30 times per second over 40 ms leave most of the window unused. Frames of 80 packets each 2/3 s over 100 ms have
pauses of half a second, longer than an RTO of about 300 ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from fullpipe import Result, Scenario
from fullpipe.runs.engines import run
from linux.beside import ALGORITHMS, keep_rows, needs_guest, records_rows

pytestmark = [pytest.mark.slow_linux, needs_guest]

PACKET_BYTES = 1514
FRAME_S, WARMUP_S, DURATION_S = 1 / 1.5, 5.0, 20.0
DELAY = 0.05
"""Largest relative difference of delays; a visit of the guest's agent, 1 ms, and its rounding come on top."""
CASES = {
    "steady": ("30/s", 14, "20 ms", "linux"),
    "pauses": ("1.5/s", 80, "50 ms", "linux"),
    "pauses, no restart": ("1.5/s", 80, "50 ms", "none"),
}


def scenario(frames: str, packets: int, delay: str, idle: str) -> Scenario:
    source = {"frames": frames, "size": f"{packets * PACKET_BYTES} B", "deadline": "150 ms"}
    flow = {"algorithm": ALGORITHMS["reno"], "host": "linux", "delayed_ack": False, "idle": idle, "source": source}
    return Scenario(
        duration=f"{DURATION_S} s",
        warmup=f"{WARMUP_S} s",
        packet_size=PACKET_BYTES,
        series_interval="10 ms",
        links=[{"name": "l", "rate": "10 Mbit/s", "delay": delay, "buffer": "200 packets"}],
        flows=[flow],
    )


def windows(result: Result) -> list[float]:
    """Windows 20 ms after each of the first 12 frames of pauses, when no ACK of the frame has arrived."""
    by_time = dict(zip(*(result.series[name].to_pylist() for name in ("t_s", "cwnd_packets")), strict=True))
    return [by_time[round(int(100 * (i * FRAME_S + 0.02)) / 100, 2)] for i in range(1, 13)]


def figures(result: Result) -> dict[str, Any]:
    (flow,) = result.flows.to_pylist()
    return {
        "p50_ms": round(1e3 * flow["p50_frame_delay_s"], 1),
        "p99_ms": round(1e3 * flow["p99_frame_delay_s"], 1),
        "late": flow["late_frames"],
        "cwnd": round(flow["mean_cwnd_packets"], 1),
        "window": windows(result)[-1],
    }


@pytest.mark.parametrize("case", CASES)
def test_frames_and_restarts_agree(case: str) -> None:
    """A restart after each pause halves the window once; the window of steady frames stays, though most is unused."""
    results = {engine: run(scenario(*CASES[case]), engine=engine) for engine in ("linux", "simulator")}
    there, here = (figures(result) for result in results.values())
    print(f"\n{case}: Linux {there}, simulator {here}")
    if records_rows():
        keep_rows("frames", {case: {"linux": there, "simulator": here}})
    for key in ("p50_ms", "p99_ms"):
        assert there[key] == pytest.approx(here[key], rel=DELAY, abs=1.5)
    assert there["late"] == here["late"]
    assert there["cwnd"] == pytest.approx(here["cwnd"], rel=0.06)
    if case != "steady":
        assert windows(results["linux"]) == windows(results["simulator"])
