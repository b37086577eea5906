"""The card's rules, on numbers worked by hand."""

from __future__ import annotations

import math

import pytest

from fullpipe.experiments.evaluate.measure import back_to, most_lost, percentile, settled
from fullpipe.experiments.evaluate.rules import (
    BETTER,
    IDLE,
    INCONCLUSIVE,
    LESS,
    LOSS,
    MORE,
    NO_WORSE,
    NOT_RUN,
    WORSE,
    at_most,
    harms,
    judge,
    rule_h,
    rule_loss,
    rule_r,
    starves,
    tcp_bps,
    times_tcp,
    worst,
)
from fullpipe.runs.aggregate import holm, tails

T2 = 4.3027
"""Student's t for 95 % and 2 degrees of freedom, from tables."""


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.10, 0.12, 0.14], WORSE),  # 0.12 ± 4.303 * 0.02 / sqrt(3) = 0.12 ± 0.0497: from 0.070
        ([0.08, 0.12, 0.16], INCONCLUSIVE),  # ± 0.0994: from 0.021 to 0.219
        ([-0.01, 0.0, 0.01], NO_WORSE),  # ± 0.0248
        ([0.03, 0.03, 0.03], NO_WORSE),  # within the margin; one of the other sign would call it worse
        ([-0.10, -0.12, -0.14], BETTER),  # to -0.070
        ([-0.06, -0.12, -0.18], NO_WORSE),  # -0.12 ± 0.149: to 0.029
        ([-0.03, -0.03, -0.03], NO_WORSE),  # better by less than the margin
    ],
)
def test_a_word_for_differences_beyond_a_margin(differences: list[float], verdict: str) -> None:
    assert judge(differences, 0.05).verdict == verdict


def test_the_interval_is_students() -> None:
    found = judge([0.10, 0.12, 0.14], 0.05)
    assert (found.mean, found.ci95) == (pytest.approx(0.12), pytest.approx(T2 * 0.02 / math.sqrt(3), rel=1e-4))
    assert found.seeds == 3


def test_the_probability_is_of_lying_so_far_beyond_the_margin() -> None:
    # Beyond it by 0.1 and 0.3: t = 0.2 / 0.1 with one degree of freedom, which is Cauchy's distribution.
    assert judge([0.15, 0.35], 0.05).p == pytest.approx(1 - 2 / math.pi * math.atan(2))
    assert judge([0.04, 0.05], 0.05).p == 1
    assert judge([0.1, 0.1], 0.05).p == 0
    assert tails(T2, 2) == pytest.approx(0.05, rel=1e-4)


def test_harm_is_what_is_taken_of_what_was_there_alone() -> None:
    assert harms([40.0, 40.0, None, 40.0], [10.0, 50.0, 1.0, None], more_is_better=True) == [0.75, 0.0, None, None]
    assert harms([0.02, 0.04], [0.08, 0.02], more_is_better=False) == [0.75, 0.0]


def test_the_bar_is_the_standard_that_does_most_harm() -> None:
    newreno, cubic = [0.40, 0.41, 0.39], [0.60, 0.61, 0.59]
    for standards in ({"newreno": newreno, "cubic": cubic}, {"cubic": cubic, "newreno": newreno}):
        found = rule_h([0.62, 0.63, 0.61], standards)
        assert found is not None
        # Held against NewReno it would be 0.22 worse.
        assert (found.bar, found.verdict, found.mean) == ("cubic", NO_WORSE, pytest.approx(0.02))


def test_what_a_standard_does_is_never_worse() -> None:
    standards = {"newreno": [0.1, 0.5, 0.3], "cubic": [0.2, 0.4, 0.6]}
    for values in standards.values():
        found = rule_h(values, standards)
        assert found is not None
        assert found.mean <= 0
        assert found.verdict != WORSE


def test_differences_are_paired_by_seed() -> None:
    # The seeds differ by far more than the algorithms: without pairs 0.1 ± 0.5 and more, which is unclear.
    found = rule_h([0.30, 0.50, 0.70], {"newreno": [0.20, 0.40, 0.60]})
    assert found is not None
    assert (found.verdict, found.ci95) == (WORSE, pytest.approx(0, abs=1e-12))


def test_a_pair_without_one_of_its_figures_does_not_count() -> None:
    found = rule_h([0.3, None, 0.5, 0.2], {"newreno": [0.2, 0.1, 0.4, None]})
    assert found is not None
    assert (found.seeds, found.mean) == (2, pytest.approx(0.1))
    assert rule_h([0.3, None], {"newreno": [0.2, 0.1]}) is None
    assert rule_h([None, None], {"newreno": [None, None]}) is None


