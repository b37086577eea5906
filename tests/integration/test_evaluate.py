"""``fullpipe evaluate``: the controls, both kinds of failure, the cache, and written files."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conftest import PROGRAM, Program
from fullpipe import Scenario
from fullpipe._util.display import Shown
from fullpipe.custom.arguments import load_algorithms
from fullpipe.engine import pool
from fullpipe.errors import InputError, ScenarioError
from fullpipe.experiments.evaluate import Card, Statement, evaluate, plan, running
from fullpipe.experiments.evaluate import card as card_module
from fullpipe.experiments.evaluate.cell import Beside, Cell, Setting
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.criteria import CRITERIA
from fullpipe.experiments.evaluate.judging import Compared, JudgedCell, corrected
from fullpipe.experiments.evaluate.page import card_page
from fullpipe.experiments.evaluate.preset import Party, mbps, ms
from fullpipe.experiments.evaluate.rules import Judgement
from fullpipe.runs import engines
from fullpipe.runs.measure import Row
from fullpipe.runs.store import Store

SMALL = ["iot", "overload"]
"""Cells that take milliseconds."""

RUN = ("cells_run", "cells_in_all", "settings_run", "settings_in_all")

UNITS = ("kbit/s", "Mbit/s", "Gbit/s", "ms", "BDP", "flows")

IGNORES_LOSS = {"name": "scalable", "a": 1, "b": 0, "low_window": 1}
"""It never gives way to a loss; its windows are held at 600 segments, about 4 BDP of `duel`."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared: the standards run once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The algorithms of the runs that are made, in place of those that the cache has."""
    real, seen = engines.run, []

    def run(scenario: Scenario, **options: Any) -> Any:
        seen.append(str(scenario.to_dict()["flows"][0]["algorithm"]))
        return real(scenario, **options)

    monkeypatch.setattr(engines, "run", run)
    return seen


def figure(card: Card, cell: str, name: str) -> dict[str, Any]:
    for criterion in card.data["criteria"]:
        for one in criterion["experiments"]:
            if one["id"] == cell:
                found: dict[str, Any] = one["figures"][name]
                return found
    raise AssertionError(cell)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize("name", ["newreno", "cubic"])
def test_a_standard_is_not_worse_than_the_standards(name: str, cache: Path) -> None:
    card = evaluate(name, only=["duel", "loss-30", "silence", "bbr1-zone"], cache=cache, seeds=3)
    assert card.worse == []


@pytest.mark.parametrize(("name", "addressed"), [("newreno", False), ("cubic", False), ("vegas", True)])
def test_bufferbloat_is_addressed_by_what_keeps_queues_short(name: str, addressed: bool, cache: Path) -> None:
    """RFC 9743, 5.1.2: Reno and CUBIC do not address it."""
    card = evaluate(name, only=["bloat"], cache=cache, seeds=3)
    (criterion,) = card.data["criteria"]
    assert criterion["addressed"] is addressed
    assert criterion["verdict"] == ("better" if addressed else "no worse")


def test_the_first_bbr_loses_too_much_in_short_buffers(cache: Path) -> None:
    """RFC 9743, 5.1.3: below about one and a half BDP, which later versions have mended."""
    first, third = (evaluate(name, only=["bbr1-zone"], cache=cache, seeds=6) for name in ("bbr", "bbr3"))
    lost = figure(first, "bbr1-zone", "2 flows, 0.5 BDP: Loss")
    assert lost["verdict"] == "worse"
    assert mean(lost["times_tcp"]["candidate"]) > 30
    assert 1 < mean(lost["times_tcp"]["cubic"]) < 3
    assert figure(first, "bbr1-zone", "2 flows, 2 BDP: Loss")["verdict"] == "no worse"
    lost = figure(third, "bbr1-zone", "2 flows, 0.5 BDP: Loss")
    assert (lost["verdict"], lost["of_rates"]) == ("no worse", True)
    assert mean(lost["times_tcp"]["candidate"]) < 10


