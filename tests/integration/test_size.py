"""Buffer sizing: the search, the scenarios it makes, one flow against theory, the command."""

from __future__ import annotations

import json
import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import Program
from fullpipe import Scenario, linux, models
from fullpipe._cli import fullpipe_command
from fullpipe._cli.output import show
from fullpipe.engine.simulator import simulate
from fullpipe.errors import InputError
from fullpipe.experiments.sizing import Mix, Sizing, Target
from fullpipe.experiments.sizing.mix import _time
from fullpipe.experiments.sizing.search import Bracket, Search, Verdict
from fullpipe.experiments.sizing.shares import algorithms_of, parts_of
from fullpipe.experiments.sizing.sizing import MEASURED, Answer, Case
from fullpipe.experiments.sizing.target import judge
from fullpipe.runs.aggregate import estimate
from fullpipe.scenario.quantity import Quantity

SMALL = ["--rate", "2Mbit/s", "--rtt", "20ms..60ms", "--flows", "2,4", "--target", "0.9", "--algorithms", "newreno"]


def above(target: float) -> Callable[[Sequence[float]], Verdict]:
    """Whether the mean reaches a target."""

    def judge(values: Sequence[float]) -> Verdict:
        over = estimate(values)
        return Verdict(over.mean >= target, over.ci95 is not None and abs(over.mean - target) > over.ci95)

    return judge


def search(measure: Callable[[int, int], float], most: int, seeds: int, precision: float) -> Search[float]:
    return Search(measure, {}, most, seeds, precision)


def test_the_search_ends_within_its_precision_and_shares_samples() -> None:
    calls: list[int] = []

    def measure(buffer: int, _seed: int) -> float:
        calls.append(buffer)
        return 1 - 30 / (buffer + 30)  # 0.9 at 270, 0.95 at 570

    looking = search(measure, most=5000, seeds=1, precision=0.01)
    for target, answer in ((0.9, 270), (0.95, 570)):
        found = looking.smallest(above(target), guess=10)
        assert found.low is not None
        assert found.high is not None
        assert found.low < answer <= found.high
        assert found.high - found.low <= max(1, 0.01 * found.low)
        assert (found.sure_low, found.sure_high) == (found.low, found.high)
    assert len(calls) == len(set(calls)) < 40


def test_the_search_at_its_ends() -> None:
    everything = search(lambda _b, _s: 1.0, 100, 1, 0.05).smallest(above(0.9), 50)
    assert (everything.low, everything.high) == (None, 1)
    nothing = search(lambda _b, _s: 0.5, 100, 1, 0.05).smallest(above(0.9), 50)
    assert (nothing.low, nothing.high) == (100, None)


def test_noise_costs_seeds_where_the_target_is_near() -> None:
    chance = random.Random(5)

    def measure(buffer: int, _seed: int) -> float:
        return buffer / 1000 + chance.gauss(0, 0.01)

    looking = search(measure, most=4000, seeds=6, precision=0.02)
    found = looking.smallest(above(0.5), guess=100)
    assert found.high is not None
    assert found.high == pytest.approx(500, rel=0.05)
    assert found.sure_low is not None
    assert found.sure_high is not None
    assert found.sure_low < found.high <= found.sure_high
    assert all(2 <= len(values) <= 6 for values in looking.samples.values())
    assert len(looking.samples[100]) < 6
    assert max(len(values) for values in looking.samples.values()) == 6


