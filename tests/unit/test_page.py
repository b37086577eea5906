"""The report's page, from checks and figures written by hand: an article word by word, each cell of its table."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from by_hand import by_hand
from fullpipe import Scenario
from fullpipe.reproduce import Outcome, Rows
from fullpipe.reproduce.check import Shape, Value
from fullpipe.reproduce.item import Claim, Item
from fullpipe.reproduce.report import view
from test_tables import ABOVE, AGREES, BELOW, LINK, RISES

pages = import_module("fullpipe.reproduce.report.page")  # its function has the same name

TWICE = Value(name="loss", origin="Table 4", reason="rare", published=0.5, measured=0.3, within_factor=2.0)

HEADINGS = ["quantity", "published", "measured", "difference", "tolerance", "verdict", "origin"]


def cells(check: Value | Shape) -> dict[str, str]:
    """Row of the table of checks: its text under each heading."""
    row = view._check(check)
    names = [name for name in [*HEADINGS, "asked"] if name in row]
    return {name: row[name] for name in names} | {"origin": f"{row['origin']}: {row['reason']}"}


def gauge(check: Value) -> tuple[str, int | None]:
    """The gauge's color and the position of its mark: 50 % is the published value, 25 to 75 % the tolerance."""
    row = view._check(check)
    return row["kind"], row["place"]


def test_each_figure_stands_under_its_heading() -> None:
    assert cells(AGREES) == {
        "quantity": "utilization, reno",
        "published": "0.83",
        "measured": "0.8351",
        "difference": "+0.0051",
        "tolerance": "0.01",
        "verdict": "agrees",
        "origin": "Table 1: two digits",
    }
    assert list(cells(BELOW)) == HEADINGS
    assert (cells(BELOW)["published"], cells(BELOW)["measured"], cells(BELOW)["difference"]) == ("100", "97.5", "-2.50")
    assert cells(BELOW)["verdict"] == "discrepancy"
    assert (cells(ABOVE)["published"], cells(ABOVE)["measured"], cells(ABOVE)["difference"]) == (
        "20",
        "31.25",
        "+11.25",
    )
    assert cells(ABOVE)["verdict"] == "known discrepancy"


def test_a_shape_shows_what_it_judges() -> None:
    assert cells(RISES) == {
        "quantity": "order",
        "asked": "rising by 1",
        "measured": "1, 3.5, 5",
        "difference": "",
        "tolerance": "",
        "verdict": "agrees",
        "origin": "Figure 4: a curve",
    }
    common: dict[str, Any] = {"name": "n", "origin": "o", "reason": "r"}
    bounds = Shape(**common, shape="bounds", values={"a": 0.5, "b": 12345.6}, at_least=0.25, at_most=2e4)
    assert (cells(bounds)["asked"], cells(bounds)["measured"]) == (">= 0.25 and <= 20000", "0.5 to 12,346")
    same = Shape(**common, shape="bounds", values={"a": 0.5, "b": 0.5}, at_least=0.6)
    assert (cells(same)["measured"], cells(same)["verdict"]) == ("0.5", "discrepancy")
    below = Shape(**common, shape="below", values={"a": 1.0, "b": 2.0}, than={"c": 3.0, "d": 5.0})
    assert cells(below)["measured"] == "1 < 3; 2 < 5"
    three = Shape(**common, shape="below", values={"a": 1.0, "b": 2.0, "c": 3.0}, than={"d": 4.0, "e": 5.0, "f": 6.0})
    assert cells(three)["measured"] == "1 < 4; 2 < 5; 3 < 6"
    alone = Shape(**common, shape="below", values={"a": 1.0, "b": 2.0}, than={"c": 3.0})
    assert cells(alone)["measured"] == "least step 1"
    many = Shape(**common, shape="falling", values={str(i): 10.0 - 2 * i for i in range(7)})
    assert cells(many)["measured"] == "least step 2"
    fewer = Shape(**common, shape="falling", values={str(i): 10.0 - 2 * i for i in range(6)})
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


def test_a_factor_has_a_ratio_and_a_gauge_of_its_own() -> None:
    # 0.3 is 0.6 of 0.5: of the way to a half, log(0.6) / log(0.5) = 0.737 on the gauge's scale, 50 - 25 * 0.737.
    assert (cells(TWICE)["difference"], cells(TWICE)["tolerance"]) == ("0.6 times", "factor 2")
    assert gauge(TWICE) == ("pass", 32)


