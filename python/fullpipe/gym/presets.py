"""Published distributions of training paths, as trees of `fullpipe.gym.Distribution`.

In all of them, ACKs take room on the return path, and lost packets are retransmitted, which the published simulators
leave out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fullpipe._util.plain import Table

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """A published distribution.

    Attributes:
        source: File and code that state it.
        tree: Tables of the distribution.
    """

    source: str
    tree: Table


def _scenario(duration: str, rate: str, delay: str, buffer: str) -> Table:
    """A learner alone on a link. The loss of the sources holds for data, and not for ACKs."""
    link = {"name": "l", "rate": rate, "delay": delay, "buffer": buffer, "reverse": {"loss": 0}}
    flow = {"name": "x", "algorithm": "external"}
    return {"duration": duration, "packet_size": 1500, "links": [link], "flows": [flow]}


GENET_PERIODS = (
    (0.24009999999999992, "9 s", "15 s"),
    (0.10289999999999999, "6 s", "9 s"),
    (0.147, "3 s", "6 s"),
    (0.21, "1 s", "3 s"),
    (0.3, "0 s", "1 s"),
)
"""Weight of each range of the time between changes."""

PRESETS: Mapping[str, Preset] = {
    "aurora": Preset(
        "PCC-RL, src/gym/network_sim.py: 400 steps",
        {
            "scenario": _scenario("400 s", "3 Mbit/s", "100 ms", "20 packets"),
            "axes": {
                "links.l.rate": {"uniform": ["1.2 Mbit/s", "6 Mbit/s"]},
                "links.l.delay": {"uniform": ["50 ms", "500 ms"]},
                "links.l.buffer": {"log": ["1 packets", f"{math.exp(8):.9g} packets"], "next_whole": True},
                "links.l.loss": {"uniform": [0, 0.05]},
            },
        },
    ),
    "genet": Preset(
        "Genet, config/cc/cl1/difficulty4.json and src/simulator/trace.py; a buffer has at least 1 packet, there 2",
        {
            "scenario": _scenario("30 s", "10 Mbit/s", "20 ms", "1 BDP"),
            "axes": {
                "links.l.rate": {"log": ["0.1 Mbit/s", "100 Mbit/s"]},
                "links.l.delay": {"uniform": ["2 ms", "200 ms"]},
                "links.l.buffer": {"uniform": ["0.2 BDP", "3 BDP"]},
                "links.l.loss": {"log": [1e-5, 0.05001], "zero_below": 1e-4},
            },
            "mixture": [
                {
                    "weight": weight,
                    "axes": {"links.l.schedule": {"steps": {"every": [low, high], "rate": ["0.1 Mbit/s", "1"]}}},
                }
                for weight, low, high in GENET_PERIODS
            ],
        },
    ),
    "orca-repository": Preset(
        "Orca, orca.sh: 48 Mbit/s, a round trip of 20 ms, a buffer of 2 BDP",
        {"scenario": _scenario("30 s", "48 Mbit/s", "10 ms", "2 BDP")},
    ),
}
"""Distributions by name. Orca's own, of its paper's section 5, is not among them: the text was not read."""
