"""Steps per second of `fullpipe.gym.VectorEnv`, beside an event loop in Python of PCC-RL's design.

Steps of 10 ms, base RTT 20 ms, buffer of 1 BDP, 1500-byte packets. The window is one BDP: the link is full. Each
case warms up for SECONDS / 5, and has five repetitions of SECONDS; median and range are printed. The event loop has one
flow, a priority queue of packets and ACKs as in PCC-RL's ``network_sim.py``, the same steps, and no features.

    .venv/bin/python benchmarks/gym_speed.py [SECONDS]
"""

from __future__ import annotations

import heapq
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from fullpipe.gym import VectorEnv

RTT_S = 0.02
STEP_S = 0.01


def ours(count: int, rate_bps: float, workers: int) -> Callable[[], int]:
    """A function that makes a step in each environment."""
    link = {"name": "l", "rate": f"{rate_bps:g} bit/s", "delay": "10 ms", "buffer": "1 BDP"}
    scenario = {"duration": "1000 s", "packet_size": 1500, "links": [link], "flows": [{"algorithm": "external"}]}
    env = VectorEnv(scenario, num_envs=count, interval="10 ms", action="window", workers=workers)
    env.reset(seed=1)
    window = rate_bps * RTT_S / 12000
    actions = np.full((count, 1), 2 * np.log2(window / 2) / 19 - 1, np.float32)

    def step() -> int:
        env.step(actions)
        return count

    return step


def python_loop(rate_bps: float) -> Callable[[], int]:
    """As `ours`, for one flow, by a priority queue in Python."""
    queue: list[tuple[float, int, float]] = []
    gap = 12000 / rate_bps
    state = {"now": 0.0, "free": 0.0, "next": 0.0}

    def step() -> int:
        end = state["now"] + STEP_S
        rtts = []
        while True:
            send = state["next"]
            if queue and queue[0][0] < min(send, end):
                now, kind, sent = heapq.heappop(queue)
                if kind == 0:
                    heapq.heappush(queue, (now + RTT_S / 2, 1, sent))
                else:
                    rtts.append(now - sent)
            elif send < end:
                state["free"] = max(state["free"], send) + gap
                heapq.heappush(queue, (state["free"] + RTT_S / 2, 0, send))
                state["next"] = send + gap / 0.95
            else:
                break
        state["now"] = end
        np.mean(rtts) if rtts else 0.0
        return 1

    return step


def measured(step: Callable[[], int], seconds: float) -> tuple[float, float, float]:
    """Median, least, and largest number of steps per second."""

    def run(length: float) -> float:
        begun, done = time.perf_counter(), 0
        while (passed := time.perf_counter() - begun) < length:
            done += step()
        return done / passed

    run(seconds / 5)
    rates = [run(seconds) for _ in range(5)]
    return statistics.median(rates), min(rates), max(rates)


def main() -> None:
    """Prints a row for each case."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    workers = min(2, os.cpu_count() or 1)
    for rate_bps in (10e6, 100e6):
        cases = [(f"fullpipe, {count} environments", ours(count, rate_bps, workers)) for count in (1, 8, 64)]
        for name, step in (*cases, ("Python event loop", python_loop(rate_bps))):
            median, least, most = measured(step, seconds)
            print(f"{name}, {rate_bps / 1e6:g} Mbit/s: {median:.0f} ({least:.0f} to {most:.0f})")


if __name__ == "__main__":
    main()
