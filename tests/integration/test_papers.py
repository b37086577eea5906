"""Reproduction: measured and published values, and checks that can fail."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Program
from fullpipe import Scenario, run, run_many
from fullpipe.engine.tables import to_list
from fullpipe.errors import InputError
from fullpipe.linux.errors import LinuxError
from fullpipe.papers import PAPERS, items, select
from fullpipe.reproduce import Item, Outcome, reproduce, reproduce_all
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import citation, expected, notes, shorter
from test_sweep import rows_of

QUICK = {"duration": "60 s", "warmup": "30 s"}


def test_table_1_of_hyun_and_jang(program: Program, tmp_path: Path) -> None:
    done = program("reproduce", "hyun-jang/table-1", "--json", "--out", "out")
    (item,) = json.loads(done.stdout)["items"]
    assert (item["id"], item["pass"], done.returncode) == ("hyun-jang/table-1", True, 0)
    assert item["wall_s"] > 0
    for check in item["checks"]:
        assert {"name", "published", "measured", "tolerance", "pass"} <= check.keys()
        ratio = check["measured"] / check["published"]
        if check["tolerance"] is None:
            assert check["pass"] is (1 / check["within_factor"] <= ratio <= check["within_factor"])
        else:
            assert check["pass"] is (abs(check["measured"] - check["published"]) <= check["tolerance"])
    # Table 1, typed in again from the paper.
    tables = {
        "reno": ([0.830, 0.891, 0.963, 0.992], 0.010),
        "proposed": ([0.995, 0.997, 0.999, 0.999], 0.005),
    }
    by_name = {check["name"]: check for check in item["checks"]}
    for scheme, (values, tolerance) in tables.items():
        for k, value in zip(("1/8", "1/4", "1/2", "3/4"), values, strict=True):
            check = by_name[f"utilization, {scheme}, k={k}"]
            assert (check["published"], check["tolerance"]) == (value, tolerance)
    folder = tmp_path / "out/hyun-jang/table-1"
    assert (folder / "table-1.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "table-1.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((folder / "item.json").read_text()) == item
    used = json.loads((folder / "reno-k-1-8/result.json").read_text())["links"][0]["utilization"]
    assert by_name["utilization, reno, k=1/8"]["measured"] == used


@pytest.fixture(scope="module")
def shortened() -> Outcome:
    """Table 1 from runs too short to reach the full pipe: its figures can't match."""
    (item,) = select("hyun-jang/table-1")
    scenarios = {name: scenario.replace(**QUICK) for name, scenario in item.scenarios().items()}
    return reproduce(replace(item, scenarios=lambda: scenarios))


def test_wrong_figures_miss(shortened: Outcome) -> None:
    assert not shortened.passed
    assert shortened.to_dict()["pass"] is False


def exactly(figures: Mapping[str, float], item: str) -> list[dict[str, Any]]:
    """Expected values, as if the paper printed the measured ones: within 0.010, or exactly if the value is less than
    that.
    """
    names = [entry["name"] for entry in expected(item)]
    return [
        {**VALUE, "name": name, "published": figures[name], "tolerance": 0.010 if abs(figures[name]) > 0.010 else 0.0}
        for name in names
    ]


def test_a_corrupted_published_value_misses(shortened: Outcome) -> None:
    exact = exactly(shortened.values, "hyun-jang/table-1")
    assert all(check.passed for check in judge(shortened.values, exact))
    exact[0]["published"] += 0.0101
    assert [check.passed for check in judge(shortened.values, exact)] == [False] + [True] * (len(exact) - 1)


def test_the_proposed_scheme_without_extra_misses() -> None:
    (item,) = select("hyun-jang/table-1")
    reno = run_many({name: scenario for name, scenario in item.scenarios().items() if name.startswith("reno")})
    broken = {name.replace("reno", "proposed"): result for name, result in reno.items()}
    checks = judge(item.measure({**reno, **broken}).values, expected(item.id))
    missed = {check.name for check in checks if not check.passed}
    assert {f"utilization, proposed, k={k}" for k in ("1/8", "1/4", "1/2", "3/4")} <= missed
    assert not any(name.startswith("utilization, reno") for name in missed)


VALUE = {"name": "x", "published": 1.0, "tolerance": 0.1, "origin": "", "reason": ""}
SHAPE = {"name": "s", "origin": "", "reason": ""}


def test_a_figure_that_is_no_number_misses() -> None:
    (value,) = judge({"x": math.nan}, [VALUE])
    assert (value.passed, value.status, value.to_dict()["measured"]) == (False, "fail", None)
    for shape in ({"shape": "rising"}, {"shape": "bounds", "at_least": 0.0}):
        (check,) = judge({"a": 1.0, "b": math.nan}, [{**SHAPE, **shape, "figures": ["*"]}])
        assert (check.status, check.to_dict()["measured"]) == ("fail", None)


