"""`fullpipe conform`: each rule passes for the reference controllers, and fails for a planted fault."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import pytest

import fullpipe
from conftest import ROOT, Program
from fullpipe.custom.arguments import as_algorithm
from fullpipe.experiments.conform import RULES, limited
from fullpipe.experiments.conform.harness import Curve, Cut, Harness, Series
from fullpipe.experiments.conform.judging import Conformance
from fullpipe.experiments.conform.rfc9438 import late_rounds, slope
from fullpipe.experiments.conform.rule import FAIL, PASS, SKIPPED, Verdict

CUBIC_FAULTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
"""Faults of the reference CUBIC: each is the number of a rule."""

BBR_FAULTS = [
    ("B01", {"full_bw_rounds": 1}),
    ("B01", {"full_bw_rounds": 8}),
    ("B02", {"loss_threshold": 0.5}),
    ("B03", {"drain_pacing_gain": 0.35}),
    ("B08", {"down_pacing_gain": 0.75}),
    ("B10", {"probe_rtt_duration": 2.0}),
    ("B14", {"min_pipe_cwnd": 1.0}),
    ("B15", {"up_pacing_gain": 1.0}),
    ("B17", {"loss_threshold": 0.5, "beta": 0.99, "up_pacing_gain": 1.5}),
    ("S1", {"startup_pacing_gain": 2.0}),
    ("S5", {"quantum_time": 0.02}),
    ("S6", {"min_pipe_cwnd": 1.0}),
    ("S7", {"loss_threshold": 0.04}),
    ("S7", {"loss_threshold": 0.01}),
    ("S15", {"beta": 0.5}),
    ("S16", {"headroom": 0.3}),
    ("S14", {"up_pacing_gain": 1.5}),
    ("S3", {"pacing_margin": 0.05}),
    ("S9", {"probe_rtt_interval": 10.0}),
]
"""Rule, and wrong parameters of the built-in BBRv3."""

STATES = {"B04", "B05", "B06", "B09", "B18", "B19", "B21", "B22", "S8"}
"""Rules with a change at a given state: see test_conform_states.py."""

SMALL_BBR_FAULTS = {
    "B02": 102,
    "B07": 107,
    "B11": 111,
    "B20": 120,
    "S4": 7,
    "S10": 210,
    "S11": 211,
    "S12": 24,
    "S17": 13,
}
"""Rule, and the fault of the museum's BBR that breaks it."""

QUIC_FAULTS = {**{f"N{fault:02}": fault for fault in range(1, 14)}, "N14": 28}
"""Rule, and the fault of the museum's NewReno over QUIC that breaks it."""

RATE_LIMITED_FAULTS = [1, 2, 3, 4, 5, 6]
LIMITED_FAULTS = [1, 2, 3, 4, 5, 6, 7, 9, 10]
"""Faults of two further controllers of the museum: each is the number of a rule."""


@cache
def cubic() -> str:
    found = as_algorithm(str(ROOT / "examples/museum/cubic.py"))
    assert isinstance(found, str)
    return found


def verdict(rules: str, name: str, algorithm: object) -> str:
    (rule,) = (rule for rule in RULES[rules] if rule.id == name)
    return rule.judge(Harness(algorithm)).verdict  # type: ignore[arg-type]


def measured(rules: str) -> set[str]:
    """Rules that are not skipped for every controller."""
    return {rule.id for rule in RULES[rules] if rule.measure.__name__ != "measure"}


def test_every_measured_rule_has_a_planted_fault() -> None:
    assert {f"C{fault:02}" for fault in CUBIC_FAULTS} == measured("rfc9438")
    # B12, B13, B16, S2, and S13: no parameter of BBRv3 breaks them; see the test of a scripted controller.
    scripted = {"B12", "B13", "B16", "S2", "S13"} | STATES
    assert {name for name, *_ in BBR_FAULTS} | SMALL_BBR_FAULTS.keys() | scripted == measured("bbr")
    assert QUIC_FAULTS.keys() == measured("rfc9002")
    assert {f"L{fault}" for fault in RATE_LIMITED_FAULTS} == measured("ratelimited")
    # A8 is of RFC 6817 alone: the reference, which is no LEDBAT, breaks it without a fault.
    assert {f"A{fault}" for fault in LIMITED_FAULTS} | {"A8"} == measured("limited")
    assert RULES.keys() == {"rfc9438", "bbr", "rfc9002", "ratelimited", "limited"}


def test_the_reference_cubic_follows_every_measured_rule() -> None:
    found = fullpipe.conform(cubic())
    assert {each.rule.id for each in found.rules if each.verdict == PASS} == measured("rfc9438")
    assert [each.rule.id for each in found.rules if each.verdict == FAIL] == []


@pytest.mark.parametrize("fault", CUBIC_FAULTS)
def test_a_rule_of_cubic_fails_on_its_fault(fault: int) -> None:
    assert verdict("rfc9438", f"C{fault:02}", {"name": cubic(), "fault": fault}) == FAIL


