"""RFC 9743, section 6: tail-drop queues, wired and wireless paths."""

from __future__ import annotations

import random
from functools import cache

from fullpipe.experiments.evaluate.cell import ALWAYS, FULL, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import IDLE, LESS, LOSS

__all__ = ["CELLS"]

USED = Metric("utilization", IDLE)
RTT = Metric("subject.p95_rtt_s", LESS)
LOST = Metric("loss_rate", LOSS, senders="subject")
WAIT = Metric("p95_queueing_delay_s", LESS)


@cache
def radio() -> list[int]:
    """Synthetic trace of 12 s for a phone: delivery opportunities of 1504 bytes, in whole milliseconds.

    The rate changes by a factor of 1.4 every 100 ms, between 0.5 and 16 Mbit/s, and rises more often below 6 Mbit/s.
    The base station serves this phone in a quarter of the milliseconds, at four times the rate.
    """
    chance = random.Random(9743)
    rate_mbps, credit = 6.0, 0.0
    trace = []
    for now in range(1, 12_001):
        if now % 100 == 0:
            up = chance.random() < (0.6 if rate_mbps < 6 else 0.4)
            rate_mbps = min(16.0, rate_mbps * 1.4) if up else max(0.5, rate_mbps / 1.4)
        if chance.random() < 0.25:
            credit += 4 * rate_mbps * 1e3 / (8 * 1504)
            trace += [now] * int(credit)
            credit -= int(credit)
    return [*trace, 12_000]


def lte(party: Party) -> Tree:
    """Link with that trace, 40 ms, and a buffer of 200 packets."""
    tree = dumbbell(6e6, 0.04, "200 packets", flows(party, "subject"), duration_s=120)
    link = {key: value for key, value in tree["links"][0].items() if key != "rate"}
    return {**tree, "links": [{**link, "trace": radio()}]}


def wifi(party: Party, **link: object) -> Tree:
    """Wireless hop of 50 Mbit/s and 40 ms."""
    return dumbbell(50e6, 0.04, 1, flows(party, "subject"), duration_s=120, link=link)


AWAY = {"schedule": [{"at": "1.8 s", "rate": "0 bit/s"}], "repeat": "2 s"}

CELLS = (
    Cell(
        "grid",
        ("6.1", "6.3"),
        "one flow over a tail-drop queue",
        [
            Setting(
                f"{rate:g} Mbit/s, {rtt * 1e3:g} ms, {buffer:g} BDP",
                lambda party, rate=rate, rtt=rtt, buffer=buffer: dumbbell(
                    rate * 1e6, rtt, buffer, flows(party, "subject"), duration_s=120
                ),
                ALWAYS
                if (rate, rtt, buffer) == (50, 0.05, 0.5)
                else STANDARD
                if rate < 500 or (rtt, buffer) == (0.05, 0.5)
                else FULL,
            )
            for rate in (5, 50, 500)
            for rtt in (0.01, 0.05, 0.2)
            for buffer in (0.1, 0.5, 1, 4)
        ],
        [USED, RTT, LOST],
    ),
    Cell(
        "lte",
        ("6.4",),
        "a mobile link whose rate varies, 40 ms, 200 packets",
        [Setting("LTE", lte, ALWAYS)],
        [USED, WAIT],
        note="The trace is synthetic.",
    ),
    Cell(
        "wifi",
        ("6.4",),
        "50 Mbit/s, 40 ms, 1 BDP: a Wi-Fi hop with the jitter of draft-huitema-ccwg-c4-test",
        [
            Setting("jitter 1 ms", lambda party: wifi(party, jitter={"model": "wifi", "mean": "1 ms"}), STANDARD),
            Setting("jitter 7 ms", lambda party: wifi(party, jitter={"model": "wifi", "mean": "7 ms"}), ALWAYS),
            Setting("away for 200 ms in each 2 s", lambda party: wifi(party, **AWAY), STANDARD),
        ],
        [USED, WAIT],
    ),
)
