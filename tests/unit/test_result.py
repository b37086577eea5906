"""Results: tables on the engine's own memory, JSON in its fixed shape, files written whole."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fullpipe
from by_hand import FLOWS, NO, SCENARIO, SERIES, by_hand
from fullpipe import InputError, Result, Scenario
from fullpipe._util import inputs
from fullpipe._util.files import MANIFEST
from fullpipe.engine.tables import to_list, to_numpy
from fullpipe.runs import result as result_module
from fullpipe.runs.result import TABLES

# The design's shape: the keys that users' scripts depend on.
LINK_KEYS = [
    "name",
    "utilization",
    "loss_rate",
    "dropped_packets",
    "marked_packets",
    "mean_queue_packets",
    "max_queue_packets",
    "reverse_marked_packets",
]
FLOW_KEYS = [
    "id",
    "name",
    "algorithm",
    "active_s",
    "throughput_bps",
    "goodput_bps",
    "retransmits",
    "timeouts",
    "mean_rtt_s",
    "mean_cwnd_packets",
]
TOTAL_KEYS = ["data_packets", "wall_s", "jain_index"]


@pytest.fixture
def result(small: Scenario) -> Result:
    return fullpipe.run(small)


def address(array: pa.ChunkedArray) -> int:  # type: ignore[type-arg]
    (chunk,) = array.chunks
    buffer = chunk.buffers()[1]
    assert buffer is not None
    return int(buffer.address)


def test_json_has_the_fixed_shape(result: Result) -> None:
    figures = json.loads(result.to_json())
    assert figures == result.to_dict()
    assert {"links", "flows", "totals"} <= figures.keys()
    for rows, keys in ((figures["links"], LINK_KEYS), (figures["flows"], FLOW_KEYS), ([figures["totals"]], TOTAL_KEYS)):
        for row in rows:
            assert {key for key in keys if not key.startswith("reverse_")} <= row.keys()
    for link in figures["links"]:
        assert not [key for key in link if key.startswith("reverse_")], "each metric is there once"
        assert {key.removeprefix("reverse_") for key in LINK_KEYS if key.startswith("reverse_")} <= link[
            "reverse"
        ].keys()
    assert [flow["id"] for flow in figures["flows"]] == [0, 1]
    assert figures["links"][0]["name"] == "bottleneck"
    assert 0.5 < figures["links"][0]["utilization"] <= 1


def test_unknown_figures_are_null_in_json_and_nan_in_tables(result: Result) -> None:
    # A flow without an end has no completion time.
    assert [flow["completion_s"] for flow in result.to_dict()["flows"]] == [None, None]
    assert result.flows["completion_s"].to_pandas().isna().all()


def test_series_have_a_row_per_flow_and_sample(small: Scenario) -> None:
    result = fullpipe.run(small.replace(series_interval="1 s"))
    columns = ["t_s", "flow", "cwnd_packets", "ssthresh_packets", "rtt_s", "in_flight_packets", "goodput_bps"]
    assert result.series.column_names[: len(columns)] == columns
    assert result.link_series.column_names[:4] == ["t_s", "link", "queue_packets", "utilization"]
    assert set(result.link_series["link"].to_pylist()) == {"bottleneck"}
    flows = result.series.to_pandas().groupby("flow")["t_s"]
    assert list(flows.groups) == [0, 1]
    assert (flows.diff().dropna() - 1 < 1e-9).all()


def test_off_samples_nothing(small: Scenario) -> None:
    result = fullpipe.run(small.replace(series_interval="off"))
    assert (len(result.series), len(result.link_series)) == (0, 0)
    with pytest.raises(ValueError, match="requires series"):
        result.plot()


def test_tables_share_the_engines_memory(result: Result) -> None:
    for table, name in (("series", "cwnd_packets"), ("flows", "goodput_bps"), ("links", "dropped_packets")):
        own = to_numpy(result.columns(table)[name])
        assert address(getattr(result, table)[name]) == own.ctypes.data


def test_pandas_and_polars_share_it_too(result: Result) -> None:
    column = result.series["cwnd_packets"]
    here = address(column)
    assert column.chunk(0).to_numpy(zero_copy_only=True).ctypes.data == here
    frame = pl.from_arrow(result.series)
    assert isinstance(frame, pl.DataFrame)
    assert frame["cwnd_packets"].to_numpy(allow_copy=False).ctypes.data == here
    pandas = result.series.to_pandas(types_mapper=pd.ArrowDtype)
    assert address(pa.chunked_array(pandas["cwnd_packets"].array.__arrow_array__())) == here


def test_memory_outlives_the_result(small: Scenario) -> None:
    series = fullpipe.run(small).series
    again = fullpipe.run(small).series
    assert series["cwnd_packets"].equals(again["cwnd_packets"])
    with pytest.raises(ValueError, match="read-only"):
        series["t_s"].chunk(0).to_numpy()[0] = 1.0


def test_saved_files_hold_the_result(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "deep" / "out")
    out = tmp_path / "deep" / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        MANIFEST,
        "flows.parquet",
        "groups.parquet",
        "link_series.parquet",
        "links.parquet",
        "result.json",
        "scenario.toml",
        "series.parquet",
        "traffic.parquet",
        "transfers.parquet",
    ]
    assert json.loads((out / "result.json").read_text()) == result.to_dict()
    for name in ("links", "flows", "series"):
        assert pq.read_table(out / f"{name}.parquet").column_names == getattr(result, name).column_names
    assert pq.read_table(out / "series.parquet")["cwnd_packets"].equals(result.series["cwnd_packets"])


def same(one: Result, other: Result) -> None:
    """All tables have equal columns, types, and bits; so do the metrics."""
    for name in TABLES:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.schema.equals(theirs.schema), name
        assert repr(ours.to_pylist()) == repr(theirs.to_pylist()), name
    assert (one.to_dict(), one.engine) == (other.to_dict(), other.engine)


def test_a_result_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    for i, result in enumerate((by_hand(engine="linux", wall_s=2.5), by_hand(totals={"jain_index": NO}))):
        result.save(tmp_path / str(i))
        again = Result.load(tmp_path / str(i))
        same(result, again)
        assert again.scenario == result.scenario.resolved()


def test_a_result_of_the_engine_is_loaded_and_pickled_as_it_was(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "out")
    same(result, Result.load(tmp_path / "out"))
    same(result, pickle.loads(pickle.dumps(result)))


def test_series_of_idle_flows_are_loaded_however_well_they_compress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two flows, 4 s, a sample every 10 ms: 800 rows. Twice as many rows are not of this scenario."""
    for module in (inputs, result_module):
        monkeypatch.setattr(module, "MOST_TABLE_BYTES", 20_000)
    monkeypatch.setattr(inputs, "MOST_EXPANSION", 1)
    for repeats, name in ((200, "own"), (400, "long")):
        series = {key: [column[0]] * 4 * repeats for key, column in SERIES.items()}
        result = by_hand(series={**series, "flow": [0] * 2 * repeats + [1] * 2 * repeats})
        result.scenario = result.scenario.replace(series_interval="10 ms")
        result.save(tmp_path / name)
    assert (tmp_path / "own/series.parquet").stat().st_size < 20_000
    assert Result.load(tmp_path / "own").series.num_rows == 800
    with pytest.raises(InputError, match=r"series\.parquet: must have at most"):
        Result.load(tmp_path / "long")


