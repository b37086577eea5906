"""Simulation step by step, with a flow under outside control."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import fullpipe
from fullpipe import InputError, Scenario, ScenarioError, Simulation

LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "1000 packets"}
"""A packet of 1000 bytes takes 0.8 ms; the path holds 50 of them."""


def scenario(*flows: dict[str, object], duration: str = "10 s") -> Scenario:
    return Scenario(duration=duration, links=[LINK], flows=list(flows) or [{"algorithm": "external"}])


@pytest.mark.parametrize("cwnd", [10, 25])
def test_a_window_below_the_bdp_gives_its_share_of_the_link(cwnd: int) -> None:
    """Below 50 packets a window is delivered once a round trip: 40 ms and the 0.8 ms that a packet takes."""
    simulation = Simulation(scenario())
    simulation.set(0, cwnd=cwnd)
    simulation.advance("2 s")
    before = simulation.snapshot().flows[0].delivered_packets
    simulation.advance(4)
    flow = simulation.snapshot().flows[0]
    assert flow.delivered_packets - before == pytest.approx(cwnd * 2 / 0.0408, rel=0.02)
    assert flow.cwnd_packets == cwnd
    assert flow.in_flight_packets == cwnd
    assert flow.min_rtt_s == pytest.approx(0.0408, rel=0.01)
    assert flow.lost_packets == flow.timeouts == 0


def test_what_a_window_has_above_the_bdp_waits_in_the_queue() -> None:
    """120 packets: 51 fill the path of 40 ms and the transmitter, and 69 wait behind the one that is sent."""
    simulation = Simulation(scenario())
    simulation.set(0, cwnd=120)
    simulation.advance("5 s")
    snapshot = simulation.snapshot()
    assert snapshot.queue_packets["l"] == pytest.approx(70, abs=1)
    assert snapshot.reverse_queue_packets["l"] <= 1
    assert snapshot.flows[0].rtt_s == pytest.approx(120 * 0.0008, rel=0.01)
    assert snapshot.flows[0].delivery_rate_bps == pytest.approx(10e6, rel=0.01)


def test_a_pacing_rate_bounds_the_rate() -> None:
    simulation = Simulation(scenario())
    assert simulation.snapshot().flows[0].pacing_rate_bps == math.inf
    simulation.set(0, cwnd=1000, pacing_rate="4 Mbit/s")
    simulation.advance("2 s")
    before = simulation.snapshot().flows[0].delivered_packets
    simulation.advance("6 s")
    after = simulation.snapshot()
    # 4 Mbit/s are 500 packets of 1000 bytes a second.
    assert after.flows[0].delivered_packets - before == pytest.approx(4 * 500, rel=0.02)
    assert after.flows[0].pacing_rate_bps == pytest.approx(4e6)
    assert after.queue_packets["l"] <= 1


def test_a_change_takes_effect_while_the_run_goes_on() -> None:
    simulation = Simulation(scenario())
    simulation.set(0, cwnd=5)
    simulation.advance("3 s")
    simulation.set(0, cwnd=40)
    simulation.advance("3.5 s")
    assert simulation.snapshot().flows[0].in_flight_packets == 40
    simulation.set(0, cwnd=8)
    simulation.advance("4 s")
    assert simulation.snapshot().flows[0].in_flight_packets == 8


def test_steps_change_nothing() -> None:
    """A run in steps has the tables of a run in one go."""
    mixed = scenario({"algorithm": "cubic"}, {"algorithm": "bbr", "start": "1 s"}, duration="5 s")
    simulation = Simulation(mixed)
    for i in range(1, 500):
        simulation.advance(i / 100)
        simulation.snapshot()
    stepped, whole = simulation.result(), fullpipe.run(mixed)
    assert stepped.figures() == whole.figures()
    assert stepped.to_dict()["flows"] == whole.to_dict()["flows"]
    assert stepped.to_dict()["links"] == whole.to_dict()["links"]


def test_flows_are_numbered_in_the_order_of_the_scenario() -> None:
    simulation = Simulation(
        scenario({"algorithm": "reno", "count": 2}, {"algorithm": "external", "count": 2, "name": "agent"})
    )
    assert simulation.external == (2, 3)
    simulation.set(3, cwnd=30)
    simulation.set(2, cwnd=3)
    simulation.advance("1 s")
    flows = simulation.snapshot().flows
    assert (flows[2].cwnd_packets, flows[3].cwnd_packets) == (3, 30)
    result = simulation.result()
    assert result.flows["name"].to_pylist() == ["reno", "reno", "agent", "agent"]
    goodput = result.flows["goodput_bps"].to_pylist()
    assert goodput[3] > 5 * goodput[2]


def test_an_external_flow_runs_step_by_step_only(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(scenario({"algorithm": "reno"}, {"algorithm": "external"}).to_toml())
    with pytest.raises(ScenarioError, match=r"e\.toml: flows\[1\]\.algorithm: .external. .*use fullpipe\.Simulation"):
        fullpipe.run(tmp_path / "e.toml")
    assert "external" not in fullpipe.algorithms()


def test_what_is_refused() -> None:
    simulation = Simulation(scenario({"algorithm": "reno"}, {"algorithm": "external"}))
    simulation.advance(1)
    for call, why in (
        (lambda: simulation.set(0, cwnd=2), r"unknown external flow 0 \(allowed: 1\)"),
        (lambda: simulation.set(1, cwnd=0.5), r"cwnd must be in \[1, 2147483647\] packets, got 0\.5"),
        (lambda: simulation.set(1, cwnd=math.nan), "got nan"),
        (lambda: simulation.set(1, pacing_rate=0), r"pacing_rate must be above 0 bit/s, got 0"),
        (lambda: simulation.set(1, pacing_rate="fast"), r"pacing_rate must be a quantity .*, got 'fast'"),
        (lambda: simulation.advance(0.5), r"until must be in \[1 s, 1e9 s\), got 0\.5 s"),
        (lambda: simulation.advance("2 Mbit/s"), r"until must be a quantity .*, got '2 Mbit/s'"),
    ):
        with pytest.raises(InputError, match=why):
            call()
    simulation.advance(99)
    assert simulation.is_over
    assert simulation.now == 10
    simulation.result()
    with pytest.raises(fullpipe.FullpipeError, match="the simulation has ended"):
        simulation.result()
