"""Data of the papers: every check can fail, and a published value is written once."""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from fullpipe.papers import PAPERS, select
from fullpipe.reproduce import reproduce_all
from fullpipe.reproduce.check import Value, judge
from fullpipe.reproduce.item import expected, marks, published

PAPERS_DIRECTORY = Path(fullpipe.__file__).parent / "papers"
DATA = {paper: PAPERS_DIRECTORY / paper.replace("-", "_") / "paper.toml" for paper in PAPERS}

FACTOR = {"name": "x", "published": 2.0, "within_factor": 3.0, "origin": "", "reason": ""}


@pytest.mark.parametrize(
    ("measured", "status"),
    [
        (2.0, "pass"),
        (6.0, "pass"),
        (0.67, "pass"),
        (6.1, "fail"),
        (0.66, "fail"),
        (0.0, "fail"),
        (-2.0, "fail"),
        (math.nan, "fail"),
        (math.inf, "fail"),
    ],
)
def test_within_factor(measured: float, status: str) -> None:
    (check,) = judge({"x": measured}, [FACTOR])
    assert (check.status, check.to_dict()["tolerance"], check.to_dict()["within_factor"]) == (status, None, 3.0)


def test_a_documented_miss_by_a_factor_has_its_limit() -> None:
    known = {**FACTOR, "miss": "the paper does not say", "miss_within": 5.0}
    for measured, status in ((5.9, "pass"), (9.9, "documented miss"), (0.41, "documented miss"), (10.1, "fail")):
        (check,) = judge({"x": measured}, [known])
        assert check.status == status
    assert judge({"x": 0.0}, [known])[0].status == "fail"


@pytest.mark.parametrize(
    ("measured", "place"), [(2.0, 0.0), (6.0, 1.0), (2 / 3, -1.0), (18.0, 2.0), (0.0, -math.inf), (math.nan, math.nan)]
)
def test_the_place_of_a_figure_within_a_factor(measured: float, place: float) -> None:
    (check,) = judge({"x": measured}, [FACTOR])
    assert isinstance(check, Value)
    assert check.place == pytest.approx(place, nan_ok=True)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"tolerance": 2.0}, "tolerance 2 is the whole published value 2 or more"),
        ({"published": -2.0, "tolerance": 4.0}, "tolerance 4 is the whole published value -2 or more"),
        ({"tolerance": -0.1}, "tolerance -0.1"),
        ({}, "either tolerance or within_factor"),
        ({"tolerance": 0.1, "within_factor": 3.0}, "either tolerance or within_factor"),
        ({"within_factor": 1.0}, "within_factor must be above 1"),
        ({"published": 0.0, "within_factor": 2.0}, "the published value not 0"),
    ],
)
def test_a_tolerance_that_lets_nothing_pass_is_refused(entry: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        judge({"x": 2.0}, [{"name": "x", "published": 2.0, "origin": "", "reason": "", **entry}])


def test_it_is_refused_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = select("hyun-jang/table-1")
    entry = {"item": "table-1", "name": "x", "published": 0.7, "tolerance": 0.7, "origin": "-", "reason": "-"}
    monkeypatch.setattr("fullpipe.reproduce.item._data", lambda _: {"checks": [entry]})
    monkeypatch.setattr("fullpipe.reproduce.record.Runner.rows", lambda *_, **__: pytest.fail("was run"))
    with pytest.raises(ValueError, match=r"^hyun-jang/paper\.toml: hyun-jang/table-1: x: tolerance 0\.7 is the whole"):
        next(iter(reproduce_all([item])))


def test_no_check_passes_a_measured_0() -> None:
    for item in select(None):
        for quick in (False, True):
            for entry in expected(item.id, quick=quick):
                if entry.get("published", 0) != 0:
                    (check,) = judge({entry["name"]: 0.0}, [entry])
                    assert not check.passed, (item.id, entry["name"])


def test_a_published_value_is_found_by_its_name() -> None:
    # Typed in again: Table 1 of the letter, section V of the survey, table 2 of eHSTCP's paper.
    assert published("hyun-jang/table-1", "utilization, reno, k=1/4") == 0.891
    assert published("hyun-jang/figure-3", "table-1: utilization, reno, k=1/4") == 0.891
    assert published("beyond/central-experiments", "survey/figure-5: throughput, tahoe, kbit/s") == 810.187
    assert marks("survey/figure-5") == {"vegas": 974.803, "newreno": 918.249, "tahoe": 810.187}
    (ratio,) = [e for e in expected("ehstcp/table-2") if e["name"].startswith("throughput ratio, BIC, RTT ratio 6")]
    assert ratio["published"] == 84.65
    with pytest.raises(ValueError, match=r"^survey/paper\.toml: survey/figure-5: no published value is called 'veno'$"):
        published("survey/figure-5", "veno")


EQUAL = {"hyun-jang": {0.999: 2}}
"""Values that a table prints in several cells: Table 1 of the letter, the proposed scheme at k = 1/2 and 3/4."""


COINCIDENCES = {"single.py": {0.999}}
"""Constants that are no published value: a window that has reached W_full to a thousandth."""


def _data(paper: str) -> dict[str, Any]:
    return tomllib.loads(DATA[paper].read_text(encoding="utf-8"))


def _printed(paper: str) -> list[float]:
    """Published values that are numbers in a paper's data, once per occurrence."""
    data = _data(paper)
    return list(_numbers([[entry.get("published") for entry in data["checks"]], data.get("marks", {})]))


def _numbers(value: Any) -> Iterator[float]:
    """The numbers in a tree that have three digits or more; fewer are common."""
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _numbers(entry)
    elif isinstance(value, int | float) and _digits(str(value)) >= 3:
        yield value


def _digits(number: str) -> int:
    whole, _, decimals = number.lstrip("-").partition(".")
    return len((whole + decimals).lstrip("0")) if decimals.strip("0") else len(whole.rstrip("0"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)
    elif isinstance(value, str):
        yield value


def test_these_are_published_values() -> None:
    assert {0.891, 974.803, 0.0197, 341.65} <= {value for paper in PAPERS for value in _printed(paper)}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_published_value_stands_once_in_the_data(paper: str) -> None:
    data, printed = _data(paper), Counter(_printed(paper))
    assert {value: times for value, times in printed.items() if times > 1} == EQUAL.get(paper, {})
    bounds = [entry[key] for entry in data["checks"] for key in ("at_least", "at_most") if key in entry]
    assert printed.keys() & set(_numbers(bounds)) == set()
    quoted = {float(number) for text in _texts(data) for number in re.findall(r"\d+\.\d+", text)}
    assert printed.keys() & quoted == set()


@pytest.mark.parametrize("paper", PAPERS)
def test_no_published_value_stands_in_the_papers_code(paper: str) -> None:
    for file in sorted(PAPERS_DIRECTORY.glob(f"{paper.replace('-', '_')}/*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert constants & set(_printed(paper)) == COINCIDENCES.get(file.name, set()), file.name
