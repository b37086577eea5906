"""What a comparison runs, and what it says no to; results are written by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from by_hand import SCENARIO, by_hand
from fullpipe import Result, Scenario, ScenarioError, compare, run, run_many
from fullpipe._util.display import Shown
from fullpipe._util.files import MANIFEST
from fullpipe.errors import InputError
from fullpipe.experiments import compare as comparison
from fullpipe.experiments.comparison import MEANS, Comparison


class Runs:
    """Stands for `run_many`: notes what it is asked for, and tells progress halfway."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Scenario], str, int | None]] = []
        self.stops: list[threading.Event | None] = []
        self.others: list[tuple[str | None, int | None]] = []

    def __call__(
        self,
        scenarios: Mapping[tuple[str, int], Scenario],
        *,
        workers: int | None,
        progress: Callable[[float, float], object],
        stop: threading.Event | None,
        engine: str,
        kernel: str | None,
        memory_bytes: int | None,
    ) -> dict[tuple[str, int], Result]:
        assert all(number in (0, 1) for _, number in scenarios)
        self.asked.append(({label: one for (label, i), one in scenarios.items() if i == 0}, engine, workers))
        self.stops.append(stop)
        self.others.append((kernel, memory_bytes))
        progress(3.0, 8.0)
        return {key: by_hand(engine=engine) for key in scenarios}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    stand_in = Runs()
    monkeypatch.setattr(comparison, "run_many", stand_in)
    return stand_in


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
    assert list(scenarios) == list(both.results) == ["bic", "vegas (alpha=1, beta=3)", "tahoe"]
    flows = [[group["algorithm"] for group in scenario.to_dict()["flows"]] for scenario in scenarios.values()]
    assert flows == [["bic"] * 2, [{"name": "vegas", "alpha": 1, "beta": 3}] * 2, [{"name": "tahoe"}] * 2]
    assert (engine, workers, runs.stops) == ("simulator", 5, [stop])
    assert said == [(3, 12)]


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
    # Two engines of four seconds each: three of the first, then the whole first and three of the second.
    assert said == [(3, 8), (7, 8)]
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
    assert scenarios == {"reno + vegas": Scenario(**SCENARIO)}
    assert (workers, runs.stops) == (3, [stop, stop])
    assert said == [(3, 8), (7, 8)]
    compare(
        Scenario(**{key: value for key, value in SCENARIO.items() if key != "flows"}), engine=("linux", "simulator")
    )
    assert list(runs.asked[-1][0]) == ["no flows"]


def test_the_kernel_is_the_linux_engines_the_memory_everyones(runs: Runs) -> None:
    two = ["simulator", "linux"]
    compare(Scenario(**SCENARIO), ["bic"], engine=two, kernel="linux-image-cloud-amd64/trixie", memory_bytes=10**9)
    assert runs.others == [(None, 10**9), ("linux-image-cloud-amd64/trixie", 10**9)]


def test_a_kernel_that_none_can_take_is_refused_before_anything_runs(runs: Runs) -> None:
    for engine, kernel, problem in (
        ("simulator", "linux-image-amd64", "kernel = 'linux-image-amd64': for the engine linux, not simulator"),
        (["simulator", "linux"], "../x", "kernel = '../x': not a package, nor a package and a suite"),
    ):
        with pytest.raises(InputError) as error:
            compare(Scenario(**SCENARIO), ["bic"], engine=engine, kernel=kernel)
        assert str(error.value).startswith(problem)
    assert runs.asked == []


def test_what_it_says_no_to(runs: Runs) -> None:
    scenario = Scenario(**SCENARIO)
    for algorithms, engine, problem in (
        ([], "simulator", "no algorithms to compare; name at least one"),
        (["bic", "bic"], "simulator", "an algorithm is named twice: bic, bic"),
        (None, "simulator", "nothing to compare; name --algorithms, or at least two engines"),
        (["bic"], ["linux", "linux"], "an engine is named twice: linux, linux"),
        (["bic"], ["simulator", "abacus"], "unknown engine 'abacus' (allowed: simulator, linux)"),
    ):
        with pytest.raises(InputError) as error:
            compare(scenario, algorithms, engine=engine)
        assert str(error.value) == problem
    without = Scenario.from_dict({key: value for key, value in SCENARIO.items() if key != "flows"}, file="a.toml")
    with pytest.raises(ScenarioError) as wrong:
        compare(without, ["bic"])
    assert str(wrong.value) == "a.toml: flows: there are none whose algorithm could be compared"
    assert runs.asked == []


def test_files_and_json(tmp_path: Path) -> None:
    both = Comparison({"bic": by_hand(), "vegas (alpha=1)": by_hand(engine="linux")})
    both.save(tmp_path / "out")
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").glob("*")) == [
        MANIFEST,
        "bic",
        "comparison.json",
        "comparison.parquet",
        "runs.parquet",
        "vegas (alpha=1)",
    ]
    text = (tmp_path / "out/comparison.json").read_text(encoding="utf-8")
    assert text == both.to_json() + "\n"
    assert text.startswith('{\n  "runs": [\n    {\n      "algorithm": "bic",\n')
    runs: list[dict[str, Any]] = json.loads(text)["runs"]
    assert [(run["algorithm"], run["engine"]) for run in runs] == [("bic", "simulator"), ("vegas (alpha=1)", "linux")]
    assert {**runs[1], "engine": "simulator"} == {"algorithm": "vegas (alpha=1)", **by_hand().to_dict()}
    assert pq.read_table(tmp_path / "out/comparison.parquet").to_pylist() == both.rows()
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
    assert {name: row for name, row in quiet.rows()[0].items() if name.endswith("_ci95")}.keys() == {
        f"{name}_ci95" for name in MEANS
    }
    assert quiet.rows()[0]["utilization_ci95"] is None
    assert compare(NOISY, ["reno", "cubic"], seeds=4).runs.num_rows == 8
    for seeds in (0, 1001):
        with pytest.raises(InputError, match=rf"seeds = {seeds} \(allowed: 1 to 1000\)"):
            compare(NOISY, ["reno"], seeds=seeds)


def test_means_and_intervals_are_those_of_single_runs() -> None:
    """Worked from runs one by one; t of 95 % and 2 degrees of freedom is 4.302653 (Student's distribution, tables)."""
    both = compare(NOISY, ["reno", "cubic"], seeds=3)
    values = [run(NOISY, seed=seed).figures()["goodput_bps"] for seed in (1, 2, 3)]
    row = both.rows()[0]
    mean = sum(values) / 3
    assert row["goodput_bps"] == pytest.approx(mean)
    sd = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    assert sd > 0
    assert row["goodput_bps_ci95"] == pytest.approx(4.302653 * sd / 3**0.5)
    assert row["seeds"] == 3
    (table,) = both.shown()
    assert isinstance(table, Shown)
    assert table.title == "Means over 3 seeds and their 95 % confidence intervals"
    assert f"{mean / 1e6:.2f} ± {row['goodput_bps_ci95'] / 1e6:.2f} Mbit/s" in table.rows[0]


def test_all_runs_come_back(tmp_path: Path) -> None:
    both = compare(NOISY, ["reno", "cubic"], seeds=2)
    both.save(tmp_path / "out")
    again = Comparison.load(tmp_path / "out")
    assert again.rows() == both.rows()
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
