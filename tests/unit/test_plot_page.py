"""Plots as values for pages: every mark, its look, and its place."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from conftest import BUILT_IN
from fullpipe.plots.looks import COLOURS, LOOKS, Look, pen, pens
from fullpipe.plots.page import packed, page_values
from fullpipe.plots.spec import Axis, Plot


def unpacked(pack: dict[str, Any]) -> list[float | None]:
    codes = np.frombuffer(base64.b64decode(pack["codes"]), dtype="<u2")
    step = (pack["high"] - pack["low"]) / 65534
    return [None if code == 65535 else pack["low"] + int(code) * step for code in codes]


def test_numbers_keep_their_value_to_a_part_in_65534_of_their_range() -> None:
    values = [1.0, np.nan, 3.0, 2.25, np.inf]
    found = unpacked(packed(np.array(values)))
    assert found == [1.0, None, 3.0, pytest.approx(2.25, abs=2 / 65534), None]
    assert unpacked(packed(np.array([7.0, 7.0]))) == [7.0, 7.0]
    assert unpacked(packed(np.array([np.nan]))) == [None]


def over_time(samples: int) -> Plot:
    plot = Plot.grid(1, over_time=True)
    (panel,) = plot.panels
    t_s = np.linspace(0, 80, samples)
    spike = np.where(abs(t_s - 40) < 80 / samples, 50.0, 1.0)
    panel.line(t_s, spike, color=COLOURS[1], label="window", linestyle="--")
    panel.area(t_s, 2 * t_s, 3 * t_s, COLOURS[2], alpha=1.0, label="extra")
    panel.level(10, color="#666666", linestyle=":", label="pipe")
    panel.upright(60, color="#999999")
    panel.x = Axis("Time (s)", limits=(0, 80))
    panel.y = Axis("packets", limits=(0, 60))
    panel.title = "Reno"
    return plot


@pytest.mark.parametrize("samples", [801, 80_001])
def test_series_lie_on_one_grid_that_loses_no_spike(samples: int) -> None:
    found = page_values(over_time(samples))
    json.dumps(found, allow_nan=False)
    assert (found["kind"], found["from"], found["to"]) == ("time", 0, 80)
    (panel,) = found["panels"]
    assert (panel["title"], panel["x"]["label"], panel["y"]["label"]) == ("Reno", "Time (s)", "packets")
    (line,) = panel["lines"]
    assert (line["label"], line["colour"], line["dash"]) == ("window", "orange", "6 4")
    values = unpacked(line["y"])
    assert len(values) == found["places"]
    assert max(value for value in values if value is not None) == pytest.approx(50, rel=1e-3)
    assert values[0] == values[-1] == 1.0
    (area,) = panel["areas"]
    low, high = unpacked(area["low"]), unpacked(area["high"])
    middle = found["places"] // 2
    assert (area["colour"], area["label"]) == ("green", "extra")
    assert low[middle] == pytest.approx(80, abs=0.2)
    assert high[middle] == pytest.approx(120, abs=0.3)
    assert [(rule["type"], rule["at"], rule["colour"]) for rule in panel["rules"]] == [
        ("level", 10, "neutral"),
        ("upright", 60, "neutral"),
    ]


def test_what_is_before_or_after_a_line_is_no_value() -> None:
    plot = Plot.grid(1, over_time=True)
    plot.panels[0].line(np.linspace(20, 40, 100), np.full(100, 3.0))
    plot.panels[0].x.limits = (0, 80)
    values = unpacked(page_values(plot)["panels"][0]["lines"][0]["y"])
    known = [i for i, value in enumerate(values) if value is not None]
    # Twenty of eighty seconds, from a quarter of them on.
    assert (len(known), known[0]) == (len(values) // 4, len(values) // 4)


def test_points_and_bars_stand_where_they_are_page_values() -> None:
    plot = Plot.grid(1, 2, share_x="none", share_y="none")
    left, right = plot.panels
    hollow: Look = {"color": "#000000", "marker": "s", "markerfacecolor": "none", "linestyle": "none"}
    left.line([1, 10], [2, 4], **hollow, label="published")
    left.x.scale = "log"
    left.x.limits = (1, 10)
    right.bars([0, 1], [3.0, 5.0], [COLOURS[0], COLOURS[7]], thickness=0.5, across=True)
    right.y.name([0, 1], ["reno", "vegas"])
    found = page_values(plot)
    assert found["kind"] == "plot"
    first, second = found["panels"]
    (points,) = first["marks"]
    assert (points["points"], points["marker"], points["hollow"], points["dash"]) == (
        [[1, 2], [10, 4]],
        "s",
        True,
        None,
    )
    assert (points["colour"], first["x"]["log"], first["y"]["log"]) == ("text", True, False)
    assert (first["x"]["from"], first["x"]["to"]) == (1, 10)
    (bars,) = second["marks"]
    assert (bars["across"], bars["colours"]) == (True, ["blue", "amber"])
    assert bars["boxes"] == [[0, -0.25, 3, 0.5], [0, 0.75, 5, 0.5]]
    assert second["y"]["ticks"] == [[0, "reno"], [1, "vegas"]]


def test_names_of_categories_are_kept() -> None:
    plot = Plot.grid(1)
    plot.panels[0].bars([0, 1], [3.0, 5.0], COLOURS[0], label="as reconstructed")
    plot.panels[0].x.name([0, 1], ["HSTCP", "STCP"])
    (panel,) = page_values(plot)["panels"]
    assert panel["x"]["ticks"] == [[0, "HSTCP"], [1, "STCP"]]
    assert "ticks" not in panel["y"]
    assert panel["marks"][0]["label"] == "as reconstructed"


def test_each_algorithm_has_a_look_of_its_own() -> None:
    looks = [pen(name) for name in LOOKS["algorithms"]]
    assert len({(look["color"], look["linestyle"]) for look in looks}) == len(looks)
    # Blue and solid, red and solid, blue and dashed: seven pixels and four are three and a half points and two.
    assert pen("reno") == {"color": "#0072b2", "linestyle": "-"}
    assert pen("hyun-jang", marked=True) == {"color": "#c2273f", "linestyle": "-", "marker": "D"}
    assert pen("newreno", marked=True) == {"color": "#0072b2", "linestyle": (0, (3.5, 2.0)), "marker": "P"}
    assert sorted(LOOKS["algorithms"]) == sorted(BUILT_IN)


def test_a_line_is_drawn_by_its_name_whatever_is_beside_it() -> None:
    first, again, cubic, own, set_ = pens(["reno", "reno on linux", "cubic", "aimd.py", "vegas (alpha=2)"])
    assert first == pen("reno")
    assert again == {**first, "linestyle": (0, (5.0, 2.0, 1.0, 2.0))}
    assert (cubic, set_, own) == (pen("cubic"), pen("vegas"), pen("aimd.py"))
    assert pens(["cubic", "reno"]) == [pen("cubic"), pen("reno")]


def test_a_page_gets_the_houses_colours_and_dashes_by_name() -> None:
    plot = Plot.grid(1)
    for name, repeated in (("reno", 0), ("newreno", 0), ("tahoe", 0), ("reno", 1)):
        plot.panels[0].line([1, 2], [1, 2], **pen(name, marked=True, repeated=repeated), label=name)
    (panel,) = page_values(plot)["panels"]
    assert [(line["label"], line["colour"], line["dash"], line["marker"]) for line in panel["marks"]] == [
        ("reno", "blue", "", "o"),
        ("newreno", "blue", "7 4", "P"),
        ("tahoe", "blue", "2 3", "v"),
        ("reno", "blue", "10 4 2 4", "o"),
    ]


def test_axes_without_limits_hold_all_marks_and_their_error_bars() -> None:
    plot = Plot.grid(1, 2, share_x="none")
    left, right = plot.panels
    left.line([1, 3], [10, 20], error=([2, 0], [0, 10]), color="#000000")
    right.bars([0], [50.0], COLOURS[0], thickness=1.0)
    assert plot.limits(left, "x") == (pytest.approx(0.9), pytest.approx(3.1))
    # The panels of a row share the vertical axis: from 0, where bars begin, to 50.
    assert plot.limits(left, "y") == plot.limits(right, "y") == (-2.5, 52.5)
    assert plot.limits(right, "x") == (pytest.approx(-0.55), pytest.approx(0.55))
    left.y.limits = (0, None)
    assert plot.limits(right, "y") == (0, 52.5)
    found: Any = page_values(plot)
    assert found["panels"][0]["marks"][0]["error"] == [[2, 0], [0, 10]]


def test_a_logarithmic_axis_leaves_out_what_is_not_positive() -> None:
    plot = Plot.grid(1)
    (panel,) = plot.panels
    panel.line([0, 1, 100], [1, 1, 1], color="#000000")
    panel.x.scale = "log"
    low, high = plot.limits(panel, "x")
    assert (low * 100**0.05, high / 100**0.05) == (pytest.approx(1), pytest.approx(100))


def test_a_reversed_axis_goes_from_its_high_end() -> None:
    plot = Plot.grid(1, 2)
    plot.panels[0].y.reversed = True
    plot.panels[1].y.limits = (0, 5)
    found: Any = page_values(plot)
    assert [(panel["y"]["from"], panel["y"]["to"]) for panel in found["panels"]] == [(5, 0), (5, 0)]


def test_points_over_time_are_kept_as_points() -> None:
    plot = over_time(801)
    plot.panels[0].line([16], [30], marker="o", linestyle="none", color=COLOURS[0], label="published")
    found: Any = page_values(plot)
    assert found["kind"] == "plot"
    assert found["panels"][0]["marks"][2]["points"] == [[16, 30]]


def test_a_bar_without_a_value_is_left_out() -> None:
    plot = Plot.grid(1)
    plot.panels[0].bars([0, 1], [np.nan, 5.0], [COLOURS[0], COLOURS[1]], thickness=0.5)
    found: Any = page_values(plot)
    (bars,) = found["panels"][0]["marks"]
    assert (bars["boxes"], bars["colours"]) == ([[0.75, 0, 0.5, 5]], ["orange"])
    json.dumps(found, allow_nan=False)
