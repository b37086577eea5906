"""Rules of RFC 9002, appendix B, and of draft-ietf-ccwg-ratelimited-increase.

Their measurements are not written yet: each is skipped with a reason.
"""

from __future__ import annotations

from fullpipe.experiments.conform.rule import Rule, needs

__all__ = ["RATE_LIMITED", "RFC9002"]

QUIC = needs('transport = "quic"')
APP_LIMITED = needs("an application-limited flow")
BYTES = "bytes"
DRAFT = "draft-ietf-ccwg-ratelimited-increase, 3"

RFC9002 = (
    Rule("N01", "RFC 9002, 7.2", "SHOULD", "initial window with datagrams of 1200 bytes", BYTES, 12000, 12000, QUIC),
    Rule(
        "N02", "RFC 9002, 7.3.1, B.5", "EQ", "window after a round of slow start from 12000", BYTES, 24000, 24000, QUIC
    ),
    Rule("N03", "RFC 9002, 7.3.2, B.6", "MUST", "window after a loss at 24000", BYTES, 12000, 12000, QUIC),
    Rule("N04", "RFC 9002, 7.3.2, B.6", "EQ", "window after three more losses in recovery", BYTES, 12000, 12000, QUIC),
    Rule("N05", "RFC 9002, 7.3.2", "EQ", "window one round after recovery", BYTES, 13090, 13200, QUIC),
    Rule(
        "N06",
        "RFC 9002, 7.3.3",
        "MUST",
        "window after a round of congestion avoidance from 12000",
        BYTES,
        13090,
        13200,
        QUIC,
    ),
    Rule("N07", "RFC 9002, 7.2, B.6", "SHOULD", "window after eight losses from 24000", BYTES, 2400, 2400, QUIC),
    Rule("N08", "RFC 9002, 7.6.2, B.8", "MUST", "window after persistent congestion", BYTES, 2400, 2400, QUIC),
    Rule("N09", "RFC 9002, 7.1, B.7", "MUST", "halvings for two increases of the CE count in a round", "1", 1, 1, QUIC),
    Rule(
        "N10",
        "RFC 9002, 7.8",
        "SHOULD",
        "window after ten rounds with 4800 of 12000 in flight",
        BYTES,
        12000,
        24000,
        QUIC,
    ),
    Rule("N11", "RFC 9002, 7.8", "SHOULD", "window after a paced round from 12000", BYTES, 24000, 24000, QUIC),
    Rule("N12", "RFC 9002, 6.2, 7.5", "MUST", "window after two probe timeouts, relative", "1", 1, 1, QUIC),
    Rule("N13", "RFC 9002, 7.7", "MUST", "largest burst after idle", "packets", None, 10, QUIC),
)

RATE_LIMITED = (
    Rule(
        "L1",
        DRAFT,
        "MUST",
        "window after rounds of 4, 8, and 4 packets in slow start",
        BYTES,
        10000,
        20000,
        APP_LIMITED,
    ),
    Rule("L2", DRAFT, "MUST", "window after a full round", BYTES, 20000, 40000, APP_LIMITED),
    Rule("L3", DRAFT, "MUST", "window after 40 rounds with 5000 of 20000 in flight", BYTES, None, 21000, APP_LIMITED),
    Rule("L4", DRAFT, "MUST", "growth above the window after a loss", BYTES, None, 0, APP_LIMITED),
    Rule("L5", DRAFT, "MUST", "window after a first round of one packet", BYTES, 10000, 11000, APP_LIMITED),
    Rule(
        "L6",
        DRAFT,
        "MUST",
        "bytes in the first round trip of bulk, relative to the largest flight before",
        "1",
        None,
        2,
        APP_LIMITED,
    ),
)
