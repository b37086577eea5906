"""Recommendations of a sizing: sentences and numbers from answers written by hand, and the correlation of windows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fullpipe
from fullpipe.experiments.recommendation import Buffer, tc_line
from fullpipe.experiments.sizing import Mix, Sizing
from fullpipe.experiments.sizing.advice import first_choice
from fullpipe.experiments.sizing.synchrony import SYNCHRONIZED, correlation

LINK = {"rate": "10 Mbit/s", "buffer": "50 packets", "queue": "drop-tail"}

MIX = Mix.parse("12 Mbit/s", "40 ms", packet_size=1500)
"""Link of 40 packets per bandwidth-delay product, 1 ms each."""


def answer(flows: int, packets: int | None, **changes: Any) -> dict[str, Any]:
    """Answer of a sizing."""
    row: dict[str, Any] = {
        "target": "0.98",
        "algorithm": "newreno",
        "flows": flows,
        "buffer_packets": packets,
        "buffer_bdp": None if packets is None else packets / 40,
        "at_packets": packets or 160,
        "at_most_packets": None,
        "sure_low_packets": 17,
        "sure_high_packets": 25,
        "unmet": "" if packets else "utilization >= 0.98",
        "seeds": 4,
        "utilization": 0.981,
        "utilization_ci95": 0.004,
        "loss_rate": 0.004,
        "queueing_delay_s": 0.0074,
        "p99_queueing_delay_s": 0.018,
        "p95_fct_s": None,
        "jain_index": 0.97,
        "window_correlation": 0.02,
    }
    return row | changes


def sized(*rows: dict[str, Any]) -> Sizing:
    return Sizing(MIX, rows, pa.table({"algorithm": ["newreno"], "flows": [2], "buffer_packets": [20], "seed": [1]}))


def test_the_largest_answer_is_recommended_with_cost_and_certainty() -> None:
    (found,) = sized(answer(4, 20), answer(16, 8)).recommendations
    assert found.buffer == Buffer(20, 30_000, 0.02)
    assert found.queue == "drop-tail"
    assert found.tc == "tc qdisc replace dev IFACE root pfifo limit 19"
    assert found.action == (
        "Use a buffer of 20 packets (20.0 ms, 30,000 bytes, 0.5 BDP). 4 flows need that much; 16 need 8."
    )
    assert found.cost == (
        "The utilization is 98.1 ± 0.4 %, with loss 0.4 %, mean queueing delay 7.4 ms, and p99 queueing delay 18.0 ms."
    )
    assert found.certainty.startswith("17 packets clearly miss the target, and 25 clearly meet it")
    assert "4 and 16 newreno flows" in found.assumptions
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loss_rate": 0.0101}, "loses 1.01 %"),
        ({"window_correlation": 0.55}, "synchronized (correlation of windows 0.55)"),
        ({"sure_high_packets": None}, "within the noise"),
    ],
)
def test_an_answer_with_loss_or_synchronized_flows_has_a_warning(changes: dict[str, Any], said: str) -> None:
    (found,) = sized(answer(4, 20, **changes)).recommendations
    (warning,) = found.warnings
    assert said in warning
    assert f"Warning: {warning}" in found.text()


def test_a_target_that_one_number_of_flows_cannot_meet_has_a_warning() -> None:
    (found,) = sized(answer(4, 20), answer(2, None)).recommendations
    assert found.buffer is not None
    assert found.warnings == (
        "with 2 flows, no buffer up to 4 BDP meets the target; at 160 packets it misses utilization >= 0.98.",
    )


def test_conditions_on_delay_that_contradict_have_a_warning() -> None:
    (found,) = sized(answer(4, 20, at_most_packets=30), answer(2, 8, at_most_packets=12)).recommendations
    assert found.warnings == ("with 2 flows, at most 12 packets meet the limits on delay.",)


def test_without_an_answer_nothing_is_recommended() -> None:
    (found,) = sized(answer(2, None)).recommendations
    assert (found.buffer, found.tc) == (None, None)
    assert found.action == "No buffer up to 4 BDP meets the target."


def test_json_and_tables_have_the_recommendation() -> None:
    sizing = fullpipe.size("2 Mbit/s", "40 ms", flows=[4], target=[0.9], algorithms=["newreno"], seeds=2)
    (plain,) = sizing.to_dict()["recommendations"]  # type: ignore[misc]
    packets = sizing.rows[0]["buffer_packets"]
    assert plain["buffer"] == {"packets": packets, "bytes": 1000 * packets, "seconds": pytest.approx(packets * 0.004)}
    assert plain["case"] == "newreno, target 0.9"
    assert sizing.shown()[-2:] == [sizing.recommendations[0].text(), first_choice(sizing.mix, sizing.rows)]


@pytest.mark.parametrize(
    ("packets", "said"),
    [
        (20, "use 40 packets (40.0 ms, 60,000 bytes): one BDP, with which even one flow"),
        (55, "use 55 packets (55.0 ms, 82,500 bytes): the largest answer above."),
    ],
)
def test_without_knowledge_of_the_traffic_one_bdp_or_the_largest_answer_is_advised(packets: int, said: str) -> None:
    last = first_choice(MIX, [answer(4, packets), answer(16, 8)])
    assert last is not None
    assert said in last
    assert f"fullpipe advise --rate '12 Mbit/s' --rtt '40 ms' --buffer '{max(packets, 40)} ms'" in last


def test_the_longest_round_trip_sets_the_bdp() -> None:
    last = first_choice(Mix.parse("12 Mbit/s", "20 ms..60 ms", packet_size=1500), [answer(4, 20)])
    assert last is not None
    # 12 Mbit/s for 60 ms are 90,000 bytes: 60 packets of 1500.
    assert "use 60 packets (60.0 ms, 90,000 bytes): one BDP of the longest RTT, 60 ms, with which" in last
    assert "--rtt '40 ms'" in last


def test_a_sized_parameter_has_no_first_choice() -> None:
    mix = Mix.parse("12 Mbit/s", "40 ms", queue="codel")
    assert first_choice(mix, [answer(4, 20)]) is None


@pytest.mark.parametrize(
    ("queue", "line"),
    [
        ("drop-tail", "pfifo limit 49"),
        ({"name": "codel", "variant": "linux", "target": "1.0322 ms"}, "codel limit 49 target 1032us"),
        ({"name": "pie", "variant": "linux"}, "pie limit 49 target 15000us tupdate 15000us alpha 2 beta 20 noecn"),
        (
            {"name": "fq-pie", "variant": "linux"},
            "fq_pie limit 49 flows 1024 quantum 1514 target 15000us tupdate 15000us",
        ),
        ({"name": "cake"}, "cake unlimited rtt 100000us besteffort triple-isolate no-ack-filter"),
        ({"name": "dualpi2"}, "dualpi2 limit 49 target 15000us"),
        ("ared", None),
    ],
)
def test_lines_for_tc(queue: object, line: str | None) -> None:
    tree: dict[str, object] = {"duration": "1 s", "packet_size": 1500, "flows": [{"algorithm": "reno"}]}
    tree["links"] = [{"name": "l", "delay": "1 ms", **LINK, "queue": queue}]
    link = fullpipe.Scenario.from_dict(tree).resolved().to_dict()["links"][0]
    found = tc_line(link, 1500)
    assert found is None if line is None else str(found).startswith(f"tc qdisc replace dev IFACE root {line}")


def test_a_rate_above_the_limit_of_the_linux_engine_has_a_line() -> None:
    assert tc_line({**LINK, "rate": "40 Gbit/s"}, 1500) == "tc qdisc replace dev IFACE root pfifo limit 49"


def windows(result: list[list[float]]) -> Any:
    """Stands for a result with the windows of flows, one value per second from 0 s, and a warm-up of 1 s."""

    class Scenario:
        warmup_s = 1.0

    class Result:
        scenario = Scenario()
        series = pa.table(
            {
                "flow": [flow for flow, values in enumerate(result) for _ in values],
                "t_s": [float(t) for values in result for t in range(len(values))],
                "cwnd_packets": [value for values in result for value in values],
            }
        )

    return Result()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # The first sample, in the warm-up, is not counted.
        ([[99.0, 1.0, 3.0, 1.0, 3.0], [0.0, 2.0, 6.0, 2.0, 6.0]], 0.8),  # (var 9) / (1 + 4) - 1
        ([[0.0, 1.0, 3.0, 1.0, 3.0], [0.0, 1.0, 1.0, 3.0, 3.0]], 0.0),
        ([[0.0, 1.0, 3.0, 1.0, 3.0], [0.0, 3.0, 1.0, 3.0, 1.0]], -1.0),
        ([[0.0, 1.0, 3.0]], None),
        ([[0.0, 2.0, 2.0], [0.0, 4.0, 4.0]], None),
    ],
)
def test_correlation_of_windows(found: list[list[float]], expected: float | None) -> None:
    value = correlation(windows(found))["window_correlation"]
    assert value is None if expected is None else value == pytest.approx(expected)


def test_flows_with_equal_rtts_are_synchronized_and_others_are_not() -> None:
    mix = Mix.parse("20 Mbit/s", "40 ms")
    found = []
    for same in ({}, {"flows.processing_time": "0 s", "flows.start": "0 s", "flows.access_delay": "10 ms"}):
        scenario = mix.scenario("newreno", 4, 60).replace(series_interval="40 ms", **same)
        found.append(correlation(fullpipe.run(scenario))["window_correlation"])
    assert found[0] < 0.1 < SYNCHRONIZED < found[1]


def test_a_sizing_measures_the_correlation_of_its_answer() -> None:
    sizing = fullpipe.size("2 Mbit/s", "40 ms", flows=[1, 4], target=[0.9], algorithms=["newreno"], seeds=2)
    alone, several = (row["window_correlation"] for row in sizing.rows)
    assert alone is None
    assert -1 / 3 <= several < SYNCHRONIZED
