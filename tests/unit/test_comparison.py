"""Runs and refusals of a comparison; results are written by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from by_hand import SCENARIO, by_hand
from fullpipe import Scenario, ScenarioError, compare, run, run_many
from fullpipe._util.display import Shown
from fullpipe._util.files import MANIFEST
from fullpipe.errors import InputError
from fullpipe.experiments.comparison import Comparison
from fullpipe.runs.design import Done, Run
from fullpipe.runs.runner import Runner


class Runs:
    """Replacement of `Runner.rows` that notes its arguments and reports progress halfway."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Scenario], str, int | None]] = []
        self.stops: list[threading.Event | None] = []
        self.others: list[tuple[str | None, int | str | None]] = []

    def __call__(self, runner: Runner, design: Sequence[Run]) -> Generator[Done]:
        seeds = [(run.seed or 0) - run.case.scenario.seed for run in design]
        assert set(seeds) <= {0, 1}
        first = {str(i): run.case.scenario for i, (run, seed) in enumerate(zip(design, seeds, strict=True)) if not seed}
        self.asked.append((first, runner.engine, runner.options.workers))
        self.stops.append(runner.options.stop)
        self.others.append((runner.kernel, runner.options.memory))
        if runner.options.progress is not None:
            runner.options.progress(1.0, float(len(design)))
        yield from (Done(run, {"result": by_hand(engine=runner.engine)}) for run in design)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    stand_in = Runs()
    monkeypatch.setattr(Runner, "rows", lambda runner, design: stand_in(runner, design))
    return stand_in


def test_a_comparison_shows_its_seeds_where_there_are_several() -> None:
    assert repr(Comparison({"bic": [by_hand(), by_hand()]})) == "<Comparison of bic, 2 seeds>"


def test_rows_of_links_have_metrics_of_the_run_that_links_lack() -> None:
    both = Comparison({"bic": [by_hand(), by_hand()], "reno": [by_hand()]})
    assert both.seeds == 2
    runs = both.by_link().runs
    assert len(set(runs.column_names)) == len(runs.column_names)
    assert runs["link"].to_pylist() == ["bottleneck", "edge"] * 3
    assert runs["jain_index"].to_pylist() == [by_hand().figures()["jain_index"]] * 6
    assert runs["utilization"].to_pylist() == [0.8123, 0.0617] * 3


def test_two_seeds_show_that_nothing_is_random(runs: Runs) -> None:
    """The replacement of the simulator takes at most two seeds, and gives equal results for all."""
    quiet = compare(Scenario(**SCENARIO), ["bic", "reno"])
    assert (quiet.exact, quiet.seeds, len(runs.asked)) == (True, 1, 1)


def test_a_keyword_that_is_none_is_refused(small: Scenario) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrokers'; did you mean 'workers'"):
        run_many({1: small}, wrokers=2)  # type: ignore[call-arg,unused-ignore]


def test_algorithms_take_all_flows(runs: Runs) -> None:
    said: list[tuple[float, float]] = []
    stop = threading.Event()
    both = compare(
        Scenario(**SCENARIO),
        ["bic", {"name": "vegas", "alpha": 1, "beta": 3}, {"name": "tahoe"}],
        workers=5,
        seeds=1,
        stop=stop,
        progress=lambda reached, whole: said.append((reached, whole)),
    )
    ((scenarios, engine, workers),) = runs.asked
    assert list(both.results) == ["bic", "vegas (alpha=1, beta=3)", "tahoe"]
    assert repr(both) == "<Comparison of bic, vegas (alpha=1, beta=3), tahoe>"
    flows = [[group["algorithm"] for group in scenario.to_dict()["flows"]] for scenario in scenarios.values()]
    assert flows == [["bic"] * 2, [{"name": "vegas", "alpha": 1, "beta": 3}] * 2, [{"name": "tahoe"}] * 2]
    assert (engine, workers, runs.stops) == ("simulator", 5, [stop])
    assert said == [(1, 3)]


