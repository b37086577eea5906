"""Transfers: their table, its summaries, and the tables of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fullpipe
from by_hand import NO, by_hand
from fullpipe import Result, Scenario
from fullpipe.runs.transfers import by_size, summaries

TRANSFERS: dict[str, list[Any]] = {
    "group": ["web", "web", "ours", "web", "web", "web"],
    "start_s": [0.5, 1.0, 1.25, 1.5, 2.0, 3.9],
    "size_bytes": [5000, 9999, 10000, 10001, 1000, 99999],
    "state": ["complete"] * 5 + ["cut off"],
    "completion_s": [9.0, 0.25, 0.5, 0.75, 0.125, NO],
    "slowdown": [90.0, 2.0, 3.0, 7.0, 1.5, NO],
    "retransmits": [4, 0, 1, 5, 0, 2],
    "timeouts": [1, 0, 0, 2, 0, 0],
    "in_warmup": [True, False, False, False, False, False],
}


def test_summaries_leave_out_what_began_in_the_warmup() -> None:
    web, ours = by_hand(transfers=TRANSFERS).to_dict()["transfers"]
    # Nearest rank of 0.125, 0.25, 0.75 s: the second, and the third.
    assert web == {
        "group": "web",
        "count": 4,
        "completed": 3,
        "cut_off": 1,
        "running": 0,
        "mean_s": 0.375,
        "p50_s": 0.25,
        "p95_s": 0.75,
        "p99_s": 0.75,
        "p50_slowdown": 2.0,
        "p95_slowdown": 7.0,
        "p99_slowdown": 7.0,
    }
    assert (ours["group"], ours["count"], ours["completed"], ours["p99_s"]) == ("ours", 1, 1, 0.5)


def test_size_classes_are_factors_of_ten() -> None:
    rows = by_hand(transfers=TRANSFERS).transfer_sizes.to_pylist()
    found = [(row["group"], row["from_bytes"], row["below_bytes"], row["count"], row["completed"]) for row in rows]
    assert found == [("web", 1000, 10000, 2, 2), ("web", 10000, 100000, 2, 1), ("ours", 10000, 100000, 1, 1)]
    assert [row["p50_s"] for row in rows] == [0.125, 0.75, 0.5]


def test_without_an_end_there_is_no_percentile() -> None:
    row = {
        "group": "g",
        "size_bytes": 1,
        "completion_s": None,
        "slowdown": None,
        "in_warmup": False,
        "state": "running",
    }
    (whole,), (of_class,) = summaries([row]), by_size([row])
    assert (whole["count"], whole["completed"], whole["running"], whole["p95_s"]) == (1, 0, 1, None)
    assert (of_class["from_bytes"], of_class["p50_slowdown"]) == (1, None)


def test_figures_are_over_all_transfers() -> None:
    row = by_hand(transfers=TRANSFERS).figures()
    assert (row["transfers.count"], row["transfers.completed"], row["transfers.p50_s"]) == (5, 4, 0.25)
    assert not [name for name in by_hand().figures() if name.startswith("transfers.")]


@pytest.mark.parametrize("transfers", [TRANSFERS, {}])
def test_a_table_of_transfers_is_loaded_as_it_was_saved(transfers: dict[str, list[Any]], tmp_path: Path) -> None:
    result = by_hand(transfers=transfers)
    result.save(tmp_path)
    again = Result.load(tmp_path)
    assert again.transfers.schema.equals(result.transfers.schema)
    assert repr(again.transfers.to_pylist()) == repr(result.transfers.to_pylist())
    assert result.transfers.schema.field("in_warmup").type == pa.bool_()


def test_completion_to_the_millisecond() -> None:
    """Over 8 Mbit/s and 10 ms each way, from two segments on: the fifth is acknowledged after 44.08 ms; back to back
    five take 25.04 ms (worked out in ``crates/sim/tests/measuring.rs``).
    """
    scenario = Scenario(
        duration="1 s",
        warmup="100 ms",
        links=[{"name": "l", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "100 packets"}],
        flows=[{"algorithm": "reno", "size": "5 packets", "initial_window": 2, "start": f"{at} ms"} for at in (0, 100)],
    )
    rows = fullpipe.run(scenario).transfers.to_pylist()
    assert [(row["group"], row["start_s"], row["size_bytes"], row["in_warmup"]) for row in rows] == [
        ("reno", 0.0, 5000, True),
        ("reno", 0.1, 5000, False),
    ]
    assert [row["completion_s"] for row in rows] == pytest.approx([0.04408, 0.04408])
    assert [row["slowdown"] for row in rows] == pytest.approx([44.08 / 25.04] * 2)
    assert [(row["retransmits"], row["timeouts"]) for row in rows] == [(0, 0), (0, 0)]


def test_flow_that_stops_before_its_end_is_cut_off() -> None:
    """A window of one segment sends one each 100 ms. Of ten segments five are sent within 450 ms, and the last flow has
    half a second left.
    """
    flow = {"algorithm": "reno", "max_window": 1, "size": "10 packets"}
    scenario = Scenario(
        duration="1500 ms",
        warmup="0 s",
        packet_size=1000,
        ack_size=40,
        links=[{"name": "l", "rate": "8 Mbit/s", "delay": "49.48 ms", "buffer": "9 packets"}],
        flows=[
            {**flow, "name": "short", "stop": "450 ms"},
            {**flow, "name": "whole", "start": "10 ms", "stop": "1200 ms"},
            {**flow, "name": "late", "start": "1 s"},
        ],
    )
    result = fullpipe.run(scenario)
    assert result.transfers["state"].to_pylist() == ["cut off", "complete", "running"]
    counts = [(row["completed"], row["cut_off"], row["running"]) for row in result.to_dict()["transfers"]]
    assert counts == [(0, 1, 0), (1, 0, 0), (0, 0, 1)]
    assert result.figures()["completed_flows"] == 1
    assert [flow["completion_s"] is None for flow in result.to_dict()["flows"]] == [True, False, True]
