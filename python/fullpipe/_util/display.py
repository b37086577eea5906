"""Tables of text, which the program prints and notebooks show."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe._util.text import html, unknown
from fullpipe.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "Outcome", "Shown", "csv_of", "csv_text", "json_text", "latex", "markdown", "page"]

FORMATS = ("table", "csv", "json", "markdown", "latex")
"""Formats of results that the program prints."""


@dataclass(frozen=True)
class Shown:
    """A table of text.

    Attributes:
        title: Line above the table; may be empty.
        columns: Headings.
        rows: Cells.
        left: Number of leading columns that identify a row and are text; the others are numbers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


class Outcome(ABC):
    """Outcome of a run or an experiment, as plain values, as JSON, and as tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""

    @abstractmethod
    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints.

        Args:
            columns: Metrics to show; None for the usual ones.
        """

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON text. With ``indent``, each row of a table has a line."""
        return json_text(self.to_dict(), indent)

    def to_markdown(self, columns: Sequence[str] | None = None) -> str:
        """Tables and lines as Markdown."""
        return markdown(self.shown(columns))

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """Tables as LaTeX (package booktabs), lines as paragraphs."""
        return latex(self.shown(columns))

    def _repr_html_(self) -> str:
        return page(self.shown())


def json_text(tree: Mapping[str, object], indent: int | None = 2) -> str:
    """Plain values as JSON text.

    Args:
        tree: The values.
        indent: Spaces before keys; a list of objects with plain values, such as the rows of a table, has an object per
            line. None for a single line.

    Raises:
        ValueError: A number is not finite.
    """
    if indent is None:
        return json.dumps(tree, allow_nan=False)
    margin = " " * indent
    return "{\n" + ",\n".join(f"{margin}{json.dumps(key)}: {_value(tree[key], margin)}" for key in tree) + "\n}"


def _value(value: object, margin: str) -> str:
    if isinstance(value, list) and value and all(_is_row(each) for each in value):
        # Without indentation, the encoder is the one in C, which takes a quarter of the time.
        rows = f",\n{2 * margin}".join(json.dumps(row, allow_nan=False) for row in value)
        return f"[\n{2 * margin}{rows}\n{margin}]"
    return json.dumps(value, indent=len(margin), allow_nan=False).replace("\n", f"\n{margin}")


def _is_row(value: object) -> bool:
    return isinstance(value, dict) and not any(isinstance(cell, dict | list) for cell in value.values())


def page(parts: Iterable[Shown | str]) -> str:
    """Tables and lines as HTML, as notebooks show them."""
    return "\n".join(_table(part) if isinstance(part, Shown) else f"<p>{html(part)}</p>" for part in parts)


def _table(table: Shown) -> str:
    caption = f"<caption>{html(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th{_side(i, table)}>{html(column)}</th>" for i, column in enumerate(table.columns))
    rows = "\n".join(
        f"<tr>{''.join(f'<td{_side(i, table)}>{html(cell)}</td>' for i, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    return f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"


def _side(i: int, table: Shown) -> str:
    return f' style="text-align: {"left" if i < table.left else "right"}"'


def markdown(parts: Iterable[Shown | str]) -> str:
    """Tables and lines as Markdown."""
    return "\n".join(part + "\n" if isinstance(part, str) else _markdown(part) for part in parts)


def _markdown(table: Shown) -> str:
    rules = [":---" if i < table.left else "---:" for i in range(len(table.columns))]
    rows = [table.columns, rules, *table.rows]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([*([table.title, ""] if table.title else []), *lines, ""])


def latex(parts: Iterable[Shown | str]) -> str:
    """Tables as LaTeX (package booktabs), lines as paragraphs."""
    return "\n".join(_escaped(part) + "\n" if isinstance(part, str) else _latex(part) for part in parts)


def _latex(table: Shown) -> str:
    sides = "".join("l" if i < table.left else "r" for i in range(len(table.columns)))
    head = " & ".join(map(_escaped, table.columns)) + r" \\"
    rows = [head, *(_latex_row(row, table.left) for row in table.rows)]
    body = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"]
    title = [f"% {table.title}"] if table.title else []
    return "\n".join([*title, *body, r"\end{tabular}", ""])


def _latex_row(row: Sequence[str], left: int) -> str:
    """A row of text and numbers: a number has the minus of mathematics, and no value is a dash."""
    numbers = [r"\textendash{}" if cell == "-" else MINUS.sub("$-$", _escaped(cell)) for cell in row[left:]]
    return " & ".join([*map(_escaped, row[:left]), *numbers]) + r" \\"


MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
"""Hyphen in front of a number."""

ESCAPES = {"\\": r"\textbackslash{}", "±": r"$\pm$", "√": r"$\surd$", "µ": r"\textmu{}", "~": r"\textasciitilde{}"}
ESCAPES |= {"<": r"\textless{}", ">": r"\textgreater{}"}
ESCAPES |= {each: f"\\{each}" for each in "%&#_{}$"} | {"^": r"\textasciicircum{}"}


def _escaped(text: str) -> str:
    return "".join(ESCAPES.get(each, each) for each in text)


def csv_text(table: pa.Table, columns: Sequence[str] | None = None, labels: Sequence[str] = ()) -> str:
    """Rows of runs as CSV with a header.

    Args:
        table: The runs.
        columns: Metrics to keep, after the labels, the seed, and the error; None for all.
        labels: Columns that identify a run.

    Raises:
        InputError: A metric is unknown.
    """
    names = table.column_names
    if columns is not None:
        for name in columns:
            if name not in names:
                raise InputError(unknown("metric", name, names))
        known = {"run", *labels, "seed", "engine", "error"}
        names = [*(name for name in names if name in known), *(name for name in columns if name not in known)]
    return _csv([names, *zip(*(table[name].to_pylist() for name in names), strict=True)])


def csv_of(table: Shown) -> str:
    """A table of text as CSV with its headings."""
    return _csv([table.columns, *table.rows])


def _csv(rows: Iterable[Sequence[object]]) -> str:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
