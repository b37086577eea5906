"""Parts of a search: bounds, networks, values, the optimizer, and shrinking."""

from __future__ import annotations

import math

import pytest

from fullpipe.errors import InputError
from fullpipe.experiments.search.objective import Objective
from fullpipe.experiments.search.optimizer import maximize
from fullpipe.experiments.search.shrink import shrink
from fullpipe.experiments.search.space import KNOBS, Space, network, tidy

PLAIN = {knob.id: float(knob.plain) for knob in KNOBS}


def test_bounds() -> None:
    space = Space.of({"rate": "1..200 Mbit/s", "rtt": "10 ms..50 ms", "loss": "0", "rtt_drop": "0.5..10 ms"})
    knobs = {knob.id: knob for knob in space.knobs}
    assert (knobs["rate"].low, knobs["rate"].high) == (1e6, 200e6)
    assert (knobs["rtt"].low, knobs["rtt"].high) == (0.01, 0.05)
    assert knobs["loss"] not in space.free
    assert knobs["rtt_drop"] in space.free
    assert Space.of({}).knobs == KNOBS


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"rat": "1..2 Mbit/s"}, "rate"),
        ({"rate": "1..2 ms"}, "Mbit/s|bit/s"),
        ({"rate": "2..1 Mbit/s"}, "must be LOW..HIGH"),
        ({"loss": "0..0.5"}, "0.05"),
        ({"buffer": "much"}, "BDP"),
    ],
)
def test_bad_bounds_name_the_knob_and_the_limits(bounds: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Space.of(bounds)


def test_values_cover_the_bounds_and_the_plain_value() -> None:
    for knob in KNOBS[:-1]:
        found = [knob.value(place / 1000) for place in range(1001)]
        assert all(knob.allows(value) for value in found), knob.id
        assert found[-1] == pytest.approx(knob.high)
        assert (sum(value == knob.plain for value in found) > 250) == (knob.atom > 0), knob.id


def test_the_plain_network_is_a_dumbbell_of_40_ms() -> None:
    tree = network(PLAIN, [("tested", "bbr"), ("other", "cubic")]).resolved().to_dict()
    (link,) = tree["links"]
    assert link["buffer"] == "33 packets"
    assert "udp" not in tree
    assert [flow["name"] for flow in tree["flows"]] == ["tested", "other"]


def test_every_knob_changes_the_network() -> None:
    roles = [("tested", "cubic"), ("other", "cubic")]
    plain = network(PLAIN, roles)
    for knob in KNOBS:
        if knob.id != "period":
            other = network({**PLAIN, knob.id: 0.004 if knob.id == "rtt_drop" else knob.value(0.9)}, roles)
            assert other != plain, knob.id


def test_the_longer_base_rtt_is_of_the_flow_that_the_ratio_names() -> None:
    tree = network({**PLAIN, "rtt_ratio": 5.0}, [("tested", "cubic"), ("other", "cubic")]).to_dict()
    access = {flow["name"]: flow["access_delay"] for flow in tree["flows"]}
    assert access == {"tested": "0.6 ms..1.4 ms", "other": "80.6 ms..81.4 ms"}
    assert network({**PLAIN, "rtt_ratio": 10.0}, [("tested", "cubic"), ("other", "cubic")]).to_dict() == tree


def row(goodputs: dict[str, float], **runs: float) -> dict[str, object]:
    groups = {name: {"goodput_bps": rate, "p95_rtt_s": 0.08, "mean_rtt_s": 0.06} for name, rate in goodputs.items()}
    return {"runs": runs, "groups": groups}


def test_values() -> None:
    rows = {"beside": row({"tested": 8e6, "other": 2e6}, loss_rate=0.03, utilization=0.9), "alone": row({"other": 9e6})}
    wanted = {
        "goodput_harm": 7 / 9,
        "p95_rtt_harm": 0.0,
        "starvation": math.log2(5 / 2),
        "unfairness": 4.0,
        "loss": 0.03,
        "underuse": 0.1,
        "-utilization": -0.9,
    }
    for metric, value in wanted.items():
        sample = Objective(metric, "bbr", "cubic").sample(PLAIN, rows)  # type: ignore[arg-type]
        assert sample.value == pytest.approx(value), metric
        assert sample.use == pytest.approx(0.9)


def test_harm_beyond_a_standard() -> None:
    rows = {
        "beside": row({"tested": 8e6, "other": 2e6}),
        "alone": row({"other": 10e6}),
        "newreno": row({"tested": 5e6, "other": 5e6}),
        "cubic": row({"tested": 7e6, "other": 3e6}),
    }
    sample = Objective("goodput_harm", "bbr", "cubic", beyond_standard=True).sample(PLAIN, rows)  # type: ignore[arg-type]
    assert sample.value == pytest.approx(0.8 - 0.7)


def test_a_starved_flow_has_the_largest_values() -> None:
    rows = {"beside": row({"tested": 8e6, "other": 0.0}), "alone": row({"other": 9e6})}
    assert Objective("starvation", "a", "b").sample(PLAIN, rows).value == 10  # type: ignore[arg-type]
    assert Objective("unfairness", "a", "b").sample(PLAIN, rows).value == 1000  # type: ignore[arg-type]


def test_unknown_metrics() -> None:
    with pytest.raises(InputError, match="goodput_harm"):
        Objective("goodput_harms", "cubic", "cubic").check()
    with pytest.raises(InputError, match="harm"):
        Objective("loss", "cubic", "cubic", beyond_standard=True).check()


def test_the_optimizer_finds_a_narrow_peak() -> None:
    peak = (0.3, 0.7, 0.55, 0.1)
    best = (False, -math.inf)
    asked: list[tuple[float, ...]] = []

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        nonlocal best
        found = []
        for point in points:  # type: ignore[attr-defined]
            asked.append(point)
            found.append((point[0] < 0.5, -math.dist(point, peak)))
        best = max([best, *found])
        return found

    maximize(answer, 4, 600, lambda _: False)
    assert best[0]
    assert best[1] > -0.03
    assert len(asked) == 600
    again = list(asked)
    asked.clear()
    maximize(answer, 4, 600, lambda _: False)
    assert asked == again


@pytest.mark.parametrize("dimensions", [1, 11])
def test_the_optimizer_takes_any_number_of_dimensions(dimensions: int) -> None:
    seen: list[int] = []

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        seen.extend(len(point) for point in points)  # type: ignore[attr-defined]
        return [(True, -abs(point[0] - 0.25)) for point in points]  # type: ignore[attr-defined]

    maximize(answer, dimensions, 90, lambda _: False)
    assert seen == [dimensions] * 90


def test_shrinking_leaves_what_the_weakness_needs() -> None:
    point = {**PLAIN, "rate": 83.1e6, "buffer": 0.23, "loss": 0.004, "late": 12.3, "swing": 2.2, "period": 7.7}
    found = shrink(Space.of({}), point, lambda p: p["buffer"] < 0.3 and p["rate"] > 30e6, lambda: False)
    assert found == {**PLAIN, "rate": 100e6, "buffer": 0.2}


def test_equal_round_trip_times_come_before_the_later_start() -> None:
    """Either explains the weakness: the start is kept, which is a weakness between equal flows."""
    point = {**PLAIN, "rtt_ratio": 3.0, "late": 20.0}
    found = shrink(Space.of({}), point, lambda p: p["rtt_ratio"] > 1 or p["late"] > 10, lambda: False)
    assert found == {**PLAIN, "late": 20.0}


def test_shrinking_stays_within_the_bounds() -> None:
    space = Space.of({"rate": "50..200 Mbit/s", "loss": "0.01"})
    found = shrink(space, {**PLAIN, "rate": 83.1e6, "loss": 0.01}, lambda _: True, lambda: False)
    assert found == {**PLAIN, "rate": 100e6, "loss": 0.01}


def test_a_rate_that_stays_has_no_period() -> None:
    assert tidy({**PLAIN, "period": 3.0}) == PLAIN
