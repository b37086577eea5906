"""Explanations of measurements: estimates, distances, verdicts, and whole fits of simulated measurements."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fullpipe
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError
from fullpipe.experiments.explain.estimate import estimate
from fullpipe.experiments.explain.explaining import Work
from fullpipe.experiments.explain.fit import RANKING_SEEDS, Range
from fullpipe.experiments.explain.objective import distance, judge
from fullpipe.experiments.explain.observation import Metrics, Trace, metrics_of, observe
from fullpipe.experiments.explain.path import Candidate, Params, scenario_of
from fullpipe.measurements import Measurement
from fullpipe.measurements.own import from_result
from fullpipe.measurements.schema import Builder
from fullpipe.runs.runner import Runner


def measured(duration: str = "12 s", algorithm: str = "cubic", **link: object) -> Measurement:
    """Measurement of a simulated flow at its sender, without the queue of the link."""
    link = {"name": "l", "rate": "5 Mbit/s", "delay": "10 ms", "buffer": "25 packets", **link}
    flow = {"algorithm": algorithm, "host": "linux", "processing_time": "100 us"}
    scenario = fullpipe.Scenario(
        duration=duration, series_interval="50 ms", packet_size=1500, seed=77, links=[link], flows=[flow]
    )
    found = from_result(fullpipe.run(scenario))
    return replace(found, link_samples=found.link_samples.slice(0, 0))


def named(measurement: Measurement, algorithm: str | None) -> Measurement:
    return changed(measurement, "algorithm", algorithm)


def changed(measurement: Measurement, name: str, value: str | None) -> Measurement:
    """The measurement with another value in a column of its flows."""
    flows = measurement.flows
    place = flows.schema.get_field_index(name)
    column: Any = pa.array([value] * len(flows), pa.string())
    return replace(measurement, flows=flows.set_column(place, flows.schema.field(place), column))


def test_goodput_and_rtt_of_windows() -> None:
    at = np.arange(0.0, 8.01, 0.1)
    # 1000 bytes per second in the first half, 2000 in the second; the RTT grows by 1 s a second.
    acked = np.where(at <= 4, 1000 * at, 4000 + 2000 * (at - 4))
    found = metrics_of(Trace(at, acked, at, at + 1, at, 0 * at + 5), 0.0, 8.0)
    assert found.goodput == pytest.approx([8000.0] * 4 + [16000.0] * 4)
    assert found.values["goodput_bps"] == pytest.approx(12000)
    assert found.values["min_rtt_s"] == 1
    assert found.values["p50_rtt_s"] == pytest.approx(5)
    assert found.values["mean_in_flight_bytes"] == 5
    assert found.rtt[:2] == pytest.approx([1.45, 2.45], abs=0.06)


def metrics(goodput: float, retransmits: float = 0.0) -> Metrics:
    values = {"goodput_bps": goodput, "retransmits": retransmits}
    return Metrics(values, np.full(8, goodput), np.empty(0))


def test_distance_is_in_units_of_the_metrics_standard_deviations() -> None:
    # A goodput 2 % higher is 2 sigma, and its windows 0.4: 4 + 0.16. Counts have an offset of 5.
    assert distance(metrics(100), [metrics(100 * math.exp(0.02))]) == pytest.approx(4.16)
    assert distance(metrics(100, 5), [metrics(100, 5 * math.exp(0.3) * 2 - 5)]) == pytest.approx(1.0)
    assert distance(metrics(100), [metrics(100 * math.exp(0.02)), metrics(100 * math.exp(-0.02))]) < 1e-9


def test_distance_with_other_flows_has_the_variance_between_runs() -> None:
    # Runs 2 % below and above: a variance of 0.0008, 8 of goodput's 0.0001 and 0.32 of the 0.0025 of windows.
    runs = [metrics(100 * math.exp(sign * 0.02)) for sign in (-1, 1)]
    assert distance(metrics(100), runs, varies=True) < 1e-9
    assert distance(metrics(100), runs, varies=True, compares=True) == pytest.approx(math.log(9) + math.log(1.32))
    # 4 % off are 16 variances of goodput, and 0.64 of windows: 16 / 9 + 0.64 / 1.32.
    assert distance(metrics(100 * math.exp(0.04)), runs, varies=True) == pytest.approx(16 / 9 + 0.64 / 1.32)


def test_verdict_has_a_band_beyond_the_runs() -> None:
    runs = [metrics(102), metrics(104)]
    for goodput, explained in ((102 * math.exp(-0.029), True), (102 * math.exp(-0.031), False), (107, True)):
        assert judge(metrics(goodput), runs, 8.0).explained is explained
    late = metrics(103)
    late.goodput[5:7] = 80
    found = judge(late, runs, 8.0)
    assert not found.explained
    assert (found.outside[0].from_s, found.outside[0].until_s) == (5, 6)
    late.goodput[6] = 103
    assert judge(late, runs, 8.0).explained  # one value of a window may be outside


def test_a_distant_model_explains_nothing() -> None:
    found = judge(metrics(100), [metrics(95), metrics(110)], 8.0)
    assert all(each.inside for each in found.metrics)
    assert not found.outside
    assert found.explained
    # A mean 5 % too high is 5 sigma: 25 and more, though the band of the runs has the value.
    assert not judge(metrics(100), [metrics(99), *[metrics(106)] * 8], 8.0).explained


def test_variation_of_goodput_is_that_of_windows_of_a_second() -> None:
    """After the first eighth (5 s of 40), seconds with 900 and 1100 bytes: 10 % off their mean."""
    at = np.arange(41.0)
    acked = np.cumsum([0.0] + [5000.0] * 5 + [900.0, 1100.0] * 17 + [900.0])
    trace = Trace(at, acked, at, at + 1, at, at)
    assert metrics_of(trace, 0.0, 40.0, varying_s=1.0).values["goodput_variation"] == pytest.approx(0.1, rel=0.01)
    assert "goodput_variation" not in metrics_of(trace, 0.0, 40.0, varying_s=5.0).values  # six windows
    assert "goodput_variation" not in metrics_of(trace, 0.0, 40.0).values


def test_bytes_of_whole_writes_have_no_variation() -> None:
    found = measured()
    assert observe(found, "x").varying_s == 1.0
    assert observe(replace(found, metadata={**found.metadata, "format": "iperf3"}), "x").varying_s is None


def test_variation_tests_a_model_and_is_no_part_of_its_distance() -> None:
    def varying(variation: float) -> Metrics:
        found = metrics(100)
        found.values["goodput_variation"] = variation
        return found

    runs = [varying(0.08), varying(0.18)]  # 0.1 and 0.2 with the offset
    for variation, inside in (
        (0.2 * math.exp(0.34), True),
        (0.2 * math.exp(0.36), False),
        (0.1 * math.exp(-0.36), False),
    ):
        found = judge(varying(variation - 0.02), runs, 8.0)
        assert found.explained is inside
        assert found.distance == 0


def test_a_model_whose_runs_differ_widely_explains_nothing() -> None:
    """Its band has nearly every value. The 10th and 90th percentiles of eleven runs are the second and the tenth."""
    for most, explained in ((199, True), (201, False)):
        runs = [metrics(each) for each in (10, 100, *[140] * 7, most, 1000)]
        found = judge(metrics(140), runs, 8.0, varies=True)
        assert found.spread == pytest.approx(most / 100)
        assert found.explained is explained


def test_the_first_models_are_ranked_again_by_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(["x"], measured(), Runner(RunOptions(1, None, None, None, None), None), 10.0, None)
    fits = [
        work.fit(Candidate(name, cross="cubic", cross_flows=count), work.first.params)
        for name in ("newreno", "cubic", "bbr")
        for count in (1, 2, 3)
    ]
    for place, fit in enumerate(fits):
        fit.distance = 10.0 + place

    def distances(models: list[tuple[Candidate, Params]], seeds: tuple[int, ...]) -> list[float]:
        assert (len(models), seeds) == (8, RANKING_SEEDS)
        return [20.0 if model.cross_flows == 1 else 11.0 + model.cross_flows for model, _ in models]

    monkeypatch.setattr(work.search, "distances", distances)
    found = work.ranked(fits[::-1])
    assert [each.candidate.cross_flows for each in found[:5]] == [2, 2, 2, 3, 3]
    assert found[8] is fits[8], "the ninth keeps its place"
    assert found[7].distance == 20.0


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (Range(1, 1.4, False, False), "determined"),
        (Range(1, 1.6, False, False), "not determined"),
        (Range(1, 1.4, True, False), "bounded"),
        (Range(1, 1.4, True, True), "not determined"),
    ],
)
def test_status_of_a_range(found: Range, status: str) -> None:
    assert found.status == status


def test_estimates() -> None:
    seen = observe(measured(), "x")
    found = estimate(seen)
    assert found.params.rate_bps == pytest.approx(5e6, rel=0.03)
    assert seen.from_start
    assert found.params.base_rtt_s >= 0.02
    assert found.change_s is None
    later = estimate(observe(measured(schedule=[{"at": "6 s", "rate": "3 Mbit/s"}]), "x"))
    assert later.change_s == pytest.approx(6, abs=0.5)


@pytest.mark.parametrize(("protocol", "host"), [("tcp", "linux"), ("quic", "quic")])
def test_a_flow_is_simulated_over_its_transport(protocol: str, host: str) -> None:
    seen = observe(changed(measured(), "protocol", protocol), "x")
    first = estimate(seen)
    (flow,) = scenario_of(first.candidates[0], first.params, seen).to_dict()["flows"]
    assert flow["host"] == host


def test_candidates_follow_the_metadata() -> None:
    own = measured()
    assert [each.algorithm for each in estimate(observe(own, "x")).candidates] == ["cubic"]
    assert estimate(observe(named(own, "reno"), "x")).candidates[0].algorithm == "newreno"
    names = {each.algorithm for each in estimate(observe(named(own, None), "x")).candidates}
    assert names == {"newreno", "cubic", "bbr", "bbr3", "vegas"}


def test_measurements_without_a_sender_are_refused() -> None:
    builder = Builder({"format": "flent"})
    builder.add("flows", flow=0, name="Ping", protocol="icmp", direction="out")
    with pytest.raises(InputError, match=r"x: explain requires a TCP or QUIC sender; found ICMP flows"):
        observe(builder.build(), "x")
    builder.add("flows", flow=1, name="TCP", protocol="tcp", direction="out")
    builder.add("samples", t_s=0.0, flow=1, acked_bytes=5)
    with pytest.raises(InputError, match=r"x: explain requires at least .* samples with acknowledged bytes, got 1"):
        observe(builder.build(), "x")


def test_explains_a_simulated_flow(tmp_path: Path) -> None:
    # No budget ends the search, so that the result does not depend on the machine.
    found = fullpipe.explain(measured(), budget="1000 s", out=tmp_path / "out")
    fit = found.fit
    assert found.explained, found.sentences
    assert fit["rate_bps"] == pytest.approx(5e6, rel=0.03)
    assert fit["algorithm"] == "cubic"
    assert fit["rate_bps_ci95"][0] <= 5e6 <= fit["rate_bps_ci95"][1]
    full_s = fit["base_rtt_s"] + 8 * fit["buffer_bytes"] / fit["rate_bps"]
    assert full_s == pytest.approx(0.02 + 25 * 12000 / 5e6, rel=0.04)
    kept = json.loads((tmp_path / "out" / "explain.json").read_text())
    assert {"kind", "scenario", "fit", "explained", "metrics", "windows", "not_determined", "next"} <= set(kept)
    assert fullpipe.run(str(tmp_path / "out" / "scenario.toml")).flows["algorithm"].to_pylist() == ["cubic"]
    assert (tmp_path / "out" / "overlay.png").stat().st_size > 10_000
    assert any("--set links.l.queue=fq-codel" in line for line in found.sentences)


def test_does_not_explain_a_rate_change() -> None:
    found = fullpipe.explain(measured(schedule=[{"at": "6 s", "rate": "3.5 Mbit/s"}]), budget="12 s")
    assert not found.explained
    assert found.sentences[0].startswith("Not explained: ")
    assert found.hint is not None
    assert "rate" in found.hint


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["newreno", "cubic", "bbr"])
def test_finds_the_algorithm(algorithm: str) -> None:
    found = fullpipe.explain(named(measured("30 s", algorithm), None), budget="60 s")
    assert found.explained, found.sentences
    assert found.fit["algorithm"] == algorithm
