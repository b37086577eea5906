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


def test_a_cubic_that_takes_each_empty_flight_for_idle_stays_at_its_minimum() -> None:
    """cloudflare/quiche#2370: with a window of two packets each ACK finds an empty flight, and the curve is moved by
    the time since then. So the window never grows again. The report has 61 of 100 runs that are not done after 10 s.
    Here more are, for the loss ends at once. Without the fault 99 of 100 are to be complete below 6 s.
    """
    wrong, right = ([lossy_start(fault, seed) for seed in range(1, 101)] for fault in (25, 0))
    unfinished = [window for completion, window in wrong if math.isnan(completion)]
    assert len(unfinished) > 61
    assert max(unfinished) < 3
    assert sum(completion < 6 for completion, _ in right) >= 99


def flow_of(algorithm: dict[str, Any], link: dict[str, Any], duration: str, **keys: Any) -> fullpipe.Result:
    """A run of one flow alone, whose packets have 1500 bytes."""
    flow = {"algorithm": algorithm, **keys}
    scenario = Scenario(
        duration=duration, packet_size=1500, series_interval="10 ms", links=[{"name": "l", **link}], flows=[flow]
    )
    return fullpipe.run(scenario)


def windows_of(result: fullpipe.Result) -> list[float]:
    found: list[float] = result.series["cwnd_packets"].to_pylist()
    return found


def turns(fault: float) -> float:
    """MiB that arrive in 60 turns of 12 ms, in each of which the application writes 512 kB. The first turn writes a
    packet. Between turns the event loop takes no ACKs.
    """
    link = {"rate": "1 Gbit/s", "delay": "50 us", "buffer": "unlimited", "reverse": {"aggregation": "12 ms"}}
    source = {"frames": f"{1000 / 12:.6f}/s", "size": "512 kB", "key_size": "1 kB", "key_every": 1_000_000}
    result = flow_of(named("limited.py:EmptyDrain", fault), link, "720 ms", source=source, pacing="off", handshake=True)
    return float(result.figures()["arrived_packets"]) * 1500 / 2**20


def test_a_startup_that_limited_rounds_end_sends_four_packets_in_each_turn() -> None:
    """oven-sh/bun#37455 reports 0.41 to 0.5 MiB, and 7.1 to 13 MiB without the fault. The simulator has less, since
    its event loop does nothing else: four packets in each of 60 turns, less the handshake and the packet of the first
    turn, are 0.34 MiB.
    """
    assert turns(1) == pytest.approx(0.34, abs=0.01)
    assert turns(0) >= 4


def test_a_startup_that_admits_no_limited_sample_counts_all_acknowledged_bytes() -> None:
    """quinn-rs/quinn#2798: 1 Mbit/s for 60 s are 7.5 MB, or 5000 packets. The window does not count those of ProbeRTT,
    17 in 0.2 s, eleven times. The BDP of 50 Mbit/s and 40 ms is 167 packets, and three are 500.
    """
    link = {"rate": "50 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"}
    wrong, right = (
        windows_of(flow_of(named("bbr.py", fault), link, "60 s", source={"rate": "1 Mbit/s"}))[-1] for fault in (23, 0)
    )
    assert wrong == pytest.approx(5000 - 11 * 17, rel=0.002)
    assert right <= 500


def test_a_receive_window_does_not_let_the_window_grow_without_end() -> None:
    """private-octopus/picoquic#873: a receive window of 55 packets is a third of the BDP of 167. Twice the largest
    flight is 110 packets.
    """
    link = {"rate": "50 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"}
    for fault, low, high in ((1, 5000, math.inf), (0, 55, 110)):
        algorithm = named("limited.py:Unbounded", fault)
        assert low <= windows_of(flow_of(algorithm, link, "10 s", max_window=55))[-1] <= high


def test_pacing_is_no_limit_of_the_application_and_an_unused_window_does_not_grow() -> None:
    """mozilla/neqo#3640: a paced bulk flow has less than a window in flight, and its window froze. #3753 was the
    opposite: 3 packets in each round trip let a window of 10 packets grow.
    """
    fast = {"rate": "1 Gbit/s", "delay": "50 ms", "buffer": "unlimited"}
    frozen, grown = (windows_of(flow_of(named("newreno.py", fault), fast, "1 s", pacing="on")) for fault in (12, 0))
    assert set(frozen) == {2}
    assert grown[-1] > 500
    small = {"rate": f"{3 * 1500 * 8 / 0.1:.0f} bit/s"}
    grown, kept = (
        windows_of(flow_of(named("quic.py:NewReno", fault), fast, "5 s", transport="quic", source=small))
        for fault in (10, 0)
    )
    assert grown[-1] > 100
    assert kept[-1] == kept[0]


def test_a_packet_counts_before_the_test_of_the_window() -> None:
    """mozilla/neqo#3963: bursts above the window into an empty pipe. Each burst doubles the window. It stays if
    the test comes before the packet counts.
    """
    link = {"rate": "1 Gbit/s", "delay": "50 ms", "buffer": "unlimited"}
    source = {"on": "1 ms", "off": "299 ms", "rate": "unlimited"}
    frozen, doubled = (
        windows_of(flow_of(named("paused.py", fault), link, "1.15 s", source=source, pacing="off")) for fault in (6, 0)
    )
    assert set(frozen) == {2}
    assert doubled[-1] >= 16


def test_a_limited_sample_does_not_replace_a_larger_one() -> None:
    """private-octopus/picoquic#1547: 6.25 MB at once, 1 kB in each of 2624 frames, and 6.25 MB again, after 21 s. In
    the first second then, the estimate grows from 1 Mbit/s by a quarter in some round trips of 60 ms.
    """
    link = {"rate": "50 Mbit/s", "delay": "30 ms", "buffer": "1 BDP"}
    source = {"frames": "125/s", "size": "1 kB", "key_size": "6.25 MB", "key_every": 2625}
    rates = []
    for fault in (24, 0):
        flow = {"algorithm": named("bbr.py", fault), "source": source}
        scenario = Scenario(duration="22 s", warmup="21 s", links=[{"name": "l", **link}], flows=[flow])
        rates.append(fullpipe.run(scenario).figures()["goodput_bps"] / 1e6)
    assert rates[0] < 5
    assert rates[1] > 40
