"""Features of observations, computed from the counts and RTT samples of an interval.

Sources: PCC-RL (N. Jay et al., "A Deep Reinforcement Learning Perspective on Internet Congestion Control", ICML 2019;
``src/common/sender_obs.py``) for latency_inflation, latency_ratio and send_ratio; Orca (S. Abbasloo et al., SIGCOMM
2020; ``rl-module/envwrapper.py``) for the shares and delay_metric. All others are fullpipe's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fullpipe._util.text import unknown
from fullpipe.errors import InputError

__all__ = ["FEATURES", "PRESETS", "Feature", "Raw", "Values", "chosen"]

Values = npt.NDArray[np.float64]

Raw = Mapping[str, Values]
"""Measurements of an interval by name, a value for each flow; `fullpipe.gym.core` lists them."""


@dataclass(frozen=True)
class Feature:
    """A feature of an observation.

    Attributes:
        meaning: Definition and unit.
        low: Lower end of the box; lesser values are cut.
        high: Upper end.
        neutral: Value before the first interval.
        compute: Function of the measurements.
    """

    meaning: str
    low: float
    high: float
    neutral: float
    compute: Callable[[Raw], Values]


def _over(part: Values, whole: Values, otherwise: float) -> Values:
    """Quotient, or another value where the divisor is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)


def _log_rate(value: Values) -> Values:
    return np.log10(1 + value / 1e3) / 7


def _log_time(value: Values) -> Values:
    return np.log10(1 + value / 1e-4) / 5


def _log_count(value: Values) -> Values:
    return np.log2(1 + value) / 20


def _latency_ratio(raw: Raw) -> Values:
    return _over(raw["mean_rtt_s"], raw["best_mean_rtt_s"], 1.0)


def _send_ratio(raw: Raw) -> Values:
    return _over(raw["sent"], raw["delivered"], 1.0)


def _aurora_send_ratio(raw: Raw) -> Values:
    received = raw["delivered"] - 1
    ratio = _over(raw["sent"], received, 1.0)
    return np.where(raw["sent"] < 1000 * received, ratio, 1.0)


