"""Buffer sizing: the search, the scenarios it makes, one flow against theory, the command."""

from __future__ import annotations

import json
import math
import random
import threading
from pathlib import Path

import click
import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import Program
from fullpipe import Scenario, models
from fullpipe.cli import fullpipe_command
from fullpipe.cli.size import _print
from fullpipe.errors import InputError
from fullpipe.scenario.quantity import Quantity
from fullpipe.study.size import Mix, Sizing
from fullpipe.study.size.mix import _time
from fullpipe.study.size.search import Bracket, Samples, smallest
from fullpipe.study.size.sizing import Search

SMALL = ["--rate", "2Mbit/s", "--rtt", "20ms..60ms", "--flows", "2,4", "--target", "0.9", "--algorithms", "newreno"]


def test_the_search_ends_within_its_precision_and_shares_samples() -> None:
    calls: list[int] = []

    def measure(buffer: int, _seed: int) -> float:
        calls.append(buffer)
        return 1 - 30 / (buffer + 30)  # 0.9 at 270, 0.95 at 570

    samples: Samples = {}
    for target, answer in ((0.9, 270), (0.95, 570)):
        found = smallest(measure, target, samples=samples, guess=10, most=5000, seeds=1, precision=0.01)
        assert found.low is not None
        assert found.high is not None
        assert found.low < answer <= found.high
        assert found.high - found.low <= max(1, 0.01 * found.low)
        assert (found.sure_low, found.sure_high) == (found.low, found.high)
    assert len(calls) == len(set(calls)) < 40


def test_the_search_at_its_ends() -> None:
    everything = smallest(lambda _b, _s: 1.0, 0.9, samples={}, guess=50, most=100, seeds=1, precision=0.05)
    assert (everything.low, everything.high) == (None, 1)
    nothing = smallest(lambda _b, _s: 0.5, 0.9, samples={}, guess=50, most=100, seeds=1, precision=0.05)
    assert (nothing.low, nothing.high) == (100, None)


def test_noise_costs_seeds_where_the_target_is_near() -> None:
    chance = random.Random(5)

    def measure(buffer: int, _seed: int) -> float:
        return buffer / 1000 + chance.gauss(0, 0.01)

    samples: Samples = {}
    found = smallest(measure, 0.5, samples=samples, guess=100, most=4000, seeds=6, precision=0.02)
    assert found.high is not None
    assert found.high == pytest.approx(500, rel=0.05)
    assert found.sure_low is not None
    assert found.sure_high is not None
    assert found.sure_low < found.high <= found.sure_high
    assert all(2 <= len(values) <= 6 for values in samples.values())
    assert len(samples[100]) < 6
    assert max(len(values) for values in samples.values()) == 6


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
    why = "lose so seldom that a run takes 1.1e+07 s (allowed: at most 1000000 s)"
    assert str(caught.value) == f"1 flow over 500,000 packets of pipe and 3,000,000 of buffer {why}"


def test_no_flow_gets_anything_through() -> None:
    mix = Mix.parse("1 Mbit/s", "20 ms")
    search = Search(mix, "reno", 2, (0.9,), 2, 0.05, threading.Event())
    lost = {"utilization": 1.0, "loss_rate": 0.5, "mean_queue_packets": 1.0, "jain_index": None}
    search._figures = {(7, 0): lost, (7, 1): lost}
    row = search._row(0.9, Bracket(6, 7, 6, 7))
    assert row["jain_index"] is None
    _print(Sizing(mix, [row], []))
    search._figures[7, 1] = {**lost, "jain_index": 0.5}
    assert search._row(0.9, Bracket(6, 7, 6, 7))["jain_index"] == 0.5


def test_the_same_buffer_is_the_same_number_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """1 Mbit/s and 20 ms are 2.5 packets of 1000 bytes, which a scenario rounds to 3."""
    sizing = fullpipe.size("1 Mbit/s", "20 ms", flows=[1], target=[0.9], algorithms=["reno"])
    _print(sizing)
    out = capsys.readouterr().out
    assert "one BDP is 3 packets" in out
    (row,) = [line.split() for line in out.splitlines() if line.split()[:2] == ["0.9", "reno"] and ".." in line]
    assert row[-5:-3] == ["3", "3"]  # one BDP; over the root of one flow
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
    # A pipe of 125 packets. In step, ten need what one does.
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
    for word in ("BDP/√n", "newreno", "warm-up", "queueing delay", "asking for 10 %"):
        assert word in done.stdout
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads((tmp_path / "out/size.json").read_text())["rows"]
    assert rows == pq.read_table(tmp_path / "out/size.parquet").to_pylist()
    tried = pq.read_table(tmp_path / "out/tried.parquet").to_pylist()
    for row in rows:
        of_case = [run for run in tried if run["flows"] == row["flows"]]
        at = [run["utilization"] for run in of_case if run["buffer_packets"] == row["buffer_packets"]]
        assert len(at) == row["seeds"]
        assert sum(at) / len(at) == pytest.approx(row["utilization"])
    again = program("size", *SMALL, "--json", "--web-load", "0.1")
    assert json.loads(again.stdout)["rows"] == rows


def test_the_command_with_a_queue(program: Program, tmp_path: Path) -> None:
    """CoDel allows one Reno flow no queue that stands for longer than its target: at 80 ms and 5 ms RFC 8289, section
    3.2, gives (3 + 6 f - f^2) / (4 (1 + f)) with f = 1/16, .793, whatever the buffer.
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
        (swap("--rtt", "250ms..80ms"), "the shorter RTT comes first"),
        (swap("--rtt", "1us"), "less than a packet"),
        (swap("--flows", "0"), "flows = 0"),
        (swap("--flows", "many"), "whole numbers"),
        (swap("--flows", "2,2"), "twice"),
        (swap("--target", "98"), "target = 98"),
        (swap("--target", "1"), "below 1"),
        (swap("--algorithms", "newrneo"), 'did you mean "newreno"'),
        (swap("--algorithms", ","), "algorithms: there are none"),
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
    assert done.stderr == "fullpipe: target = 98 (allowed: above 0, below 1; 0.98 for 98 %)\n"
    assert list(tmp_path.iterdir()) == []
