"""Links, commands, and code of every page work. The site has every page and its generated files."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import click
import pytest

import fullpipe
from conftest import ROOT, module_of
from fullpipe import Scenario, _core
from fullpipe._cli import fullpipe_command
from fullpipe.lessons import lesson
from fullpipe.lessons.sheets import sheet_names

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("crates/**/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "reports").glob("*.md")),
]

ONLY_COMPILED = {
    "README.md",
    "docs/guides/duel.md",
    "docs/guides/sweeps.md",
    "docs/guides/cluster.md",
    "docs/guides/evaluate.md",
    "docs/tutorials/algorithm-in-python.md",
}
"""Run by `test_docs.py`; many runs, three times; wants a cluster; run by `test_your_own.py`, in turn."""

PARTS_OF_SCENARIOS = {"docs/guides/sweeps.md", "docs/guides/kernel-object.md"}
"""A sweep's axes; wants an object file, and is run by `test_kernel_object.py`."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=name)


site = module_of(ROOT / "docs/site.py")


def blocks(page: Path, *languages: str) -> list[str]:
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [text for language, text in found if language in languages]


def links(text: str) -> list[tuple[str, str]]:
    """The targets and anchors of a text's links to files."""
    found: list[tuple[str, str]] = []

    def note(part: str) -> str:
        without_code = re.sub(r"`[^`\n]*`", lambda code: code[0].replace("](", "] ("), part)
        found.extend((match[3], match[4] or "") for match in site.LINK.finditer(without_code))
        return part

    site.outside_code(text, note)
    return [(target, anchor.removeprefix("#")) for target, anchor in found if not re.match(r"[a-z]+:", target)]


@every_page
def test_links(page: Path) -> None:
    for target, anchor in links(page.read_text()):
        aim = page.parent / target if target else page
        assert aim.exists(), target
        if anchor:
            assert anchor in list(site.headings(aim.read_text())), f"{target}#{anchor}"


def prose(text: str) -> str:
    """Text of a page without code, comments, tables, headings, and generated parts."""
    text = re.sub(r"<!-- table of: .*?<!-- end of table -->|`[^`\n]*`", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("|", "#")))


USER_PAGES = [page for page in PAGES if name(page).startswith("docs/") and not name(page).startswith("docs/reference/")]


@pytest.mark.parametrize("page", USER_PAGES, ids=name)
def test_a_page_outside_the_reference_has_at_most_1200_words(page: Path) -> None:
    assert len(re.findall(r"[A-Za-z][A-Za-z'-]+", prose(page.read_text()))) <= 1_200


def test_anchors_are_a_forges() -> None:
    text = "# One thing\n```\n# not one\n```\n## Links: `[[links]]`\n### Ties, *and* [more](x.md)\n## One thing\n"
    assert list(site.headings(text)) == ["one-thing", "links-links", "ties-and-more", "one-thing-1"]


def commands(page: Path) -> list[str]:
    """The lines for a shell, those that go on joined, without prompts and comments."""
    text = "".join(
        re.sub(r"^[$#] (?=\S)", "", line) for block in blocks(page, "sh", "console") for line in block.splitlines(True)
    )
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines) if line]


def parse(words: list[str]) -> None:
    """Fails where the program would not understand the words after its name, or a scenario is not there."""
    assert all(Path(word).is_file() for word in words if word.startswith("scenarios/"))
    command: click.Command = fullpipe_command
    context = click.Context(command)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    # A library is built by a command before; the name of an algorithm takes its place.
    words = [re.sub(r"[^\s,]*\.so(:[\w-]+)?", "newreno", word) for word in words]
    if {"FILE", "PACKAGE", "NAME"}.isdisjoint(words):  # what stands for a name is not there
        command.make_context("fullpipe", words)


def inline(page: Path) -> list[str]:
    """The code within a page's sentences."""
    without_blocks = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", without_blocks)]


