"""`fullpipe check`: verdicts, baselines, files for continuous integration, and bad suites."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fullpipe
from conftest import ROOT, Program
from fullpipe import InputError
from fullpipe._cli.check import command as check_command
from fullpipe.experiments.check import Suite
from fullpipe.experiments.check.keys import schema

SCENARIO = """{ name = "bulk", scenario = { duration = "4 s", links = [{ name = "l", rate = "10 Mbit/s", \
delay = "20 ms", buffer = "0.5 BDP", loss = 0.001 }], flows = [{ start = "0 s..1 s" }] } }"""

SUITE = f"""\
seeds = 5
max_seeds = 10
scenarios = [{SCENARIO}]
checks = [
  {{ id = "limit", scenario = "bulk", controller = "newreno", metric = "goodput_bps", min = "1 Mbit/s" }},
  {{ id = "base", scenario = "bulk", controller = "mine", metric = "goodput_bps", relative_to = "baseline" }},
]
[controllers]
mine = {{ name = "hybla" }}
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "suite.toml").write_text(SUITE)
    return tmp_path / "suite.toml"


def edit(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def test_an_unchanged_controller_is_ok_and_a_worse_one_is_not(suite: Path) -> None:
    written = fullpipe.check(suite, update=True)
    assert [each.verdict for each in written.checks] == ["updated"]
    same = fullpipe.check(suite)
    assert same.passed
    assert {each.id: each.verdict for each in same.checks} == {"limit": "ok", "base": "ok"}
    assert same.checks[1].change == 0
    edit(suite, ('{ name = "hybla" }', '{ name = "newreno" }'))
    worse = fullpipe.check(suite)
    assert worse.worse == ["base"]
    assert worse.runs.num_rows == 5 + worse.checks[1].seeds


def test_a_metric_of_a_group_is_shown_with_its_unit(suite: Path) -> None:
    flows = ('flows = [{ start = "0 s..1 s" }]', 'flows = [{ name = "call" }, { name = "rest", algorithm = "cubic" }]')
    edit(
        suite,
        flows,
        ('"goodput_bps", min = "1 Mbit/s"', '"groups.call.p99_rtt_s", max = "1 s"'),
        ('"baseline"', '"newreno"'),
    )
    _, title, limit, value, change = fullpipe.check(suite).checks[0].cells()
    assert title == "p99 RTT of call"
    assert re.fullmatch(r"1\.00 s [\d.]+ ms -[\d.]+ ms \(.*\)", shown := f"{limit} {value} {change}"), shown


def test_absolute_and_relative_limits(suite: Path) -> None:
    high = '{ id = "high", scenario = "bulk", controller = "newreno", metric = "goodput_bps", min = "20 Mbit/s" },'
    ratio = high.replace('"high"', '"ratio"').replace("min =", 'relative_to = "cubic", min_ratio = 0.01 #')
    added = f"checks = [\n  {high}\n  {ratio.partition('#')[0]} }},"
    edit(suite, ("checks = [", added), ('relative_to = "baseline"', 'relative_to = "newreno"'))
    found = fullpipe.check(suite)
    assert {each.id: each.verdict for each in found.checks} == {
        "high": "worse",  # the link has 10 Mbit/s
        "ratio": "ok",
        "limit": "ok",
        "base": "ok",  # Hybla grows faster with an RTT above 25 ms
    }
    one = found.checks[0]
    assert one.baseline == 20e6
    assert one.value is not None
    assert one.change == pytest.approx(one.value - 20e6)
    assert one.ci95 is not None
    assert one.ci95[0] < one.change < one.ci95[1] < 0


def test_a_deterministic_scenario_is_compared_without_a_test(suite: Path) -> None:
    edit(suite, (", loss = 0.001", ""), ("0 s..1 s", "0 s"))
    fullpipe.check(suite, update=True)
    edit(suite, ('{ name = "hybla" }', '"vegas"'))
    found = fullpipe.check(suite)
    assert found.checks[1].verdict in ("ok", "worse")
    assert found.checks[1].seeds == 5
    assert any("equal values for every seed" in note for note in found.notes)


def test_a_baseline_of_another_scenario_is_refused(suite: Path, program: Program) -> None:
    fullpipe.check(suite, update=True)
    edit(suite, ('duration = "4 s"', 'duration = "5 s"'))
    done = program("check", str(suite))
    assert done.returncode == 2
    assert re.search(r"suite\.baseline\.json: scenario 'bulk' .*--update", done.stderr)


def test_a_baseline_of_values_without_squares_is_refused(suite: Path) -> None:
    fullpipe.check(suite, update=True)
    file = suite.with_name("suite.baseline.json")
    tree = json.loads(file.read_text())
    tree["values"]["base"]["values"][0] = 1e308
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match=r"suite\.baseline\.json: is not a baseline"):
        fullpipe.check(suite)


