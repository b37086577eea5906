"""Recordings of Linux whose paths are known, and their explanations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.recordings import HERE, OURS, Case, cases, load

import fullpipe
from fullpipe.engine.options import RunOptions
from fullpipe.experiments.explain.estimate import estimate
from fullpipe.experiments.explain.explaining import Work
from fullpipe.experiments.explain.fit import Fit
from fullpipe.experiments.explain.objective import Verdict
from fullpipe.experiments.explain.observation import observe
from fullpipe.experiments.explain.path import Candidate, Params, scenario_of, simulate
from fullpipe.runs.runner import Runner

CASES = {case.number: case for case in cases()}

SPACINGS = {24: 2, 42: 1}
"""Packets of all flows between two of BBR's, where a fair queue serves others in turn."""


def slowest(case: Case) -> float:
    """Rate of the slowest link, bit/s."""
    return (0.8 if case.lacks.startswith("second bottleneck") else 1.0) * case.rate * 1e6


# BBR over FQ-CoDel is in recovery most of the time in 24 and 42, where rates are not taken.
@pytest.mark.parametrize(
    "number", [n for n, case in CASES.items() if not case.lacks.startswith("rate x") and n not in SPACINGS]
)
def test_spacing_of_acks_shows_the_rate_of_the_slowest_link(number: int) -> None:
    """Other flows, random loss, and a policer leave less of the link, and do not change the spacing."""
    seen = observe(load(HERE / f"{number:02}.parquet"), "x")
    assert seen.capacity_bps == pytest.approx(slowest(CASES[number]), rel=0.01)


@pytest.mark.parametrize("number", [1, 10, 13, 16, 19, 22])
def test_handshake_has_the_base_rtt(number: int) -> None:
    """Its 60 bytes take less than 0.1 ms in each case; a full packet takes up to 1.2 ms."""
    least = observe(load(HERE / f"{number:02}.parquet"), "x").least_rtt_s
    assert least is not None
    assert 0 <= least - CASES[number].rtt / 1e3 < 2e-4


def test_rates_without_a_peak_show_no_capacity() -> None:
    measured = load(HERE / "01.parquet")
    spread = np.geomspace(1e6, 1e7, len(measured.samples))
    place = measured.samples.schema.get_field_index("delivery_bps")
    samples = measured.samples.set_column(place, measured.samples.schema.field(place), pa.array(spread))
    assert observe(replace(measured, samples=samples), "x").capacity_bps is None


def test_other_flows_are_tried_where_the_flow_has_a_part_of_the_rate() -> None:
    assert not estimate(observe(load(HERE / "01.parquet"), "x")).crossed
    crossed = estimate(observe(load(HERE / "22.parquet"), "x")).crossed
    assert {each.cross_flows for each in crossed} == {1, 2, 3}


def test_a_fair_queue_serves_others_between_two_packets() -> None:
    """In 24 the ACKs have half of the rate: of two CUBIC flows, one is served between two packets of BBR."""
    found = estimate(observe(load(HERE / "24.parquet"), "x"))
    spacings = {each.spacing for each in found.crossed if each.queue == "fq-codel" and each.cross_flows == 2}
    assert spacings == {2}
    assert 2 * found.params.rate_bps == pytest.approx(1e6 * CASES[24].rate, rel=0.01)


@pytest.mark.parametrize("number", [15, 18, 21, 24])
def test_recoveries_that_run_into_each_other_are_not_counted(number: int) -> None:
    assert observe(load(HERE / f"{number:02}.parquet"), "x").trace.episodes is None


def test_model_with_other_flows() -> None:
    seen = observe(load(HERE / "22.parquet"), "x")
    candidate = Candidate("newreno", "fq-codel", cross="cubic", cross_flows=2, cross_start_s=10.0, cross_spread_s=0.1)
    assert candidate.traffic == "2 other cubic flows from 10.0 s on"
    own, other = scenario_of(candidate, Params(2e7, 0.03, 10.0), seen).to_dict()["flows"]
    assert (own["algorithm"], other["algorithm"], other["count"]) == ("newreno", "cubic", 2)
    assert other["start"] == "10.000 s..10.100 s"