def test_the_built_in_cubic_follows_every_binding_rule() -> None:
    found = fullpipe.conform("cubic")
    assert found.passed
    # HyStart++ is an option of a scenario, not a default.
    assert found.failed(strict=True) == ["C22"]


def test_bbr3_follows_every_measured_rule() -> None:
    found = fullpipe.conform("bbr3", rules="bbr")
    assert {each.rule.id for each in found.rules if each.verdict == PASS} == measured("bbr")


@pytest.mark.parametrize(("rule", "parameters"), BBR_FAULTS)
def test_a_rule_of_bbr_fails_on_its_fault(rule: str, parameters: dict[str, float]) -> None:
    assert verdict("bbr", rule, {"name": "bbr3", **parameters}) == FAIL


@pytest.mark.parametrize("rule", SMALL_BBR_FAULTS)
def test_a_rule_of_bbr_fails_on_the_fault_of_a_small_bbr(rule: str) -> None:
    name = as_algorithm(str(ROOT / "examples/museum/bbr.py"))
    assert verdict("bbr", rule, {"name": name, "fault": SMALL_BBR_FAULTS[rule]}) == FAIL
    assert verdict("bbr", rule, name) == PASS


@fullpipe.algorithm("scripted-bbr", inspect=["phase", "pacing_bps", "bw_bps", "max_bw_bps", "extra_acked_packets"])
class Scripted:
    """Controller that shows a falling pacing rate in Startup, and a bandwidth that it never measured."""

    cwnd: float = 10.0
    ssthresh: float = 1e9
    phase: float = 0.0
    pacing_bps: float = 10e6
    bw_bps: float = 30e6
    max_bw_bps: float = 30e6
    extra_acked_packets: float = 0.0

    def on_ack(self, flow, _ack):  # type: ignore[no-untyped-def]
        self.pacing_bps = 10e6 - 1e6 * flow.now_s / 20

    def on_congestion(self, _flow, _signal):  # type: ignore[no-untyped-def]
        self.cwnd = 10.0


@pytest.mark.parametrize("rule", ["S2", "S13", "B12", "B13", "B16"])
def test_rules_of_bbr_fail_for_a_controller_that_shows_wrong_rates(rule: str) -> None:
    assert verdict("bbr", rule, "scripted-bbr") == FAIL


def test_rules_of_bbr_are_skipped_for_a_controller_that_shows_no_state() -> None:
    found = {each.rule.id: each for each in fullpipe.conform("newreno", rules="bbr").rules}
    assert found["B03"].verdict == SKIPPED
    assert "phase" in found["B03"].reason
    assert found["B15"].verdict in (PASS, FAIL)  # goodput needs no state


def test_one_rule_is_measured_alone_and_explained(program: Program) -> None:
    found = fullpipe.conform("cubic", rule="C12")
    assert [each.rule.id for each in found.rules] == ["C12"]
    assert len(found.windows) == 1
    text = program("conform", "cubic", "--explain", "C12").stdout
    assert "5.8 packets" in text  # the expected growth by the RFC's equation
    assert "windows of run 1" in text
    wrong = program("conform", "cubic", "--explain", "C99")
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_half_of_the_gap_by_hand() -> None:
    # W_max 500, cwnd 350: K = (150 / 0.4)^(1/3) = 7.2112 s. Half of the gap, 425, is due at 0.2063 K = 1.4877 s. A
    # window that reaches 425 at 1.6877 s is one round trip of 0.2 s late.
    one = Cut(0.0, 500.0, 350.0, Curve([(0.0, 350.0), (1.68766, 425.0), (8.0, 500.0)]))
    assert late_rounds(one, 0.2, 500.0) == pytest.approx(1.0, abs=1e-3)


def test_slope_by_hand() -> None:
    # From 75 to 95 packets in 0.8 s with round trips of 0.02 s: 20 / 40 = 0.5 packets per round trip.
    assert slope(Curve([(0.1, 75.0), (0.9, 95.0)]), 75.0, 95.0, 0.02) == pytest.approx(0.5)


def test_a_cut_is_a_fall_by_more_than_a_tenth() -> None:
    series = Series({"t_s": [0.0, 1.0, 2.0, 3.0], "cwnd_packets": [10.0, 9.5, 7.0, 8.0]}, {})
    (one,) = series.cuts()
    assert (one.at_s, one.before, one.after) == (2.0, 9.5, 7.0)
    assert one.curve.points == [(0.0, 7.0), (1.0, 8.0)]


