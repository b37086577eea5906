"""Trains a small policy by CMA-ES, and exports it as the algorithm `learned`.

A candidate is a network with 81 numbers: 2 intervals of 4 features, 8 units, and one action. Every candidate of a
generation runs the same drawn paths, each for STEPS round trips. The fitness of a path is the mean over its intervals
of log(rate / capacity) - log(mean RTT / least RTT); the worst tenth of the paths counts twice. The same seed gives the
same file.

    pip install 'fullpipe[gym,search,compiled]'
    python examples/learned/train.py [GENERATIONS]
"""

import sys
import time
from pathlib import Path

import cma
import numpy as np

from fullpipe.gym import Distribution, Env, Policy, VectorEnv, export

HERE = Path(__file__).parent
SEED = 1
POPULATION, PATHS, STEPS = 16, 12, 150
SIZES = (8, 8, 1)
ACTION = {"name": "rate-multiplier", "scale": 0.5, "bounds": ["100 kbit/s", "100 Mbit/s"]}
OPTIONS = {"history": 2, "interval": "1 RTT", "action": ACTION}


def reward(raw):
    """Logarithm of the share of the capacity, minus that of the RTT over the least one."""
    share = np.maximum(raw["rate_bps"] / raw["capacity_bps"], 0.01)
    return np.log(share) - np.log(raw["mean_rtt_s"] / raw["min_rtt_s"])


def fitness(env, numbers, generation):
    """Fitness of each candidate, the rows of `numbers`."""
    policy = Policy.of(numbers, SIZES)
    seeds = [SEED * 10**9 + generation * PATHS + path for path in range(PATHS)]
    observations, _ = env.reset(seed=seeds * len(numbers))
    total = np.zeros(env.num_envs)
    for _ in range(STEPS):
        actions = policy(observations.reshape(len(numbers), PATHS, -1)).reshape(-1, 1)
        observations, rewards, *_ = env.step(actions)
        total += rewards
    paths = np.sort(total.reshape(len(numbers), PATHS) / STEPS, axis=1)
    worst = paths[:, : -(-PATHS // 10)]
    return (paths.sum(axis=1) + worst.sum(axis=1)) / (PATHS + worst.shape[1])


def main(generations=100):
    """Trains for some generations, and writes learned.py."""
    paths = Distribution.load(HERE / "paths.toml")
    env = VectorEnv(paths, POPULATION * PATHS, reward=reward, max_steps=STEPS, **OPTIONS)
    search = cma.CMAEvolutionStrategy(
        np.zeros(Policy.count(SIZES)), 0.3, {"popsize": POPULATION, "seed": SEED, "verbose": -9}
    )
    begun = time.monotonic()
    for generation in range(generations):
        candidates = np.array(search.ask())
        found = fitness(env, candidates, generation)
        search.tell(candidates, -found)
        print(f"generation {generation + 1}: best {found.max():.4f}, {time.monotonic() - begun:.0f} s", flush=True)
    name = export(Policy.of(search.result.xfavorite, SIZES), HERE / "learned.py", Env(paths, **OPTIONS))
    print(f"wrote {name}: {HERE / 'learned.py'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