def test_the_true_path_gives_a_start_next_to_others() -> None:
    """In 22 the other flows start 50 and 104 ms after the flow (its capture). Slow start then fills its queue further
    than beside flows that start at the same time: of the RTTs, 1 % are above 82 ms, and not above 47.
    """
    seen = observe(load(HERE / "22.parquet"), "x")
    runner = Runner(RunOptions(1, None, None, None, None), None)

    def highest(spread_s: float) -> float:
        candidate = Candidate("newreno", "fq-codel", cross="cubic", cross_flows=2, cross_spread_s=spread_s)
        (runs,) = simulate([(candidate, Params(2e7, 0.03, 1000.0))], seen, range(1, 9), runner)
        return max(run.metrics[0].values["p99_rtt_s"] for run in runs)

    measured = float(np.percentile(seen.trace.rtt, 99))
    assert highest(0.0) < 0.7 * measured
    assert highest(0.1) > 0.95 * measured


def verdict(number: int, candidate: Candidate, params: Params) -> Verdict:
    """Verdict on a model of a recording, over as many runs as `explain` takes."""
    work = Work(
        ["x"], load(HERE / f"{number:02}.parquet"), Runner(RunOptions(1, None, None, None, None), None), 60, None
    )
    return work.judged(Fit(candidate, params, params, 8.0 * work.seen.packet)).verdict


def true_path(number: int) -> tuple[Candidate, Params]:
    case = CASES[number]
    candidate = Candidate(OURS.get(case.algorithm, case.algorithm), case.queue)
    if case.cross:
        first = case.cross[0]
        start_s = float(str(first.get("start", "0 s")).split()[0])
        spread_s = max(0.1, 2 * case.rtt / 1e3)
        name = OURS.get(first["algorithm"], first["algorithm"])
        flows = {"cross": name, "cross_flows": len(case.cross), "cross_start_s": start_s, "cross_spread_s": spread_s}
        candidate = replace(candidate, **flows, spacing=SPACINGS.get(number, 1))
    return candidate, Params(1e6 * case.rate, case.rtt / 1e3, case.buffer_packets or 1000.0)


SEEN_FAR = {3, 15, 21, 36, 39, 40, 42}
"""Recordings that the true path does not explain: retransmissions (15, 21, 36), the highest RTTs (3, 40), the share of
the rate (39), and the spacing of ACKs (42) differ.
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [n for n, case in CASES.items() if not case.lacks])
def test_true_paths_are_explained(number: int) -> None:
    found = verdict(number, *true_path(number))
    assert found.explained or number in SEEN_FAR
    (variation,) = (each for each in found.metrics if each.id == "goodput_variation")
    assert variation.inside


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "candidate", "packets"),
    [
        (31, Candidate("bbr3", cross="cubic", cross_flows=1, cross_spread_s=0.1), 5),
        (33, Candidate("newreno", cross="newreno", cross_flows=1, cross_spread_s=0.1), 6),
        (34, Candidate("newreno"), 33),
    ],
)
def test_variation_tells_other_flows_from_what_a_model_lacks(number: int, candidate: Candidate, packets: int) -> None:
    """These models have the other metrics of a policer, of random loss, and of reordering."""
    found = verdict(number, candidate, Params(1e7, 0.04, packets))
    assert [each.id for each in found.metrics if not each.inside] == ["goodput_variation"]


@pytest.mark.slow
def test_a_model_that_gives_every_goodput_explains_no_policer() -> None:
    found = verdict(32, Candidate("bbr", cross="bbr", cross_flows=2, cross_spread_s=0.1), Params(1e7, 0.04, 2))
    assert all(each.inside for each in found.metrics)
    assert found.spread > 10
    assert not found.explained


def test_explains_a_recording_of_reno() -> None:
    case = CASES[4]
    found = fullpipe.explain(load(HERE / "04.parquet"), budget="1000 s")
    assert found.explained
    assert found.fit["algorithm"] == OURS[case.algorithm]
    assert found.fit["rate_bps"] == pytest.approx(1e6 * case.rate, rel=0.03)
    assert found.fit["base_rtt_s"] == pytest.approx(case.rtt / 1e3, rel=0.05)
    assert found.to_dict()["buffer_packets"] == pytest.approx(case.buffer_packets, rel=0.2)
