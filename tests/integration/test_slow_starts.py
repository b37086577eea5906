"""Slow starts over a path with jitter: 100 Mbit/s, 50 ms, and up to 10 ms more in the direction of the data."""

from __future__ import annotations

import math

import fullpipe

BDP_PACKETS = 100e6 * 0.05 / 8 / 1500
SEEDS = range(1, 41)


def leaves_early(slow_start: str, seed: int) -> bool:
    """Whether ssthresh is set below half a BDP before the first loss."""
    jitter = {"model": "uniform", "mean": "5 ms", "spread": "5 ms"}
    link = {"name": "l", "rate": "100 Mbit/s", "delay": "25 ms", "buffer": "1 BDP", "jitter": jitter}
    flow = {"algorithm": "newreno", "recovery": "rack", "initial_window": 10, "slow_start": slow_start}
    run = {"duration": "2 s", "packet_size": 1500, "seed": seed, "series_interval": "10 ms"}
    result = fullpipe.run(fullpipe.Scenario.from_dict({**run, "links": [link], "flows": [flow]}))
    losses = [row["t_s"] for row in result.link_series.to_pylist() if row["dropped_packets"]]
    left = next((row for row in result.series.to_pylist() if not math.isnan(row["ssthresh_packets"])), None)
    if left is None or (losses and losses[0] <= left["t_s"]):
        return False
    return bool(left["cwnd_packets"] < BDP_PACKETS / 2)


def test_search_leaves_a_path_with_jitter_early_in_less_than_a_run_of_twenty() -> None:
    """Linux's HyStart leaves after a rise of the RTT that is less than this jitter, and often leaves early."""
    assert sum(leaves_early("search", seed) for seed in SEEDS) < len(SEEDS) / 20
    assert sum(leaves_early("hystart", seed) for seed in SEEDS) > len(SEEDS) / 8