@pytest.mark.parametrize(
    ("kind", "candidate", "standard", "verdict"),
    [
        (LESS, 0.110, 0.1001, NO_WORSE),  # 1.0989 times
        (LESS, 0.1102, 0.1001, WORSE),  # 1.1009 times
        (LESS, 0.0909, 0.1001, BETTER),  # 1 / 1.1012
        (LESS, 5e-5, 1e-6, NO_WORSE),  # both below 0.1 ms
        (MORE, 9.0, 10.0, WORSE),
        (MORE, 9.2, 10.0, NO_WORSE),
        (MORE, 11.2, 10.0, BETTER),
        (IDLE, 0.98, 0.99, WORSE),  # idle and one point: 0.03 against 0.02
        (IDLE, 0.9985, 0.999, NO_WORSE),  # 0.0115 against 0.011: 1.045 times
        (LOSS, 0.0105, 0.008, WORSE),  # 1.31 times, 0.25 points
        (LOSS, 0.0103, 0.008, NO_WORSE),  # 1.29 times
        (LOSS, 0.0019, 0.001, NO_WORSE),  # 1.9 times, but 0.09 points
        (LOSS, 0.0021, 0.001, WORSE),  # 2.1 times and 0.11 points
        (LOSS, 0.0, 0.0005, NO_WORSE),  # a difference of 0.05 points is none for the better either
        (LOSS, 0.0, 0.005, BETTER),
    ],
)
def test_ratios(kind: str, candidate: float, standard: float, verdict: str) -> None:
    found = rule_r([candidate] * 3, {"newreno": [standard] * 3}, kind)
    assert found is not None
    assert found.verdict == verdict


def test_what_is_too_little_to_count_says_how_little_it_is() -> None:
    found = rule_r([0.0019, 0.0021, 0.0017], {"newreno": [0.001] * 3}, LOSS)
    assert found is not None
    assert (found.apart, found.least, found.p) == (pytest.approx(0.0009), 0.001, 1.0)
    for candidate in (0.0021, 0.001):  # it counts; the ratio says already that it is no worse
        found = rule_r([candidate] * 3, {"newreno": [0.001] * 3}, LOSS)
        assert found is not None
        assert found.apart is None


def test_tcps_rate_at_a_loss() -> None:
    """RFC 5348, 3.1: X = s / (R sqrt(2 b p / 3) + t_RTO (3 sqrt(3 b p / 8) p (1 + 32 p^2))), b = 1, t_RTO = 4 R."""
    # p = 0.015: sqrt(0.01) = 0.1; sqrt(0.005625) = 0.075; 3 * 0.075 * 0.015 * 1.0072 = 0.0033993; and four of these.
    assert tcp_bps(0.015, 0.1, 1500) == pytest.approx(12_000 / (0.1 * (0.1 + 4 * 0.0033993)), rel=1e-6)
    assert tcp_bps(0.0, 0.1, 1500) == math.inf
    # Of much loss the timeouts are most: at a half 3 * sqrt(0.1875) * 0.5 * 9 = 5.8457, four times 23.383.
    assert tcp_bps(0.5, 0.1, 1500) == pytest.approx(12_000 / (0.1 * (math.sqrt(1 / 3) + 23.383)), rel=1e-4)


def test_rate_over_tcps_counts_what_is_sent() -> None:
    # 0.985 Mbit/s arrive of 1 Mbit/s, where TCP has 12,000 / (0.1 * 0.1135972) bit/s.
    assert times_tcp(0.985e6, 0.015, 0.1, 1500) == pytest.approx(0.1 * 0.1135972 / 0.012, rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "times", "verdict"),
    [
        (0.05, [40.0, 50.0, 60.0], WORSE),
        (0.05, [9.0, 9.1, 9.2], NO_WORSE),  # more than the standards', and acceptable
        (0.05, [9.0, 10.0, 11.0], INCONCLUSIVE),
        (0.05, [0.1, 0.1, 0.1], NO_WORSE),  # far below what is acceptable is no merit: more is lost
        (0.0015, [40.0, 50.0, 60.0], NO_WORSE),  # within 0.1 points of the standards'
        (0.0, [0.0, 0.0, 0.0], NO_WORSE),
        (0.05, [None, None, 50.0], WORSE),  # where the rate is unknown, the ratio alone judges
    ],
)
def test_more_losses_than_the_standards_are_worse_where_tcp_could_not_send_so_much(
    loss: float, times: list[float | None], verdict: str
) -> None:
    found = rule_loss([loss] * 3, {"newreno": [0.001] * 3}, times, {"newreno": [1.0, 1.0, 1.0]})
    assert found is not None
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("newreno", "cubic", "bar", "ratio"),
    [
        ([1.5] * 3, [2.0] * 3, "cubic", 20),  # the less favourable standard
        ([4.0] * 3, [2.0] * 3, "newreno", 10),
        (
            [0.0] * 3,
            [0.1] * 3,
            "newreno",
            40,
        ),  # never less than TCP's equation has: a standard without losses is no bar
        ([1.0, 2.0, 4.0], [1.0] * 3, "newreno", 20),  # by seed: 40, 20 and 10
        ([None] * 3, [2.0] * 3, "cubic", 20),
    ],
)
def test_what_tcp_has_at_a_loss_is_what_the_standards_have(
    newreno: list[float | None], cubic: list[float | None], bar: str, ratio: float
) -> None:
    standards = {"newreno": [0.001] * 3, "cubic": [0.001] * 3}
    found = rule_loss([0.05] * 3, standards, [40.0] * 3, {"newreno": newreno, "cubic": cubic})
    assert found is not None
    # 50 times the standards' losses; up to ten times, by the ratio of rates. The text depends on which of the two
    # applies.
    worse = ratio > 10 and newreno != [1.0, 2.0, 4.0]
    assert (found.verdict == WORSE, found.of_rates) == (worse, not worse)
    if not worse:
        assert (found.bar, math.exp(found.mean), math.exp(found.margin)) == (
            bar,
            pytest.approx(ratio),
            pytest.approx(10),
        )
    else:
        assert math.exp(found.mean) == pytest.approx(50)