def test_what_larger_buffers_need_not_meet_is_found_from_below() -> None:
    """Between 300 and 600 packets alone."""
    looking = search(lambda buffer, _: 1.0 if 300 <= buffer <= 600 else 0.0, most=5000, seeds=1, precision=0.01)
    found = looking.first(above(0.5), Bracket(9, 10, 9, 10), 5000)
    assert (found.low, found.high) == (pytest.approx(299, abs=3), pytest.approx(300, abs=3))
    assert looking.first(above(0.5), Bracket(700, 701, 700, 701), 5000).high is None
    assert looking.first(above(0.5), Bracket(None, 400, None, 400), 5000) == Bracket(None, 400, None, 400)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        (0.98, {"utilization": (0.98, True)}),
        ("0.98", {"utilization": (0.98, True)}),
        ("utilization>=98%", {"utilization": (0.98, True)}),
        (
            "utilization>=0.98, p99_delay<=20ms,loss <= 0.1%",
            {"utilization": (0.98, True), "p99_queueing_delay_s": (0.02, False), "loss_rate": (0.001, False)},
        ),
        (
            "max_delay<=1.5 s,p95_fct<=250us,jain>=0.9",
            {"max_queueing_delay_s": (1.5, False), "p95_fct_s": (250e-6, False), "jain_index": (0.9, True)},
        ),
    ],
)
def test_targets(text: float | str, conditions: dict[str, tuple[float, bool]]) -> None:
    found = Target.parse(text)
    assert {
        each.measure.metric: (pytest.approx(each.bound), each.measure.at_least) for each in found.conditions
    } == conditions


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("utilisation>=0.9", "unknown metric 'utilisation'; did you mean 'utilization'?"),
        ("utilization<=0.9", "utilization requires >="),
        ("p99_delay>=2ms", "p99_delay requires <="),
        ("p99_delay<=2", "must be a time above 0"),
        ("p99_delay<=2packets", "must be a time above 0"),
        ("loss<=1", "must be in (0, 1)"),
        ("loss<=20ms", "must be in (0, 1)"),
        ("0.9,loss<=1%", "got '0.9'"),
        ("loss<1%", "got 'loss<1%'"),
        ("loss<=1%,loss<=2%", "at most one condition per metric"),
        (",", "target requires a condition"),
        ("1.5", "got 1.5"),
        ("nan", "got nan"),
    ],
)
def test_targets_that_are_none(text: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        Target.parse(text)
    assert why in str(caught.value)


def test_a_verdict_on_conditions() -> None:
    """Two seeds a and b: the interval is 6.353 |a - b| to either side of the mean, t(1) = 12.706 by their deviation."""
    both = Target.parse("utilization>=0.9,loss<=1%").conditions

    def runs(*figures: tuple[float | None, float | None]) -> Verdict:
        return judge(both, [{"utilization": used, "loss_rate": lost} for used, lost in figures])

    assert runs((0.95, 0.005), (0.95, 0.005)) == Verdict(met=True, sure=True)
    assert runs((0.95, 0.005), (0.93, 0.005)) == Verdict(met=True, sure=False)
    assert runs((0.95, 0.005)) == Verdict(met=True, sure=False)
    # One that surely fails decides.
    assert runs((0.95, 0.02), (0.85, 0.02)) == Verdict(met=False, sure=True)
    assert runs((0.85, 0.01), (0.86, 0.01)) == Verdict(met=False, sure=False)
    # Where no flow completes there is no figure, and no buffer will do.
    assert runs((0.95, None), (0.95, 0.001)) == Verdict(met=False, sure=True)
    assert Target.parse("utilization>=0.9,loss<=1%").unmet([{"utilization": 0.5, "loss_rate": 0.5}]) == (
        "utilization >= 0.9, loss <= 1%"
    )


def fluid(case: Case) -> Case:
    """A pipe of 100 packets whose utilization is 1 - 10 / (10 + B), whose delay is that of B packets of 1 ms, and
    whose completion time is 1 s / B + B / 1000 s: least, 63 ms, at the root of 1000 packets.
    """

    def measure(buffer: int, _seed: int, **_: object) -> dict[str, float | None]:
        found = {"utilization": buffer / (10 + buffer), "loss_rate": 1 / buffer, "queueing_delay_s": buffer / 1000}
        return {**dict.fromkeys(MEASURED), **found, "p95_fct_s": 1 / buffer + buffer / 1000}

    case._measure = measure  # type: ignore[method-assign,assignment]
    return case


@pytest.mark.parametrize(
    ("target", "answer", "at_most"),
    [
        ("utilization>=0.9", 90, None),  # B / (10 + B)
        ("loss<=1%", 100, None),
        ("utilization>=0.9,loss<=1%", 100, None),
        ("utilization>=0.9,mean_delay<=120ms", 90, 120),
        ("utilization>=0.9,mean_delay<=80ms", None, 80),
        ("mean_delay<=80ms", 1, 80),
        ("mean_delay<=0.5ms", None, 0),
        # 1/B + B/1000 <= 0.08: from 15.5 to 64.5.
        ("p95_fct<=80ms", 16, None),
        ("utilization>=0.75,p95_fct<=80ms", 30, None),
        ("utilization>=0.9,p95_fct<=80ms", None, None),
        ("p95_fct<=80ms,mean_delay<=10ms", None, 10),
    ],
)
def test_conditions_together_by_hand(target: str, answer: int | None, at_most: int | None) -> None:
    case = fluid(Case(Mix.parse("8 Mbit/s", "100 ms"), "newreno", 1, (Target.parse(target),), 2, 0.001))
    case.run(threading.Event())
    (row,) = case.rows
    assert (row["buffer_packets"], row["at_most_packets"]) == (answer, at_most)
    assert (row["unmet"] == "") == (answer is not None)
    # 1000 bytes take 1 ms; the pipe holds 100 packets.
    if answer is not None:
        assert (row["at_packets"], row["buffer_bytes"], row["buffer_s"]) == (answer, 1000 * answer, answer / 1000)
        assert row["buffer_bdp"] == pytest.approx(answer / 100)


def test_a_curve_has_buffers_from_a_sixty_fourth_to_two() -> None:
    case = fluid(Case(Mix.parse("12.8 Mbit/s", "40 ms"), "newreno", 1, (Target.parse(0.9),), 2, 0.5, curve=True))
    case.run(threading.Event())
    assert {1, 2, 4, 8, 16, 32, 64, 128} <= {row["buffer_packets"] for row in case.tried()}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cubic", {"cubic": 1.0}),
        ("ledbat++", {"ledbat++": 1.0}),
        ("cubic*0.7+bbr*0.3", {"cubic": 0.7, "bbr": 0.3}),
        ("ledbat++*0.25 + cubic * 0.75", {"ledbat++": 0.25, "cubic": 0.75}),
        ("ledbat+++bbr", {"ledbat++": 0.5, "bbr": 0.5}),
    ],
)
def test_parts_of_a_mix(text: str, parts: dict[str, float]) -> None:
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cubic*0.7+bbr*0.2", "must have fractions with the sum 1, got 0.9"),
        ("cubic*0.7+bbr", "require a fraction each"),
        ("cubic*x+bbr*0.3", "a fraction must be above 0, got 'x'"),
        ("cubic*0+bbr*1", "a fraction must be above 0, got '0'"),
        ("cubic+cubic", "must be named once each"),
        ("cubic*2", "must have fractions with the sum 1, got 2"),
    ],
)
def test_parts_that_are_none(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        parts_of(text)


def test_flows_of_a_mix_are_spread_over_the_rtts() -> None:
    # Of ten, seven and three; the one that is most behind its part comes next, of two alike the first.
    assert [name[0] for name in algorithms_of("cubic*0.7+bbr*0.3", 10)] == list("cbcccbccbc")
    assert Counter(algorithms_of("reno+cubic+bbr", 8)) == {"reno": 3, "cubic": 3, "bbr": 2}
    with pytest.raises(InputError, match=r"requires more than 2 flows; with 2, 'bbr' has none"):
        algorithms_of("cubic*0.9+bbr*0.1", 2)
    tree = Mix.parse("10 Mbit/s", "40 ms").scenario("cubic+newreno", 2, 9).to_dict()
    assert [flow["algorithm"] for flow in tree["flows"]] == ["cubic", "newreno"]


@pytest.mark.parametrize(
    ("queue", "sized", "expected"),
    [
        # At 10 Mbit/s 1000 bytes take 0.8 ms; 40 ms are 50 packets, of which the buffer has four times as many.
        ("codel", "target", {"name": "codel", "target": "8 ms"}),
        ({"name": "pie", "ecn": True}, "target", {"name": "pie", "ecn": True, "target": "8 ms"}),
        ("step", "threshold", {"name": "step", "threshold": "10 packets"}),
        ("red", "min_th", {"name": "red", "min_th": "10 packets"}),
        ("fq-codel", "quantum", {"name": "fq-codel", "quantum": "10000 B"}),
    ],
)
def test_a_parameter_of_the_queue_is_sized(queue: Any, sized: str, expected: dict[str, Any]) -> None:
    link = Mix.parse("10 Mbit/s", "40 ms", queue=queue, sized=sized).scenario("newreno", 1, 10).to_dict()["links"][0]
    assert (link["queue"], link["buffer"]) == (expected, "200 packets")


def test_codels_target_against_its_rfc() -> None:
    """RFC 8289, section 3.2: a Reno flow under a target of f RTTs uses (3 + 6 f - f^2) / (4 (1 + f)) of its link: .793
    at f = 1/16, 5 of 80 ms. Asked the other way round, that utilization wants about such a target.
    """
    sizing = fullpipe.size(
        "10 Mbit/s", "80 ms", flows=[1], target=[0.793], algorithms=["newreno"], queue="codel", sized="target"
    )
    (row,) = sizing.rows
    assert row["queue_target_s"] == pytest.approx(0.005, abs=0.003)
    assert row["queue_target_packets"] * 0.0008 == pytest.approx(row["queue_target_s"])
    assert "buffer_packets" not in row


def seconds(text: str) -> float:
    quantity = Quantity.parse(text)
    assert quantity is not None
    return quantity.value


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ns"),
        (1e-9, "1 ns"),
        (1.5e-6, "1.5 us"),
        (0.02, "20 ms"),
        (0.010125001, "10.125001 ms"),
        (1, "1 s"),
        (1411.2, "1411.2 s"),
        (1411200.0, "1411200 s"),
    ],
)
def test_times_have_the_unit_that_reads_best(seconds: float, text: str) -> None:
    assert _time(seconds) == text


