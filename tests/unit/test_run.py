"""Runs: repeatable, interruptible, and without the interpreter's lock."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import fullpipe
from fullpipe import Result, Scenario
from fullpipe.errors import InputError

TABLES = ("links", "flows", "traffic", "series", "link_series")


def fingerprint(result: Result) -> list[object]:
    """Everything but the time on the wall, bit for bit (NaN included)."""
    tables = [getattr(result, name) for name in TABLES]
    arrays = [[chunk.to_pylist() for chunk in table.columns] for table in tables]
    return [
        [table.schema for table in tables],
        repr(arrays),
        result.totals["data_packets"],
        result.totals["jain_index"],
    ]


def long(small: Scenario) -> Scenario:
    """Some hours of simulated time: seconds at least on any machine."""
    return small.replace(duration="20000 s", **{"links.bottleneck.rate": "100 Mbit/s"})


def test_the_same_scenario_and_seed_give_the_same_result_twice_and_on_two_threads(small: Scenario) -> None:
    first = fingerprint(fullpipe.run(small))
    assert fingerprint(fullpipe.run(small)) == first
    with ThreadPoolExecutor(2) as pool:
        assert [fingerprint(result) for result in pool.map(fullpipe.run, [small, small])] == [first, first]


def test_another_seed_draws_other_starts(small: Scenario) -> None:
    result = fullpipe.run(small, seed=2)
    assert result.scenario.seed == 2
    assert fingerprint(result) != fingerprint(fullpipe.run(small))
    assert fingerprint(result) == fingerprint(fullpipe.run(small.replace(seed=2)))


def test_other_threads_go_on_during_a_run(small: Scenario) -> None:
    turns = 0
    enough = threading.Event()

    def work() -> None:
        nonlocal turns
        while turns < 1000:
            turns += 1
            threading.Event().wait(0.0001)
        enough.set()

    def stop_when_enough(_reached_s: float, _total_s: float) -> None:
        if enough.is_set():
            raise StopIteration

    # The run ends only because the other thread got through its turns meanwhile.
    threading.Thread(target=work, daemon=True).start()
    with pytest.raises(StopIteration):
        fullpipe.run(long(small), progress=stop_when_enough)
    assert turns == 1000


def test_progress_tells_simulated_time(small: Scenario) -> None:
    told: list[tuple[float, float]] = []

    def tell(reached_s: float, total_s: float) -> None:
        told.append((reached_s, total_s))
        if len(told) == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        fullpipe.run(long(small), progress=tell)
    reached = [reached_s for reached_s, _ in told]
    assert 0 < reached[0] < reached[1] < reached[2] < 20000
    assert {total_s for _, total_s in told} == {20000.0}


def test_many_runs_keep_their_names_and_equal_single_ones(small: Scenario) -> None:
    scenarios = {seed: small.replace(seed=seed) for seed in (3, 1, 2)}
    results = fullpipe.run_many(scenarios, workers=2)
    assert list(results) == [3, 1, 2]
    for seed, scenario in scenarios.items():
        assert fingerprint(results[seed]) == fingerprint(fullpipe.run(scenario))


def test_a_failure_stops_the_other_runs(small: Scenario) -> None:
    def fail(_reached_s: float, _total_s: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fullpipe.run_many({1: long(small), 2: long(small)}, workers=2, progress=fail)


def test_unknown_engine(small: Scenario) -> None:
    with pytest.raises(ValueError, match="unknown engine 'abacus'"):
        fullpipe.run(small, engine="abacus")


def test_the_kernel_reaches_the_linux_engine_alone(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    booted = []

    def guest(scenario: Scenario, _progress: object, *, kernel: str | None) -> object:
        booted.append(kernel)
        return scenario.model.run()

    monkeypatch.setattr("fullpipe.linux.run", guest)
    fullpipe.run(small, engine="linux")
    fullpipe.run_many({1: small}, engine="linux", kernel="linux-image-amd64/forky")
    assert booted == [None, "linux-image-amd64/forky"]
    with pytest.raises(InputError, match="kernel = 'linux-image-amd64' requires the engine linux, got simulator"):
        fullpipe.run(small, kernel="linux-image-amd64")
    assert len(booted) == 2


def test_compare_runs_all_flows_with_each_algorithm(small: Scenario) -> None:
    comparison = fullpipe.compare(small, ["reno", {"name": "vegas", "alpha": 2}])
    assert list(comparison.results) == ["reno", "vegas (alpha=2)"]
    flows = [result.flows["algorithm"].to_pylist() for result in comparison.results.values()]
    assert flows == [["reno", "reno"], ["vegas", "vegas"]]
    assert set(comparison.links["name"].to_pylist()) == {"bottleneck"}
    alone = fullpipe.run(small.replace(**{"flows.algorithm": "reno"}))
    assert fingerprint(comparison.results["reno"]) == fingerprint(alone)


@pytest.mark.parametrize("algorithms", [[], ["reno", "reno"], ["rneo"]])
def test_compare_refuses(small: Scenario, algorithms: list[str]) -> None:
    with pytest.raises(ValueError, match=r"at least one algorithm|once each|did you mean"):
        fullpipe.compare(small, algorithms)


def test_run_many_keeps_the_order_of_the_keys(small: Scenario) -> None:
    results = fullpipe.run_many({seed: small.replace(seed=seed) for seed in (3, 1, 2)}, workers=2)
    assert [(seed, result.scenario.seed) for seed, result in results.items()] == [(3, 3), (1, 1), (2, 2)]
    assert fullpipe.run_many({}) == {}
