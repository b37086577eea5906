"""Reproduction: measured beside published, and checks that can fail."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Program
from fullpipe import run_many
from fullpipe.papers import PAPERS, Outcome, items, reproduce, select
from fullpipe.papers.item import judge, published

QUICK = {"duration": "60 s", "warmup": "30 s"}


def test_table_1_of_hyun_and_jang(program: Program, tmp_path: Path) -> None:
    done = program("reproduce", "hyun-jang/table-1", "--json", "--out", "out")
    (item,) = json.loads(done.stdout)["items"]
    assert (item["id"], item["pass"], done.returncode) == ("hyun-jang/table-1", True, 0)
    assert item["wall_s"] > 0
    for check in item["checks"]:
        assert {"name", "published", "measured", "tolerance", "pass"} <= check.keys()
        assert check["pass"] is (abs(check["measured"] - check["published"]) <= check["tolerance"])
    # Table 1, typed in again from the paper.
    tables = {
        "reno": ([0.830, 0.891, 0.963, 0.992], 0.010),
        "proposed": ([0.995, 0.997, 0.999, 0.999], 0.005),
    }
    by_name = {check["name"]: check for check in item["checks"]}
    for scheme, (values, tolerance) in tables.items():
        for k, value in zip(("1/8", "1/4", "1/2", "3/4"), values, strict=True):
            check = by_name[f"utilization, {scheme}, k={k}"]
            assert (check["published"], check["tolerance"]) == (value, tolerance)
    folder = tmp_path / "out/hyun-jang/table-1"
    assert (folder / "table-1.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "table-1.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((folder / "item.json").read_text()) == item
    used = json.loads((folder / "reno-k-1-8/result.json").read_text())["links"][0]["utilization"]
    assert by_name["utilization, reno, k=1/8"]["measured"] == used


@pytest.fixture(scope="module")
def shortened() -> Outcome:
    """Table 1 from runs too short to reach the full pipe: its figures can't match."""
    (item,) = select("hyun-jang/table-1")
    scenarios = {name: scenario.replace(**QUICK) for name, scenario in item.scenarios().items()}
    return reproduce(replace(item, scenarios=lambda: scenarios))


def test_wrong_figures_miss(shortened: Outcome) -> None:
    assert not shortened.passed
    assert shortened.to_dict()["pass"] is False


def test_a_corrupted_published_value_misses(shortened: Outcome) -> None:
    measured = {check.name: check.measured for check in shortened.checks}
    exact = [{**entry, "published": measured[entry["name"]]} for entry in published("hyun-jang/table-1")]
    assert all(check.passed for check in judge(measured, exact))
    exact[0]["published"] += 0.0101
    assert [check.passed for check in judge(measured, exact)] == [False] + [True] * (len(exact) - 1)


def test_the_proposed_scheme_without_extra_misses() -> None:
    (item,) = select("hyun-jang/table-1")
    reno = run_many({name: scenario for name, scenario in item.scenarios().items() if name.startswith("reno")})
    broken = {name.replace("reno", "proposed"): result for name, result in reno.items()}
    checks = judge(item.measure({**reno, **broken}), published(item.id))
    missed = {check.name for check in checks if not check.passed}
    assert {f"utilization, proposed, k={k}" for k in ("1/8", "1/4", "1/2", "3/4")} <= missed
    assert not any(name.startswith("utilization, reno") for name in missed)


def test_a_figure_that_is_no_number_misses() -> None:
    entry = {"name": "x", "published": 1.0, "tolerance": 0.1, "origin": "", "reason": ""}
    (check,) = judge({"x": math.nan}, [entry])
    assert not check.passed
    assert check.to_dict()["measured"] is None


def test_every_figure_needs_its_check_and_every_check_its_figure() -> None:
    entry = {"name": "x", "published": 1.0, "tolerance": 0.1, "origin": "", "reason": ""}
    for measured in ({}, {"x": 1.0, "y": 1.0}, {"y": 1.0}):
        with pytest.raises(KeyError, match="without a partner"):
            judge(measured, [entry])


def test_every_item_belongs_to_its_paper_and_has_checks() -> None:
    for paper in PAPERS:
        for item in items(paper):
            assert item.id.startswith(f"{paper}/")
            assert published(item.id)
            assert all(entry["reason"] and entry["origin"] for entry in published(item.id))
    assert [item.id for item in select(None)] == [item.id for paper in PAPERS for item in items(paper)]


def test_list_runs_nothing(program: Program) -> None:
    done = program("reproduce", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "hyun-jang/table-1" in done.stdout
