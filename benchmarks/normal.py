"""Bands of the values that `fullpipe explain --normal` judges, from simulated snapshots.

Each algorithm runs alone, as on Linux, on the paths of the recordings. Snapshots at random times after the first 5000
packets have the values of ``ss`` and ``tc``. The table has their 1st and 99th percentile. For example:
``python -m benchmarks.normal``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import numpy as np

import fullpipe
from benchmarks.recordings import NAMES, cases
from fullpipe.engine.tables import to_numpy
from fullpipe.experiments.explain.normal import LEAST_BPS, LEAST_RTT_S, LEAST_SEGMENTS

SNAPSHOTS = 25
"""Snapshots of a run. There are eight paths, so that each algorithm has 200."""

SMOOTHED_S = 1.0
"""Interval of the rate that stands for ``delivery_rate``."""

PACKET, MSS = 1514, 1448


def main() -> None:
    paths = [case for case in cases() if case.number <= 24]
    found: dict[tuple[str, str], list[float]] = {}
    for case in paths:
        flow = {"algorithm": case.algorithm, "host": "linux", "path": ["l"], "processing_time": "100 us"}
        scenario = case.scenario.set({"flows": [flow], "series_interval": "10 ms", "seed": case.number})
        for name, value in snapshots(fullpipe.run(scenario), case.rate * 1e6, random.Random(case.number)):
            found.setdefault((name, case.algorithm), []).append(value)
    print("| value | " + " | ".join(NAMES) + " |")
    print("|---|" + "---|" * len(NAMES))
    for name in dict.fromkeys(name for name, _ in found):
        cells = []
        for algorithm in NAMES:
            low, high = np.percentile(found[name, algorithm], (1, 99))
            cells.append(f"{low:.3g} to {high:.3g}")
        print(f"| {name} | {' | '.join(cells)} |")


def snapshots(result: fullpipe.Result, rate_bps: float, draw: random.Random) -> Iterator[tuple[str, float]]:
    """Values of snapshots at random times."""
    series, links = result.columns("series"), result.columns("link_series")
    at, rtt, cwnd, goodput = (
        to_numpy(series[name]).astype(float) for name in ("t_s", "rtt_s", "cwnd_packets", "goodput_bps")
    )
    smoothed = rtt.copy()
    for i in range(1, len(smoothed)):  # a sample per row, of weight 1/8 (RFC 6298 section 2.3)
        smoothed[i] = smoothed[i - 1] if np.isnan(rtt[i]) else np.nansum([0.875 * smoothed[i - 1], 0.125 * rtt[i]])
    queue = to_numpy(links["queue_packets"]).astype(float)
    arrived, dropped = (
        np.cumsum(to_numpy(links[name]).astype(float)) for name in ("arrived_packets", "dropped_packets")
    )
    rows = round(SMOOTHED_S / (at[1] - at[0]))
    begin = max(rows, int(np.searchsorted(arrived, LEAST_SEGMENTS)))
    for _ in range(SNAPSHOTS):
        i = draw.randrange(begin, len(at))
        rate = np.nanmean(goodput[i - rows : i]) * MSS / PACKET
        yield "rtt / minrtt", smoothed[i] / np.nanmin(rtt[: i + 1])
        yield "cwnd x mss / rtt over delivery_rate", 8 * MSS * cwnd[i] / smoothed[i] / rate
        yield "drops / packets", dropped[i] / arrived[i]
        if rate > LEAST_BPS and smoothed[i] > LEAST_RTT_S:
            yield "retransmitted fraction", dropped[i] / arrived[i]
        yield "backlog / rate (s)", 8 * PACKET * queue[i] / rate_bps


if __name__ == "__main__":
    sys.exit(main())