def test_several_engines_run_one_after_the_other(runs: Runs) -> None:
    said: list[tuple[float, float]] = []
    both = compare(
        Scenario(**SCENARIO),
        ["bic"],
        engine=["simulator", "linux"],
        workers=2,
        progress=lambda reached, whole: said.append((reached, whole)),
    )
    assert [(engine, workers) for _, engine, workers in runs.asked] == [("simulator", 2), ("linux", 2)]
    assert {label: run.engine for label, run in both.results.items()} == {
        "bic on simulator": "simulator",
        "bic on linux": "linux",
    }
    # Two engines of one run each: the first, then both.
    assert said == [(1, 2), (2, 2)]
    assert compare(Scenario(**SCENARIO), ["bic"], engine=["simulator", "linux"]).results


def test_without_algorithms_the_scenarios_own_run_on_several_engines(runs: Runs) -> None:
    said: list[tuple[float, float]] = []
    stop = threading.Event()
    both = compare(
        Scenario(**SCENARIO),
        engine=("linux", "simulator"),
        workers=3,
        stop=stop,
        progress=lambda reached, whole: said.append((reached, whole)),
    )
    assert list(both.results) == ["reno + vegas on linux", "reno + vegas on simulator"]
    ((scenarios, _, workers), _) = runs.asked
    assert scenarios == {"0": Scenario(**SCENARIO)}
    assert (workers, runs.stops) == (3, [stop, stop])
    assert said == [(1, 2), (2, 2)]
    without = Scenario(**{key: value for key, value in SCENARIO.items() if key != "flows"})
    assert list(compare(without, engine=("linux", "simulator")).results) == [
        "no flows on linux",
        "no flows on simulator",
    ]


def test_the_kernel_is_the_linux_engines_the_memory_everyones(runs: Runs) -> None:
    two = ["simulator", "linux"]
    compare(Scenario(**SCENARIO), ["bic"], engine=two, kernel="linux-image-cloud-amd64/trixie", memory=10**9)
    assert runs.others == [(None, 10**9), ("linux-image-cloud-amd64/trixie", 10**9)]


def test_a_kernel_that_none_can_take_is_refused_before_anything_runs(runs: Runs) -> None:
    for engine, kernel, problem in (
        ("simulator", "linux-image-amd64", "kernel = 'linux-image-amd64' requires the engine linux, got simulator"),
        (["simulator", "linux"], "../x", "kernel must be a package, or a package and a suite"),
    ):
        with pytest.raises(InputError) as error:
            compare(Scenario(**SCENARIO), ["bic"], engine=engine, kernel=kernel)
        assert str(error.value).startswith(problem)
    assert runs.asked == []


def test_what_it_says_no_to(runs: Runs) -> None:
    scenario = Scenario(**SCENARIO)
    for algorithms, engine, problem in (
        ([], "simulator", "compare requires at least one algorithm"),
        (["bic", "bic"], "simulator", "algorithms must be named once each, got bic, bic"),
        (None, "simulator", "compare requires --algorithms or at least two engines"),
        (["bic"], ["linux", "linux"], "engines must be named once each, got linux, linux"),
        (["bic"], ["simulator", "abacus"], "unknown engine 'abacus' (allowed: simulator, linux)"),
    ):
        with pytest.raises(InputError) as error:
            compare(scenario, algorithms, engine=engine)
        assert str(error.value) == problem
    without = Scenario.from_dict({key: value for key, value in SCENARIO.items() if key != "flows"}, file="a.toml")
    with pytest.raises(ScenarioError) as wrong:
        compare(without, ["bic"])
    assert str(wrong.value) == "a.toml: flows: compare requires at least one flow"
    assert runs.asked == []


def test_files_and_json(tmp_path: Path) -> None:
    both = Comparison({"bic": by_hand(), "vegas (alpha=1)": by_hand(engine="linux")})
    both.save(tmp_path / "out")
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").glob("*")) == [
        MANIFEST,
        "bic",
        "comparison.json",
        "flows.parquet",
        "links.parquet",
        "runs.parquet",
        "summary.parquet",
        "vegas (alpha=1)",
    ]
    text = (tmp_path / "out/comparison.json").read_text(encoding="utf-8")
    assert text == both.to_json() + "\n"
    assert text.startswith('{\n  "exact": false,\n  "runs": [\n    {\n      "algorithm": "bic",\n')
    runs: list[dict[str, Any]] = json.loads(text)["runs"]
    assert [(run["algorithm"], run["engine"]) for run in runs] == [("bic", "simulator"), ("vegas (alpha=1)", "linux")]
    assert {**runs[1], "engine": "simulator"} == {"algorithm": "vegas (alpha=1)", **by_hand().to_dict()}
    assert pq.read_table(tmp_path / "out/summary.parquet").equals(both.summary())
    assert pq.read_table(tmp_path / "out/flows.parquet").equals(both.flows)
    assert json.loads((tmp_path / "out/bic/result.json").read_text()) == by_hand().to_dict()


