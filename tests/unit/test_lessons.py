"""Lessons: values of the keys are those of runs, and the sheets show them to teachers only."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Program
from fullpipe.errors import InputError
from fullpipe.lessons import Lesson, lesson, lessons, read
from fullpipe.lessons.sheets import command, key, sheet, sheet_names
from fullpipe.scenario import Scenario

every_lesson = pytest.mark.parametrize("one", lessons(), ids=lambda one: one.name)


def test_there_are_eight_in_the_order_of_a_course() -> None:
    names = ["slow-start", "sawtooth", "fairness", "bufferbloat", "aqm-ecn", "rtt-unfairness", "bbr-phases", "l4s"]
    assert [one.name for one in lessons()] == names
    assert [one.number for one in lessons()] == list(range(1, 9))
    assert all(one.question and one.hint and one.answer and len(one.tasks) >= 3 for one in lessons())
    with pytest.raises(InputError, match="did you mean 'slow-start'"):
        lesson("slowstart")


@every_lesson
def test_values_of_the_key_are_those_of_runs(one: Lesson) -> None:
    assert [one.measure(task) for task in one.tasks] == [task.value for task in one.tasks]
    # CoDel may mark, but no flow has ECN until the task that asks for it.
    assert len(Scenario.loads(one.scenario).warnings) == (one.name == "aqm-ecn")


def test_the_sheet_has_space_and_the_key_has_values() -> None:
    one = lesson("sawtooth")
    for_teachers, for_students = key(one), sheet(one)
    for hidden in (*(task.value for task in one.tasks), one.answer.split(".")[0], "<svg"):
        assert hidden in for_teachers
        assert hidden not in for_students
    assert for_students.count('class="line"') >= len(one.tasks)


def test_commands_of_the_key_print_its_values(program: Program, tmp_path: Path) -> None:
    """Each task of one lesson, with and without changes; a form of `read` is a line of Python."""
    one = lesson("fairness")
    (tmp_path / "3-fairness.toml").write_text(one.scenario, encoding="utf-8")
    for task in one.tasks:
        name, *arguments = shlex.split(command(one, task))
        assert name == "fullpipe"
        assert task.value.removesuffix(" %") in program(*arguments).stdout
    first = lesson("slow-start").tasks[0]
    name, _, code = shlex.split(command(lesson("slow-start"), first))
    assert name == "python"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == first.value


def test_the_key_has_the_commands_and_the_plots_of_the_lesson() -> None:
    text = key(lesson("fairness"))
    assert text.count("<svg") == 2
    assert "Window against window" in text
    assert "fullpipe run 3-fairness.toml --columns groups.second.share" in text
    assert key(lesson("sawtooth")).count("<svg") == 1


def test_sheets_have_the_address_of_the_playground(program: Program, tmp_path: Path) -> None:
    assert "https://x.org/p.html#lesson=l4s" in sheet(lesson("l4s"), "https://x.org/p.html")
    for arguments, said in (
        (["--sheets", str(tmp_path / "s"), "--address", "x.org"], "must begin with http:// or https://, got 'x.org'"),
        (["--address", "https://x.org"], "--address requires --sheets"),
    ):
        done = program("bench", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
    assert not (tmp_path / "s").exists()


def test_each_lesson_has_a_sheet_and_a_key() -> None:
    assert sheet_names()[:2] == ["1-slow-start.html", "1-slow-start-key.html"]
    assert len(set(sheet_names())) == 16


def test_readings_of_the_whole_run_include_the_warm_up() -> None:
    """One flow whose only losses are in slow start, which the measured part leaves out: drops are the retransmits."""
    text = """\
duration = "2 s"
warmup = "1 s"
[[links]]
name = "l"
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "40 packets"
[[flows]]
algorithm = "newreno"
"""
    result, whole = Lesson(1, "x", "x", "", "", "", (), text).run(), Scenario.loads(text).replace(warmup="0 s")
    everything = Lesson(1, "x", "x", "", "", "", (), whole.to_toml()).run().figures()
    assert result.figures()["dropped_packets"] == 0 < everything["dropped_packets"]
    assert read(result, "whole dropped_packets") == f"{everything['dropped_packets']} packets"
    assert read(result, "whole loss_rate") == f"{100 * everything['loss_rate']:.3g} %"


def test_no_text_of_a_lesson_is_written_twice() -> None:
    """Playground, sheets, and notebook take the texts from the files of the lessons."""
    sentences = [
        sentence for one in lessons() for sentence in re.split(r"(?<=[.?]) ", one.answer) if len(sentence) > 40
    ]
    places = [*(ROOT / "web/src").glob("*.ts"), *(ROOT / "notebooks").glob("*.py"), ROOT / "docs/guides/lessons.md"]
    for place in map(Path.read_text, places):
        assert not [sentence for sentence in sentences if sentence in place]
