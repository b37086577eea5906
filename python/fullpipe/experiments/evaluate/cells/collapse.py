"""RFC 9743, 5.1.1: protection against congestion collapse."""

from __future__ import annotations

from fullpipe.experiments.evaluate.cell import ALWAYS, STANDARD, Cell, Metric, Setting
from fullpipe.experiments.evaluate.preset import (
    ACK_BYTES,
    PACKET_BYTES,
    STANDARDS,
    Party,
    Tree,
    dumbbell,
    flows,
    mbps,
    ms,
)
from fullpipe.experiments.evaluate.rules import LESS, LOSS

__all__ = ["CELLS"]

MBPS = 1e6


def lossy(party: Party, loss: float, warmup_s: float) -> Tree:
    """Path that loses packets from 30 s on."""
    schedule = [{"at": "30 s", "loss": loss}]
    return dumbbell(
        10 * MBPS,
        0.05,
        1,
        flows(party, "subject"),
        duration_s=90,
        warmup_s=warmup_s,
        link={"schedule": schedule},
    )


def two_links(party: Party) -> Tree:
    """Fifty flows over a wide and a narrow link, and one CUBIC flow over the wide link (RFC 2914, section 5)."""
    wide, narrow = 10 * MBPS, 1 * MBPS
    links = [
        {"name": "wide", "rate": mbps(wide), "delay": "10 ms", "buffer": "40 ms"},
        {"name": "bottleneck", "rate": mbps(narrow), "delay": "10 ms", "buffer": "80 ms"},
    ]
    hosts = {"access_delay": "1 ms..2 ms", "processing_time": ms(8 * PACKET_BYTES / wide)}
    return {
        "duration": "120 s",
        "warmup": "20 s",
        "packet_size": PACKET_BYTES,
        "ack_size": ACK_BYTES,
        "series_interval": "1 s",
        "links": links,
        "flows": [
            {**flows(party, "subject", 50, path=["wide", "bottleneck"]), **hosts},
            {**flows(STANDARDS[1], "other", path=["wide"]), **hosts},
        ],
    }


def overload(party: Party, count: int) -> Tree:
    """Many flows on a narrow link."""
    return dumbbell(1 * MBPS, 0.1, 1, flows(party, "subject", count), duration_s=300)


CELLS = (
    Cell(
        "loss-30",
        ("5.1.1",),
        "30 % loss for a minute: packets sent",
        [Setting("30 % loss", lambda party: lossy(party, 0.3, 30), ALWAYS)],
        [Metric("arrived_packets", LESS, shown_in=("packets/RTT", 0.05 / 60))],
    ),
    Cell(
        "silence",
        ("5.1.1",),
        "100 % loss for a minute: exponential backoff (RFC 6298, 5.5)",
        [Setting("silence", lambda party: lossy(party, 1.0, 30.5), ALWAYS)],
        [Metric("arrived_packets", "limit", limit=9)],
        note="With a minimum RTO of 200 ms that doubles, a sender sends at most 9 packets in a minute. The count "
        "starts 0.5 s after the loss, when all ACKs have arrived. One seed above the limit is a violation.",
    ),
    Cell(
        "collapse",
        ("5.1.1",),
        "50 flows over 10 Mbit/s into 1 Mbit/s, one CUBIC flow on the first link: dropped packets",
        [Setting("50 flows", two_links, STANDARD)],
        # Fraction of the wide link's capacity over 100 s: 12,000 bits a packet, 10 Mbit/s.
        [Metric("dropped_packets", LOSS, shown_in=("% of capacity", 100 * 12_000 / 1e9))],
    ),
    Cell(
        "overload",
        ("5.1.1",),
        "1 Mbit/s, 100 ms, 1 BDP: increasing numbers of flows",
        [
            Setting(
                f"{count} flow{'s' if count > 1 else ''}",
                lambda party, count=count: overload(party, count),
                ALWAYS if count in (20, 100) else STANDARD,
            )
            for count in (1, 20, 100, 400)
        ],
        [
            # By rule R only: at a loss of a third, TCP's equation describes little more than timeouts.
            Metric("loss_rate", LOSS),
            Metric("starved_flows", LESS, informs=True),
        ],
    ),
)
