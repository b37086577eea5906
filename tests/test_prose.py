"""What the papers' data say in sentences: no figure in them that was not measured by the run that is shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from fullpipe.papers import select
from fullpipe.reproduce import Item, Outcome, reproduce
from fullpipe.reproduce.item import expected, notes, published, shorter
from fullpipe.reproduce.prose import MEASURED, PUBLISHED, SENTENCES, filled, with_published
from fullpipe.reproduce.report import write_report

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")

DERIVED = {
    "hyun-jang/figure-2": "375 625 4.6 0.57",  # ln(970/625)/ln 1.1; from half of 1250 to 1000
    "hyun-jang/table-1": "3.74",  # 0.999/0.963
    "hyun-jang/figure-3": "20",  # 250 packets of 80 us
    "hyun-jang/figure-4": "80 500 0.893 0.17",  # the round trip; half of the pipe; 1/1.12; one pair of six
    "ehstcp/table-1": "0.07 0.0009 0.1",  # differences of published values
    "ehstcp/table-2": "40 200 240",  # round trips: twice the scenarios' delays
    "ehstcp/safety-check": "36 44 220",  # round trips; 400 Mbit/s of 40 ms in 1500 bytes, by six flows
    "shorten-leith/equations": "85 20 0.17",  # the product in packets; (7/8)^20; 85/110 less 85/140
    "shorten-leith/figure-1": "60",  # round trips
    "shorten-leith/figure-2": "160",  # likewise
    "shorten-leith/figure-6": "64",  # half of the product and the queue
    "shorten-leith/figure-8": "1.4",  # between two queues tried
    "shorten-leith/figure-10": "1.2",  # the sizes' shape
    "shorten-leith/figure-11": "35",  # 25 flows and 10 reverse ones
    "shorten-leith/figure-12": "45",  # 25 flows and 20 reverse ones
    "shorten-leith/figure-14": "200 0.03",  # how long; a margin
    "shorten-leith/figure-15": "0.4 120 1550 1992",  # alpha for beta 0.8; 120 ms in packets of 77.4 us; a paper's year
    "shorten-leith/figure-16": "1.2 49 0.08",  # shape; round trip with a full queue; between closed forms
    "shorten-leith/figure-17": "4.32",  # ln 0.05 / ln 0.5
    "shorten-leith/table-1": "0.15",  # between closed forms
    "shorten-leith/table-2": "7.5",  # 1.5 of 20 Mbit/s
    "survey/figure-2": "5681 9.6 40 80 125",  # the RFC; 2 x 40 ms, and with ten packets queued
    "survey/figure-3": "80 125",
    "survey/figure-4": "11 40 84 94",  # with a packet's time on each link
    "survey/figure-5": "57 108",  # differences of published values
    "modern/c4": "7.7 9332",  # a packet of 1440 bytes at 1.5 Mbit/s; an RFC
    "modern/loss-zone": "40",  # twice the delays
    "modern/westwood": "83 1000",  # products in packets, here and in the letter
    "modern/prague": "9438 4.3 1.4 0.57 0.71 1.14",  # an RFC's section; the equation with another constant
    "modern/ledbat": "0.95",  # Jain's index of the shares asked
    "modern/copa": "2023",  # a paper's year
    "beyond/today": "95 0.7 1.125 133 240",  # a percentile; shares of the pipe; packets in it; ms of buffer
    "beyond/central-experiments": "0.125 1.125",  # BIC's and Scalable's cut; the pipe and its eighth of buffer
}
"""Numbers in prose that follow from the paper or the scenarios by arithmetic, or are settings; none is measured."""


def given(item: Item) -> set[str]:
    """Numbers that prose may name because they are published, asked, or a setting of a variant."""
    texts = [item.title, DERIVED.get(item.id, "")]
    for variant in (item.quick, item.linux):
        texts += [variant.how] if variant else []
    for scenarios in (item.scenarios, *(variant.scenarios for variant in (item.quick, item.linux) if variant)):
        texts += [re.sub(r"[^\d.\n]|\.\.", " ", scenario.to_toml()) for scenario in scenarios().values()]
    for entry in (entry for quick in (False, True) for entry in expected(item.id, quick=quick)):
        asked = ("published", "tolerance", "within_factor", "at_least", "at_most", "margin")
        texts += [entry["name"], entry["origin"], *entry.get("figures", ())]
        texts += [f"{abs(entry[key]):g} {abs(entry[key])}" for key in asked if key in entry]
    small = {str(n) for n in range(11)}
    return {plain(number) for number in NUMBER.findall(" ".join(texts).replace("-", " "))} | small


def plain(number: str) -> str:
    """A number as written, without zeros that say nothing."""
    return f"{float(number):.12g}"


def strange(text: str, known: set[str]) -> list[str]:
    """The numbers in a text that are not known, in sentences that don't name another engine."""
    sentences = [sentence for sentence in SENTENCES.split(text) if "ns-2" not in sentence]
    return [number for sentence in sentences for number in NUMBER.findall(sentence) if plain(number) not in known]


