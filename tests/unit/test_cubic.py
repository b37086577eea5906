"""`fullpipe.Cubic`: results of the built-in algorithm to the bit, and rules that a derived class changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fullpipe
from fullpipe.custom.cubic import Cubic
from fullpipe.engine.tables import to_numpy


@pytest.fixture(scope="module", autouse=True)
def declared() -> Iterator[None]:
    @fullpipe.algorithm("own-cubic", compiled=True)
    class _Own(Cubic):
        """CUBIC with two of its rules written again."""

        def window_after_loss(self, w: float, signal: fullpipe.Signal) -> float:  # noqa: ARG002
            return self.beta * w

        def cubic(self, t_s: float) -> float:
            return self.c * t_s * t_s * t_s + self._w_max

    @fullpipe.algorithm("interpreted-cubic")
    class _Interpreted(Cubic):
        """CUBIC in the interpreter."""

    @fullpipe.algorithm("half-cubic")
    class _Half(Cubic):
        """CUBIC that halves its window."""

        def window_after_loss(self, w: float, signal: fullpipe.Signal) -> float:  # noqa: ARG002
            return w / 2

    return


def ran(algorithm: str | dict[str, Any], link: dict[str, Any], flow: dict[str, Any]) -> fullpipe.Result:
    own = {"name": "l", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": "0.7 BDP", "loss": 3e-4}
    flows = {"name": "x", "algorithm": algorithm, "count": 3, "start": "0 s..2 s", "access_delay": "1 ms..20 ms"}
    return fullpipe.run({"duration": "40 s", "packet_size": 1500, "links": [{**own, **link}], "flows": [flows | flow]})


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "losses": ({}, {}),
    "undo": ({"jitter": {"mean": "10 ms", "reorder": True}}, {"recovery": "rack"}),
    "timeouts": ({"loss": 0.05}, {"recovery": "newreno"}),
    "marks": ({"queue": "fq-codel"}, {"ecn": "classic"}),
    "pauses": ({}, {"source": {"on": "2 s", "off": "1 s", "rate": "8 Mbit/s"}}),
    "fast": ({"rate": "150 Mbit/s", "loss": 1e-5}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_unchanged_rules_give_the_results_of_the_built_in_algorithm_to_the_bit(name: str) -> None:
    link, flow = CASES[name]
    expected = ran("cubic", link, flow)
    algorithms = ["own-cubic", "interpreted-cubic"] if name in ("losses", "timeouts") else ["own-cubic"]
    for algorithm in algorithms:
        found = ran(algorithm, link, flow)
        for table in ("flows", "links", "series", "link_series"):
            known = expected.columns(table)
            for column in set(known) - {"name", "algorithm", "w_max", "w_est", "k_s"}:
                one, other = (to_numpy(result.columns(table)[column]) for result in (found, expected))
                assert np.array_equal(one, other, equal_nan=True), (algorithm, table, column)
    if name == "timeouts":
        assert sum(to_numpy(expected.columns("flows")["timeouts"])) > 0


def test_parameters_are_those_of_the_built_in_algorithm() -> None:
    given = {"c": 2.0, "beta": 0.5, "fast_convergence": False, "reno_friendly": False, "alpha_to_one": False}
    known = {each.name: each.default for each in fullpipe.algorithms()["cubic"].params}
    own = {each.name: each.default for each in fullpipe.algorithms()["own-cubic"].params}
    assert own == {name: known[name] for name in own}
    assert set(own) == set(given)
    found, expected = (ran({"name": name, **given}, {}, {}).series for name in ("own-cubic", "cubic"))
    assert found["cwnd_packets"].equals(expected["cwnd_packets"])


def test_a_changed_rule_changes_the_window_after_a_loss() -> None:
    """A loss at 100 segments: CUBIC keeps 70 (RFC 9438 section 4.6), the derived class 50."""
    flow = {"count": 1, "start": "0 s", "slow_start": "standard", "initial_window": 100}
    windows = {}
    for name in ("cubic", "half-cubic"):
        series = ran(name, {"buffer": "1000 packets", "loss": 0.0, "drop": [3]}, flow).series
        windows[name] = min(value for value in series["ssthresh_packets"].to_pylist() if math.isfinite(value or 0))
    assert windows["half-cubic"] == pytest.approx(windows["cubic"] / 0.7 / 2)


def test_the_cube_root_is_rounded_correctly() -> None:
    """The nearest number: its cube is as close to x as rounding allows, by exact fractions."""
    values = np.random.default_rng(1).uniform(1e-3, 1e6, 300)
    for x in map(float, values):
        root = Cubic()._cube_root(x)
        low, high = ((Fraction(root) + Fraction(math.nextafter(root, end))) / 2 for end in (0.0, math.inf))
        assert low**3 <= Fraction(x) <= high**3
    assert Cubic()._cube_root(0.0) == 0.0
