"""Everything measured as one table, from figures written by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from by_hand import by_hand
from fullpipe.metrics import axis, metric


def found(table: pa.Table, **where: Any) -> dict[tuple[str, str], float]:
    """Values by quantity and unit of the rows that have these groups and settings."""
    rows = [row for row in table.to_pylist() if all(row[key] == value for key, value in where.items())]
    return {(row["quantity"], row["unit"]): row["value"] for row in rows}


def test_a_result() -> None:
    table = by_hand().tidy()
    assert table.column_names == ["quantity", "unit", "group", "setting", "value"]
    assert set(table["setting"].to_pylist()) == {""}
    bottleneck = found(table, group="link bottleneck")
    assert bottleneck["utilization", "1"] == 0.8123
    assert bottleneck["dropped_packets", "packets"] == 1234
    assert bottleneck["reverse_loss_rate", "1"] == 0.0002
    assert found(table, group="link edge")["max_queue_packets", "packets"] == 17
    first, second = (found(table, group=f"flow {i}") for i in (0, 1))
    assert (first["goodput_bps", "bit/s"], first["mean_rtt_s", "s"], first["timeouts", "1"]) == (60.25e6, 0.0852, 3)
    assert ("completion_s", "s") not in first, "it has no value"
    assert second["completion_s", "s"] == 2.5
    assert ("id", "1") not in first
    # The second flow lives half of the three seconds that are measured.
    assert found(table, group="group ours")["goodput_bps", "bit/s"] == pytest.approx(475e3)
    assert found(table, group="web 1")["mean_completion_s", "s"] == 0.375
    assert found(table, group="all") == {
        ("data_packets", "packets"): 1234567,
        ("jain_index", "1"): 0.8079,
        ("p50_rtt_s", "s"): 0.0846,
        ("p95_rtt_s", "s"): 0.0967,
        ("p99_rtt_s", "s"): 0.0987,
        ("p50_jitter_s", "s"): 0.00015,
        ("p95_jitter_s", "s"): 0.00554,
        ("p99_jitter_s", "s"): 0.00765,
    }


@pytest.mark.parametrize(
    ("name", "its_unit", "label"),
    [
        ("utilization", "1", ("Utilization (%)", 100)),
        ("reverse_utilization", "1", ("Utilization, reverse (%)", 100)),
        ("links.edge.loss_rate", "1", ("Loss of link edge (%)", 100)),
        ("throughput_bps", "bit/s", ("Throughput (Mbit/s)", 1e-6)),
        ("p99_rtt_s", "s", ("p99 RTT (ms)", 1e3)),
        ("max_queue_packets", "packets", ("Max queue (packets)", 1)),
        ("buffer_bytes", "bytes", ("Buffer (bytes)", 1)),
        ("timeouts", "1", ("RTOs", 1)),
        ("completed_flows", "1", ("Complete flows", 1)),
    ],
)
def test_units(name: str, its_unit: str, label: tuple[str, float]) -> None:
    assert metric(name).unit == its_unit
    assert axis(name) == label
