//! Metrics of the applications of flows: limited time, frames, requests, and videos.

use super::Better::{Less, More, Neither};
use super::MetricKind::{Average, Count, Duration, Fraction};
use super::{BPS, Metric, ONE, S, metric};

/// Of flows with a `source`.
pub const SOURCES: &[Metric] = &[
    metric(
    "app_limited_fraction",
    "App-limited time",
    ONE,
    Fraction,
    Neither,
    "Part of the active time in which the sender has no data to send, window and pacer permit a packet, and no loss is unrepaired. Only \
     with a `source`.",
)
.source("draft-ietf-ccwg-bbr, section 4.1.2.4"),
    metric(
        "late_frames",
        "Late frame count",
        ONE,
        Count,
        Less,
        "Frames made in the interval that were not delivered within `deadline`, of those whose deadline ends in the interval. Only with frames.",
    ),
    metric("late_fraction", "Late frames", ONE, Fraction, Less, "Late frames over all frames whose deadline ends in the interval.")
        .form(".3g"),
];

/// Of flows whose receivers request the data.
pub const CLIENTS: &[Metric] = &[
    metric(
        "request_completion_s",
        "Request completion",
        S,
        Average,
        Less,
        "Mean time from a request to its complete response, of requests sent and answered in the interval. Only with requests or a video.",
    ),
    metric(
        "startup_s",
        "Video startup",
        S,
        Duration,
        Less,
        "Time from the first request of a video to the start of playback.",
    ),
    metric("stall_s", "Stalls", S, Duration, Less, "Time in which playback waits for data. Only with a video."),
    metric(
        "rebuffer_ratio",
        "Rebuffering",
        ONE,
        Fraction,
        Less,
        "Time in stalls over the sum of it and the playing time. Only with a video.",
    )
    .form(".3g"),
    metric(
        "mean_bitrate_bps",
        "Video bitrate",
        BPS,
        Average,
        More,
        "Media rate of a video, averaged over its playing time.",
    ),
    metric(
        "switches",
        "Bitrate switches",
        ONE,
        Count,
        Less,
        "Changes of the media rate from a played segment to the next.",
    ),
];
