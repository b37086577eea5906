"""Public failures of senders whose application limits them: wrong and right behavior, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

import fullpipe
from conftest import ROOT
from fullpipe import Scenario
from fullpipe.custom import arguments


def named(place: str, fault: float) -> dict[str, Any]:
    """A controller of the museum with a fault, or without one (0)."""
    return {"name": arguments.load_algorithms(str(ROOT / "examples/museum" / place)), "fault": fault}


def bursts(fault: float, per_second: str) -> dict[str, Any]:
    """Frames of 38 packets of 1280 bytes over 20 Mbit/s, 40 ms, and a queue of 25 packets, for 3 s."""
    link = {"name": "l", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": "25 packets"}
    flow = {"algorithm": named("limited.py:Unpaced", fault), "transport": "quic"}
    source = {"frames": per_second, "size": f"{38 * 1280} B"}
    scenario = Scenario(
        duration="3 s", warmup="0.5 s", packet_size=1280, links=[link], flows=[{**flow, "source": source}]
    )
    row: dict[str, Any] = fullpipe.run(scenario).to_dict()["links"][0]
    return row


def test_a_limited_flow_that_is_never_paced_loses_28_percent() -> None:
    """A burst at 266 Mbit/s takes 1.46 ms, in which 20 Mbit/s send 2 packets and a part: of 38 packets, 25 + 2 find
    room, and 11 are lost (28.9 %). Five bursts are in the interval. At 1.25 windows per RTT, 32 Mbit/s, a burst takes
    12.2 ms, in which 23 packets leave: the queue has 15 at most.
    """
    wrong = bursts(1, "2/s")
    assert wrong["dropped_packets"] == 5 * 11
    assert wrong["max_queue_packets"] == 25
    assert bursts(1, "30/s")["loss_rate"] > 0.2
    for per_second in ("2/s", "30/s"):
        right = bursts(0, per_second)
        assert right["dropped_packets"] == 0
        assert right["max_queue_packets"] <= 17


def rounds(fault: float) -> list[int]:
    """Round trips of 100 ms that each of ten responses of 60 packets takes; the client thinks for 3 s before each."""
    link = {"name": "l", "rate": "10 Gbit/s", "delay": "50 ms", "buffer": "unlimited"}
    flow = {"algorithm": named("limited.py:Ratchet", fault), "pacing": "off"}
    source = {"requests": "3 s", "size": f"{60 * 1500} B"}
    scenario = Scenario(duration="60 s", packet_size=1500, links=[link], flows=[{**flow, "source": source}])
    completions = fullpipe.run(scenario).transfers["completion_s"].to_pylist()
    return [round(10 * completion) for completion in completions[:10]]


def test_a_window_that_halves_after_each_idle_time_ends_at_six_packets() -> None:
    """Windows of 100, 50, 25, 13, 8, 6, 6, ... packets at the begins: each grows by a packet in a full round, and is
    halved then. RFC 5681 restarts with 10 packets in slow start: 10, 20, and 30 packets.
    """
    assert rounds(1) == [1, 2, 3, 5, 6, 7, 7, 7, 7, 7]
    assert rounds(0) == [3] * 10


def lossy_start(fault: float, seed: int) -> tuple[float, float]:
    """Completion of 10 MB over 50 Mbit/s and 10 ms, 30 % of whose packets are lost for 2 s, and the last window."""
    schedule = [{"at": "0 s", "loss": 0.3}, {"at": "2 s", "loss": 0.0}]
    link = {"name": "l", "rate": "50 Mbit/s", "delay": "5 ms", "buffer": "1 BDP", "schedule": schedule}
    back = {**link, "reverse": {"schedule": []}}
    flow = {"algorithm": named("cubic.py", fault), "size": "10 MB", "recovery": "rack"}
    flow["delayed_ack"] = True
    scenario = Scenario(duration="10 s", seed=seed, packet_size=1350, links=[back], flows=[flow])
    result = fullpipe.run(scenario)
    windows = result.series["cwnd_packets"].to_pylist()
    return result.flows["completion_s"].to_pylist()[0], windows[-1]


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_cubic_that_takes_each_empty_flight_for_idle_stays_at_its_minimum(seed: int) -> None:
    """cloudflare/quiche#2370: with a window of two packets each ACK finds an empty flight, and the curve is moved by
    the time since then. So the window never grows again, with 19 of the seeds 1 to 20. Without the fault the transfer
    is complete below 6 s.
    """
    completion, window = lossy_start(25, seed)
    assert math.isnan(completion)
    assert window == 2
    completion, _ = lossy_start(0, seed)
    assert completion < 6
