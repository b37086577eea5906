"""The report card's test case `start-up`: a flow fills an idle path within the measurement interval."""

from __future__ import annotations

from pathlib import Path

import pytest

import fullpipe
from fullpipe.experiments.evaluate import evaluate
from fullpipe.experiments.evaluate.cells.start_up import start_up
from fullpipe.experiments.evaluate.measure import start_up as measured
from fullpipe.experiments.evaluate.preset import Party


@fullpipe.algorithm("one-cut", rate_samples=True, compiled=True)
class OneCut:
    """Additive increase of a segment per round trip; one multiplicative decrease by 0.7 per round trip."""

    cwnd: float = 10.0
    ssthresh: float = 1e9
    once: bool = True
    cut_until: float = 0.0

    def on_ack(self, flow, ack):  # type: ignore[no-untyped-def]
        if ack.newly_lost > 0:
            # The fault under test leaves this condition out: a decrease for every ACK that reports a loss.
            if not self.once or flow.round > self.cut_until:
                self.cwnd = max(2.0, 0.7 * self.cwnd)
                self.ssthresh = self.cwnd
                self.cut_until = flow.round
        elif self.cwnd < self.ssthresh:
            self.cwnd += ack.acked
        else:
            self.cwnd += ack.acked / self.cwnd

    def on_congestion(self, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
        if signal == fullpipe.Signal.TIMEOUT:
            self.ssthresh = max(2.0, self.cwnd / 2)
            self.cwnd = 1.0


GOODPUTS = [f"200 Mbit/s, 100 ms, {buffer} BDP: Goodput" for buffer in ("0.25", "1")]


@pytest.mark.parametrize(("once", "allowed"), [(True, {"better", "no worse"}), (False, {"worse"})])
def test_a_decrease_for_each_ack_is_worse_and_one_per_round_trip_is_not(
    once: bool, allowed: set[str], tmp_path: Path
) -> None:
    """Other test cases hide the fault: their first 20 s are warm-up."""
    card = evaluate({"name": "one-cut", "once": once}, only=["start-up"], cache=tmp_path)
    metrics = card.data["criteria"][0]["experiments"][0]["figures"]
    assert {metrics[name]["verdict"] for name in GOODPUTS} <= allowed
    assert (card.verdict("6.1") == "worse") is not once


@pytest.mark.parametrize("rate_mbps", [10, 200])
def test_slow_start_fills_the_path_after_log2_of_the_bdp_round_trips(rate_mbps: int) -> None:
    """Worked by hand, one ACK per segment: the window doubles each round trip from 10 segments, so it reaches the BDP
    of b segments in round trip log2(b / 10). Four round trips later their mean is at least 90 %.
    """
    tree = start_up(Party("newreno", "newreno", {"delayed_ack": False}), rate_mbps * 1e6, 0.1, 1)
    row = measured(fullpipe.run(fullpipe.Scenario.from_dict(tree)))
    bdp = rate_mbps * 1e6 * 0.1 / 8 / 1500
    doublings = 0
    while 10 * 2**doublings < bdp:
        doublings += 1
    assert row["start_up_s"] is not None
    assert 0.1 * (doublings + 2) <= row["start_up_s"] <= 0.1 * (doublings + 5)


def test_overshoot_of_slow_start_is_a_loss_on_the_way() -> None:
    """The path and its buffer hold 2 BDP. The last round of slow start sends between 2 and 4 BDP, so at most half of
    its packets are lost. A window that fits never loses a packet.
    """
    party, limited = Party("newreno", "newreno"), Party("newreno", "newreno", {"max_window": 1000})
    lost, none = (
        measured(fullpipe.run(fullpipe.Scenario.from_dict(start_up(one, 200e6, 0.1, 1))))["start_up_loss_rate"]
        for one in (party, limited)
    )
    assert none == 0
    assert lost is not None
    assert 0.1 < lost < 0.3
