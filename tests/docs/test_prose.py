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
    what = f"{y} is also printed, by a caller"
    return what
'''

RUST = """//! First line of the module.
use std::fmt; // after code

/// A fault.
fn fault(lifetime: &'static str, c: char) -> Result<(), String> {
    if c == '"' || c == '\\'' {
        return Err(format!("must be in [{low}, {high}], \\
            got {c}"));
    }
    Err(r#"a raw "text" of Rust"#.to_owned())
}

#[cfg(test)]
mod tests {
    const TEXT: &str = "never shown";
}
"""


def test_printed_text_has_the_line_of_its_source() -> None:
    found = sorted(set(extract.strings(ast.parse(SOURCE))))
    texts = {number: text.strip() for number, text in found if text.strip()}
    assert texts[8] == "Help of y."
    assert texts[10] == "Summary."
    assert texts[12] == "Second line."
    assert texts[14] == "`x`: not allowed, at least `x` bytes"
    assert texts[15] == "a message"
    assert texts[16] == "`x` is also printed, by a caller"
    assert "Module." not in texts.values()


def test_strings_and_comments_of_rust_have_the_line_of_their_source() -> None:
    assert list(extract.code_strings(RUST)) == [
        (7, "must be in [`x`, `x`],  got `x`"),
        (10, 'a raw "text" of Rust'),
    ]
    comments = {number: text for number, text in extract.code_comments(RUST) if text}
    assert comments == {1: "First line of the module.", 2: "after code", 4: "A fault."}


def test_strings_and_comments_of_c_and_typescript() -> None:
    source = 'char *a = "one two"; /* first\n * second */ char b = \'"\';\nlabel = `three ${f(x)} four`;'
    assert list(extract.code_strings(source)) == [(1, "one two"), (3, "three `x` four")]
    assert list(extract.code_comments(source)) == [(1, "first"), (2, "second")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("crates/kernel/src/load.rs", "several algorithms require struct_ops"),
        ("crates/sim/src/scenario/keys.rs", "Simulated duration of the run."),
        ("python/fullpipe/linux/guest/agent.c", "job gives no time"),
        ("web/src/main.ts", "This browser does not allow the copy"),
        ("python/fullpipe/linux/machine.py", "the virtual machine was stopped after"),
    ],
)
def test_messages_of_every_language_are_extracted(source: str, text: str) -> None:
    code = (ROOT / source).read_text(encoding="utf-8")
    found = extract.strings(ast.parse(code)) if source.endswith(".py") else extract.code_strings(code)
    (line,) = {number for number, printed in found if text in printed}
    assert text in code.splitlines()[line - 1]


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