def test_every_figure_needs_its_check_and_every_check_its_figure() -> None:
    for measured in ({}, {"x": 1.0, "y": 1.0}, {"y": 1.0}):
        with pytest.raises(KeyError, match=r"check|measured"):
            judge(measured, [VALUE])


@pytest.mark.parametrize(
    ("shape", "good", "bad", "measured"),
    [
        ({"shape": "rising", "figures": ["a", "b", "c"]}, (1, 2, 3), (1, 2, 1.9), -0.1),
        ({"shape": "rising", "figures": ["a", "b", "c"], "margin": 1.0}, (1, 2, 3), (1, 2, 2.5), 0.5),
        ({"shape": "rising", "figures": ["a", "b", "c"], "margin": -0.5}, (1, 0.5, 3), (1, 0.4, 3), -0.6),
        ({"shape": "falling", "figures": ["*"]}, (3, 2, 1), (3, 2, 2.5), -0.5),
        ({"shape": "below", "figures": ["a"], "than": ["b"], "margin": 0.2}, (1, 1.2, 0), (1, 1.1, 0), 0.1),
        ({"shape": "below", "figures": ["a"], "than": ["b", "c"]}, (1, 1.5, 2), (1, 1.5, 0.75), -0.25),
        ({"shape": "bounds", "figures": ["*"], "at_least": 1.0, "at_most": 2.0}, (1, 2, 1.5), (1.5, 2.5, 1), 2.5),
        ({"shape": "bounds", "figures": ["*"], "at_least": 1.0}, (1, 2, 1e9), (2, 0.75, 3), 0.75),
    ],
)
def test_shapes(shape: dict[str, object], good: tuple[float, ...], bad: tuple[float, ...], measured: float) -> None:
    rest = {**SHAPE, "name": "rest", "shape": "bounds", "figures": ["*"], "at_most": 1e9}
    passes, _ = judge(dict(zip("abc", good, strict=True)), [{**SHAPE, **shape}, rest])
    assert (passes.status, passes.to_dict()["required"]) == ("pass", passes.required)  # type: ignore[attr-defined]
    fails, _ = judge(dict(zip("abc", bad, strict=True)), [{**SHAPE, **shape}, rest])
    assert fails.status == "fail"
    assert fails.to_dict()["measured"] == pytest.approx(measured)


@pytest.mark.parametrize(
    "entry",
    [
        {"shape": "rising", "figures": ["a"]},
        {"shape": "bounds", "figures": ["a"]},
        {"shape": "below", "figures": ["a"]},
        {"shape": "below", "figures": ["a", "b"], "than": ["*"]},
        {"shape": "rising", "figures": ["a", "b"], "at_least": 1.0},
        {"shape": "sideways", "figures": ["a", "b"]},
        {"shape": "rising", "figures": ["a", "b"], "miss": "unknown size"},
        {"shape": "rising", "figures": ["a", "b"], "miss_within": 1.0},
    ],
)
def test_an_expectation_that_judges_nothing_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="s: "):
        judge({"a": 1.0, "b": 2.0, "c": 3.0}, [{**SHAPE, **entry}])


def test_a_known_miss_is_no_pass_and_has_its_limit() -> None:
    known = {**VALUE, "miss": "the paper does not say", "miss_within": 0.3}
    shape = {**SHAPE, "shape": "bounds", "figures": ["x"], "at_most": 1.1, "miss": "likewise", "miss_within": 0.2}
    for measured, status in ((1.05, "pass"), (1.25, "documented miss"), (1.35, "fail")):
        for check in judge({"x": measured}, [known, shape]):
            assert (check.status, check.passed) == (status, status == "pass")
            assert check.to_dict()["miss"] == check.miss


def test_every_item_belongs_to_its_paper_and_has_checks() -> None:
    for paper in PAPERS:
        assert citation(paper)
        for item in items(paper):
            assert item.id.startswith(f"{paper}/")
            assert notes(item.id).keys() == {"deviations", "reading"}
            for quick in (False, True):
                assert all(entry["reason"] and entry["origin"] for entry in expected(item.id, quick=quick))
            assert item.variant(False)[1] == ""
            assert item.quick is None or item.quick.how
    assert [item.id for item in select(None)] == [item.id for paper in PAPERS for item in items(paper)]


def test_an_item_without_a_check_is_refused() -> None:
    with pytest.raises(KeyError, match="requires a check"):
        expected("hyun-jang/table-7")


@pytest.fixture
def tiny() -> Item:
    """Table 1 from runs of a few milliseconds."""
    (item,) = select("hyun-jang/table-1")
    return replace(item, quick=shorter(item.scenarios, "0.5 s instead of 400 s", duration="0.5 s", warmup="0.2 s"))


def played_by_the_simulator(scenario: Scenario) -> dict[str, Any]:
    """Report of the virtual machine."""
    result = run(scenario)
    names = ("links", "flows", "traffic", "series", "link_series")
    tables = {name: {key: to_list(column) for key, column in result.columns(name).items()} for name in names}
    return {**tables, "totals": result.totals}


