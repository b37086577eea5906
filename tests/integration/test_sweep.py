"""Sweeps: axes, rows, the store of a sweep that was stopped, statistics, and plots."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import PROGRAM, SMALL, Program, started
from fullpipe import Scenario, ScenarioError
from fullpipe.errors import Cancelled, FullpipeError, InputError
from fullpipe.experiments.sweep import Plan, read_plan
from fullpipe.experiments.sweep import plan as plans
from fullpipe.experiments.sweep.axes import read_axes
from fullpipe.experiments.sweep.directory import opened
from fullpipe.runs import engines
from fullpipe.runs import store as stores
from fullpipe.runs.aggregate import Estimate, estimate, student_t

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


LINK = {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "10 packets"}
PLAN = Plan(
    Scenario(duration="10 s", links=[LINK], flows=[{"algorithm": "reno"}]),
    read_axes({"links.bottleneck.buffer": ["1 packets", "2 packets", "3 packets"]}),
)


def kept_in(directory: Path) -> int:
    """Rows in the store of a sweep that is not finished."""
    return rows_of(directory / ".fullpipe-runs/runs.sqlite")


def rows_of(file: Path) -> int:
    """Rows in a store that another process writes."""
    if not file.exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as store:
        try:
            return int(store.execute("SELECT count(*) FROM runs").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0


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
    outcome = fullpipe.sweep(small, {"flows.algorithm": ["newreno", "vegas"], "flows.count": [1, 2]}, seeds=2)
    rows = outcome.runs.to_pylist()
    assert [(row["flows.algorithm"], row["flows.count"], row["repeat"], row["seed"]) for row in rows] == [
        (algorithm, count, repeat, 1 + repeat)
        for algorithm in ("newreno", "vegas")
        for count in (1, 2)
        for repeat in (0, 1)
    ]
    alone = fullpipe.run(small.replace(**{"flows.algorithm": "vegas", "flows.count": 2}), seed=2).to_dict()
    row = rows[7]
    assert row["error"] is None
    for figure in ("utilization", "loss_rate", "mean_queue_packets", "max_queue_packets"):
        assert row[figure] == alone["links"][0][figure]
    assert row["reverse_utilization"] == alone["links"][0]["reverse"]["utilization"]
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
    (row,) = fullpipe.sweep(Scenario(duration="10 s", links=[link], flows=flows), {"seed": [1]}).runs.to_pylist()
    assert row["goodput_bps"] == row["throughput_bps"] == pytest.approx(2e6)
    assert row["min_goodput_bps"] > 7e6


def test_flows_over_before_the_window_have_no_rate() -> None:
    link = {"name": "l", "rate": "8 Mbit/s", "delay": "1 ms", "buffer": "unlimited"}
    flows = [{"algorithm": "reno", "size": "5 packets"}]
    (row,) = fullpipe.sweep(
        Scenario(duration="10 s", warmup="5 s", links=[link], flows=flows), {"seed": [1]}
    ).runs.to_pylist()
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
    (row,) = fullpipe.sweep(scenario, {"seed": [3]}).runs.to_pylist()
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
    errors = outcome.runs["error"].to_pylist()
    assert [error is None for error in errors] == [True, False, True, True]
    assert "warmup" in errors[1]
    assert outcome.failed == 1
    assert outcome.runs["utilization"].to_pylist()[1] is None
    assert outcome.summary()["failed"].to_pylist() == [0, 1, 0, 0]
    assert outcome.summary()["utilization_mean"].null_count == 1
    assert pq.read_table(tmp_path / "out/runs.parquet").equals(outcome.runs)
    assert fullpipe.sweep(small, axes, out=tmp_path / "out").runs.equals(outcome.runs)


def test_one_thread_two_threads_memory_and_disk_give_the_same(small: Scenario, tmp_path: Path) -> None:
    axes = {"links.bottleneck.buffer": ["10 packets", "30 packets"]}
    table = fullpipe.sweep(small, axes, seeds=3, workers=1).runs
    assert fullpipe.sweep(small, axes, seeds=3, workers=2).runs.equals(table)
    assert fullpipe.sweep(small, axes, seeds=3, out=tmp_path / "out").runs.equals(table)


def test_the_command(program: Program, sweep_file: Path, tmp_path: Path) -> None:
    done = program("sweep", sweep_file.name, "--out", "out", "--plot", "out.png", "--x", "buffer", "--by", "algorithm")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("vegas (alpha=2)", "46 packets", "±", "Utilization (%)"):
        assert word in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        ".fullpipe-files",
        "flows.parquet",
        "links.parquet",
        "runs.parquet",
        "summary.parquet",
        "sweep.json",
    ]
    assert (tmp_path / "out.png").is_file()
    begun = program("sweep", sweep_file.name, "--out", "out", "--json")
    assert begun.returncode == 0
    figures = json.loads(begun.stdout)
    assert figures["axes"] == ["links.bottleneck.buffer", "flows.algorithm"]
    assert len(figures["rows"]) == RUNS
    assert figures["rows"] == pq.read_table(tmp_path / "out/runs.parquet").to_pylist()


def test_queues_and_their_parameters_are_axes(program: Program, sweep_file: Path) -> None:
    queues = ["drop-tail", {"name": "step", "threshold": "10 packets"}]
    sweep_file.write_text(
        SMALL.replace('algorithm = "newreno"', 'algorithm = "newreno"\necn = "classic"')
        + '[sweep]\n"links.bottleneck.queue" = ["drop-tail", { name = "step", threshold = "10 packets" }]\n'
    )
    done = program("sweep", sweep_file.name, "--json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["rows"]
    assert [row["links.bottleneck.queue"] for row in rows] == ["drop-tail", "step (threshold=10 packets)"]
    scenario = Scenario.loads(SMALL).replace(**{"flows.ecn": "classic"})
    plain, marked = (fullpipe.run(scenario.replace(**{"links.0.queue": queue})) for queue in queues)
    for row, result in zip(rows, (plain, marked), strict=True):
        assert row["marked_packets"] == result.links["marked_packets"][0].as_py()
    assert (rows[0]["marked_packets"], rows[1]["marked_packets"] > 0) == (0, True)

    sweep_file.write_text(
        SMALL.replace('buffer = "0.5 BDP"', 'buffer = "50 ms"\nqueue = "codel"')
        + '[sweep]\n"links.0.queue.target" = { from = "2 ms", to = "20 ms", count = 2 }\n'
    )
    done = program("sweep", sweep_file.name, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    short, long = json.loads(done.stdout)["rows"]
    assert (short["links.0.queue.target_s"], long["links.0.queue.target_s"]) == (0.002, 0.02)
    assert short["mean_queue_packets"] < long["mean_queue_packets"]


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
            while (
                not (tmp_path / "killed/sweep.json").exists()
                and process.poll() is None
                and time.monotonic() < begun + 60
            ):
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 1.2))
        kills += process.returncode == -signal.SIGKILL
    assert kills >= 1
    last = subprocess.run([*command, "--out", "killed"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert last.stdout == undisturbed.stdout
    for name in ("runs.parquet", "summary.parquet", "flows.parquet", "links.parquet"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        ".fullpipe-files",
        "flows.parquet",
        "links.parquet",
        "runs.parquet",
        "summary.parquet",
        "sweep.json",
    ]


def test_interrupted_it_keeps_what_is_finished(sweep_file: Path, tmp_path: Path) -> None:
    sweep_file.write_text(SWEEP.replace('"20 s"', '"2000 s"').replace("repeats = 3", "repeats = 100"))
    command = [PROGRAM, "sweep", sweep_file.name, "--out", "out"]
    with started(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        begun = time.monotonic()
        while not kept_in(tmp_path / "out") and time.monotonic() < begun + 60:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines() == ["fullpipe: interrupted; finished runs are in out; run the command again to continue"]
    assert 0 < kept_in(tmp_path / "out") < 800


@pytest.mark.parametrize("how", ["stop", "Ctrl-C", "an exception"])
def test_ended_early_it_keeps_what_it_has_told_of_and_goes_on_from_there(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    stop, axes = threading.Event(), {"flows.count": [1, 2, 3, 4]}
    end = {"stop": stop.set, "Ctrl-C": lambda: signal.raise_signal(signal.SIGINT), "an exception": lambda: 1 / 0}[how]
    ending = {"stop": Cancelled, "Ctrl-C": KeyboardInterrupt, "an exception": ZeroDivisionError}[how]
    told, totals = 0.0, list[float]()

    def tell(done: float, _total: float) -> None:
        nonlocal told
        told = done
        if done >= 3:
            end()

    with pytest.raises(ending):
        fullpipe.sweep(small, axes, seeds=3, out=tmp_path / "out", workers=1, progress=tell, stop=stop)
    kept = kept_in(tmp_path / "out")
    # Progress counts the fraction of the run under way, which may be nearly all of it.
    assert told - 1 <= kept < 12
    made: list[Scenario] = []
    real = engines.run
    monkeypatch.setattr(
        engines, "run", lambda scenario, **options: (made.append(scenario), real(scenario, **options))[1]
    )
    again = fullpipe.sweep(small, axes, seeds=3, out=tmp_path / "out", progress=lambda _, total: totals.append(total))
    assert len(made) == 12 - kept
    assert again.runs.equals(fullpipe.sweep(small, axes, seeds=3).runs)
    assert set(totals) == {12}


def test_only_one_sweep_at_a_time_in_a_directory(program: Program, sweep_file: Path, tmp_path: Path) -> None:
    plan = read_plan(sweep_file.read_text(), file=str(sweep_file))
    with opened(tmp_path / "out", plan):
        with pytest.raises(InputError, match="another command is writing"):
            fullpipe.experiments.sweep.sweep_plan(plan, out=tmp_path / "out")
        done = program("sweep", sweep_file.name, "--out", "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "fullpipe: out: another command is writing there\n"
    assert program("sweep", sweep_file.name, "--out", "out").returncode == 0


def test_of_sweeps_that_begin_together_one_writes(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(small, read_axes({"flows.count": [1, 2]}))
    to_dict = Plan.to_dict

    def slow(self: Plan) -> dict[str, Any]:
        time.sleep(0.05)  # between finding the directory empty and writing sweep.json
        return to_dict(self)

    monkeypatch.setattr(Plan, "to_dict", slow)
    at_once, all_done = threading.Barrier(4, timeout=20), threading.Barrier(4, timeout=20)
    entered: list[bool] = []
    refused: list[str] = []

    def begin(directory: Path) -> None:
        at_once.wait()
        try:
            with opened(directory, plan):
                entered.append(True)
                all_done.wait()
        except InputError as error:
            refused.append(str(error))
            all_done.wait()

    threads = [threading.Thread(target=begin, args=[tmp_path / "out"]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered == [True]
    assert refused == 3 * [f"{tmp_path / 'out'}: another command is writing there"]


def test_a_file_system_without_locks(small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(stores.fcntl, "flock", refuse)
    with pytest.raises(InputError, match=r"out: its file system has no locks .*No locks available.*another directory"):
        fullpipe.sweep(small, {"flows.count": [1]}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["sweep.json", ".fullpipe-runs", ".fullpipe-runs/lock", ".fullpipe-runs/runs.sqlite"])
def test_a_sweep_follows_no_link_of_its_directory(small: Scenario, tmp_path: Path, name: str) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    (out / name).parent.mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (outside / "precious").write_text("mine")
    (out / name).symlink_to(outside if name == ".fullpipe-runs" else outside / "precious")
    with pytest.raises(InputError, match=r"symbolic link|not from fullpipe"):
        fullpipe.sweep(small, {"flows.count": [1]}, out=out)
    assert sorted(path.name for path in outside.iterdir()) == ["deep", "precious"]
    assert (outside / "precious").read_text() == "mine"


def test_a_result_and_a_sweep_do_not_share_a_directory(program: Program, sweep_file: Path, small: Scenario) -> None:
    fullpipe.run(small).save(sweep_file.parent / "result")
    done = program("sweep", sweep_file.name, "--out", "result")
    said = "fullpipe: result: has the result of another command; choose another directory\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert program("sweep", sweep_file.name, "--out", "sweep").returncode == 0
    with pytest.raises(InputError, match="sweep: must be a new or empty directory, or one of an earlier result"):
        fullpipe.run(small).save(sweep_file.parent / "sweep")


def test_another_sweep_is_refused(small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    axes = {"flows.count": [1]}
    fullpipe.sweep(small, axes, out=out)
    with pytest.raises(InputError, match=r"another sweep \(other axes\)"):
        fullpipe.sweep(small, {"flows.count": [2]}, out=out)
    with pytest.raises(InputError, match=r"another sweep \(other scenario\)"):
        fullpipe.sweep(small.replace(warmup="6 s"), axes, out=out)
    with pytest.raises(InputError, match=r"another sweep \(other scenario\)"):
        fullpipe.sweep(small.replace(seed=2), axes, out=out)
    with pytest.raises(InputError, match=r"another sweep \(other repeats\)"):
        fullpipe.sweep(small, axes, seeds=2, out=out)
    monkeypatch.setattr(plans, "build_fingerprint", lambda: "another")
    with pytest.raises(InputError, match="another build of fullpipe"):
        fullpipe.sweep(small, axes, out=out)
    for text in ("{}", "[]", "nonsense", "[" * 100_000):
        (out / "sweep.json").write_text(text)
        with pytest.raises(InputError, match=r"its sweep\.json is not from fullpipe"):
            fullpipe.sweep(small, axes, out=out)


def test_the_same_axes_in_another_order_are_another_sweep(small: Scenario, tmp_path: Path) -> None:
    buffers, counts = {"links.bottleneck.buffer": ["10 packets", "30 packets"]}, {"flows.count": [1, 2, 3]}
    out = tmp_path / "out"
    table = fullpipe.sweep(small, {**buffers, **counts}, out=out).runs
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match=r"in another order \(links\.bottleneck\.buffer, flows\.count\); keep to that"):
        fullpipe.sweep(small, {**counts, **buffers}, out=out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert fullpipe.sweep(small, {**buffers, **counts}, out=out).runs.equals(table)


@pytest.mark.parametrize("damage", ["another sweep's", "a changed byte", "no manifest", "no Parquet"])
def test_tables_that_do_not_verify_are_made_again(
    small: Scenario, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    theirs, mine, axes = tmp_path / "theirs", tmp_path / "mine", {"flows.count": [1, 2]}
    fullpipe.sweep(small, {"flows.count": [3, 4]}, out=theirs)
    table = fullpipe.sweep(small, axes, out=mine).runs
    whole = {path.name: path.read_bytes() for path in mine.iterdir()}
    if damage == "another sweep's":
        (theirs / "runs.parquet").replace(mine / "runs.parquet")
    elif damage == "no manifest":
        (mine / ".fullpipe-files").unlink()
    else:
        data = bytearray(whole["runs.parquet"])
        data[200] ^= 1
        (mine / "runs.parquet").write_bytes(data if damage == "a changed byte" else b"none")
    if damage != "no manifest":
        with pytest.raises(InputError, match=r"runs\.parquet has changed since it was written"):
            fullpipe.Sweep.load(mine)
    assert fullpipe.sweep(small, axes, out=mine).runs.equals(table)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"fullpipe: {mine}: ")
    assert line.endswith("; all runs are made again")
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == whole


def test_what_breaks_in_one_run_stops_no_other(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"flows.count": [1, 2, 3, 4]}
    whole = fullpipe.sweep(small, axes).runs
    run = engines.run
    faults: dict[int, BaseException] = {
        2: FullpipeError("needs 80 GB of memory; there are 4"),
        3: MemoryError(),
        4: RuntimeError("a panic\nof two lines"),
    }

    def faulty(scenario: Scenario, **options: Any) -> Any:
        fault = faults.get(scenario.to_dict()["flows"][0]["count"])
        if fault is not None:
            raise fault
        return run(scenario, **options)

    monkeypatch.setattr(engines, "run", faulty)
    first = fullpipe.sweep(small, axes, out=tmp_path / "out")
    reasons = [None, "needs 80 GB of memory; there are 4", "MemoryError", "a panic of two lines"]
    assert first.runs["error"].to_pylist() == reasons
    assert first.failed == first.to_dict()["failed"] == 3
    assert first.summary()["failed"].to_pylist() == [0, 1, 1, 1]
    title = first.plot(x="count", metric="utilization").axes[0].get_title("left")
    assert title.endswith("(3 of 4 runs failed)")

    # The failed ones are tried again.
    monkeypatch.setattr(stores, "PATIENCE_S", 0.0)
    faults.clear()
    assert fullpipe.sweep(small, axes, out=tmp_path / "out", workers=1).runs.equals(whole)


def test_failed_runs_on_the_command_line(program: Program, tmp_path: Path) -> None:
    text = SMALL + '[sweep]\nduration = ["4 s", "10 s"]\nwarmup = ["2 s", "8 s"]\n'
    (tmp_path / "sweep.toml").write_text(text)
    done = program("sweep", "sweep.toml", "--out", "out", "--plot", "p.png", "--x", "duration", "--y", "utilization")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fullpipe: 1 of 4 runs failed, run 1: sweep.toml: warmup: ")
    assert line.endswith("; a re-run tries them again")
    assert done.stdout.split("\n")[1].split()[-1] == "failed"
    assert (tmp_path / "p.png").exists()


def test_a_full_disk(sweep_file: Path, tmp_path: Path) -> None:
    # The kernel refuses files over 4 kB: a real failure to write, in the middle of the sweep.
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "from fullpipe._cli import main; sys.argv[1:] = ['sweep', 'sweep.toml', '--out', 'out']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    # SQLite does not hand on the system's reason.
    assert line == "fullpipe: out: disk I/O error; finished runs are kept; run the command again to continue"
    again = subprocess.run(
        [PROGRAM, "sweep", sweep_file.name, "--out", "out"], cwd=tmp_path, capture_output=True, check=False
    )
    assert again.returncode == 0
    assert len(pq.read_table(tmp_path / "out/runs.parquet")) == RUNS


BAD = {
    "unknown key": ("links.bottleneck.buffer", "links.bottleneck.bufer", "sweep.links.bottleneck.bufer: unknown key"),
    "near key": ("links.bottleneck.buffer", "links.bottleneck.bufer", 'did you mean "buffer"'),
    "unknown link": ("links.bottleneck.buffer", "links.botleneck.buffer", "did you mean 'bottleneck'"),
    "unknown table": ("links.bottleneck.buffer", "lnks.bottleneck.buffer", "did you mean 'links'"),
    "unknown algorithm": ('["newreno"', '["newrneo"', "sweep.flows.algorithm: newrneo: unknown algorithm"),
    "unknown parameter": ("alpha = 2", "alhpa = 2", "alhpa"),
    "a value twice": ('["newreno"', '["newreno", "newreno"', "twice"),
    "a table twice": (
        '["newreno", ',
        '["newreno", { name = "vegas", beta = 4, alpha = 2 }, { alpha = 2, beta = 4, name = "vegas" }, ',
        "must have each value once, got 'vegas (alpha=2, beta=4)' twice",
    ),
    "empty list": ('["newreno", { name = "vegas", alpha = 2 }]', "[]", "requires at least one value"),
    "no list": ('["newreno", { name = "vegas", alpha = 2 }]', '"newreno"', "a list or"),
    "backward range": ('to = "100 packets"', 'to = "1 packets"', "must be above 'from'"),
    "range of one point": ("count = 4", "count = 1", "count"),
    "range without number": (", count = 4", "", "'step' or 'count'"),
    "range with both": ("count = 4", 'count = 4, step = "1 packets"', "'step' or 'count'"),
    "range without end": (', to = "100 packets"', "", "requires 'to'"),
    "step in a log range": ("count = 4", 'step = "1 packets"', "conflicts with 'step'"),
    "step of none": ('count = 4, scale = "log"', 'step = "0 packets"', "'step' must be above 0, got 0"),
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
    "no table": (SWEEP[SWEEP.index("[sweep]") :], "", "sweep: requires a table"),
    "empty table": (SWEEP[SWEEP.index("[sweep]") :], "[sweep]", "requires an axis or repeats"),
    "wrong scenario": ("warmup", "warmpu", "warmpu"),
    "not TOML": ("[sweep]", "[sweep", "TOML"),
    "a whole number beyond 64 bits": (
        "alpha = 2",
        "alpha = 9223372036854775808",
        "not TOML: u64 value was too large",
    ),
    "one of 5,000 digits": ("repeats = 3", f"repeats = {'9' * 5000}", "not TOML: integer number overflowed"),
    "one in a range": ("count = 4", f"count = {'9' * 400}", "not TOML: integer number overflowed"),
    "seeds beyond 64 bits": (
        "duration",
        "seed = 9223372036854775807\nduration",
        "sweep.repeats: the last seed must be at most 922",
    ),
    "nested lists": ('["newreno"', f'[{"[" * 2000}{"]" * 2000}, "newreno"', "not TOML: cannot recurse further"),
    "nested tables": ("alpha = 2", f"alpha = {'{a=' * 2000}1{'}' * 2000}", "not TOML: cannot recurse further"),
    "a few nested lists": ('["newreno"', f'[{"[" * 20}{"]" * 20}, "newreno"', "levels of lists and tables"),
    "a few nested keys": ('"flows.algorithm"', f"a{'.a' * 20}", "levels of tables"),
    "a key of 5,000 digits": (
        "links.bottleneck.buffer",
        f"links.{'1' * 5000}.buffer",
        "the entry must be in [0, 0], got 1111",
    ),
    "the same key twice": ("[sweep]", '[sweep]\n"links.0.buffer" = ["10 packets"]', "conflicts with links.0.buffer"),
    "a parameter before its algorithm": ("[sweep]", "[sweep]\nflows.algorithm.beta = [4]", "put it before that"),
    "series": ("[sweep]", '[sweep]\nseries_interval = ["1 s"]', "conflicts with a sweep, which samples no series"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_sweep(tmp_path: Path, case: str) -> None:
    before, after, names = BAD[case]
    assert SWEEP.count(before) == 1
    file = tmp_path / "wrong.toml"
    file.write_text(SWEEP.replace(before, after))
    with pytest.raises(ScenarioError) as caught:
        read_plan(file.read_text(), file=str(file))
    (line,) = str(caught.value).splitlines()
    assert re.match(rf"{re.escape(str(file))}(:\d+)?: ", line)
    assert names in line


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    lists: list[Any] = []
    for _ in range(depth):
        lists = [lists]
    return lists


@pytest.mark.parametrize(
    ("axes", "names"),
    [
        ({"flows.count": [1, 2**63]}, "sweep.flows.count: a whole number must be in"),
        ({"flows.count": [10**5000, 1.5]}, "sweep.flows.count: a whole number must be in"),
        (
            {"flows.algorithm": [{"name": "vegas", "alpha": -(2**63) - 1}]},
            "sweep.flows.algorithm: a whole number must be in",
        ),
        ({"flows.count": {"from": 1, "to": 10**400, "count": 3}}, "sweep.flows.count: a whole number must be in"),
        ({"flows.count": {"from": 1, "to": 3, "step": 10**400}}, "sweep.flows.count: a whole number must be in"),
        ({"flows.count": nested(2000)}, "sweep.flows.count: a value must have at most"),
        ({"flows.count": itertools.count(1)}, "sweep.flows.count: must have at most 100000 values"),
        ({f"links.a{i}.delay": ["1 ms", "2 ms"] for i in range(100_000)}, "sweep: must have at most 100 axes"),
        ({f"links.a{i}.delay": range(100_000) for i in range(100)}, "sweep: must make at most"),
    ],
)
def test_axes_that_no_file_could_hold(
    small: Scenario, monkeypatch: pytest.MonkeyPatch, axes: dict[str, Any], names: str
) -> None:
    monkeypatch.delattr(Scenario, "replace")  # all this is refused before any combination is looked at
    with pytest.raises(ScenarioError) as caught:
        fullpipe.sweep(small, axes)
    assert str(caught.value).startswith(names)


@pytest.mark.parametrize("repeats", [10**5000, "3", None, True], ids=["huge", "text", "none", "flag"])
def test_repeats_that_are_no_number_of_runs(small: Scenario, repeats: Any) -> None:
    with pytest.raises(ScenarioError, match=r"sweep\.repeats: must be a whole number in \[1, 10000000\], got "):
        fullpipe.sweep(small, {}, seeds=repeats)


def test_large_whole_numbers_stay_exact() -> None:
    (axis,) = read_axes({"seed": {"from": 2**63 - 5, "to": 2**63 - 1, "step": 2}})
    assert axis.values == (2**63 - 5, 2**63 - 3, 2**63 - 1)
    (axis,) = read_axes({"seed": {"from": 2**53 + 1, "to": 2**53 + 3, "count": 3}})
    assert axis.values == (2**53 + 1, 2**53 + 2, 2**53 + 3)


def test_the_check_of_a_plan_is_linear(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Scenario.replace
    checks = itertools.count()

    def counting(self: Scenario, **changes: Any) -> Scenario:
        next(checks)
        return replace(self, **changes)

    monkeypatch.setattr(Scenario, "replace", counting)
    # No run with these single values is valid: the scenario lasts 20 s, 5 s of them for the warm-up.
    warmups, durations = [f"{s} s" for s in range(21, 421)], [f"{s} s" for s in range(422, 822)]
    told: list[tuple[float, float]] = []
    axes = read_axes({"warmup": warmups, "duration": durations})
    plan = Plan(small, axes, 1, lambda done, total: told.append((done, total)))
    assert plan.runs == 160_000
    assert told == [(i, 800) for i in range(1, 801)]
    assert next(checks) < 2000
    # A value that is invalid in each of 400 combinations is refused after they were tried.
    with pytest.raises(ScenarioError, match=r"sweep\.warmup: 900 s: "):
        Plan(small, read_axes({"warmup": [*warmups, "900 s"], "duration": durations}))
    assert next(checks) < 4000
    # With too many combinations, the runs report the error.
    monkeypatch.setattr(plans, "MOST_TRIED", 50)
    Plan(small, read_axes({"warmup": [*warmups, "900 s"], "duration": durations}))


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
        (["--workers", "1000000000"], "workers must be in [1, 1000], got 1000000000"),
        (["--by", "algorithm"], "--plot"),
        (
            ["--plot", "p.png", "--x", "delay"],
            "unknown axis 'delay' (allowed: links.bottleneck.buffer, flows",
        ),
        (["--plot", "p.png", "--y", "utilisation"], "did you mean 'utilization'"),
        (["--plot", "p.bmp"], ".bmp"),
        (["--plot", "p.png", "--by", "delay"], "unknown axis 'delay'"),
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
    errors = fullpipe.sweep(small, axes).runs["error"].to_pylist()
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
    # A sum of three tenths is not 0.3, and its third no tenth.
    assert estimate([0.1] * 3) == Estimate(0.1, 0.0, 0.0)


def test_summary_and_picture(small: Scenario, tmp_path: Path) -> None:
    outcome = fullpipe.sweep(small, {"flows.algorithm": ["reno", "vegas"], "flows.count": [1, 2]}, seeds=3)
    values = [row["utilization"] for row in outcome.runs.to_pylist()[3:6]]
    summary = outcome.summary().to_pylist()[1]
    assert (summary["flows.algorithm"], summary["flows.count"], summary["runs"]) == ("reno", 2, 3)
    assert summary["utilization_mean"] == pytest.approx(sum(values) / 3)
    figure = outcome.plot(tmp_path / "p.svg", x="count", metric="utilization")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["reno", "vegas"]
    line = figure.axes[0].containers[0].lines[0]
    assert list(line.get_ydata()) == pytest.approx(
        [100 * row["utilization_mean"] for row in outcome.summary().to_pylist()[:2]]
    )
    with pytest.raises(InputError, match="did you mean 'utilization'"):
        outcome.plot(x="count", metric="utilisation")
