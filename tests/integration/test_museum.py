"""Museum of public failures: every fault is reported, and no controller without a fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from conftest import ROOT, module_of
from fullpipe.experiments.check import Suite

table = module_of(ROOT / "examples/museum/table.py")


def named(entry: Any) -> str:
    return f"{entry.number}-{entry.issue}"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return replace(Suite.load(ROOT / "examples/museum/suite.toml"), seeds=5, max_seeds=5)


@pytest.mark.parametrize("entry", [entry for entry in table.ENTRIES if entry.rule], ids=named)
def test_a_rule_reports_the_fault(entry: Any) -> None:
    (rule,) = fullpipe.conform(entry.algorithm(fault=True), entry.rules, rule=entry.rule).rules
    assert rule.verdict == "fail"


@pytest.mark.parametrize("entry", table.ENTRIES, ids=named)
def test_a_check_reports_the_fault_and_not_the_controller_without_it(entry: Any, suite: Suite, tmp_path: Path) -> None:
    wrong = table.checked(entry, suite, fault=True, cache=str(tmp_path))
    if wrong is None:
        assert entry.rule
        return
    assert wrong.verdict == "worse"
    right = table.checked(entry, suite, fault=False, cache=str(tmp_path))
    assert right is not None
    assert right.verdict == "ok"


@pytest.mark.parametrize(("controller", "rules"), sorted({(e.controller, e.rules) for e in table.ENTRIES if e.rules}))
def test_no_rule_reports_a_controller_without_a_fault(controller: str, rules: str) -> None:
    assert table.broken(controller, 0, rules) == ()


def test_the_page_has_every_entry_and_every_fault_is_reported() -> None:
    page = (ROOT / "docs/explanation/museum.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if len(row) > 1 and "github.com" in row[1]]
    assert sorted(int(row[0]) for row in rows) == list(range(1, 29))
    controllers = [row for row in rows if len(row) == 9]
    assert [row[0] for row in controllers] == [str(int(entry.number)) for entry in table.ENTRIES]
    assert [row[1:3] for row in controllers] == [[entry.link, entry.what] for entry in table.ENTRIES]
    assert all(conform or check == "worse" for _, _, _, conform, check, *_ in controllers)


def test_every_check_of_the_suite_belongs_to_an_entry(suite: Suite) -> None:
    assert {check.id for check in suite.checks} <= {entry.number for entry in table.ENTRIES}
