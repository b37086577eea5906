"""Workflows of continuous integration: actions of others are pinned by commit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")
"""An action, the commit, and the version whose commit it is."""

OURS = re.compile(r"\./\.github/workflows/[\w-]+\.yml")
"""A workflow of this repository, of the same commit."""


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_their_version(workflow: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses:\s*(.+?)\s*$", workflow.read_text(), re.MULTILINE)
    assert used, "a workflow that uses no action need not be here"
    assert [action for action in used if not PINNED.fullmatch(action) and not OURS.fullmatch(action)] == []


def test_one_action_has_one_commit() -> None:
    text = "\n".join(path.read_text() for path in WORKFLOWS)
    found = set(re.findall(r"uses:\s*([^@\s]+)@(\S+ # \S+)", text))
    assert len({action for action, _ in found}) == len(found)


@pytest.mark.parametrize(
    "action", ["actions/checkout@v4", "actions/checkout@main # v4.2.2", "a/b@11bd71901bbe5b1630ceea73d27597364c9af683"]
)
def test_an_action_without_commit_or_version_is_found(action: str) -> None:
    assert not PINNED.fullmatch(action)
