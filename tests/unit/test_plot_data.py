"""The numbers behind every axis of every picture, from figures written by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from by_hand import LINK_SERIES, NO, SERIES, by_hand
from fullpipe.errors import InputError
from fullpipe.experiments.compare import Comparison
from fullpipe.experiments.sizing import Sizing
from fullpipe.metrics import axis, metric
from fullpipe.plots.draw import figure as draw
from fullpipe.plots.duel import duel_plot
from fullpipe.plots.looks import link_pen, pen
from fullpipe.plots.series import FEW
from fullpipe.plots.sweep import Across, sweep_plot
from test_tables import sized, swept

PANELS = {
    "Congestion window": "Congestion window (packets)",
    "Queue": "Queue (packets)",
    "Utilization": "Utilization (%)",
    "RTT": "RTT (ms)",
}
TIMES = [1.0, 2.0, 3.0, 4.0]


def panels(figure: Figure) -> dict[str, Axes]:
    """The panels by their titles."""
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


def drawn(axes: Axes) -> list[tuple[list[float], list[Any]]]:
    """Points of each line; None at a gap. Without the empty lines, which represent a kind in the legend."""
    return [(x, y) for x, y in map(points, axes.lines) if x]


def points(line: Line2D) -> tuple[list[float], list[Any]]:
    x, y = (np.asarray(data, dtype=float) for data in line.get_data())
    return x.tolist(), [None if math.isnan(value) else round(value, 9) for value in y.tolist()]


def bold(axes: Axes) -> list[Line2D]:
    """The lines that are named in a legend."""
    return [line for line in axes.lines if not str(line.get_label()).startswith("_") and len(line.get_xdata())]  # type: ignore[arg-type]


def shaded(axes: Axes) -> tuple[float, float]:
    """From when to when the panel is shaded."""
    (patch,) = axes.patches
    box = patch.get_extents().transformed(axes.transData.inverted())
    return round(box.x0, 9), round(box.x1, 9)


def test_a_run() -> None:
    figure = by_hand().plot()
    found = panels(figure)
    assert {title: axes.get_ylabel() for title, axes in found.items()} == PANELS
    assert drawn(found["Congestion window"]) == [
        (TIMES, [10, 20, 30, 15]),
        (TIMES, [None, None, 12, 13]),
        (TIMES, [2, 4, 6, 8]),
        (TIMES, [50, 51, 52, 53]),
    ]
    assert drawn(found["RTT"]) == [(TIMES, [None, 81, 82, 83]), (TIMES, [91, 92, 93, 94])]
    assert drawn(found["Queue"]) == [(TIMES, [100, 200, 300, 400]), (TIMES, [11, 12, 13, 14])]
    assert drawn(found["Utilization"]) == [(TIMES, [50, 60, 70, 80]), (TIMES, [1, 2, 3, 4])]
    assert [line.get_label() for line in bold(found["Congestion window"])] == ["reno #0", "ours #1"]
    assert [line.get_label() for line in bold(found["Queue"])] == ["bottleneck", "edge"]
    for axes in found.values():
        assert shaded(axes) == (0, 1)
        assert axes.get_ylim()[0] == 0
    assert found["Utilization"].get_ylim() == (0, 105)
    assert found["RTT"].get_xlim() == (0, 4)


def test_a_flow_has_one_colour_in_all_panels() -> None:
    found = panels(by_hand().plot())
    colours = [line.get_color() for line in found["Congestion window"].lines if len(line.get_xdata())]  # type: ignore[arg-type]
    reno, vegas = (pen(name)["color"] for name in ("reno", "vegas"))
    assert colours == [reno, reno, vegas, vegas]
    assert [line.get_color() for line in found["RTT"].lines] == [reno, vegas]
    assert [line.get_color() for line in found["Utilization"].lines] == [link_pen(i)["color"] for i in (0, 1)]


def test_a_run_of_many_flows_shows_the_means_of_each_algorithm() -> None:
    # Seven flows, more than are distinguished: three of reno with windows 10 i, 20 i, ... for i = 1, 2, 3; four of
    # vegas.
    flows = range(FEW + 1)
    algorithms = ["reno"] * 3 + ["vegas"] * 4
    series: dict[str, list[Any]] = {
        "t_s": TIMES * len(flows),
        "flow": [i for i in flows for _ in TIMES],
        "cwnd_packets": [t * 10 * (i + 1) for i in flows for t in TIMES],
        "ssthresh_packets": [NO] * 4 * len(flows),
        "rtt_s": [NO if i == 0 else 0.1 * i for i in flows for _ in TIMES],
        "in_flight_packets": [1.0] * 4 * len(flows),
    }
    columns = {name: [column[0]] * len(flows) for name, column in by_hand().columns("flows").items()}
    result = by_hand(series=series, flows={**columns, "id": list(flows), "name": algorithms})
    found = panels(result.plot())
    means = bold(found["Congestion window"])
    assert [line.get_label() for line in means] == ["reno, mean of 3 flows", "vegas, mean of 4 flows"]
    one = by_hand(series=series, flows={**columns, "id": list(flows), "name": ["reno"] * 6 + ["vegas"]})
    lines = bold(panels(one.plot())["Congestion window"])
    assert [line.get_label() for line in lines] == ["reno, mean of 6 flows", "vegas"]
    assert [points(line) for line in means] == [(TIMES, [20, 40, 60, 80]), (TIMES, [55, 110, 165, 220])]
    assert len(drawn(found["Congestion window"])) == 7 + 2
    # The first flow has no RTT: the mean is over the others, of 0.1 and 0.2 s.
    reno, vegas = bold(found["RTT"])
    assert points(reno) == (TIMES, [150] * 4)
    assert points(vegas) == (TIMES, [450] * 4)


def test_a_comparison() -> None:
    # The second run's samples are twice the first's, but for its utilization, which is half.
    twice = by_hand(
        series={name: [2 * x for x in SERIES[name]] for name in ("cwnd_packets", "rtt_s")},
        link_series={
            "queue_packets": [2 * x for x in LINK_SERIES["queue_packets"]],
            "utilization": [x / 2 for x in LINK_SERIES["utilization"]],
        },
    )
    found = panels(Comparison({"first": by_hand(), "second": twice}).plot())
    window = found["Congestion window, mean of the flows"]
    assert [line.get_label() for line in bold(window)] == ["first", "second"]
    # Of the two flows' windows 10 and 2, 20 and 4, ...; where only one has an RTT it is that one's.
    assert [points(line) for line in bold(window)] == [(TIMES, [6, 12, 18, 11.5]), (TIMES, [12, 24, 36, 23])]
    assert drawn(found["RTT"])[1::2] == [(TIMES, [91, 86.5, 87.5, 88.5]), (TIMES, [182, 173, 175, 177])]
    assert drawn(found["Queue of bottleneck"])[1::2] == [(TIMES, [100, 200, 300, 400]), (TIMES, [200, 400, 600, 800])]
    assert drawn(found["Utilization of bottleneck"])[1::2] == [
        (TIMES, [50, 60, 70, 80]),
        (TIMES, [25, 30, 35, 40]),
    ]
    # The second link has separate panels.
    assert list(found) == [
        "Congestion window, mean of the flows",
        "Queue of bottleneck",
        "Utilization of bottleneck",
        "Queue of edge",
        "Utilization of edge",
        "RTT",
    ]
    assert drawn(found["Queue of edge"])[1::2] == [(TIMES, [11, 12, 13, 14]), (TIMES, [22, 24, 26, 28])]
    assert drawn(found["Utilization of edge"])[1::2] == [
        (TIMES, [1, 2, 3, 4]),
        (TIMES, [0.5, 1, 1.5, 2]),
    ]
    # Neither run is of one algorithm.
    # Two runs of algorithms that are not built in have a color each.
    first, second = (line.get_color() for line in bold(window))
    assert first == pen("first")["color"] != second


def bars(axes: Axes) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Of each line with error bars: places, values, half heights below and above put one after the other."""
    found = {}
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        line, _, (stems,) = container.lines
        assert line is not None
        (x, y) = points(line)
        heights = []
        for (_, low), (_, high) in stems.get_segments():  # type: ignore[attr-defined]
            heights.append((round(float(low), 6), round(float(high), 6)))
        found[str(container.get_label())] = (x, y, [edge for pair in heights for edge in pair])
    return found


