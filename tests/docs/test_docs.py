"""Examples of the README and of the package's docstring work as shown."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest
from benchmarks import records

import fullpipe
from conftest import BUILT_IN, ROOT, module_of
from fullpipe import _core
from fullpipe._cli import fullpipe_command
from fullpipe.papers import select
from fullpipe.reproduce.item import expected

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_docstrings_example() -> None:
    failed, tried = doctest.testmod(fullpipe)
    assert (failed, tried > 0) == (0, True)


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "run.png").is_file()


def test_the_readmes_commands_parse() -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("fullpipe ")]
    assert commands
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        found = fullpipe_command.get_command(click.Context(fullpipe_command), name)
        assert found is not None
        found.make_context(name, arguments)


def test_the_readme_is_at_most_6_kb() -> None:
    assert len(README.encode()) <= 6_000


def test_the_readme_sets_up_with_two_commands() -> None:
    assert "make demo\nmake test\n" in blocks("sh")


def test_the_page_of_scenarios_names_every_queue() -> None:
    text = (ROOT / "docs/reference/scenarios.md").read_text()
    assert set(fullpipe.queues()) <= set(re.findall(r'`"?([a-z0-9-]+)"?`', text))


PAGES = ROOT / "docs/reference/algorithms"
SOURCES = ROOT / "crates/cc/src"
QUEUE_PAGES = ROOT / "docs/reference/queues"
QUEUE_SOURCES = ROOT / "crates/sim/src/network/discipline"


def declaring(folder: Path) -> list[Path]:
    """The files that declare an algorithm or a queueing discipline."""
    sources = [*folder.glob("*.rs"), *folder.glob("*/mod.rs")]
    return [path for path in sorted(sources) if ": Info =" in path.read_text()]


def page_name(source: Path) -> str:
    stem = source.parent.name if source.name == "mod.rs" else source.stem
    return f"{stem.replace('_', '-')}.md"


def names_and_pages(pages: Path, row: str) -> list[tuple[str, str]]:
    """The list of pages links to every page, once each."""
    text = (pages / "README.md").read_text()
    listed = re.findall(row + r"\[`([a-z0-9+-]+)`\]\(([a-z0-9-]+\.md)\)", text, re.MULTILINE)
    assert {page for _, page in listed} == {page.name for page in pages.glob("*.md")} - {"README.md", "slow-start.md"}
    return listed


def test_every_algorithm_has_a_page() -> None:
    listed = names_and_pages(PAGES, r"^\| ")
    assert {name for name, _ in listed} == set(BUILT_IN)
    table = (PAGES / "README.md").read_text()
    groups = dict(re.findall(r"^\| \[`([a-z0-9+-]+)`\]\([a-z0-9-]+\.md\) \| (\w+) ", table, re.MULTILINE))
    assert groups == {name: algorithm.group for name, algorithm in BUILT_IN.items()}
    assert {page_name(source) for source in declaring(SOURCES / "algorithms")} == {page for _, page in listed}


def test_every_queueing_discipline_has_a_page() -> None:
    declared = [
        (name, page_name(source))
        for source in declaring(QUEUE_SOURCES)
        for name in re.findall(r'\bInfo\s*\{\s*name: "([a-z0-9-]+)"', source.read_text())
    ]
    assert sorted(names_and_pages(QUEUE_PAGES, "^- ")) == sorted(declared)
    assert {page for _, page in declared} == {page_name(source) for source in declaring(QUEUE_SOURCES)}


def load(name: str) -> ModuleType:
    """A program of ``docs``."""
    return module_of(ROOT / f"docs/{name}.py")


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """The program of ``make docs-tables``."""
    return load("tables")


@pytest.fixture(scope="module")
def trials() -> ModuleType:
    """The program of ``make records-trials``."""
    return load("trials")


def headings(text: str) -> list[list[str]]:
    """Headings of each table in an output of the program: the line above its rule."""
    lines = text.splitlines()
    return [re.split(r" {2,}", lines[i - 1].strip()) for i, line in enumerate(lines) if line.startswith(" ───")]


def test_commands_of_short_outputs_run_and_print_the_tables_shown(tables: ModuleType) -> None:
    """Headings are compared and values are not: a page may show an older build's."""
    tried = [each for page in tables.pages() for each in tables.shown(page) if not each.long]
    assert len(tried) >= 2
    for each in tried:
        assert headings(tables.output(each.command)) == headings(each.text), f"{each.command}: make docs-tables"


