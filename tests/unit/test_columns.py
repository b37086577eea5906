"""Commands refuse unknown columns before they run anything."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NoReturn

import pytest

from fullpipe import InputError, Scenario, run
from fullpipe._cli import fullpipe_command
from fullpipe.experiments.evaluate.cell import Cell
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.measure import MEASURES, columns
from fullpipe.experiments.evaluate.preset import Party

FILE = """
duration = "2 s"
links = [{ name = "bottleneck", rate = "10 Mbit/s", delay = "10 ms", buffer = "1 BDP" }]
flows = [{ name = "down", algorithm = "cubic" }]
"""

COMMANDS = {
    "run": "{file}",
    "compare": "{file} --algorithms newreno,cubic",
    "duel": "{file} --algorithms newreno,cubic",
    "advise": "{file}",
    "size": "--rate 10Mbit/s --rtt 40ms --flows 1 --target 0.9 --algorithms newreno",
    "evaluate": "newreno",
    "search": "newreno --against cubic --maximize goodput_harm",
    "explain": "{file}",
}
"""Arguments of commands that run something."""

KNOWN = {
    "run": "links.bottleneck.loss_rate",
    "compare": "goodput_bps",
    "duel": "groups.cubic.goodput_bps",
    "advise": "groups.down.goodput_bps",
    "size": "p99_fct_s,utilization,links.bottleneck.loss_rate",
    "evaluate": "subject.goodput_bps,ramp_s,15 kB.p95_completion_s",
    "search": "groups.tested.goodput_bps,links.bottleneck.utilization",
    "explain": "ce,p50_rtt_s",
}


class Began(Exception):
    """Raised in place of the runs of a command."""


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A command with its arguments, which raises `Began` where its runs would begin."""

    def began(*_: object, **__: object) -> NoReturn:
        raise Began

    name = str(request.param)
    home = importlib.import_module(f"fullpipe._cli.{name}")
    monkeypatch.setattr(home, "run_many" if name == "run" else name, began)
    file = tmp_path / "file.toml"
    file.write_text(FILE)
    return [name, *COMMANDS[name].format(file=file).split()]


def test_an_unknown_column_is_refused_before_the_runs(command: list[str]) -> None:
    with pytest.raises(InputError, match=r"unknown metric .*bogus"):
        fullpipe_command.main([*command, "--columns", "bogus"], standalone_mode=False)


def test_known_columns_are_accepted(command: list[str]) -> None:
    with pytest.raises(Began):
        fullpipe_command.main([*command, "--columns", KNOWN[command[0]]], standalone_mode=False)


@pytest.mark.parametrize(
    "cell", {cell.measure: cell for cell in CELLS if cell.settings}.values(), ids=lambda c: c.measure
)
def test_columns_of_a_card_are_those_of_its_runs(cell: Cell) -> None:
    setting = min(cell.settings, key=lambda one: one.level)
    tree = next(iter(cell.roles(setting, Party("newreno", "newreno", {}), False).values()))
    row = MEASURES[cell.measure](run(Scenario.from_dict(tree)))
    assert set(row) == set(columns(cell.measure, tree))
