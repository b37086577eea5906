"""A run's row of a sweep, from a result written by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from by_hand import FLOWS, NO, TRAFFIC, by_hand
from fullpipe import Result, Scenario, run
from fullpipe.engine.options import RunOptions
from fullpipe.errors import Cancelled
from fullpipe.experiments.sweep.table import join, table_of
from fullpipe.runs import engines
from fullpipe.runs.design import Case, Design, Done, error_line
from fullpipe.runs.figures import FIRST
from fullpipe.runs.runner import Runner
from test_sweep import PLAN
from test_tables import LINK

GROUPS = {
    "groups.reno.flows": 1,
    "groups.reno.goodput_bps": 60.25e6,
    "groups.reno.retransmits": 2740,
    "groups.ours.flows": 1,
    # It lives half of the three seconds that are measured.
    "groups.ours.goodput_bps": 475e3,
    "groups.ours.retransmits": 11,
}


def test_figures() -> None:
    row = by_hand().figures()
    assert row.keys() >= GROUPS.keys()
    assert {name: value for name, value in row.items() if not name.startswith("groups.") or name in GROUPS} == {
        "utilization": 0.8123,
        "carried_goodput_bps": 62.4e6,
        "loss_rate": 0.00125,
        "dropped_packets": 1234,
        "marked_packets": 4321,
        "wire_lost_packets": 5,
        "arrived_packets": 987654,
        "mean_queue_packets": 61.25,
        "max_queue_packets": 2500,
        "p50_queueing_delay_s": 0.0051,
        "p95_queueing_delay_s": 0.0152,
        "p99_queueing_delay_s": 0.0183,
        "max_queueing_delay_s": 0.0194,
        "shared_queues": 3,
        "reverse_utilization": 0.0321,
        "reverse_carried_goodput_bps": 0.31e6,
        "reverse_loss_rate": 0.0002,
        "reverse_dropped_packets": 21,
        "reverse_marked_packets": 27,
        "reverse_wire_lost_packets": 23,
        "reverse_arrived_packets": 50001,
        "reverse_mean_queue_packets": 0.75,
        "reverse_max_queue_packets": 31,
        "reverse_p50_queueing_delay_s": 0.0,
        "reverse_p95_queueing_delay_s": 0.00021,
        "reverse_p99_queueing_delay_s": 0.00031,
        "reverse_max_queueing_delay_s": 0.00041,
        "reverse_shared_queues": 2,
        "links.edge.utilization": 0.0617,
        "links.edge.carried_goodput_bps": 1.7e6,
        "links.edge.loss_rate": 0.0,
        "links.edge.dropped_packets": 0,
        "links.edge.marked_packets": 7,
        "links.edge.wire_lost_packets": 6,
        "links.edge.arrived_packets": 87654,
        "links.edge.mean_queue_packets": 1.375,
        "links.edge.max_queue_packets": 17,
        "links.edge.p50_queueing_delay_s": 0.0,
        "links.edge.p95_queueing_delay_s": 0.0013,
        "links.edge.p99_queueing_delay_s": 0.0024,
        "links.edge.max_queueing_delay_s": 0.0035,
        "links.edge.shared_queues": 0,
        "links.edge.reverse_utilization": 0.0043,
        "links.edge.reverse_carried_goodput_bps": 0.42e6,
        "links.edge.reverse_loss_rate": 0.0003,
        "links.edge.reverse_dropped_packets": 22,
        "links.edge.reverse_marked_packets": 28,
        "links.edge.reverse_wire_lost_packets": 24,
        "links.edge.reverse_arrived_packets": 50002,
        "links.edge.reverse_mean_queue_packets": 0.25,
        "links.edge.reverse_max_queue_packets": 32,
        "links.edge.reverse_p50_queueing_delay_s": 0.00001,
        "links.edge.reverse_p95_queueing_delay_s": 0.00022,
        "links.edge.reverse_p99_queueing_delay_s": 0.00032,
        "links.edge.reverse_max_queueing_delay_s": 0.00042,
        "links.edge.reverse_shared_queues": 1,
        "flows": 2,
        # The second flow lives half of the three seconds that are measured.
        "goodput_bps": 60.725e6,
        "throughput_bps": 62.575e6,
        "payload_goodput_bps": 58.296e6,
        "mean_goodput_bps": 30.6e6,
        "min_goodput_bps": 950e3,
        "max_goodput_bps": 60.25e6,
        "retransmits": 2751,
        "timeouts": 4,
        "fast_recoveries": 90,
        "mean_rtt_s": pytest.approx(0.0878),
        "p50_rtt_s": 0.0846,
        "p95_rtt_s": 0.0967,
        "p99_rtt_s": 0.0987,
        "p50_jitter_s": 0.00015,
        "p95_jitter_s": 0.00554,
        "p99_jitter_s": 0.00765,
        "mean_cwnd_packets": pytest.approx(946.8125),
        "completed_flows": 1,
        # The only flow that is complete lived an instant before the window.
        "mean_completion_s": None,
        "flows.reno.mean_goodput_bps": 60.25e6,
        "flows.vegas.mean_goodput_bps": 950e3,
        **GROUPS,
        "jain_index": 0.8079,
        "data_packets": 1234567,
        "udp.throughput_bps": 1.5e9,
        "udp.sent_packets": 2000,
        "udp.received_packets": 1990,
        "web.throughput_bps": 640.0,
        "web.sent_packets": 800,
        "web.received_packets": 790,
        "web.transfers_started": 41,
        "web.transfers_completed": 39,
        "web.mean_completion_s": 0.375,
    }


def test_the_bottleneck_is_the_link_of_that_name_or_the_first() -> None:
    second = by_hand(links={"name": ["edge", "bottleneck"]}).figures()
    assert (second["utilization"], second["links.edge.utilization"]) == (0.0617, 0.8123)
    neither = by_hand(links={"name": ["near", "far"]}).figures()
    assert (neither["utilization"], neither["links.far.utilization"]) == (0.8123, 0.0617)


def test_flows_of_one_algorithm_have_no_figures_of_their_own() -> None:
    row = by_hand(flows={"algorithm": ["reno", "reno"]}).figures()
    assert not [name for name in row if name.startswith("flows.")]


def test_what_has_no_value_is_left_out_of_a_mean() -> None:
    flows = {"mean_rtt_s": [NO, 0.25], "mean_cwnd_packets": [NO, NO], "completion_s": [NO, 1.5]}
    row = by_hand(flows=flows).figures()
    assert (row["mean_rtt_s"], row["mean_cwnd_packets"]) == (0.25, None)
    assert (row["completed_flows"], row["mean_completion_s"]) == (1, 1.5)


def test_flows_begun_in_the_warmup_have_no_part_in_the_mean_completion() -> None:
    both = by_hand(flows={"active_s": [1.0, 2.0], "completion_s": [1.0, 2.0]}).figures()
    assert (both["completed_flows"], both["mean_completion_s"]) == (2, 1.5)
    second = by_hand(flows={"active_s": [0.75, 2.0], "completion_s": [1.0, 2.0]}).figures()
    assert (second["completed_flows"], second["mean_completion_s"]) == (2, 2.0)


@pytest.mark.parametrize("host", ["classic", "linux"])
def test_a_flow_that_begins_with_the_window_has_its_completion_in_the_mean(host: str) -> None:
    """Flows of each engine, including the handshake: their measurements are complete, to the last bit."""

    def finite(name: str, start: str) -> dict[str, Any]:
        return {"algorithm": "cubic", "name": name, "host": host, "start": start, "size": "300 kB"}

    flows = [finite("before", "0.9999 s"), finite("at", "1 s"), finite("after", "1.2345 s")]
    result = run(Scenario(duration="9 s", warmup="1 s", links=[LINK], flows=flows))
    before_s, at_s, after_s = result.columns("flows")["completion_s"].to_list()
    figures = result.figures()
    assert figures["completed_flows"] == 3
    assert before_s > 0
    assert figures["mean_completion_s"] == pytest.approx((at_s + after_s) / 2, rel=1e-12)


def test_flows_that_never_lived_have_no_rates() -> None:
    row = by_hand(flows={"active_s": [0.0, 0.0], "goodput_bps": [NO, NO], "throughput_bps": [NO, NO]}).figures()
    assert (row["goodput_bps"], row["throughput_bps"]) == (0.0, 0.0)
    assert (row["mean_goodput_bps"], row["min_goodput_bps"], row["max_goodput_bps"]) == (None, None, None)


def test_without_flows_or_traffic() -> None:
    nothing: dict[str, dict[str, list[Any]]] = {
        "flows": {name: [] for name in FLOWS},
        "traffic": {name: [] for name in TRAFFIC},
    }
    row = by_hand(**nothing).figures()
    assert row["flows"] == 0
    assert not [name for name in row if "mean_goodput" in name or name.startswith(("goodput", "payload", "udp", "web"))]


def test_web_completions_are_weighed_by_transfers() -> None:
    # 39 transfers of 0.375 s, one of 4.375 s, none in the third group: (14.625 + 4.375) / 40.
    columns = {name: [column[1]] * 3 for name, column in TRAFFIC.items()}
    columns |= {"transfers_completed": [39, 1, 0], "mean_completion_s": [0.375, 4.375, NO]}
    assert by_hand(traffic=columns).figures()["web.mean_completion_s"] == pytest.approx(0.475)
    none = {**columns, "transfers_completed": [0, 0, 0], "mean_completion_s": [NO, NO, NO]}
    assert by_hand(traffic=none).figures()["web.mean_completion_s"] is None


def test_sources_of_one_kind_have_metrics_by_name_or_number() -> None:
    columns = {name: [column[0]] * 2 for name, column in TRAFFIC.items()}
    row = by_hand(traffic={**columns, "name": ["video", None], "note": ["a", "b"]}).figures()
    parts = {name.removeprefix("udp.video.") for name in row if name.startswith("udp.video.")}
    assert parts == {name.removeprefix("udp.1.") for name in row if name.startswith("udp.1.")}
    assert parts == TRAFFIC.keys() - {"kind"}
    assert (row["udp.video.sent_packets"], row["udp.sent_packets"]) == (2000, 4000)


def small() -> Scenario:
    return Scenario(duration="2 s", links=[LINK], flows=[{"algorithm": "reno"}])


def row_of(changes: dict[str, object], **options: Any) -> Done:
    """The one run of a design."""
    runner = Runner(RunOptions(workers=1, **options), tolerates=(BaseException,))
    (done,) = runner.rows(Design([Case(small(), changes=changes)]))
    return done


def test_a_failed_run_says_why_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def error_of(changes: dict[str, object]) -> str:
        done = row_of(changes)
        assert done.row is None
        assert done.error is not None
        return error_line(done.error)

    assert error_of({"warmup": "3 s"}).startswith("warmup: ")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("one\n  two")

    monkeypatch.setattr(engines, "run", fails)
    assert error_of({}) == "one two"

    def says_nothing(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(engines, "run", says_nothing)
    assert error_of({}) == "RuntimeError"


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt, SystemExit])
def test_who_stops_a_run_stops_it(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(engines, "run", stopped)
    with pytest.raises(error):
        row_of({})


def test_a_run_is_changed_and_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[float, float]] = []
    asked: list[Scenario] = []
    seen = threading.Event()

    def tell(done: float, total: float) -> None:
        said.append((done, total))
        seen.set()

    def run(scenario: Scenario, *, progress: Callable[[float, float], object], **_: object) -> Result:
        asked.append(scenario)
        progress(1.5, 2.0)
        assert seen.wait(30)
        return by_hand()

    monkeypatch.setattr(engines, "run", run)
    done = row_of({"flows.count": 3}, progress=tell)
    assert (done.error, done.row and done.row["retransmits"]) == (None, 2751)
    assert asked[0].to_dict()["flows"][0]["count"] == 3
    assert said[0] == (0.75, 1)
    assert said[-1] == (1, 1)


def test_columns_stand_in_their_order() -> None:
    # However the rows were shared out: labels, error, the first figures as listed, the others by name.
    one = {**PLAN.labels(0), "error": None, "web.sent_packets": 1, "utilization": 0.5, "alpha": 2.0}
    two = {**PLAN.labels(1), "error": None, "jain_index": 1.0, "loss_rate": 0.1, "beta": 3.0}
    tables = [table_of([each], PLAN) for each in (two, one)]
    labels = ["run", "links.bottleneck.buffer", "links.bottleneck.buffer_packets", "repeat", "seed", "error"]
    for order in (tables, tables[::-1]):
        joined = join(order, PLAN)
        assert joined.column_names == [
            *labels,
            "utilization",
            "loss_rate",
            "jain_index",
            "alpha",
            "beta",
            "web.sent_packets",
        ]
        assert joined["run"].to_pylist() == [0, 1]
        assert joined["utilization"].to_pylist() == [0.5, None]
    assert {"utilization", "goodput_bps", "mean_rtt_s"} <= set(FIRST)


def test_rows_of_a_version_without_a_figure_join_those_with_it() -> None:
    """Older links did not count marks; missing values of such rows are null."""
    old = {**PLAN.labels(0), "error": None, "dropped_packets": 5, "arrived_packets": 9}
    new = {**PLAN.labels(1), "error": None, "dropped_packets": 6, "marked_packets": 7, "arrived_packets": 8}
    for order in ((old, new), (new, old)):
        joined = join([table_of([row], PLAN) for row in order], PLAN)
        assert joined.column_names[-3:] == ["dropped_packets", "marked_packets", "arrived_packets"]
        assert joined["marked_packets"].to_pylist() == [None, 7]