def test_measured_tables_are_those_of_the_records(tables: ModuleType) -> None:
    found = [match for page in tables.pages() for match in tables.TABLE.finditer(page.read_text(encoding="utf-8"))]
    speed = {f"speed-{part}" for part in ("machine", "beside", "instructions", "modern", "windows", "controllers")}
    drawn = {"cards", "cards-worse", *speed, *(f"keys-{name}" for name in _core.scenario_keys())}
    drawn |= {"sizes", "sizes-many", "phases", "prague", "vegas", "bbr-zone", "slow-starts", "slow-starts-rtt"}
    recorded = {
        item
        for path in (ROOT / "reports/papers").glob("*.json")
        if path.stem in tables.PAPERS
        for item in json.loads(path.read_text())
    }
    drawn |= {
        match[2] for match in found if match[2].startswith(("settings-", "parameters-", "deviations-", "metrics-"))
    }
    papers = {match[2] for match in found if match[2].startswith("paper-")}
    shown = [item.id for name in papers for item in select(name.removeprefix("paper-"))]
    assert sorted(shown) == sorted(recorded)
    drawn |= {f"quic-{family}" for family in json.loads((ROOT / "reports/quic.json").read_text())}
    records = {path.stem for path in (ROOT / "reports").glob("*.json")} - {"builds", "quic", "trials"}
    assert {match[2] for match in found} - papers == drawn | records
    for match in found:
        assert match[3] == tables.measured(match[2]), f"{match[2]}: python docs/tables.py"


def test_pages_of_algorithms_show_what_the_sources_declare(tables: ModuleType) -> None:
    declared = tables.declared
    for name, algorithm in ((name, fullpipe.algorithms()[name]) for name in BUILT_IN):
        text = declared.page_of(name).read_text(encoding="utf-8")
        shown = {match[2] for match in tables.TABLE.finditer(text)}
        known = set(declared.RENO) if name in declared.RENO else {name}
        assert shown & {f"deviations-{one}" for one in known}, name
        assert not algorithm.params or shown & {f"parameters-{one}" for one in known}, name
        assert text.count("- ") >= len(re.findall(r"^//! - ", _deviations(declared.source_of(name)), re.MULTILINE)) > 0


def _deviations(source: Path) -> str:
    return source.read_text(encoding="utf-8").partition("# Deviations and choices")[2]


def test_the_readmes_figures_are_taken_from_runs(tables: ModuleType) -> None:
    """Two runs each, of which the best counts; a miss of two checks in one item of a paper, and one elsewhere."""
    passing, missing = {"pass": True}, {"pass": False}
    items = [
        {"id": "hyun-jang/table-1", "checks": [passing, passing]},
        {"id": "survey/table-2", "checks": [passing, missing, missing]},
        {"id": "modern/dctcp", "checks": [missing]},
    ]
    assert tables.TAKEN["reproduction"]({"items": items}) == {
        "items": 2,
        "missing_items": 1,
        "checks": 5,
        "passing": 3,
    }


def timed(*runs: tuple[float, int]) -> list[dict[str, float]]:
    """Runs of two seconds as the benchmarks keep them: millions of packets a second, and megabytes."""
    return [
        {"data_packets": round(2e6 * millions), "wall_s": 2.0, "peak_bytes": 1_000_000 * megabytes}
        for millions, megabytes in runs
    ]


SPEED_RECORD = {
    "machine": "an abacus",
    "versions": {"ns-2": "2.35"},
    "rounds": 3,
    "cases": [
        {
            "name": "one",
            "title": "1 flow",
            "series_cost": 0.034,
            "runs": {
                "fullpipe": timed((19, 26), (20, 27)),
                "fullpipe, series every 100 ms": timed((18, 33), (18, 31)),
                "ns-2, its fastest": timed((0.4, 20), (0.5, 20)),
                "ns-3 (20 s of it)": timed((0.005, 25)),
            },
        }
    ],
}
"""What ``make speed`` keeps of a case."""