def raw_prose(item: Item) -> Iterator[str]:
    """What the data file says of an item in sentences, with placeholders."""
    paper, _, name = item.id.partition("/")
    data = tomllib.loads(
        files("fullpipe.papers").joinpath(paper.replace("-", "_"), "paper.toml").read_text(encoding="utf-8")
    )
    said: dict[str, Any] = data.get("items", {}).get(name, {})
    yield said.get("reading", "")
    yield from said.get("deviations", [])
    for entry in (entry for entry in data["checks"] if entry["item"] == name):
        for each in (entry, entry.get("quick") or {}):
            yield from (each[key] for key in ("reason", "miss") if key in each)


def quoted(item: Item, figures: Mapping[str, float]) -> set[str]:
    """The numbers by which placeholders are replaced."""
    texts = list(raw_prose(item))
    measured = [match for text in texts for match in MEASURED.finditer(text) if match[1] in figures]
    told = [format(figures[match[1]], match[2]).lstrip("-") for match in measured]
    told += [with_published(match[0], partial(published, item.id)) for t in texts for match in PUBLISHED.finditer(t)]
    return {plain(number) for number in told}


@pytest.mark.parametrize("item", select(None), ids=lambda item: item.id)
def test_prose_names_no_figure_that_is_not_filled_in(item: Item) -> None:
    known = given(item)
    for text in raw_prose(item):
        assert strange(PUBLISHED.sub("", MEASURED.sub("", text)), known) == [], text


def test_a_measured_figure_in_prose_would_be_found() -> None:
    (item,) = select("ehstcp/table-1")
    known = given(item)
    assert strange("Losses are 0.024 and 0.140 %. In ns-2 they are 0.031 %. The buffer is 2083 packets.", known) == [
        "0.024",
        "0.140",
    ]


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
    """Table 1 of the letter from runs of milliseconds, which stands for whatever the tests below say it is."""
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
    monkeypatch.setattr("fullpipe.reproduce.record.fingerprint", lambda *_: "")
    shown = replace(outcome, **changes)
    shown.save(tmp_path / shown.item.id)
    text = write_report([shown], tmp_path, command="x").read_text(encoding="utf-8")
    assert (f"The link is used to {outcome.figures['utilization, reno, k=1/8']:.4f}." in text) is reading
    assert re.findall(r"(?:Quick|Linux): brief\.", text) == ([label] if label else [])
    assert f"<code>fullpipe reproduce hyun-jang/table-1{command}</code>" in text
    assert f"comes from runs {engine} that were made for this page" in text
    assert f"<dt>engine</dt> <dd>{engine}</dd>" in text
    assert ("Quick variants" in text, "Linux variants" in text) == (command == " --quick", "linux" in command)


def test_every_cause_and_reason_stands_without_the_figures_of_other_variants() -> None:
    for item in select(None):
        for quick in (False, True):
            for entry in expected(item.id, quick=quick):
                if entry.get("miss"):
                    assert filled(entry["miss"], {}), (item.id, entry["name"])
        assert "{" not in "".join(notes(item.id)["deviations"])


def test_what_is_said_of_shortened_variants_is_what_their_scenarios_say() -> None:
    said = 0
    for item in select(None):
        full = {scenario.duration_s for scenario in item.scenarios().values()}
        for variant in filter(None, (item.quick, item.linux)):
            lengths = {scenario.duration_s for scenario in variant.scenarios().values()}
            for shortened, instead_of in re.findall(r"(\d[\d, and]*) s instead of (\d+) s", variant.how):
                said += 1
                assert {float(number) for number in re.findall(r"\d+", shortened)} <= lengths, item.id
                assert float(instead_of) in full, item.id
    assert said > 20
