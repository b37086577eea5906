"""The report's page, from checks and figures written by hand: an article word by word, each cell of its table."""

from __future__ import annotations

import re
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from by_hand import by_hand, snapshot
from fullpipe import Scenario
from fullpipe.papers import Outcome
from fullpipe.papers.check import Shape, Value
from fullpipe.papers.item import Item
from test_tables import ABOVE, AGREES, BELOW, LINK, RISES

pages = import_module("fullpipe.report.page")  # its function has the same name

HEADINGS = ["quantity", "published", "measured", "difference", "tolerance", "verdict", "origin"]


def cells(check: Value | Shape) -> dict[str, str]:
    """A row of the table of checks: what a reader sees under each heading."""
    found = re.findall(r"<td data-label='(\w+)' class='[^']*'>(.*?)</td>", pages._check(check))
    return {label: unescape(re.sub("<[^>]*>", "", text)) for label, text in found}


def gauge(check: Value) -> tuple[str, int]:
    """The gauge's colour, and where its mark stands: 50 % is the published value, 25 to 75 % the tolerance."""
    ((colour, place),) = re.findall(r"class='gauge (\w+)'[^>]*><i style='left:(\d+)%'>", pages._check(check))
    return colour, int(place)


def test_each_figure_stands_under_its_heading() -> None:
    assert cells(AGREES) == {
        "quantity": "utilization, reno",
        "published": "0.83",
        "measured": "0.8351",
        "difference": "+0.0051",
        "tolerance": "0.01",
        "verdict": "pass",
        "origin": "Table 1: two digits",
    }
    assert list(cells(BELOW)) == HEADINGS
    assert (cells(BELOW)["published"], cells(BELOW)["measured"], cells(BELOW)["difference"]) == ("100", "97.5", "-2.50")
    assert cells(BELOW)["verdict"] == "miss"
    assert (cells(ABOVE)["published"], cells(ABOVE)["measured"], cells(ABOVE)["difference"]) == (
        "20",
        "31.25",
        "+11.25",
    )
    assert cells(ABOVE)["verdict"] == "documented miss"


def test_a_shape_shows_what_it_judges() -> None:
    assert cells(RISES) == {
        "quantity": "order",
        "asked": "rising by 1",
        "measured": "1, 3.5, 5",
        "difference": "",
        "tolerance": "",
        "verdict": "pass",
        "origin": "Figure 4: a curve",
    }
    common: dict[str, Any] = {"name": "n", "origin": "o", "reason": "r"}
    bounds = Shape(**common, shape="bounds", figures={"a": 0.5, "b": 12345.6}, at_least=0.25, at_most=2e4)
    assert (cells(bounds)["asked"], cells(bounds)["measured"]) == (">= 0.25 and <= 20000", "0.5 to 12,346")
    same = Shape(**common, shape="bounds", figures={"a": 0.5, "b": 0.5}, at_least=0.6)
    assert (cells(same)["measured"], cells(same)["verdict"]) == ("0.5", "miss")
    below = Shape(**common, shape="below", figures={"a": 1.0, "b": 2.0}, than={"c": 3.0, "d": 5.0})
    assert cells(below)["measured"] == "1 < 3; 2 < 5"
    alone = Shape(**common, shape="below", figures={"a": 1.0, "b": 2.0}, than={"c": 3.0})
    assert cells(alone)["measured"] == "least step 1"
    many = Shape(**common, shape="falling", figures={str(i): 10.0 - 2 * i for i in range(7)})
    assert cells(many)["measured"] == "least step 2"
    fewer = Shape(**common, shape="falling", figures={str(i): 10.0 - 2 * i for i in range(6)})
    assert cells(fewer)["measured"] == "10, 8, 6, 4, 2, 0"


@pytest.mark.parametrize(
    ("measured", "colour", "place"),
    [
        (100.0, "pass", 50),
        (101.0, "pass", 62),  # half the tolerance above: 50 + 25 / 2
        (98.0, "pass", 25),
        (102.0, "pass", 75),
        (103.0, "fail", 88),  # 50 + 25 * 1.5
        (500.0, "fail", 98),  # at the end: 1.9 tolerances
        (-500.0, "fail", 2),
    ],
)
def test_the_gauge(measured: float, colour: str, place: int) -> None:
    value = Value(name="n", origin="o", reason="r", published=100.0, measured=measured, tolerance=2.0)
    assert gauge(value) == (colour, place)


def test_what_is_no_number_has_neither_difference_nor_gauge() -> None:
    for measured, tolerance, difference in ((float("nan"), 1.0, "-"), (3.5, 0.0, "+0.500")):
        value = Value(name="n", origin="o", reason="r", published=3.0, measured=measured, tolerance=tolerance)
        assert cells(value)["difference"] == difference
        assert "gauge" not in pages._check(value)


def outcome(directory: Path, *checks: Value | Shape, **changes: Any) -> Outcome:
    """An item with two scenarios and a picture, as it lies in its directory."""
    item = Item("survey/table-9", "What <it> shows", dict, lambda _: {}, {"a picture": lambda _: by_hand().plot()})
    place = directory / "survey/table-9"
    place.mkdir(parents=True)
    (place / "a picture.png").write_bytes(b"not really")
    scenarios = {
        f"k={count}": Scenario(duration="10 s", seed=3, links=[LINK], flows=[{"algorithm": "reno", "count": count}])
        for count in (1, 2)
    }
    figures = {"utilization, reno": 0.8351, "large": 123456.7}
    given = {"scenarios": scenarios, "results": {}, "figures": figures, "shortened": "", "quick": False, "wall_s": 3.25}
    return Outcome(item=item, checks=checks, **{**given, **changes})


def test_an_article(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"reading": "It reads <so>.", "deviations": ["A & B differ."]}
    monkeypatch.setattr(pages, "notes", lambda _: said)
    monkeypatch.setattr(pages.fullpipe, "__version__", "9.8.7")
    article = pages._article(
        outcome(tmp_path, AGREES, ABOVE, BELOW, RISES, shortened="half as long", quick=True, kept=True), tmp_path
    )
    assert article == snapshot("article.html")


def test_the_contents_count_what_passed(tmp_path: Path) -> None:
    whole = pages.page([outcome(tmp_path, AGREES, ABOVE, BELOW)], tmp_path, command="fullpipe <x>")
    assert "Of 3 checks in\n1 items 1 pass." in whole
    assert "<td class='number passed'>1 of 3</td>" in whole
    assert re.findall(r"<i class='(\w+)' title='([^:]*):", whole) == [
        ("pass", "utilization, reno"),
        ("known", "loss, %"),
        ("fail", "window"),
    ]
    assert "<b>1</b> item: a check misses for no known cause" in whole
    assert "every check agrees" not in whole
    assert "fullpipe &lt;x&gt;" in whole
    assert "Quick" not in whole


def test_long_lists_of_values_are_cut() -> None:
    assert pages._several([str(i) for i in range(8)]) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"
    assert pages._several([str(i) for i in range(9)]) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | ... (9 in all)"