def test_the_tables_of_speed_are_of_the_benchmarks(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modern = [
        {"variant": "codel", "beside": "hundred-flows.toml", "ratio": 0.49, "wanted": 0.5, "times_ns3": 3692.4},
        {"variant": "rack", "beside": "one-flow.toml", "ratio": 0.83, "wanted": 0.7, "times_ns3": None},
    ]
    windows = [
        {"segments": 1000, "data_packets": 10_063_423, "dropped": 65_840, "ns_a_packet": 64.0},
        {"segments": 10_000_000, "data_packets": 115_149_673, "dropped": 17_399_996, "ns_a_packet": 105.0},
    ]
    counted = [{"case": "one-flow", "seconds": 20, "packets": 200_000, "instructions": 104_700_000}]
    kept = {"speed": SPEED_RECORD, "modern": modern, "windows": windows, "instructions": counted}
    for name, record in kept.items():
        tmp_path.joinpath(f"{name}.json").write_text(json.dumps(record))
    to = tmp_path / "measured" / "speed.json"
    to.parent.mkdir()
    tables.take_speed(tmp_path, to)
    monkeypatch.setattr(tables, "MEASURED", to.parent)
    assert tables.measured("speed-machine") == "Machine: an abacus; ns-2 2.35; 3 rounds.\n"
    assert tables.measured("speed").splitlines()[2:] == ["| 1 flow | 20.0 million | 50.0 | 3.4% | 26 | 31 |"]
    assert tables.measured("speed-beside").splitlines()[::2] == [
        "| case | ns-2 (its fastest) | ns-3 |",
        "| 1 flow | 40 (500,000) | 4,000 (5,000) |",
    ]
    assert tables.measured("speed-modern").splitlines()[2:] == [
        "| codel | `hundred-flows.toml` | 0.49 | 0.5 | 3,692 |",
        "| rack | `one-flow.toml` | 0.83 | 0.7 |  |",
    ]
    assert tables.measured("speed-instructions").splitlines()[2:] == ["| `one-flow.toml` | 20 | 200,000 | 524 |"]
    assert tables.measured("speed-windows").splitlines()[2:] == [
        "| 1,000 | 10,063,423 | 65,840 | 64 | 1.00 |",
        "| 10,000,000 | 115,149,673 | 17,399,996 | 105 | 1.64 |",
    ]
    to.with_name("validation.json").write_text((ROOT / "reports/validation.json").read_text())
    assert (
        "| Packets per second: 1 flow | 20.0 million; 40 times ns-2 (its fastest); 4,000 times ns-3 |"
        in tables.measured("validation")
    )
    # Trials that did not run keep their results.
    for file in tmp_path.glob("*.json"):
        file.unlink()
    before = to.read_bytes()
    tables.take_speed(tmp_path, to)
    assert to.read_bytes() == before


def test_a_papers_page_has_every_check_with_the_records_figures(tables: ModuleType) -> None:
    shown = tables.paper("survey")
    record = json.loads((ROOT / "reports/papers/survey.json").read_text())
    assert re.findall(r"^### (.*)$", shown, re.MULTILINE) == list(record)
    rows = re.findall(r"^\| .* \| (?:pass|known discrepancy) \| .* \|$", shown, re.MULTILINE)
    assert len(rows) == sum(len(expected(item)) for item in record)
    measured = record["survey/figure-5"]["throughput, vegas, kbit/s"]
    assert f"| throughput, vegas, kbit/s | 974.803 | {measured:.4f} |" in shown


def test_a_table_by_setting_has_a_columns_unit_in_its_head(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {
        "used, cubic, one flow, 10 ms": 0.5,
        "used, bbr3, one flow, 10 ms": 0.25,
        "loss, cubic, one flow, 10 ms, %": 1.0,
        "loss, bbr3, one flow, 10 ms, %": 2.0,
        "wait, cubic, late, ms": 3.0,
        "wait, bbr3, late, ms": 4.0,
    }
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/beyond.json").write_text(json.dumps({"beyond/today": figures}))
    monkeypatch.setattr(tables, "MEASURED", tmp_path)
    assert tables.settings("beyond/today").splitlines() == [
        "| setting; cubic, bbr3 | used | loss, % | wait, ms |",
        "| --- | --- | --- | --- |",
        "| one flow, 10 ms | 0.5, 0.25 | 1, 2 |  |",
        "| late |  |  | 3, 4 |",
    ]


def test_only_items_at_full_length_are_taken_and_the_others_kept(tables: ModuleType, tmp_path: Path) -> None:
    record = json.loads((ROOT / "reports/papers/survey.json").read_text())
    run = [{"id": item, "quick": False, "figures": figures} for item, figures in record.items()]
    tables.take_papers({"items": [{**item, "quick": True} for item in run]}, tmp_path)
    assert not list(tmp_path.iterdir())
    tables.take_papers({"items": run}, tmp_path)
    assert json.loads((tmp_path / "survey.json").read_text()) == record
    first, second, *_ = record
    tables.take_papers({"items": [{"id": first, "quick": False, "figures": {"new": 1.0}}]}, tmp_path)
    changed = json.loads((tmp_path / "survey.json").read_text())
    assert (changed[first], changed[second]) == ({"new": 1.0}, record[second])


def test_every_output_that_is_shown_is_marked_and_its_command_too(tables: ModuleType) -> None:
    """A table printed by the program, recognized by the line under its head, is below a comment and its command."""
    for page in tables.pages():
        text = page.read_text()
        marked = "".join(each.text for each in tables.shown(page))
        assert text.count("\n ───") == marked.count("\n ───"), page
        for each in tables.shown(page):
            # Commands before "&&" prepare files and folders.
            command = each.command.partition(" | ")[0].rpartition(" && ")[2]
            assert re.search(rf"^{re.escape(command)}|`{re.escape(command)}|`make demo`", text, re.MULTILINE), command


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


def test_a_page_that_shows_records_names_their_builds(tables: ModuleType) -> None:
    showing = [page for page in tables.pages() if list(tables.shown_records(page.read_text(encoding="utf-8")))]
    assert len(showing) > 10
    for page in showing:
        text = page.read_text(encoding="utf-8")
        (block,) = tables.BUILDS.finditer(text)
        assert block[2] == tables.builds(text), f"{page}: python docs/tables.py {page.name}"


def test_builds_of_a_record_are_named_part_by_part_where_they_differ(tmp_path: Path) -> None:
    first = {"version": "0.1.0", "build": "commit 1a", "day": "2026-01-02"}
    then = {"version": "0.2.0", "build": "commit 2b", "day": "2026-03-04", "model": "7"}
    (tmp_path / "builds.json").write_text(json.dumps({"papers/survey.json": {"": first, "survey/figure-5": then}}))
    figures = [("papers/survey.json", f"survey/figure-{number}") for number in (4, 5)]
    again = "`make records-papers`"
    assert list(records.sources(figures[:1], tmp_path)) == [
        f"`reports/papers/survey.json`: fullpipe 0.1.0, commit 1a, 2026-01-02; {again}"
    ]
    assert list(records.sources(figures, tmp_path)) == [
        f"`reports/papers/survey.json` (`survey/figure-4`): fullpipe 0.1.0, commit 1a, 2026-01-02; {again}",
        f"`reports/papers/survey.json` (`survey/figure-5`): fullpipe 0.2.0, model 7, commit 2b, 2026-03-04; {again}",
    ]


def test_a_record_that_was_measured_row_by_row_has_the_builds_of_its_rows(tmp_path: Path) -> None:
    first, then = ({"version": "0.1.0", "build": f"commit {name}", "day": "2026-01-02"} for name in ("1a", "2b"))
    (tmp_path / "builds.json").write_text(json.dumps({"linux-queues.json": {"codel": first, "pie": then, "red": then}}))
    again = "`make records-linux`"
    assert list(records.sources([("linux-queues.json", records.WHOLE)], tmp_path)) == [
        f"`reports/linux-queues.json` (`codel`): fullpipe 0.1.0, commit 1a, 2026-01-02; {again}",
        f"`reports/linux-queues.json` (`pie`, `red`): fullpipe 0.1.0, commit 2b, 2026-01-02; {again}",
    ]


def test_a_record_that_is_measured_again_gets_this_build(tmp_path: Path) -> None:
    (tmp_path / "builds.json").write_text(json.dumps({"trials.json": {"": {"build": "old"}}, "quic.json": {"": {}}}))
    records.note("trials.json", ["copa"], tmp_path)
    known = json.loads((tmp_path / "builds.json").read_text())
    assert known["trials.json"]["copa"]["version"] == fullpipe.__version__
    assert known["trials.json"][""] == {"build": "old"}
    records.note("trials.json", reports=tmp_path)
    assert json.loads((tmp_path / "builds.json").read_text())["trials.json"].keys() == {""}


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


def test_a_trial_that_ran_replaces_its_record_and_the_others_stay(trials: ModuleType, tmp_path: Path) -> None:
    to = tmp_path / "trials.json"
    to.write_text(json.dumps({"one": {"a": 1.0}, "other": {"b": 2.0}}))
    made = {"one": lambda: {"a": 1 / 3}, "new": lambda: {"c": 4.0}}
    assert [line.partition(":")[0] for line in trials.take(["one", "new"], to, made)] == ["one", "new"]
    assert json.loads(to.read_text()) == {"new": {"c": 4.0}, "one": {"a": 0.333333}, "other": {"b": 2.0}}


def test_every_trial_has_its_record_and_a_place_on_a_page(trials: ModuleType, tables: ModuleType) -> None:
    record = json.loads((ROOT / "reports/trials.json").read_text(encoding="utf-8"))
    assert record.keys() == trials.TRIALS.keys()
    text = "".join(page.read_text(encoding="utf-8") for page in tables.pages())
    drawn = {"sizing": "sizes"}
    for name in record:
        assert f"<!-- measured: {name}: " in text or f"<!-- table of: {drawn.get(name, name)} -->" in text, name


def test_a_stale_output_is_replaced(tables: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    start, end = "before\n<!-- output of: echo new; echo '  ' -->\n```\n", "```\nafter ```old```\n"
    page.write_text(f"{start}old\n{end}")
    assert tables.rewrite(page)
    assert page.read_text() == f"{start}new\n{end}"
    assert not tables.rewrite(page)
