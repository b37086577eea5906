"""``make prose`` finds old words on pages and in the code's text, with the line of the source."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, module_of

TEXTLINT = ROOT / "prose/node_modules/.bin/textlint"
TERMS: dict[str, list[list[str]]] = json.loads((ROOT / "prose/terms.json").read_text())


extract = module_of(ROOT / "prose/extract.py")

SOURCE = '''"""Module."""
import click

LIMIT = 3
"""Largest value."""

@click.command("x")
@click.option("--y", help="Help of y.")
def command(y):
    """Summary.

    Second line."""
    if y:
        raise ValueError(f"{y}: not allowed, at least" f" {LIMIT} bytes")
    click.echo("a message")
    return {"not printed": "never shown"}
'''


def test_printed_text_has_the_line_of_its_source() -> None:
    found = sorted(set(extract.strings(ast.parse(SOURCE))))
    texts = {number: text.strip() for number, text in found if text.strip()}
    assert texts[8] == "Help of y."
    assert texts[10] == "Summary."
    assert texts[12] == "Second line."
    assert texts[14] == "`x`: not allowed, at least `x` bytes"
    assert texts[15] == "a message"
    assert "never shown" not in texts.values()


def test_docstrings_include_those_of_constants() -> None:
    found = dict(extract.docstrings(ast.parse(SOURCE)))
    assert (found[1], found[5], found[10]) == ("Module.", "Largest value.", "Summary.")


def test_templates_lose_their_tags_and_keep_their_lines() -> None:
    page = "<p>\n<b>One</b> two</p>\n<script>\nno\n</script>{% if x %}\nthree{{ y }}"
    assert [(number, text.strip()) for number, text in extract.text_of_page(page) if text.strip()] == [
        (2, "One  two"),
        (6, "three"),
    ]


def test_no_pattern_of_the_terms_matches_its_replacement() -> None:
    for pattern, replacement in TERMS["everywhere"] + TERMS["printed"]:
        assert not re.fullmatch(pattern, replacement, re.IGNORECASE), pattern


@pytest.mark.skipif(not TEXTLINT.exists(), reason="run `make prose` first")
@pytest.mark.parametrize(
    ("scope", "text", "line"),
    [
        ("", "One line.\n\nThe plot beside the table.\n", 3),
        ("", "The segment is sent again.\n", 1),
        ("docstrings", "The behaviour of a sender.\n", 1),
        ("docstrings", "The plot beside the table.\n", None),
        ("", "Code is skipped: `beside`.\n\n```\nbeside anew\n```\n", None),
    ],
)
def test_an_old_word_fails_the_check(tmp_path: Path, scope: str, text: str, line: int | None) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    done = subprocess.run(
        [TEXTLINT, "--config", ROOT / "prose/textlintrc.js", "--format", "unix", page],
        env={**os.environ, "PROSE": scope},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if line is None else 1), done.stdout + done.stderr
    assert line is None or f"page.md:{line}:" in done.stdout