def test_what_can_not_be_loaded_is_said_in_one_line(result: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"result\.json: can.t be read: No such file or directory$"):
        Result.load(tmp_path)
    result.save(tmp_path / "out")
    (tmp_path / "out/series.parquet").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"out: series\.parquet has changed since it was written$"):
        Result.load(tmp_path / "out")


def test_groups_by_hand() -> None:
    columns = {name: [*column, column[1]] for name, column in FLOWS.items()}
    result = by_hand(flows={**columns, "goodput_bps": [60e6, 20e6, 60e6], "throughput_bps": [61e6, 22e6, 62e6]})
    # The second and third live half of the window: 10 and 30 of 100 Mbit/s; (20 + 60)^2 / (2 (20^2 + 60^2)) = 0.8.
    reno, ours = result.groups.to_pylist()
    assert (reno["name"], reno["flows"], reno["goodput_bps"], reno["share"], reno["jain_index"]) == (
        "reno",
        1,
        60e6,
        0.6,
        1.0,
    )
    assert ours == {
        "name": "ours",
        "algorithm": "vegas",
        "flows": 2,
        "goodput_bps": 40e6,
        "throughput_bps": 42e6,
        "payload_goodput_bps": 912e3,
        "share": 0.4,
        "jain_index": pytest.approx(0.8),
        "loss_rate": 0.00032,
        "mean_rtt_s": pytest.approx(0.0904),
        "p50_rtt_s": 0.0914,
        "p95_rtt_s": 0.0973,
        "p99_rtt_s": 0.0993,
        "p50_jitter_s": 0.00022,
        "p95_jitter_s": 0.00623,
        "p99_jitter_s": 0.00824,
        "mean_cwnd_packets": 13.5,
        "retransmits": 22,
        "timeouts": 2,
    }
    assert result.to_dict()["groups"] == [reno, ours]