def test_a_run_that_would_be_too_long_is_refused_in_the_users_terms() -> None:
    # 40 Gbit/s and 100 ms are 500,000 packets; half of them is a flow's epoch, in round trips; 9 epochs are a run.
    mix = Mix.parse("40 Gbit/s", "100 ms")
    with pytest.raises(InputError) as caught:
        mix.scenario("newreno", 1, 3_000_000)
    # 9 epochs of 3,500,000/2 round trips of 100 ms and 600 ms of queue.
    why = "losses are so rare that a run must simulate 1.1e+07 s; the limit is 1000000 s"
    assert str(caught.value) == f"1 flow, a BDP of 500,000 packets, and a buffer of 3,000,000 packets: {why}"


def test_no_flow_gets_anything_through() -> None:
    mix = Mix.parse("1 Mbit/s", "20 ms")
    target = Target.parse(0.9)
    case = Case(mix, "reno", 2, (target,), 2, 0.05)
    lost = {**dict.fromkeys(MEASURED), "utilization": 1.0, "loss_rate": 0.5, "queueing_delay_s": 0.008}
    case.samples = {7: [lost, lost]}
    answer = Answer(Bracket(6, 7, 6, 7), 7, None)
    row = case._row(target, answer)
    assert row["jain_index"] is None
    show(Sizing(mix, [row], pa.table({})).shown())
    case.samples = {7: [lost, {**lost, "jain_index": 0.5}]}
    assert case._row(target, answer)["jain_index"] == 0.5


