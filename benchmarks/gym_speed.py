"""Steps per second of `fullpipe.gym`, compared with an event loop in Python of PCC-RL's design, which runs alone and
in Gymnasium's `AsyncVectorEnv` with two processes.

Steps of 10 ms, base RTT 20 ms, buffer of 1 BDP, 1500-byte packets. The window is one BDP: the link is full. Each
case warms up for SECONDS / 5, and has five repetitions of SECONDS. Printed are the median and the range of the steps
per second, and the steps per second of processor time of this process: other programs disturb those less. The event
loop has one flow, a priority queue of packets and ACKs as in PCC-RL's ``network_sim.py``, equal steps, and no features.

    .venv/bin/python benchmarks/gym_speed.py [SECONDS] [WORKERS]
"""

from __future__ import annotations

import heapq
import statistics
import sys
import time
from collections.abc import Callable

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv

from fullpipe.gym import Env, VectorEnv

RTT_S = 0.02
STEP_S = 0.01


def path(rate_bps: float) -> dict[str, object]:
    """One learner on one link. The episode does not end in a measurement: a step after its end is no step."""
    link = {"name": "l", "rate": f"{rate_bps:g} bit/s", "delay": "10 ms", "buffer": "1 BDP"}
    return {"duration": "1000000 s", "packet_size": 1500, "links": [link], "flows": [{"algorithm": "external"}]}


def window(rate_bps: float) -> float:
    """Action for a window of one BDP."""
    return float(2 * np.log2(rate_bps * RTT_S / 12000 / 2) / 19 - 1)


def ours(count: int, rate_bps: float, workers: int) -> Callable[[], int]:
    """A function that makes a step in each environment."""
    env = VectorEnv(path(rate_bps), num_envs=count, interval="10 ms", action="window", workers=workers)
    env.reset(seed=1)
    actions = np.full((count, 1), window(rate_bps), np.float32)

    def step() -> int:
        env.step(actions)
        return count

    return step


def single(rate_bps: float) -> Callable[[], int]:
    """As `ours`, for `Env`."""
    env = Env(path(rate_bps), interval="10 ms", action="window")
    env.reset(seed=1)
    action = np.array([window(rate_bps)], np.float32)

    def step() -> int:
        env.step(action)
        return 1

    return step


class Loop(gymnasium.Env[np.ndarray, np.ndarray]):  # type: ignore[type-arg]
    """The event loop as an environment."""

    def __init__(self, rate_bps: float) -> None:
        self.observation_space = gymnasium.spaces.Box(-1, 1, (40,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        self._step = python_loop(rate_bps)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):  # type: ignore[no-untyped-def]
        """First observation."""
        super().reset(seed=seed, options=options)
        return np.zeros(40, np.float32), {}

    def step(self, action: np.ndarray):  # type: ignore[no-untyped-def,type-arg]
        """A step; the action changes nothing."""
        del action
        self._step()
        return np.zeros(40, np.float32), 0.0, False, False, {}


def processes(rate_bps: float) -> Callable[[], int]:
    """Two event loops in processes of their own."""
    env = AsyncVectorEnv([lambda: Loop(rate_bps)] * 2)
    env.reset(seed=1)
    actions = np.zeros((2, 1), np.float32)

    def step() -> int:
        env.step(actions)
        return 2

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


def measured(step: Callable[[], int], seconds: float) -> str:
    """Median, least, and largest number of steps per second, and the median per second of processor time."""

    def run(length: float) -> tuple[float, float]:
        begun, used, done = time.perf_counter(), time.process_time(), 0
        while (passed := time.perf_counter() - begun) < length:
            done += step()
        return done / passed, done / max(time.process_time() - used, 1e-9)

    run(seconds / 5)
    rates = [run(seconds) for _ in range(5)]
    wall, processor = zip(*rates, strict=True)
    range_of = f"{min(wall):.0f} to {max(wall):.0f}"
    return f"{statistics.median(wall):.0f} ({range_of}); per processor second {statistics.median(processor):.0f}"


def main() -> None:
    """Prints a row for each case."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    for rate_bps in (10e6, 100e6):
        cases = [("fullpipe, Env", single(rate_bps))]
        cases += [(f"fullpipe, {count} environments", ours(count, rate_bps, workers)) for count in (1, 8, 64)]
        cases += [("Python event loop", python_loop(rate_bps)), ("two in AsyncVectorEnv", processes(rate_bps))]
        for name, step in cases:
            print(f"{name}, {rate_bps / 1e6:g} Mbit/s: {measured(step, seconds)}", flush=True)


if __name__ == "__main__":
    main()
