"""Closed forms from the papers."""

from __future__ import annotations

__all__ = ["hyun_jang_gain", "reno_utilization"]


def hyun_jang_gain(k: float) -> float:
    """How many times Reno's throughput a window held at the full pipe yields on one link: Hyun and Jang, equation (5).

    Args:
        k: Buffer over the bandwidth-delay product, 0 to 1.

    Returns:
        4 (k^2 + k + 1) / (3 (k + 1)^2); 1 for a buffer of one bandwidth-delay product.
    """
    return 4 * (k * k + k + 1) / (3 * (k + 1) ** 2)


def reno_utilization(k: float) -> float:
    """Utilization of a link by one Reno flow in its steady sawtooth, as a fluid.

    Derived from Reno's rules (RFC 5681, one segment per round trip, halving at a loss), independently of equation (5),
    which is its inverse: in units of the bandwidth-delay product the window goes from p/2 to p, p = 1 + k. Below 1 a
    round trip takes one base RTT and carries the window; above 1 it is longer in proportion and the link is full.

    Args:
        k: Buffer over the bandwidth-delay product, 0 to 1.
    """
    peak = 1 + k
    sent_below = (1 - peak**2 / 4) / 2
    sent_above = (peak**2 - 1) / 2
    time_below = 1 - peak / 2
    time_above = sent_above
    return (sent_below + sent_above) / (time_below + time_above)