def test_what_takes_more_is_told_from_what_takes_less(cache: Path) -> None:
    scalable = evaluate("scalable", only=["duel"], cache=cache, seeds=3)
    vegas = evaluate("vegas", only=["duel"], cache=cache, seeds=5)
    assert vegas.verdict("5.2.1") == "better"
    assert scalable.verdict("5.2.1") in ("worse", "inconclusive")
    # Measured before with another sender, at 0.1, 1 and 4 BDP: Scalable 0.60, 0.78, 0.87, Vegas 0.15, 0.03, 0.01.
    for buffer, more, less in (("0.1", 0.60, 0.15), ("1", 0.78, 0.03), ("4", 0.87, 0.01)):
        name = f"{buffer} BDP: Goodput harm to newreno"
        assert mean(figure(scalable, "duel", name)["candidate"]) > more - 0.1
        assert mean(figure(vegas, "duel", name)["candidate"]) < less + 0.1


def test_a_candidate_that_ignores_loss_is_worse(cache: Path) -> None:
    card = evaluate(
        IGNORES_LOSS,
        only=["loss-30", "overload", "bbr1-zone", "duel"],
        flow_keys={"max_window": 600, "initial_window": 600},
        cache=cache,
        seeds=3,
    )
    assert {"5.1.1", "5.1.3", "5.2.1"} <= set(card.worse)


def test_a_candidate_that_sends_a_packet_a_round_trip_is_better_to_others_and_worse_by_itself(cache: Path) -> None:
    card = evaluate("newreno", only=["duel", "grid"], flow_keys={"max_window": 1}, cache=cache, seeds=5)
    assert (card.verdict("5.2.1"), card.verdict("6.1")) == ("better", "worse")


def test_the_same_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    cards = [evaluate("bbr", only=SMALL, cache=tmp_path / name, workers=count) for name, count in (("a", 1), ("b", 3))]
    assert cards[0].to_json() == cards[1].to_json()


def test_what_was_run_is_not_run_again(tmp_path: Path, made: list[str]) -> None:
    evaluate("cubic", only=["iot"], cache=tmp_path)
    assert sorted(made) == ["cubic"] * 3 + ["newreno"] * 3  # it is its own standard
    made.clear()
    evaluate("bbr", only=["iot"], cache=tmp_path)
    assert made == ["bbr"] * 3
    made.clear()
    evaluate("bbr", only=["iot"], cache=tmp_path, seeds=4)
    assert sorted(made) == ["bbr", "cubic", "newreno"]


def test_what_was_killed_goes_on_and_gives_the_same_bytes(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "AHEAD", 1)  # the worker waits for the caller
    whole = evaluate("bbr", only=["iot"], cache=tmp_path / "whole").to_json()
    made.clear()

    def enough(done: float, _total: float) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("bbr", only=["iot"], cache=tmp_path / "killed", workers=1, progress=enough)
    first = len(made)
    assert evaluate("bbr", only=["iot"], cache=tmp_path / "killed").to_json() == whole
    # Progress counts the fraction of the run under way, which may be nearly all of it.
    assert 0 < len(made) - first <= 9 - 3


def test_a_plan_counts_what_a_card_runs(tmp_path: Path, made: list[str]) -> None:
    before = plan("bbr", only=["iot"], cache=tmp_path)
    assert (before.runs, before.kept, before.seeds, before.more_seeds) == (9, 0, 3, 13)
    assert before.packets == pytest.approx(9 * 1e6 / 1500)  # a transfer of 1 MB each
    assert made == []
    evaluate("bbr", only=["iot"], cache=tmp_path)
    assert len(made) == 9
    after = plan("bbr", only=["iot"], cache=tmp_path)
    assert (after.runs, after.kept, after.packets) == (9, 9, 0.0)
    assert plan("vegas", only=["iot"], cache=tmp_path).kept == 6  # the standards'
    # 120 s of 50 Mbit/s are 500,000 packets. A standard that is judged needs no further runs.
    long = plan("cubic", only=["grid"], seeds=2, cache=tmp_path)
    assert (long.runs, long.more_seeds, long.packets) == (4, 2, 4 * 500_000)
    (line,) = plan("cubic", only=["duel"], seeds=2, cache=tmp_path).shown()
    assert re.fullmatch(r"[\d,]+ runs of 2 seeds, 0 of them kept from before; .* about \d+ min", str(line))
    assert plan("bbr3", profile="full", cache=tmp_path).cpu_s > plan("bbr3", cache=tmp_path).cpu_s > 10


