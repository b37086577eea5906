"""Layout of a table of text for files and terminals."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from fullpipe._util.text import printable, shorten

__all__ = ["table_lines"]

LONGEST_CELL = 100
"""Greatest number of characters in a cell."""

LONGEST_WORD = 24
"""Greatest number of characters in a word that a narrow terminal shows on one line."""

GAP = 3
"""Spaces between two columns."""

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
"""Escape sequences (ECMA-48) for headings."""


def table_lines(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    width: int | None = None,
    bold: bool = False,
) -> list[str]:
    """Lines of a table, and of further tables for the columns that do not fit.

    Further tables repeat the first ``left`` columns. A column that is too wide alone is folded between words.

    Args:
        title: Line above the table; empty for none.
        columns: Headings.
        rows: Cells.
        left: Number of leading columns that hold text; all others hold numbers and are aligned to the right.
        width: Columns of the terminal; None for no limit.
        bold: Whether the title and the headings are bold.
    """
    cells = [[shorten(cell, LONGEST_CELL) for cell in row] for row in (columns, *rows)]
    natural = [max(_width(row[i]) for row in cells) for i in range(len(columns))]
    numbers = list(range(left, len(columns)))
    lines: list[str] = []
    title = printable(title)
    while True:
        chosen = [*range(left), *numbers]
        while width is not None and len(chosen) > left + 1 and _total([natural[i] for i in chosen]) > width:
            chosen.pop()
        widths = [natural[i] for i in chosen]
        if width is not None:
            words = [max(_width(word) for row in cells for word in [*row[i].split(), ""]) for i in chosen]
            widths = _narrow(widths, [min(LONGEST_WORD, word) for word in words], width)
        lines += [f"{BOLD}{title}{PLAIN}" if bold else title, ""] if title else [""]
        for number, row in enumerate(cells):
            lines += _row([row[i] for i in chosen], widths, left, bold=bold and number == 0)
            if number == 0:
                lines.append(" " + "─" * (_total(widths) - 2))
        lines.append("")
        title, numbers = "", numbers[len(chosen) - left :]
        if not numbers:
            return lines


def _total(widths: Sequence[int]) -> int:
    """Width of a row with one space at each end."""
    return sum(widths) + GAP * (len(widths) - 1) + 2


def _narrow(widths: list[int], least: Sequence[int], width: int) -> list[int]:
    """Widths that fit: the widest column shrinks first, words are cut only where nothing else helps."""
    for floor in (least, [1] * len(widths)):
        while _total(widths) > width:
            wide = [i for i in range(len(widths)) if widths[i] > floor[i]]
            if not wide:
                break
            widest = max(wide, key=lambda i: widths[i])
            widths = [size - (i == widest) for i, size in enumerate(widths)]
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], left: int, *, bold: bool) -> list[str]:
    """Lines of a row; more than one where a cell is folded."""
    folded = [_fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, folded))):
        parts = []
        for i, (texts, width) in enumerate(zip(folded, widths, strict=True)):
            text = texts[number] if number < len(texts) else ""
            space = " " * (width - _width(text))
            shown = f"{BOLD}{text}{PLAIN}" if bold and text else text
            parts.append(shown + space if i < left else space + shown)
        lines.append((" " + (" " * GAP).join(parts)).rstrip())
    return lines


def _fold(text: str, width: int) -> list[str]:
    """Text on lines of at most ``width`` columns, broken between words where a word fits on a line."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _width(longer) <= width:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if lines[-1] and _width(lines[-1] + character) > width:
                lines.append("")
            lines[-1] += character
    return lines


def _width(text: str) -> int:
    """Columns of a text on a terminal: two for a wide character (UAX 11), none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )
