"""Paths of an evaluation: public ones, and held-out ones that are drawn from a secret.

Path k of a purpose has the seed HMAC-SHA256(secret, "purpose:k:version").
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fullpipe._util.plain import Tree

__all__ = [
    "CANDIDATE",
    "TRANSFERS",
    "TRANSFER_S",
    "Path",
    "draw",
    "jobs_seed",
    "neighbor",
    "rate_cut",
    "scenario",
    "transfers",
]

CANDIDATE = "candidate"
"""Algorithm of the candidate's flows, until its file is loaded."""

VERSION = 1
"""Raised when the law of the paths changes."""

WARMUP_S, MEASURED_S = 3.0, 7.0

TRANSFERS, TRANSFER_S = 4, 5.0
"""Short transfers of a path, and the time from one to the next, seconds: the time of one that does not end."""

CUT_S, AFTER_CUT_S = 10.0, 5.0
"""Age of the flows when the rate falls, and time from then until the measuring window, which is as long, seconds."""

PACKET_BITS = 12_000


@dataclass(frozen=True)
class Path:
    """A path.

    Attributes:
        rate_bps: Rate.
        rtt_s: Base RTT.
        bdps: Buffer in BDP.
        loss: Random loss.
    """

    rate_bps: float
    rtt_s: float
    bdps: float
    loss: float = 0.0

    def __str__(self) -> str:
        """Its properties in short."""
        rate, rtt = f"{self.rate_bps / 1e6:.3g} Mbit/s", f"{self.rtt_s * 1e3:.3g} ms"
        return f"{rate}, {rtt}, {self.bdps:.2g} BDP, loss {self.loss:.1g}"


def jobs_seed(secret: bytes, purpose: str, number: int) -> int:
    """Seed of a path or a run, 63 bits."""
    digest = hmac.new(secret, f"{purpose}:{number}:{VERSION}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def draw(secret: bytes, purpose: str, number: int) -> Path:
    """A path: 2 to 50 Mbit/s, 10 to 100 ms, 0.3 to 4 BDP (all log-uniform), with probability 0.3 loss up to 0.1 %."""
    random = np.random.Generator(np.random.Philox(jobs_seed(secret, purpose, number)))
    places = random.random(5)
    loss = 1e-4 * 10 ** places[3] if places[4] < 0.3 else 0.0
    return Path(2e6 * 25 ** places[0], 0.01 * 10 ** places[1], 0.3 * (4 / 0.3) ** places[2], loss)


def neighbor(path: Path, secret: bytes, number: int) -> Path:
    """The path with its rate, base RTT, and buffer changed by 1 to 3 %."""
    random = np.random.Generator(np.random.Philox(jobs_seed(secret, "neighbor", number)))
    by = 1 + random.choice([-1, 1], 3) * random.uniform(0.01, 0.03, 3)
    return replace(path, rate_bps=path.rate_bps * by[0], rtt_s=path.rtt_s * by[1], bdps=path.bdps * by[2])


def scenario(
    path: Path,
    flows: Mapping[str, str],
    seed: int,
    *,
    start_s: float = 0.0,
    age_s: float = WARMUP_S,
    measured_s: float = MEASURED_S,
    each: int = 1,
) -> Tree:
    """Scenario of a path as a dictionary.

    Args:
        path: The path.
        flows: Algorithm of each group of flows, by its name.
        seed: Seed of the run.
        start_s: When the flows begin on the clock of the senders, seconds.
        age_s: Age of the flows at which the measuring window begins, seconds.
        measured_s: Length of the window, seconds.
        each: Flows of each group.
    """
    common = {
        "start": f"{_time(start_s)}..{_time(start_s + 0.1)}",
        "processing_time": _processing_time(path),
        "count": each,
    }
    return {
        **_network(path, seed),
        "duration": _time(start_s + age_s + measured_s),
        "warmup": _time(start_s + age_s),
        "flows": [{"name": name, "algorithm": algorithm, **common} for name, algorithm in flows.items()],
    }


def rate_cut(path: Path, flows: Mapping[str, str], seed: int, *, start_s: float = 0.0) -> Tree:
    """Scenario of a path whose rate falls by 90 %, measured from 5 to 10 s after that. The arguments are those of
    `scenario`.
    """
    tree = scenario(path, flows, seed, start_s=start_s, age_s=CUT_S + AFTER_CUT_S, measured_s=AFTER_CUT_S)
    (link,) = tree["links"]
    link["schedule"] = [{"at": _time(start_s + CUT_S), "rate": f"{path.rate_bps / 10:.0f} bit/s"}]
    return tree


def transfers(path: Path, algorithm: str, seed: int, *, start_s: float = 0.0) -> Tree:
    """Scenario of transfers of 100 kB, one after another, on a path without other flows.

    Args:
        path: The path.
        algorithm: Algorithm of the transfers.
        seed: Seed of the run.
        start_s: When the first one begins on the clock of the senders, seconds.
    """
    starts = [start_s + number * TRANSFER_S for number in range(TRANSFERS)]
    common = {"algorithm": algorithm, "size": "100 kB", "processing_time": _processing_time(path)}
    return {
        **_network(path, seed),
        "duration": _time(start_s + TRANSFERS * TRANSFER_S),
        "warmup": _time(start_s),
        "flows": [{"name": f"transfer{i}", "start": _time(start), **common} for i, start in enumerate(starts)],
    }


def _network(path: Path, seed: int) -> Tree:
    packets = max(5, round(path.bdps * path.rate_bps * path.rtt_s / PACKET_BITS))
    link = {
        "name": "l",
        "rate": f"{path.rate_bps:.0f} bit/s",
        "delay": f"{path.rtt_s / 2 * 1e9:.0f} ns",
        "buffer": f"{packets} packets",
        "loss": path.loss,
    }
    return {"packet_size": 1500, "series_interval": "off", "seed": seed, "links": [link]}


def _processing_time(path: Path) -> str:
    return f"{1e9 * PACKET_BITS / path.rate_bps:.0f} ns"


def _time(value_s: float) -> str:
    return f"{round(1e3 * value_s)} ms"
