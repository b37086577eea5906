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


def test_the_page_has_every_entry_and_at_least_14_are_reported() -> None:
    page = (ROOT / "docs/explanation/museum.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| ") and "github.com" in line]
    assert [line.split("|")[1].strip() for line in lines] == [str(int(entry.number)) for entry in table.ENTRIES]
    assert all(entry.link in page and entry.what in page for entry in table.ENTRIES)
    reported = [line for line in lines if line.split("|")[4].strip() or line.split("|")[5].strip() == "worse"]
    assert len(reported) >= 14


def test_every_check_of_the_suite_belongs_to_an_entry(suite: Suite) -> None:
    assert {check.id for check in suite.checks} <= {entry.number for entry in table.ENTRIES}
