"""Rewards of an interval.

- ``aurora``: 0.001 (10 x - 1000 d - 2000 l), with x in packets of 1500 bytes per second, d the mean RTT in seconds, and
  l the loss fraction (PCC-RL, ``src/gym/network_sim.py``).
- ``orca``: (x - 5 L) / x_max m, with L the rate of losses, x_max the highest rate so far, and m the least of 1 and
  1.25 d_min / smoothed RTT (Orca, ``rl-module/envwrapper.py``).
- ``genet``: 500 x / C - 1000 d - 2000 l, with x and the capacity C in packets per second, and d and l as above (Genet,
  ``src/common/utils.py`` with the capacity of the interval, ``src/simulator/network.py``; the paper was not read).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.gym.features import Raw, Values

__all__ = ["REWARDS", "Reward", "chosen"]

Reward = Callable[[Any], Any]
"""Function of the measurements of an interval: arrays by name, with a value for each environment."""


def aurora(raw: Raw) -> Values:
    """Reward of PCC-RL."""
    return 0.001 * (10 * raw["rate_bps"] / 12000 - 1000 * raw["mean_rtt_s"] - 2000 * raw["loss_rate"])


def orca(raw: Raw) -> Values:
    """Reward of Orca; 0 before the first delivery."""
    best = raw["best_bps"]
    share = (raw["rate_bps"] - 5 * raw["lost_bps"]) / np.where(best > 0, best, 1.0)
    return np.where(best > 0, share * raw["delay_metric"], 0.0)


def genet(raw: Raw) -> Values:
    """Reward of Genet's code; requires links with fixed rates."""
    return 500 * raw["rate_bps"] / raw["capacity_bps"] - 1000 * raw["mean_rtt_s"] - 2000 * raw["loss_rate"]


REWARDS: Mapping[str, Reward] = {"aurora": aurora, "orca": orca, "genet": genet}
"""Rewards by name."""


def chosen(reward: str | Reward) -> Reward:
    """Reward of a name, or the function itself.

    Raises:
        InputError: The name is unknown.
    """
    if callable(reward):
        return reward
    if reward not in REWARDS:
        raise InputError(unknown("reward", reward, REWARDS))
    return REWARDS[reward]
