"""Calls of RFC 8867 section 5 and a mix of users: frames, requests, and video over one link."""

from __future__ import annotations

from typing import Any

import pytest

import fullpipe

FRAME_PACKETS, PACKET_BYTES = 3, 1389
CALL = {
    "name": "call",
    "algorithm": "newreno",
    "initial_window": 10,
    "source": {"frames": "30/s", "size": f"{FRAME_PACKETS * PACKET_BYTES} B", "deadline": "400 ms"},
}
"""30 frames per second of 3 packets, 1 Mbit/s. The rate does not adapt to the path."""


def path(**keys: Any) -> dict[str, Any]:
    """RFC 8867 section 5: 50 ms one way, jitter up to 30 ms; 2 Mbit/s."""
    jitter = {"model": "uniform", "mean": "15 ms", "spread": "15 ms"}
    return {"name": "l", "rate": "2 Mbit/s", "delay": "50 ms", "buffer": "300 ms", "jitter": jitter, **keys}


def run(link: dict[str, Any], *flows: dict[str, Any], seconds: int = 120) -> fullpipe.Result:
    tree = {"duration": f"{seconds} s", "warmup": "20 s", "packet_size": PACKET_BYTES, "links": [link]}
    return fullpipe.run(fullpipe.Scenario.from_dict({**tree, "flows": list(flows)}))


def frames_of(result: fullpipe.Result) -> dict[str, Any]:
    (call,) = (group for group in result.to_dict()["groups"] if group["name"] == "call")
    return dict(call)


def test_a_call_alone_waits_for_its_own_packets() -> None:
    """Three packets take 5.556 ms each: with 50 ms and up to 30 ms of jitter 96.7 ms at most, and 66.7 ms at least."""
    call = frames_of(run(path(), CALL))
    assert 0.0667 <= call["p50_frame_delay_s"] <= call["p99_frame_delay_s"] <= 0.0967
    assert call["late_fraction"] == 0


@pytest.mark.parametrize("buffer", ["300 ms", "1000 ms"])
def test_a_call_next_to_a_long_flow_waits_for_the_queue(buffer: str) -> None:
    """RFC 8867 section 5.6, with 1 Mbit/s of the call: frames wait for the part of the buffer that CUBIC fills."""
    cubic = {"name": "long", "algorithm": "cubic", "initial_window": 10}
    call = frames_of(run(path(buffer=buffer), CALL, cubic))
    queue_s = float(buffer.split()[0]) / 1000
    assert call["p50_frame_delay_s"] > 0.0667 + 0.3 * queue_s
    assert call["late_fraction"] > 0.01


def mix(seconds: int, users: int) -> dict[str, Any]:
    """Half of the users fetch responses of 37 kB, half watch a video; 1 Mbit/s for each user, RTTs of 20 to 80 ms."""
    ladder = [f"{rate} Mbit/s" for rate in (0.4, 0.8, 1.2, 1.8, 2.5, 4)]
    both = {"algorithm": "cubic", "count": users // 2, "access_delay": "0 ms..30 ms", "initial_window": 10}
    link = {"name": "l", "rate": f"{users} Mbit/s", "delay": "10 ms", "buffer": "2 BDP", "queue": "fq-codel"}
    flows = [
        {"name": "web", "source": {"requests": "exponential 5 s", "size": "37 kB"}, **both},
        {"name": "video", "source": {"video": ladder, "segment": "4 s", "buffer": "20 s"}, "start": "0 s..4 s", **both},
    ]
    return {"duration": f"{seconds} s", "packet_size": 1500, "links": [link], "flows": flows}


def test_users_share_a_link_without_stalls() -> None:
    """Web takes 29.6 kbit/s of each Mbit/s, and a video 1.9 Mbit/s, a rate near which is in the ladder."""
    result = fullpipe.run(fullpipe.Scenario.from_dict(mix(30, 100)))
    web, video = result.to_dict()["groups"]
    assert video["rebuffer_ratio"] < 0.01
    assert 1.0e6 < video["mean_bitrate_bps"] < 2.5e6
    assert 0.02 < web["request_completion_s"] < 1.0
