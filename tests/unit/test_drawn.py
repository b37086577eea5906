"""What a picture shows, as plain values: every mark, its look, and where it stands."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import BUILT_IN
from fullpipe.charts.drawn import drawn, packed
from fullpipe.charts.looks import LOOKS
from fullpipe.charts.style import COLOURS, pen, pens


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


def over_time(samples: int) -> Figure:
    figure = Figure()
    axes = figure.subplots()
    t_s = np.linspace(0, 80, samples)
    axes.plot(t_s, np.where(abs(t_s - 40) < 80 / samples, 50.0, 1.0), color=COLOURS[1], label="window", linestyle="--")
    axes.fill_between(t_s, 2 * t_s, 3 * t_s, color=COLOURS[2], label="extra")
    axes.axhline(10, color="#666666", linestyle=":", label="pipe")
    axes.axvline(60, color="#999999")
    axes.set_xlim(0, 80)
    axes.set_ylim(0, 60)
    axes.set_xlabel("time, s")
    axes.set_ylabel("packets")
    axes.set_title("Reno", loc="left")
    return figure


@pytest.mark.parametrize("samples", [801, 80_001])
def test_series_lie_on_one_grid_that_loses_no_spike(samples: int) -> None:
    found = drawn(over_time(samples))
    json.dumps(found, allow_nan=False)
    assert (found["kind"], found["from"], found["to"]) == ("time", 0, 80)
    (panel,) = found["panels"]
    assert (panel["title"], panel["x"]["label"], panel["y"]["label"]) == ("Reno", "time, s", "packets")
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
    figure = Figure()
    axes = figure.subplots()
    axes.plot(np.linspace(20, 40, 100), np.full(100, 3.0))
    axes.set_xlim(0, 80)
    axes.set_xlabel("time, s")
    values = unpacked(drawn(figure)["panels"][0]["lines"][0]["y"])
    known = [i for i, value in enumerate(values) if value is not None]
    # Twenty of eighty seconds, from a quarter of them on.
    assert (len(known), known[0]) == (len(values) // 4, len(values) // 4)


def test_points_and_bars_stand_where_they_are_drawn() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([1, 10], [2, 4], "s", color="#000000", markerfacecolor="none", label="published")
    left.set_xscale("log")
    left.set_xlim(1, 10)
    right.barh(["reno", "vegas"], [3.0, 5.0], color=[COLOURS[0], COLOURS[7]], height=0.5)
    found = drawn(figure)
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
    figure = Figure()
    axes = figure.subplots()
    axes.bar([0, 1], [3.0, 5.0], label="as reconstructed")
    axes.set_xticks([0, 1], ["HSTCP", "STCP"])
    (panel,) = drawn(figure)["panels"]
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
    figure = Figure()
    axes = figure.subplots()
    for name, repeated in (("reno", 0), ("newreno", 0), ("tahoe", 0), ("reno", 1)):
        axes.plot([1, 2], [1, 2], **pen(name, marked=True, repeated=repeated), label=name)
    (panel,) = drawn(figure)["panels"]
    assert [(line["label"], line["colour"], line["dash"], line["marker"]) for line in panel["marks"]] == [
        ("reno", "blue", "", "o"),
        ("newreno", "blue", "7 4", "P"),
        ("tahoe", "blue", "2 3", "v"),
        ("reno", "blue", "10 4 2 4", "o"),
    ]