def test_a_baseline_of_another_model_version_is_computed_again(suite: Path) -> None:
    fullpipe.check(suite, update=True)
    file = suite.with_suffix(".baseline.json")
    tree = json.loads(file.read_text())
    tree["engine_hash"] = 0
    tree["values"]["base"]["values"] = [1e6] * 10  # results of the other model
    file.write_text(json.dumps(tree))
    found = fullpipe.check(suite)
    assert found.checks[1].change == 0
    assert "computed again" in found.notes[0]


def test_changed_code_is_not_compared_with_itself_on_another_model_version(suite: Path) -> None:
    controller = suite.with_name("mine.py")
    controller.write_text((ROOT / "examples/aimd.py").read_text())
    edit(suite, ('{ name = "hybla" }', '"mine.py"'))
    fullpipe.check(suite, update=True)
    file = suite.with_suffix(".baseline.json")
    file.write_text(file.read_text().replace('"engine_hash": 1', '"engine_hash": 0'))
    assert fullpipe.check(suite).passed
    edit(controller, ("beta: float = 0.5", "beta: float = 0.4"))
    with pytest.raises(InputError, match="--update"):
        fullpipe.check(suite)


def test_a_run_that_fails_is_worse_and_others_go_on(suite: Path, program: Program, tmp_path: Path) -> None:
    suite.with_name("bad.py").write_text(
        (ROOT / "examples/aimd.py").read_text().replace("return self.alpha / w", 'return float("nan")')
    )
    edit(suite, ('relative_to = "baseline"', 'min = "1 Mbit/s"'), ('{ name = "hybla" }', '"bad.py"'))
    junit = tmp_path / "junit.xml"
    done = program("check", str(suite), "--json", "--junit", str(junit))
    assert done.returncode == 1
    found = {each["id"]: each for each in json.loads(done.stdout)["checks"]}
    assert found["limit"]["verdict"] == "ok"
    assert found["base"]["verdict"] == "worse"
    assert "my-aimd" in found["base"]["error"]
    assert ElementTree.parse(junit).getroot().find(".//testcase[@name='base']/error") is not None
    update = program("check", str(suite), "--update")
    assert update.returncode == 2  # no check is relative to the baseline


