"""Names that mean something to rich, matplotlib, HTML, a shell or a terminal are shown as they are, everywhere."""

from __future__ import annotations

import json
import pickle
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import fullpipe
from conftest import Program
from fullpipe import InputError, Scenario, ScenarioError
from fullpipe._cli import output
from fullpipe._cli.output import show
from fullpipe._util.text import file_label, file_name, html, listed, one_line, printable, quoted, shorten, with_params
from fullpipe.errors import FullpipeError
from fullpipe.linux.plan import Plan
from fullpipe.linux.report import to_tables
from fullpipe.plots.draw import _text
from fullpipe.plots.spec import label
from fullpipe.reproduce.report.page import environment
from fullpipe.reproduce.report.view import _parameters

ESC, RIGHT_TO_LEFT = "\x1b", "\u202e"
LONG = "x" * 100_000
NAMES = [
    "[/x]",
    "[red]",
    "[link=http://a.b]c[/link]",
    ":smile:",
    r"$\foo$",
    "$x",
    r"a\$b",
    "_hidden",
    "{0} %s",
    "<b>&amp;\"'",
    "../../up",
    " ",
    "漢字🙂",
    f"a{RIGHT_TO_LEFT}b",
    LONG,
]
"""All are names that a link may have."""

SHOWN = {f"a{RIGHT_TO_LEFT}b": r"a\u202eb"}
"""How those are shown that are not shown as they are, but for the long one."""


