"""Two algorithms versus each other: the runs and the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from by_hand import by_hand, check_rows
from conftest import Program
from fullpipe import Duel, InputError, Scenario, ScenarioError
from fullpipe._cli.output import show
from fullpipe.experiments.duel import AMONG, HALF, PARTS, Bout, duel, harm
from fullpipe.experiments.sweep.axes import read_axes
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.experiments.sweep.sweeping import Sweep
from fullpipe.experiments.sweep.table import table_of
from fullpipe.runs.aggregate import paired
from fullpipe.runs.design import Case, Done, Run
from fullpipe.runs.measure import full


def test_harm_is_what_is_lost_of_what_there_is_alone() -> None:
    # Ware et al., section 3: a drop from 10 Mbit/s solo to 4 with the competitor is a harm of 0.6. An increase from 50
    # ms to 200 ms is one of 0.75.
    assert harm(10e6, 4e6, more_is_better=True) == pytest.approx(0.6)
    assert harm(0.05, 0.2, more_is_better=False) == pytest.approx(0.75)
    assert harm(4e6, 10e6, more_is_better=True) == 0
    assert harm(0.2, 0.05, more_is_better=False) == 0
    assert harm(0, 0, more_is_better=True) == 0
    assert harm(0, 0, more_is_better=False) == 0


THREE: dict[str, Any] = {
    "duration": "2 s",
    "warmup": "1 s",
    "links": [
        {"name": "near", "rate": "1 Gbit/s", "delay": "1 ms", "buffer": "90 packets"},
        {"name": "bottleneck", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "20 packets"},
    ],
    "flows": [
        {"algorithm": "reno", "count": 2, "path": ["near", "bottleneck"], "recovery": "newreno"},
        {"algorithm": "vegas", "access_delay": "7 ms", "path": ["bottleneck"]},
    ],
    "udp": [{"rate": "10 kbit/s", "path": ["bottleneck"]}],
}


def flows(mix: str, part: str, tree: dict[str, Any] = THREE) -> list[tuple[str, int, str]]:
    """Name, number and path of each flow."""
    bout = Bout("0.5 BDP", mix)
    scenario = bout.scenario(
        Scenario(**tree), ["cubic", {"name": "vegas", "alpha": 2}], ["cubic", "vegas (alpha=2)"], part
    )
    resolved = scenario.resolved().to_dict()
    assert [link["buffer"] for link in scenario.to_dict()["links"]] == ["90 packets", "0.5 BDP"]
    assert (scenario.series_interval_s, len(resolved["udp"])) == (None, 1)
    for group in scenario.to_dict()["flows"]:
        assert group["algorithm"] == ("cubic" if group["name"] == "cubic" else {"name": "vegas", "alpha": 2})
    return [(group["name"], group["count"], "+".join(group["path"])) for group in scenario.to_dict()["flows"]]


def test_the_flows_of_a_mix() -> None:
    alone, other, beside = PARTS
    long, short = "near+bottleneck", "bottleneck"
    a, b = "cubic", "vegas (alpha=2)"
    assert flows(HALF, beside) == [(a, 1, long), (b, 1, long), (a, 1, short)]
    assert flows(HALF, alone) == [(a, 1, long), (a, 1, short)]
    assert flows(HALF, other) == [(b, 1, long)]
    assert flows(AMONG, beside) == [(a, 1, long), (b, 1, long), (b, 1, short)]
    assert flows(AMONG, alone) == [(a, 1, long)]
    assert flows(AMONG, other) == [(b, 1, long), (b, 1, short)]


def test_a_scenario_of_one_flow_is_made_of_two_and_of_ten() -> None:
    one = {**THREE, "flows": THREE["flows"][1:]}
    assert [name for name, _, _ in flows(HALF, "beside", one)] == ["cubic", "vegas (alpha=2)"]
    assert [name for name, _, _ in flows(AMONG, "beside", one)] == ["cubic", *["vegas (alpha=2)"] * 9]


def test_two_flows_become_ten_where_one_competes_with_many() -> None:
    """With two flows, one among all others would be an equal split."""
    two = {**THREE, "flows": [{**THREE["flows"][1], "count": 2}]}
    assert [name for name, _, _ in flows(AMONG, "beside", two)] == ["cubic", *["vegas (alpha=2)"] * 9]
    assert [name for name, _, _ in flows(HALF, "beside", two)] == ["cubic", "vegas (alpha=2)"]


def run(mix: str, part: str, seed: int, algorithm: str, flows: int, mbps: float, rtt_ms: float, share: float) -> Any:
    figures = {"goodput_bps": mbps * 1e6, "share": share, "mean_rtt_s": rtt_ms / 1e3, "retransmits": 5}
    return {"buffer": None, "mix": mix, "part": part, "seed": seed, "algorithm": algorithm, "flows": flows, **figures}


BY_HAND = [
    run(HALF, "first alone", 1, "reno", 2, 10, 50, 1),
    run(HALF, "first alone", 2, "reno", 2, 8, 40, 1),
    run(HALF, "second alone", 1, "cubic", 2, 9, 60, 1),
    run(HALF, "second alone", 2, "cubic", 2, 10, 60, 1),
    run(HALF, "beside", 1, "reno", 2, 4, 100, 0.4),
    run(HALF, "beside", 1, "cubic", 2, 6, 90, 0.6),
    run(HALF, "beside", 2, "reno", 2, 2, 100, 0.2),
    run(HALF, "beside", 2, "cubic", 2, 8, 60, 0.8),
    run(AMONG, "first alone", 1, "reno", 1, 10, 50, 1),
    run(AMONG, "second alone", 1, "cubic", 3, 10, 50, 1),
    run(AMONG, "beside", 1, "reno", 1, 1, 80, 0.1),
    run(AMONG, "beside", 1, "cubic", 3, 9, 80, 0.9),
]


def test_figures_over_the_seeds_are_paired() -> None:
    reno, cubic, lone, many = Duel(["reno", "cubic"], BY_HAND).rows()
    # Harm to goodput: (10 - 4)/10 and (8 - 2)/8; to RTT (100 - 50)/100 and (100 - 40)/100. t with one degree of freedom
    # is 12.706, so that of two values the half width is 6.353 times their difference.
    assert (reno["goodput_harm"], reno["goodput_harm_ci95"]) == (pytest.approx(0.675), pytest.approx(0.9530, abs=1e-4))
    assert (reno["rtt_harm"], reno["rtt_harm_ci95"]) == (pytest.approx(0.55), pytest.approx(0.6353, abs=1e-4))
    assert (reno["share"], reno["share_ci95"]) == (pytest.approx(0.3), pytest.approx(1.2706, abs=1e-4))
    assert (reno["goodput_bps"], reno["alone_goodput_bps"], reno["fair_share"]) == (3e6, 9e6, 0.5)
    assert (reno["mean_rtt_s"], reno["alone_rtt_s"]) == (pytest.approx(0.1), pytest.approx(0.045))
    # (9 - 6)/9 and (10 - 8)/10; (90 - 60)/90 and none.
    assert (cubic["goodput_harm"], cubic["rtt_harm"]) == (pytest.approx(4 / 15), pytest.approx(1 / 6))
    assert [(row["algorithm"], row["flows"], row["fair_share"], row["seeds"]) for row in (lone, many)] == [
        ("reno", 1, 0.25, 1),
        ("cubic", 3, 0.75, 1),
    ]
    assert (lone["goodput_harm"], many["goodput_harm"], lone["goodput_harm_ci95"]) == (0.9, pytest.approx(0.1), None)


def test_seeds_without_both_runs_do_not_count() -> None:
    failed = ("first alone", 2)
    runs = [row for row in BY_HAND if row["mix"] == HALF and (row["part"], row["seed"]) != failed]
    reno, cubic = Duel(["reno", "cubic"], runs).rows()
    assert (reno["seeds"], reno["goodput_harm"]) == (1, pytest.approx(0.6))
    assert cubic["seeds"] == 2


@pytest.mark.parametrize("fails", [False, True])
def test_runs_have_errors_only_where_one_failed(small: Scenario, fails: bool) -> None:
    labels = {"buffer": None, "mix": HALF, "part": "first alone"}
    runs = [Run(i, Case(small, labels), seed=1 + i) for i in range(2)]
    ended = [Done(run, full(by_hand(flows={"name": ["ours", "ours"]}))) for run in runs]
    if fails:
        ended[1] = Done(runs[1], None, InputError("broken"))
    found = Duel._of_runs(["ours", "reno"], ended)
    assert ("error" in found.runs.column_names) == fails
    assert found.failed == fails
    assert len(found.groups) == 2 - fails


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show(Duel(["reno", "cubic"], BY_HAND).shown())
    text = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    check_rows(text, "duel")


def test_share_as_a_column_is_that_of_each_algorithm(program: Program, small_file: Path) -> None:
    options = ["--algorithms", "newreno,{ name = 'vegas', alpha = 2 }", "--seeds", "2", "--columns", "share"]
    done = program("duel", str(small_file), *options)
    assert done.returncode == 0, done.stderr
    assert "Share of newreno (%)" in done.stdout
    assert "Share of vegas (alpha=2) (%)" in done.stdout


def test_the_style_of_a_plot_requires_a_plot(program: Program, small_file: Path) -> None:
    done = program("run", str(small_file), "--style", "paper")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--style requires --plot" in done.stderr
    done = program("run", str(small_file), "--style", "paper", "--plot", "p.svg")
    assert done.returncode == 0, done.stderr
    # One column of 3.4 in, in points of 1/72 in.
    assert 'width="244.8pt"' in (small_file.parent / "p.svg").read_text(encoding="utf-8")


def test_it_is_run_saved_loaded_and_drawn(tmp_path: Path) -> None:
    outcome = duel(THREE, ["newreno", "cubic"], buffers=["5 packets", "1 BDP"], seeds=2)
    assert len(outcome.groups) == 2 * 2 * 2 * 4
    assert len(outcome.runs) == 2 * 2 * 3 * 2
    for row in outcome.rows():
        assert 0 < row["share"] < 1
        assert row["goodput_harm"] == pytest.approx(1 - row["goodput_bps"] / row["alone_goodput_bps"], abs=0.1)
    outcome.save(tmp_path / "out")
    again = Duel.load(tmp_path / "out")
    assert again.to_dict() == outcome.to_dict() == json.loads((tmp_path / "out/duel.json").read_text())
    assert again._repr_html_().count("<table>") == 2
    panels = outcome.plot(tmp_path / "duel.svg").axes
    assert [[text.get_text() for text in panel.get_xticklabels()] for panel in panels] == [["5 packets", "1 BDP"]] * 2
    drawn = [line.get_ydata().tolist() for line in panels[0].get_lines() if line.get_marker() in ("P", "s")]  # type: ignore[union-attr]
    half = [row for row in outcome.rows() if row["mix"] == HALF]
    assert drawn == [[row["goodput_harm"] for row in half if row["algorithm"] == name] for name in ("newreno", "cubic")]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"algorithms": ["reno"]}, "a duel requires two different algorithms, got reno$"),
        ({"algorithms": ["reno", "reno"]}, "a duel requires two different algorithms, got reno, reno$"),
        ({"seeds": 1}, r"seeds must be in \[2, 1000\], got 1"),
        ({"buffers": ["1 BDP", "1 BDP"]}, "each once, got 1 BDP, 1 BDP"),
        ({"buffers": []}, "buffers requires at least one value"),
        ({"algorithms": ["reno", "cubik"]}, "unknown algorithm"),
        ({"buffers": ["5 parsecs"]}, "unknown unit"),
        ({"scenario": {**THREE, "flows": []}}, "flows: a duel requires at least one flow"),
    ],
)
def test_what_is_refused(change: dict[str, Any], why: str) -> None:
    arguments = {"scenario": THREE, "algorithms": ["reno", "cubic"], **change}
    with pytest.raises((InputError, ScenarioError), match=why):
        duel(**arguments)


def test_differences_are_paired_by_seed(small: Scenario) -> None:
    axes = {"flows.count": [1, 2], "flows.algorithm": ["newreno", "vegas", "cubic"]}
    plan = Plan(small, read_axes(axes), 2)
    used = {"newreno": (0.5, 0.7), "vegas": (0.6, 0.9), "cubic": (0.4, None)}

    def row(run: int) -> dict[str, Any]:
        labels = plan.labels(run)
        value = used[labels["flows.algorithm"]][labels["repeat"]]
        return {**labels, "error": "broken" if value is None else None, "utilization": value}

    rows = (
        Sweep(plan, table_of([row(run) for run in range(plan.runs)], plan))
        .compare("newreno", metrics=["utilization"])
        .to_pylist()
    )
    assert [(row["flows.count"], row["flows.algorithm"], row["pairs"]) for row in rows] == [
        (1, "vegas", 2),
        (1, "cubic", 1),
        (2, "vegas", 2),
        (2, "cubic", 1),
    ]
    # 0.1 and 0.2: half of their sum, and 6.353 times their difference.
    assert rows[0]["difference"] == pytest.approx(0.15)
    assert rows[0]["ci95"] == pytest.approx(0.6353, abs=1e-4)
    assert (rows[1]["difference"], rows[1]["ci95"], rows[1]["verdict"]) == (pytest.approx(-0.1), None, "inconclusive")
    with pytest.raises(InputError, match=r"unknown value 'newremo'; did you mean 'newreno'"):
        Sweep(plan, table_of([row(0)], plan)).compare("newremo")
    assert paired([None, 1.0], [2.0, None]) is None


def test_a_run_whose_baseline_failed_has_no_difference(small: Scenario) -> None:
    plan = Plan(small, read_axes({"flows.algorithm": ["newreno", "vegas"]}), 3)

    def row(run: int) -> dict[str, Any]:
        labels = plan.labels(run)
        base = labels["flows.algorithm"] == "newreno"
        failed = base and labels["repeat"] == 1
        value = 9.9 if failed else 0.5 if base else 0.6 + 0.1 * labels["repeat"]
        return {**labels, "error": "broken" if failed else None, "utilization": value}

    rows = Sweep(plan, table_of([row(run) for run in range(plan.runs)], plan)).compare("newreno").to_pylist()
    # Seeds 0 and 2 remain: 0.1 and 0.3.
    assert [(row["pairs"], row["difference"]) for row in rows] == [(2, pytest.approx(0.2))]


def test_the_program(small: Scenario, tmp_path: Path, program: Callable[..., Any]) -> None:
    (tmp_path / "s.toml").write_text(small.replace(duration="2 s", warmup="1 s").to_toml())
    done = program("duel", str(tmp_path / "s.toml"), "--algorithms", "reno, cubic", "--seeds", "2", "--json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["algorithms"] == ["reno", "cubic"]
    assert said == fullpipe.duel(tmp_path / "s.toml", ["reno", "cubic"], seeds=2).to_dict()
