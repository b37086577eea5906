"""Calls of RFC 8867 section 5 and a mix of users: frames, requests, and video over one link."""

from __future__ import annotations

import resource
import time
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


def call(name: str, **keys: Any) -> dict[str, Any]:
    """20 frames per second of 3 packets, 0.667 Mbit/s, late after 400 ms."""
    return {**CALL, "name": name, "source": {**CALL["source"], "frames": "20/s"}, **keys}


def rates(*steps: tuple[int, float]) -> list[dict[str, str]]:
    """Changes of the capacity, in Mbit/s, at times in seconds."""
    return [{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in steps]


def groups(result: fullpipe.Result) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in result.to_dict()["groups"]}


def test_a_call_is_late_only_while_the_capacity_is_too_small() -> None:
    """RFC 8867 section 5.1, 1, 2.5, 0.6, and 1 Mbit/s. From 60 to 80 s, 0.067 Mbit/s are too much: 1.33 Mbit wait
    at 80 s, and none at 84 s. Frames wait for 0.4 s from 63.3 to 82.8 s, a quarter of the measured 80 s.
    """
    link = path(rate="1 Mbit/s", schedule=rates((40, 2.5), (60, 0.6), (80, 1)))
    found = groups(run(link, call("call"), seconds=100))["call"]
    assert found["p50_frame_delay_s"] < 0.12
    assert 0.2 < found["late_fraction"] < 0.35


def test_two_calls_are_late_together() -> None:
    """RFC 8867 section 5.2, 4, 2, 3.5, 1, and 2 Mbit/s. At 100 s, 8.3 Mbit wait. Frames are late from 76 to 111 s,
    a third of 105 s.
    """
    link = path(rate="4 Mbit/s", schedule=rates((25, 2), (50, 3.5), (75, 1), (100, 2)))
    found = groups(run(link, call("first"), call("second"), seconds=125))
    for group in found.values():
        assert 0.27 < group["late_fraction"] < 0.45


def test_a_narrow_way_back_delays_the_call_of_that_direction_alone() -> None:
    """RFC 8867 section 5.3, a call in both directions: 0.5 Mbit/s forward from 40 to 60 s, backward 0.8 or 2 Mbit/s."""
    back = {"schedule": rates((35, 0.8), (70, 2))}
    link = path(schedule=rates((20, 1), (40, 0.5), (60, 2)), reverse=back)
    found = groups(run(link, call("forward"), call("backward", reverse=True), seconds=100))
    assert found["forward"]["late_fraction"] > 0.2
    assert found["backward"]["late_fraction"] < 0.05


@pytest.mark.parametrize("paused", [False, True])
def test_three_calls_fit_also_after_a_pause(paused: bool) -> None:
    """RFC 8867 sections 5.4 and 5.8: three calls in 3.5 Mbit/s, from 0, 20, and 40 s, or one of them paused from 40 to
    60 s. Nine packets of 3.17 ms, 50 ms, and 30 ms of jitter: 108.6 ms at most.
    """
    later = [call("third", stop="40.02 s"), call("again", start="60 s")] if paused else [call("third", start="40 s")]
    second = call("second", start="0 s" if paused else "20 s")
    found = groups(run(path(rate="3.5 Mbit/s"), call("first"), second, *later))
    for group in found.values():
        assert group["late_fraction"] == 0
        assert 0.05 < group["p99_frame_delay_s"] <= 0.1086


def test_calls_over_unequal_paths_differ_by_the_propagation_delay() -> None:
    """RFC 8867 section 5.5: five calls, 10 to 150 ms one way, 10 s apart, in 4 Mbit/s. At most 15 packets of 2.78 ms
    wait.
    """
    delays = (10, 25, 50, 100, 150)
    calls = [call(f"{ms}", access_delay=f"{ms - 10} ms", start=f"{10 * i} s") for i, ms in enumerate(delays)]
    found = groups(run(path(rate="4 Mbit/s", delay="10 ms"), *calls))
    for ms in delays:
        assert ms / 1e3 + 0.008 <= found[f"{ms}"]["p50_frame_delay_s"]
        assert found[f"{ms}"]["p99_frame_delay_s"] <= ms / 1e3 + 0.0717


def test_short_flows_make_frames_late() -> None:
    """RFC 8867 section 5.7: two calls in 2 Mbit/s, with ten short TCP flows and without."""
    short = {"algorithm": "cubic", "initial_window": 10, "count": 10, "name": "short"}
    web = {**short, "source": {"requests": "exponential 10 s", "size": "uniform 30 kB 50 kB"}}
    calls = call("first"), call("second")
    without, beside = (groups(run(path(), *calls, *others)) for others in ((), (web,)))
    for name in ("first", "second"):
        assert without[name]["late_fraction"] == 0 < beside[name]["late_fraction"]
        assert beside[name]["p99_frame_delay_s"] > without[name]["p99_frame_delay_s"] + 0.1


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


@pytest.mark.slow
def test_a_thousand_users_run_faster_than_real_time_in_little_memory() -> None:
    """1 Gbit/s for 60 s: about 5 s of CPU time and 100 MB. The limits are those of real time, and 1 GB."""
    scenario = fullpipe.Scenario.from_dict(mix(60, 1000))
    begin_s = time.process_time()
    result = fullpipe.run(scenario)
    assert time.process_time() - begin_s < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_000_000
    web, video = result.to_dict()["groups"]
    assert result.to_dict()["links"][0]["utilization"] > 0.9
    assert video["rebuffer_ratio"] < 0.01
    assert web["request_completion_s"] < 1.0