def test_a_sweep() -> None:
    (axes,) = swept().plot(x="buffer", metric="utilization").axes
    assert axes.get_xlabel() == "Buffer of bottleneck (packets)"
    assert axes.get_title(loc="left") == "Utilization, mean and 95 % confidence interval"
    ((x, y, ends),) = bars(axes).values()
    # Half of the interval: 12.7062 * 0.2 / 2 where the runs gave 0.5 and 0.7.
    assert axes.get_ylabel() == "Utilization (%)"
    assert (x, y) == ([20, 1000], [60, 90])
    assert ends == pytest.approx([60 - 127.062, 60 + 127.062, 90, 90], abs=1e-3)


@pytest.mark.parametrize(
    ("figure", "called", "shown", "value"),
    [
        ("loss_rate", "Loss", "Loss (%)", 0.2),  # of 0.001 and 0.003
        ("goodput_bps", "Goodput", "Goodput (Mbit/s)", 60),
        ("mean_rtt_s", "Mean RTT", "Mean RTT (ms)", 42),
        ("mean_queue_packets", "Mean queue", "Mean queue (packets)", 11),
        ("jain_index", "Jain index", "Jain index", 0.85),
    ],
)
def test_every_axis_of_a_sweep_has_a_unit(figure: str, called: str, shown: str, value: float) -> None:
    (axes,) = swept().plot(x="buffer", metric=figure).axes
    ((_, y, _),) = bars(axes).values()
    assert axes.get_title(loc="left") == f"{called}, mean and 95 % confidence interval"
    assert (axes.get_ylabel(), y[0]) == (shown, pytest.approx(value))


