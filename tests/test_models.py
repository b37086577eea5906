"""The papers' closed forms against numbers worked by hand or printed in the papers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fullpipe.models import hyun_jang_gain, reno_utilization


def test_equation_5_worked_by_hand() -> None:
    # k = 1/2: 4 (1/4 + 1/2 + 1) / (3 (3/2)^2) = 7 / 6.75.
    assert hyun_jang_gain(0.5) == pytest.approx(float(Fraction(28, 27)))
    assert hyun_jang_gain(0.0) == pytest.approx(4 / 3)
    assert hyun_jang_gain(1.0) == 1.0


@pytest.mark.parametrize(("k", "percent"), [(1 / 8, 20.16), (1 / 4, 12.0), (1 / 2, 3.7), (3 / 4, 0.68)])
def test_equation_5_as_table_1_prints_it(k: float, percent: float) -> None:
    assert 100 * (hyun_jang_gain(k) - 1) == pytest.approx(percent, abs=0.01)


def test_reno_utilization_worked_by_hand() -> None:
    # Without a buffer the sawtooth between 1/2 and 1 carries 3/4 on average.
    assert reno_utilization(0.0) == pytest.approx(0.75)
    # k = 1/8: p = 9/8; (1 - 81/256)/2 = 175/512 sent in 7/16, then 17/128 at the full rate: 243/512 over 73/128.
    assert reno_utilization(1 / 8) == pytest.approx(float(Fraction(243, 512) / Fraction(73, 128)))
    assert reno_utilization(1 / 8) == pytest.approx(0.832, abs=0.0005)
    assert reno_utilization(1.0) == 1.0


@pytest.mark.parametrize("k", [0.0, 0.1, 0.37, 0.9])
def test_equation_5_is_what_the_sawtooth_leaves_free(k: float) -> None:
    assert hyun_jang_gain(k) * reno_utilization(k) == pytest.approx(1.0)