def test_a_word_says_of_how_much_it_is(cache: Path) -> None:
    """In cells and settings: of 5.1.1's four cells, with 1, 1, 1 and 4 settings, one is run here, and of it two."""
    card = evaluate("bbr", only=["overload", "cheat", "5.3.1"], cache=cache)
    lines = {one["id"]: one for one in card.data["criteria"]}
    assert [lines["5.1.1"][key] for key in RUN] == [1, 4, 2, 7]
    assert [lines["7.6"][key] for key in RUN] == [0, 1, 0, 0]
    assert not set(RUN) & set(lines["5.3.1"])
    (cell,) = lines["5.1.1"]["experiments"]
    assert (cell["settings_run"], cell["settings_in_all"]) == (2, 4)
    table, line = card.shown()
    assert isinstance(table, Shown)
    assert [row[3:5] for row in table.rows] == [("1 of 4", "2 of 7"), ("", ""), ("0 of 1", "")]
    page = card_page(card.data)
    assert "<small>1 of 4 test cases, 2 of 7 configurations</small>" in page
    assert "<small>2 of 4 configurations</small>" in page
    assert "<small>0 of 1 test case</small>" in page
    assert ", 3 seeds" in str(line)


def test_the_circuit_breakers_word_is_of_all_that_was_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [cell for cell in CELLS if cell.id in ("overload", "iot", "cheat", "burst")]
    monkeypatch.setattr(running, "CELLS", few)
    monkeypatch.setattr(card_module, "CELLS", few)
    card = evaluate("bbr", only=["7.2"], cache=cache)
    (line,) = [one for one in card.data["criteria"] if one["id"] == "7.2"]
    # The cheat has no settings, burst is not in this profile; overload has two of four.
    assert [line[key] for key in RUN] == [2, 3, 3, 6]


def test_the_circuit_breakers_worst_is_named_first() -> None:
    figures = {"first": 0.2, "second": 0.5, "third": 0.05}
    rows = [
        {
            "cell": cell,
            "setting": "here",
            "role": role,
            "other": role,
            "victim": "",
            "seed": 1,
            "worst_loss_rate": loss if role == "candidate" else 0,
        }
        for cell, loss in figures.items()
        for role in ("candidate", "newreno", "cubic")
    ]
    assert card_module._breaker(rows, "asked")["where"] == "second, here; 1 more"


