"""Progress in a notebook's cell, whose kernel is a double."""

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import fullpipe
from fullpipe import Scenario
from fullpipe.runs import notebook


class Cell:
    """Outputs of a cell in order."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, text: str, *, display_id: bool) -> Cell:
        assert display_id
        self.shown.append(text)
        return self

    def update(self, text: str) -> None:
        self.shown.append(text)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A kernel that shows progress at once."""
    found = Cell()
    shell: Any = SimpleNamespace(kernel=object())
    kernel, display = ModuleType("IPython"), ModuleType("IPython.display")
    monkeypatch.setattr(kernel, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(display, "HTML", str, raising=False)
    monkeypatch.setattr(display, "display", found.display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(notebook, "PATIENCE_S", 0.0)
    monkeypatch.setattr(notebook, "EVERY_S", 0.0)
    return found


LONG = {"duration": "8000 s", "flows.count": 20, "series_interval": "off"}
"""Longer than a run goes on without being looked at."""


def test_a_cell_shows_how_far_a_run_is(small: Scenario, cell: Cell) -> None:
    fullpipe.run(small.replace(**LONG))
    first, *_, last = cell.shown
    assert first.startswith('<progress value="')
    assert 'max="8000"></progress>' in first
    assert " of 8,000 s simulated" in first
    assert last == ""


@pytest.mark.parametrize("call", ["run_many", "compare", "sweep", "duel", "size"])
def test_every_study_shows_one_bar(call: str, small: Scenario, cell: Cell) -> None:
    small = small.replace(series_interval="off")
    {
        "run_many": lambda: fullpipe.run_many({1: small, 2: small}),
        "compare": lambda: fullpipe.compare(small, ["reno", "vegas"]),
        "sweep": lambda: fullpipe.sweep(small, {"seed": [1, 2]}),
        "duel": lambda: fullpipe.duel(small, ["reno", "vegas"], seeds=2),
        "size": lambda: fullpipe.size("2 Mbit/s", "40 ms", flows=[1], target=[0.9], algorithms=["reno"]),
    }[call]()
    assert cell.shown.count("") <= 1
    assert all(text.startswith("<progress") for text in cell.shown[:-1])


def test_nothing_is_shown_elsewhere(small: Scenario, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    fullpipe.run(small.replace(**LONG), progress=lambda reached, _: told.append(reached))
    assert told, "who asks for it has it"
    thread = threading.Thread(target=fullpipe.run, args=(small.replace(**LONG),))
    thread.start()
    thread.join()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    fullpipe.run(small.replace(**LONG))
    assert cell.shown == []