def test_json_junit_and_markdown(suite: Path, program: Program, tmp_path: Path) -> None:
    assert program("check", str(suite), "--update").returncode == 0
    edit(suite, ('min = "1 Mbit/s"', 'min = "20 Mbit/s"'))
    files = ["--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m.md")]
    done = program("check", str(suite), "--json", *files)
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert result["pass"] is False
    assert [each["verdict"] for each in result["checks"]] == ["worse", "ok"]
    assert {"id", "verdict", "baseline", "value", "ci95"} <= result["checks"][0].keys()
    cases = ElementTree.parse(tmp_path / "j.xml").getroot().findall("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [("bulk", "limit"), ("bulk", "base")]
    assert [case.find("failure") is not None for case in cases] == [True, False]
    text = (tmp_path / "m.md").read_text()
    assert text.startswith("<!-- fullpipe check: suite -->\n**fullpipe check: 1 of 2 got worse**"[:31])
    assert text.index("| limit |") < text.index("<details>") < text.index("| base |")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("seeds = 5", "seeds = 4", "seeds"),
        ("max_seeds = 10", "max_seeds = 10\nformat = 2", "format"),
        ("max_seeds = 10", "max_seeds = 4000", "max_seeds"),
        ('min = "1 Mbit/s"', 'min = "1 ms"', "checks[0].min"),
        ('min = "1 Mbit/s"', 'min = 1, max = 2', "checks[0].max"),
        ('min = "1 Mbit/s"', 'relative_to = "nobody"', "checks[0].relative_to"),
        ('"goodput_bps", min', '"goodput", min', "checks[0].metric"),
        ('controller = "mine"', 'controller = "yours"', "checks[1].controller"),
        ('scenario = "bulk", controller = "mine"', 'scenario = "b", controller = "mine"', "checks[1].scenario"),
        ('id = "base"', 'id = "limit"', "checks[1].id"),
        ('duration = "4 s"', 'duration = "4 m"', "scenarios[0].scenario.duration"),
        ('{ name = "hybla" }', '"none.py"', "controllers.mine"),
        ('{ name = "hybla" }', '{ name = "cubic", gamma = 1 }', "controllers.mine.gamma"),
    ],
)  # fmt: skip
def test_a_wrong_suite_is_one_line_with_file_and_key(
    suite: Path, program: Program, old: str, new: str, place: str
) -> None:
    edit(suite, (old, new))
    done = program("check", str(suite))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"{suite}: {place}: " in line


def test_a_metric_that_the_scenario_lacks_is_bad_input(suite: Path) -> None:
    edit(suite, ('"goodput_bps", min = "1 Mbit/s"', '"udp.p99_frame_delay_s", max = 1'), ("baseline", "newreno"))
    with pytest.raises(InputError, match=r"limit.*unknown metric"):
        fullpipe.check(suite)


def test_the_time_limit_ends_the_search_and_strict_counts_inconclusive(suite: Path, program: Program) -> None:
    # In 4 s, another steepness of the curve makes hardly any difference.
    check = '{ name = "cubic", c = 0.3 }'
    edit(
        suite,
        ('relative_to = "baseline"', 'relative_to = "cubic", worse_by = "0 %"'),
        ('{ name = "hybla" }', check),
        ("seeds = 5\n", 'seeds = 5\ntime_limit = "1 ms"\n'),
    )
    done = program("check", str(suite), "--json")
    result = json.loads(done.stdout)
    found = {each["id"]: each for each in result["checks"]}
    assert done.returncode == 0
    assert found["base"]["verdict"] == "inconclusive"
    assert found["base"]["seeds"] == 5
    assert any("time_limit" in note for note in result["notes"])
    assert "inconclusive" in done.stderr
    assert program("check", str(suite), "--strict").returncode == 1


def test_a_ratio_of_zeros_requires_a_floor(suite: Path) -> None:
    edit(
        suite, (", loss = 0.001", ""), ("0.5 BDP", "100 BDP"), ("baseline", "cubic"), ('{ name = "hybla" }', '"vegas"')
    )
    edit(suite, ('metric = "goodput_bps", relative_to', 'metric = "loss_rate", relative_to'))
    with pytest.raises(InputError, match="floor"):
        fullpipe.check(suite)
    edit(suite, ('relative_to = "cubic"', 'relative_to = "cubic", floor = 1e-4'))
    assert fullpipe.check(suite).passed


def test_flows_with_an_algorithm_keep_it_beside_flows_without(suite: Path) -> None:
    edit(suite, ('flows = [{ start = "0 s..1 s" }]', 'flows = [{ start = "0 s..1 s" }, { algorithm = "bbr" }]'))
    flows = Suite.load(suite).scenario(("bulk", "newreno")).to_dict()["flows"]
    assert [group["algorithm"] for group in flows] == ["newreno", "bbr"]


