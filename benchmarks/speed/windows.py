"""Cost of a packet with 10^3 to 10^7 segments in flight, including losses: processor time of the engine without Python.

``python -m benchmarks.speed.windows``; needs cargo. One CUBIC flow, 1 s of RTT, a buffer of half a BDP: slow start ends
with the loss of about half a window, which has to be repaired. ``out/speed/windows.json`` has the results.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from .instructions import build_engine
from .measure import keep

SCENARIO = """\
duration = "{duration_s} s"
series_interval = "off"

[[links]]
name = "bottleneck"
rate = "{rate} bit/s"
delay = "500 ms"
buffer = "0.5 BDP"

[[flows]]
algorithm = "cubic"
initial_window = {initial_window}
"""

PACKET_BITS = 8000

CASES = {1_000: 10_000, 10_000: 1_000, 100_000: 120, 1_000_000: 30, 10_000_000: 12}
"""Segments in a BDP, and seconds to simulate: ten million packets and more each."""


def main() -> int:
    """Build the bare engine, run the cases, print."""
    program, _ = build_engine()
    records: list[dict[str, float]] = []
    print(f"{'segments in a BDP':>17} {'data packets':>12} {'dropped':>11} {'ns a packet':>11} {'of the first':>12}")
    for segments, duration_s in CASES.items():
        text = SCENARIO.format(
            duration_s=duration_s, rate=segments * PACKET_BITS, initial_window=max(10, min(1_000_000, segments // 10))
        )
        packets, dropped, seconds = _run(program, text)
        cost = seconds / packets * 1e9
        records.append({"segments": segments, "data_packets": packets, "dropped": dropped, "ns_a_packet": cost})
        ratio = cost / records[0]["ns_a_packet"]
        print(f"{segments:>17,} {packets:>12,} {dropped:>11,} {cost:>11.0f} {ratio:>12.2f}", flush=True)
    keep("windows", records)
    return 0


def _run(program: Path, scenario: str) -> tuple[int, int, float]:
    """Data packets, those dropped, and processor seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([program, file.name], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = dict(re.findall(r"(\w+): (\d+)", done.stdout))
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(counts["sent"]), int(counts["dropped"]), spent


if __name__ == "__main__":
    sys.exit(main())
