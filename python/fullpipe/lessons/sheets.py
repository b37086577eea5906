"""Exercise sheets of the lessons, for printing: a page for students, and a key for teachers."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fullpipe._util.files import check_directory
from fullpipe.lessons import Lesson, lessons

__all__ = ["key", "sheet", "sheet_names", "write_sheets"]


def write_sheets(directory: str | os.PathLike[str]) -> list[Path]:
    """Writes ``NUMBER-NAME.html`` and ``NUMBER-NAME-key.html`` of each lesson into a directory, and returns the files.

    Raises:
        InputError: The directory can't be written.
    """
    check_directory(str(directory))
    pages = [write(lesson) for lesson in lessons() for write in (sheet, key)]
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    files = [place / name for name in sheet_names()]
    for file, page in zip(files, pages, strict=True):
        file.write_text(page, encoding="utf-8")
    return files


def sheet_names() -> list[str]:
    """Names of the files: the sheet and the key of each lesson."""
    return [f"{lesson.number}-{lesson.name}{end}.html" for lesson in lessons() for end in ("", "-key")]


def sheet(lesson: Lesson) -> str:
    """HTML of the exercise sheet: question, tasks with space for values, and hint."""
    return _environment().get_template("sheet.html").render(lesson=lesson, key=False)


def key(lesson: Lesson) -> str:
    """HTML of the key: values of the tasks, answer, and a plot of the scenario's run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plot.svg"
        lesson.run().plot(file, style="paper-wide")
        drawn = file.read_text(encoding="utf-8")
    plot = Markup(drawn[drawn.index("<svg") :])  # of matplotlib, which escapes names
    return _environment().get_template("sheet.html").render(lesson=lesson, key=True, plot=plot)


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fullpipe.lessons"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
