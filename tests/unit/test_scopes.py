"""Groups of flows and sources of cross traffic as columns and as rows of experiments."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from fullpipe import InputError, Scenario, compare, run, sweep
from fullpipe._util.display import Shown
from fullpipe.metrics import column, metric
from fullpipe.runs.results import Results
from fullpipe.runs.scopes import by_group, check_metrics

CALL = {"name": "call", "rate": "240 kbit/s", "frames": {"per_second": 30, "size": "1 kB"}}
LINK = {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP", "queue": "fq-codel"}
DOWN = {"name": "down", "algorithm": "cubic"}
WORK = {"name": "work", "algorithm": "cubic"}


def scenario(**given: Any) -> Scenario:
    return Scenario(**{"duration": "2 s", "warmup": "1 s", "links": [LINK], "flows": [DOWN], "udp": [CALL], **given})


def tables(parts: list[Shown | str]) -> list[Shown]:
    return [part for part in parts if isinstance(part, Shown)]


def test_one_group_and_one_source_have_columns_if_they_have_names() -> None:
    row = run(scenario()).figures()
    assert row["groups.down.goodput_bps"] == row["goodput_bps"]
    assert row["udp.call.p99_frame_delay_s"] == row["udp.p99_frame_delay_s"] > 0.01
    plain = scenario(flows=[{"algorithm": "cubic"}], udp=[{"rate": "1 Mbit/s"}])
    assert not [name for name in run(plain).figures() if name.startswith(("groups.", "udp.0"))]


def test_headings_name_the_group() -> None:
    names = ("groups.a.goodput_bps", "groups.b.goodput_bps", "udp.a.throughput_bps", "udp.throughput_bps")
    assert [column(name, [1e6])[0] for name in (*names, "links.edge.loss_rate")] == [
        "Goodput of a (Mbit/s)",
        "Goodput of b (Mbit/s)",
        "Throughput of UDP a (Mbit/s)",
        "Throughput of UDP (Mbit/s)",
        "Loss of link edge (%)",
    ]
    assert metric("groups.1.5 Mbit.goodput_bps").full_title == "Goodput of 1.5 Mbit"


def test_a_sweep_shows_delays_by_group_and_not_that_of_the_link() -> None:
    """FQ-CoDel serves the call before the download: the 99th percentile over all packets is that of neither."""
    outcome = sweep(scenario(), {"links.bottleneck.buffer": ["0.5 BDP", "1 BDP"]})
    overall, groups = tables(outcome.shown())
    assert not [name for name in overall.columns if "p99" in name]
    assert list(groups.columns[:2]) == ["buffer", "group"]
    assert [row[:2] for row in groups.rows] == [(b, g) for b in ("0.5 BDP", "1 BDP") for g in ("down", "udp call")]
    delay = list(groups.columns).index("p99 frame delay (ms)")
    call_s = outcome.runs["udp.call.p99_frame_delay_s"].to_pylist()
    assert [row[delay] for row in groups.rows] == ["-", f"{1e3 * call_s[0]:,.1f}", "-", f"{1e3 * call_s[1]:,.1f}"]


def test_chosen_columns_are_one_table_with_distinct_headings() -> None:
    outcome = compare(scenario(flows=[DOWN, WORK]), ["cubic", "newreno"], seeds=2)
    (shown,) = tables(outcome.shown(["groups.down.goodput_bps", "groups.work.goodput_bps", "p99_queueing_delay_s"]))
    assert [heading.rpartition(" (")[0] or heading for heading in shown.columns] == [
        "algorithm",
        "Goodput of down",
        "Goodput of work",
        "p99 queueing delay",
    ]


def test_without_groups_the_delay_of_the_link_is_shown() -> None:
    one = scenario(flows=[{"algorithm": "cubic"}], udp=[{"rate": "1 Mbit/s"}])
    (shown,) = tables(compare(one, ["cubic"], seeds=2).shown())
    assert "p99 queueing delay (ms)" in shown.columns


def test_differences_follow_by_group() -> None:
    outcome = compare(scenario(flows=[DOWN, WORK]), ["cubic", "newreno"], seeds=2)
    overall, groups = outcome.shown_differences("cubic")
    assert [row[0] for row in overall.rows] == ["newreno"]
    assert [row[:2] for row in groups.rows] == [("newreno", each) for each in ("down", "work", "udp call")]
    assert [row[-1] for row in groups.rows] == ["2"] * 3


def test_rows_of_groups_by_hand() -> None:
    """Group b is missing in the second run. The sum over the sources gives way to their rows."""
    runs = pa.table(
        {
            "run": [0, 1],
            "seed": [1, 2],
            "x": ["p", "q"],
            "groups.a.goodput_bps": [1.0, 2.0],
            "groups.b.goodput_bps": [3.0, None],
            "groups.b.flows": [5, 5],
            "udp.throughput_bps": [9.0, 9.0],
            "udp.c.throughput_bps": [4.0, 5.0],
        }
    )
    table = by_group(runs, ["x"])
    assert table is not None
    rows = [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
    assert rows == [
        {"x": "p", "run": 0, "seed": 1, "group": "a", "goodput_bps": 1.0},
        {"x": "p", "run": 0, "seed": 1, "group": "b", "goodput_bps": 3.0},
        {"x": "p", "run": 0, "seed": 1, "group": "udp c", "throughput_bps": 4.0},
        {"x": "q", "run": 1, "seed": 2, "group": "a", "goodput_bps": 2.0},
        {"x": "q", "run": 1, "seed": 2, "group": "udp c", "throughput_bps": 5.0},
    ]
    assert by_group(runs.drop_columns(["groups.b.goodput_bps", "groups.b.flows"]), ["x"]) is None
    grouped = Results(("x",), runs).by_group()
    assert grouped is not None
    assert grouped.labels == ("x", "group")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("goodput", "goodput_bps"),
        ("x.goodput_bps", "links, flows, groups, transfers, udp, web"),
        ("groups.dawn.goodput_bps", "groups.down.METRIC"),
        ("udp.cal.p99_frame_delay_s", "udp.call.METRIC"),
        ("links.edge.loss_rate", "links.bottleneck.METRIC"),
    ],
)
def test_an_unknown_metric_is_refused_before_a_run(name: str, allowed: str) -> None:
    with pytest.raises(InputError, match=allowed):
        check_metrics([name], scenario().to_dict())


def test_metrics_of_the_bottleneck_may_name_it() -> None:
    """`Result.figures` has each metric once: that of the bottleneck without the link."""
    names = ["links.bottleneck.loss_rate", "goodput_bps", "udp.call.throughput_bps", "x"]
    tree = scenario().to_dict()
    assert check_metrics(names, tree, more=["x"]) == ["loss_rate", *names[1:]]
    edge = {**LINK, "name": "edge"}
    first = Scenario(duration="2 s", links=[edge, {**LINK, "name": "core"}], flows=[{**DOWN, "path": ["edge", "core"]}])
    names = ["links.edge.loss_rate", "links.core.loss_rate"]
    assert check_metrics(names, first.to_dict()) == ["loss_rate", "links.core.loss_rate"]


def test_a_single_source_without_a_name_has_no_columns_of_its_own() -> None:
    tree = scenario(udp=[{"rate": "1 Mbit/s"}]).to_dict()
    with pytest.raises(InputError, match=r"udp\.0\.throughput_bps"):
        check_metrics(["udp.0.throughput_bps"], tree)
    assert check_metrics(["udp.throughput_bps"], tree) == ["udp.throughput_bps"]


def test_sources_have_their_own_metrics() -> None:
    """Frames have delays. Packets of UDP have none."""
    plain = scenario(udp=[{"name": "call", "rate": "1 Mbit/s"}]).to_dict()
    with pytest.raises(InputError, match=r"'udp\.call\.p99_frame_delay_s' requires a source with frames"):
        check_metrics(["udp.call.p99_frame_delay_s"], plain)
    with pytest.raises(InputError, match=r"unknown metric 'udp\.call\.loss_rate'.* udp\.call\.sent_packets"):
        check_metrics(["udp.call.loss_rate"], plain)
    assert "udp.call.p99_frame_delay_s" not in run(Scenario.from_dict(plain)).figures()
    assert check_metrics(["udp.p99_frame_delay_s"], scenario().to_dict()) == ["udp.p99_frame_delay_s"]


def test_known_metrics_are_accepted_before_a_run() -> None:
    tree = scenario().to_dict()
    check_metrics(list(run(scenario()).figures()), tree)
    check_metrics(["groups.newreno.goodput_bps"], tree, groups=False)
    check_metrics(["groups.cubic.goodput_bps"], scenario(flows=[DOWN, {"algorithm": "cubic"}]).to_dict())