def test_a_wide_tolerance_has_a_difference_without_digits() -> None:
    wide = Value(name="n", origin="o", reason="r", published=3000.0, measured=3100.4, tolerance=1500.0)
    assert cells(wide)["difference"] == "+100"


def test_what_is_no_number_has_neither_difference_nor_gauge() -> None:
    for measured, tolerance, difference in ((float("nan"), 1.0, "-"), (3.5, 0.0, "+0.500")):
        value = Value(name="n", origin="o", reason="r", published=3.0, measured=measured, tolerance=tolerance)
        assert cells(value)["difference"] == difference
        assert gauge(value)[1] is None


PARTS: dict[str, dict[str, str]] = {
    AGREES.name: {"quantity": "utilization", "algorithm": "reno"},
    ABOVE.name: {"quantity": "loss", "unit": "%"},
    BELOW.name: {"quantity": "window", "unit": "packets", "setting": "k=1/8, 3 < 4"},
}
"""What the checks' figures are; others are quantities."""


def rows(*checks: Value | Shape) -> Rows:
    """Measured values, from their checks."""
    found = Rows()
    for check in checks:
        if isinstance(check, Value):
            found.add(**PARTS.get(check.name, {"quantity": check.name}), value=check.measured, name=check.name)
    return found


def outcome(
    directory: Path, name: str, *checks: Value | Shape, pictures: tuple[str, ...] = (), **given: Any
) -> Outcome:
    """An item as it lies in its directory; ``seeds`` makes a scenario of each."""
    place = directory / name
    place.mkdir(parents=True)
    for picture in pictures:
        drawn = {"kind": "plot", "title": f"<{picture}>", "panels": [{"title": "</script>"}]}
        (place / f"{picture}.json").write_text(json.dumps(drawn))
    item = Item(
        name, f"What <{name}> shows", dict, lambda _: Rows(), {each: lambda _: by_hand().plot() for each in pictures}
    )
    scenarios = {
        f"k={count}": Scenario(duration="10 s", seed=seed, links=[LINK], flows=[{"algorithm": "reno", "count": count}])
        for count, seed in enumerate(given.pop("seeds", ()), 1)
    }
    plain = {"results": {}, "rows": rows(*checks), "shortened": "", "quick": False, "wall_s": 3.25, "version": "9.8.7"}
    return Outcome(item=item, scenarios=scenarios, checks=checks, **{**plain, **given})


def three(directory: Path) -> list[Outcome]:
    """Of two papers: a quick item that was kept, a full one, and one run on Linux without scenarios or pictures."""
    both = rows(AGREES, ABOVE, BELOW)
    both.add("large", 123456.7, unit="packets")
    return [
        outcome(
            directory,
            "survey/table-9",
            *(AGREES, ABOVE, BELOW, RISES),
            pictures=("a picture",),
            seeds=(3, 3),
            rows=both,
            shortened="half as long",
            quick=True,
            kept=True,
        ),
        outcome(
            directory,
            "survey/table-10",
            *(AGREES, RISES),
            pictures=("one", "two"),
            seeds=(3, 4),
            rows=rows(AGREES),
            wall_s=12.0,
        ),
        outcome(directory, "ehstcp/figure-9", TWICE, engine="linux", shortened="one flow", seeds=(5,)),
    ]


def said(name: str) -> dict[str, Any]:
    """Texts of the results in the data files."""
    if name == "ehstcp/figure-9":
        return {"reading": "", "deviations": []}
    return {"reading": "It reads <{measured: utilization, reno | .2f}>.", "deviations": ["A & B differ.", "C."]}


CLAIM = Claim(
    of="The authors, 1999",
    says="More <is> more",
    judged_by=("table-9", "table-10"),
    words="It reads {measured: table-9: utilization, reno | .2f}. Of {measured: elsewhere} no word.",
    item="table-9",
    picture="a picture",
    panels=(1,),
)


