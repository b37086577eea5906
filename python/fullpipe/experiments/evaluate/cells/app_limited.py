"""RFC 9743, 5.1.5: flows whose application does not always have data, alone, versus CUBIC, and after idle time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fullpipe.experiments.evaluate.cell import ALWAYS, Cell, Metric, Setting
from fullpipe.experiments.evaluate.measure import OF_APPLICATION
from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import LESS, LOSS, MORE

__all__ = ["CELLS"]

RATE_BPS, RTT_S = 20e6, 0.04
SMALL_BUFFER = "25 packets"
DURATION_S, IDLE_DURATION_S = 120, 240
CUBIC = STANDARDS[1]

FRAME_BYTES = 5896
"""Size of a frame at 30 frames per second, of which one in 150 is ten times as large: 1.5 Mbit/s."""

DEADLINE = "150 ms"
SOURCES: Mapping[str, Mapping[str, object]] = {
    "frames": {
        "frames": "30/s",
        "size": f"{FRAME_BYTES} B",
        "key_size": f"{10 * FRAME_BYTES} B",
        "key_every": 150,
        "deadline": DEADLINE,
    },
    "requests": {"requests": "1 s", "size": "100 kB"},
}
AFTER_IDLE: Mapping[str, Mapping[str, object]] = {
    "frames": {"frames": "0.1/s", "size": f"{10 * FRAME_BYTES} B", "deadline": DEADLINE},
    "requests": {"requests": "10 s", "size": "100 kB"},
}
"""The same data after 10 s without any."""

DELAY, LATE, COMPLETION = (f"subject.{key}" for key in OF_APPLICATION)
BULK = "bulk.goodput_bps"
OTHER_METRICS = {"frames": (COMPLETION,), "requests": (DELAY, LATE)}
"""Metrics that flows with this source do not have."""


def over(
    source: Mapping[str, object],
    party: Party,
    *,
    buffer: float | str = 1,
    bulk: bool = False,
    duration_s: float = DURATION_S,
) -> Tree:
    """One flow with this source, alone or next to a bulk flow of CUBIC."""
    own = flows(party, "subject", source=source)
    others = [flows(CUBIC, "bulk")] if bulk else []
    return dumbbell(RATE_BPS, RTT_S, buffer, own, *others, duration_s=duration_s)


def settings() -> list[Setting]:
    """Each source on each path."""
    found = []
    for name, source in SOURCES.items():
        cases = {
            "alone": partial(over, source),
            "with bulk CUBIC": partial(over, source, bulk=True),
            "after 10 s idle": partial(over, AFTER_IDLE[name], duration_s=IDLE_DURATION_S),
            SMALL_BUFFER: partial(over, source, buffer=SMALL_BUFFER),
        }
        for case, tree in cases.items():
            without = [*OTHER_METRICS[name], *([] if case == "with bulk CUBIC" else [BULK])]
            found.append(Setting(f"{name}, {case}", tree, ALWAYS, without=without))
    return found


CELLS = (
    Cell(
        "app-limited",
        ("5.1.5",),
        "20 Mbit/s, 40 ms: applications that limit their senders",
        settings(),
        [
            Metric(DELAY, LESS),
            Metric(LATE, LOSS),
            Metric(COMPLETION, LESS),
            Metric("loss_rate", LOSS),
            Metric(BULK, MORE, of="the bulk flow"),
        ],
        "app_limited",
    ),
)
