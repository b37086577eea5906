"""Advice: services and their metrics, shortfalls by hand, the recommendation, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fullpipe
from conftest import Program
from fullpipe import Advice, InputError, Scenario
from fullpipe.experiments.advise.mixes import USERS, mix
from fullpipe.experiments.advise.services import Service, measured, services_of, shortfall
from fullpipe.experiments.recommendation import Buffer
from fullpipe.experiments.sizing.synchrony import SYNCHRONIZED

MIX: dict[str, Any] = {
    "duration": "8 s",
    "warmup": "2 s",
    "packet_size": 1500,
    "links": [{"name": "l", "rate": "12 Mbit/s", "delay": "10 ms", "buffer": "30 packets"}],
    "flows": [
        {"name": "downloads", "algorithm": "cubic", "count": 2, "start": "0 s..1 s"},
        {"name": "call", "algorithm": "cubic", "source": {"frames": "30/s", "size": "3000 B"}},
        {"name": "video", "algorithm": "cubic", "source": {"video": ["400 kbit/s"], "segment": "1 s", "buffer": "5 s"}},
        {"name": "api", "algorithm": "cubic", "source": {"requests": "exponential 1 s", "size": "20 kB"}},
        {"name": "sensor", "algorithm": "cubic", "source": {"rate": "100 kbit/s"}},
        {"name": "backup", "algorithm": "cubic", "size": "100 kB", "start": "3 s"},
    ],
    "udp": [
        {"name": "voice", "rate": "1 Mbit/s", "packet_size": 200, "frames": {"per_second": 50, "size": "200 B"}},
        {"name": "telemetry", "rate": "100 kbit/s", "packet_size": 500},
    ],
    "web": [{"algorithm": "cubic", "sessions": 3, "mean_gap": "1 s", "mean_size": "20 kB", "shape": 1.5}],
}


def test_each_service_has_the_metric_that_its_users_notice() -> None:
    assert [each.column for each in services_of(Scenario.from_dict(MIX))] == [
        "groups.downloads.mean_goodput_bps",
        "groups.call.p99_frame_delay_s",
        "groups.video.rebuffer_ratio",
        "groups.api.request_completion_s",
        "groups.sensor.p99_rtt_s",
        "groups.backup.p95_s",
        "udp.voice.p99_frame_delay_s",
        "udp.voice.frame_loss_rate",
        "udp.telemetry.loss_rate",
        "web.p95_s",
    ]


def test_a_run_has_a_value_for_each_service() -> None:
    result = fullpipe.run(Scenario.from_dict(MIX))
    row = measured(result)
    assert all(row[each.column] is not None for each in services_of(result.scenario))
    flows = [flow["goodput_bps"] for flow in result.flows.to_pylist() if flow["name"] == "downloads"]
    assert row["groups.downloads.mean_goodput_bps"] == pytest.approx(sum(flows) / 2)
    (backup,) = [each for each in result.transfers.to_pylist() if each["group"] == "backup"]
    assert row["groups.backup.p95_s"] == backup["completion_s"]
    voice = result.traffic.to_pylist()[0]
    assert row["udp.voice.frame_loss_rate"] == pytest.approx(1 - voice["received_frames"] / voice["sent_frames"])


GOODPUT = Service("d", "groups.d.mean_goodput_bps")
FRAMES = Service("c", "groups.c.p99_frame_delay_s")


@pytest.mark.parametrize(
    ("goodput", "delay", "expected"),
    [
        (8e6, 0.04, 0.0),
        (4e6, 0.04, 1.0),  # half the goodput
        (8e6, 0.09, 1.0),  # (90 + 10 ms) / (40 + 10 ms): 10 ms are not noticed
        (4e6, 0.19, 3.0),  # the worse of the two
        (0.0, 0.04, float("inf")),
        (8e6, None, float("inf")),
    ],
)
def test_the_shortfall_is_that_of_the_service_that_suffers_most(
    goodput: float, delay: float | None, expected: float
) -> None:
    own = {GOODPUT.column: goodput, FRAMES.column: delay}
    assert shortfall([GOODPUT, FRAMES], own.get, {GOODPUT.column: 8e6, FRAMES.column: 0.04}) == pytest.approx(expected)


def advice(rows: list[tuple[str, int, float, float]], loss: float = 0.0) -> Advice:
    """Advice from goodput and delay by queue and seed."""
    links = {
        queue: {"name": "l", "rate": "12 Mbit/s", "buffer": "40 packets", "queue": queue}
        for queue in dict.fromkeys(row[0] for row in rows)
    }
    runs = [
        {
            "run": i,
            "queue": queue,
            "seed": seed,
            GOODPUT.column: goodput,
            FRAMES.column: delay,
            "p99_queueing_delay_s": 0.02,
            "loss_rate": loss,
            "utilization": 0.97,
        }
        for i, (queue, seed, goodput, delay) in enumerate(rows)
    ]
    return Advice(Scenario.from_dict(MIX), "l", links, [GOODPUT, FRAMES], pa.Table.from_pylist(runs))


CLEAR = [
    ("drop-tail", 1, 8e6, 0.19),
    ("drop-tail", 2, 8e6, 0.24),
    ("drop-tail", 3, 8e6, 0.29),
    ("ared", 1, 7.2e6, 0.04),
    ("ared", 2, 7.2e6, 0.04),
    ("ared", 3, 7.2e6, 0.04),
]


def test_the_queue_with_the_smallest_shortfall_is_recommended() -> None:
    found = advice(CLEAR)
    assert found.best == "ared"
    # 8/7.2 - 1 of the goodput; and (190 + 10)/(40 + 10) - 1 = 3, then 4 and 5, of the delay.
    assert found.shortfalls["ared"].mean == pytest.approx(1 / 9)
    assert found.shortfalls["drop-tail"].mean == pytest.approx(4)
    said = found.recommendation
    assert said.queue == "ared"
    assert said.buffer == Buffer(40, 60_000, 0.04)
    assert "p99 frame delay of c 40.0 ms" in said.cost
    assert 'The service "d" suffers most: its best queue reaches mean goodput of d 8.00 Mbit/s' in said.cost
    # Differences of 3 - 1/9, 4 - 1/9, 5 - 1/9: the interval is 4.303 / sqrt(3) = 2.484.
    assert (
        "ared is the best of 2 queues in 3 of 3 seeds. The shortfall of drop-tail, the second, is 389 ± 248 percentage "
        "points larger" in (said.certainty)
    )
    assert "as good" not in said.certainty
    assert said.warnings == ()


def test_a_queue_is_as_good_only_if_the_interval_is_narrow() -> None:
    # Delays of 50 and 60 ms with the 10 ms that are added: shortfalls of 0 and .2, whose interval is wide.
    rows = [("drop-tail", seed, 8e6, 0.04) for seed in (1, 2)]
    wide = advice([*rows, ("ared", 1, 8e6, 0.05), ("ared", 2, 8e6, 0.04)]).recommendation
    assert wide.queue == "drop-tail"
    assert "cannot tell the two apart" in wide.certainty
    assert "as good" not in wide.certainty
    # 50.2 ms and 50 ms: .004 and 0; with t = 12.7 the interval ends at .002 + .025.
    narrow = advice([*rows, ("ared", 1, 8e6, 0.0402), ("ared", 2, 8e6, 0.04)]).recommendation
    assert narrow.queue == "drop-tail"
    assert "ared is as good" in narrow.certainty


def test_loss_above_one_percent_has_a_warning() -> None:
    assert advice(CLEAR, loss=0.011).recommendation.warnings == ("the link loses 1.1 % of the packets, more than 1 %.",)


def test_synchronized_flows_have_a_warning() -> None:
    found = advice(CLEAR)
    found.correlation = 0.31
    (said,) = found.recommendation.warnings
    assert said.startswith("the flows are synchronized: their windows have a correlation of 0.31.")
    alone = {**MIX, "flows": MIX["flows"][1:2], "web": []}
    assert fullpipe.advise(alone, queues=["drop-tail"], seeds=2).correlation is None


def test_two_equal_flows_over_a_drop_tail_queue_are_synchronized() -> None:
    equal = {**MIX, "duration": "20 s", "flows": [{"algorithm": "newreno", "count": 2}], "udp": [], "web": []}
    found = fullpipe.advise(equal, queues=["drop-tail"], seeds=2)
    assert found.correlation is not None
    assert found.correlation > SYNCHRONIZED
    assert "synchronized" in found.recommendation.text()


def test_the_change_from_the_present_queue_and_the_traffic_are_named() -> None:
    present = "as it is: drop-tail, 30 packets"
    said = advice([(present if row[0] == "drop-tail" else row[0], *row[1:]) for row in CLEAR]).recommendation
    # Means of CLEAR: (190 + 240 + 290) / 3 = 240 ms.
    assert said.change == ("Mean goodput of d from 8.00 to 7.20 Mbit/s and p99 frame delay of c from 240.0 to 40.0 ms.")
    assert f"Change from your queue: {said.change}" in said.text()
    assert advice(CLEAR).recommendation.change == ""
    assert said.assumptions.startswith(
        "The traffic over 12 Mbit/s is 2 downloads (cubic, bulk), 1 call (cubic, frames: 30/s of 3000 B), 1 video "
        "(cubic, video of 400 kbit/s), 1 api (cubic, requests: gaps exponential 1 s, size 20 kB), "
        "1 sensor (cubic, 100 kbit/s), 1 backup (cubic, size 100 kB), 1 voice (UDP, frames: 50/s of 200 B), "
        "1 telemetry (UDP, 100 kbit/s), and 3 web users (cubic, transfers of 20 kB on average), measured for 6 s after "
        "2 s."
    )


def test_calls_are_counted_in_runs_where_all_stay_under_50_ms() -> None:
    rows = [("drop-tail", 1, 8e6, 0.049), ("drop-tail", 2, 8e6, 0.051), ("ared", 1, 8e6, 0.05), ("ared", 2, 8e6, 0.05)]
    found = advice(rows)
    assert found.calls == {"drop-tail": 0.5, "ared": 1.0}
    assert found.best == "drop-tail"
    assert "Calls stay under 50 ms (99 % of their frames) in 50 % of the runs." in found.recommendation.cost
    assert json.loads(found.to_json())["calls"] == found.calls


def test_a_mix_is_scaled_to_the_link_and_its_users() -> None:
    """The home has 5 users, 2 downloads, one call, and 5 web users; 250 packets at 20 Mbit/s."""
    tree = mix("40 Mbit/s", rtt="30 ms", users=10).to_dict()
    (link,) = tree["links"]
    assert (link["rate"], link["delay"], link["buffer"]) == ("40 Mbit/s", "0.015 s", "500 packets")
    assert [flow.get("count", 1) for flow in tree["flows"]] == [4, 2, 2, 2]
    assert (tree["udp"][0]["count"], tree["web"][0]["sessions"]) == (2, 10)
    alone = mix("20 Mbit/s", users=1, buffer="1 BDP").to_dict()
    assert [flow["count"] for flow in alone["flows"]] == [1, 1, 1, 1]
    assert (alone["web"][0]["sessions"], alone["links"][0]["buffer"]) == (1, "1 BDP")
    half = mix("5 Gbit/s", name="backbone", users=2500).to_dict()
    assert (half["flows"][0]["count"], half["web"][0]["transfers_per_second"]) == (2500, 1250)


@pytest.mark.parametrize("name", USERS)
def test_each_mix_has_a_link_with_a_rate(name: str) -> None:
    assert mix("1 Gbit/s", name=name).to_dict()["links"][0]["rate"] == "1 Gbit/s"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "requires FILE or --rate"),
        (["--rate", "20"], "rate requires a value with a unit, e.g. '50 Mbit/s', got '20'"),
        (["--rate", "20 Mbit/s", "--rtt", "4"], "rtt requires a value with a unit, e.g. '40 ms', got '4'"),
        (["--rate", "20 Mbit/s", "--users", "0"], "users must be in [1, 100000], got 0"),
        (["--rate", "20 Mbit/s", "--mix", "hom"], "unknown mix 'hom'; did you mean 'home'?"),
        (["--rate", "20 Mbit/s", "--buffer", "much"], "buffer"),
        (["mix.toml", "--rate", "20 Mbit/s"], "--rate conflicts with FILE"),
        (["mix.toml", "--users", "2"], "--users requires --rate"),
    ],
)
def test_options_of_a_link_are_checked(program: Program, arguments: list[str], said: str) -> None:
    done = program("advise", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_the_command_makes_a_scenario_from_a_rate(program: Program) -> None:
    options = [
        "--rtt",
        "20 ms",
        "--users",
        "1",
        "--duration",
        "11 s",
        "--queues",
        "drop-tail",
        "--seeds",
        "2",
        "--json",
    ]
    done = program("advise", "--rate", "10 Mbit/s", *options)
    found = json.loads(done.stdout)
    assert found["scenario"]["links"][0]["rate"] == "10 Mbit/s"
    assert found["scenario"]["duration"] == "11 s"
    assert next(iter(found["queues"])) == "as it is: drop-tail, 125 packets"


def test_the_plot_fills_the_marks_that_no_queue_beats() -> None:
    rows = [*CLEAR, *(("pie", seed, 7e6, 0.3) for seed in (1, 2, 3))]
    (axes,) = advice(rows).plot().axes
    marks = {str(each.get_label()): each.lines[0] for each in axes.containers}
    assert list(marks) == ["drop-tail", "ared (recommended)", "pie"]
    assert [mark.get_markerfacecolor() == mark.get_color() for mark in marks.values()] == [True, True, False]
    assert marks["ared (recommended)"].get_xdata()[0] == pytest.approx(40)
    assert axes.get_xlabel() == "p99 frame delay of c (ms)"
    assert axes.get_title(loc="left").startswith(
        "Calls stay under 50 ms in 100 % of the runs with ared, and in 0 % today"
    )
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [pytest.approx(50)]


def test_advice_is_saved_and_loaded(tmp_path: Path) -> None:
    found = fullpipe.advise(MIX, queues=["drop-tail", "fq-codel"], seeds=2, out=tmp_path / "out")
    again = Advice.load(tmp_path / "out")
    assert again.to_json() == found.to_json()
    assert again.shown() == found.shown()
    assert found.labels == ("queue",)
    labels = list(dict.fromkeys(found.runs["queue"].to_pylist()))
    assert labels[0] == "as it is: drop-tail, 30 packets"
    assert labels[1:] == [*(f"drop-tail {bdp} BDP" for bdp in ("0.25", "0.5", "1", "2")), "fq-codel"]
    # One BDP is 12 Mbit/s times 20 ms over 1500 bytes.
    assert found.links_by_queue["drop-tail 2 BDP"]["buffer"] == "40 packets"


def test_a_queue_that_is_the_scenarios_own_is_compared_once() -> None:
    same = {**MIX, "links": [{**MIX["links"][0], "buffer": "20 packets"}]}
    found = fullpipe.advise(same, queues=["drop-tail"], seeds=2)
    labels = list(dict.fromkeys(found.runs["queue"].to_pylist()))
    assert labels == ["as it is: drop-tail, 20 packets", *(f"drop-tail {bdp} BDP" for bdp in ("0.25", "0.5", "2"))]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"queues": ["fq-codle"]}, "unknown queue 'fq-codle'; did you mean 'fq-codel'"),
        ({"queues": ["pie", "pie"]}, "once each"),
        ({"queues": []}, "requires at least one value"),
        ({"link": "m"}, "unknown link 'm'"),
        ({"seeds": 1}, "seeds must be in [2, 1000], got 1"),
    ],
)
def test_bad_input(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        fullpipe.advise(MIX, **given)
    assert said in str(caught.value)


def test_the_command_prints_json_and_plots(program: Program, tmp_path: Path) -> None:
    (tmp_path / "mix.toml").write_text(Scenario.from_dict(MIX).to_toml(), encoding="utf-8")
    arguments = [str(tmp_path / "mix.toml"), "--queues", "drop-tail,codel", "--seeds", "2"]
    done = program("advise", *arguments, "--json", "--plot", str(tmp_path / "a.svg"))
    found = json.loads(done.stdout)
    assert found["recommendation"]["queue"] in ("drop-tail", "codel")
    assert found["best"] in found["shortfalls"]
    assert (tmp_path / "a.svg").exists()