def test_the_same_buffer_is_the_same_number_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """1 Mbit/s and 20 ms are 2.5 packets of 1000 bytes, which a scenario rounds to 3."""
    sizing = fullpipe.size("1 Mbit/s", "20 ms", flows=[1], target=[0.9], algorithms=["reno"])
    show(sizing.shown())
    out = capsys.readouterr().out
    assert "one BDP is 3 packets" in out
    rules = out[out.index("Analytical sizing rules") :]
    row = next(line.split() for line in rules.splitlines() if line.split()[:2] == ["0.9", "reno"])
    assert row[3:5] == ["3", "3"]  # one BDP; over the root of one flow
    scenario = sizing.mix.scenario("reno", 1, 1).replace(**{"links.bottleneck.buffer": "1 BDP"})
    assert scenario.resolved().to_dict()["links"][0]["buffer"] == "3 packets"


def test_a_mix_makes_the_scenario_it_says() -> None:
    mix = Mix.parse("155Mbit/s", "80ms..250ms", web_load=0.1)
    assert mix.bdp_packets == pytest.approx(155e6 * 0.165 / 8000)
    tree = mix.scenario("newreno", 4, 100).to_dict()
    link_s = seconds(tree["links"][0]["delay"])
    rtts = [2 * (link_s + seconds(flow["access_delay"])) for flow in tree["flows"]]
    # The middles of four equal parts of 80 to 250 ms.
    assert rtts == pytest.approx([0.10125, 0.14375, 0.18625, 0.22875])
    result = fullpipe.run(mix.scenario("newreno", 4, 100).replace(duration="40 s", warmup="4 s", flows=[]))
    # 155 Mbit/s times 0.1; sizes of Pareto shape 1.2 vary much.
    assert result.traffic["throughput_bps"][0].as_py() == pytest.approx(15.5e6, rel=0.35)