NOISY = {
    "duration": "5 s",
    "warmup": "1 s",
    "links": [{"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "20 packets", "loss": 0.01}],
    "flows": [{"algorithm": "reno"}],
}


def test_five_seeds_where_anything_is_random_and_one_where_nothing_is() -> None:
    noisy = compare(NOISY, ["reno", "cubic"])
    assert [(row["algorithm"], row["seed"]) for row in noisy.runs.to_pylist()] == [
        (name, seed) for name in ("reno", "cubic") for seed in range(1, 6)
    ]
    quiet = compare({**NOISY, "links": [{**NOISY["links"][0], "loss": 0}]}, ["reno", "cubic"])  # type: ignore[index,dict-item]
    assert quiet.runs["seed"].to_pylist() == [1, 1]
    assert (quiet.exact, noisy.exact) == (True, False)
    # Every seed gives an equal value, so the mean has no uncertainty.
    assert quiet.summary()["utilization_ci95"].to_pylist() == [0, 0]
    assert compare(NOISY, ["reno"], seeds=1).summary()["utilization_ci95"].to_pylist() == [None]
    assert compare(NOISY, ["reno", "cubic"], seeds=4).runs.num_rows == 8
    for seeds in (0, 1001):
        with pytest.raises(InputError, match=rf"seeds must be in \[1, 1000\], got {seeds}"):
            compare(NOISY, ["reno"], seeds=seeds)


def test_means_and_intervals_are_those_of_single_runs() -> None:
    """Worked from runs one by one; t of 95 % and 2 degrees of freedom is 4.302653 (Student's distribution, tables)."""
    both = compare(NOISY, ["reno", "cubic"], seeds=3)
    values = [run(NOISY, seed=seed).figures()["goodput_bps"] for seed in (1, 2, 3)]
    row = both.summary().to_pylist()[0]
    mean = sum(values) / 3
    assert row["goodput_bps_mean"] == pytest.approx(mean)
    sd = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    assert sd > 0
    assert row["goodput_bps_ci95"] == pytest.approx(4.302653 * sd / 3**0.5)
    assert row["runs"] == 3
    (table,) = both.shown()
    assert isinstance(table, Shown)
    assert table.title == "Means over 3 seeds and their 95 % confidence intervals"
    assert f"{mean / 1e6:.2f} ± {row['goodput_bps_ci95'] / 1e6:.2f}" in table.rows[0]


def test_all_runs_come_back(tmp_path: Path) -> None:
    both = compare(NOISY, ["reno", "cubic"], seeds=2)
    both.save(tmp_path / "out")
    again = Comparison.load(tmp_path / "out")
    assert again.summary().equals(both.summary())
    assert again.flows.equals(both.flows)
    assert again.links.equals(both.links)
    assert again.to_json() == both.to_json()
    assert again.runs.equals(both.runs)
    seeds = [(one["algorithm"], one["seed"]) for one in json.loads(both.to_json())["runs"]]
    assert seeds == [("reno", 1), ("reno", 2), ("cubic", 1), ("cubic", 2)]


def test_labels_that_share_their_beginning_have_directories_of_their_own(tmp_path: Path) -> None:
    labels = ["a/b.bpf.o", "a_b.bpf.o", "x" * 300 + "1", "x" * 300 + "2"]
    Comparison({label: by_hand(engine=label) for label in labels}).save(tmp_path / "out")
    again = Comparison.load(tmp_path / "out")
    assert {label: result.engine for label, result in again.results.items()} == {label: label for label in labels}


def test_a_picture_is_written_where_asked(tmp_path: Path) -> None:
    both = Comparison({"bic": by_hand()})
    both.plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
