"""Options of ``fullpipe reproduce`` that all commands share."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from conftest import Program
from fullpipe import run
from fullpipe.papers import select
from fullpipe.reproduce import reproduce_all

ITEM = "survey/figure-4"
"""An item that runs in a second."""


def test_csv_has_a_row_per_value_of_the_chosen_quantities(program: Program) -> None:
    done = program("reproduce", ITEM, "--format", "csv", "--columns", "mean window,losses", "--workers", "1")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["item"], row["quantity"], row["unit"]) for row in rows] == [
        (ITEM, "mean window", "packets"),
        (ITEM, "losses", ""),
    ]
    assert float(rows[1]["value"]) == 0


def test_columns_choose_the_checks_of_the_table(program: Program) -> None:
    whole, part = (program("reproduce", ITEM, "--format", "markdown", *more) for more in ((), ("--columns", "losses")))
    assert "| quantity | published | measured | difference | tolerance | verdict | origin |" in part.stdout
    assert 0 < part.stdout.count("| pass |") < whole.stdout.count("| pass |")


def test_plot_writes_the_plot_of_one_result(program: Program, tmp_path: Path) -> None:
    assert program("reproduce", ITEM, "--plot", "p.svg").returncode == 0
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["survey", "--plot", "p.png"], "--plot requires one result"),
        ([ITEM, "--plot", "p.png", "--out", "out"], "--plot conflicts with --out"),
        ([ITEM, "--columns", "loses"], "did you mean 'losses'"),
        ([ITEM, "--json", "--format", "csv"], "--json conflicts with --format"),
        ([ITEM, "--memory", "much"], "much"),
    ],
)
def test_wrong_options_end_in_one_line(program: Program, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = program("reproduce", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not list(tmp_path.glob("p.*"))
    assert not (tmp_path / "out").exists()


def test_seeds_measure_a_result_several_times_and_give_means() -> None:
    item = select("bbr/figure-8")[0]
    (once,), (twice,) = (reproduce_all([item], quick=True, seeds=seeds) for seeds in (1, 2))
    first, second = twice.repeats
    assert not {one.seed for one in first.values()} & {one.seed for one in second.values()}
    other = item.measure({name: run(scenario) for name, scenario in second.items()})
    for name, value in twice.values.items():
        assert value == pytest.approx((once.values[name] + other.values[name]) / 2), name
    assert {row.runs for row in twice.rows} == {2}
    assert twice.rows.intervals
    assert twice.fingerprint != once.fingerprint
    assert twice.command.endswith(" --quick --seeds 2")