def test_flows_of_one_rtt_differ_a_little_and_have_noise() -> None:
    mix = Mix.parse("10 Mbit/s", "100 ms")
    flows = mix.scenario("newreno", 4, 50).to_dict()["flows"]
    # The middles of four equal parts of 95 to 105 ms; links take 25 ms one way, a packet 0.8 ms.
    rtts = [2 * (0.025 + float(flow["access_delay"].removesuffix(" ms")) / 1e3) for flow in flows]
    assert rtts == pytest.approx([0.09625, 0.09875, 0.10125, 0.10375])
    assert {flow["processing_time"] for flow in flows} == {"800 us"}
    (alone,) = mix.scenario("newreno", 1, 50).to_dict()["flows"]
    assert (alone["access_delay"], alone["processing_time"]) == ("25 ms", "0 ns")


def test_the_timer_has_room_above_the_rtt() -> None:
    # A satellite's 600 ms and 200 ms more.
    (flow,) = Mix.parse("10 Mbit/s", "600 ms").scenario("newreno", 1, 50).to_dict()["flows"]
    assert flow["min_rto"] == "800 ms"
    web = Mix.parse("10 Mbit/s", "100 ms..300 ms", 0.1).scenario("newreno", 1, 50).to_dict()["web"]
    assert web[0]["min_rto"] == "500 ms"


def test_ten_flows_of_one_rtt_are_not_in_step() -> None:
    # A BDP of 125 packets. If flows are synchronized, ten need the buffer of one.
    sizing = fullpipe.size(
        "20 Mbit/s", "50 ms", flows=[1, 10], target=[0.98], algorithms=["newreno"], seeds=2, precision=0.2
    )
    one, ten = (row["buffer_packets"] for row in sizing.rows)
    assert ten < 0.8 * one


