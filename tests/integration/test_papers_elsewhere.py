"""A researcher's own paper, in a separate directory."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from conftest import Program
from fullpipe import InputError
from fullpipe.papers import items_in, select
from fullpipe.reproduce import reproduce_all

CODE = """
from fullpipe import Scenario
from fullpipe.reproduce import Item, Rows

from . import theory

def scenarios():
    link = {"name": "bottleneck", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
    return {"one": Scenario(duration="5 s", warmup="2 s", links=[link], flows=[{"algorithm": "newreno"}])}

def measure(results):
    rows = Rows()
    rows.add("utilization", results["one"].figures()["utilization"], algorithm="newreno", name="utilization")
    rows.add("pipe", theory.PIPE, unit="packets", name="pipe")
    return rows

ITEMS = (Item("my-paper/table-1", "A link", scenarios, measure),)
"""

DATA = """
paper = "Somebody, 2026"

[[checks]]
item = "table-1"
name = "utilization"
published = 0.99
tolerance = 0.02
origin = "Table 1"
reason = "two digits"

[[checks]]
item = "table-1"
name = "pipe"
published = 20
tolerance = 0.5
origin = "section 2"
reason = "8 Mbit/s times 20 ms are 20 packets of 1000 bytes"
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    directory = tmp_path / "my_paper"
    directory.mkdir()
    (directory / "__init__.py").write_text(CODE)
    (directory / "theory.py").write_text("PIPE = 20.0\n")
    (directory / "paper.toml").write_text(DATA)
    return directory


def test_its_items_are_found_run_and_judged(paper: Path, tmp_path: Path, program: Program) -> None:
    assert [item.id for item in select(None, [paper])] == ["my-paper/table-1"]
    assert [item.id for item in select("hyun-jang/table-1", [paper])] == ["hyun-jang/table-1"]
    done = program("reproduce", "--paper", "my_paper", "--out", "out", "--json")
    assert done.returncode == 0
    (item,) = json.loads(done.stdout)["items"]
    assert (item["id"], item["pass"]) == ("my-paper/table-1", True)
    assert [check["published"] for check in item["checks"]] == [0.99, 20]
    measured = list(csv.DictReader((tmp_path / "out/my-paper/table-1/measured.csv").read_text().splitlines()))
    assert [(row["quantity"], row["unit"], row["algorithm"], row["setting"]) for row in measured] == [
        ("utilization", "", "newreno", ""),
        ("pipe", "packets", "", ""),
    ]
    assert [float(row["value"]) for row in measured] == [check["measured"] for check in item["checks"]]
    page = (tmp_path / "out/index.html").read_text()
    assert "Somebody, 2026" in page
    assert "fullpipe reproduce my-paper/table-1 --paper my_paper" in page
    assert program("reproduce", "my-paper", "--list", "--paper", "my_paper").stdout.split()[-3:] == [
        "my-paper/table-1",
        "A",
        "link",
    ]


def test_what_has_changed_in_it_is_run_anew(paper: Path, tmp_path: Path) -> None:
    def kept() -> bool:
        (outcome,) = reproduce_all(select(None, [paper]), out=tmp_path / "out")
        return outcome.kept

    assert not kept()
    assert kept()
    (paper / "theory.py").write_text("PIPE = 20.25\n")
    assert not kept()
    (outcome,) = reproduce_all(select(None, [paper]), out=tmp_path / "out")
    assert outcome.values["pipe"] == 20.25


def test_figures_by_name_alone_are_refused(paper: Path, tmp_path: Path) -> None:
    (paper / "__init__.py").write_text(CODE.replace("return rows", "return rows.values"))
    with pytest.raises(InputError, match=r"my-paper/table-1: measure must return fullpipe\.reproduce\.Rows, not dict"):
        list(reproduce_all(select(None, [paper]), out=tmp_path / "out"))


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("paper.toml", None, r"my_paper: is not a paper: paper\.toml is missing"),
        ("__init__.py", None, r"my_paper: is not a paper: __init__\.py is missing"),
        ("__init__.py", "import no_such_module\n", "can't be imported: ModuleNotFoundError: No module named"),
        ("__init__.py", "ITEMS = ()\n", "ITEMS is not a tuple of at least one Item"),
        (
            "__init__.py",
            CODE.replace("my-paper/", "other/"),
            r"the item 'other/table-1' must be called my-paper/\.\.\.",
        ),
        ("paper.toml", "checks = [\n", r"paper\.toml"),
        ("paper.toml", 'paper = "x"\nchecks = []\n', "my-paper/table-1 requires a check"),
        ("paper.toml", DATA.replace("tolerance = 0.5", "tolerance = 20"), "my-paper/table-1: "),
    ],
)
def test_what_is_wrong_with_it_is_said_in_a_line(paper: Path, file: str, text: str | None, why: str) -> None:
    (paper / file).unlink()
    if text is not None:
        (paper / file).write_text(text)
    with pytest.raises(InputError, match=why) as caught:
        items_in(paper)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "why"), [("survey", "fullpipe has a paper of that name"), ("My Paper", "use small letters")]
)
def test_names_that_will_not_do(paper: Path, name: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        items_in(paper.rename(paper.with_name(name)))
