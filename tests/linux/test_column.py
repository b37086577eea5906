"""Whole columns of `fullpipe evaluate --engine linux`, as the card of `quick` has them: `bloat`, two flows over 50
Mbit/s and 30 ms for two minutes, and `duel`, CUBIC's harm to the standards in three. Runs are kept in the user's
cache, as the card's are. Long; `make test-linux` runs it.
"""

from __future__ import annotations

import json
import os
from itertools import product
from typing import Any

import pytest

from fullpipe.experiments.evaluate import evaluate
from linux.beside import RECORD, keep_rows, keeps_linux, kept, needs_guest

pytestmark = [pytest.mark.slow_linux, needs_guest]

STANDARDS = ("newreno", "cubic")

FIGURES = {"subject.mean_rtt_s": "rtt_ms", "utilization": "utilization_percent"}
"""What the kernel tells of this cell, and its names in the record."""


VEGAS = "the kernel's Vegas overshoots in slow start, and the next one takes the queue for the path: reports/linux.md"


@pytest.mark.parametrize("name", ["cubic", "bbr", pytest.param("vegas", marks=pytest.mark.xfail(reason=VEGAS))])
def test_a_whole_column_agrees_with_the_card(name: str) -> None:
    """Mean RTTs within 5 % of the range of the card's seeds, utilization within 2 points."""
    found: dict[str, dict[str, Any]] = {}
    for figure in figures_of(name, "bloat"):
        if figure["metric"] in FIGURES:
            row, key = f"{name}, {figure['setting']}", FIGURES[figure["metric"]]
            rows = found.setdefault(row, {"simulator": {}, "linux": {}})
            rows["simulator"][key] = figure["candidate"]
            rows["linux"][key] = kept("bloat")[row]["linux"][key] if keeps_linux() else figure["linux"]["candidate"]
    assert set(found) == {f"{name}, {setting} BDP" for setting in (1, 10)}
    show("bloat", found)
    for here, there in ((rows["simulator"], rows["linux"]) for rows in found.values()):
        assert all(len(there[figure]) == 2 for figure in FIGURES.values())
        assert spanned(here["rtt_ms"], there["rtt_ms"], ratio=1.05)
        assert spanned(here["utilization_percent"], there["utilization_percent"], apart=2)


SEEDS = 12
"""Of the simulator where harm is judged: which of two alike has more is chance, and the card's three show little."""
HARMS = {"goodput_bps": "goodput", "p95_rtt_s": "p95_rtt"}
"""What harm is done to, and its names in the record."""
WITHIN = 0.05
"""How far Linux may be from what the seeds span: the card's own margin of harm."""


def test_a_column_of_harm_agrees_with_the_card() -> None:
    found: dict[str, dict[str, Any]] = {}
    for figure in figures_of("cubic", "duel", SEEDS):
        metric, _, victim = figure["metric"].partition(" of ")
        for other in STANDARDS:
            row, key = f"{victim} beside {other}, {figure['setting']}", HARMS[metric]
            rows = found.setdefault(row, {"simulator": {}, "linux": {}})
            rows["simulator"][key] = figure[other]
            rows["linux"][key] = kept("duel-column")[row]["linux"][key] if keeps_linux() else figure["linux"][other]
    pairs = product(STANDARDS, STANDARDS, (0.1, 1, 4))
    assert set(found) == {f"{victim} beside {other}, {buffer} BDP" for victim, other, buffer in pairs}
    show("duel-column", found)
    missed = []
    for row, key in product(found, HARMS.values()):
        here, there = found[row]["simulator"][key], found[row]["linux"][key]
        assert len(there) == 2
        if not spanned(here, there, apart=WITHIN):
            missed.append(f"{row}: {key}")
    assert missed == []


LOSSES = {"loss_rate": "loss_percent", "utilization": "utilization_percent"}
"""What the kernel tells of `shallow`, and its names in the record."""


def test_a_column_of_losses_agrees_with_the_card() -> None:
    """Ten flows over 50 Mbit/s and a fiftieth of a BDP: losses within a factor of 1.3 of the range of twelve seeds,
    utilization within 2 points.
    """
    figures = {figure["metric"]: figure for figure in figures_of("cubic", "shallow", SEEDS)}
    found: dict[str, dict[str, Any]] = {name: {"simulator": {}, "linux": {}} for name in STANDARDS}
    for (name, rows), (metric, key) in product(found.items(), LOSSES.items()):
        rows["simulator"][key] = figures[metric][name]
        rows["linux"][key] = kept("shallow")[name]["linux"][key] if keeps_linux() else figures[metric]["linux"][name]
    show("shallow", found)
    for here, there in ((rows["simulator"], rows["linux"]) for rows in found.values()):
        assert all(len(there[key]) == 2 for key in LOSSES.values())
        assert spanned(here["loss_percent"], there["loss_percent"], ratio=1.3)
        assert spanned(here["utilization_percent"], there["utilization_percent"], apart=2)


def figures_of(candidate: str, cell: str, seeds: int | None = None) -> list[dict[str, Any]]:
    """Metrics of a test case of a candidate's card, with Linux's, unless Linux's earlier results are taken from the
    record.
    """
    card = evaluate(candidate, only=[cell], seeds=seeds, engine="simulator" if keeps_linux() else "linux")
    (judged,) = card.data["criteria"][0]["experiments"]
    return list(judged["figures"].values())


def show(table: str, found: dict[str, dict[str, Any]]) -> None:
    """Prints the rows of a table, and keeps them if asked to."""
    print(f"\n{json.dumps(found)}")
    if os.environ.get(RECORD):
        keep_rows(table, found)


def spanned(here: list[float], there: list[float], *, ratio: float = 1.0, apart: float = 0.0) -> bool:
    """Whether every run on Linux is within the range of the simulator's seeds, or outside by no more than that."""
    low, high = min(here) / ratio - apart, max(here) * ratio + apart
    return all(low <= value <= high for value in there)