FEATURES: Mapping[str, Feature] = {
    "latency_slope": Feature("least-squares slope of the RTT over time, s/s", -1, 10, 0, lambda raw: raw["rtt_slope"]),
    "latency_inflation": Feature(
        "mean RTT of the second half of the samples minus that of the first, over the interval (PCC-RL)",
        *(-1, 10, 0),
        lambda raw: _over(raw["rtt_inflation_s"], raw["duration_s"], 0.0),
    ),
    "latency_ratio": Feature(
        "mean RTT over the least mean RTT of an interval so far (PCC-RL)", 1, 1e4, 1, _latency_ratio
    ),
    "log_latency_ratio": Feature("log10(latency_ratio) / 4", 0, 1, 0, lambda raw: np.log10(_latency_ratio(raw)) / 4),
    "send_ratio": Feature("rate sent over rate acknowledged", 0, 1000, 1, _send_ratio),
    "aurora_send_ratio": Feature("send_ratio without one received packet (PCC-RL)", 0, 1000, 1, _aurora_send_ratio),
    "log_send_ratio": Feature("log2(send_ratio)", -1, 1, 0, lambda raw: np.log2(np.maximum(_send_ratio(raw), 1e-9))),
    "loss": Feature("packets found lost over lost and acknowledged", 0, 1, 0, lambda raw: raw["loss_rate"]),
    "ce": Feature("marked packets over acknowledged", 0, 1, 0, lambda raw: _over(raw["marked"], raw["delivered"], 0.0)),
    "rate": Feature("log10(1 + rate acknowledged / 1 kbit/s) / 7", 0, 1, 0, lambda raw: _log_rate(raw["rate_bps"])),
    "send_rate": Feature("log10(1 + rate sent / 1 kbit/s) / 7", 0, 1, 0, lambda raw: _log_rate(raw["send_rate_bps"])),
    "pacing": Feature("log10(1 + pacing rate / 1 kbit/s) / 7", 0, 1, 0, lambda raw: _log_rate(raw["pacing_bps"])),
    "rtt": Feature("log10(1 + mean RTT / 0.1 ms) / 5", 0, 1, 0, lambda raw: _log_time(raw["mean_rtt_s"])),
    "min_rtt": Feature("log10(1 + least RTT / 0.1 ms) / 5", 0, 1, 0, lambda raw: _log_time(raw["min_rtt_s"])),
    "interval": Feature("log10(1 + length / 0.1 ms) / 5", 0, 1, 0, lambda raw: _log_time(raw["duration_s"])),
    "cwnd": Feature("log2(1 + window in segments) / 20", 0, 1, 0, lambda raw: _log_count(raw["cwnd"])),
    "in_flight": Feature("log2(1 + segments in flight) / 20", 0, 1, 0, lambda raw: _log_count(raw["in_flight"])),
    "acks": Feature("log2(1 + RTT samples) / 20", 0, 1, 0, lambda raw: _log_count(raw["rtt_samples"])),
    "rate_share": Feature(
        "rate over highest rate so far (Orca)", 0, 1, 0, lambda raw: _over(raw["rate_bps"], raw["best_bps"], 0.0)
    ),
    "pacing_share": Feature(
        "pacing rate over highest rate so far (Orca)",
        0,
        10,
        0,
        lambda raw: _over(raw["pacing_bps"], raw["best_bps"], 0.0),
    ),
    "loss_share": Feature(
        "5 times the loss rate in bit/s over highest rate so far (Orca)",
        0,
        5,
        0,
        lambda raw: _over(5 * raw["lost_bps"], raw["best_bps"], 0.0),
    ),
    "acks_per_cwnd": Feature(
        "RTT samples over window (Orca)", 0, 10, 0, lambda raw: _over(raw["rtt_samples"], raw["cwnd"], 0.0)
    ),
    "rtt_share": Feature(
        "least RTT over smoothed RTT (Orca)", 0, 1, 1, lambda raw: _over(raw["min_rtt_s"], raw["srtt_s"], 1.0)
    ),
    "delay_metric": Feature(
        "least of 1 and 1.25 least RTT / smoothed RTT (Orca)", 0, 1, 1, lambda raw: raw["delay_metric"]
    ),
    "valid": Feature(
        "1 where the interval had an ACK with an RTT sample",
        0,
        1,
        0,
        lambda raw: (raw["rtt_samples"] > 0).astype(np.float64),
    ),
    "active": Feature("1 from the first packet of the flow on", 0, 1, 0, lambda raw: raw["active"]),
}
"""Features by name."""

PRESETS: Mapping[str, Sequence[str]] = {
    "default": ("latency_slope", "log_latency_ratio", "log_send_ratio", "loss"),
    "aurora": ("latency_inflation", "latency_ratio", "aurora_send_ratio"),
    "orca": ("rate_share", "pacing_share", "loss_share", "acks_per_cwnd", "interval", "rtt_share", "delay_metric"),
}
"""Named lists of features."""


def chosen(features: str | Sequence[str] | None) -> dict[str, Feature]:
    """Features of a preset's name or of a list.

    Raises:
        InputError: A name is unknown, or there is none.
    """
    if features is None or isinstance(features, str):
        name = features or "default"
        if name not in PRESETS:
            raise InputError(unknown("features", name, PRESETS))
        features = PRESETS[name]
    for name in features:
        if name not in FEATURES:
            raise InputError(unknown("feature", name, FEATURES))
    if not features:
        raise InputError("features requires at least one name")
    return {name: FEATURES[name] for name in features}


def neutral(features: Mapping[str, Feature]) -> Any:
    """Values before the first interval."""
    return np.array([feature.neutral for feature in features.values()], np.float32)
