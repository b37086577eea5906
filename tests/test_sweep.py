"""Sweeps: axes, rows, what is kept of a sweep that was stopped, statistics, pictures."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import PROGRAM, SMALL, Program, started
from fullpipe import Scenario, ScenarioError
from fullpipe.errors import InputError
from fullpipe.sweeps import load_plan
from fullpipe.sweeps.axes import read_axes
from fullpipe.sweeps.statistics import estimate, student_t

SWEEP = (
    SMALL
    + """
[sweep]
repeats = 3
links.bottleneck.buffer = { from = "10 packets", to = "100 packets", count = 4, scale = "log" }
"flows.algorithm" = ["newreno", { name = "vegas", alpha = 2 }]
"""
)
RUNS = 24


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    return file


@pytest.mark.parametrize(
    ("range_", "values"),
    [
        ({"from": "10 packets", "to": "1000 packets", "count": 3, "scale": "log"}, ["10", "100", "1000"]),
        ({"from": "10 packets", "to": "40 packets", "step": "15 packets"}, ["10", "25", "40"]),
        ({"from": "1 packets", "to": "4 packets", "count": 10, "scale": "log"}, ["1", "2", "3", "4"]),
    ],
)
def test_ranges_of_packets(range_: dict[str, Any], values: list[str]) -> None:
    (axis,) = read_axes({"links.bottleneck.buffer": range_})
    assert axis.values == tuple(f"{value} packets" for value in values)
    assert axis.columns(0) == {
        "links.bottleneck.buffer": f"{values[0]} packets",
        "links.bottleneck.buffer_packets": float(values[0]),
    }


def test_ranges_of_other_things() -> None:
    axes = read_axes(
        {
            "links": {"a": {"delay": {"from": "500 us", "to": "2 ms", "count": 4}}},
            "flows.count": {"from": 1, "to": 9, "step": 4},
            "links.a.loss": {"from": 0.0, "to": 0.6, "step": 0.2},
            "links.a.rate": ["1 Mbit/s", "0.5 Gbit/s"],
            "links.a.buffer": ["1 BDP", "100 packets"],
        }
    )
    assert {axis.path: axis.values for axis in axes} == {
        "links.a.delay": ("500 us", "1000 us", "1500 us", "2000 us"),
        "flows.count": (1, 5, 9),
        "links.a.loss": (0.0, 0.2, 0.4, 0.6),
        "links.a.rate": ("1 Mbit/s", "0.5 Gbit/s"),
        "links.a.buffer": ("1 BDP", "100 packets"),
    }
    assert axes[0].columns(3)["links.a.delay_s"] == pytest.approx(0.002)
    assert axes[3].columns(1)["links.a.rate_bps"] == 5e8
    assert axes[4].measure is None


def test_rows_are_what_runs_give(small: Scenario) -> None:
    outcome = fullpipe.sweep(small, {"flows.algorithm": ["newreno", "vegas"], "flows.count": [1, 2]}, repeats=2)
    rows = outcome.table.to_pylist()
    assert [(row["flows.algorithm"], row["flows.count"], row["repeat"], row["seed"]) for row in rows] == [
        (algorithm, count, repeat, 1 + repeat)
        for algorithm in ("newreno", "vegas")
        for count in (1, 2)
        for repeat in (0, 1)
    ]
    alone = fullpipe.run(small.replace(**{"flows.algorithm": "vegas", "flows.count": 2}), seed=2).to_dict()
    row = rows[7]
    assert row["error"] is None
    for figure in ("utilization", "loss_rate", "mean_queue_packets", "max_queue_packets", "reverse_utilization"):
        assert row[figure] == alone["links"][0][figure]
    first, second = alone["flows"]
    assert row["mean_goodput_bps"] == pytest.approx((first["goodput_bps"] + second["goodput_bps"]) / 2)
    assert row["mean_rtt_s"] == pytest.approx((first["mean_rtt_s"] + second["mean_rtt_s"]) / 2)
    assert row["retransmits"] == first["retransmits"] + second["retransmits"]
    assert row["jain_index"] == alone["totals"]["jain_index"]


def test_flows_together_carry_no_more_than_the_link() -> None:
    # Each of five flows has the link, 8 Mbit/s, to itself for some of the time: 500 segments take half a second, and 5
    # times 500 of them in 10 s are 2 Mbit/s.
    flows = [{"algorithm": "reno", "size": "500 packets", "start": f"{2 * i} s"} for i in range(5)]
    link = {"name": "l", "rate": "8 Mbit/s", "delay": "1 ms", "buffer": "unlimited"}
    (row,) = fullpipe.sweep(Scenario(duration="10 s", links=[link], flows=flows), {"seed": [1]}).table.to_pylist()
    assert row["goodput_bps"] == row["throughput_bps"] == pytest.approx(2e6)
    assert row["min_goodput_bps"] > 7e6


def test_flows_over_before_the_window_have_no_rate() -> None:
    link = {"name": "l", "rate": "8 Mbit/s", "delay": "1 ms", "buffer": "unlimited"}
    flows = [{"algorithm": "reno", "size": "5 packets"}]
    (row,) = fullpipe.sweep(
        Scenario(duration="10 s", warmup="5 s", links=[link], flows=flows), {"seed": [1]}
    ).table.to_pylist()
    assert row["error"] is None
    assert (row["goodput_bps"], row["mean_goodput_bps"], row["min_goodput_bps"]) == (0, None, None)


def test_several_links_algorithms_and_cross_traffic() -> None:
    scenario = Scenario(
        duration="5 s",
        links=[
            {"name": name, "rate": "5 Mbit/s", "delay": "5 ms", "buffer": "20 packets"} for name in ("a", "bottleneck")
        ],
        flows=[{"algorithm": algorithm, "path": ["a", "bottleneck"]} for algorithm in ("reno", "vegas")],
        udp=[{"rate": "1 Mbit/s", "path": ["bottleneck"]}],
        web=[{"algorithm": "reno", "transfers_per_second": 5, "mean_size": "10 kB", "path": ["a"]}],
    )
    (row,) = fullpipe.sweep(scenario, {"seed": [3]}).table.to_pylist()
    alone = fullpipe.run(scenario, seed=3).to_dict()
    assert row["links.a.utilization"] == alone["links"][0]["utilization"]
    assert row["utilization"] == alone["links"][1]["utilization"]
    assert row["flows.reno.mean_goodput_bps"] == alone["flows"][0]["goodput_bps"]
    assert row["udp.throughput_bps"] == alone["traffic"][0]["throughput_bps"]
    assert row["web.transfers_completed"] == alone["traffic"][1]["transfers_completed"] > 0
    assert row["web.mean_completion_s"] == pytest.approx(alone["traffic"][1]["mean_completion_s"])


def test_a_run_that_fails_is_a_row(small: Scenario, tmp_path: Path) -> None:
    axes = {"duration": ["4 s", "10 s"], "warmup": ["2 s", "8 s"]}
    outcome = fullpipe.sweep(small, axes, out=tmp_path / "out")
    errors = outcome.table["error"].to_pylist()
    assert [error is None for error in errors] == [True, False, True, True]
    assert "warmup" in errors[1]
    assert outcome.failed == 1
    assert outcome.table["utilization"].to_pylist()[1] is None
    assert outcome.summary["failed"].to_pylist() == [0, 1, 0, 0]
    assert outcome.summary["utilization_mean"].null_count == 1
    assert pq.read_table(tmp_path / "out/sweep.parquet").equals(outcome.table)
    assert fullpipe.sweep(small, axes, out=tmp_path / "out").table.equals(outcome.table)


def test_one_thread_two_threads_memory_and_disk_give_the_same(small: Scenario, tmp_path: Path) -> None:
    axes = {"links.bottleneck.buffer": ["10 packets", "30 packets"]}
    table = fullpipe.sweep(small, axes, repeats=3, workers=1).table
    assert fullpipe.sweep(small, axes, repeats=3, workers=2).table.equals(table)
    assert fullpipe.sweep(small, axes, repeats=3, out=tmp_path / "out").table.equals(table)


def test_the_command(program: Program, sweep_file: Path, tmp_path: Path) -> None:
    done = program("sweep", sweep_file.name, "--out", "out", "--plot", "buffer", "utilization", "--by", "algorithm")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("vegas (alpha=2)", "46 packets", "±", "utilization"):
        assert word in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "summary.parquet",
        "sweep.json",
        "sweep.parquet",
        "utilization-buffer.png",
    ]
    begun = program("sweep", sweep_file.name, "--out", "out", "--json")
    assert begun.returncode == 0
    figures = json.loads(begun.stdout)
    assert figures["axes"] == ["links.bottleneck.buffer", "flows.algorithm"]
    assert len(figures["rows"]) == RUNS
    assert figures["rows"] == pq.read_table(tmp_path / "out/sweep.parquet").to_pylist()


def test_killed_again_and_again_it_ends_with_the_same_table(sweep_file: Path, tmp_path: Path) -> None:
    # Long enough runs that kills hit all stages; the moments are random, the seed is printed by pytest's traceback.
    text = SWEEP.replace('"20 s"', '"400 s"').replace("repeats = 3", "repeats = 5")
    sweep_file.write_text(text)
    command = [PROGRAM, "sweep", sweep_file.name, "--json"]
    undisturbed = subprocess.run([*command, "--out", "whole"], cwd=tmp_path, capture_output=True, text=True, check=True)
    chance = random.Random(4)
    kills = 0
    for _ in range(5):
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with started([*command, "--out", "killed"], cwd=tmp_path, **quietly) as process:
            begun = time.monotonic()
            while not (tmp_path / "killed/parts").is_dir() and process.poll() is None and time.monotonic() < begun + 60:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 1.2))
        kills += process.returncode == -signal.SIGKILL
    assert kills >= 1
    last = subprocess.run([*command, "--out", "killed"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert last.stdout == undisturbed.stdout
    for name in ("sweep.parquet", "summary.parquet"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        "summary.parquet",
        "sweep.json",
        "sweep.parquet",
    ]


def test_interrupted_it_keeps_what_is_finished(sweep_file: Path, tmp_path: Path) -> None:
    sweep_file.write_text(SWEEP.replace('"20 s"', '"2000 s"').replace("repeats = 3", "repeats = 100"))
    command = [PROGRAM, "sweep", sweep_file.name, "--out", "out"]
    with started(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        begun = time.monotonic()
        while len(list(tmp_path.glob("out/parts/*.parquet"))) < 2 and time.monotonic() < begun + 60:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines() == ["fullpipe: interrupted; finished runs are in out: start again to go on"]
    kept = [row for part in tmp_path.glob("out/parts/*.parquet") for row in pq.read_table(part)["run"].to_pylist()]
    assert 0 < len(kept) == len(set(kept)) < 800


def test_only_one_sweep_at_a_time_in_a_directory(small: Scenario, tmp_path: Path) -> None:
    from fullpipe.sweeps.plan import Plan
    from fullpipe.sweeps.store import Store

    plan = Plan(small, read_axes({"flows.count": [1, 2]}))
    with Store(tmp_path / "out", plan), pytest.raises(InputError, match="another sweep is writing"):
        fullpipe.sweep(small, {"flows.count": [1, 2]}, out=tmp_path / "out")


def test_another_sweep_is_refused(small: Scenario, tmp_path: Path) -> None:
    fullpipe.sweep(small, {"flows.count": [1]}, out=tmp_path / "out")
    with pytest.raises(InputError, match="its axes differs"):
        fullpipe.sweep(small, {"flows.count": [2]}, out=tmp_path / "out")
    with pytest.raises(InputError, match="its scenario differs"):
        fullpipe.sweep(small.replace(warmup="6 s"), {"flows.count": [1]}, out=tmp_path / "out")


def test_a_full_disk(sweep_file: Path, tmp_path: Path) -> None:
    # The kernel refuses files over 4 kB: a real failure to write, in the middle of the sweep.
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "from fullpipe.cli import main; sys.argv[1:] = ['sweep', 'sweep.toml', '--out', 'out']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line == "fullpipe: out: File too large; what is there is whole: start again to go on"
    assert [path.name for path in tmp_path.rglob("*") if path.name.startswith(".")] == []
    again = subprocess.run(
        [PROGRAM, "sweep", sweep_file.name, "--out", "out"], cwd=tmp_path, capture_output=True, check=False
    )
    assert again.returncode == 0
    assert len(pq.read_table(tmp_path / "out/sweep.parquet")) == RUNS


BAD = {
    "unknown key": ("links.bottleneck.buffer", "links.bottleneck.bufer", "sweep.links.bottleneck.bufer: unknown key"),
    "near key": ("links.bottleneck.buffer", "links.bottleneck.bufer", 'did you mean "buffer"'),
    "unknown link": ("links.bottleneck.buffer", "links.botleneck.buffer", "did you mean 'bottleneck'"),
    "unknown table": ("links.bottleneck.buffer", "lnks.bottleneck.buffer", "did you mean 'links'"),
    "unknown algorithm": ('["newreno"', '["newrneo"', "sweep.flows.algorithm: newrneo: unknown algorithm"),
    "unknown parameter": ("alpha = 2", "alhpa = 2", "alhpa"),
    "a value twice": ('["newreno"', '["newreno", "newreno"', "twice"),
    "empty list": ('["newreno", { name = "vegas", alpha = 2 }]', "[]", "no values"),
    "no list": ('["newreno", { name = "vegas", alpha = 2 }]', '"newreno"', "a list or"),
    "backward range": ('to = "100 packets"', 'to = "1 packets"', "empty"),
    "range of one point": ("count = 4", "count = 1", "count"),
    "range without number": (", count = 4", "", "'step' or 'count'"),
    "range with both": ("count = 4", 'count = 4, step = "1 packets"', "'step' or 'count'"),
    "range without end": (', to = "100 packets"', "", "needs 'to'"),
    "step in a log range": ("count = 4", 'step = "1 packets"', "instead of 'step'"),
    "step of none": ('count = 4, scale = "log"', 'step = "0 packets"', "more than 0"),
    "log range from none": ('from = "10 packets"', 'from = "0 packets"', "above 0"),
    "range of mixed units": ('to = "100 packets"', 'to = "100 ms"', "same kind"),
    "range of words": ('from = "10 packets"', 'from = "few"', "'few'"),
    "unknown scale": ('"log"', '"lg"', "allowed: linear, log"),
    "unknown key of a range": ("count = 4", "cuont = 4", "did you mean 'count'"),
    "absurd value": ('from = "10 packets"', 'from = "0.1 packets"', "sweep.links.bottleneck.buffer: 0 packets"),
    "absurdly many": ("repeats = 3", "repeats = 9999999", "at most"),
    "repeats of none": ("repeats = 3", "repeats = 0", "sweep.repeats"),
    "repeats of a fraction": ("repeats = 3", "repeats = 1.5", "sweep.repeats"),
    "repeats and seeds": ('"flows.algorithm" = [', "seed = [1, 2]\nflows.algorithm = [", "sweep.repeats"),
    "no table": (SWEEP[SWEEP.index("[sweep]") :], "", "sweep: missing"),
    "empty table": (SWEEP[SWEEP.index("[sweep]") :], "[sweep]", "neither an axis nor repeats"),
    "wrong scenario": ("warmup", "warmpu", "warmpu"),
    "not TOML": ("[sweep]", "[sweep", "TOML"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_sweep(tmp_path: Path, case: str) -> None:
    before, after, names = BAD[case]
    assert SWEEP.count(before) == 1
    file = tmp_path / "wrong.toml"
    file.write_text(SWEEP.replace(before, after))
    with pytest.raises(ScenarioError) as caught:
        load_plan(file)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{file}: ")
    assert names in line


def test_a_wrong_sweep_on_the_command_line(program: Program, tmp_path: Path) -> None:
    before, after, names = BAD["near key"]
    file = tmp_path / "wrong.toml"
    file.write_text(SWEEP.replace(before, after))
    done = program("sweep", "wrong.toml", "--json", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("fullpipe: wrong.toml: sweep.links.bottleneck.bufer: ")
    assert names in line
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--out", "sweep.toml"], "not a directory"),
        (["--out", "sweep.toml/out"], "not a directory"),
        (["--workers", "0"], "--workers"),
        (["--by", "algorithm"], "--plot"),
        (["--plot", "delay", "utilization"], "'delay' is no axis (allowed: links.bottleneck.buffer, flows.algorithm)"),
        (["--plot", "buffer", "utilisation"], "did you mean 'utilization'"),
        (["--plot", "buffer", "utilization", "--picture", "p.bmp"], ".bmp"),
        (["--plot", "buffer", "utilization", "--by", "delay"], "'delay' is no axis"),
        (["--workers", "1", "--dask", "tcp://127.0.0.1:1"], "--workers"),
    ],
)
def test_a_wrong_command_line(
    program: Program, sweep_file: Path, tmp_path: Path, arguments: list[str], names: str
) -> None:
    done = program("sweep", sweep_file.name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert names in line
    assert list(tmp_path.iterdir()) == [sweep_file]


def test_a_value_that_runs_only_beside_others_is_allowed(small: Scenario) -> None:
    axes = {"flows.algorithm": ["reno", "vegas"], "flows.algorithm.alpha": [1, 2]}
    errors = fullpipe.sweep(small, axes).table["error"].to_pylist()
    assert [error is None for error in errors] == [False, False, True, True]


def test_axes_that_never_run_together(small: Scenario) -> None:
    with pytest.raises(ScenarioError, match="warmup"):
        fullpipe.sweep(small, {"duration": ["2 s", "4 s"], "warmup": ["8 s"]})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory(small: Scenario, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(InputError, match="can't be written"):
        fullpipe.sweep(small, {"flows.count": [1]}, out=tmp_path / "locked/out")


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (120, 1.9799)]
)
def test_student_t_as_tables_print_it(freedom: int, t: float) -> None:
    assert student_t(freedom) == pytest.approx(t, abs=5e-5)


def test_estimates_worked_by_hand() -> None:
    # 2, 4, 6: mean 4, sd 2; 4.3027 * 2/sqrt(3).
    three = estimate([2.0, 4.0, 6.0])
    assert (three.mean, three.sd) == (4.0, 2.0)
    assert three.ci95 == pytest.approx(4.3027 * 2 / math.sqrt(3), abs=1e-3)
    assert estimate([7.0]).sd is None


def test_summary_and_picture(small: Scenario, tmp_path: Path) -> None:
    outcome = fullpipe.sweep(small, {"flows.algorithm": ["reno", "vegas"], "flows.count": [1, 2]}, repeats=3)
    values = [row["utilization"] for row in outcome.table.to_pylist()[3:6]]
    summary = outcome.summary.to_pylist()[1]
    assert (summary["flows.algorithm"], summary["flows.count"], summary["runs"]) == ("reno", 2, 3)
    assert summary["utilization_mean"] == pytest.approx(sum(values) / 3)
    figure = outcome.plot("count", "utilization", path=tmp_path / "p.svg")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["reno", "vegas"]
    line = figure.axes[0].containers[0].lines[0]
    assert list(line.get_ydata()) == pytest.approx([row["utilization_mean"] for row in outcome.summary.to_pylist()[:2]])
    with pytest.raises(InputError, match="did you mean 'utilization'"):
        outcome.plot("count", "utilisation")