def test_values_from_data_files_are_filled_in_and_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "notes", said)
    monkeypatch.setattr(import_module("fullpipe.reproduce.record"), "notes", said)
    monkeypatch.setattr(view, "citation", lambda paper: f"The authors of <{paper}>")
    monkeypatch.setattr(view, "claim", lambda _: CLAIM)
    whole = pages.page(three(tmp_path), tmp_path, command="fullpipe <x>")
    for name in ("vendor/uPlot.min.css", "style.css", "vendor/uPlot.iife.min.js", "report.js"):
        assert str(pages._own(name)) in whole
    # The measured utilization is 0.8351; angle brackets and ampersands of texts are escaped.
    for shown in (
        "It reads &lt;0.84&gt;.",
        "A &amp; B differ.",
        "More &lt;is&gt; more",
        "fullpipe &lt;x&gt;",
        "The authors of &lt;survey&gt;",
    ):
        assert shown in whole, shown
    for raw in ("<0.84>", "<is>", "<x>", "<survey>"):
        assert raw not in whole, raw


def judged(*statuses: Value | Shape, name: str = "survey/table-9", **given: Any) -> Any:
    item = Item(name, "t", dict, lambda _: Rows(), {"a picture": lambda _: by_hand().plot()})
    plain = {"results": {}, "rows": rows(*statuses), "shortened": "", "quick": False, "wall_s": 1.0}
    return Outcome(item=item, scenarios={}, checks=statuses, **{**plain, **given})


def test_a_claim_is_judged_by_its_items() -> None:
    one, other = judged(AGREES), judged(RISES, name="survey/table-10")
    holds = view._claim(CLAIM, [one, other])
    # The second sentence's figure was measured nowhere.
    assert (holds["kind"], holds["words"], holds["picture"]) == ("pass", "It reads 0.84.", "survey/table-9/a picture")
    in_part = view._claim(CLAIM, [one, judged(ABOVE, name="survey/table-10")])
    assert (in_part["kind"], in_part["words"]) == ("known", "It reads 0.84.")
    fails = view._claim(CLAIM, [one, judged(BELOW, RISES, name="survey/table-10")])
    assert (fails["kind"], fails["words"]) == (
        "fail",
        "Does not hold in this run: 1 of the 3 checks behind it miss.",
    )
    unknown = view._claim(CLAIM, [other])
    assert (unknown["kind"], unknown["words"]) == ("none", "Not judged here, without table-9.")
    assert unknown["picture"] is None


def test_a_paper_without_a_claim_says_how_many_checks_agree() -> None:
    bare = view._claim(Claim(of="mine", says="Me, 2001"), [judged(AGREES, ABOVE)])
    assert (bare["kind"], bare["words"], bare["picture"]) == ("known", "1 of 2 checks agree.", None)


def test_a_miss_is_told_once_for_all_that_share_its_cause() -> None:
    again = Value(name="more loss", origin="o", reason="r", published=1.0, measured=5.0, tolerance=0.5, **CAUSE)
    stories = view._stories([ABOVE, again, BELOW])
    assert [(story["kind"], story["cause"]) for story in stories] == [("known", ABOVE.miss), ("fail", "")]
    assert [[check["quantity"] for check in story["checks"]] for story in stories] == [
        [ABOVE.name, "more loss"],
        [BELOW.name],
    ]


CAUSE: dict[str, Any] = {"miss": ABOVE.miss, "miss_within": 20.0}


def beside(*figures: tuple[str, str, str, str, Value], shapes: tuple[Shape, ...] = ()) -> list[dict[str, Any]]:
    """Panels of plots: quantity, unit, algorithm, setting, and result of the check."""
    found = Rows()
    for quantity, unit, algorithm, setting, check in figures:
        found.add(quantity, check.measured, unit=unit, algorithm=algorithm, setting=setting, name=check.name)
    return view._beside(judged(*(figure[4] for figure in figures), *shapes, rows=found))