def test_what_is_finished_is_kept_and_what_has_changed_is_not(tiny: Item, tmp_path: Path) -> None:
    def again(item: Item, quick: bool = True) -> Outcome:
        (outcome,) = reproduce_all([item], quick=quick, out=tmp_path)
        return outcome

    first, second = again(tiny), again(tiny)
    assert (first.kept, second.kept) == (False, True)
    assert first.shortened == "0.5 s instead of 400 s"
    assert {**first.to_dict()} == {**second.to_dict()}
    assert (tmp_path / tiny.id / "table-1.svg").exists()
    other = replace(tiny, quick=shorter(tiny.scenarios, "0.6 s", duration="0.6 s", warmup="0.2 s"))
    assert not again(other).kept
    assert again(other).kept
    assert not again(tiny).kept
    (tmp_path / tiny.id / "item.json").write_text("{")
    assert not again(tiny).kept
    as_full = replace(tiny, scenarios=tiny.variant(True)[0].copy)  # type: ignore[attr-defined]
    assert not again(as_full, quick=False).kept


OPTIONS = {
    ("simulator", None): "quick",
    ("linux", None): "engine linux",
    ("linux", "other"): "engine linux --kernel other",
}


def test_another_build_or_kernel_makes_an_item_run_again(
    tiny: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(build: str, newest: str = "6.1", engine: str = "simulator", kernel: str | None = None) -> bool:
        monkeypatch.setattr("fullpipe.reproduce.record.build_fingerprint", lambda: build)
        monkeypatch.setattr("fullpipe.linux.fingerprint", lambda asked: build + (asked or newest))
        (outcome,) = reproduce_all([item], quick=True, out=tmp_path / engine, engine=engine, kernel=kernel)
        assert outcome.command == f"fullpipe reproduce {item.id} --{OPTIONS[engine, kernel]}"
        return outcome.kept

    def guest(scenario: Scenario, *_: object, **__: object) -> dict[str, Any]:
        return played_by_the_simulator(scenario)

    monkeypatch.setattr("fullpipe.linux.run", guest)
    item = replace(tiny, linux=tiny.quick)
    assert [kept("one"), kept("one"), kept("other"), kept("other", "6.12")] == [False, True, False, True]
    on_linux = [
        kept(build, newest, "linux") for build, newest in (("a", "6.1"), ("a", "6.1"), ("b", "6.1"), ("b", "7"))
    ]
    assert on_linux == [False, True, False, False]
    assert [kept("b", "7", "linux", kernel) for kernel in ("other", "other", None)] == [False, True, False]


def test_what_is_kept_is_judged_anew(tiny: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = reproduce_all([tiny], quick=True, out=tmp_path)
    name = first.checks[0].name
    exact = exactly(first.values, tiny.id)
    monkeypatch.setattr("fullpipe.reproduce.record.expected", lambda *_, **__: exact)
    (second,) = reproduce_all([tiny], quick=True, out=tmp_path)
    assert (second.kept, second.status) == (True, "pass")
    exact[0]["published"] += 1.0
    (third,) = reproduce_all([tiny], quick=True, out=tmp_path)
    assert [check.name for check in third.checks if not check.passed] == [name]


def test_item_directory_that_is_a_link_is_refused_before_the_runs(tiny: Item, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    link = tmp_path / f"out/{tiny.id}"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="symbolic link"):
        next(iter(reproduce_all([tiny], quick=True, out=tmp_path / "out")))
    assert list((tmp_path / "outside").iterdir()) == []


def test_single_runs_are_kept_until_their_item_is_done(
    tiny: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest is played by the simulator, and fails at the third run of the first attempt."""
    asked: list[Scenario] = []
    fails_at = 3

    def guest(scenario: Scenario, *_: object, **__: object) -> dict[str, Any]:
        asked.append(scenario)
        if len(asked) == fails_at:
            raise LinuxError("the virtual machine was killed")
        return played_by_the_simulator(scenario)

    def attempt() -> Outcome:
        (outcome,) = reproduce_all([item], out=tmp_path, workers=1, engine="linux")
        return outcome

    monkeypatch.setattr("fullpipe.linux.run", guest)
    monkeypatch.setattr("fullpipe.linux.fingerprint", lambda _: "this kernel")
    item = replace(tiny, linux=tiny.quick)
    with pytest.raises(LinuxError, match="killed"):
        attempt()
    finished = rows_of(tmp_path / ".fullpipe-runs/runs.sqlite")
    assert finished >= 2
    asked, fails_at = [], 0
    outcome = attempt()
    assert len(asked) == len(outcome.scenarios) - finished
    assert outcome.values == reproduce(item, quick=True).values
    assert not (tmp_path / ".fullpipe-runs").exists()


def test_list_runs_nothing(program: Program) -> None:
    done = program("reproduce", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "hyun-jang/table-1" in done.stdout
