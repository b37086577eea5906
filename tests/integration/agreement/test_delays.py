"""Percentiles of the queueing delay and of the jitter, compared with those of every packet in ns-2's trace."""

from __future__ import annotations

import math
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

import fullpipe
from fullpipe import Scenario

pytestmark = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (Debian package ns2)")

WARMUP_S, DURATION_S = 10.0, 60.0


def ns2_waits(trace: Path) -> list[float]:
    """How long packets waited that entered and left the queue between the end of the warm-up and that of the run."""
    entered: dict[str, float] = {}
    waits = []
    for line in trace.read_text().splitlines():
        event, at, *_, packet = line.split()
        if event == "+" and WARMUP_S <= float(at) < DURATION_S:
            entered[packet] = float(at)
        elif event == "-" and packet in entered:
            waits.append(float(at) - entered.pop(packet))
    return sorted(waits)


def ns2_jitter(trace: Path) -> list[float]:
    """How much the delay of each packet that arrives in the window differs from that of the one before it."""
    entered: dict[str, float] = {}
    arrivals = []
    for line in trace.read_text().splitlines():
        event, at, *_, packet = line.split()
        if event == "+":
            entered[packet] = float(at)
        elif event == "r":
            arrivals.append((float(at), float(at) - entered[packet]))
    return sorted(abs(after - before) for (_, before), (at, after) in pairwise(arrivals) if at >= WARMUP_S)


def nearest_rank(values: list[float], percent: int) -> float:
    return values[math.ceil(len(values) * percent / 100) - 1]


def test_percentiles_agree_with_ns2s_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    script = Path(__file__).with_name("queue_trace.tcl")
    subprocess.run(["ns", str(script), str(trace)], check=True, timeout=120)
    waits, jitter = ns2_waits(trace), ns2_jitter(trace)
    scenario = Scenario(
        duration=f"{DURATION_S} s",
        warmup=f"{WARMUP_S} s",
        measure_jitter=True,
        links=[{"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "50 packets"}],
        flows=[{"algorithm": "reno", "recovery": "sack", "access_delay": "1 ms"}],
    )
    result = fullpipe.run(scenario)
    (link,), (flow,) = result.links.to_pylist(), result.flows.to_pylist()
    assert len(waits) == pytest.approx(link["arrived_packets"] - link["dropped_packets"], rel=0.01)
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
        assert link[f"{name}_queueing_delay_s"] == pytest.approx(nearest_rank(waits, percent), rel=0.01), name
    # More than one ACK of a hundred lets two packets go, the second of which waits 0.8 ms. The trace has microseconds.
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99)):
        exact = nearest_rank(jitter, percent)
        assert flow[f"{name}_jitter_s"] == pytest.approx(exact, rel=0.01, abs=2e-6), name
    assert nearest_rank(jitter, 99) == pytest.approx(8e-4)
