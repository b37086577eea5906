"""Network, hosts, and parties that all test cases share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fullpipe._util.plain import Tree

__all__ = ["ACK_BYTES", "PACKET_BYTES", "STANDARDS", "Party", "Tree", "dumbbell", "flows", "mbps", "ms"]

PACKET_BYTES, ACK_BYTES = 1500, 52
"""Bytes on the wire; the ACK has timestamps (RFC 7323)."""


@dataclass(frozen=True)
class Party:
    """Sender of a group of flows.

    Attributes:
        label: Name on the card.
        algorithm: Algorithm as in scenarios.
        keys: Additional keys of its flows.
    """

    label: str
    algorithm: str | Mapping[str, object]
    keys: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the algorithm without parameters."""
        return self.algorithm if isinstance(self.algorithm, str) else str(self.algorithm.get("name", self.label))


STANDARDS = (Party("newreno", "newreno"), Party("cubic", "cubic"))
"""Standards of the IETF, the baseline: RFC 5681 with SACK, and RFC 9438. RFC 9002 is NewReno's window for QUIC."""


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
    """Scenario with one drop-tail bottleneck.

    Args:
        rate_bps: Rate of the bottleneck.
        rtt_s: Base RTT. The link has 94 % of it, and each flow draws an access delay of 2 to 4 % one way.
        buffer: Buffer in BDP, at least 5 packets; or text as in scenarios.
        groups: Groups of flows, as `flows` makes them.
        duration_s: Duration.
        warmup_s: Warm-up; None for the longer of 20 s and 100 RTTs.
        link: Additional keys of the bottleneck.
        keys: Additional keys of the scenario.
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
    """Group of a party's flows with the hosts of today, started at random in the first second.

    Delayed ACKs, appropriate byte counting, an initial window of ten (RFC 6928), RACK-TLP (RFC 8985) with PRR, a
    minimum RTO of 200 ms as in Linux, and pacing if the algorithm paces. With ``ecn``, ECN is of the algorithm's kind,
    or classic (RFC 3168).
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
    """Time as scenarios write it."""
    return f"{seconds * 1e3:.9g} ms"


def mbps(bits_per_s: float) -> str:
    """Rate as scenarios write it."""
    return f"{bits_per_s / 1e6:.9g} Mbit/s"
