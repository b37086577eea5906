"""Measured values of a result as rows: named as checks call them, written to a file, and read again."""

from __future__ import annotations

import csv
import json
import math
from io import StringIO

import pytest

from fullpipe.reproduce import Rows


def test_a_figure_is_called_by_its_parts_in_the_order_asked_for() -> None:
    rows = Rows()
    rows.add("utilization", 0.5, algorithm="proposed", setting="k=1/8")
    rows.add("largest RTT", 12, unit="ms", algorithm="proposed less reno")
    rows.add("correlation", -0.25)
    assert list(rows.values) == ["utilization, proposed, k=1/8", "largest RTT, proposed less reno, ms", "correlation"]
    other = Rows(named=("algorithm", "quantity"))
    other.add("window", 20, unit="packets", algorithm="tahoe", setting="late")
    other.add("window", 21, unit="packets", algorithm="reno", setting="late", name="Reno's window")
    assert other.values == {"tahoe, window": 20.0, "Reno's window": 21.0}


def test_figures_are_found_by_what_they_are() -> None:
    rows = Rows(named=("quantity",))
    rows.add("loss", 0.25, unit="%", algorithm="vegas", setting="late")
    rows.add("gain", 0.75)
    assert (rows.value("loss", "vegas", "late"), rows.value("gain"), len(rows)) == (0.25, 0.75, 2)
    assert (rows.get("loss", "vegas"), rows.get("loss", "vegas", "late")) == (None, 0.25)
    assert (rows.called("loss").unit, rows.called("loss").setting) == ("%", "late")
    for missing in (lambda: rows.value("loss"), lambda: rows.called("vegas")):
        with pytest.raises(KeyError):
            missing()


def test_no_two_figures_are_the_same() -> None:
    rows = Rows()
    rows.add("loss", 0.25, algorithm="vegas", setting="late")
    for again in ({"setting": "late", "name": "other"}, {"setting": "early", "name": "loss, vegas, late"}):
        with pytest.raises(ValueError, match="two values are called"):
            rows.add("loss", 0.5, algorithm="vegas", **again)
    assert rows.values == {"loss, vegas, late": 0.25}


def test_as_a_file_and_as_json() -> None:
    rows = Rows()
    rows.add("loss", 0.1, unit="%", algorithm="vegas", setting='30 ms, "late"')
    rows.add("gain", math.nan)
    text = rows.to_csv()
    assert text.splitlines() == [
        "quantity,unit,algorithm,setting,value,ci95,runs",
        'loss,%,vegas,"30 ms, ""late""",0.1,,',
        "gain,,,,,,",
    ]
    assert [row["setting"] for row in csv.DictReader(StringIO(text))] == ['30 ms, "late"', ""]
    again = Rows.from_list(json.loads(json.dumps(rows.to_list(), allow_nan=False)))
    assert again.to_csv() == text
    assert list(again.values) == ['loss, vegas, 30 ms, "late", %', "gain"]
    assert math.isnan(again.values["gain"])


def test_mean_over_runs_has_an_interval_by_students_t() -> None:
    """Mean 2 and standard deviation 1 of three runs; t is 4.303 for two degrees of freedom (Student's table)."""
    rows = Rows()
    rows.add_mean("share", [1.0, 2.0, 3.0], unit="%")
    rows.add_mean("loss", [0.5])
    rows.add("gain", 1.0)
    assert rows.values == {"share, %": 2.0, "loss": 0.5, "gain": 1.0}
    assert rows.intervals == {
        "share, %": {"ci95": pytest.approx(4.303 / math.sqrt(3), rel=1e-4), "runs": 3},
        "loss": {"ci95": None, "runs": 1},
    }
    again = Rows.from_list(json.loads(json.dumps(rows.to_list(), allow_nan=False)))
    assert again.intervals == rows.intervals
    assert again.to_csv() == rows.to_csv()
    with pytest.raises(ValueError, match="at least one run"):
        rows.add_mean("window", [])


def repeat(**values: float) -> Rows:
    rows = Rows()
    for name, value in values.items():
        rows.add(name, value, unit="ms")
    return rows


def test_mean_over_repetitions_of_an_item() -> None:
    """Values of 1 and 3: mean 2, and t(0.975, 1) = 12.706 times a standard error of 1. Rows are those of the first."""
    one = repeat(rtt=1.0, loss=4.0, gain=math.nan)
    assert Rows.mean([one]) is one
    mean = Rows.mean([one, repeat(rtt=3.0, gain=math.nan, other=5.0)])
    rtt, loss, gain = mean
    assert [row.name for row in mean] == ["rtt, ms", "loss, ms", "gain, ms"]
    assert (rtt.value, rtt.ci95, rtt.runs) == (2.0, pytest.approx(12.7062, rel=1e-4), 2)
    assert (loss.value, loss.ci95, loss.runs) == (4.0, None, 1)
    assert (gain.ci95, gain.runs) == (None, None)
    assert math.isnan(gain.value)


def test_geometric_means_have_the_interval_of_the_mean_logarithm() -> None:
    """Logarithms 0 and 2: mean 1, and t(0.975, 1) = 12.706 times a standard error of 1."""
    rows = Rows()
    rows.add_geometric_mean("ratio", [1.0, math.exp(2)])
    rows.add_geometric_mean("ratio of one run", [4.0])
    both, one = rows
    assert (both.value, both.ci95, both.runs) == (
        pytest.approx(math.e),
        pytest.approx(math.e * math.sinh(12.7062), rel=1e-3),
        2,
    )
    assert (one.value, one.ci95, one.runs) == (pytest.approx(4), None, 1)
    with pytest.raises(ValueError, match="a mean requires at least one run"):
        rows.add_geometric_mean("none", [])