def scenario(**changes: Any) -> Scenario:
    """A link of each name, in a row, and a flow over all of them."""
    link = {"rate": "10 Mbit/s", "delay": "1 ms", "buffer": "20 packets"}
    return Scenario(
        **{
            "duration": "2 s",
            "links": [{"name": name, **link} for name in NAMES],
            "flows": [{"algorithm": "reno", "path": NAMES}],
            **changes,
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "names.toml"
    path.write_text(scenario().to_toml(), encoding="utf-8")
    return path


def check_table(text: str) -> None:
    """Every name is in the table, in a separate row, without control characters for the terminal."""
    assert all(line.isprintable() for line in text.splitlines())
    assert max(map(len, text.splitlines())) < 500
    for name in NAMES[:-1]:
        assert SHOWN.get(name, name) in text, name
    assert "x...x" in text


@pytest.mark.parametrize("arguments", [["run"], ["compare", "--algorithms", "reno,vegas"]])
def test_tables_and_pictures(program: Program, file: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = program(*arguments, str(file), "--plot", "p.svg", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    check_table(done.stdout)
    found = [name for name in NAMES if name in done.stdout]
    assert len(found) == len(NAMES) - len(SHOWN) - 1
    ElementTree.parse(tmp_path / "p.svg")
    kept = tmp_path / "out" / ("comparison.json" if "compare" in arguments else "result.json")
    links = json.loads(kept.read_text())["runs" if "compare" in arguments else "links"]
    assert [link["name"] for link in (links[0]["links"] if "compare" in arguments else links)] == NAMES


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_every_kind_of_picture(tmp_path: Path, suffix: str) -> None:
    fullpipe.run(scenario()).plot(tmp_path / f"p{suffix}")
    assert (tmp_path / f"p{suffix}").stat().st_size > 1000


def test_a_picture_says_what_the_names_say() -> None:
    # They are too long for a place next to the title.
    figure = fullpipe.run(scenario()).plot()
    legend = figure.axes[1].get_legend() or next(one for one in figure.legends if len(one.get_texts()) == len(NAMES))
    drawn = [text.get_text() for text in legend.get_texts()]
    assert len(drawn) == len(NAMES)
    # Text that matplotlib draws without formulas: without the escapes before $, and without characters of no width.
    plain = [text.replace(r"\$", "$").removeprefix("\N{ZERO WIDTH SPACE}") for text in drawn]
    assert plain[:-1] == [SHOWN.get(name, name) for name in NAMES[:-1]]
    assert all(not text._preprocess_math(text.get_text())[1] for text in legend.get_texts())  # type: ignore[attr-defined]
    assert len(drawn[-1]) < 100


def test_sweeps(program: Program, file: Path, tmp_path: Path) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write('\n[sweep]\n"flows.path" = [["[/x]"], ["[red]", "$x", "_hidden"]]\n"links.0.loss" = [0, 0.01]\n')
    figure = "links.../../up.utilization"
    done = program("sweep", str(file), "--plot", "p.png", "--x", "loss", "--y", figure, "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert "[/x]" in done.stdout
    assert "[red], $x, _hidden" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.toml", "out", "p.png"]


def test_linux(capsys: pytest.CaptureFixture[str]) -> None:
    tried = scenario()
    plan = Plan.of(tried)
    ends = range(2 * len(NAMES))
    lines = [f"l {t_ns} {end} 0 0 0 0 0" for t_ns in (0, 2_000_000_000) for end in ends]
    lines += [f"f {t_ns} 0 10 2147483647 9000 8000 4 0 0 0 0" for t_ns in (0, 2_000_000_000)]
    result = fullpipe.Result(tried, to_tables(plan, lines), engine="linux", wall_s=1.0)
    show(result.shown())
    check_table(capsys.readouterr().out)
    assert len(repr(result)) < 5000


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, _attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_reports() -> None:
    scenarios = {"a": scenario(), "b": scenario(duration="3 s")}
    rows = _parameters(SimpleNamespace(scenarios=scenarios))  # type: ignore[arg-type]
    template = environment().from_string("{% for path, value in rows %}<code>{{ path }}</code>{{ value }}{% endfor %}")
    page = template.render(rows=rows)
    reader = Text()
    reader.feed(page)
    assert reader.tags == {"code"}
    assert RIGHT_TO_LEFT not in page
    for name in NAMES[:-1]:
        assert f"links.{SHOWN.get(name, name)}.rate" in reader.text, name


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(output, "PATIENCE_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name in NAMES:
        with output.progress_bar(name) as progress:
            progress(1.0, 2.0)
    shown = capsys.readouterr().err
    assert "[/x]" in shown
    assert "[red]" in shown
    assert RIGHT_TO_LEFT not in shown


# Text by itself.


def test_what_can_not_be_seen_is_escaped() -> None:
    assert printable("Zürich, 漢字 [x] $y") == "Zürich, 漢字 [x] $y"
    assert printable(f"{ESC}[2J\a\n{RIGHT_TO_LEFT}\udcff") == r"\x1b[2J\x07\n\u202e\udcff"
    assert html(f"<b>{ESC}") == r"&lt;b&gt;\x1b"


def test_long_text_loses_its_middle() -> None:
    assert shorten("abcdefghi", 9) == "abcdefghi"
    assert shorten("abcdefghij", 9) == "abcdef...hij"
    assert len(shorten(ESC * 1_000_000)) == 60 * len(r"\x1b") + 3
    assert quoted(["a"] * 1_000_000).startswith("['a', 'a', ")
    assert listed(str(i) for i in range(61)).endswith("59, ... (61 in all)")
    assert one_line("a\n\n b\tc") == "a b c"


def test_tables_with_parameters_are_labelled_as_scenarios_write_them() -> None:
    assert with_params({"name": "codel", "target": "5 ms", "ecn": True, "count": 1}) == (
        "codel (target=5 ms, ecn=true, count=1)"
    )
    assert with_params({"ecn": False, "name": "fq-codel"}) == "fq-codel (ecn=false)"
    assert with_params({"name": "step"}) == "step"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a b-1,c=2", "a b-1,c=2"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("..", "%2E."),
        (f"a/b\0{ESC}", "a%2Fb%00%1B"),
        ("5 \N{MICRO SIGN}s", "5 %C2%B5s"),  # RFC 3986, section 2.5: the bytes of UTF-8
    ],
)
def test_file_names(text: str, name: str) -> None:
    assert file_name(text) == name
    assert file_label(name) == text


def test_different_labels_have_different_file_names() -> None:
    long = "x" * 60
    labels = [
        "a/b.bpf.o",
        "a_b.bpf.o",
        "a%2Fb.bpf.o",
        f"{long}1",
        f"{long}2",
        long * 5 + "1",
        long * 5 + "2",
        "",
        ".",
        "_",
    ]
    labels += [file_name(label) for label in labels]
    names = {label: file_name(label) for label in labels}
    assert len(set(names.values())) == len(set(labels))
    assert all(0 < len(name) <= 100 and "/" not in name and name not in (".", "..") for name in names.values())


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_short_and_printable(name: str) -> None:
    assert len(label(name)) < 100
    # matplotlib hides lines whose labels begin with an underscore.
    assert not _text(label(name)).startswith("_")


# Messages.


def nasty(kind: type[FullpipeError]) -> FullpipeError:
    text = f"{ESC}[2J{RIGHT_TO_LEFT}\n" * 1_000_000
    return ScenarioError(text, text, text, 7) if kind is ScenarioError else kind(text)


@pytest.mark.parametrize("kind", [FullpipeError, InputError, ScenarioError])
def test_every_error_is_one_short_printable_line(kind: type[FullpipeError]) -> None:
    error = nasty(kind)
    for text in (str(error), str(pickle.loads(pickle.dumps(error)))):
        assert text.isprintable()
        assert len(text) < 20_000


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": LONG},
        {"duration": f"1 {ESC}"},
        {LONG: 1},
        {f"{ESC}{RIGHT_TO_LEFT}": 1},
        {"seed": 10**5000},
        {"packet_size": 1e308},
        {"flows": [{"algorithm": LONG}]},
        {"flows": [{"algorithm": {"name": "vegas", LONG: 1}}]},
        {"flows": [{"algorithm": "reno"}]},
        {"flows": [{"algorithm": "reno", "path": [f"{ESC}{LONG}"]}]},
        {"flows": [{LONG: {LONG: [{LONG: LONG}]}}]},
        {"links": [{"name": f"{ESC}x"}]},
        {"links": [{"name": ""}]},
        {7: 7},
    ],
)
def test_what_is_wrong_with_a_scenario_is_short_and_printable(changes: dict[Any, Any]) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict({**scenario().to_dict(), **changes}, file=f"{ESC}{LONG}")
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 3000


@pytest.mark.parametrize("path", [LONG, f"links.{LONG}.rate", "links.0", f"duration.{ESC}", "links.9.rate", f"{ESC}.a"])
def test_key_paths(path: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario().replace(**{path: "1"})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000
