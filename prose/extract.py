"""Extractor of the prose in code, for ``make prose``: help texts, messages, titles, and docstrings.

Each source file becomes a Markdown file in ``out/prose``. A sentence keeps its line number, so that a finding in
``out/prose/strings/python/fullpipe/_cli/run.py.md`` at line 30 is in ``python/fullpipe/_cli/run.py`` at line 30.
``strings`` has text that the program prints, and ``docstrings`` has the documentation of the package.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out/prose"

PRINTED = {"help", "title", "xlabel", "ylabel", "epilog", "short_help"}
"""Keyword arguments whose strings a person reads."""

PRINTING = {"echo", "note", "print_table", "print_panel", "fail"}
"""Functions that print their strings."""

TEMPLATES = (".html", ".j2")
"""Suffixes of pages of which the text between the tags is read."""


def write() -> list[Path]:
    """Writes the extracted prose of all sources.

    Returns:
        The files written, below ``out/prose``.
    """
    shutil.rmtree(OUT, ignore_errors=True)
    written = []
    for path in sorted((ROOT / "python/fullpipe").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        written.append(_write("strings", path, strings(tree)))
        written.append(_write("docstrings", path, docstrings(tree)))
    sources = [*(ROOT / "python/fullpipe").rglob("*.html*"), ROOT / "web/index.html"]
    pages = sorted(source for source in sources if source.name != "page.html" and source.suffix in TEMPLATES)
    written += [_write("strings", path, text_of_page(path.read_text(encoding="utf-8"))) for path in pages]
    return [path for path in written if path is not None]


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of help, titles, messages of errors, and docstrings of commands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in PRINTED:
                    yield from _literals(keyword.value)
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in PRINTING:
                yield from _literals(node)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            yield from _literals(node.exc)
        elif isinstance(node, ast.FunctionDef) and any("command(" in ast.unparse(each) for each in node.decorator_list):
            yield from _docstring(node)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of all docstrings, also of constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstring(node)
            for statement in node.body[1:]:
                if isinstance(statement, ast.Expr):
                    yield from _lines(statement.value)


def text_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of an HTML page or template, without tags, scripts, and expressions."""
    blank = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|\{[%{#].*?[%}#]\}|<[^>]*>", re.DOTALL)
    plain = blank.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    yield from enumerate(plain.splitlines(), 1)


def _docstring(node: ast.AST) -> Iterator[tuple[int, str]]:
    body = getattr(node, "body", [])
    if body and isinstance(body[0], ast.Expr):
        yield from _lines(body[0].value)


def _lines(value: ast.expr) -> Iterator[tuple[int, str]]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield from enumerate(value.value.splitlines(), value.lineno)


def _literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """String literals in an expression; a value in an f-string becomes code."""
    inside: set[ast.AST] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr):
            inside.update(ast.walk(each))
            parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in each.values)
            yield each.lineno, "".join(map(str, parts))
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each not in inside:
            yield each.lineno, each.value


def _write(kind: str, source: Path, found: Iterator[tuple[int, str]]) -> Path | None:
    lines: dict[int, list[str]] = {}
    for number, text in found:
        if " " in text.strip():
            lines.setdefault(number, []).append(" ".join(text.split()))
    if not lines:
        return None
    target = OUT / kind / f"{source.relative_to(ROOT)}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        "".join("  ".join(lines.get(number, [])) + "\n" for number in range(1, max(lines) + 1)), encoding="utf-8"
    )
    return target


if __name__ == "__main__":
    write()