def test_a_group_of_which_the_engine_says_nothing_has_no_percentiles() -> None:
    (reno, _) = by_hand(groups={"name": ["x", "y"]}).groups.to_pylist()
    assert (reno["goodput_bps"], reno["loss_rate"], reno["p99_rtt_s"]) == (60.25e6, None, None)


def test_the_other_direction_is_nested_where_anything_crosses_it() -> None:
    links = by_hand(links={"reverse_arrived_packets": [50001, 0]}).to_dict()["links"]
    assert links[0]["reverse"] == {
        "utilization": 0.0321,
        "carried_goodput_bps": 0.31e6,
        "loss_rate": 0.0002,
        "dropped_packets": 21,
        "marked_packets": 27,
        "wire_lost_packets": 23,
        "arrived_packets": 50001,
        "mean_queue_packets": 0.75,
        "max_queue_packets": 31,
        "p50_queueing_delay_s": 0.0,
        "p95_queueing_delay_s": 0.00021,
        "p99_queueing_delay_s": 0.00031,
        "max_queueing_delay_s": 0.00041,
        "shared_queues": 2,
    }
    assert "reverse" not in links[1]


def of_flows(count: int, seed: int) -> Scenario:
    return Scenario(
        duration="0.1 s",
        seed=seed,
        series_interval="off",
        links=[{"name": "l", "rate": "8 Mbit/s", "delay": "1 ms", "buffer": "99 packets", "queue": "fq-codel"}],
        flows=[{"algorithm": "reno", "count": count}],
    )


def test_queues_that_flows_share_are_counted_and_warned_of(tmp_path: Path) -> None:
    """Each of 1024 queues has 1.953 of 2000 flows on average: 1 - exp(-1.953) (1 + 1.953) = 58.1 % are shared, 595."""
    result = fullpipe.run(of_flows(2000, seed=2))
    (link,) = result.to_dict()["links"]
    assert 545 < link["shared_queues"] < 645
    (warning,) = result.warnings
    shared = f"shared queues: {link['shared_queues']} forward, {link['reverse']['shared_queues']} reverse"
    assert warning.startswith("links[0].queue: fq-codel")
    assert shared in warning
    assert pickle.loads(pickle.dumps(result)).warnings == [warning]
    result.save(tmp_path / "result")
    assert Result.load(tmp_path / "result").warnings == [warning]


def test_few_flows_share_no_queue_with_the_default_seed() -> None:
    result = fullpipe.run(of_flows(64, seed=1))
    assert (result.links["shared_queues"].to_pylist(), result.warnings) == ([0], [])