def test_the_card_says_how_many_seeds_it_is_made_of(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evaluate("cubic", only=["iot"], cache=cache)
    assert (plain.data["seeds"], plain.data["most_seeds"]) == (3, 3)
    assert str(plain.shown()[1]).endswith(", 3 seeds")
    monkeypatch.setattr(running, "unclear", lambda *_: True)
    added = evaluate("cubic", only=["iot"], cache=cache)
    assert (added.data["seeds"], added.data["most_seeds"]) == (3, 13)
    assert str(added.shown()[1]).endswith(", 3 seeds, up to 13 where a verdict was inconclusive")
    assert "3 seeds, up to 13 where a verdict was inconclusive, simulator" in card_page(added.data)


def test_a_foreign_name_is_refused(cache: Path) -> None:
    with pytest.raises(ScenarioError, match="cubik"):
        evaluate("cubik", cache=cache)
    with pytest.raises(InputError, match=r"profile 'fast'"):
        evaluate("cubic", profile="fast", cache=cache)
    with pytest.raises(InputError, match=r"unknown section or test case '5.9'"):
        evaluate("cubic", only=["5.9"], cache=cache)
    with pytest.raises(InputError, match=r"seeds must be in \[2, 1000\], got 1"):
        evaluate("cubic", seeds=1, cache=cache)


def test_nothing_asked_for_is_not_everything(program: Program, cache: Path) -> None:
    with pytest.raises(InputError, match=r"only requires at least one section or test case"):
        evaluate("cubic", only=[], cache=cache)
    for empty in ("", " , "):
        done = program("evaluate", "cubic", "--only", empty, "--dry-run")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_runs_that_can_not_be_kept_are_made_all_the_same(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a writable cache, the card is unchanged, and one line reports that its runs are not cached."""
    whole = evaluate("bbr", only=["iot"], cache=tmp_path / "cache").to_json() + "\n"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = program("evaluate", "bbr", "--only", "iot", "--json")
    assert (done.returncode, done.stdout) == (0, whole)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fullpipe: runs are not kept for later: {tmp_path}/file/fullpipe/evaluate/")
    assert line.endswith(": Not a directory")
    planned = program("evaluate", "bbr", "--only", "iot", "--dry-run")
    assert (planned.returncode, planned.stderr.count("\n")) == (0, 1)


def test_a_damaged_cache_gives_the_same_card_and_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One byte in many places: an earlier cache ended every later card with a traceback, or changed one."""
    whole = evaluate("bbr", only=["iot"], cache=tmp_path).to_json()
    file, chance = tmp_path / "runs.sqlite", random.Random(5)
    data = file.read_bytes()
    for _ in range(12):
        damaged = bytearray(data)
        for _ in range(20):
            damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        caplog.clear()
        assert evaluate("bbr", only=["iot"], cache=tmp_path).to_json() == whole
        assert all(record.getMessage().count("\n") == 0 for record in caplog.records)


def test_rows_found_before_the_store_is_set_aside_stay_in_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may prove damaged between two looks at a row, and is empty at the second one."""
    whole = evaluate("bbr", only=["iot"], cache=tmp_path).to_json()
    find, seen = Store.find, set[bytes]()

    def find_once(store: Store, key: bytes) -> Row | None:
        if key in seen:
            return None
        seen.add(key)
        return find(store, key)

    monkeypatch.setattr(Store, "find", find_once)
    assert evaluate("bbr", only=["iot"], cache=tmp_path).to_json() == whole
    assert seen


def test_an_edited_constant_makes_another_card(tmp_path: Path) -> None:
    """The class itself stays as it is; the cache once took the runs of the earlier constant."""
    text = """
import fullpipe
KEEP = 0.5
@fullpipe.algorithm("kept-by-constant", recovery="newreno")
class Kept(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1 / w
    def decrease(self, w, flow, signal):
        return w * KEEP
"""
    file = tmp_path / "kept.py"
    cards = []
    for keep in ("0.5", "0.95", "0.5"):
        file.write_text(text.replace("KEEP = 0.5", f"KEEP = {keep}"))
        name = load_algorithms(str(file))
        cards.append(evaluate(name, only=["grid"], seeds=2, cache=tmp_path / "cache").to_json())
    assert cards[0] == cards[2] != cards[1]


def test_two_cards_at_once_share_a_cache(tmp_path: Path, program: Program) -> None:
    command = [PROGRAM, "evaluate", "bbr", "--only", "iot", "--json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0] == outputs[1] == program("evaluate", "bbr", "--only", "iot", "--json").stdout.encode()


def test_every_cell_is_a_scenario_and_every_criterion_has_a_cell_or_says_why() -> None:
    for cell in CELLS:
        assert bool(cell.settings) != bool(cell.missing)
        assert len({setting.name for setting in cell.settings}) == len(cell.settings)
        for setting in cell.settings:
            for tree in cell.roles(setting, Party("bbr3", "bbr3"), True).values():
                Scenario.from_dict(tree)
    judged = {section for cell in CELLS for section in cell.criteria}
    assert judged == {criterion.id for criterion in CRITERIA if not criterion.stated and criterion.id != "7.2"}
    assert len({cell.id for cell in CELLS}) == len(CELLS)


def network(cell: Cell, setting: Setting) -> str:
    """A scenario of a setting, as text."""
    return json.dumps(list(cell.roles(setting, Party("bbr3", "bbr3"), False).values())[-1])


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.settings], ids=lambda cell: cell.id)
def test_a_title_says_what_all_settings_have(cell: Cell) -> None:
    """A profile runs some of the configurations. A rate, RTT, buffer, or number of flows in the title applies to each
    of them. A property that differs between configurations is in their names.
    """
    said = cell.title.partition(":")[0].split(", ")
    found = {kind: [part for part in said if re.fullmatch(rf"[\d.]+ {kind}", part)] for kind in UNITS}
    for setting in cell.settings:
        text = network(cell, setting)
        rate_bps, rtt_s = 0.0, 0.0
        for kind, scale in (("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)):
            for part in found[kind]:
                rate_bps = float(part.split()[0]) * scale
                assert f'"{mbps(rate_bps)}"' in text, (setting.name, part)
        for part in found["ms"]:
            rtt_s = float(part.split()[0]) / 1e3
            assert f'"delay": "{ms(0.47 * rtt_s)}"' in text, (setting.name, part)
        for part in found["BDP"]:
            if rate_bps and rtt_s:
                packets = max(5, round(float(part.split()[0]) * rate_bps * rtt_s / 8 / 1500))
                assert f'"buffer": "{packets} packets"' in text, (setting.name, part)
        for part in found["flows"]:
            assert f'"count": {part.split()[0]},' in text, (setting.name, part)
    names = [setting.name.split(", ") for setting in cell.settings]
    for part in {part for name in names for part in name}:
        if not all(part in name for name in names):
            assert not re.search(rf"\b{re.escape(part)}\b", cell.title), part


def test_a_title_does_not_name_a_network_that_was_not_run() -> None:
    """In `quick` the cell `shallow` has 50 Mbit/s alone; its word must not be read as one of 1 Gbit/s."""
    cells = {cell.id: cell for cell in CELLS}
    assert "bit/s" not in cells["shallow"].title + cells["grid"].title + cells["duel"].title
    names = {name: [setting.name for setting in cells[name].settings] for name in ("shallow", "grid")}
    assert all("bit/s" in name for each in names.values() for name in each)


def test_all_roles_of_a_cell_have_the_same_network() -> None:
    for cell in CELLS:
        for setting in cell.settings:
            trees = list(cell.roles(setting, Party("bbr3", "bbr3"), True).values())
            links = [
                {key: value for key, value in tree.items() if key not in ("flows", "udp", "web")} for tree in trees
            ]
            assert all(one == links[0] for one in links), (cell.id, setting.name)


def compared(p: float, verdict: str = "worse", **given: Any) -> Compared:
    judgement = Judgement(verdict, "cubic", 0.1, 0.01, 0.05, p, 3)
    plain: dict[str, Any] = {"setting": "s", "metric": "m", "title": "t", "unit": "", "main": True}
    return Compared(**{**plain, "verdict": verdict, "candidate": [], "standards": {}, "judgement": judgement, **given})


def test_what_is_worse_by_chance_among_many_is_unclear() -> None:
    cell = next(cell for cell in CELLS if isinstance(cell, Beside))
    many = JudgedCell(cell, [compared(0.04), compared(1.0, "no worse")])
    (found,) = corrected([many])
    assert [(one.verdict, one.among_many) for one in found.compared] == [("inconclusive", True), ("no worse", False)]
    (found,) = corrected([JudgedCell(cell, [compared(0.02), compared(1.0, "no worse")])])
    assert found.verdict == "worse"
    (found,) = corrected([JudgedCell(cell, [compared(0.04, starved=True), compared(1.0, "no worse")])])
    assert found.verdict == "worse"
    # A metric without a verdict does not count among the many.
    (found,) = corrected([JudgedCell(cell, [compared(0.04), compared(1.0, "information")])])
    assert found.verdict == "worse"
    # Over all cells of a criterion.
    found, _ = corrected([JudgedCell(cell, [compared(0.04)]), JudgedCell(cell, [compared(1.0, "no worse")])])
    assert found.verdict == "inconclusive"


def test_other_figures_than_the_main_one_can_only_make_a_cell_worse() -> None:
    cell = CELLS[0]
    main = compared(1.0, "better")
    assert JudgedCell(cell, [main, compared(1.0, "no worse", main=False)]).verdict == "better"
    assert JudgedCell(cell, [main, compared(0.0, "worse", main=False)]).verdict == "worse"
    assert JudgedCell(cell, [main, compared(1.0, "inconclusive", main=False)]).verdict == "inconclusive"
    assert JudgedCell(cell, []).verdict == "not run"


def test_the_program(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = program("evaluate", "bbr", "--only", "iot,overload", "--json", "--out", "card")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["algorithm"], told["profile"], told["seeds"]) == ("bbr", "quick", 3)
    assert [one["id"] for one in told["criteria"]] == ["5.1.1", "7.4"]
    assert [cell["id"] for cell in told["criteria"][0]["experiments"]] == ["overload"]
    assert set(told["criteria"][0]["experiments"][0]) >= {"id", "verdict", "figures"}
    written = tmp_path / "card"
    assert json.loads((written / "card.json").read_text()) == told
    rows = pq.read_table(written / "runs.parquet").to_pylist()
    # Three settings, three roles, three seeds.
    assert len(rows) == 27
    assert {"criterion", "cell", "setting", "role", "seed", "loss_rate"} <= set(rows[0])
    assert {row["criterion"] for row in rows} == {"5.1.1", "7.4"}
    again = program("run", str(written / "scenarios" / "iot" / "1 MB" / "candidate.toml"), "--set", "seed=2", "--json")
    assert again.returncode == 0, again.stderr
    figures = json.loads(again.stdout)
    (row,) = [row for row in rows if (row["cell"], row["role"], row["seed"]) == ("iot", "candidate", 2)]
    assert figures["flows"][0]["completion_s"] == row["completion_s"]
    table = program("evaluate", "bbr", "--only", "iot,overload")
    assert "Internet of Things" in table.stdout
    planned = program("evaluate", "bbr", "--only", "iot,overload", "--dry-run", "--json")
    assert (json.loads(planned.stdout)["runs"], json.loads(planned.stdout)["kept"]) == (27, 27)


def test_a_table_of_parameters_is_an_algorithm(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = program("evaluate", '{ name = "vegas", alpha = 2 }', "--only", "iot", "--json")
    told = json.loads(done.stdout)
    assert "alpha" in told["algorithm"]
    # The card as the command prints it again.
    (criterion,) = told["criteria"]
    again = program(*shlex.split(criterion["experiments"][0]["command"])[1:], "--json")
    assert again.stdout == done.stdout, again.stderr
    card = evaluate({"name": "vegas", "alpha": 2}, only=["iot"], cache=tmp_path / "cache" / "fullpipe" / "evaluate")
    assert card.to_json() + "\n" == done.stdout
    of_two = json.loads(program("evaluate", "cubic", "--only", "iot", "--seeds", "2", "--json").stdout)
    command = of_two["criteria"][0]["experiments"][0]["command"]
    assert command == "fullpipe evaluate cubic --profile quick --seeds 2 --only iot"
    wrong = program("evaluate", "{ name = ", "--only", "iot")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1


def test_strict_is_for_scripts(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # BBR sends several times as much as CUBIC where 30 % of packets are lost.
    assert program("evaluate", "bbr", "--only", "loss-30").returncode == 0
    assert program("evaluate", "bbr", "--only", "loss-30", "--strict").returncode == 1
    assert program("evaluate", "cubic", "--only", "loss-30", "--strict").returncode == 0


def test_a_statement_answers_what_no_run_can(tmp_path: Path, program: Program) -> None:
    file = tmp_path / "said.toml"
    file.write_text('excludes = ["7.4"]\n[statements]\n"5.3.1" = "None <deviates>."\n')
    card = evaluate("cubic", cache=tmp_path / "cache", only=["7.4"], statement=Statement.load(file))
    assert card.verdict("7.4") == "not applicable"
    for text, wrong in (
        ('excludes = ["6.1"]', "excludes: unknown section '6.1'; did you mean '7.1'? (allowed: 7.1"),
        ('[statements]\n"7.1" = "x"', "statements: unknown section '7.1'"),
        ("exclude = []", "unknown key 'exclude'; did you mean 'excludes'? (allowed: statements, excludes)"),
        ('[statements]\n"8" = ""', "statements.8: must be a text, got"),
    ):
        file.write_text(text)
        done = program("evaluate", "cubic", "--only", "iot", "--statement", "said.toml")
        assert (done.returncode, wrong in done.stderr) == (2, True), done.stderr


OWN = """
import fullpipe

@fullpipe.algorithm("mine")
class Mine(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return {gain} / w

    def decrease(self, w, flow, signal):
        return w / 2
"""


def test_an_algorithm_of_ones_own(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cards = []
    for gain in (1.0, 5.0, 1.0):
        (tmp_path / "mine.py").write_text(OWN.format(gain=gain))
        done = program("evaluate", "mine.py", "--only", "iot", "--seeds", "2", "--json")
        assert done.returncode == 0, done.stderr
        cards.append(json.loads(done.stdout))
    assert cards[0]["algorithm"] == "mine"
    assert cards[0]["criteria"][0]["experiments"][0]["command"].startswith("fullpipe evaluate mine.py ")
    # Runs of another source are not reused.
    assert cards[0] == cards[2] != cards[1]
