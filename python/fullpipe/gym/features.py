"""Features of observations, computed from the counts and RTT samples of an interval.

Sources: PCC-RL (N. Jay et al., "A Deep Reinforcement Learning Perspective on Internet Congestion Control", ICML 2019;
``src/common/sender_obs.py``) for latency_inflation, latency_ratio and send_ratio; Orca (S. Abbasloo et al., SIGCOMM
2020; ``rl-module/envwrapper.py``) for the shares and delay_metric. All others are fullpipe's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullpipe._util.text import unknown
from fullpipe.errors import InputError

__all__ = ["FEATURES", "SETS", "Feature", "chosen"]


@dataclass(frozen=True)
class Feature:
    """A feature of an observation.

    Attributes:
        meaning: Definition and unit.
        low: Lower end of the box; lesser values are cut.
        high: Upper end.
        neutral: Value before the first interval.
        formula: Expression of the measurements (`fullpipe.gym.formula`).
    """

    meaning: str
    low: float
    high: float
    neutral: float
    formula: str


LATENCY_RATIO = "over(mean_rtt_s, best_mean_rtt_s, 1.0)"
SEND_RATIO = "over(sent, delivered, 1.0)"

FEATURES: Mapping[str, Feature] = {
    "latency_slope": Feature("least-squares slope of the RTT over time, s/s", -1, 10, 0, "rtt_slope"),
    "latency_inflation": Feature(
        "mean RTT of the second half of the samples minus that of the first, over the interval (PCC-RL)",
        *(-1, 10, 0),
        "over(rtt_inflation_s, duration_s, 0.0)",
    ),
    "latency_ratio": Feature(
        "mean RTT over the least mean RTT of an interval so far (PCC-RL)", 1, 1e4, 1, LATENCY_RATIO
    ),
    "log_latency_ratio": Feature("log10(latency_ratio) / 4", 0, 1, 0, f"log10({LATENCY_RATIO}) / 4"),
    "send_ratio": Feature("rate sent over rate acknowledged", 0, 1000, 1, SEND_RATIO),
    "aurora_send_ratio": Feature(
        "send_ratio without one received packet (PCC-RL)",
        *(0, 1000, 1),
        "where(sent < 1000 * (delivered - 1), over(sent, delivered - 1, 1.0), 1.0)",
    ),
    "log_send_ratio": Feature("log2(send_ratio)", -1, 1, 0, f"log2(maximum({SEND_RATIO}, 1e-9))"),
    "loss": Feature("packets found lost over lost and acknowledged", 0, 1, 0, "loss_rate"),
    "ce": Feature("marked packets over acknowledged", 0, 1, 0, "over(marked, delivered, 0.0)"),
    "rate": Feature("log10(1 + rate acknowledged / 1 kbit/s) / 7", 0, 1, 0, "log10(1 + rate_bps / 1e3) / 7"),
    "send_rate": Feature("log10(1 + rate sent / 1 kbit/s) / 7", 0, 1, 0, "log10(1 + send_rate_bps / 1e3) / 7"),
    "pacing": Feature("log10(1 + pacing rate / 1 kbit/s) / 7", 0, 1, 0, "log10(1 + pacing_bps / 1e3) / 7"),
    "rtt": Feature("log10(1 + mean RTT / 0.1 ms) / 5", 0, 1, 0, "log10(1 + mean_rtt_s / 1e-4) / 5"),
    "min_rtt": Feature("log10(1 + least RTT / 0.1 ms) / 5", 0, 1, 0, "log10(1 + min_rtt_s / 1e-4) / 5"),
    "interval": Feature("log10(1 + length / 0.1 ms) / 5", 0, 1, 0, "log10(1 + duration_s / 1e-4) / 5"),
    "cwnd": Feature("log2(1 + window in segments) / 20", 0, 1, 0, "log2(1 + cwnd) / 20"),
    "in_flight": Feature("log2(1 + segments in flight) / 20", 0, 1, 0, "log2(1 + in_flight) / 20"),
    "acks": Feature("log2(1 + RTT samples) / 20", 0, 1, 0, "log2(1 + rtt_samples) / 20"),
    "rate_share": Feature("rate over highest rate so far (Orca)", 0, 1, 0, "over(rate_bps, best_bps, 0.0)"),
    "pacing_share": Feature("pacing rate over highest rate so far (Orca)", 0, 10, 0, "over(pacing_bps, best_bps, 0.0)"),
    "loss_share": Feature(
        "5 times the loss rate in bit/s over highest rate so far (Orca)", 0, 5, 0, "over(5 * lost_bps, best_bps, 0.0)"
    ),
    "acks_per_cwnd": Feature("RTT samples over window (Orca)", 0, 10, 0, "over(rtt_samples, cwnd, 0.0)"),
    "rtt_share": Feature("least RTT over smoothed RTT (Orca)", 0, 1, 1, "over(min_rtt_s, srtt_s, 1.0)"),
    "delay_metric": Feature("least of 1 and 1.25 least RTT / smoothed RTT (Orca)", 0, 1, 1, "delay_metric"),
    "valid": Feature("1 where the interval had an ACK with an RTT sample", 0, 1, 0, "where(rtt_samples > 0, 1.0, 0.0)"),
    "app_limited": Feature(
        "share of the time in which the application limited the sender, as its packets and ACKs say",
        *(0, 1, 0),
        "limited_share",
    ),
    "active": Feature("1 from the first packet of the flow on", 0, 1, 0, "active"),
}
"""Features by name."""

UNIT = {"latency_ratio": "log_latency_ratio", "send_ratio": "log_send_ratio"}
"""Feature with values up to 1 in place of another, for ``scaling="unit"``."""

SETS: Mapping[str, Sequence[str]] = {
    "default": ("latency_slope", "log_latency_ratio", "log_send_ratio", "loss"),
    "aurora": ("latency_inflation", "latency_ratio", "aurora_send_ratio"),
    "orca": ("rate_share", "pacing_share", "loss_share", "acks_per_cwnd", "interval", "rtt_share", "delay_metric"),
}
"""Named lists of features."""


def chosen(features: str | Sequence[str] | None, scaling: str = "raw") -> dict[str, Feature]:
    """Features of a set's name or of a list.

    Args:
        features: The name or the list; None for the default.
        scaling: "unit" for logarithms of the ratios, "raw" for the features as they are named.

    Raises:
        InputError: A name is unknown, or there is none.
    """
    if features is None or isinstance(features, str):
        name = features or "default"
        if name not in SETS:
            raise InputError(unknown("features", name, SETS))
        features = SETS[name]
    for name in features:
        if name not in FEATURES:
            raise InputError(unknown("feature", name, FEATURES))
    if not features:
        raise InputError("features requires at least one name")
    if scaling not in ("raw", "unit"):
        raise InputError(unknown("scaling", scaling, ("raw", "unit")))
    if scaling == "unit":
        features = [UNIT.get(name, name) for name in features]
    return {name: FEATURES[name] for name in features}