def test_a_suite_checks_the_rules_of_an_rfc(suite: Path) -> None:
    rules = [f'{{ id = "rules-{name}", controller = "{name}", conform = "rfc9438" }}' for name in ("cubic", "newreno")]
    edit(suite, ("checks = [", f"checks = [ {', '.join(rules)},"), ('relative_to = "baseline"', 'min = "1 Mbit/s"'))
    found = {each.id: each for each in fullpipe.check(suite).checks}
    assert found["rules-cubic"].verdict == "ok"
    assert found["rules-newreno"].verdict == "worse"
    assert "C15" in found["rules-newreno"].broken
    edit(suite, ('conform = "rfc9438" }', 'conform = "rfc", metric = "loss_rate" }'))
    with pytest.raises(InputError, match=r"checks\[0\]\.metric: conflicts with conform"):
        fullpipe.check(suite)


def test_known_failures_and_skipped_rules_are_named(suite: Path, program: Program, tmp_path: Path) -> None:
    """NewReno halves its window, so that C15 fails (RFC 9438, 4.6). C16 requires a cut that NewReno does not make."""
    broken = fullpipe.conform("newreno")
    known = broken.failed()
    assert "C15" in known
    edit(
        suite,
        ("checks = [", f'checks = [ {{ id = "rules", controller = "newreno", conform = "rfc9438", known = {known} }},'),
    )
    edit(suite, ('relative_to = "baseline"', 'min = "1 Mbit/s"'))
    files = ["--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m.md")]
    done = program("check", str(suite), "--json", *files)
    found = next(each for each in json.loads(done.stdout)["checks"] if each["id"] == "rules")
    assert (done.returncode, found["verdict"], found["broken"], found["known"]) == (0, "ok", [], known)
    reasons = {each.rule.id: each.reason for each in broken.rules if each.verdict == "skipped"}
    assert found["skipped"] == reasons
    assert list(reasons) == ["C16"]
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    shown = {
        case.get("name"): case.find("skipped") for case in root.iter("testcase") if case.get("classname") == "rules"
    }
    assert {name: part.get("message") for name, part in shown.items() if part is not None} == {
        **reasons,
        **dict.fromkeys(known, "fails as known"),
    }
    assert root.get("skipped") == str(len(reasons) + len(known))
    text = (tmp_path / "m.md").read_text()
    assert f"{', '.join(known)} fail as known" in text
    assert all(f"{rule}" in text and reason in text for rule, reason in reasons.items())

    edit(suite, (f"known = {known}", 'known = ["C03", "C15"]'))
    checks = fullpipe.check(suite)
    assert 'check rules: C03 pass; remove them from "known"' in checks.notes
    edit(suite, ('known = ["C03", "C15"]', 'known = ["C99"]'))
    with pytest.raises(InputError, match=r"checks\[0\]\.known: unknown rule 'C99'"):
        fullpipe.check(suite)


