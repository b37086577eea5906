"""Lessons for classes: a scenario with a question, tasks, a hint, and an answer.

The playground, the exercise sheets, and a notebook show these lessons. Each is a file ``NAME.toml`` in this folder.

>>> import fullpipe.lessons
>>> lesson = fullpipe.lessons.lesson("bufferbloat")
>>> lesson.tasks[0].text
'Read the mean RTT of the game.'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.text import unknown
from fullpipe.engine.tables import to_list
from fullpipe.errors import InputError
from fullpipe.metrics import column
from fullpipe.runs.engines import run
from fullpipe.scenario import Scenario, parse

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["Lesson", "Task", "lesson", "lessons", "read"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Task:
    """A value that students find.

    Attributes:
        text: Instruction: the change, and the value to read.
        reads: Metric of the run (`Result.figures`), or one of the forms of `read`.
        value: The value as text, as a run gives it (tested).
        set: Changes of the lesson's scenario, as for `Scenario.replace`.
    """

    text: str
    reads: str
    value: str
    set: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        number: Place in a course, from 1.
        name: Name, for example "slow-start".
        title: Title.
        question: Question to think about before the tasks.
        hint: Hint to the question.
        answer: Answer to the question.
        tasks: Tasks, whose values lead to the answer.
        scenario: The scenario as TOML.
        phase_plot: Whether the playground opens the plot of one window against the other.
    """

    number: int
    name: str
    title: str
    question: str
    hint: str
    answer: str
    tasks: tuple[Task, ...]
    scenario: str
    phase_plot: bool = False

    def run(self, task: Task | None = None) -> Result:
        """Runs the scenario, with the changes of a task."""
        scenario = Scenario.loads(self.scenario)
        return run(scenario.replace(**task.set) if task and task.set else scenario)

    def measure(self, task: Task) -> str:
        """Value of a task by a run, with its unit."""
        return read(self.run(task), task.reads)


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in the order of a course."""
    return tuple(sorted(map(_read, FOLDER.glob("*.toml")), key=lambda lesson: lesson.number))


def lesson(name: str) -> Lesson:
    """The lesson of that name.

    Raises:
        InputError: There is none.
    """
    found = {lesson.name: lesson for lesson in lessons()}
    if name not in found:
        raise InputError(unknown("lesson", name, list(found)))
    return found[name]


def _read(file: Path) -> Lesson:
    tree = parse(file.read_text(encoding="utf-8"))
    tasks = tuple(Task(**task) for task in tree.pop("tasks"))
    texts = {key: tree.pop(key).strip() for key in ("question", "hint", "answer")}
    return Lesson(name=file.stem, tasks=tasks, **texts, **tree)


def read(result: Result, what: str) -> str:
    """Value of a run as text with its unit.

    Args:
        result: The run.
        what: Id of a metric; ``max`` or ``min`` and a sampled quantity of the first flow or the first link, where
            ``min`` leaves out the warm-up; ``whole`` and a metric of the first link for the whole run.
    """
    kind, _, name = what.rpartition(" ")
    value = result.figures()[name] if not kind else READINGS[kind](result, name)
    heading, (text,) = column(name, [value])
    _, opened, unit = heading.rpartition(" (")
    return f"{text} {unit[:-1]}" if opened else text


def _samples(result: Result, name: str, from_s: float = 0.0) -> list[float]:
    """Samples of the first flow or link that has the quantity."""
    series = result.columns("series")
    table, key = (series, "flow") if name in series else (result.columns("link_series"), "link")
    columns = [to_list(table[each]) for each in ("t_s", key, name)]
    return [value for t_s, of, value in zip(*columns, strict=True) if of == 0 and t_s >= from_s and value is not None]


def _whole(result: Result, name: str) -> float:
    """Metric of the first link over the whole run: sums of its samples."""
    dropped, arrived = (sum(_samples(result, each)) for each in ("dropped_packets", "arrived_packets"))
    return {"dropped_packets": dropped, "loss_rate": dropped / arrived}[name]


READINGS = {
    "max": lambda result, name: max(_samples(result, name)),
    "min": lambda result, name: min(_samples(result, name, result.scenario.warmup_s)),
    "whole": _whole,
}
"""Forms of `read` by their first word."""
