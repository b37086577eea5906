"""Exercise sheets of the lessons, for printing: a page for students, and a key for teachers."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fullpipe._util.files import check_directory
from fullpipe._util.text import quoted
from fullpipe.errors import InputError
from fullpipe.lessons import Lesson, Task, lessons
from fullpipe.plots.draw import drawn
from fullpipe.plots.series import phase_plot, run_plot
from fullpipe.plots.spec import Plot

__all__ = ["command", "key", "sheet", "sheet_names", "write_sheets"]


def write_sheets(directory: str | os.PathLike[str], address: str | None = None) -> list[Path]:
    """Writes ``NUMBER-NAME.html``, ``NUMBER-NAME-key.html``, and the scenario ``NUMBER-NAME.toml`` of each lesson into
    a directory, and returns the files.

    Args:
        directory: The directory, which is made if it is missing.
        address: Address of the playground for the sheets; None for sheets without one.

    Raises:
        InputError: The directory can't be written, or the address is none of a web page.
    """
    check_directory(str(directory))
    if address is not None and not address.startswith(("http://", "https://")):
        raise InputError(f"address must begin with http:// or https://, got {quoted(address)}")
    texts: dict[str, str] = {}
    for lesson in lessons():
        own, solved = _pages(lesson)
        texts |= {own: sheet(lesson, address), solved: key(lesson, address), _file(lesson): lesson.scenario.lstrip()}
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    return [place / name for name in texts]


def sheet_names() -> list[str]:
    """Names of the pages: the sheet and the key of each lesson."""
    return [name for lesson in lessons() for name in _pages(lesson)]


def sheet(lesson: Lesson, address: str | None = None) -> str:
    """HTML of the exercise sheet: question, tasks with space for values, and hint."""
    return _environment().get_template("sheet.html").render(lesson=lesson, key=False, address=address)


def key(lesson: Lesson, address: str | None = None) -> str:
    """HTML of the key: values of the tasks, each with its command; answer, and plots of the scenario's run."""
    result = lesson.run()
    plots = [run_plot(result.sampled())]
    if lesson.phase_plot:
        plots.append(phase_plot(result.sampled()))
    return (
        _environment()
        .get_template("sheet.html")
        .render(
            lesson=lesson,
            key=True,
            address=address,
            plots=[Markup(_svg(plot)) for plot in plots],  # of matplotlib, which escapes names
            commands=[command(lesson, task) for task in lesson.tasks],
            file=_file(lesson),
        )
    )


def command(lesson: Lesson, task: Task) -> str:
    """Command that prints the value of a task. It runs in the folder of the sheets."""
    if " " in task.reads:
        number = lesson.tasks.index(task)
        one = f"one = lesson('{lesson.name}')"
        code = f"from fullpipe.lessons import lesson; {one}; print(one.measure(one.tasks[{number}]))"
        return f'python -c "{code}"'
    changes = [each for path, value in task.set.items() for each in ("--set", f"{path}={value}")]
    return shlex.join(["fullpipe", "run", _file(lesson), *changes, "--columns", task.reads])


def _stem(lesson: Lesson) -> str:
    return f"{lesson.number}-{lesson.name}"


def _file(lesson: Lesson) -> str:
    return f"{_stem(lesson)}.toml"


def _pages(lesson: Lesson) -> list[str]:
    return [f"{_stem(lesson)}{end}.html" for end in ("", "-key")]


def _svg(plot: Plot) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plot.svg"
        drawn(plot, file, "paper-wide" if len(plot.rows) > 1 else "paper")
        text = file.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fullpipe.lessons"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
