"""`fullpipe evaluate --engine linux`: the kernel's column of the card. The simulator replaces the kernel, except for
one card, whose virtual machine takes minutes.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Program
from fullpipe import Scenario
from fullpipe.errors import ScenarioError
from fullpipe.experiments.evaluate import Card, beside_linux, evaluate, measure, plan, running
from fullpipe.experiments.evaluate.beside_linux import as_run, on_linux, turned
from fullpipe.experiments.evaluate.cell import Setting
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.page import card_page
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.linux import job, machine, programs
from fullpipe.linux.errors import LinuxError
from fullpipe.linux.plan import Plan
from fullpipe.runs import engines, runner

TREE = dict[str, Any]


class Guest:
    """Replacement of the Linux engine: runs a shorter scenario in the simulator, as `for_linux` left it."""

    def __init__(self) -> None:
        self.ran: list[TREE] = []
        self.fails: Callable[[TREE], bool] = lambda _: False
        self.real = engines.run

    def run(self, scenario: Scenario, *, engine: str = "simulator", **options: Any) -> Any:
        tree = scenario.to_dict()
        if engine != "linux":
            return self.real(tree, **options)
        assert all("processing_time" not in group for group in tree["flows"])
        options["progress"](12.5, 25.0)
        if self.fails(tree):
            raise LinuxError("the virtual machine was killed (SIGKILL) after 3 s")
        self.ran.append(tree)
        return self.real({**tree, "duration": "25 s"}, **options)


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Guest:
    found = Guest()
    monkeypatch.setattr(engines, "run", found.run)
    monkeypatch.setattr(beside_linux, "check", lambda trees: [*trees] and "linux-image-6.1.0-test")
    monkeypatch.setattr(beside_linux, "stamp", lambda: "linux 6.1.0-test")
    return found


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def figure(card: Card, cell: str, name: str) -> dict[str, Any]:
    cells = [one for criterion in card.data["criteria"] for one in criterion["experiments"] if one["id"] == cell]
    found: dict[str, Any] = cells[0]["figures"][name]
    return found


def test_a_real_kernel_stands_beside_and_gives_no_word(tmp_path: Path, guest: Guest) -> None:
    plain = evaluate("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path)
    assert guest.ran == []
    beside = evaluate("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path, engine="linux")
    # Both standards, of which the candidate is one, in the two buffers of the quick profile, two seeds each.
    assert len(guest.ran) == 2 * 2 * 2
    one = figure(beside, "bloat", "10 BDP: p50 queueing delay")
    assert len(one["linux"]["candidate"]) == 2
    assert one["linux"]["candidate"] == one["linux"]["cubic"] != one["candidate"]
    assert "linux" not in figure(beside, "iot", "1 MB: Completion")
    kernel = beside.data["linux"]
    assert kernel["kernel"] == "linux-image-6.1.0-test"
    assert (kernel["seeds"], kernel["settings"], kernel["failed_runs"]) == (2, 2, 0)
    assert "linux" not in plain.data
    bare = copy.deepcopy(beside.data)
    del bare["linux"]
    for criterion in bare["criteria"]:
        for cell in criterion["experiments"]:
            cell["command"] = cell["command"].replace(" --engine linux", "")
            for each in cell["figures"].values():
                each.pop("linux", None)
    assert bare == plain.data
    # Equal seeds and an equal virtual machine give equal bytes, and nothing is run again.
    guest.ran.clear()
    again = evaluate("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path, engine="linux")
    assert (again.to_json(), guest.ran) == (beside.to_json(), [])


@pytest.mark.usefixtures("guest")
def test_what_the_kernel_does_not_tell_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = measure.metrics

    def measured(result: Any) -> Any:
        row = real(result)
        # The guest's runs are those that end early.
        return {**row, "p50_queueing_delay_s": None} if result.scenario.duration_s == 25 else row

    monkeypatch.setattr(measure, "metrics", measured)
    card = evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path, engine="linux")
    assert figure(card, "bloat", "10 BDP: p50 queueing delay")["linux"] == {}
    assert figure(card, "bloat", "10 BDP: Mean RTT")["linux"]["newreno"][0] > 0
    page = card_page(card.data)
    assert page.count("On Linux: unknown, because the kernel does not report it.") == 2
    assert '<th scope="col">Linux, 2 seeds</th>' in page
    assert "Mean RTT (ms): mean over the seeds (minimum to maximum)" in page
    assert "Linux 6.1.0-test in a virtual machine, 2 seeds in 2 configurations" in page


def test_one_beside_another_is_one_run(tmp_path: Path, guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Harm to CUBIC versus NewReno comes from the run in which NewReno is the victim, and the other way around."""
    monkeypatch.setattr(running, "LINUX_SEEDS", 1)
    card = evaluate("cubic", only=["duel"], seeds=2, cache=tmp_path, engine="linux")
    pairs = [[group["algorithm"] for group in tree["flows"]] for tree in guest.ran if "600 packets" not in str(tree)]
    in_one_buffer = [["newreno"], ["cubic"], ["newreno", "newreno"], ["cubic", "newreno"], ["cubic", "cubic"]]
    assert sorted(pairs) == sorted(in_one_buffer * 3)
    rows = {}
    for tree in guest.ran:
        if tree["links"][0]["buffer"] == "125 packets":
            names = tuple(group["algorithm"] for group in tree["flows"])
            rows[names] = guest.real({**tree, "duration": "25 s"}).to_dict()
    beside = {group["name"]: group["goodput_bps"] for group in rows["cubic", "newreno"]["groups"]}
    alone = {names[0]: rows[names]["groups"][0]["goodput_bps"] for names in rows if len(names) == 1}
    for victim, standard, group in (("cubic", "newreno", "victim"), ("newreno", "cubic", "other")):
        harm = figure(card, "duel", f"1 BDP: Goodput harm to {victim}")["linux"][standard]
        assert harm == [pytest.approx(max(0.0, 1 - beside[group] / alone[victim]), rel=1e-5)]
        share = figure(card, "duel", f"1 BDP: Goodput harm to {victim}")["linux_shares"][standard]
        assert share == pytest.approx(beside[group] / 25e6, rel=1e-5)


