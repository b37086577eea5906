"""Museum of public failures: every fault is reported, and no controller without a fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT, module_of
from fullpipe.experiments.check import Suite

table = module_of(ROOT / "examples/museum/table.py")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return replace(Suite.load(ROOT / "examples/museum/suite.toml"), seeds=5, max_seeds=5)


@pytest.mark.parametrize("entry", table.ENTRIES, ids=lambda entry: f"{entry.number}-{entry.issue}")
def test_a_fault_is_reported_and_its_controller_without_the_fault_is_not(
    entry: object, suite: Suite, tmp_path: Path
) -> None:
    assert table.caught(entry, suite, fault=True, cache=str(tmp_path)).reported
    assert not table.caught(entry, suite, fault=False, cache=str(tmp_path)).reported


def test_the_page_has_every_entry_and_at_least_14_are_reported() -> None:
    page = (ROOT / "docs/explanation/museum.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| ") and "github.com" in line]
    assert [line.split("|")[1].strip() for line in lines] == [str(int(entry.number)) for entry in table.ENTRIES]
    assert all(entry.link in page and entry.what in page for entry in table.ENTRIES)
    reported = [line for line in lines if line.split("|")[4].strip() or line.split("|")[5].strip() == "worse"]
    assert len(reported) >= 14


def test_every_check_of_the_suite_belongs_to_an_entry(suite: Suite) -> None:
    assert {check.id for check in suite.checks} <= {entry.number for entry in table.ENTRIES}
