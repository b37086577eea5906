"""Test case after draft-irtf-iccrg-tcpeval-01, section 6.1: its network, its load, and its metrics."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fullpipe import Scenario, run
from fullpipe.experiments.evaluate import Card, Statement, evaluate, measure, plan
from fullpipe.experiments.evaluate.cell import Role
from fullpipe.experiments.evaluate.cells.suite import CELLS, MEAN_PACKETS, camps
from fullpipe.experiments.evaluate.judging import Runs
from fullpipe.experiments.evaluate.preset import STANDARDS, Party

NEWRENO, CUBIC = STANDARDS


def test_a_transfer_has_so_many_packets_in_the_mean() -> None:
    """A Pareto law of mean 12 kB and shape 1.2 begins at 12 kB * 0.2/1.2 = 2 kB. The mean of whole packets is the sum
    over k of the probability of more than k packets, here term by term, and the rest as an integral.
    """
    many = 10**6
    terms = sum(min(1.0, (2000 / (1500 * k)) ** 1.2) for k in range(1, many))
    rest = (4 / 3) ** 1.2 * (many - 0.5) ** -0.2 / 0.2
    assert pytest.approx(1 + terms + rest, rel=1e-6) == MEAN_PACKETS


def test_the_load_is_what_the_setting_says() -> None:
    # 5 Mbit/s are 416.67 packets of 12,000 bits a second, 49.1 transfers of 8.485 packets.
    for load, per_s in ((0.5, 49.1), (1.0, 98.2)):
        web = camps(10e6, load, NEWRENO, CUBIC)["web"]
        assert sum(group["transfers_per_second"] for group in web) == pytest.approx(per_s, rel=1e-3)
        assert {(group["mean_size"], group["shape"]) for group in web} == {("12 kB", 1.2)}


def test_each_camp_has_the_nine_round_trips() -> None:
    """Table 1, and 4 ms of the central link's own; 80 ms of buffer are 66.7 packets at 10 Mbit/s."""
    tree = Scenario.from_dict(camps(10e6, 1.0, NEWRENO, CUBIC)).to_dict()
    central = tree["links"][0]
    assert (central["rate"], central["delay"], central["buffer"]) == ("10 Mbit/s", "2 ms", "67 packets")
    for camp, algorithm in (("victim", "newreno"), ("other", "cubic")):
        groups = [group for group in tree["web"] if group["path"] == [camp, "bottleneck"]]
        assert {group["algorithm"] for group in groups} == {algorithm}
        rtts = sorted(2 * (2 + int(group["access_delay"].removesuffix(" ms"))) for group in groups)
        assert rtts == [8, 32, 58, 78, 102, 128, 154, 178, 204]
        assert len({group["transfers_per_second"] for group in groups}) == 1


def test_the_same_transfers_come_whoever_sends() -> None:
    def begun(other: Party) -> list[tuple[Any, ...]]:
        table = run({**camps(10e6, 1.0, NEWRENO, other), "duration": "20 s"}).transfers
        return sorted(zip(*(table[name].to_pylist() for name in ("group", "start_s", "size_bytes")), strict=True))

    baseline = begun(NEWRENO)
    assert len(baseline) > 1500
    assert begun(CUBIC) == baseline
    assert begun(Party("bbr3", "bbr3")) == baseline


