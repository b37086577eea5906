# ruff: noqa: ARG002
"""Small cases of the sender: the handshake's RTT, CE marks on duplicate ACKs, and the first timeout."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from fullpipe import Scenario

CASES = Path(__file__).parents[1] / "cases"

MARKED: dict[str, float] = {}


@fullpipe.algorithm("count-ce", recovery="rack", ecn="accurate")
class CountCe:
    """Fixed window; counts the CE marks that ACKs report."""

    cwnd: float = 2.0
    ssthresh: float = math.inf

    def on_start(self, start: Any) -> None:
        MARKED["seen"] = 0

    def on_ack(self, flow: Any, ack: Any) -> None:
        MARKED["seen"] += ack.ce
        self.cwnd = 60.0

    def on_congestion(self, flow: Any, signal: fullpipe.Signal) -> None:
        self.cwnd = 60.0


@pytest.mark.parametrize("impairment", [{}, {"reorder": {"probability": 0.1, "delay": "4 ms"}}, {"loss": 0.02}])
@pytest.mark.parametrize(("recovery", "ecn"), [("rack", "accurate"), ("sack", "accurate")])
def test_every_ce_mark_is_reported_once(impairment: dict[str, Any], recovery: str, ecn: str) -> None:
    """The queue marks some 3,000 packets of 3,000; each mark reaches the algorithm by one ACK."""
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1000 packets", **impairment}
    link |= {"queue": {"name": "step", "threshold": "20 packets"}, "reverse": {"loss": 0, "reorder": "off"}}
    flow = {"algorithm": "count-ce", "size": "3000 packets", "recovery": recovery, "ecn": ecn}
    scenario = Scenario(duration="60 s", warmup="0 s", packet_size=1000, links=[link], flows=[flow])
    result = fullpipe.run(scenario)
    assert result.transfers["state"].to_pylist() == ["complete"]
    # No receiver has seen packets that the link loses after the queue has marked them. After a needless retransmission
    # with SACK, the marked original may arrive when the transfer is complete already.
    marked, lost = result.links["marked_packets"][0].as_py(), result.links["wire_lost_packets"][0].as_py()
    assert marked > 500
    assert marked - lost - 2 * (recovery == "sack") <= MARKED["seen"] <= marked
    if not impairment:
        assert MARKED["seen"] == marked


def test_controller_begins_with_the_round_trip_of_the_handshake() -> None:
    """A BBRv3 flow joins a CUBIC flow that has filled the queue: the round trip is about 110 ms instead of 40 ms."""
    scenario = Scenario.load(CASES / "handshake-rtt.toml")
    starts: list[float] = []

    @fullpipe.algorithm("note-start")
    class NoteStart(fullpipe.Classic):
        def on_start(self, start: Any) -> None:
            starts.append(start.rtt_s)

        def increase(self, w: float, flow: Any, ack: Any) -> float:
            return 1 / w

        def decrease(self, w: float, flow: Any, signal: Any) -> float:
            return w / 2

    fullpipe.run(scenario.replace(**{"flows.new.algorithm": "note-start"}))
    assert starts[-1] == pytest.approx(0.110, abs=0.012)
    assert all(math.isnan(start) for start in starts[:-1]), "no round trip is known before the handshake has ended"
    series = fullpipe.run(scenario).series.to_pydict()
    rows = zip(series["t_s"], series["flow"], series["min_rtt_s"], strict=True)
    least = [min_rtt for t_s, flow, min_rtt in rows if flow == 1 and 20.5 < t_s < 21]
    assert least
    assert all(min_rtt > 0.075 for min_rtt in least)


def test_first_timeout_respects_min_rto() -> None:
    """Sixteen senders lose parts of their first windows at a full port. With ``min_rto = "1 ms"`` the last transfer is
    complete within 9 ms (919 Mbit/s), with a handshake and without.
    """
    scenario = Scenario.load(CASES / "incast.toml")
    for handshake in (False, True):
        result = fullpipe.run(scenario.replace(**{"flows.handshake": handshake}))
        assert result.transfers["state"].to_pylist() == ["complete"] * 16
        last_s = max(flow["completion_s"] for flow in result.to_dict()["flows"])
        assert last_s <= 0.009 + 0.001 * handshake
        sent_bits = sum(result.transfers["size_bytes"].to_pylist()) * 8
        assert sent_bits / last_s > 850e6


def test_late_flows_over_deep_buffers_are_asked_for_a_handshake() -> None:
    """Base RTT 40 ms: the first timeout is 200 ms, and 1,000 packets at 10 Mbit/s wait for 800 ms."""
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "1000 packets"}
    late = {"algorithm": "reno", "start": "5 s"}

    def warned(**more: Any) -> bool:
        flows = [{"algorithm": "reno"}, {**late, **more}]
        warnings = Scenario(duration="9 s", packet_size=1000, links=[link], flows=flows).warnings
        return any("handshake = false" in warning for warning in warnings)

    assert warned()
    assert not warned(handshake=True)
    assert not warned(min_rto="1 s")
    assert not warned(start="0 s")