def test_published_values_of_one_quantity_stand_together() -> None:
    def value(name: str, published: float, measured: float, **given: Any) -> Value:
        return Value(name=name, origin="o", reason="r", published=published, measured=measured, **given)

    panels = beside(
        ("loss", "%", "reno", "k=1/8", value("loss, reno, k=1/8, %", 0.1, 0.2, within_factor=4.0)),
        ("loss", "%", "vegas", "k=1/8", value("loss, vegas, k=1/8, %", 20.0, 10.0, within_factor=4.0)),
        ("loss", "packets", "vegas", "k=1/4", value("lost", 20.0, 10.0, within_factor=4.0)),
        ("gain", "", "reno", "", value("gain, reno", 1.0, 1.1, tolerance=0.5)),
        ("gain", "", "vegas", "", value("vegas has gained", 2.0, 1.4, tolerance=0.5)),
        ("alone", "", "reno", "", value("alone, reno", 2.0, 1.9, tolerance=0.5)),
        shapes=(RISES,),
    )
    assert [(panel["title"], panel["log"]) for panel in panels] == [("loss, %", True), ("gain", False)]
    assert panels[0]["rows"] == [
        {"label": "reno, k=1/8", "published": 0.1, "measured": 0.2, "low": 0.025, "high": 0.4, "kind": "pass"},
        {"label": "vegas, k=1/8", "published": 20.0, "measured": 10.0, "low": 5.0, "high": 80.0, "kind": "pass"},
    ]
    assert panels[1]["rows"][1] == {
        "label": "vegas",
        "published": 2.0,
        "measured": 1.4,
        "low": 1.5,
        "high": 2.5,
        "kind": "fail",
    }


def test_an_item_without_scenarios_has_no_parameters(tmp_path: Path) -> None:
    item = outcome(tmp_path, "survey/table-9", AGREES)
    assert view._parameters(item) == []
    assert "seeds" not in dict(view._made(item))


def test_an_item_says_what_made_it(tmp_path: Path) -> None:
    origin = {"version": "9.8.7", "build": "commit 123", "machine": "a chip", "made": "2001-02-03", "kept": True}
    item = outcome(tmp_path, "survey/table-9", AGREES, seeds=(3, 4), engine="linux", **origin)
    assert dict(view._made(item)) == {
        "engine": "on Linux in a virtual machine",
        "seeds": "3 | 4",
        "version": "fullpipe 9.8.7, commit 123",
        "machine": "a chip",
        "date": "2001-02-03, kept since",
        "took": "3.2 s",
    }


def test_large_figures_are_whole_numbers() -> None:
    assert [view._number(value) for value in (9999.4, 10000.0, -10000.0, 0.00012346)] == [
        "9999",
        "10,000",
        "-10,000",
        "0.0001235",
    ]


def test_long_lists_of_values_are_cut() -> None:
    assert view._several([str(i) for i in range(8)]) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"
    assert view._several([str(i) for i in range(9)]) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | ... (9 in all)"


def test_the_page_says_once_what_made_all_and_from_when_to_when(tmp_path: Path) -> None:
    made = {"machine": "a chip", "build": "commit 123"}
    first, last = (
        outcome(tmp_path, f"survey/table-{i}", AGREES, made=day, **made)
        for i, day in enumerate(("2001-02-03", "2001-02-05"))
    )
    middle = outcome(tmp_path, "survey/table-9", AGREES, made="2001-02-04", machine="a chip")
    assert pages._made([last, middle, first]) == [
        "fullpipe 9.8.7, commit 123",
        "fullpipe 9.8.7",
        "a chip",
        "2001-02-03 to 2001-02-05",
    ]
    assert pages._made([first, first])[-1] == "2001-02-03"
    assert dict(view._made(first))["date"] == "2001-02-03"


def test_no_script_ends_its_own_element_and_no_text_moves_a_terminals_cursor() -> None:
    script = pages._own("report.js")
    assert "</" not in script
    folder = files("fullpipe.reproduce.report")
    assert script.replace("<\\/", "</") == folder.joinpath("report.js").read_text(encoding="utf-8")
    template = pages._own("templates/page.html")
    assert "</" in template
    assert template == folder.joinpath("templates", "page.html").read_text(encoding="utf-8")
    shown = pages.environment().from_string("{{ text }} {{ number }}").render(text="a\x1b[31m<b>", number=7)
    assert "\x1b" not in shown
    assert "&lt;b&gt; 7" in shown
    with pytest.raises(UndefinedError):
        pages.environment().from_string("{{ nothing }}").render()


def test_only_published_values_that_are_known_stand_together() -> None:
    def gain(name: str, measured: float) -> tuple[str, str, str, str, Value]:
        return (
            "gain",
            "",
            name,
            "",
            Value(name=name, origin="o", reason="r", published=2.0, measured=measured, tolerance=1),
        )

    (panel,) = beside(gain("a", 1.0), gain("b", float("nan")), gain("c", 3.0), shapes=(RISES,))
    assert [row["label"] for row in panel["rows"]] == ["a", "c"]
