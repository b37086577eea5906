"""The pages' sentences: no figure in them that a run can make anew was typed by hand."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from test_docs import load, tables

__all__ = ["tables"]

KNOWN: dict[str, dict[str, str]] = tomllib.loads((ROOT / "tests/figures_given.toml").read_text(encoding="utf-8"))
"""The numbers that a page may name; the file says which."""

NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.])\d+(?:\.\d+)?(?!\w)")

LEFT_OUT = (
    r"<!-- table of: \S+ -->\n.*?<!-- end of table -->",  # made of records
    r"<!-- measured: [^\n]*?<!-- -->",  # likewise
    r"^ *```.*?^ *```$",  # commands, and outputs that other tests make anew
    r"\$\$.*?\$\$|\$[^$\n]+\$",  # equations
    r"<!--.*?-->",
    r"`[^`\n]+`",
    r"(?<=\])\([^)\s]*\)",  # where links go
    r"^#+ Deviations and choices\n.*?(?=^#|\Z)",  # as the code has them, word for word
)


def prose(text: str) -> str:
    for pattern in LEFT_OUT:
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return text


def numbers(text: str) -> set[str]:
    """Those above ten, and all that are not whole: how many of something there are is no measurement."""
    found = {each.replace(",", "") for each in NUMBER.findall(prose(text))}
    return {each for each in found if "." in each or int(each) > 10}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_no_number_that_is_neither_filled_in_nor_known(page: Path) -> None:
    lists = KNOWN.get(str(page.relative_to(ROOT)), {})
    known = {number for text in lists.values() for number in text.split()}
    found = numbers(page.read_text(encoding="utf-8"))
    assert found - known == set(), "let docs/tables.py fill it in from a run (<!-- measured: ... -->)"
    assert known - found == set(), "tests/figures_given.toml names what the page no longer has"


def test_only_pages_that_there_are_have_numbers() -> None:
    assert KNOWN.keys() <= {str(page.relative_to(ROOT)) for page in pages()}
    assert all(lists.keys() <= {"given", "trials"} for lists in KNOWN.values())


def test_a_typed_number_would_be_found() -> None:
    text = """# Title of 17
Used to 0.93 of `0.94`, [12.5](a-13.md), with <!-- measured: copa: least | .1f -->2.4<!-- --> packets
and 1,929 in all, $x = 15$.

<!-- table of: prague -->
| 33 |
<!-- end of table -->

```sh
fullpipe run --set 44
```

## Deviations and choices

- **The RTT** is 55 ms.

## Measured

It took 66 s, 7 times, and 8.5 more.
"""
    assert numbers(text) == {"17", "0.93", "12.5", "1929", "66", "8.5"}


def test_figures_in_sentences_are_those_of_the_records(tables: ModuleType) -> None:
    filled = 0
    for page in tables.pages():
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^ *<!-- (?:measured: | ?-->)", text, re.MULTILINE), f"{page}: would end the paragraph"
        assert text.count("<!-- measured: ") == len(tables.FIGURE.findall(text)), page
        for match in tables.FIGURE.finditer(text):
            assert match[5] == tables.figure(match[2], match[3], match[4]), f"{page}: {match[0]}: python docs/tables.py"
            filled += 1
    assert filled > 20


def test_a_figure_comes_from_its_record_in_its_format(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/survey.json").write_text(json.dumps({"survey/table-1": {"loss, reno, %": 0.123456}}))
    (tmp_path / "trials.json").write_text(json.dumps({"copa": {"share, 1 ms": 0.2213, "queue": 1234.5}}))
    monkeypatch.setattr(tables, "MEASURED", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "It is <!-- measured: survey/table-1: loss, reno, % | .2f -->9<!-- --> %, a share of "
        "<!-- measured: copa: share, 1 ms | .0% --><!-- -->, <!-- measured: copa: queue | ,.0f -->x<!-- --> and "
        "<!-- measured: copa: queue -->y<!-- -->.\n"
    )
    assert tables.rewrite(page)
    assert re.sub("<!--.*?-->", "", page.read_text()) == "It is 0.12 %, a share of 22 %, 1,234 and 1.23e+03.\n"
    assert not tables.rewrite(page)


def test_a_trial_that_ran_is_kept_and_the_others_stay(trials: ModuleType, tmp_path: Path) -> None:
    to = tmp_path / "trials.json"
    to.write_text(json.dumps({"one": {"a": 1.0}, "other": {"b": 2.0}}))
    made = {"one": lambda: {"a": 1 / 3}, "new": lambda: {"c": 4.0}}
    assert [line.partition(":")[0] for line in trials.take(["one", "new"], to, made)] == ["one", "new"]
    assert json.loads(to.read_text()) == {"new": {"c": 4.0}, "one": {"a": 0.333333}, "other": {"b": 2.0}}


def test_every_trial_has_its_record_and_a_place_on_a_page(trials: ModuleType, tables: ModuleType) -> None:
    record = json.loads((ROOT / "docs/measured/trials.json").read_text(encoding="utf-8"))
    assert record.keys() == trials.TRIALS.keys()
    text = "".join(page.read_text(encoding="utf-8") for page in tables.pages())
    drawn = {"sizing": "sizes"}
    for name in record:
        assert f"<!-- measured: {name}: " in text or f"<!-- table of: {drawn.get(name, name)} -->" in text, name


def test_short_trials_come_out_as_recorded(trials: ModuleType) -> None:
    record = json.loads((ROOT / "docs/measured/trials.json").read_text(encoding="utf-8"))
    for name in ("one-flow-sized", "vegas"):
        again = {key: float(f"{value:.6g}") for key, value in trials.TRIALS[name]().items()}
        assert again == record[name], f"python docs/trials.py {name}"


@pytest.fixture(scope="module")
def trials() -> ModuleType:
    return load("trials")
