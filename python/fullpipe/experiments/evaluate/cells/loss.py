"""RFC 9743, 5.1.3: protection against high packet loss."""

from __future__ import annotations

from dataclasses import replace

from fullpipe.experiments.evaluate.cell import ALWAYS, FULL, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree, dumbbell, flows
from fullpipe.experiments.evaluate.rules import IDLE, LOSS, MORE

__all__ = ["CELLS", "ZONE_BUFFERS_BDP", "ZONE_FLOWS", "zone"]

LOST = Metric("loss_rate", LOSS, senders="subject")
USED = Metric("utilization", IDLE, informs=True)


def paced(party: Party, pacing: str) -> Party:
    """Party with pacing forced "on" or "off"."""
    return replace(party, keys={**party.keys, "pacing": pacing})


ZONE_FLOWS = (2, 5)

ZONE_BUFFERS_BDP = (0.25, 0.5, 1, 1.5, 2, 3)


def zone(party: Party, count: int, buffer_bdp: float) -> Tree:
    """Flows on a path on which BBR's first version loses too many packets below 1.5 BDP."""
    return dumbbell(100e6, 0.04, buffer_bdp, flows(party, "subject", count), duration_s=120)


CELLS = (
    Cell(
        "shallow",
        ("5.1.3",),
        "100 ms, 0.02 BDP: loss",
        [
            Setting(
                f"{count} flow{'s' if count > 1 else ''}, 1 Gbit/s",
                lambda party, count=count: dumbbell(1e9, 0.1, 0.02, flows(party, "subject", count), duration_s=300),
                STANDARD if count == 10 else FULL,
            )
            for count in (1, 10, 30, 100)
        ]
        + [
            Setting(
                "10 flows, 50 Mbit/s",
                lambda party: dumbbell(50e6, 0.1, 0.02, flows(party, "subject", 10), duration_s=120),
                ALWAYS,
            )
        ],
        [LOST, USED],
    ),
    Cell(
        "bbr1-zone",
        ("5.1.3",),
        "100 Mbit/s, 40 ms: buffers with which BBR's first version lost too many packets (RFC 9743, 5.1.3)",
        [
            Setting(
                f"{count} flows, {buffer:g} BDP",
                lambda party, count=count, buffer=buffer: zone(party, count, buffer),
                ALWAYS if (count, buffer) in ((2, 0.5), (2, 2)) else STANDARD,
            )
            for count in ZONE_FLOWS
            for buffer in ZONE_BUFFERS_BDP
        ],
        [LOST, USED],
    ),
    Cell(
        "random",
        ("5.1.3",),
        "100 Mbit/s, 40 ms, 1 BDP: utilization with random loss on the link",
        [
            Setting(
                f"{loss:g} of packets",
                lambda party, loss=loss: dumbbell(
                    100e6, 0.04, 1, flows(party, "subject"), duration_s=60, link={"loss": loss}
                ),
                STANDARD,
            )
            for loss in (1e-5, 1e-4, 1e-3, 1e-2, 3e-2)
        ],
        [USED],
    ),
    Cell(
        "pacing",
        ("5.1.3",),
        "50 Mbit/s: pacing forced on and off",
        [
            Setting(
                f"10 flows, 100 ms, 0.02 BDP, pacing {pacing}",
                lambda party, pacing=pacing: dumbbell(
                    50e6, 0.1, 0.02, flows(paced(party, pacing), "subject", 10), duration_s=120
                ),
                STANDARD,
            )
            for pacing in ("on", "off")
        ]
        + [
            Setting(
                f"one beside CUBIC, 30 ms, 1 BDP, pacing {pacing}",
                lambda party, pacing=pacing: dumbbell(
                    50e6,
                    0.03,
                    1,
                    flows(paced(party, pacing), "subject"),
                    flows(STANDARDS[1], "other"),
                    duration_s=180,
                ),
                STANDARD,
            )
            for pacing in ("on", "off")
        ],
        [
            replace(LOST, informs=True),
            Metric("subject.goodput_bps", MORE, informs=True),
        ],
    ),
)