def run_pytest(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "fullpipe.pytest_plugin", "-p", "no:cacheprovider", "-v", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_pytest_makes_a_test_of_each_check(suite: Path) -> None:
    fullpipe.check(suite, update=True)
    edit(suite, ('min = "1 Mbit/s"', 'min = "20 Mbit/s"'))
    done = run_pytest("--fullpipe", "suite.toml", folder=suite.parent)
    assert done.returncode == 1
    assert "suite.toml::limit FAILED" in done.stdout
    assert "suite.toml::base PASSED" in done.stdout
    assert run_pytest("--fullpipe", "suite.toml", "-k", "base", folder=suite.parent).returncode == 0
    edit(suite, ("seeds = 5", "sed = 5"))
    assert run_pytest("--fullpipe", "suite.toml", folder=suite.parent).returncode == 4
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert declared == {"fullpipe": "fullpipe.pytest_plugin"}


def test_the_example_is_ok_and_its_baseline_fits(tmp_path: Path) -> None:
    assert fullpipe.check(ROOT / "examples/check/suite.toml", cache=tmp_path).passed


def test_the_schema_knows_the_keys_of_the_example() -> None:
    example = tomllib.loads((ROOT / "examples/check/suite.toml").read_text())
    made = schema()
    assert example.keys() <= made["properties"].keys()
    for check in example["checks"]:
        assert check.keys() <= made["$defs"]["checks"]["properties"].keys()
    assert made["properties"]["seeds"]["minimum"] == 5


def scripts_of_the_action() -> list[str]:
    text = (ROOT / ".github/actions/check/action.yml").read_text()
    return re.findall(r"run: \|\n(.*?)(?=\n    - |\Z)", text, re.DOTALL)


def stub(program: Path, script: str) -> None:
    """A program that appends its arguments to the file `calls`, one in each line."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> calls\n{script}\n')
    program.chmod(0o755)


def test_the_action_passes_its_inputs_to_options_of_the_command(tmp_path: Path) -> None:
    _, script, _ = scripts_of_the_action()
    stub(tmp_path / "fullpipe/bin/fullpipe", "exit 2")
    files = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    inputs = {"SUITE": "a b.toml", "BASELINE": "my baseline.json", "STRICT": "true", "RUNNER_TEMP": str(tmp_path)}
    environment = {**os.environ, **files, **inputs}
    done = subprocess.run(["bash", "-e", "-c", script], env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 2
    name, *arguments = (tmp_path / "calls").read_text().splitlines()
    assert name == "check"
    given = check_command.make_context("check", arguments).params
    assert {key: given[key] for key in ("suite", "baseline", "strict")} == {
        "suite": "a b.toml",
        "baseline": "my baseline.json",
        "strict": True,
    }
    assert Path(given["junit_file"]).parent == Path(given["markdown_file"]).parent == tmp_path


@pytest.mark.parametrize(
    ("old", "ends", "last"),
    [
        ("", "exit 0", ["POST", "repos/me/mine/issues/7/comments"]),
        ("12", "exit 0", ["PATCH", "repos/me/mine/issues/comments/12"]),
        ("", "case $* in *POST*) exit 1;; esac", ["POST", "repos/me/mine/issues/7/comments"]),
    ],
)
def test_the_action_writes_one_comment_and_may_fail_to(tmp_path: Path, old: str, ends: str, last: list[str]) -> None:
    *_, script = scripts_of_the_action()
    stub(tmp_path / "bin/gh", f'case $* in *--paginate*) echo "{old}";; esac\n{ends}')
    (tmp_path / "fullpipe.md").write_text("<!-- fullpipe check: suite -->\n**ok**\n")
    inputs = {"REPOSITORY": "me/mine", "PULL_REQUEST": "7", "RUNNER_TEMP": str(tmp_path)}
    environment = {**os.environ, **inputs, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[-4:-2] == last
    assert calls[-2:] == ["--field", f"body=@{tmp_path}/fullpipe.md"]
    assert ("::warning::" in done.stdout) == ("exit 1" in ends)


def test_the_script_of_the_action_writes_summary_and_junit(suite: Path, tmp_path: Path) -> None:
    _, script, _ = scripts_of_the_action()
    edit(suite, ('relative_to = "baseline"', 'max = "0.1 Mbit/s"'))
    temporary = tmp_path / "runner"
    (temporary / "fullpipe/bin").mkdir(parents=True)
    (temporary / "fullpipe/bin/fullpipe").symlink_to(Path(sys.executable).parent / "fullpipe")
    files = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    inputs = {"SUITE": str(suite), "BASELINE": "", "STRICT": "false", "RUNNER_TEMP": str(temporary)}
    done = subprocess.run(["bash", "-e", "-c", script], env={**os.environ, **files, **inputs}, check=False)
    assert done.returncode == 1
    assert "1 of 2 got worse" in (tmp_path / "summary").read_text()
    (junit,) = re.findall(r"junit=(.*)", (tmp_path / "output").read_text())
    assert ElementTree.parse(junit).getroot().get("failures") == "1"


def test_the_action_uses_no_other_action_and_no_secret() -> None:
    text = (ROOT / ".github/actions/check/action.yml").read_text()
    assert "uses:" not in text
    assert "secrets." not in text
    # Inputs reach scripts as environment variables alone: text in a script could be a command.
    scripts = scripts_of_the_action()
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)