def test_a_metric_of_a_link_keeps_the_links_name() -> None:
    assert axis("links.my_link.p99_queueing_delay_s") == ("p99 queueing delay of link my_link (ms)", 1000)
    assert [metric(name).full_title for name in ("flows", "web.mean_fct_s", "reverse_loss_rate", "new_thing_s")] == [
        "Flows",
        "Mean completion of web",
        "Loss, reverse",
        "New thing",
    ]
    assert [metric(name).unit for name in ("packets", "new_thing_s", "new_bps")] == ["1", "s", "bit/s"]


BOTH_WAYS = {
    "reverse_queue_packets": [5.0, 6.0, 7.0, 8.0] + [0.5] * 4,
    "reverse_utilization": [0.6, 0.61, 0.62, 0.63] + [0.05] * 4,
}
"""Data go both ways over the first link, and over the second a few ACKs go back."""


def test_the_other_direction_is_dashed_where_more_than_acks_go() -> None:
    found = panels(by_hand(link_series=BOTH_WAYS).plot())
    queue, used = found["Queue"], found["Utilization"]
    assert [(y, line.get_linestyle()) for line, (_, y) in zip(queue.lines, map(points, queue.lines), strict=True)] == [
        ([100, 200, 300, 400], "-"),
        ([5, 6, 7, 8], "--"),
        ([11, 12, 13, 14], "--"),
        ([], "--"),
    ]
    assert [line.get_color() for line in queue.lines[:2]] == [link_pen(0)["color"]] * 2
    assert [line.get_linewidth() < 1 for line in queue.lines] == [False, True, False, True]
    assert queue.lines[3].get_label() == "reverse direction"
    assert points(used.lines[1]) == (TIMES, [60, 61, 62, 63])
    both = panels(Comparison({"a": by_hand(link_series=BOTH_WAYS)}).plot())
    assert [line.get_linestyle() for line in both["Queue of bottleneck"].lines] == ["-", "--"] * 2
    assert points(both["Utilization of bottleneck"].lines[3]) == (TIMES, [60, 61, 62, 63])
    assert [line.get_linestyle() for line in both["Queue of edge"].lines] == ["-", "--"]
    window = both["Congestion window, mean of the flows"]
    assert [str(line.get_label()) for line in window.lines][-1] == "thin: reverse direction"


@pytest.mark.parametrize("warmup", ["2 s", "0 s"])
def test_slow_start_does_not_squash_the_axis(warmup: str) -> None:
    """Windows of 10 to 30, and 900 in the warm-up, or the first tenth of the run where there is none."""
    result = by_hand(
        series={
            "t_s": [0.1, 2.0, 3.0, 4.0] * 2,
            "cwnd_packets": [900.0, 20.0, 30.0, 15.0, 20.0, 4.0, 6.0, 8.0],
            "ssthresh_packets": [NO] * 8,
            "rtt_s": [0.09, 0.081, 0.082, 0.083] * 2,
        }
    )
    result.scenario = result.scenario.replace(warmup=warmup)
    found = panels(result.plot())
    window = found["Congestion window, at first up to 900"]
    assert window.get_ylim() == (0, pytest.approx(33))
    assert points(window.lines[0]) == ([0.1, 2, 3, 4], [900, 20, 30, 15])
    assert found["RTT"].get_ylim()[1] >= 90


def test_of_many_links_a_comparison_shows_those_most_used() -> None:
    used = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6]
    columns = by_hand().columns("links")
    links = {name: [column[0]] * 8 for name, column in columns.items()}
    links |= {"name": [f"l{i}" for i in range(8)], "utilization": used}
    series = {name: column[:4] * 8 for name, column in LINK_SERIES.items()}
    series["link"] = [i for i in range(8) for _ in TIMES]
    titles = [
        axes.get_title(loc="left") for axes in Comparison({"a": by_hand(links=links, link_series=series)}).plot().axes
    ]
    assert [title for title in titles if title.startswith("Queue")] == [
        f"Queue of l{i}" for i, one in enumerate(used) if one not in (0.1, 0.2)
    ]


