"""What all cells have in common: the network's kind, the hosts, and who takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ACK_BYTES", "PACKET_BYTES", "STANDARDS", "Party", "Tree", "dumbbell", "flows", "mbps", "ms"]

Tree = dict[str, Any]

PACKET_BYTES, ACK_BYTES = 1500, 52
"""On the wire; an ACK with timestamps (RFC 7323)."""


@dataclass(frozen=True)
class Party:
    """Whose flows these are.

    Attributes:
        label: What the card calls it.
        algorithm: As scenarios name it.
        keys: Keys of its flows beside the preset's.
    """

    label: str
    algorithm: str | Mapping[str, object]
    keys: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The algorithm's name without parameters."""
        return self.algorithm if isinstance(self.algorithm, str) else str(self.algorithm.get("name", self.label))


STANDARDS = (Party("newreno", "newreno"), Party("cubic", "cubic"))
"""What the IETF has standardized (RFC 5681 with SACK, RFC 9438): the bar. RFC 9002 is NewReno's window over QUIC."""


def dumbbell(
    rate_bps: float,
    rtt_s: float,
    buffer: float | str,
    *groups: Tree,
    duration_s: float,
    warmup_s: float | None = None,
    link: Mapping[str, object] | None = None,
    **keys: object,
) -> Tree:
    """A drop-tail bottleneck that flows share.

    Args:
        rate_bps: Its rate.
        rtt_s: The base round-trip time of flows that say nothing else: 94 % of it on the link, the rest on the way
            there, where each flow draws 2 to 4 % one way.
        buffer: In BDP of that RTT, at least 5 packets; or as scenarios write it.
        groups: What `flows` makes.
        duration_s: How long it runs.
        warmup_s: What is left out; None for 20 s or 100 round trips, whichever is longer.
        link: Further keys of the bottleneck.
        keys: Further keys of the scenario.
    """
    if not isinstance(buffer, str):
        buffer = f"{max(5, round(buffer * rate_bps * rtt_s / 8 / PACKET_BYTES))} packets"
    warmup_s = max(20.0, 100 * rtt_s) if warmup_s is None else warmup_s
    bottleneck = {"name": "bottleneck", "rate": mbps(rate_bps), "delay": ms(0.47 * rtt_s), "buffer": buffer}
    packet_s = 8 * PACKET_BYTES / rate_bps
    spread = f"{ms(0.02 * rtt_s)}..{ms(0.04 * rtt_s)}"
    return {
        "duration": f"{duration_s:g} s",
        "warmup": f"{warmup_s:g} s",
        "packet_size": PACKET_BYTES,
        "ack_size": ACK_BYTES,
        "series_interval": "1 s",
        **keys,
        "links": [{**bottleneck, **(link or {})}],
        "flows": [{"access_delay": spread, "processing_time": ms(packet_s), **group} for group in groups],
    }


def flows(party: Party, name: str, count: int = 1, *, ecn: bool = False, **keys: object) -> Tree:
    """A group of a party's flows on today's hosts, begun at a random time in the first second.

    Delayed ACKs, appropriate byte counting, an initial window of ten (RFC 6928), RACK-TLP (RFC 8985) with PRR, a least
    timeout of 200 ms as in Linux; paced where the algorithm is. ECN is what the algorithm is made for, or classic
    (RFC 3168), where it is on.
    """
    made_for = {"dctcp": "accurate", "prague": "accurate"}
    return {
        "name": name,
        "algorithm": party.algorithm,
        "count": count,
        "start": "0 s..1 s",
        "recovery": "rack",
        "delayed_ack": True,
        "byte_counting": True,
        "initial_window": 10,
        "min_rto": "200 ms",
        "ecn": made_for.get(party.name, "classic") if ecn else "off",
        **({"ect": 1} if ecn and party.name == "prague" else {}),
        **keys,
        **party.keys,
    }


def ms(seconds: float) -> str:
    """A time as scenarios write it."""
    return f"{seconds * 1e3:.9g} ms"


def mbps(bits_per_s: float) -> str:
    """A rate as scenarios write it."""
    return f"{bits_per_s / 1e6:.9g} Mbit/s"