def test_warm_up_and_length_by_hand() -> None:
    # 100 packets of pipe and 50 of buffer, one flow: 75 round trips of 80 + 40 ms; three left out, six measured.
    one = Mix.parse("10 Mbit/s", "80 ms")
    assert one.epoch_s(1, 50) == pytest.approx(9.0)
    assert one.warmup_s(1, 50) == pytest.approx(27.0)
    assert one.duration_s(1, 50) == pytest.approx(81.0)
    # Two flows have half of it each, and epochs of half that length; five left out, ten measured.
    assert one.duration_s(2, 50) == pytest.approx(15 * 4.5)
    # Fifty flows lose every few round trips: 50 round trips left out, 200 measured.
    assert one.duration_s(50, 50) == pytest.approx(250 * 0.08)


@pytest.mark.parametrize("algorithm", ["newreno", "adaptive-aimd"])
def test_one_flow_needs_what_theory_says(algorithm: str) -> None:
    # 10 Mbit/s, 80 ms, a pipe of 100 packets: one of them is 1 %.
    targets = [0.98, 0.999]
    sizing = fullpipe.size("10 Mbit/s", "80 ms", flows=[1], target=targets, algorithms=[algorithm], precision=0.01)
    full = {"newreno": 1.0, "adaptive-aimd": models.adaptive_aimd_buffer()}[algorithm]
    beta = {"newreno": 0.5, "adaptive-aimd": 0.8}[algorithm]
    low, high = (row["buffer_packets"] for row in sizing.rows)
    assert high == pytest.approx(100 * full, rel=0.05)
    # Whole packets cost up to 5 more: the closed form is a fluid's.
    assert 0 <= low - 100 * models.aimd_buffer(0.98, beta) <= 6
    assert [row["seeds"] for row in sizing.rows] == [1, 1]
    assert [row["too_small_packets"] for row in sizing.rows] == [low - 1, high - 1]


def test_unsynchronized_flows_need_less_than_one() -> None:
    sizing = fullpipe.size(
        "20 Mbit/s", "40 ms..120 ms", flows=[1, 40], target=[0.98], algorithms=["newreno"], seeds=3, precision=0.2
    )
    one, forty = (row["buffer_packets"] for row in sizing.rows)
    assert forty < one / 2
    assert sizing.rows[1]["rule_sqrt_packets"] == pytest.approx(20e6 * 0.08 / 8000 / math.sqrt(40))


def test_what_is_measured_at_the_answer_is_what_its_scenario_gives(tmp_path: Path) -> None:
    sizing = fullpipe.size("2 Mbit/s", "40 ms", flows=[1], target=[0.9], algorithms=["newreno"])
    (row,) = sizing.rows
    sizing.save(tmp_path / "out")
    result = fullpipe.run(Scenario.load(tmp_path / "out/scenarios/newreno-1-0.9.toml"))
    link = result.links.to_pylist()[0]
    assert row["utilization"] == link["utilization"]
    assert row["loss_rate"] == link["loss_rate"]
    assert row["queueing_delay_s"] == pytest.approx(link["mean_queue_packets"] * 0.004)
    # 1000 bytes take 4 ms at 2 Mbit/s.
    assert row["buffer_bytes"] == 1000 * row["buffer_packets"]
    assert row["buffer_s"] == pytest.approx(0.004 * row["buffer_packets"])
    assert row["jain_index"] == 1.0