@pytest.mark.parametrize(("times", "verdict"), [(9.0, NO_WORSE), (11.0, WORSE)])
def test_a_standard_below_the_rate_of_tcp_counts_as_at_it(times: float, verdict: str) -> None:
    """Ten times max(ratio of the standard, 1) is allowed. With the ratio of 0.5 itself, 9 would be too much."""
    found = rule_loss([0.05] * 3, {"newreno": [0.001] * 3}, [times] * 3, {"newreno": [0.5] * 3})
    assert found is not None
    assert found.verdict == verdict


@pytest.mark.parametrize(("arrived", "rate"), [(99, None), (100, 0.2)])
def test_a_circuit_breaker_needs_a_hundred_packets(arrived: int, rate: float | None) -> None:
    """Ten samples of a second; all packets arrive in the first. A fifth of them is lost."""
    lost = arrived / 5
    times = [float(second) for second in range(1, 11)]
    assert most_lost(times, [arrived, *[0.0] * 9], [lost, *[0.0] * 9]) == (
        None if rate is None else pytest.approx(rate)
    )


def test_the_bar_of_a_ratio_is_the_less_favourable_standard() -> None:
    slow, quick = [0.2, 0.2], [0.1, 0.1]
    found = rule_r([0.2, 0.2], {"newreno": quick, "cubic": slow}, LESS)
    assert found is not None
    assert (found.bar, found.verdict) == ("cubic", NO_WORSE)
    found = rule_r([0.2, 0.2], {"newreno": quick, "cubic": slow}, MORE)
    assert found is not None
    assert (found.bar, found.verdict) == ("newreno", BETTER)


def test_one_run_beyond_a_limit_breaks_it() -> None:
    kept, broken = at_most([9.0, 7.0], 9), at_most([9.0, 10.0, 7.0], 9)
    assert kept is not None
    assert broken is not None
    assert (kept.verdict, broken.verdict) == (NO_WORSE, WORSE)
    # A limit is no estimate: how far the largest value is beyond it, without an interval.
    assert (broken.mean, broken.ci95, broken.margin, broken.p, broken.seeds) == (1, 0, 0, 0, 3)
    assert (kept.mean, kept.ci95, kept.margin, kept.p, kept.seeds) == (0, 0, 0, 1, 2)
    assert at_most([None], 9) is None


def test_starvation_is_a_tenth_of_the_share_in_more_than_half_of_the_seeds() -> None:
    fed = {"newreno": [0.9, 0.8, 1.0, 0.9], "cubic": [0.5, 0.05, 0.05, 0.6]}
    assert starves([0.05, 0.09, 0.02, 0.5], fed)
    assert not starves([0.05, 0.09, 0.2, 0.5], fed)  # half is not more than half
    assert not starves([0.10, 0.11, 0.1, 0.1], fed)
    assert not starves([0.01] * 4, {**fed, "cubic": [0.05, 0.05, 0.05, 0.6]})  # a standard does so too


def test_holms_correction() -> None:
    # 0.005 <= 0.05/4, 0.01 <= 0.05/3, 0.03 > 0.05/2: the first two, and none behind.
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert holm([0.04], 0.05) == [True]
    assert holm([0.04, 0.04], 0.05) == [False, False]
    assert holm([0.025, 0.05], 0.05) == [True, True]
    assert holm([], 0.05) == []


def test_the_worst_word() -> None:
    assert worst([BETTER, NO_WORSE, INCONCLUSIVE]) == INCONCLUSIVE
    assert worst([WORSE, INCONCLUSIVE, NOT_RUN]) == WORSE
    assert worst([BETTER, NOT_RUN]) == BETTER
    assert worst([NOT_RUN]) == NOT_RUN


def test_when_a_rate_is_back() -> None:
    times = [0.5 * i for i in range(1, 9)]
    used = [0.0, 0.0, 0.5, 0.9, 0.9, 1.0, 1.0, 1.0]
    # Over a second, two samples: 0.0, 0.25, 0.7, 0.9.
    assert back_to(times, used, 0.9) == 2.5
    assert back_to(times, [0.0] * 8, 0.9) is None
    assert settled(times, [1.0, 1.0, 3.0, 5.0, 5.0, 5.0, 5.0, 5.0], 5.0, 0.2) == 2.0  # a mean of 4
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([float(i) for i in range(1, 101)], 0.95) == 95.0
