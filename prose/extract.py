"""Extractor of the prose in code, for ``make prose``: help texts, messages, titles, labels, and documentation.

Each source file becomes a Markdown file in ``out/prose``. A sentence keeps its line number, so that a finding in
``out/prose/strings/python/fullpipe/_cli/run.py.md`` at line 30 is in ``python/fullpipe/_cli/run.py`` at line 30.
``strings`` has text that the program prints: string literals of the package, the crates, the playground, and the agent
of the virtual machine. ``docstrings`` has docstrings and comments.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out/prose"

TEMPLATES = (".html", ".j2")
"""Suffixes of pages of which the text between the tags is read."""

IDS = frozenset(
    {
        "documented miss",
        "half and half",
        "less the closed form",
        "1 flow less the closed form",
        "(3) less the closed form",
        "beside Reno, `x`",
        "share beside Reno",
        "share beside CUBIC",
        "long beside CUBIC's transfers",
        "transfers beside CUBIC's long flows",
        "one beside CUBIC, 30 ms, 1 BDP, pacing `x`",
    }
)
"""Names of values in records and JSON, which keep their old words."""

CODE = {
    ".rs": ("crates/*/src",),
    ".ts": ("web/src",),
    ".c": ("python/fullpipe/linux/guest", "bpf"),
}
"""Suffixes of the other languages, and the folders with their sources."""

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|\br(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)"""
    r"""|"(?P<text>(?:[^"\\]|\\.)*)"|`(?P<template>(?:[^`\\]|\\.)*)`"""
    r"""|'(?:[^'\\\n]|\\[^\n]+?)'""",
    re.DOTALL,
)
"""Comment, string, or character literal of Rust, TypeScript, or C."""


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
    for suffix, folders in CODE.items():
        tops = [top for folder in folders for top in ROOT.glob(folder)]
        for path in sorted(file for top in tops for file in top.rglob(f"*{suffix}") if "tests" not in file.stem):
            text = path.read_text(encoding="utf-8")
            written.append(_write("strings", path, code_strings(text)))
            written.append(_write("docstrings", path, code_comments(text)))
    sources = [*(ROOT / "python/fullpipe").rglob("*.html*"), ROOT / "web/index.html"]
    pages = sorted(source for source in sources if source.name != "page.html" and source.suffix in TEMPLATES)
    written += [_write("strings", path, text_of_page(path.read_text(encoding="utf-8"))) for path in pages]
    return [path for path in written if path is not None]


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of string literals other than docstrings, and of the docstrings of commands."""
    documentation = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("command(" in ast.unparse(each) for each in node.decorator_list):
            yield from _docstring(node)
        elif isinstance(node, ast.JoinedStr):
            inside.update(ast.walk(node))
            # A value in an f-string becomes code.
            parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside | documentation:
            yield node.lineno, node.value


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of all docstrings, also of constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstring(node)
            for statement in node.body[1:]:
                if isinstance(statement, ast.Expr):
                    yield from _lines(statement.value)


def code_strings(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of string literals of Rust, TypeScript, or C; not those of Rust's unit tests."""
    text = text.partition("#[cfg(test)]\nmod ")[0]
    for token in TOKEN.finditer(text):
        found = next((token[name] for name in ("raw", "text", "template") if token[name] is not None), None)
        if found is not None:
            line = text.count("\n", 0, token.start()) + 1
            yield line, re.sub(r"\$?\{[^{}]*\}", "`x`", re.sub(r"\\\n\s*|\\n", " ", found).replace('\\"', '"'))


def code_comments(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of comments of Rust, TypeScript, or C."""
    for token in TOKEN.finditer(text):
        if token["comment"] is not None:
            first = text.count("\n", 0, token.start()) + 1
            for number, line in enumerate(token["comment"].splitlines(), first):
                yield number, line.strip("/*! \t")


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


def _write(kind: str, source: Path, found: Iterator[tuple[int, str]]) -> Path | None:
    lines: dict[int, list[str]] = {}
    for number, text in found:
        if " " in text.strip() and text not in IDS:
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