def test_figures_change_sides() -> None:
    row = {"utilization": 0.9, "victim.p95_rtt_s": 0.1, "other.p95_rtt_s": 0.2, "udp.loss_rate": 0.3}
    assert turned(row) == {"utilization": 0.9, "other.p95_rtt_s": 0.1, "victim.p95_rtt_s": 0.2, "udp.loss_rate": 0.3}
    groups = [{"name": name, "algorithm": algorithm} for name, algorithm in (("victim", "newreno"), ("other", "bic"))]
    tree, turn = as_run({"flows": groups})
    assert (turn, tree["flows"]) == (
        True,
        [{"name": "victim", "algorithm": "bic"}, {"name": "other", "algorithm": "newreno"}],
    )
    assert as_run(tree) == (tree, False)
    assert as_run({"flows": groups[:1]}) == ({"flows": groups[:1]}, False)


def test_a_machine_that_fails_takes_its_own_run_alone(tmp_path: Path, guest: Guest) -> None:
    guest.fails = lambda tree: (tree["flows"][0]["algorithm"], tree["seed"]) == ("newreno", 1)
    card = evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path, engine="linux")
    one = figure(card, "bloat", "1 BDP: Mean RTT")["linux"]
    assert one["newreno"][0] is None
    assert one["newreno"][1] > 0
    assert None not in one["cubic"]
    assert card.data["linux"]["failed_runs"] == 2
    said = "2 of its runs failed, and are missing: the virtual machine was killed (SIGKILL) after 3 s."
    assert said in card_page(card.data)
    assert any(said in str(line) for line in card.shown())
    guest.ran.clear()
    guest.fails = lambda _: False
    whole = evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path, engine="linux")
    # Failed runs were not cached.
    assert [(tree["flows"][0]["algorithm"], tree["seed"]) for tree in guest.ran] == [("newreno", 1)] * 2
    assert whole.data["linux"]["failed_runs"] == 0


