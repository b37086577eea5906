"""Algorithms that functions take: names, tables, classes, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

import fullpipe
from fullpipe import InputError, Scenario
from fullpipe._core import Ack, Flow
from fullpipe.custom.arguments import as_algorithm

CLASS = """
import fullpipe

@fullpipe.algorithm("{name}")
class Aimd:
    cwnd = 10.0
    ssthresh = float("inf")

    def on_ack(self, flow, ack):
        self.cwnd += ack.credit / self.cwnd

    def on_congestion(self, flow, signal):
        self.cwnd = self.ssthresh = max(2.0, self.cwnd / 2)
"""


def test_names_and_tables_stay_as_they_are() -> None:
    assert as_algorithm("cubic") == "cubic"
    assert as_algorithm({"name": "vegas", "alpha": 2}) == {"name": "vegas", "alpha": 2}


def test_a_class_stands_for_its_algorithm(small: Scenario) -> None:
    @fullpipe.algorithm("argument-class")
    class Aimd:
        cwnd = 10.0
        ssthresh = float("inf")

        def on_ack(self, _flow: Flow, ack: Ack) -> None:
            self.cwnd += ack.credit / self.cwnd

        def on_congestion(self, _flow: Flow, _signal: str) -> None:
            self.cwnd = self.ssthresh = max(2.0, self.cwnd / 2)

    assert as_algorithm(Aimd) == "argument-class"
    short = small.replace(duration="2 s", warmup="1 s")
    assert list(fullpipe.compare(short, [Aimd, "reno"], seeds=1).results) == ["argument-class", "reno"]
    assert fullpipe.evaluate.plan(Aimd, only=["iot"]).runs > 0  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r'class int is not an algorithm; write @fullpipe\.algorithm\("name"\)'):
        as_algorithm(int)


def test_a_file_stands_for_the_algorithm_that_it_declares(tmp_path: Path, small: Scenario) -> None:
    file = tmp_path / "aimd.py"
    file.write_text(CLASS.format(name="argument-file"))
    assert as_algorithm(str(file)) == "argument-file"
    assert as_algorithm(f"{file}:Aimd") == "argument-file"
    short = small.replace(duration="2 s", warmup="1 s")
    assert fullpipe.duel(short, [str(file), "reno"], seeds=2).algorithms == ["argument-file", "reno"]
    with pytest.raises(InputError, match=r"no\.py: can.t be read"):
        fullpipe.evaluate(str(tmp_path / "no.py"))


def test_a_library_is_relative_to_the_file_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    text = CLASS.format(name="argument-library").replace('")\nclass', '", library="mine.so")\nclass')
    (folder / "mine.py").write_text(text)
    (folder / "mine.so").write_bytes(b"not a library")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"{folder}/mine.so"):
        as_algorithm(str(folder / "mine.py"))


def test_a_class_stays_an_algorithm_after_its_file_was_loaded(tmp_path: Path, small: Scenario) -> None:
    """The file declares a further class of that name, which replaces the class that the caller has."""
    file = tmp_path / "mine.py"
    file.write_text(CLASS.format(name="argument-twice"))
    own: dict[str, object] = {"__name__": "mine", "__file__": str(file)}
    exec(compile(file.read_text().replace("max(2.0, self.cwnd / 2)", "2.0"), file, "exec"), own)
    kind = own["Aimd"]
    assert isinstance(kind, type)
    short = small.replace(duration="5 s", warmup="1 s")
    (first,) = fullpipe.compare(short, [kind], seeds=1).results.values()
    assert fullpipe.evaluate.plan(str(file), only=["iot"]).runs > 0  # type: ignore[attr-defined]
    (other,) = fullpipe.compare(short, [str(file)], seeds=1).results.values()
    (again,) = fullpipe.compare(short, [kind], seeds=1).results.values()
    assert again.figures() == first.figures() != other.figures()
