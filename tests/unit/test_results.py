"""Results of experiments: long tables, summaries, paired comparisons, files."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fullpipe._util.display import Shown, csv_text, json_text, latex
from fullpipe.errors import InputError
from fullpipe.metrics import METRICS, column
from fullpipe.runs.aggregate import Estimate, verdict
from fullpipe.runs.results import Details, Results, table_of

RUNS = table_of(
    [
        {"run": i, "algorithm": algorithm, "buffer": buffer, "seed": seed, "goodput_bps": goodput, "mean_rtt_s": rtt}
        for i, (algorithm, buffer, seed, goodput, rtt) in enumerate(
            [
                ("reno", "small", 1, 10e6, 0.10),
                ("reno", "small", 2, 12e6, 0.10),
                ("reno", "large", 1, 20e6, 0.20),
                ("reno", "large", 2, 22e6, 0.20),
                ("cubic", "small", 1, 11e6, 0.15),
                ("cubic", "small", 2, 13e6, 0.15),
                ("cubic", "large", 1, 20e6, None),
                ("cubic", "large", 2, 26e6, 0.10),
            ]
        )
    ]
)


def results(**changes: Any) -> Results:
    return Results(("algorithm", "buffer"), RUNS, **changes)


def test_a_summary_has_a_row_per_combination_of_labels() -> None:
    rows = results().summary().to_pylist()
    assert [(row["algorithm"], row["buffer"], row["runs"]) for row in rows] == [
        ("reno", "small", 2),
        ("reno", "large", 2),
        ("cubic", "small", 2),
        ("cubic", "large", 2),
    ]
    # Of 10 and 12 Mbit/s: the mean 11, the deviation the root of 2, and t(1) = 12.7062 times that over the root of 2.
    assert rows[0]["goodput_bps_mean"] == 11e6
    assert rows[0]["goodput_bps_sd"] == pytest.approx(2**0.5 * 1e6)
    assert rows[0]["goodput_bps_ci95"] == pytest.approx(12.7062e6, rel=1e-5)
    assert (rows[3]["mean_rtt_s_mean"], rows[3]["mean_rtt_s_ci95"]) == (0.10, None)


def test_a_summary_by_one_label_averages_over_the_others() -> None:
    rows = results().summary(by="algorithm").to_pylist()
    assert [(row["algorithm"], row["runs"], row["goodput_bps_mean"]) for row in rows] == [
        ("reno", 4, 16e6),
        ("cubic", 4, 17.5e6),
    ]
    (whole,) = results().summary(by=[]).to_pylist()
    assert (whole["runs"], whole["goodput_bps_mean"]) == (8, 16.75e6)
    with pytest.raises(InputError, match=r"unknown label 'bufer'; did you mean 'buffer'"):
        results().summary(by="bufer")


def test_a_comparison_pairs_by_seed_and_by_the_other_labels() -> None:
    rows = results().compare("reno", metrics=["goodput_bps", "mean_rtt_s"]).to_pylist()
    assert [(row["buffer"], row["metric"], row["pairs"], row["difference"], row["verdict"]) for row in rows] == [
        # 1 and 1 Mbit/s more: a difference of no width, beyond 5 % of 11 Mbit/s.
        ("small", "goodput_bps", 2, 1e6, "better"),
        # 0 and 4 Mbit/s more: 2 with an interval of 25.4.
        ("large", "goodput_bps", 2, 2e6, "inconclusive"),
        ("small", "mean_rtt_s", 2, pytest.approx(0.05), "worse"),
        # A run without a value has no pair, and one pair has no interval.
        ("large", "mean_rtt_s", 1, pytest.approx(-0.1), "inconclusive"),
    ]
    assert (rows[0]["baseline"], rows[0]["mean"], rows[0]["ci95"]) == (11e6, 12e6, 0)
    wide = results().compare({"algorithm": "reno"}, metrics=["goodput_bps"], margin=0.1).to_pylist()
    assert wide[0]["verdict"] == "no worse", "1 Mbit/s is within 10 % of 11"


def test_a_baseline_has_to_be_a_value_of_one_label() -> None:
    with pytest.raises(InputError, match=r"unknown value 'ren'; did you mean 'reno'"):
        results().compare("ren")
    twice = RUNS.set_column(RUNS.column_names.index("buffer"), "buffer", pa.array(["reno"] * 8))
    with pytest.raises(InputError, match="'reno' could be a value of algorithm, buffer"):
        Results(("algorithm", "buffer"), twice).compare("reno")
    with pytest.raises(InputError, match="unknown metric 'goodput'; did you mean 'goodput_bps'"):
        results().compare("reno", metrics=["goodput"])


def test_exact_values_have_no_uncertainty() -> None:
    first = RUNS.slice(0, 1), RUNS.slice(4, 1)
    alone = Results(("algorithm",), pa.concat_tables(first), exact=True)
    (row,) = alone.compare("reno", metrics=["goodput_bps"]).to_pylist()
    assert (row["ci95"], row["verdict"]) == (0, "better")
    (row,) = Results(("algorithm",), pa.concat_tables(first)).compare("reno", metrics=["goodput_bps"]).to_pylist()
    assert (row["ci95"], row["verdict"]) == (None, "inconclusive")


@pytest.mark.parametrize(
    ("mean", "ci95", "word"),
    [
        (3.5, 1.0, "worse"),
        (-3.5, 1.0, "better"),
        (0.0, 1.0, "no worse"),
        (1.0, 1.0, "no worse"),  # up to 2, the margin
        (1.5, 1.0, "inconclusive"),
        (0.0, None, "inconclusive"),
    ],
)
def test_verdicts(mean: float, ci95: float | None, word: str) -> None:
    """The candidate's cost minus the baseline's, with a margin of 2."""
    assert verdict(Estimate(mean, None, ci95), 2.0) == word


def test_failed_runs_count_for_nothing(tmp_path: Path) -> None:
    errors = RUNS.append_column("error", pa.array([None, "broken", *[None] * 6], pa.string()))
    broken = Results(("algorithm", "buffer"), errors)
    row = broken.summary().to_pylist()[0]
    assert (broken.failed, row["runs"], row["failed"]) == (1, 1, 1)
    assert broken.compare("reno", metrics=["goodput_bps"]).to_pylist()[0]["pairs"] == 1
    broken.save(tmp_path / "out")
    again = Results.load(tmp_path / "out")
    assert again.runs.equals(errors)
    assert again.labels == ("algorithm", "buffer")


def test_rows_of_flows_are_of_their_runs(tmp_path: Path) -> None:
    details = Details()
    details.add(1, {"id": [0, 1], "goodput_bps": [1.0, 2.0]})
    details.add(0, {"id": [0], "goodput_bps": [3.0], "late": ["yes"]})
    flows = details.table(RUNS.slice(0, 2), ("algorithm",))
    assert flows.to_pylist() == [
        {"run": 0, "algorithm": "reno", "seed": 1, "id": 0, "goodput_bps": 3.0, "late": "yes"},
        {"run": 1, "algorithm": "reno", "seed": 2, "id": 0, "goodput_bps": 1.0, "late": None},
        {"run": 1, "algorithm": "reno", "seed": 2, "id": 1, "goodput_bps": 2.0, "late": None},
    ]
    results(flows=flows).save(tmp_path / "out")
    assert Results.load(tmp_path / "out").flows.equals(flows)
    with pytest.raises(InputError, match="links requires fewer flows"):
        _ = results(flows=flows).links


def test_frames_of_pandas_and_polars() -> None:
    assert results().to_pandas()["goodput_bps"].sum() == 134e6
    assert results().to_polars()["goodput_bps"].sum() == 134e6


def test_markdown_latex_and_html_have_the_table() -> None:
    text = results().to_markdown(["goodput_bps"])
    assert "| algorithm | buffer | Goodput (Mbit/s) |" in text
    assert "| reno | small | 11.00 ± 12.71 |" in text
    assert r"reno & small & 11.00 $\pm$ 12.71 \\" in results().to_latex(["goodput_bps"])
    changes = Shown(
        "", ("name", "change"), [("a-b", "-1.5 ± 0.2"), ("c", "-"), ("d", "1e-05"), ("e", "2 .. -3")], left=1
    )
    assert latex([changes]).splitlines()[4:8] == [
        r"a-b & $-$1.5 $\pm$ 0.2 \\",
        r"c & \textendash{} \\",
        r"d & 1e-05 \\",
        r"e & 2 .. $-$3 \\",
    ]
    assert results()._repr_html_().count("<tr>") == 5


def test_csv_has_a_row_per_run() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(RUNS, ["goodput_bps"], ("algorithm", "buffer")))))
    assert len(rows) == 8
    assert rows[0] == {"run": "0", "algorithm": "reno", "buffer": "small", "seed": "1", "goodput_bps": "10000000.0"}
    dotted = RUNS.rename_columns(["links.l.buffer" if name == "buffer" else name for name in RUNS.column_names])
    head = csv_text(dotted, ["goodput_bps"], ("links.l.buffer",)).splitlines()[0]
    assert head == "run,links.l.buffer,seed,goodput_bps"
    with pytest.raises(InputError, match="unknown metric 'goodput'"):
        csv_text(RUNS, ["goodput"])


def test_a_column_has_one_unit_that_suits_its_values() -> None:
    assert column("goodput_bps", [4.75e9, 60.725e6, None]) == ("Goodput (Gbit/s)", ["4.75", "0.0607", "-"])
    assert column("mean_rtt_s", [0.0031, 0.0878]) == ("Mean RTT (ms)", ["3.1", "87.8"])
    assert column("loss_rate", [0.00125], [0.001]) == ("Loss (%)", ["0.125 ± 0.100"])
    # A time below 0.1 s beside longer ones, and intervals with the decimals of their values.
    assert column("mean_rtt_s", [0.0216, 1.28], [0.0004, 0.83]) == ("Mean RTT (ms)", ["21.6 ± 0.4", "1,280.0 ± 830.0"])
    assert column("goodput_bps", [12e6, 0.5e6], [1e6, 0.04e6]) == ("Goodput (Mbit/s)", ["12.00 ± 1.00", "0.50 ± 0.04"])
    assert column("goodput_bps", [2e5, -1e3], signed=True) == ("Goodput (Mbit/s)", ["+0.20", "-0.001"])


def test_every_metric_has_a_definition_and_a_title_of_its_own() -> None:
    for name, one in METRICS.items():
        assert one.id == name
        assert one.definition.endswith("."), name
        assert one.unit in ("1", "s", "bit/s", "packets", "bytes"), name


def test_json_has_a_line_for_each_row() -> None:
    text = json_text({"exact": True, "rows": [{"a": 1, "b": 'x\n"'}, {"a": None, "b": ""}], "deep": [{"c": [1]}]})
    assert text.splitlines()[2:5] == ['  "rows": [', '    {"a": 1, "b": "x\\n\\""},', '    {"a": null, "b": ""}']
    assert json.loads(text) == {
        "exact": True,
        "rows": [{"a": 1, "b": 'x\n"'}, {"a": None, "b": ""}],
        "deep": [{"c": [1]}],
    }
    with pytest.raises(ValueError, match="JSON"):
        json_text({"rows": [{"a": math.nan}]})