def test_the_command(program: Program, tmp_path: Path) -> None:
    done = program("size", *SMALL, "--plot", "p.png", "--out", "out", "--web-load", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("BDP/√n", "newreno", "Warmup (s)", "Mean queueing delay (ms)", "p95 completion", "asking for 10 %"):
        assert word in done.stdout
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads((tmp_path / "out/size.json").read_text())["rows"]
    assert rows == pq.read_table(tmp_path / "out/answers.parquet").to_pylist()
    tried = pq.read_table(tmp_path / "out/runs.parquet").to_pylist()
    for row in rows:
        of_case = [run for run in tried if run["flows"] == row["flows"]]
        at = [run["utilization"] for run in of_case if run["buffer_packets"] == row["buffer_packets"]]
        assert len(at) == row["seeds"]
        assert sum(at) / len(at) == pytest.approx(row["utilization"])
    again = program("size", *SMALL, "--json", "--web-load", "0.1")
    assert json.loads(again.stdout)["rows"] == rows


def test_a_buffer_is_as_large_as_its_worst_delay_allows() -> None:
    """At 8 Mbit/s a packet of 1000 bytes takes 1 ms. In a buffer of B packets, every sender waits at most B ms, and one
    flow of NewReno fills it once per cycle.
    """
    targets = ["max_delay<=30ms", "utilization>=0.9,p99_delay<=30ms"]
    sizing = fullpipe.size("8 Mbit/s", "40 ms", flows=[1], target=targets, algorithms=["newreno"], precision=0.01)
    longest, together = sizing.rows
    assert longest["at_most_packets"] == pytest.approx(30, abs=1)
    assert longest["buffer_packets"] == 1
    assert together["utilization"] >= 0.9
    assert together["p99_queueing_delay_s"] <= 0.03
    assert together["buffer_packets"] <= together["at_most_packets"]
    assert together["at_most_packets"] >= longest["at_most_packets"]
    for row in sizing.runs.to_pylist():
        assert row["p50_queueing_delay_s"] <= row["p99_queueing_delay_s"] <= row["max_queueing_delay_s"]
        assert row["max_queueing_delay_s"] <= 0.001 * (row["buffer_packets"] + 1)


def test_completion_times_are_those_of_web_transfers() -> None:
    """10 Mbit/s and 40 ms; 12 kB on average take longer than a round trip."""
    sizing = fullpipe.size(
        "10 Mbit/s", "40 ms", flows=[2], target=["utilization>=0.9,mean_fct<=1s"], algorithms=["newreno"], web_load=0.1
    )
    (row,) = sizing.rows
    at = [run["mean_fct_s"] for run in sizing.runs.to_pylist() if run["buffer_packets"] == row["at_packets"]]
    assert 0.04 < row["mean_fct_s"] < 1
    assert row["mean_fct_s"] == pytest.approx(sum(at) / len(at))
    result = fullpipe.run(sizing.mix.scenario("newreno", 2, row["at_packets"]))
    assert at[0] == result.figures()["web.mean_completion_s"]
    # Of 20 transfers or more the 95th percentile is not the longest, nor below half of them.
    times = sorted(
        row["completion_s"]
        for row in result.transfers.to_pylist()
        if not row["in_warmup"] and not math.isnan(row["completion_s"])
    )
    p95 = next(run["p95_fct_s"] for run in sizing.runs.to_pylist() if run["buffer_packets"] == row["at_packets"])
    assert len(times) >= 20
    assert p95 == times[math.ceil(0.95 * len(times)) - 1]


def test_the_command_with_a_queue(program: Program, tmp_path: Path) -> None:
    """CoDel allows one Reno flow no queue that is longer than its target for an interval. At 80 ms and 5 ms, RFC 8289,
    section 3.2, gives (3 + 6 f - f^2) / (4 (1 + f)) with f = 1/16, .793, for every buffer.
    """
    asked = ["--rate", "10Mbit/s", "--rtt", "80ms", "--flows", "1", "--target", "0.9", "--algorithms", "newreno"]
    done = program("size", *asked, "--queue", "codel", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "RTT 80.0 ms, codel; one BDP" in done.stdout
    answer = json.loads((tmp_path / "out/size.json").read_text())
    assert (answer["mix"]["queue"], answer["rows"][0]["buffer_packets"]) == ("codel", None)
    assert json.loads(program("size", *asked, "--json").stdout)["rows"][0]["buffer_packets"] < 100
    wrong = program("size", *asked, "--queue", "coddle")
    assert wrong.returncode == 2
    assert 'links[0].queue: unknown queue "coddle"; did you mean "codel"?' in wrong.stderr


def swap(option: str, value: str) -> list[str]:
    place = SMALL.index(option) + 1
    return [*SMALL[:place], value, *SMALL[place + 1 :]]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (swap("--rate", "155"), "155"),
        (swap("--rate", "155ms"), "rate"),
        (swap("--rate", "-1Mbit/s"), "rate"),
        (swap("--rtt", "80"), "rtt"),
        (swap("--rtt", "250ms..80ms"), "rtt must have the shorter RTT first"),
        (swap("--rtt", "1us"), "at least 1 packet"),
        (swap("--flows", "0"), "flows must be in [1, 100000], got 0"),
        (swap("--flows", "many"), "whole numbers"),
        (swap("--flows", "2,2"), "each value once"),
        (swap("--target", "98"), "got 98: write 0.98"),
        (swap("--target", "0.9,0.90"), "target must have each value once"),
        (swap("--target", ","), "target requires at least one value"),
        (swap("--target", "p95_fct<=1s"), "conditions on completion times require a web load"),
        ([*SMALL, "--queue", "codel.tarqet"], "unknown size of codel 'tarqet'; did you mean 'target'?"),
        ([*SMALL, "--queue", "codel.ecn"], "unknown size of codel 'ecn'"),
        ([*SMALL, "--queue", "drop-tail.target"], "drop-tail has no parameter to size"),
        (swap("--algorithms", "cubic*0.5"), "the sum 1, got 0.5"),
        (swap("--algorithms", "cubic*0.9+bbr*0.1"), "'bbr' has none"),
        ([*SMALL, "--curve", "p.bmp"], ".bmp"),
        (swap("--target", "1"), "in (0, 1)"),
        (swap("--algorithms", "newrneo"), 'did you mean "newreno"'),
        (swap("--algorithms", ","), "algorithms requires at least one value"),
        ([*SMALL, "--web-load", "1"], "web_load"),
        ([*SMALL, "--seeds", "1"], "seeds"),
        ([*SMALL, "--precision", "0"], "precision"),
        ([*SMALL, "--plot", "p.bmp"], ".bmp"),
        (SMALL[2:], "--rate"),
    ],
)
def test_bad_input(arguments: list[str], names: str) -> None:
    with pytest.raises((InputError, click.UsageError)) as caught:
        fullpipe_command.main(["size", *arguments], standalone_mode=False)
    error = caught.value
    (line,) = (error.format_message() if isinstance(error, click.UsageError) else str(error)).splitlines()
    assert names in line


