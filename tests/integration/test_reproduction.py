"""Quick reproduction of every item: verdicts, looks of the plots, and failures in the report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fullpipe.papers import select
from fullpipe.plots.looks import LOOKS
from fullpipe.reproduce import reproduce
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected
from fullpipe.reproduce.report import write_report
from fullpipe.reproduce.report.parameters import parameters


def test_every_item_passes_or_misses_for_a_cause_that_is_named(reproduced: dict[str, Any]) -> None:
    assert [item["id"] for item in reproduced["items"]] == [item.id for item in select(None)]
    for item in reproduced["items"]:
        assert item["status"] in ("pass", "documented miss")
        assert item["checks"]
        for check in item["checks"]:
            assert check["pass"] or check["miss"]


def test_a_corrupted_published_value_is_seen(reproduced: dict[str, Any]) -> None:
    corrupted = 0
    for item in reproduced["items"]:
        entries = expected(item["id"], quick=True)
        figures = {name: math.nan if value is None else value for name, value in item["figures"].items()}
        for i, entry in enumerate(entries):
            if "published" not in entry:
                continue
            if "within_factor" in entry:
                far = entry["published"] * 1.1 * max(entry["within_factor"], entry.get("miss_within", 0.0)) ** 2
            else:
                away = 2.1 * max(entry["tolerance"], entry.get("miss_within", 0.0)) + 1e-6
                far = entry["published"] + math.copysign(away, entry["published"])
            changed = [*entries[:i], {**entry, "published": far}, *entries[i + 1 :]]
            assert judge(figures, changed)[i].status == "fail", (item["id"], entry["name"])
            corrupted += 1
    assert corrupted > 30


CALLED = {
    **{name: name for name in LOOKS["algorithms"]},
    "proposed": "hyun-jang",
    "standard AIMD": "newreno",
    "standard": "newreno",
    "adaptive AIMD": "adaptive-aimd",
    "adaptive": "adaptive-aimd",
    "Prague": "prague",
}
"""The algorithms by what pictures call them."""


def test_an_algorithm_looks_the_same_in_every_picture(reproduced: dict[str, Any], report_directory: Path) -> None:
    """Bars and areas by colour, lines by dash too, points by their marker; further lines of one algorithm have another
    dash, and another colour in a picture of one algorithm; published and calculated ones another marker or dash.
    """
    seen = set()
    for item in reproduced["items"]:
        for file in sorted((report_directory / item["id"]).glob("*.json")):
            if file.name == "item.json":
                continue
            marks = list(labelled(json.loads(file.read_text())))
            only = len({label.partition(" ")[0] for label, *_ in marks if label}) == 1
            for label, mark, bar in marks:
                if only and label.partition(" #")[2] not in ("", "0"):
                    continue
                name = CALLED.get(label) or CALLED.get(label.partition(",")[0]) or CALLED.get(label.partition(" #")[0])
                if name is None:
                    continue
                look = LOOKS["algorithms"][name]
                dash = " ".join(map(str, LOOKS["dashes"][look["dash"]]))
                others = [" ".join(map(str, each)) for each in LOOKS["repeated"]]
                where = (str(file), label)
                assert mark["colour"] == look["colour"], where
                assert bar or mark["marker"] in (None, look["marker"]), where
                assert bar or mark["dash"] in (None, dash, *others) or label.endswith("analytical model"), where
                seen.add(name)
    assert seen >= {"reno", "newreno", "tahoe", "vegas", "hyun-jang", "adaptive-aimd", "cubic", "prague"}


def labelled(picture: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Each line of a plot by its label, and each named bar."""
    names = [name for panel in picture["panels"] for _, name in panel["y"].get("ticks", [])]
    for panel in picture["panels"]:
        for mark in [*panel.get("marks", []), *panel.get("lines", [])]:
            if mark.get("type") != "bars":
                yield mark.get("label", ""), mark, False
            elif mark["across"]:
                for colour, (_, y, _, height) in zip(mark["colours"], mark["boxes"], strict=True):
                    yield names[round(y + height / 2)], {"colour": colour}, True


def test_a_failure_is_shown_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = select("survey/figure-4")
    wrong = {
        "name": "vegas, mean window",
        "published": 99.0,
        "tolerance": 1.0,
        "origin": "<script>alert(1)</script>",
        "reason": "corrupted",
    }
    rest = {"name": "rest", "shape": "bounds", "figures": ["*"], "at_most": 1e9, "origin": "-", "reason": "-"}
    monkeypatch.setattr("fullpipe.reproduce.record.expected", lambda *_, **__: [wrong, rest])
    outcome = reproduce(item)
    outcome.save(tmp_path / item.id)
    text = write_report([outcome], tmp_path, command="fullpipe reproduce <x>").read_text(encoding="utf-8")
    assert outcome.status == "fail"
    assert '<span class="badge fail">discrepancy</span>' in text
    assert "<script>alert" not in text
    assert "fullpipe reproduce &lt;x&gt;" in text


def test_parameters_are_those_of_the_scenarios() -> None:
    (item,) = select("hyun-jang/table-1")
    common, varied = parameters(item.scenarios())
    assert common["links.bottleneck.rate"] == "100 Mbit/s"
    assert varied["links.bottleneck.buffer"] == ["125 packets", "250 packets", "500 packets", "750 packets"]
    assert varied["flows.algorithm"] == ["reno", "hyun-jang"]
    assert varied["flows.algorithm.a"] == ["-", "1.1"]