@every_page
def test_commands_and_options_in_sentences(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for code in inline(page):
        if re.match(r"fullpipe [a-z]", code):
            words = shlex.split(code)[1:]
            command: click.Command | None = fullpipe_command
            while isinstance(command, click.Group) and words and not words[0].startswith("-"):
                command, words = command.get_command(click.Context(command), words[0]), words[1:]
            assert command is not None, code
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known | {"--help"}, code
        elif match := re.match(r"make ([a-z-]+)", code):
            assert match[1] in targets, code


@every_page
def test_commands(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in commands(page):
        program, *words = shlex.split(line)
        if program.rpartition("/")[2] == "fullpipe":
            parse(words)
        elif program == "make":
            assert {word for word in words if "=" not in word} <= targets


def test_commands_in_sentences_are_found() -> None:
    found = [code for page in PAGES for code in inline(page) if code.startswith("fullpipe ")]
    assert len(found) > 50


def test_a_wrong_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for wrong in ("rum scenarios/web.toml", "run scenarios/no-such.toml", "run --sed 2 scenarios/web.toml"):
        with pytest.raises((AssertionError, click.UsageError)):
            parse(shlex.split(wrong))


@every_page
def test_python(page: Path, tmp_path: Path) -> None:
    """Code blocks of a page in order, in a separate process, because they may declare algorithms."""
    code = "\n".join(blocks(page, "python"))
    compile(code, name(page), "exec")
    if code and name(page) not in ONLY_COMPILED:
        for folder in ("scenarios", "examples"):
            (tmp_path / folder).symlink_to(ROOT / folder)
        (tmp_path / "page.py").write_text(code)
        done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@every_page
def test_scenarios_and_data(page: Path) -> None:
    for text in blocks(page, "toml"):
        tree = tomllib.loads(text)
        for place, lists in {
            "links": ("link", "direction", "varying"),
            "flows": ("flow", "tcp", "traffic", "ip"),
        }.items():
            known = {key["name"] for each in lists for key in _core.scenario_keys()[each]}
            tables = tree.get(place, [])
            assert all(set(table) <= known for table in (tables if isinstance(tables, list) else [])), text
        if {"duration", "links"} <= tree.keys() and name(page) not in PARTS_OF_SCENARIOS:
            Scenario.loads(text)
    for text in blocks(page, "json"):
        json.loads(text)


def test_the_five_minutes_scenario_is_the_shipped_one() -> None:
    (text,) = blocks(ROOT / "docs/start/five-minutes.md", "toml")
    shipped = Scenario.load(ROOT / "scenarios/bufferbloat.toml").to_dict()
    shown = Scenario.loads(text).to_dict()
    for flows in shown["flows"]:
        flows.pop("name", None)
    for flows in shipped["flows"]:
        flows.pop("name", None)
    shipped["links"][0].pop("queue", None)
    shown["links"][0].pop("queue", None)
    assert shown == shipped


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pages of the site."""
    return dict(site.pages())


def test_each_page_stands_in_the_navigation_once(made: dict[str, str]) -> None:
    places = [place for section in site.navigation(made).values() for place in section]
    assert len(places) == len(set(places))
    assert set(places) == set(made)
    own = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    own |= {f"reports/{page.name}" for page in (ROOT / "reports").glob("*.md")}
    assert own <= set(places)


def test_a_new_page_is_listed_in_the_section_of_its_folder() -> None:
    places = ["index.md", "guides/new.md", "guides/quic.md", "start/faq.md", "reports/new.md", "unforeseen.md"]
    assert site.navigation(dict.fromkeys(places, "")) == {
        "fullpipe": ["index.md"],
        "Start": ["start/faq.md"],
        "Guides": ["guides/quic.md", "guides/new.md"],
        "Measurement reports": ["reports/new.md"],
        "More": ["unforeseen.md"],
    }


def test_links_hold_on_the_site(made: dict[str, str]) -> None:
    count = 0
    drawn, loaded = site.pictures(), {*site.files(), *(f"lessons/{name}" for name in sheet_names())}
    for place, text in made.items():
        for target, anchor in links(text):
            aim = PurePosixPath(place) if not target else PurePosixPath(place).parent / target
            aim_place = Path("/", aim).resolve().relative_to("/").as_posix()
            there = aim_place in made or aim_place in drawn or (ROOT / "docs" / aim_place).is_file()
            assert there or aim_place in loaded, f"{place}: {target}"
            if aim_place == "playground.html":
                assert not anchor or lesson(anchor.removeprefix("lesson="))
                continue
            assert not anchor or anchor in list(site.headings(made[aim_place])), f"{place}: {target}#{anchor}"
            count += 1
    assert count > 100


DRAWN = [page for page in PAGES if page.parent.name in ("algorithms", "queues") and page.name != "README.md"]


@pytest.mark.parametrize("page", DRAWN, ids=name)
def test_each_algorithm_and_queue_has_a_picture_of_itself(page: Path, made: dict[str, str]) -> None:
    place = page.relative_to(ROOT / "docs")
    command = site.pictures()[place.with_suffix(".svg").as_posix()].code
    assert f"]({page.stem}.svg)" in made[place.as_posix()]
    listed = re.findall(r"\[`([a-z0-9+-]+)`\]\(([a-z0-9-]+\.md)\)", (page.parent / "README.md").read_text())
    shown = command + "".join((ROOT / word).read_text() for word in command.split() if word.startswith("scenarios/"))
    for each in [each for each, listed_page in listed if listed_page == page.name]:
        assert re.search(rf"(?<![a-z+-]){re.escape(each)}(?![a-z+-])", shown), each


def test_a_picture_is_drawn_of_what_the_engine_does() -> None:
    """Equal commands draw equal lines; another algorithm's lines differ."""
    command = "fullpipe run scenarios/one-flow.toml --duration '4 s' --set flows.algorithm={} --plot one.svg"

    def lines(algorithm: str) -> list[str]:
        drawn = site.draw(site.Picture("sh", command.format(algorithm), "")).decode()
        return sorted(re.findall(r'<path d="(M [^"]{400,})"', drawn))

    assert lines("cubic") == lines("cubic") != lines("vegas")
    assert len(lines("cubic")) >= 3


def test_a_picture_is_the_last_file_of_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides/page.md").write_text(
        "```python\nopen('a.svg', 'w').write('wrong')\nopen('out/b.svg', 'w').write('right')\n```\n"
        "<!-- picture: two lines -->\n\n```sh\ncat scenarios/web.toml > c.svg\n```\nNo picture.\n"
    )
    monkeypatch.setattr(site, "DOCS", tmp_path)
    ((place, picture),) = site.pictures().items()
    assert (place, picture.file, picture.title) == ("guides/b.svg", "out/b.svg", "two lines")
    assert site.draw(picture._replace(code="mkdir out; echo drawn > out/b.svg", language="sh")) == b"drawn\n"
    with pytest.raises(subprocess.CalledProcessError):
        site.draw(picture)  # there is no folder out


def test_the_gallery_has_ten_plots_from_different_blocks() -> None:
    drawn = [picture for place, picture in site.pictures().items() if place.startswith("guides/")]
    assert len({picture.code for picture in drawn}) >= 10
    assert {picture.language for picture in drawn} == {"sh", "python"}


def test_the_site_has_the_scenarios_to_unpack(tmp_path: Path) -> None:
    (tmp_path / "scenarios.zip").write_bytes(site.files()["reference/scenarios.zip"])
    with zipfile.ZipFile(tmp_path / "scenarios.zip") as archive:
        archive.extractall(tmp_path)
    shipped = {file.relative_to(ROOT) for file in (ROOT / "scenarios").rglob("*.toml")}
    assert {file.relative_to(tmp_path) for file in tmp_path.rglob("*.toml")} == shipped
    for file in shipped:
        if "sweeps" not in file.parts:
            Scenario.load(tmp_path / file)


@pytest.mark.parametrize("built", [True, False])
def test_the_site_links_to_the_playground_if_it_is_built(
    built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    if built:
        page.write_text("<title>playground</title>")
    monkeypatch.setattr(site, "PLAYGROUND", page)
    linked = "](../playground.html)" in site.pages()["guides/playground.md"]
    assert linked == ("playground.html" in site.files()) == built


def test_equations_become_mathml(made: dict[str, str]) -> None:
    """Those in code stay as they are; none is left over, and none has TeX that was not understood."""
    found = site.with_mathml("$\\mathit{cwnd} \\mathrel{+}= W_\\max$ of `$a$`")
    assert '<mi class="word">cwnd</mi><mo>+=</mo><msub><mi>W</mi><mo>max</mo></msub>' in found
    assert found.endswith("</math></span> of `$a$`")
    count = 0
    for place, text in made.items():
        if place in ("reference/command-line.md", "reference/library.md", "reference/ready.md"):
            continue
        outside = re.sub(
            r"^```.*?^```$|<!--.*?-->|`[^`\n]*`", "", site.with_mathml(text), flags=re.DOTALL | re.MULTILINE
        )
        assert "$" not in outside, place
        equations = re.findall(r"<math.*?</math>", outside)
        assert not any("\\" in equation for equation in equations), place
        count += len(equations)
    assert count > 300


def test_the_reference_has_every_command_name_and_scenario(made: dict[str, str]) -> None:
    for command in ("run", "compare", "duel", "size", "sweep", "linux load"):
        assert f"## fullpipe {command}\n" in made["reference/command-line.md"]
    assert "--algorithms A,B" in made["reference/command-line.md"]
    for public in set(fullpipe.__all__) - {"__version__"}:
        assert re.search(rf"^::: fullpipe\.(\w+\.)*{public}$", made["reference/library.md"], re.MULTILINE), public
    for file in (ROOT / "scenarios").rglob("*.toml"):
        assert file.read_text().strip() in made["reference/ready.md"]


def test_the_glossary_has_every_figure() -> None:
    named = set(re.findall(r"`([\w.]+)(?:\(\))?`", (ROOT / "docs/reference/metrics.md").read_text()))
    for scenario in ("l4s", "web"):
        short = Scenario.load(ROOT / f"scenarios/{scenario}.toml").replace(duration="21 s", warmup="20 s")
        result = fullpipe.run(short)
        tables = (result.links, result.flows, result.groups, result.traffic, result.link_series)
        names = {column for table in tables for column in table.column_names} | set(result.totals)
        names |= set(result.series.column_names[:7])  # the algorithm's own come after
        names |= {figure for figure in result.figures() if "." not in figure}
        assert {each.removeprefix("reverse_") for each in names} - named == set()
