"""Rules of BBR with a change at a given state: each fails for a controller whose states follow a clock."""

from __future__ import annotations

import pytest

import fullpipe
from fullpipe.experiments.conform import RULES
from fullpipe.experiments.conform.harness import Harness
from fullpipe.experiments.conform.phases import entry, rounds
from fullpipe.experiments.conform.rule import FAIL, SKIPPED, Skip

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP = range(6)
CLOCK = ((0.6, STARTUP), (1.4, DRAIN), (3.2, CRUISE), (3.24, REFILL), (3.6, UP), (4.0, DOWN), (5.8, CRUISE))
"""End of each state, seconds. From 5.8 s on: ProbeBW_REFILL, ProbeBW_UP, and ProbeBW_DOWN in turn, 0.04 s each."""

SHOWN = ["phase", "max_bw_bps", "inflight_longterm_packets"]


@fullpipe.algorithm("clocked-bbr", recovery="rack", inspect=SHOWN, rate_samples=True)
class Clocked:
    """States by a clock. With ``reacts``, a loss cuts the window to 0.7 and begins ProbeBW_DOWN; nothing is undone."""

    cwnd: float = 10.0
    ssthresh: float = 1e9
    phase: float = 0.0
    max_bw_bps: float = 0.0
    inflight_longterm_packets: float = 100.0
    reacts: float = 0.0

    def on_start(self, start):  # type: ignore[no-untyped-def]
        self._bits = 8 * start.segment_bytes
        self._down_until_s = 0.0
        self._begun = False

    def on_ack(self, flow, ack):  # type: ignore[no-untyped-def]
        if not self._begun:
            self._begun, self.cwnd = True, 300.0
        now_s = flow.now_s
        later = (REFILL, UP, DOWN)[int((now_s - 5.8) / 0.04) % 3]
        self.phase = DOWN if now_s < self._down_until_s else next((p for end_s, p in CLOCK if now_s < end_s), later)
        if ack.delivery_rate > 0:  # the newest sample, and not the largest
            self.max_bw_bps = self._bits * ack.delivery_rate

    def on_congestion(self, flow, signal):  # type: ignore[no-untyped-def]
        if self.reacts:
            self.cwnd = 1.0 if signal == fullpipe.Signal.TIMEOUT else max(0.7 * self.cwnd, 10.0)
            self._down_until_s = flow.now_s + 0.4

    def on_undo(self, _cwnd, _ssthresh):  # type: ignore[no-untyped-def]
        pass


def verdict(name: str, algorithm: object) -> str:
    (rule,) = (rule for rule in RULES["bbr"] if rule.id == name)
    return rule.judge(Harness(algorithm)).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "reacts"),
    [("B04", 0), ("B05", 0), ("B06", 0), ("B09", 0), ("B18", 1), ("B19", 1), ("B21", 1), ("B22", 0), ("S8", 1)],
)
def test_a_rule_fails_for_a_controller_whose_states_follow_a_clock(rule: str, reacts: int) -> None:
    assert verdict(rule, {"name": "clocked-bbr", "reacts": reacts}) == FAIL


@pytest.mark.parametrize("rule", ["B04", "B06", "B21"])
def test_a_rule_is_skipped_without_states(rule: str) -> None:
    assert verdict(rule, "newreno") == SKIPPED


def test_an_entry_into_a_state_by_hand() -> None:
    rows = [(0.0, 5.0), (0.1, 5.0), (0.2, 2.0), (0.3, 5.0), (0.4, 5.0)]
    assert entry(rows, UP) == 0.3  # the state at the beginning is no entry
    assert entry(rows, DOWN) == 0.2
    with pytest.raises(Skip):
        entry(rows, UP, 0.35)


def test_rounds_by_hand() -> None:
    # Packets sent at 0 s are acknowledged at 0.1 s, those of 0.1 s at 0.2 s: two round trips, and a half at 0.25 s.
    rows = [(0.01 * i, 5.0, 0.1) for i in range(40)]
    assert rounds(rows, 0.0, 0.25) == pytest.approx(2.5, abs=0.11)
