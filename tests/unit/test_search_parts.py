"""Parts of a search: bounds, networks, values, the optimizer, and shrinking."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError
from fullpipe.experiments.search.objective import Objective, Sample
from fullpipe.experiments.search.optimizer import maximize
from fullpipe.experiments.search.searching import FIRST_SEEDS, Ranked, Work, promising
from fullpipe.experiments.search.shrink import shrink
from fullpipe.experiments.search.space import KNOBS, STEP_NUMBERS, Point, Space, network, tidy
from fullpipe.runs.runner import Runner

PLAIN = {knob.id: float(knob.plain) for knob in KNOBS}


def test_bounds() -> None:
    space = Space.of({"rate": "1..200 Mbit/s", "rtt": "10 ms..50 ms", "loss": "0", "rtt_drop": "0.5..10 ms"})
    knobs = {knob.id: knob for knob in space.knobs}
    assert (knobs["rate"].low, knobs["rate"].high) == (1e6, 200e6)
    assert (knobs["rtt"].low, knobs["rtt"].high) == (0.01, 0.05)
    assert knobs["loss"] not in space.free
    assert knobs["rtt_drop"] in space.free
    assert Space.of({}).knobs == KNOBS
    assert Space.of({"outage": "0"}) == Space.of({"outage": "0 s"}), "zero needs no unit"


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


@pytest.mark.parametrize("bounds", [{}, {"rtt_drop": "0.5..10 ms", "loss": "0.01", "buffer": "16 BDP", "late": "0"}])
def test_texts_of_the_bounds_give_the_same_space(bounds: dict[str, str]) -> None:
    space = Space.of(bounds)
    texts = space.texts()
    again = Space.of({**{knob.id: f"{knob.plain:g}" for knob in KNOBS if knob.plain == 0}, **texts})
    assert [(knob.id, knob.high, knob.is_extra) for knob in again.free] == [
        (knob.id, knob.high, knob.is_extra) for knob in space.free
    ]
    assert texts["rate"] == "1..200 Mbit/s"
    assert texts["period"] == "2..20 s"
    assert (texts["loss"], texts.get("late")) == (("0.01", None) if bounds else ("0..0.01", "0..30 s"))


def test_a_key_of_the_link_names_its_knob() -> None:
    assert Space.of({"links.l.rate": "5..10 Mbit/s"}) == Space.of({"rate": "5..10 Mbit/s"})
    with pytest.raises(InputError, match=r"links\.l\.delay"):
        Space.of({"links.l.delay": "5..10 ms"})


def test_several_flows_share_with_one() -> None:
    """Three flows of 2 Mbit/s each, and one of 1 Mbit/s: log2(7/4) bits, and a ratio of 2."""
    space = Space.of({"flows": "1..5"})
    (knob,) = (knob for knob in space.free if knob.id == "flows")
    assert [knob.value(place) for place in (0.0, 0.3, 0.5, 1.0)] == [1.0, 2.0, 3.0, 5.0]
    point = {**PLAIN, "flows": 3.0}
    tested, _ = network(point, [("tested", "bbr"), ("other", "cubic")]).to_dict()["flows"]
    assert (tested["name"], tested["count"]) == ("tested", 3)
    rows = {"beside": row({"tested": 6e6, "other": 1e6}), "alone": row({"other": 9e6})}
    for metric, value in (("starvation", math.log2(7 / 4)), ("unfairness", 2.0)):
        sample = Objective(metric, "bbr", "cubic").sample(point, rows)  # type: ignore[arg-type]
        assert sample.value == pytest.approx(value), metric


def test_a_queue_is_that_of_the_link() -> None:
    tree = network(PLAIN, [("tested", "bbr"), ("other", "cubic")], "fq-codel").to_dict()
    assert tree["links"][0]["queue"] == "fq-codel"


def test_values_cover_the_bounds() -> None:
    for knob in KNOBS:
        if knob.low < knob.high:
            found = [knob.value(place / 1000) for place in range(1001)]
            assert all(knob.allows(value) for value in found), knob.id
            assert (found[0], found[-1]) == (pytest.approx(knob.low), pytest.approx(knob.high))
            assert knob.value(None) == knob.plain
            assert knob.allows(knob.plain)


def test_extras_come_with_the_knobs_that_need_them() -> None:
    space = Space.of({"step2": "0.5..2", "jitter": "0.01..0.1", "pulse": "0.1..5 s"})
    names = [knob.id for knob in space.free]
    sets = [{names[i] for i in extra} for extra in space.extras]
    assert {"swing", "period"} in sets
    assert {"cross", "pulse"} in sets
    assert {"step2", "at2"} in sets
    assert {"jitter"} not in sets, "its bounds exclude the plain value"
    assert not {"at1", "step1"} & set(names)
    assert "period" not in [knob.id for knob in Space.of({"swing": "1"}).free]


def test_the_plain_network_is_a_dumbbell_of_40_ms() -> None:
    tree = network(PLAIN, [("tested", "bbr"), ("other", "cubic")]).resolved().to_dict()
    (link,) = tree["links"]
    assert link["buffer"] == "33 packets"
    assert "udp" not in tree
    assert [flow["name"] for flow in tree["flows"]] == ["tested", "other"]


def test_every_knob_changes_the_network() -> None:
    roles = [("tested", "cubic"), ("other", "cubic")]
    values = {"rtt_drop": 0.004, "pulse": 0.5, "flows": 3.0} | {f"step{i}": 2.0 for i in STEP_NUMBERS}
    for knob in KNOBS:
        without = (
            {**PLAIN, knob.needs: values.get(knob.needs, 0.3 if knob.needs == "cross" else 2.0)}
            if knob.needs
            else PLAIN
        )
        value = values.get(knob.id, knob.value(0.9))
        assert network({**without, knob.id: value}, roles) != network(without, roles), knob.id


def rates_of(point: dict[str, float]) -> list[tuple[float, float]]:
    """Times (s) and rates (Mbit/s) of the link's schedule."""
    (link,) = network(point, [("other", "cubic")]).to_dict()["links"]
    units = {"ms": 1e-3, "s": 1.0}
    times = [each["at"].split() for each in link["schedule"]]
    rates = [float(each["rate"].removesuffix(" Mbit/s")) for each in link["schedule"]]
    return [(float(value) * units[unit], rate) for (value, unit), rate in zip(times, rates, strict=True)]