def test_goodput_is_of_the_edge_links_and_completion_of_all_that_began(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the victims 20 transfers count: 1 to 19 s, and one that never ends: its 19th is 19 s. With one less that would
    # be the unfinished one.
    times = [*map(float, range(1, 20)), float("nan"), 99.0]
    warm = [*[False] * 20, True]
    whole = {
        "links": {"name": ["bottleneck", "victim", "other"], "carried_goodput_bps": [7.0, 3.0, 4.0]},
        "transfers": {
            "group": [*["web 0"] * 21, "web 1", "web 1"],
            "completion_s": [*times, float("nan"), 0.5],
            "in_warmup": [*warm, False, False],
        },
    }
    scenario = {"web": [{"path": ["victim", "bottleneck"]}, {"path": ["other", "bottleneck"]}]}
    result: Any = SimpleNamespace(
        columns=whole.__getitem__, scenario=SimpleNamespace(to_dict=lambda: scenario), window_s=400.0
    )
    monkeypatch.setattr(measure, "metrics", lambda _: {"utilization": 0.5})
    assert measure.MEASURES["camps"](result) == {
        "utilization": 0.5,
        "victim.goodput_bps": 3.0,
        "victim.p95_completion_s": 19.0,
        "other.goodput_bps": 4.0,
        "other.p95_completion_s": 400.0,
    }


def test_camps_share_what_the_central_link_carries() -> None:
    result = run({**camps(10e6, 1.0, NEWRENO, CUBIC), "duration": "20 s"})
    row = measure.MEASURES["camps"](result)
    carried = result.to_dict()["links"][0]["carried_goodput_bps"]
    assert row["victim.goodput_bps"] + row["other.goodput_bps"] == pytest.approx(carried)  # type: ignore[operator]
    assert min(row["victim.goodput_bps"], row["other.goodput_bps"]) > 0.2 * carried  # type: ignore[type-var,operator]


def test_it_takes_more_than_quick_has(tmp_path: Path) -> None:
    assert plan("cubic", only=["eval-6.1"], cache=tmp_path).runs == 0
    (criterion,) = evaluate("cubic", only=["eval-6.1"], cache=tmp_path).data["criteria"]
    assert criterion["why"] == "eval-6.1: not in this profile"
    # Two loads. The standards are NewReno and CUBIC, where CUBIC is also the candidate, and BBR and BBRv3, which have
    # their own baseline. 500 s of 10 Mbit/s are 416,667 packets.
    standard = plan("cubic", profile="standard", only=["eval-6.1"], seeds=2, cache=tmp_path)
    assert standard.runs == 2 * 2 * (2 + 2 + 3 + 3)
    assert standard.packets == pytest.approx(standard.runs * 416_666.7)


def test_a_standard_does_no_more_than_the_standards(tmp_path: Path) -> None:
    card = evaluate("cubic", profile="standard", only=["eval-6.1"], cache=tmp_path, seeds=2)
    assert card.worse == []
    (cell,) = card.data["criteria"][0]["experiments"]
    for load in (50, 100):
        one = cell["figures"][f"10 Mbit/s, {load}% load: Goodput of the other camp (G), victim newreno"]
        assert one["newreno"] == [1.0, 1.0]
        assert (one["verdict"], one["candidate"]) == ("information", one["cubic"])
    # With half of the capacity, all data is delivered, for every sender.
    assert cell["figures"]["10 Mbit/s, 50% load: Goodput harm to newreno"]["verdict"] == "no worse"


def test_a_baseline_of_the_deployed_is_nobodys_loss() -> None:
    """7.2 compares the losses of candidate and standards within 10 s, for each victim."""
    rates = {"candidate": 0.04, "newreno": 0.03, "cubic": 0.02, "bbr": 0.9}
    runs = Runs()
    for victim, who in (("newreno", "candidate"), ("newreno", "newreno"), ("newreno", "cubic"), ("bbr", "bbr")):
        runs.add("eval-6.1", "s", Role(who, victim), 1, {"worst_loss_rate": rates[who]})
    card = Card.of("vegas", "standard", (1, 1), {}, [], runs, {}, Statement(), "fullpipe evaluate vegas", ["7.2"])
    (criterion,) = card.data["criteria"]
    (figure,) = criterion["experiments"][0]["figures"].values()
    assert (criterion["verdict"], figure["candidate"]) == ("no worse", [4.0])


def test_its_note_says_that_the_load_is_synthetic() -> None:
    (cell,) = CELLS
    assert "synthetic load" in cell.note
    assert cell.missing == ""
