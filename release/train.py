"""Training run for profile-guided optimization: ``python release/train.py SCENARIO.toml ...`` with fullpipe installed.

Runs the scenarios given, then every algorithm and every queue over short paths of several kinds. A build with
``-Cprofile-generate`` writes its counts at exit; `release/optimization.py` merges them.
"""

from __future__ import annotations

import sys
from typing import Any

import fullpipe

HOSTS: dict[str, dict[str, Any]] = {
    "SACK": {"recovery": "sack", "count": 8},
    "RACK, paced": {"recovery": "rack", "pacing": "on", "count": 8},
    "delayed ACKs": {"recovery": "rack", "delayed_ack": True, "count": 8},
    "Linux": {"host": "linux", "count": 8},
    "solo": {"recovery": "rack"},
}
PATHS: dict[str, dict[str, Any]] = {
    "jitter": {"jitter": {"model": "wifi", "mean": "2 ms"}},
    "reordering": {"reorder": {"probability": 0.01, "delay": "5 ms"}},
    "rate change": {"schedule": [{"at": "2 s", "rate": "10 Mbit/s"}]},
    "2 % loss": {"loss": 0.02},
    "10 % loss": {"loss": 0.1},
}


def main() -> None:
    """Run everything once."""
    for file in sys.argv[1:]:
        fullpipe.run(file)
    for algorithm in fullpipe.algorithms():
        for flow in HOSTS.values():
            fullpipe.run(dumbbell({}, {"algorithm": algorithm, **flow}))
        fullpipe.run(dumbbell({"loss": 0.02}, {"algorithm": algorithm, "recovery": "rack", "count": 8}))
    for queue in fullpipe.queues():
        for ecn in ("off", "classic"):
            flow = {"algorithm": "cubic", "recovery": "sack", "count": 40, "ecn": ecn}
            fullpipe.run(dumbbell({"queue": queue}, flow))
    for path in PATHS.values():
        for algorithm in ("cubic", "bbr"):
            fullpipe.run(dumbbell(path, {"algorithm": algorithm, "recovery": "rack", "count": 8}))


def dumbbell(link: dict[str, Any], flow: dict[str, Any]) -> fullpipe.Scenario:
    """Flows of one kind over 50 Mbit/s and 40 ms, for 5 s."""
    bottleneck = {"name": "bottleneck", "rate": "50 Mbit/s", "delay": "18 ms", "buffer": "1 BDP", **link}
    hosts = {"access_delay": "1 ms..4 ms", "start": "0 s..1 s", **flow}
    return fullpipe.Scenario(duration="5 s", seed=1, links=[bottleneck], flows=[hosts])


if __name__ == "__main__":
    main()