def test_percentiles_by_hand() -> None:
    """Of four packets at once into 8 Mbit/s the last waits 3 ms, and its ACK of 40 bytes is back after 4.04 ms."""
    scenario = Scenario(
        duration="1 s",
        links=[{"name": "l", "rate": "8 Mbit/s", "delay": "0 s", "buffer": "4 packets"}],
        flows=[{"algorithm": "reno", "size": "4 packets", "initial_window": 4, "name": "ours"}],
    )
    result = fullpipe.run(scenario)
    (link,), (flow,), (group,) = (table.to_pylist() for table in (result.links, result.flows, result.groups))
    names = ("p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s", "max_queueing_delay_s")
    assert [link[name] for name in names] == pytest.approx([0.001, 0.003, 0.003, 0.003], rel=0.01)
    assert [link[f"reverse_{name}"] for name in names] == [0.0] * 4
    percentiles = pytest.approx([0.00204, 0.00404, 0.00404], rel=0.01)
    for row in (flow, group, result.totals, result.figures()):
        assert [row[f"p{percent}_rtt_s"] for percent in (50, 95, 99)] == percentiles
    assert (flow["loss_rate"], group["loss_rate"]) == (0.0, 0.0)


def test_notebooks_show_the_tables_that_the_program_prints() -> None:
    page = by_hand(links={"name": ["<b>", "edge"]})._repr_html_()
    assert page.count("<table>") == 3
    assert '<td style="text-align: left">&lt;b&gt;</td><td style="text-align: right">81.23</td>' in page
    assert "<p>Jain index 0.808</p>" in page
    scenario = Scenario(**SCENARIO)._repr_html_()
    assert "{ name = &quot;bottleneck&quot;, rate = &quot;100 Mbit/s&quot;" in scenario


def test_a_kept_scenario_says_every_key_and_gives_the_same_figures(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "out")
    kept = Scenario.load(tmp_path / "out" / "scenario.toml")
    tree = kept.to_dict()
    # 0.5 BDP: 10 Mbit/s times twice 19 ms and the middle of 1 to 5 ms, 44 ms, is 55 packets of 1000 bytes.
    assert tree["links"][0]["buffer"] == "28 packets"
    assert (tree["ack_size"], tree["flows"][0]["recovery"], tree["flows"][0]["min_rto"]) == (40, "newreno", "200 ms")
    assert kept.resolved() == kept
    again = fullpipe.run(kept).to_dict()
    assert [again[table] for table in ("links", "flows")] == [result.to_dict()[table] for table in ("links", "flows")]


def test_saving_again_replaces_and_spares_other_files(result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result.save(out)
    (out / "notes.txt").write_text("mine")
    (out / "result.json").write_text("old")
    result.save(out)
    assert (out / "notes.txt").read_text() == "mine"
    assert json.loads((out / "result.json").read_text()) == result.to_dict()
    assert [path.name for folder in (out, tmp_path) for path in folder.glob(".fullpipe*")] == [MANIFEST]


def test_a_directory_of_somebody_elses_is_left_alone(result: Result, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("precious")
    with pytest.raises(InputError, match="must be a new or empty directory"):
        result.save(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("result.json", "precious")]


def test_a_failure_while_saving_leaves_nothing(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space"):
        result.save(tmp_path / "deep" / "out")
    assert list(tmp_path.iterdir()) == []


def test_lists_without_a_row_can_be_saved(small: Scenario, tmp_path: Path) -> None:
    """An engine without typed columns (Linux) whose series are off."""
    names = ("links", "flows", "traffic", "series", "link_series")
    run = fullpipe.run(small.replace(series_interval="off"))
    columns = {name: {key: to_list(column) for key, column in run.columns(name).items()} for name in names}
    assert columns["link_series"]["link"] == []
    Result(small, {**columns, "totals": run.totals}, engine="linux", wall_s=1.0).save(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "link_series.parquet").num_rows == 0