def test_the_command_fails_on_a_binding_rule_alone(program: Program) -> None:
    done = program("conform", "newreno", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 1
    assert result["controller"] == "newreno"
    rules = {each["id"]: each for each in result["rules"]}
    assert {"id", "source", "verdict", "expected", "measured"} <= rules["C15"].keys()
    assert (rules["C15"]["level"], rules["C15"]["verdict"]) == ("EQ", "fail")
    assert rules["C15"]["measured"] == pytest.approx(0.5, abs=0.005)
    assert (rules["C19"]["level"], rules["C19"]["verdict"]) == ("MAY", "fail")  # no curve to go back to
    assert program("conform", "cubic").returncode == 0
    assert program("conform", "cubic", "--strict").returncode == 1
    wrong = program("conform", "cubicc")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean" in wrong.stderr
    assert program("conform", "newreno", "--rules", "rfc9002", "--json").returncode == 0


@cache
def quic(kind: str) -> str:
    found = as_algorithm(f"{ROOT / 'examples/museum/quic.py'}:{kind}")
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("rule", QUIC_FAULTS)
def test_a_rule_of_rfc9002_fails_on_its_fault(rule: str) -> None:
    assert verdict("rfc9002", rule, {"name": quic("NewReno"), "fault": QUIC_FAULTS[rule]}) == FAIL


@pytest.mark.parametrize("fault", RATE_LIMITED_FAULTS)
def test_a_rule_of_rate_limited_increase_fails_on_its_fault(fault: int) -> None:
    assert verdict("ratelimited", f"L{fault}", {"name": quic("Validated"), "fault": fault}) == FAIL


@cache
def paused() -> str:
    found = as_algorithm(str(ROOT / "examples/museum/paused.py"))
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("fault", LIMITED_FAULTS)
def test_a_rule_of_limited_senders_fails_on_its_fault(fault: int) -> None:
    assert verdict("limited", f"A{fault}", {"name": paused(), "fault": fault}) == FAIL


def test_a_sender_that_follows_the_rules_of_limited_senders_passes() -> None:
    found = fullpipe.conform(paused(), rules="limited")
    verdicts = {each.rule.id: each.verdict for each in found.rules}
    assert verdicts == {**dict.fromkeys((f"A{fault}" for fault in LIMITED_FAULTS), PASS), "A8": FAIL}
    assert verdict("limited", "A8", "ledbat") == PASS  # RFC 6817 alone has this rule


@pytest.mark.parametrize("name", ["htcp", "illinois", "compound", "westwood"])
@pytest.mark.parametrize("rule", ["A3", "A4"])
def test_clocks_and_estimates_stop_while_the_application_limits_the_sender(name: str, rule: str) -> None:
    assert verdict("limited", rule, name) == PASS


@pytest.mark.parametrize("name", ["vegas", "yeah"])
def test_a_longer_delay_of_limited_rounds_lowers_no_window(name: str) -> None:
    assert verdict("limited", "A9", name) == PASS


def test_the_pace_of_the_application_is_no_train_of_acks(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("hystart", "hystart++"):
        monkeypatch.setitem(limited.RATE, "slow_start", kind)
        assert verdict("limited", "A10", "newreno") == PASS


def test_with_rfc7661_vegas_reduces_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A2 fails without, since the authors' code reduces the window."""
    (rule,) = (each for each in RULES["limited"] if each.id == "A2")
    assert rule.measure(Harness("vegas")) > 1
    monkeypatch.setitem(limited.RATE, "idle", "rfc7661")
    assert rule.measure(Harness("vegas")) <= 1


@pytest.mark.parametrize(("rules", "kind"), [("rfc9002", "NewReno"), ("ratelimited", "Validated")])
def test_the_reference_controllers_of_quic_follow_every_rule(rules: str, kind: str) -> None:
    found = fullpipe.conform(quic(kind), rules=rules)
    assert {each.verdict for each in found.rules} == {PASS}


def test_the_built_in_newreno_follows_rfc9002() -> None:
    found = fullpipe.conform("newreno", rules="rfc9002")
    assert {each.verdict for each in found.rules} == {PASS}
    assert fullpipe.conform("newreno", rules="ratelimited").failed() == []


@fullpipe.packet_algorithm("ignores-losses")
class IgnoresLosses:
    """Slow start to 100 packets, whatever is lost."""

    window: float = 12_000.0

    def on_packets_acked(self, _path: Any, acked: Any, _rtt: Any) -> None:
        self.window = min(self.window + acked.bytes_total, 120_000.0)

    def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None:
        pass

    def window_bytes(self) -> float:
        return self.window


@pytest.mark.parametrize(("rules", "rule"), [("rfc9002", "N03"), ("rfc9002", "N04"), ("rfc9438", "C02")])
def test_a_controller_that_ignores_losses_breaks_the_rules_of_losses(rules: str, rule: str) -> None:
    """It is no reason to skip a rule of MUST or EQ that nothing happens at a loss."""
    assert verdict(rules, rule, "ignores-losses") == FAIL


def test_an_event_that_never_comes_has_no_value_in_json() -> None:
    (rule,) = (rule for rule in RULES["bbr"] if rule.id == "B02")
    report = Conformance("mine", "bbr", (Verdict(rule, FAIL, math.inf), Verdict(rule, PASS, 2.0)))
    assert [(row["verdict"], row["measured"]) for row in json.loads(report.to_json())["rules"]] == [
        (FAIL, None),
        (PASS, 2.0),
    ]
