"""Rewards of an interval.

x is the goodput, d the mean RTT in seconds, l the fraction of packets found lost, L the rate of losses, and C the
rate of the slowest link, a mean over the interval.

- ``aurora``: 0.001 (10 x - 1000 d - 2000 l), x in packets of 1500 bytes per second (PCC-RL,
  ``src/gym/network_sim.py``).
- ``orca``: (x - 5 L) / x_max m, with x_max the highest rate so far, and m the least of 1 and 1.25 d_min / smoothed RTT
  (Orca, ``rl-module/envwrapper.py``).
- ``genet``: 500 x / C - 1000 d - 2000 l (Genet, ``src/common/utils.py`` with the capacity of the interval,
  ``src/simulator/network.py``; the paper was not read).
- ``sage``: for a flow alone, 25 (x - 2 L)^2 / C^2 m, negative if x < 2 L, with x at most 0.9 C where it exceeds C, and
  m = d_min / smoothed RTT, or 1 from 0.8 on. With n flows, 25 exp(-8 (x / f - 1)^2), with f = 0.95 C / n, and x / f at
  most 2 (Sage, ``sage_rl/src/sage.cc``, whose rates are those of 2 s; the paper was not read).
- ``vivace``: x^0.9 - 900 x max(0, RTT slope) - 11.35 x l, with x the rate sent in Mbit/s (PCC Vivace, PCC-Uspace,
  ``src/pcc/pcc_utility_manager.cpp`` without its tolerance of small slopes; the paper was not read).
- ``remy``: log2(x n / C) - log2(d / 100 ms), with x n / C at least 0.001, where the source has -2^31 for no delivery
  (Remy, ``src/utility.hh``; the paper was not read).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.gym.formula import Formula

__all__ = ["REWARDS", "Reward", "chosen"]

Reward = Callable[[Any], Any]
"""Function of the measurements of an interval: arrays by name, with a value for each environment."""

SAGE_RATE = "where(rate_bps > capacity_bps, 0.9 * capacity_bps, rate_bps)"
SAGE_DELAY = "where(over(min_rtt_s, srtt_s, 1.0) >= 0.8, 1.0, over(min_rtt_s, srtt_s, 1.0))"
SAGE_ALONE = (
    f"where(rate_bps < 2 * lost_bps, -25.0, 25.0) * (({SAGE_RATE} - 2 * lost_bps) / capacity_bps) ** 2 * {SAGE_DELAY}"
)
SAGE_SHARE = "minimum(rate_bps * flows / (0.95 * capacity_bps), 2.0)"

REWARDS: Mapping[str, Formula] = {
    "aurora": Formula("0.001 * (10 * rate_bps / 12000 - 1000 * mean_rtt_s - 2000 * loss_rate)"),
    "orca": Formula("over(rate_bps - 5 * lost_bps, best_bps, 0.0) * delay_metric"),
    "genet": Formula("500 * rate_bps / capacity_bps - 1000 * mean_rtt_s - 2000 * loss_rate"),
    "sage": Formula(f"where(flows == 1, {SAGE_ALONE}, 25 * exp(-8 * ({SAGE_SHARE} - 1) ** 2))"),
    "vivace": Formula(
        "(send_rate_bps / 1e6) ** 0.9 - 900 * send_rate_bps / 1e6 * maximum(0.0, rtt_slope)"
        " - 11.35 * send_rate_bps / 1e6 * loss_rate"
    ),
    "remy": Formula("log2(maximum(rate_bps * flows / capacity_bps, 0.001)) - log2(maximum(mean_rtt_s, 1e-6) / 0.1)"),
}
"""Rewards by name."""

NOT_READ = {
    "astraea": "Astraea (EuroSys 2024)",
    "mocc": "MOCC (EuroSys 2022)",
}
"""Published rewards whose weights were not found in a text or code that we could read."""


def chosen(reward: str | Reward) -> Reward:
    """Reward of a name, or the function itself.

    Raises:
        InputError: The name is unknown, or its source was not read.
    """
    if callable(reward):
        return reward
    if reward in NOT_READ:
        raise InputError(
            f'reward "{reward}" is not built in, because the text of {NOT_READ[reward]} was not read: pass a function'
        )
    if reward not in REWARDS:
        raise InputError(unknown("reward", reward, REWARDS))
    return REWARDS[reward]