def test_where_no_machine_ends_there_is_no_card(tmp_path: Path, guest: Guest) -> None:
    guest.fails = lambda _: True
    with pytest.raises(LinuxError, match="was killed"):
        evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path, engine="linux")


def test_an_interrupted_column_goes_on_and_progress_moves_within_a_run(tmp_path: Path, guest: Guest) -> None:
    whole = evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path / "whole", engine="linux").to_json()
    guest.ran.clear()
    told: list[tuple[float, float]] = []

    def enough(done: float, total: float) -> None:
        told.append((done, total))
        if total == 8 and done >= 3 and len(guest.ran) >= 3:
            raise KeyboardInterrupt

    killed = tmp_path / "killed"
    evaluate("cubic", only=["bloat"], seeds=2, cache=killed)
    with pytest.raises(KeyboardInterrupt):
        evaluate("cubic", only=["bloat"], seeds=2, cache=killed, engine="linux", workers=1, progress=enough)
    first = len(guest.ran)
    assert 3 <= first < 8
    again = evaluate("cubic", only=["bloat"], seeds=2, cache=killed, engine="linux")
    assert again.to_json() == whole
    assert len(guest.ran) - first <= 8 - 3
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_what_the_kernel_lacks_is_said_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    seen: list[Any] = []
    monkeypatch.setattr(engines, "run", seen.append)
    for name, said in (("copa", "copa is neither in Linux"), ({"name": "cubic", "c": 0.5}, "must be 0.4 in Linux")):
        with pytest.raises(ScenarioError, match=f"{said}.*; the card has no column for Linux"):
            evaluate(name, only=["bloat"], cache=tmp_path, engine="linux")
        with pytest.raises(ScenarioError, match=f"{said}.*; the card has no column for Linux"):
            plan(name, only=["bloat"], cache=tmp_path, engine="linux")
    assert seen == []
    done = program("evaluate", "copa", "--only", "bloat", "--engine", "linux")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.usefixtures("guest")
