"""Placeholders in the papers' data: a sentence is filled with figures of the run that the page shows, or left out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fullpipe.papers import select
from fullpipe.reproduce import Outcome, reproduce
from fullpipe.reproduce.item import expected, notes, shorter
from fullpipe.reproduce.prose import filled, with_published
from fullpipe.reproduce.report import write_report

FIGURES = {"loss, BIC, %": 0.01423, "utilization": 0.9412, "unknown": float("nan")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Half is lost.", "Half is lost."),
        ("It is {measured: utilization | .2f}.", "It is 0.94."),
        ("It is {measured: loss, BIC, % | .3f} %, of {measured: utilization}.", "It is 0.014 %, of 0.941."),
        ("A cause. With less it is {measured: elsewhere | .2f}. And more.", "A cause. And more."),
        ("It is {measured: unknown | .2f}. True", "True"),
        ("{measured: elsewhere}", ""),
    ],
)
def test_sentences_are_filled_or_left_out(text: str, told: str) -> None:
    assert filled(text, FIGURES) == told


def test_published_values_are_filled_in() -> None:
    values = {"two reno": 0.945, "ratio": 3.88}
    text = "The letter's {published: two reno | .3f}, and {published: ratio}"
    assert with_published(text, values.__getitem__) == "The letter's 0.945, and 3.88"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Table 1 of the letter from runs of milliseconds, with values that the tests below replace."""
    (item,) = select("hyun-jang/table-1")
    return reproduce(
        replace(item, id="hyun-jang/table-1", quick=shorter(item.scenarios, "brief", duration="0.5 s", warmup="0.2 s")),
        quick=True,
    )


@pytest.mark.parametrize(
    ("changes", "reading", "label", "command", "engine"),
    [
        ({"shortened": "", "quick": False}, True, "", "", "in the simulator"),
        ({"shortened": "", "quick": True}, True, "", " --quick", "in the simulator"),
        ({}, False, "Quick: brief.", " --quick", "in the simulator"),
        ({"engine": "linux"}, False, "Linux: brief.", " --engine linux", "on Linux in a virtual machine"),
    ],
)
def test_the_page_says_which_variant_and_which_engine(
    outcome: Outcome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    reading: bool,
    label: str,
    command: str,
    engine: str,
) -> None:
    said = {"reading": "The link is used to {measured: utilization, reno, k=1/8 | .4f}.", "deviations": []}
    monkeypatch.setattr("fullpipe.reproduce.record.notes", lambda _: said)
    monkeypatch.setattr("fullpipe.reproduce.record.Variant.fingerprint", "")
    shown = replace(outcome, **changes)
    shown.save(tmp_path / shown.item.id)
    text = write_report([shown], tmp_path, command="x").read_text(encoding="utf-8")
    assert (f"The link is used to {outcome.values['utilization, reno, k=1/8']:.4f}." in text) is reading
    assert re.findall(r"(?:Quick|Linux): brief\.", text) == ([label] if label else [])
    assert f"<code>fullpipe reproduce hyun-jang/table-1{command}</code>" in text
    assert f"All measured values come from runs {engine} for this page." in text
    assert f"<dt>engine</dt> <dd>{engine}</dd>" in text
    assert ("Quick variants" in text, "Linux variants" in text) == (command == " --quick", "linux" in command)


def test_every_cause_and_reason_stands_without_the_figures_of_other_variants() -> None:
    for item in select(None):
        for quick in (False, True):
            for entry in expected(item.id, quick=quick):
                if entry.get("miss"):
                    assert filled(entry["miss"], {}), (item.id, entry["name"])
        assert "{" not in "".join(notes(item.id)["deviations"])