def test_bad_input_on_the_command_line(program: Program, tmp_path: Path) -> None:
    done = program("size", *swap("--target", "98"), "--plot", "p.png", "--out", "out", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fullpipe: target must be in (0, 1), got 98: write 0.98 for 98 %\n"
    assert list(tmp_path.iterdir()) == []


def linux_of(given: Any, *_: Any, **__: Any) -> Any:
    """Tables of the simulator without those that a kernel does not measure."""
    tables = simulate(Scenario.of(given), None, lambda _: None)
    links = {**tables["links"]}
    for percent in (50, 95, 99):
        links[f"p{percent}_queueing_delay_s"] = [None] * len(links["name"])
    return {**tables, "links": links}


def test_the_engine_of_a_sizing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[object] = []
    monkeypatch.setattr(linux, "run", lambda *given, **more: calls.append(given) or linux_of(*given, **more))
    asked: dict[str, Any] = {"flows": [1], "algorithms": ["reno"], "precision": 0.5, "out": tmp_path / "out"}
    here = fullpipe.size("10 Mbit/s", "20 ms", target=[0.9], **asked)
    assert not calls
    there = fullpipe.size("10 Mbit/s", "20 ms", target=[0.9], engine="linux", **asked)
    assert len(calls) == len(there.runs)  # no run of the simulator is taken for one of the kernel
    assert there.rows[0]["buffer_packets"] == here.rows[0]["buffer_packets"]
    with pytest.raises(InputError, match=r"p99_delay <= 5ms': the engine linux does not measure that"):
        fullpipe.size("10 Mbit/s", "20 ms", target=["p99_delay<=5ms"], engine="linux", **asked)
