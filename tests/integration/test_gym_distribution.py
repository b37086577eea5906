"""Distributions of scenarios: laws, mixtures, splits, and the published ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fullpipe.errors import InputError, ScenarioError
from fullpipe.gym import PRESETS, Distribution

LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
FLOWS = [{"name": "x", "algorithm": "external"}, {"name": "rival", "algorithm": "cubic"}]
PATH: dict[str, Any] = {"duration": "30 s", "packet_size": 1500, "links": [LINK], "flows": FLOWS}
Values = npt.NDArray[np.float64]


def number(value: object) -> float:
    return float(value.split()[0]) if isinstance(value, str) else float(str(value))


def drawn(distribution: Distribution, path: str, count: int) -> Values:
    return values([distribution.draws(seed) for seed in range(count)], path)


def values(draws: list[dict[str, object]], path: str) -> Values:
    return np.array([number(draw[path]) for draw in draws])


def check_law(found: Values, share_below: Callable[[Values], Values]) -> None:
    """Kolmogorov's and Smirnov's test: its critical value at 1 % is 1.63 / sqrt(n)."""
    found = np.sort(found)
    count = len(found)
    shares = share_below(found)
    distance = max(
        np.abs(shares - np.arange(1, count + 1) / count).max(), np.abs(shares - np.arange(count) / count).max()
    )
    assert distance < 1.63 / np.sqrt(count)


def test_a_normal_law_is_truncated() -> None:
    from statistics import NormalDist

    axes = {"links.l.delay": {"normal": ["20 ms", "10 ms"], "between": ["5 ms", "30 ms"]}}
    found = drawn(Distribution(PATH, axes), "links.l.delay", 1000)
    assert 0.005 <= found.min() < found.max() <= 0.030
    law = NormalDist(0.02, 0.01)
    low, high = law.cdf(0.005), law.cdf(0.03)
    check_law(found, lambda them: (np.array([law.cdf(value) for value in them]) - low) / (high - low))


def test_traces_draws_the_files_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lte"
    folder.mkdir()
    (folder / "a.trace").write_text("1\n2\n3\n")
    (folder / "b.trace").write_text("5\n10\n")
    file = tmp_path / "paths.toml"
    file.write_text(
        """
        [scenario]
        duration = "5 s"
        links = [{ name = "l", trace = [1, 2], delay = "20 ms", buffer = "100 packets" }]
        flows = [{ name = "x", algorithm = "external" }]
        [axes]
        "links.l.trace" = { traces = "lte" }
        """
    )
    distribution = Distribution.load(file)
    names = {Path(str(distribution.draws(seed)["links.l.trace"])).name for seed in range(20)}
    assert names == {"a.trace", "b.trace"}
    distribution.sample(1)
    file.write_text(file.read_text().replace('"lte"', '"wifi"'))
    with pytest.raises(ScenarioError, match="folder with files"):
        Distribution.load(file)


def test_steps_are_shares_of_the_drawn_rate_at_equal_times() -> None:
    axes = {
        "links.l.rate": {"log": ["2 Mbit/s", "20 Mbit/s"]},
        "links.l.schedule": {"steps": {"every": ["1 s", "15 s"], "rate": ["0.3", "1"]}},
    }
    distribution = Distribution(PATH, axes)
    shares = []
    for seed in range(40):
        link = distribution.sample(seed).to_dict()["links"][0]
        times = [number(step["at"]) for step in link["schedule"]]
        assert times[0] == 0
        assert times[-1] < 30 <= times[-1] + 15.1
        np.testing.assert_allclose(np.diff(times), times[1] - times[0], atol=1e-9)
        assert times[1] * 10 == pytest.approx(round(times[1] * 10))
        shares += [number(step["rate"]) / number(link["rate"]) for step in link["schedule"]]
    check_law(np.array(shares), lambda shares: (shares - 0.3) / 0.7)


def test_the_algorithm_none_leaves_out_the_flow() -> None:
    axes = {"flows.rival.algorithm": {"choice": ["cubic", "none"]}}
    counts = [len(Distribution(PATH, axes).sample(seed).to_dict()["flows"]) for seed in range(20)]
    assert set(counts) == {1, 2}


def test_a_part_of_a_mixture_has_its_weight_and_its_axes() -> None:
    mixture = [{"weight": 0.3, "axes": {"links.l.rate": {"uniform": ["1 Mbit/s", "2 Mbit/s"]}}}]
    axes = {"links.l.rate": {"uniform": ["10 Mbit/s", "20 Mbit/s"]}, "links.l.delay": {"uniform": ["5 ms", "9 ms"]}}
    distribution = Distribution(PATH, axes, mixture)
    rates = drawn(distribution, "links.l.rate", 1000)
    low = rates < 5e6
    # Three standard deviations of a share of 0.3 among 1000.
    assert low.mean() == pytest.approx(0.3, abs=3 * np.sqrt(0.3 * 0.7 / 1000))
    assert rates[low].max() <= 2e6
    assert rates[~low].min() >= 10e6
    plain = Distribution(PATH, axes)
    assert all(distribution.draws(s)["links.l.delay"] == plain.draws(s)["links.l.delay"] for s in range(50))


def test_a_split_has_no_common_draw() -> None:
    axes = {"links.l.rate": {"choice": [f"{i} Mbit/s" for i in range(1, 101)]}}
    train, held_out = Distribution(PATH, axes).split("a secret")
    trained = {train.draws(seed)["links.l.rate"] for seed in range(1000)}
    tested = {held_out.draws(seed)["links.l.rate"] for seed in range(1000)}
    assert not trained & tested
    assert len(tested) == pytest.approx(20, abs=12)
    assert len(trained | tested) > 95
    other = Distribution(PATH, axes).split("another secret")[1]
    assert {other.draws(seed)["links.l.rate"] for seed in range(1000)} != tested
    with pytest.raises(InputError, match="different draws"):
        Distribution(PATH).split("a secret")


def test_a_split_draws_outside_of_the_ranges() -> None:
    axes = {
        "links.l.rate": {"log": ["2 Mbit/s", "20 Mbit/s"]},
        "links.l.loss": {"uniform": [0, 0.01]},
        "flows.rival.count": {"integer": [2, 4]},
    }
    _, held_out = Distribution(PATH, axes).split("a secret", outside=1.5)
    rates = drawn(held_out, "links.l.rate", 300)
    above = rates > 20e6
    assert 80 < above.sum() < 220
    assert rates[above].max() <= 30e6
    assert 2e6 / 1.5 <= rates[~above].min() < rates[~above].max() < 2e6
    losses = drawn(held_out, "links.l.loss", 100)
    assert 0.01 < losses.min() < losses.max() <= 0.015
    assert set(drawn(held_out, "flows.rival.count", 100)) == {1, 5, 6}


@pytest.mark.parametrize(
    ("path", "share_below"),
    [
        ("links.l.rate", lambda rate: (rate / 12000 - 100) / 400),
        ("links.l.delay", lambda delay: (delay - 0.05) / 0.45),
        ("links.l.loss", lambda loss: loss / 0.05),
    ],
)
def test_the_laws_of_aurora(path: str, share_below: Callable[[Values], Values]) -> None:
    check_law(drawn(Distribution.preset("aurora"), path, 2000), share_below)


def test_the_buffer_of_aurora() -> None:
    """1 + floor(e^u), u uniform from 0 to 8: a value of at most n has the probability log(n) / 8."""
    found = drawn(Distribution.preset("aurora"), "links.l.buffer", 2000)
    assert set(found) == {round(value) for value in found}
    assert 2 == found.min() < 2500 < found.max() <= 2981
    for most in (2, 5, 20, 100, 1000):
        assert (found <= most).mean() == pytest.approx(np.log(most) / 8, abs=1.63 / np.sqrt(2000))


def test_the_laws_of_genet() -> None:
    genet = Distribution.preset("genet")
    draws = [genet.draws(seed) for seed in range(2000)]
    check_law(values(draws, "links.l.rate"), lambda rate: np.log(rate / 1e5) / np.log(1000))
    check_law(values(draws, "links.l.delay"), lambda delay: (delay - 0.002) / 0.198)
    check_law(values(draws, "links.l.buffer"), lambda buffer: (buffer - 0.2) / 2.8)
    losses = values(draws, "links.l.loss")
    whole = np.log(0.05001 / 1e-5)
    assert (losses == 0).mean() == pytest.approx(np.log(10) / whole, abs=1.63 / np.sqrt(2000))
    check_law(losses[losses > 0], lambda loss: np.log(loss / 1e-4) / np.log(0.05001 / 1e-4))
    steps: Any = [draw["links.l.schedule"] for draw in draws]
    periods = np.array([step["every_s"] for step in steps])
    for most, share in ((1, 0.3), (3, 0.51), (6, 0.657), (9, 0.7599), (15, 1)):
        assert (periods <= most + 1e-9).mean() == pytest.approx(share, abs=1.63 / np.sqrt(2000))


def test_each_preset_gives_scenarios() -> None:
    for name in PRESETS:
        for seed in range(20):
            link = Distribution.preset(name).sample(seed).to_dict()["links"][0]
            assert link["reverse"] == {"loss": 0}
    with pytest.raises(InputError, match="orca-repository"):
        Distribution.preset("orcas")


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"links.l.delay": {"normal": ["20 ms", "5 ms"]}}, "between requires two values"),
        ({"links.l.delay": {"normal": ["20 ms", 5], "between": ["1 ms", "2 ms"]}}, "one unit"),
        ({"links.l.delay": {"normal": ["20 ms", "1 ms"], "between": ["1 ms", "2 ms"]}}, "3 deviations"),
        ({"links.l.schedule": {"steps": {"every": ["1 s", "2 s"]}}}, "every and rate"),
        ({"links.l.schedule": {"steps": {"every": [1, 2], "rate": ["0.5", "1"]}}}, "two times"),
        ({"links.l.schedule": {"steps": {"every": ["1 s", "2 s"], "rate": ["0", "1"]}}}, "above 0"),
        ({"links.l.rate": {"steps": {"every": ["1 s", "2 s"], "rate": ["0.5", "1"]}}}, "links.NAME.schedule"),
        ({"links.m.schedule": {"steps": {"every": ["1 s", "2 s"], "rate": ["0.5", "1"]}}}, "requires a link m"),
    ],
)
def test_a_wrong_law_is_named(axes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        Distribution(PATH, axes)


@pytest.mark.parametrize(
    ("mixture", "said"),
    [
        ([{"weight": 0.6}, {"weight": 0.6}], "at most 1"),
        ([{"weight": 0}], "above 0"),
        ([{"weight": 0.1, "axis": {}}], "axes"),
        ([{"weight": 0.1, "axes": {"links.l.rate": {"log": [0, 1]}}}], "above 0"),
    ],
)
def test_a_wrong_mixture_is_named(mixture: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        Distribution(PATH, {}, mixture)
