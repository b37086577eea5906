"""Everything measured as one table, from figures written by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from by_hand import by_hand
from fullpipe import Comparison, Duel
from fullpipe._util.display import on_axis, unit
from fullpipe.runs.figures import split
from test_tables import sized, swept


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


def test_tables_of_many_runs_have_the_same_columns() -> None:
    comparison = Comparison({"reno": by_hand(), "vegas": by_hand(links={"utilization": [0.5, 0.25]})}).tidy()
    assert found(comparison, group="link edge", setting="vegas")["utilization", "1"] == 0.25
    sweep = swept(failing=True).tidy()
    settings = [f"links.bottleneck.buffer={size} packets, seed={seed}" for size in (20, 1000) for seed in (1, 2)]
    assert list(dict.fromkeys(sweep["setting"].to_pylist())) == settings[:3], "the fourth run failed"
    assert found(sweep, setting=settings[1], group="bottleneck") == {
        ("utilization", "1"): 0.7,
        ("loss_rate", "1"): 0.003,
        ("mean_queue_packets", "packets"): 12,
    }
    assert found(sweep, setting=settings[1], group="all")["goodput_bps", "bit/s"] == 70e6
    sizing = found(sized().tidy(), group="newreno", setting="flows=10, target=0.98")
    assert (sizing["buffer_packets", "packets"], sizing["buffer_s", "s"]) == (1234, 0.09876)
    assert ("rule_bdp_packets", "packets") not in sizing
    place = {"buffer": None, "mix": "half and half", "part": "beside", "seed": 3}
    duel = Duel(["a", "b"], [{**place, "algorithm": "a", "flows": 1, "goodput_bps": 5e6, "mean_rtt_s": None}]).tidy()
    assert found(duel, group="a", setting="mix=half and half, part=beside, seed=3") == {
        ("flows", "1"): 1,
        ("goodput_bps", "bit/s"): 5e6,
    }
    together = pa.concat_tables([by_hand().tidy(), comparison, sweep, sized().tidy(), duel])
    assert len(together) == sum(map(len, (by_hand().tidy(), comparison, sweep, sized().tidy(), duel)))


def test_a_row_by_what_its_figures_are_of() -> None:
    row = {
        "utilization": 0.5,
        "jain_index": 1.0,
        "links.a.b.loss_rate": 0.1,
        "flows.reno.mean_goodput_bps": 3.0,
        "web.mean_completion_s": 2.0,
    }
    assert split(row) == {
        "bottleneck": {"utilization": 0.5},
        "all": {"jain_index": 1.0},
        "link a.b": {"loss_rate": 0.1},
        "algorithm reno": {"mean_goodput_bps": 3.0},
        "web": {"mean_completion_s": 2.0},
    }


@pytest.mark.parametrize(
    ("figure", "its_unit", "axis"),
    [
        ("utilization", "1", ("% of capacity", 100)),
        ("reverse_utilization", "1", ("% of capacity", 100)),
        ("links.edge.loss_rate", "1", ("% of packets", 100)),
        ("throughput_bps", "bit/s", ("Mbit/s", 1e-6)),
        ("p99_rtt_s", "s", ("ms", 1e3)),
        ("max_queue_packets", "packets", ("packets", 1)),
        ("buffer_bytes", "bytes", ("bytes", 1)),
        ("timeouts", "1", ("number", 1)),
        ("completed_flows", "1", ("number", 1)),
    ],
)
def test_units(figure: str, its_unit: str, axis: tuple[str, float]) -> None:
    assert unit(figure) == its_unit
    assert on_axis(figure) == axis
