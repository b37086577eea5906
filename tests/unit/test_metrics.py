"""Registry of metrics: Python, Arrow metadata, and headings have one source."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fullpipe
from fullpipe import _core
from fullpipe.engine.tables import described
from fullpipe.metrics import METRICS, column, metric

SMALL = fullpipe.Scenario(
    duration="1 s",
    links=[{"name": "edge", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}],
    flows=[{"algorithm": "newreno", "count": 2}],
    udp=[{"rate": "1 Mbit/s"}],
)


def test_python_has_the_registry_of_the_simulator() -> None:
    for entry in _core.metrics():
        one = METRICS[entry["id"]]
        assert (one.title, one.unit, one.definition) == (entry["title"], entry["unit"], entry["definition"])
    assert len(METRICS) == len(_core.metrics())


@pytest.mark.parametrize("name", ["links", "flows", "groups", "transfers", "traffic", "runs"])
def test_a_column_of_numbers_has_its_title_and_unit_in_the_metadata(name: str) -> None:
    table = getattr(fullpipe.run(SMALL), name)
    for field in table.schema:
        if field.name in ("id", "seed", "in_warmup") or not (
            pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
        ):
            continue
        assert field.metadata, field.name
        assert field.metadata[b"title"].decode() == metric(field.name).full_title
        assert field.metadata[b"unit"] in (b"1", b"s", b"bit/s", b"packets", b"bytes")


def test_names_have_no_metadata_and_scopes_are_in_titles() -> None:
    table = pa.table({"name": ["a"], "links.edge.reverse_loss_rate": [0.5], "w_max": [1.0]})
    name, loss, own = described(table).schema
    assert name.metadata is None
    assert own.metadata is None
    assert loss.metadata[b"title"] == b"Loss, reverse of link edge"


def test_no_two_columns_of_a_table_have_one_heading() -> None:
    result = fullpipe.run(SMALL)
    for name in ("links", "flows", "groups", "transfers", "traffic", "series", "link_series"):
        names = [each for each in getattr(result, name).column_names if metric(each).id in METRICS]
        titles = [metric(each).title for each in names]
        assert len(set(titles)) == len(titles), name
    for shown in result.shown():
        if not isinstance(shown, str):
            assert len(set(shown.columns)) == len(shown.columns), shown.title


def test_counts_have_no_decimals_and_fractions_are_in_percent() -> None:
    assert column("shared_queues", [2.0]) == ("Shared queues", ["2"])
    assert column("dropped_packets", [1234.0]) == ("Drops (packets)", ["1,234"])
    assert column("share", [0.25]) == ("Share (%)", ["25.0"])


def test_run_writes_its_result_into_a_directory(tmp_path: Path) -> None:
    result = fullpipe.run(SMALL, out=tmp_path / "out")
    assert {"result.json", "scenario.toml", "flows.parquet"} <= {path.name for path in (tmp_path / "out").iterdir()}
    read = pq.read_table(tmp_path / "out/links.parquet")
    assert read.equals(result.links)
    assert read.schema.field("utilization").metadata[b"title"] == b"Utilization"


def test_run_checks_its_directory_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    seen = []
    with pytest.raises(fullpipe.InputError, match="out"):
        fullpipe.run(SMALL, out=tmp_path / "out", progress=lambda *reached: seen.append(reached))
    assert not seen