def test_a_sizing() -> None:
    figure = sized().plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "smallest buffer for 98 % utilization",
        "smallest buffer for 99.5 % utilization",
    ]
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("Flows (bars: 95 % CI)", "Buffer (packets)")
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    rules = {str(line.get_label()): points(line) for line in left.lines if not str(line.get_label()).startswith("_")}
    assert rules["one BDP"] == ([10], [1000.2])
    assert rules["BDP/√n"] == ([10], [316])
    assert rules["adaptive AIMD, analytical"] == ([10], [250.00000001])
    assert bars(left) == {"newreno": ([10], [1234], [1050, 1300]), "vegas": ([], [], [])}
    assert bars(right)["vegas"] == ([], [], [])


def test_a_sizings_curve() -> None:
    """Means over the seeds. Of two algorithms, the front is the set of points that no other buffer beats in delay and
    utilization.
    """

    def run(algorithm: str, buffer: int, delay_s: float | None, used: float, flows: int = 2) -> dict[str, Any]:
        place = {"algorithm": algorithm, "flows": flows, "buffer_packets": buffer}
        return {**place, "p99_queueing_delay_s": delay_s, "utilization": used}

    tried = [
        run("reno", 10, 0.010, 0.90),
        run("reno", 10, 0.020, 0.80),
        run("reno", 40, 0.060, 0.99),
        run("vegas", 10, 0.005, 0.88),
        run("vegas", 99, 0.050, 0.88),
        run("vegas", 99, None, 0.99),
        run("reno", 7, 0.007, 0.77, flows=5),
    ]
    figure = Sizing(sized().mix, [], pa.Table.from_pylist(tried)).plot_curve()
    two, five = figure.axes
    assert (two.get_ylabel(), two.get_xlabel()) == (
        "Utilization (%)",
        "p99 queueing delay (ms)",
    )
    assert (
        two.get_title(loc="left") == "2 flows, buffer in packets\nfilled: no other has more utilization with less delay"
    )
    lines = {str(line.get_label()): points(line) for line in bold(two)}
    assert lines == {"reno": ([15, 60], [85, 99]), "vegas": ([5, 50], [88, 88])}
    assert {line.get_markerfacecolor() for line in bold(two)} == {"white"}
    full = [line for line in two.lines if line not in bold(two)]
    assert {(points(line)[0][0], line.get_markerfacecolor() == line.get_color()) for line in full} == {
        (5, True),
        (60, True),
    }
    assert [text.get_text() for text in two.texts] == ["10", "40", "99"]
    assert [points(line) for line in bold(five)] == [([7], [77])]
    with pytest.raises(InputError, match="requires a run with a 99th percentile"):
        Sizing(sized().mix, [], pa.Table.from_pylist([run("vegas", 9, None, 0.5)])).plot_curve()


def test_what_agrees_is_seen_nevertheless() -> None:
    """Points of one buffer are next to each other; of two lines, the dashed one is on top."""
    names = ("newreno", "cubic")
    rows = [
        {"mix": "half", "buffer": None, "algorithm": name, "goodput_harm": 0.5, "goodput_harm_ci95": 0.1}
        for name in names
    ]
    (panel,) = draw(duel_plot(rows, {})).axes
    places = [bars.lines[0].get_xdata()[0] for bars in panel.containers]  # type: ignore[attr-defined]
    assert places == [-0.03, 0.03]
    points = [(rate, 1.0, (name,)) for name in names for rate in (1.0, 2.0)]
    (panel,) = draw(sweep_plot(Across("rate"), "utilization", points, algorithm=0)).axes
    newreno, cubic = (bars.lines[0] for bars in panel.containers)  # type: ignore[attr-defined]
    assert newreno.get_zorder() > cubic.get_zorder()


def test_an_axis_of_algorithms_shows_each_run_and_no_line() -> None:
    points = [(name, value, ()) for name in ("reno", "bbr") for value in (0.5, 0.75, 0.9)]
    plot = sweep_plot(Across("algorithm", labels=("reno", "bbr")), "utilization", points)
    runs, means = plot.panels[0].lines
    assert sorted(runs.y.tolist()) == [50, 50, 75, 75, 90, 90]
    assert {round(x) for x in runs.x.tolist()} == {0, 1}
    assert means.x.tolist() == [0, 1]
    assert (means.look["linestyle"], runs.label) == ("none", "")
    assert means.y.tolist() == pytest.approx([215 / 3] * 2)
    alone = sweep_plot(Across("algorithm", labels=("reno",)), "utilization", [("reno", 0.5, ())] * 3)
    assert alone.panels[0].lines[0].x.tolist() == []
