"""`fullpipe.Bbr3`: results of the built-in algorithm to the bit, and rules that a derived class changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fullpipe
from fullpipe import _core
from fullpipe.engine.tables import to_numpy


@pytest.fixture(scope="module", autouse=True)
def declared() -> Iterator[None]:
    @fullpipe.algorithm("own-bbr3", compiled=True)
    class _Own(fullpipe.Bbr3):
        """BBRv3 with the rules of the class, all of which are called."""

    @fullpipe.algorithm("interpreted-bbr3")
    class _Interpreted(fullpipe.Bbr3):
        """BBRv3 with rules in the interpreter."""

    @fullpipe.algorithm("patient-bbr3", compiled=True)
    class _Patient(fullpipe.Bbr3):
        """BBRv3 that probes for bandwidth every `pause` seconds."""

        pause: float = 8.0
        min_pipe_cwnd: float = 6.0

        def probe_wait_ns(self, random: float) -> float:  # noqa: ARG002
            return self.pause * 1e9

    return


def ran(algorithm: str | dict[str, Any], link: dict[str, Any], flow: dict[str, Any]) -> fullpipe.Result:
    own = {"name": "l", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": "0.7 BDP", "loss": 3e-4}
    flows = {"name": "x", "algorithm": algorithm, "count": 2, "start": "0 s..2 s", "access_delay": "1 ms..20 ms"}
    return fullpipe.run({"duration": "20 s", "packet_size": 1500, "links": [{**own, **link}], "flows": [flows | flow]})


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "losses": ({}, {}),
    "undo": ({"jitter": {"mean": "10 ms", "reorder": True}}, {}),
    "heavy": ({"loss": 0.05, "buffer": "0.1 BDP"}, {}),
    "marks": ({"queue": "fq-codel"}, {"ecn": "classic"}),
    "pauses": ({}, {"source": {"on": "2 s", "off": "1 s", "rate": "8 Mbit/s"}}),
}


@pytest.mark.parametrize("name", CASES)
def test_unchanged_rules_give_the_results_of_the_built_in_algorithm_to_the_bit(name: str) -> None:
    link, flow = CASES[name]
    expected = ran("bbr3", link, flow)
    for algorithm in ["own-bbr3", "interpreted-bbr3"] if name == "losses" else ["own-bbr3"]:
        found = ran(algorithm, link, flow)
        for table in ("flows", "links", "series", "link_series"):
            known = expected.columns(table)
            for column in set(known) - {"name", "algorithm"}:
                one, other = (to_numpy(result.columns(table)[column]) for result in (found, expected))
                assert np.array_equal(one, other, equal_nan=True), (algorithm, table, column)
    if name != "pauses":
        assert sum(to_numpy(expected.columns("flows")["retransmits"])) + (name == "marks") > 0


def test_parameters_are_those_of_the_built_in_algorithm() -> None:
    known = {each.name: each.default for each in fullpipe.algorithms()["bbr3"].params if each.name != "variant"}
    assert {each.name: each.default for each in fullpipe.algorithms()["own-bbr3"].params} == known
    patient = {each.name: each.default for each in fullpipe.algorithms()["patient-bbr3"].params}
    assert patient == {**known, "min_pipe_cwnd": 6.0, "pause": 8.0}
    given = {"beta": 0.5, "loss_threshold": 0.1, "up_pacing_gain": 1.5, "probe_wait": 1.0, "full_bw_rounds": 2}
    found, expected = (ran({"name": name, **given}, {}, {}).series for name in ("own-bbr3", "bbr3"))
    assert found["cwnd_packets"].equals(expected["cwnd_packets"])
    assert not expected["cwnd_packets"].equals(ran("bbr3", {}, {}).series["cwnd_packets"])


def probes(algorithm: str | dict[str, Any]) -> int:
    """Number of times that a flow alone on a link begins ProbeBW_UP from 2 s on."""
    flow = {"count": 1, "start": "0 s", "access_delay": "1 ms"}
    run = ran(algorithm, {"delay": "40 ms", "buffer": "4 BDP", "loss": 0.0}, flow)
    series = run.series
    up = [
        phase == fullpipe.Bbr3State.UP
        for t_s, phase in zip(series["t_s"].to_pylist(), series["phase"].to_pylist(), strict=True)
        if t_s >= 2
    ]
    return sum(now and not before for before, now in pairwise(up))


def test_a_changed_rule_changes_the_time_between_probes() -> None:
    """18 s with a probe every 2 to 3 s (section 5.3.3.8.3) and its RTTs, or with one every 8 s."""
    assert 4 <= probes("bbr3") <= 9
    assert probes("patient-bbr3") <= 2
    assert probes({"name": "patient-bbr3", "pause": 1.0}) > probes("bbr3")


def test_a_rule_that_raises_ends_the_run_with_its_exception() -> None:
    @fullpipe.algorithm("wrong-bbr3")
    class _Wrong(fullpipe.Bbr3):
        def bw_after_loss(self, bw: float) -> float:
            raise RuntimeError(f"no rate after {bw > 0}")

    with pytest.raises(fullpipe.AlgorithmError, match="no rate after True"):
        ran("wrong-bbr3", {}, {})

    @fullpipe.algorithm("negative-bbr3", compiled=True)
    class _Negative(fullpipe.Bbr3):
        def bw_after_loss(self, bw: float) -> float:
            return -bw

    with pytest.raises(fullpipe.AlgorithmError, match="bw_after_loss must return a finite number of at least 0, got -"):
        ran("negative-bbr3", {}, {})


@pytest.mark.parametrize(
    ("fields", "options", "said"),
    [
        ({"pacing_gains": lambda _self, _state: 1.0}, {}, "unknown rule 'pacing_gains'; did you mean 'pacing_gain'?"),
        ({"__annotations__": {"beta": float}, "beta": 2.0}, {}, "beta: the default must be as for bbr3"),
        ({}, {"inspect": ["beta"]}, "inspect conflicts with fullpipe.Bbr3"),
        ({}, {"ecn": "accurate"}, "ecn conflicts with fullpipe.Bbr3"),
    ],
)
def test_bad_classes(fields: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(fullpipe.InputError) as caught:
        fullpipe.algorithm("bad-bbr3", **options)(type("Bad", (fullpipe.Bbr3,), fields))
    assert said in str(caught.value)
    assert str(caught.value).startswith("algorithm 'bad-bbr3': ")


def test_every_rule_has_a_method_and_a_line_on_the_page() -> None:
    assert all(callable(getattr(fullpipe.Bbr3, name)) for name in _core.bbr3_methods())