def test_rates_that_change_keep_their_mean() -> None:
    """At 10 Mbit/s: a quarter of the rate from 15 + 7.5 + 3 s on, and four times the rate from 37.5 s on."""
    found = rates_of({**PLAIN, "step2": 0.25, "at2": 3.0, "step4": 4.0})
    assert [at_s for at_s, _ in found] == [0.0, 25.5, 37.5]
    (_, first), (_, second), (_, third) = found
    assert (second / first, third / first) == (pytest.approx(0.25, rel=1e-4), pytest.approx(4.0, rel=1e-4))
    assert (10.5 * first + 12 * second + 7.5 * third) / 30 == pytest.approx(10, rel=1e-4)
    alternating = rates_of({**PLAIN, "swing": 3.0})
    assert alternating == [(0.0, 15.0), (5.0, 5.0)]


def test_outages_take_a_fiftieth_of_the_time() -> None:
    found = rates_of({**PLAIN, "outage": 0.3})
    assert found == [(0.0, 10.0), (15.0, 0.0), (15.3, 10.0), (30.0, 0.0), (30.3, 10.0)]
    both = rates_of({**PLAIN, "outage": 0.3, "swing": 3.0})
    assert (15.3, 5.0) in both
    assert (20.0, 15.0) in both
    assert sum(rate == 0 for _, rate in both) == 2


def test_changes_at_one_time_are_one() -> None:
    """The link is out from 10 to 10.2 s, and each 1.7 s the rate changes: the end of the outage is the sixth change."""
    found = rates_of({**PLAIN, "outage": 0.2, "swing": 3.0, "period": 3.4})
    assert [rate for at_s, rate in found if at_s == pytest.approx(10.2)] == [15.0]
    for period in range(200, 2000, 7):
        for outage in (0.02, 0.05, 0.124, 0.31, 0.372):
            network({**PLAIN, "outage": outage, "swing": 3.0, "period": period / 100}, [("other", "cubic")])


def test_pulses_have_the_mean_rate_of_the_datagrams() -> None:
    """0.2 of 10 Mbit/s in pulses of 10 Mbit/s each 0.5 s: 125 kB."""
    (udp,) = network({**PLAIN, "cross": 0.2, "pulse": 0.5}, [("other", "cubic")]).to_dict()["udp"]
    assert (udp["rate"], udp["frames"]) == ("10 Mbit/s", {"per_second": 2.0, "size": "125000 B"})


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


def test_harm_to_transfers() -> None:
    """Transfers take 0.2 s alone and 0.8 s beside: (0.8 - 0.2) / 0.8. Whether the network counts depends on bulk."""
    objective = Objective("fct_harm", "bbr", "cubic")
    assert objective.parts().keys() == {"beside", "alone", "bulk"}
    rows: dict[str, object] = {
        "beside": {"runs": {}, "groups": {"tested": {}, "transfers": {"completion_s": 0.8}}},
        "alone": {"runs": {}, "groups": {"transfers": {"completion_s": 0.2}}},
        "bulk": row({"other": 9e6}),
    }
    sample = objective.sample(PLAIN, rows)  # type: ignore[arg-type]
    assert sample.value == pytest.approx(0.75)
    assert sample.use == pytest.approx(0.9)


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

    maximize(answer, 4, [], 600, lambda _: False)
    assert best[0]
    assert best[1] > -0.03
    assert len(asked) == 600
    again = list(asked)
    asked.clear()
    maximize(answer, 4, [], 600, lambda _: False)
    assert asked == again