def test_a_plan_counts_the_kernels_runs(tmp_path: Path) -> None:
    assert plan("cubic", only=["bloat"], seeds=2, cache=tmp_path).linux_runs == 0
    before = plan("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path, engine="linux")
    assert (before.linux_runs, before.linux_kept) == (8, 0)
    assert before.linux_packets == 8 * 500_000
    lines = [str(line) for line in before.shown()]
    assert re.fullmatch(r"on Linux 8 runs, 0 of them kept from before; the others take .* about \d+ min", lines[1])
    evaluate("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path, engine="linux")
    after = plan("cubic", only=["bloat", "iot"], seeds=2, cache=tmp_path, engine="linux")
    assert (after.linux_runs, after.linux_kept, after.linux_cpu_s) == (8, 8, 0.0)


def test_what_a_kernel_measured_outlives_the_simulator(
    tmp_path: Path, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new build of the engine runs its own half again and not the kernel's, which is run again if the guest is asked
    for something else.
    """

    def runs() -> tuple[int, int]:
        guest.ran.clear()
        here: list[TREE] = []
        simulated = guest.real

        def real(tree: TREE, **options: Any) -> Any:
            here.append(tree)
            return simulated(tree, **options)

        with monkeypatch.context() as patch:
            patch.setattr(guest, "real", real)
            evaluate("cubic", only=["bloat"], seeds=2, cache=tmp_path, engine="linux")
        return len(here) - len(guest.ran), len(guest.ran)

    simulated, on_kernel = runs()
    assert simulated > 0
    assert on_kernel > 0
    assert runs() == (0, 0)
    monkeypatch.setattr(runner, "build_fingerprint", lambda: "another engine")
    assert runs() == (simulated, 0)
    planned = Plan.of
    monkeypatch.setattr(Plan, "of", lambda scenario: replace(planned(scenario), packet_bytes=1001))
    assert runs() == (0, on_kernel)
    monkeypatch.setattr(beside_linux, "stamp", lambda: "linux 6.1.0-another")
    assert runs() == (0, on_kernel)


def test_a_card_without_such_cells_says_that_no_kernel_ran(tmp_path: Path, guest: Guest) -> None:
    card = evaluate("cubic", only=["iot"], seeds=2, cache=tmp_path, engine="linux")
    assert guest.ran == []
    assert "This card has no such test case" in card_page(card.data)


def test_what_goes_to_the_kernel_is_what_it_can_do() -> None:
    found = set()
    for cell in CELLS:
        for setting in cell.settings:
            if on_linux(cell, setting):
                found.add(cell.id)
                for tree in cell.roles(setting, Party("vegas", "vegas"), False).values():
                    planned = Plan.of(Scenario.from_dict(as_run(tree)[0]))
                    job.check(planned)
                    assert all(link.rate_bps <= 50e6 for link in planned.links)
    assert found == {"duel", "bloat", "shallow"}


@pytest.mark.slow_linux
@pytest.mark.skipif(
    shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
    reason="needs qemu-system-x86 and `make linux-objects`",
)
def test_a_shortened_column_of_a_real_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bloat, a duel and shallow at 5 Mbit/s for half a minute: over a BDP of buffer and more both engines leave nothing
    idle, and RTTs are as long as the packets in the buffer take.
    """

    def shorter(tree: TREE) -> TREE:
        (link,) = tree["links"]
        return {**tree, "duration": "35 s", "warmup": "15 s", "links": [{**link, "rate": "5 Mbit/s"}]}

    def short(setting: Setting) -> Setting:
        return replace(setting, tree=lambda *parties: shorter(setting.tree(*parties)), equal_bps=2.5e6)

    wanted = {"bloat": ("1 BDP", "10 BDP"), "duel": ("1 BDP",), "shallow": ("10 flows, 50 Mbit/s",)}
    cells = [
        replace(cell, settings=[short(one) for one in cell.settings if one.name in wanted[cell.id]])
        for cell in CELLS
        if cell.id in wanted
    ]
    monkeypatch.setattr(running, "CELLS", cells)
    monkeypatch.setattr(running, "LINUX_SEEDS", 1)
    cache = tmp_path / "cache"
    card = evaluate("bbr", only=list(wanted), profile="standard", seeds=2, cache=cache, engine="linux", workers=1)
    card.save(tmp_path / "card")
    assert card.data["linux"]["failed_runs"] == 0
    assert card.data["linux"]["settings"] == 4
    for buffer in ("1 BDP", "10 BDP"):
        used = figure(card, "bloat", f"{buffer}: Utilization")
        for role in ("candidate", "newreno", "cubic"):
            assert used["linux"][role] == [pytest.approx(mean(used[role]), abs=5)]
        assert figure(card, "bloat", f"{buffer}: p50 queueing delay")["linux"] == {}
    # 125 and 1250 packets of 2.4 ms each: at most 300 and 3000 ms.
    rtts = [figure(card, "bloat", f"{buffer}: Mean RTT")["linux"]["newreno"] for buffer in ("1 BDP", "10 BDP")]
    assert max(rtts[0]) < 30 + 300 + 10 < min(rtts[1])
    lost = figure(card, "shallow", "10 flows, 50 Mbit/s: Loss")["linux"]
    assert all(value > 0 for values in lost.values() for value in values)
    harm = figure(card, "duel", "1 BDP: Goodput harm to newreno")
    assert all(0 <= value <= 1 for values in harm["linux"].values() for value in values)
    page = card_page(card.data)
    assert "On Linux: not known" in page
    assert "Share on Linux, relative to the equal split" in page
    json.dumps(card.data, allow_nan=False)
