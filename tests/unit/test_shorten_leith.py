"""Shorten and Leith: the analytical models by hand, values read from a run, and checks that can fail."""

from __future__ import annotations

import math

import pytest

from fullpipe import run_many
from fullpipe.models import aimd_utilization, convergence_epochs
from fullpipe.papers import select
from fullpipe.papers.shorten_leith.common import buffer_for
from fullpipe.papers.shorten_leith.theory import backoff_factor, pair_convergence, synchronized_utilization
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected


def test_the_closed_form_by_hand() -> None:
    # k = 1/4, beta = 1/2: p = 5/4, low = 5/8; (1 - 25/64)/2 + (25/16 - 1)/2 = 39/128 + 36/128 over 48/128 + 36/128.
    assert aimd_utilization(0.25, 0.5) == pytest.approx(75 / 84)
    assert aimd_utilization(1.0, 0.5) == 1.0
    # Section III: beta = 0.8 fills a link with a quarter of the product.
    assert aimd_utilization(0.25, 0.8) == 1.0
    assert aimd_utilization(0.2, 0.8) < 1.0


def test_the_synchronized_fluid_is_the_closed_form_where_round_trips_are_equal() -> None:
    for k in (0.25, 0.75):
        fluid = synchronized_utilization((0.1, 0.1), k * 0.1)
        assert fluid == pytest.approx(aimd_utilization(k, 0.5), abs=1e-3)


def test_backoff_factors_and_convergence_by_hand() -> None:
    # Figure 14: 23 ms, queues of 9 ms (30 packets at 40 Mbit/s) and 9.6 ms (80 at 100 Mbit/s).
    assert backoff_factor(0.023, 0.009) == pytest.approx(0.71875)
    assert backoff_factor(0.023, 0.009, 0.0096) == pytest.approx(0.5529, abs=1e-4)
    # Section VI: four epochs for 0.5, ten for 0.75.
    assert (int(convergence_epochs(0.5)), int(convergence_epochs(0.75))) == (4, 10)
    # diag(1/2, 3/4) + (2/3, 1/3)^T (1/2, 1/4): trace 5/3, one eigenvalue 1.
    assert pair_convergence((0.5, 0.75)) == pytest.approx(2 / 3)
    assert pair_convergence((0.75, 0.75)) == pytest.approx(0.75)


def test_the_buffer_for_a_utilization() -> None:
    used = {10: 0.5, 20: 0.9, 40: 0.8, 80: 1.0}
    # Above the last buffer that falls short, even though a smaller one does not.
    assert buffer_for(used, 0.85) == pytest.approx(40 * 2**0.25)
    assert buffer_for(used, 0.3) == 10
    assert buffer_for({10: 0.5, 20: 0.6}, 0.9) == 20
    assert math.isclose(buffer_for({10: 0.0, 1000: 1.0}, 0.5), 100)


def test_beta_fixed_at_a_half_misses() -> None:
    """An adaptive flow that halves is a standard one: the claims of figures 5 and 7 for it must miss."""
    for name, missed in (
        ("shorten-leith/figure-5", {"beta later", "utilization, adaptive", "the queue just empties"}),
        ("shorten-leith/figure-7", {"utilization, adaptive, k=0.25", "standard and adaptive follow the theory"}),
    ):
        (item,) = select(name)
        broken = {
            key: scenario.replace(
                duration="60 s", warmup="20 s", **({"flows.0.algorithm": FIXED} if key.startswith("adaptive") else {})
            )
            for key, scenario in item.scenarios().items()
        }
        checks = judge(item.measure(run_many(broken)).values, expected(item.id))
        assert missed <= {check.name for check in checks if check.status == "fail"}


FIXED = {"name": "adaptive-aimd", "beta_min": 0.5, "beta_max": 0.5}