def test_the_optimizer_finds_a_peak_without_extras() -> None:
    """Each extra costs 0.1, so that the best point has none."""
    extras = [(i,) for i in range(2, 9)]
    best = (-math.inf, 0)

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        nonlocal best
        found = []
        for point in points:  # type: ignore[attr-defined]
            count = sum(x is not None for x in point[2:])
            found.append((True, -math.dist(point[:2], (0.3, 0.7)) - 0.1 * count))
            best = max(best, (found[-1][1], count))
        return found

    maximize(answer, 9, extras, 300, lambda _: False)
    assert best[1] == 0
    assert best[0] > -0.02


@pytest.mark.parametrize("dimensions", [1, 11])
def test_the_optimizer_takes_any_number_of_dimensions(dimensions: int) -> None:
    seen: list[int] = []

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        seen.extend(len(point) for point in points)  # type: ignore[attr-defined]
        return [(True, -abs(point[0] - 0.25)) for point in points]  # type: ignore[attr-defined]

    maximize(answer, dimensions, [], 90, lambda _: False)
    assert seen == [dimensions] * 90


def test_the_first_points_cover_each_dimension_over_all_subspaces() -> None:
    """Of 64 points in nine or more subspaces, no tenth of the first dimension, which all of them have, is empty."""
    seen: list[float] = []

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        seen.extend(point[0] for point in points)  # type: ignore[attr-defined]
        return [(True, 0.0) for _ in points]  # type: ignore[attr-defined]

    maximize(answer, 9, [(i,) for i in range(1, 9)], 160, lambda _: False)
    assert {int(10 * x) for x in seen[:64]} == set(range(10))


def test_the_optimizer_asks_one_point_of_extras_alone() -> None:
    """A subspace has a dimension at least."""
    seen: list[tuple[float | None, ...]] = []

    def answer(points: object, _seeds: int) -> list[tuple[bool, float]]:
        seen.extend(points)  # type: ignore[arg-type]
        return [(True, point[0] or 0.0) for point in points]  # type: ignore[attr-defined]

    maximize(answer, 2, [(0,), (1,)], 60, lambda _: False)
    assert all(any(x is not None for x in point) for point in seen)
    assert any(point[0] is None for point in seen)


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


def test_promising_sets_are_the_worst_ones_and_those_with_few_causes() -> None:
    """Four sets by their values, and four more with one cause or none first."""
    values = {"abc": 0.9, "ab": 0.8, "ac": 0.7, "bc": 0.6, "bd": 0.5, "": 0.4, "a": 0.3, "b": 0.2, "c": 0.1, "d": 0.0}
    ranked = {frozenset(causes): Ranked(value, []) for causes, value in values.items()}
    assert ["".join(sorted(causes)) for causes in promising(ranked)] == ["abc", "ab", "ac", "bc", "", "a", "b", "c"]
    ranked[frozenset("a")] = Ranked(1.0, [])
    found = ["".join(sorted(causes)) for causes in promising(ranked)]
    assert found == ["a", "abc", "ab", "ac", "", "b", "c", "d"], "a set of both halves counts once"


def test_the_selected_networks_are_findings_of_their_own() -> None:
    """A harm of 0.81 with loss is not clearly more than 0.8 without, 0.95 with a later start is, and 0.5 with jitter is
    below the threshold of 0.75. A network with both loss and a later start adds nothing to the later start.
    """
    values = {"": 0.8, "loss": 0.81, "late": 0.95, "jitter": 0.5, "late loss": 0.96}

    class Known(Work):
        """A search whose networks have the values above, by their causes, the worse the larger the buffer is."""

        def measure(self, points: Sequence[Point], seeds: Sequence[int], *, again: bool = False) -> None:  # noqa: ARG002
            for point in points:
                value = values[" ".join(sorted(self.space.causes(point)))] - 0.01 * (16 - point["buffer"])
                for seed in seeds:
                    of_point = self.known.setdefault(tuple(point.items()), {})
                    of_point[seed] = Sample(value + 0.0001 * (-1) ** seed, 1.0 if point["rtt"] < 0.1 else 0.5)

    objective = Objective("goodput_harm", "a", "b")
    work = Known(objective, Space.of({}), Runner(RunOptions(), None), None, 1, None)
    extras: tuple[dict[str, float], ...] = (
        {},
        {"loss": 0.001},
        {"late": 10.0},
        {"jitter": 0.01},
        {"late": 10.0, "loss": 0.001},
    )
    for extra in extras:
        points = [{**PLAIN, **extra, "buffer": buffer} for buffer in (1.0, 16.0)]
        work.measure([*points, {**points[0], "buffer": 16.0, "rtt": 0.2}], FIRST_SEEDS)
    selected = work.select(0.75)
    assert [(set(work.space.causes(point)), point["buffer"]) for point in selected] == [({"late"}, 16.0), (set(), 16.0)]
    assert {point["rtt"] for point in selected} == {0.04}, "at an RTT of 0.2 s no network is feasible"
    assert [set(work.space.causes(point)) for point in work.select(0.99)] == [{"late", "loss"}], "the worst of all"
