"""The report card's test case `app-limited`: frames and requests of an application that does not always have data."""

from __future__ import annotations

from pathlib import Path

import pytest

import fullpipe
from fullpipe.experiments.evaluate import evaluate
from fullpipe.experiments.evaluate.cells.app_limited import CELLS
from fullpipe.experiments.evaluate.measure import MEASURES, Row
from fullpipe.experiments.evaluate.preset import Party

(CELL,) = CELLS
NEWRENO = Party("newreno", "newreno")


@fullpipe.algorithm("pinned", compiled=True)
class Pinned:
    """Reno; with the fault, each pause of the application leaves the least window, and nothing makes it grow."""

    cwnd: float = 10.0
    ssthresh: float = 1e9
    fault: bool = True

    def on_ack(self, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
        if self.fault:
            self.cwnd = 2.0
        elif self.cwnd < self.ssthresh:
            self.cwnd += ack.acked
        else:
            self.cwnd += ack.acked / self.cwnd

    def on_congestion(self, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
        self.ssthresh = max(2.0, self.cwnd / 2)
        self.cwnd = self.ssthresh


def row_of(name: str) -> Row:
    (setting,) = (setting for setting in CELL.settings if setting.name == name)
    return MEASURES[CELL.measure](fullpipe.run(fullpipe.Scenario.from_dict(setting.tree(NEWRENO))))


def test_frames_take_their_transmission_and_half_a_round_trip() -> None:
    """A frame of 5896 B is 4 packets of 0.6 ms. One way takes 18.8 ms and 0.8 to 1.6 ms of access, the sender at most
    0.6 ms. One frame in 150 is a key frame, so that the 99th percentile is of other frames.
    """
    row = row_of("frames, alone")
    assert row["subject.p99_frame_delay_s"] == pytest.approx(0.023, abs=0.0012)
    assert (row["subject.late_fraction"], row["loss_rate"]) == (0, 0)


def test_requests_take_a_round_trip_and_their_transmission() -> None:
    """100 kB are 67 packets of 0.6 ms, 40.2 ms; the window of earlier requests permits them at once. With 40 ms these
    are 80.2 ms.
    """
    assert row_of("requests, alone")["subject.request_completion_s"] == pytest.approx(0.0802, abs=0.003)


def test_a_window_pinned_at_two_packets_is_worse(tmp_path: Path) -> None:
    """A response of 67 packets then takes 34 round trips, 1.4 s."""
    only = ["app-limited"]
    card = evaluate({"name": "pinned", "fault": True}, only=only, profile="standard", cache=tmp_path, seeds=3)
    metrics = card.data["criteria"][0]["experiments"][0]["figures"]
    (name,) = (name for name in metrics if name.startswith("requests, alone") and "Request completion" in name)
    pinned = metrics[name]
    assert pinned["verdict"] == "worse"
    assert all(value is not None and value > 1.3 for value in pinned["candidate"])
    assert card.verdict("5.1.5") == "worse"
