"""Criteria of RFC 9743: sections, titles, and requirement words."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CRITERIA", "Criterion"]


@dataclass(frozen=True)
class Criterion:
    """Section of RFC 9743.

    Attributes:
        id: Number.
        title: Heading.
        asks: Requirement word in capitals as in the RFC, or in small letters if it is not a requirement word.
        stated: Whether the authors of the algorithm answer it, because no run can.
    """

    id: str
    title: str
    asks: str
    stated: bool = False


CRITERIA = (
    Criterion("5.1.1", "Protection Against Congestion Collapse", "should"),
    Criterion("5.1.2", "Protection Against Bufferbloat", "should"),
    Criterion("5.1.3", "Protection Against High Packet Loss", "should"),
    Criterion("5.1.4", "Fairness Within the Proposed Congestion Control Algorithm", "should"),
    Criterion("5.1.5", "Short Flows", "MUST"),
    Criterion("5.2.1", "Existing General-Purpose Congestion Control", "SHOULD; starvation: MUST"),
    Criterion("5.2.2", "Real-Time Congestion Control", "SHOULD"),
    Criterion("5.2.3", "Short and Long Flows", "MUST"),
    Criterion("5.3.1", "Differences with Congestion Control Principles", "SHOULD", stated=True),
    Criterion("5.3.2", "Incremental Deployment", "SHOULD", stated=True),
    Criterion("6.1", "Paths with Tail-Drop Queues", "MUST"),
    Criterion("6.2", "Tunnel Behavior", "MUST", stated=True),
    Criterion("6.3", "Wired Paths", "MUST"),
    Criterion("6.4", "Wireless Paths", "MUST"),
    Criterion("7.1", "Active Queue Management (AQM)", "SHOULD"),
    Criterion("7.2", "Operation with the Envelope Set by Network Circuit Breakers", "should"),
    Criterion("7.3", "Paths with Varying Delay", "SHOULD"),
    Criterion("7.4", "Internet of Things", "should"),
    Criterion("7.5", "Paths with High Delay", "should"),
    Criterion("7.6", "Misbehaving Nodes", "SHOULD"),
    Criterion("7.7", "Extreme Packet Reordering", "should"),
    Criterion("7.8", "Transient Events", "SHOULD"),
    Criterion("7.9", "Sudden Changes in the Path", "MUST"),
    Criterion("7.10", "Multipath Transport", "MUST", stated=True),
    Criterion("7.11", "Data Centers", "SHOULD"),
    Criterion("8", "Security Considerations", "SHOULD", stated=True),
)
"""Criteria in the order of the RFC. 7.2 is judged from the runs of all others."""
