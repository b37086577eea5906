"""Statistics of `fullpipe check`: hand-computed t tests, Holm's correction over looks, and power by simulation."""

from __future__ import annotations

import math
import random

import pytest

from fullpipe.experiments.check.statistics import Sample, Trial, looks
from fullpipe.runs.aggregate import p_above


def test_looks_double_the_seeds_and_end_at_the_most() -> None:
    assert looks(10, 80) == [10, 20, 40, 80]
    assert looks(10, 50) == [10, 20, 40, 50]
    assert looks(7, 7) == [7]


def test_one_sided_t_test_by_hand() -> None:
    # Mean 2, sd sqrt(2/2) = 1, t = 2 / (1 / sqrt(3)) = 3.4641 with 2 degrees of freedom. For 2 degrees, the
    # distribution is 1/2 + t / (2 sqrt(2 + t^2)) = 0.5 + 3.4641 / (2 sqrt(14)) = 0.96291.
    assert p_above([1, 2, 3]) == pytest.approx(0.03709, abs=1e-5)
    assert p_above([1, 2, 3], 4) == pytest.approx(1 - 0.03709, abs=1e-5)
    assert p_above([2, 2, 2], 1) == 0.0
    assert p_above([2, 2, 2], 2) == 1.0


def test_equal_pairs_need_no_test() -> None:
    trial = Trial(0.95, 4)
    trial.add({"same": Sample([0.0] * 10, 0.02), "worse": Sample([0.03] * 10, 0.02), "at": Sample([0.02] * 10, 0.02)})
    assert trial.verdicts == {"same": "ok", "worse": "worse", "at": "ok"}


def test_holm_counts_checks_that_are_ok_and_not_those_that_are_worse() -> None:
    # With 2 degrees of freedom, mean m, and sd 1, p = 1/2 - t / (2 sqrt(2 + t^2)), t = m sqrt(3):
    # m = 8 gives t = 13.856 and p = 0.002584; the error probability of a look is 0.05 / 4 = 0.0125.
    around = [-1.0, 0.0, 1.0]
    clear = Sample([8 + each for each in around])
    better = Sample([each - 50 for each in around])
    assert p_above(clear.costs) == pytest.approx(0.002584, abs=1e-6)
    trial = Trial(0.95, 4)
    trial.add({"a": clear, **{f"b{i}": better for i in range(4)}})  # 0.0125 / 5 = 0.0025 < p
    assert trial.verdicts["a"] == "inconclusive"
    assert trial.verdicts["b0"] == "ok"
    trial.add({"a": clear})  # the four others are still in the family
    assert trial.verdicts["a"] == "inconclusive"
    trial = Trial(0.95, 4)
    trial.add({"a": clear, **{f"b{i}": better for i in range(3)}})  # 0.0125 / 4 = 0.003125 > p
    assert trial.verdicts["a"] == "worse"
    trial = Trial(0.95, 4)
    worst = Sample([800 + each for each in around])
    trial.add({"a": clear, **{f"b{i}": worst for i in range(4)}})  # the four are rejected first: 0.0125 / 1
    assert trial.verdicts["a"] == "worse"


def suite_verdicts(random_: random.Random, loss: float, sd: float, checks: int = 20) -> dict[str, str]:
    """Verdicts of a suite whose first check has a mean loss; all differences are normal."""
    steps = looks(10, 80)
    trial = Trial(0.95, len(steps))
    costs = {f"c{i}": [random_.gauss(0.0 if i else loss, sd) for _ in range(80)] for i in range(checks)}
    open_ = list(costs)
    for n in steps:
        trial.add({name: Sample(costs[name][:n], math.log(1.02)) for name in open_})
        open_ = trial.open
        if not open_:
            break
    return trial.verdicts


def test_power_and_false_alarms_of_a_suite() -> None:
    # By hand, at 80 seeds: a loss of 5 % is ln(1/0.95) = 0.0513; its distance from ln(1.02) = 0.0198 is 0.0315, and the
    # standard error is 0.05 / sqrt(80) = 0.00559, so t is 5.6 on average. The critical value is t(79) at
    # 0.0125 / 20 = 0.000625, 3.35. Power by the normal approximation: P(Z > 3.35 - 5.63) = 0.99.
    random_ = random.Random(7)
    suites = 60
    found = [suite_verdicts(random_, -math.log(0.95), 0.05) for _ in range(suites)]
    assert sum(each["c0"] == "worse" for each in found) >= 0.9 * suites
    # Equal means: 0.0198 below the margin, so a false alarm needs a mean 3.5 standard errors high at every look.
    assert sum(any(word == "worse" for name, word in each.items() if name != "c0") for each in found) <= 1
    # A loss of 10 %, ln(1/0.9) = 0.105, is 15 standard errors from the margin at 80 seeds and 5.4 at 10 seeds.
    assert all(suite_verdicts(random_, -math.log(0.9), 0.05)["c0"] == "worse" for _ in range(10))


def test_a_suite_without_margin_keeps_its_error_probability() -> None:
    # With margin 0 and equal means, a suite must have a false "worse" in at most 5 % of runs: of 200, 10 expected at
    # most, and more than 20 has a probability of 0.001 (binomial). Uncorrected tests at 0.0125 would give 1 - 0.9875^20
    # = 22 % at the first look alone, 44 suites.
    random_ = random.Random(11)
    alarms = 0
    for _ in range(200):
        trial = Trial(0.95, 1)
        trial.add({f"c{i}": Sample([random_.gauss(0, 1) for _ in range(10)]) for i in range(20)})
        alarms += "worse" in trial.verdicts.values()
    assert alarms <= 20
