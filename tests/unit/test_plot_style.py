"""Style of plots: emphasis, line widths, and legends, from metrics written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from by_hand import FLOWS, LINK_SERIES, LINKS, NO, TRAFFIC, by_hand
from fullpipe import Result
from fullpipe.experiments.compare import Comparison
from fullpipe.plots.draw import Style, write
from fullpipe.plots.draw import figure as draw
from fullpipe.plots.duel import duel_plot
from fullpipe.plots.looks import LOOKS, Look, link_pen, pen, pens
from fullpipe.plots.series import FEW, MOST
from fullpipe.plots.size import curve_plot, sizing_plot
from fullpipe.plots.spec import moving_mean
from fullpipe.plots.sweep import Across, sweep_plot

PLAIN = 1.2
"""The width of a line that is nothing special."""


def look(line: Line2D) -> tuple[float, float | None, str]:
    """Width, opacity, solid or dashed."""
    return line.get_linewidth(), line.get_alpha(), str(line.get_linestyle())


def windows(flows: int, algorithms: list[str] | None = None, samples: int = 4) -> Result:
    """A number of flows, each with a window of ten times its number, from 1."""
    names = algorithms or ["reno"] * flows
    series: dict[str, list[Any]] = {
        "t_s": [1.0 + 3 * t / max(samples - 1, 1) for _ in range(flows) for t in range(samples)],
        "flow": [i for i in range(flows) for _ in range(samples)],
        "cwnd_packets": [10.0 * (i + 1) for i in range(flows) for _ in range(samples)],
        "ssthresh_packets": [NO] * samples * flows,
        "rtt_s": [0.1] * samples * flows,
        "in_flight_packets": [1.0] * samples * flows,
    }
    columns = {name: [column[0]] * flows for name, column in FLOWS.items()}
    return by_hand(series=series, flows={**columns, "id": list(range(flows)), "name": names, "algorithm": names})


def alone(traffic: dict[str, list[Any]] | None = None) -> Result:
    """One flow over one link, and perhaps cross traffic."""
    only = {name: column[:1] for name, column in FLOWS.items()}
    link = {name: column[:4] for name, column in LINK_SERIES.items()}
    return by_hand(
        flows=only,
        traffic=traffic or {name: [] for name in TRAFFIC},
        links={name: column[:1] for name, column in LINKS.items()},
        link_series=link,
        series={
            "t_s": [1.0, 2.0, 3.0, 4.0],
            "flow": [0] * 4,
            "cwnd_packets": [1.0, 2.0, 3.0, 4.0],
            "ssthresh_packets": [9.0] * 4,
            "rtt_s": [0.1] * 4,
            "in_flight_packets": [1.0] * 4,
        },
    )


def test_up_to_six_flows_are_told_apart() -> None:
    window = windows(FEW).plot().axes[0]
    lines = [line for line in window.lines if line.get_linewidth() == PLAIN]
    assert lines[0].get_color() == pen("reno")["color"]
    assert len({line.get_color() for line in lines}) == FEW
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == FEW  # type: ignore[attr-defined]
    assert [str(line.get_label()) for line in lines] == [f"reno #{i}" for i in range(FEW)]


@pytest.mark.parametrize(
    ("algorithms", "shown"),
    [(["reno"] * (MOST + 10), MOST), (["reno"] * 40 + ["vegas"] * 8, MOST // 2 + 8)],
    ids=["one algorithm", "two"],
)
def test_of_many_flows_the_mean_stands_out(algorithms: list[str], shown: int) -> None:
    figure = windows(len(algorithms), algorithms).plot()
    window = figure.axes[0]
    kinds = list(dict.fromkeys(algorithms))
    thin = [line for line in window.lines if str(line.get_label()).startswith("_")]
    means = [line for line in window.lines if line not in thin]
    assert {look(line) for line in thin} == {(0.5, 0.25, "-")}
    assert {look(line) for line in means} == {(1.8, None, "-")}
    assert len(thin) == shown
    assert [line.get_color() for line in means] == [pen(kind)["color"] for kind in kinds]
    assert [line.get_color() for line in thin[:1] + thin[-1:]] == [pen(kinds[0])["color"], pen(kinds[-1])["color"]]
    for number, line in enumerate(thin[: len(algorithms) // 2]):
        assert np.asarray(line.get_data()).tolist() == [[1, 2, 3, 4], [10 * (number + 1)] * 4]
    rtts = {tuple(np.round(np.asarray(line.get_ydata()), 9).tolist()) for line in figure.axes[3].lines}
    assert rtts == {(100, 100, 100, 100)}
    # The mean is over all of them, shown or not: of 10, 20, ...
    if len(kinds) == 1:
        assert means[0].get_ydata()[0] == 5 * (len(algorithms) + 1)  # type: ignore[index]


def pulse(flows: int) -> Result:
    """A queue and a utilization of 200 samples that are 0 but for one."""
    series = {
        "t_s": [4 * (k + 1) / 200 for k in range(200)],
        "link": [0] * 200,
        **{
            name: [8.0 if k == 100 and not name.startswith("reverse_") else 0.0 for k in range(200)]
            for name in LINK_SERIES
            if name not in ("t_s", "link")
        },
    }
    columns = windows(flows)
    return by_hand(
        flows=columns.columns("flows"),
        series=columns.columns("series"),
        links={name: column[:1] for name, column in LINKS.items()},
        link_series=series,
        traffic={name: [] for name in TRAFFIC},
    )


def smoothed(axes: Axes) -> bool:
    """Whether a line lies thin under the mean of the four samples around, a fiftieth of 200; else it is alone."""
    high = 800.0 if axes.get_ylabel() == "Utilization (%)" else 8.0
    samples = [high if k == 100 else 0.0 for k in range(200)]
    first, *bold = axes.lines
    assert np.asarray(first.get_ydata()).tolist() == samples
    if not bold:
        assert look(first) == (PLAIN, None, "-")
        return False
    (mean,) = bold
    assert (look(first), look(mean)) == ((0.5, 0.2, "-"), (PLAIN, None, "-"))
    assert first.get_color() == mean.get_color()
    values = np.asarray(mean.get_ydata())
    assert sorted(values.tolist())[-5:] == [0, *[high / 4] * 4]
    assert set(np.flatnonzero(values)) <= {98, 99, 100, 101, 102}
    return True


def test_links_that_many_flows_share_are_drawn_smooth() -> None:
    for flows, smooth in ((FEW, False), (FEW + 1, True)):
        run = pulse(flows)
        _, queue, utilization, rtt = run.plot().axes
        assert (smoothed(queue), smoothed(utilization)) == (smooth, smooth)
        said = f"; links bold: means over {run.scenario.duration_s / 50:.3g} s"
        assert rtt.get_xlabel().endswith(said) == smooth


def test_a_comparison_is_smooth_where_many_flows_or_cross_traffic_share_the_link() -> None:
    """Series of a few flows are drawn as sampled: a window that is cut falls at once."""
    for flows, smooth in ((1, False), (FEW, False), (FEW + 1, True)):
        run = pulse(flows)
        window, queue, utilization, rtt = Comparison({"a": run}).plot().axes
        assert (smoothed(queue), smoothed(utilization)) == (smooth, smooth)
        assert len(window.lines) == len(rtt.lines) == 1 + smooth
        assert window.get_title(loc="left") == f"Congestion window{', mean of the flows' if flows > 1 else ''}"
        assert rtt.get_xlabel().endswith(f"; bold: means over {run.scenario.duration_s / 50:.3g} s") == smooth
    for crossed in (TRAFFIC, {name: column[:1] for name, column in TRAFFIC.items()}):
        assert [len(axes.lines) for axes in Comparison({"a": alone(crossed)}).plot().axes] == [2, 2, 2, 2]


def test_legends_are_where_there_is_something_to_tell_apart() -> None:
    def legends(figure: Figure) -> list[bool]:
        return [axes.get_legend() is not None for axes in figure.axes]

    assert legends(by_hand().plot()) == [True, True, False, False]
    assert legends(alone().plot()) == [True, False, False, False]
    assert legends(Comparison({"a": alone(), "b": alone()}).plot()) == [True, False, False, False]


def test_where_nobody_has_a_value_there_is_a_gap() -> None:
    assert np.isnan(moving_mean(np.array([NO, NO, NO, NO, 1.0]), 3)).tolist() == [True, True, True, False, False]
    nobody = {"rtt_s": [NO, 0.1, 0.1, NO, NO, 0.3, NO, NO]}
    rtt = Comparison({"a": by_hand(series=nobody)}).plot().axes[-1]
    thin = np.asarray(rtt.lines[0].get_ydata())
    assert np.isnan(thin).tolist() == [True, False, False, True]
    assert thin[1:3].tolist() == pytest.approx([200, 100])


def drawn_as(axes: Axes) -> dict[str, tuple[str, Any]]:
    """Colour and dash of each line that has a name."""
    found = {}
    for line in axes.lines:
        if not str(line.get_label()).startswith("_"):
            found[str(line.get_label())] = (line.get_color(), line._unscaled_dash_pattern)  # type: ignore[attr-defined]
    return found


def as_pen(look: Look) -> tuple[str, Any]:
    """Line drawn with a pen, for comparison."""
    (line,) = Figure().subplots().plot([1], [1], **look)
    return line.get_color(), line._unscaled_dash_pattern  # type: ignore[attr-defined]


def test_variants_of_an_algorithm_have_a_color_and_a_marker_each() -> None:
    looks = pens(["cubic", "cubic (beta=0.5)", "bbr", "cubic (beta=0.8)", "mine", "yours"], marked=True)
    assert (looks[0]["color"], looks[2]["color"]) == (pen("cubic")["color"], pen("bbr")["color"])
    assert len({look["color"] for look in looks}) == len(looks)
    assert len({look["marker"] for look in (looks[0], looks[1], looks[3])}) == 3
    # Equal labels are flows of one algorithm: its color tells them from the flows of others.
    flows = pens(["cubic", "cubic", "bbr", "bbr"])
    assert [look["color"] for look in flows] == [pen(name)["color"] for name in ("cubic", "cubic", "bbr", "bbr")]
    assert len({str(look["linestyle"]) for look in flows[:2]}) == 2
    assert pens(["cubic"] * 2)[0]["color"] != pens(["cubic"] * 2)[1]["color"]
    assert len(pens(["reno"] * 40)) == 40


@pytest.mark.parametrize("order", [("cubic", "reno", "bbr"), ("bbr", "cubic", "reno"), ("reno", "bbr", "cubic")])
def test_an_algorithm_looks_the_same_whatever_is_beside_it(order: tuple[str, ...]) -> None:
    want = {name: as_pen(pen(name)) for name in order}
    figures = {
        "run": windows(3, list(order)).plot(),
        "many": windows(9, list(order) * 3).plot(),
        "comparison": Comparison({name: windows(1, [name]) for name in order}).plot(),
    }
    for figure in figures.values():
        found = {label.split(" ")[0].rstrip(","): look for label, look in drawn_as(figure.axes[0]).items()}
        found.pop("ssthresh", None)
        assert found == want
    used = figures["comparison"].axes[2].lines[1::2]
    assert [line.get_color() for line in used] == [pen(name)["color"] for name in order]


@pytest.mark.parametrize("order", [("cubic", "reno", "bbr"), ("bbr", "cubic", "reno")])
def test_so_it_does_in_the_pictures_of_studies(order: tuple[str, ...]) -> None:
    """With few points, the marker is equal, too."""
    duels = [
        {"mix": "half", "buffer": b, "algorithm": name, "goodput_harm": 0.1, "goodput_harm_ci95": 0.0}
        for name in order
        for b in ("1 BDP", "2 BDP")
    ]
    rules = dict.fromkeys(("rule_bdp_packets", "rule_sqrt_packets", "rule_adaptive_full_packets"), 100)
    sizes = [
        {"target": "0.98", "flows": n, "algorithm": name, "buffer_packets": 50, **rules}
        | {"sure_low_packets": 40, "sure_high_packets": 60}
        for name in order
        for n in (1, 10)
    ]
    tried = [
        {"flows": 1, "algorithm": name, "buffer_packets": n, "p99_queueing_delay_s": n / 1e3, "utilization": 0.9}
        for name in order
        for n in (10, 20)
    ]
    swept = [(rate, 1.0, ("1 BDP", name)) for name in order for rate in (1.0, 2.0)]
    plots = [
        duel_plot(duels, {}),
        sizing_plot(sizes, "buffer", "buffer"),
        curve_plot(tried, "buffer", "buffer"),
        sweep_plot(Across("rate"), "utilization", swept, algorithm=1),
    ]
    for figure in map(draw, plots):
        handles, labels = figure.axes[0].get_legend_handles_labels()
        found = {}
        for handle, name in zip(handles, labels, strict=True):
            line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
            if (last := name.split(" ")[-1]) in order:
                found[last] = (line.get_color(), line._unscaled_dash_pattern, line.get_marker())
        assert found == {name: (*as_pen(pen(name)), pen(name, marked=True)["marker"]) for name in order}


def test_lines_without_an_algorithm_are_told_apart_by_colour_and_dash() -> None:
    points = [(rate, 1.0, (setting,)) for setting in range(30) for rate in (1.0, 2.0)]
    figure = draw(sweep_plot(Across("rate"), "utilization", points))
    lines = [each.lines[0] for each in figure.axes[0].containers]
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == 30


def test_links_have_no_algorithms_colour() -> None:
    queue = by_hand().plot().axes[1]
    assert [line.get_color() for line in queue.lines] == [link_pen(0)["color"], link_pen(1)["color"]]
    assert not {line.get_color() for line in queue.lines} & {look["color"] for look in pens(LOOKS["algorithms"])}


@pytest.mark.parametrize(("suffix", "date"), [(".svg", b"<dc:date>"), (".PDF", b"/CreationDate")])
def test_a_file_does_not_tell_when_it_was_made(tmp_path: Path, suffix: str, date: bytes) -> None:
    write(alone().plot(), tmp_path / f"a{suffix}")
    assert date not in (tmp_path / f"a{suffix}").read_bytes()


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_pdfs_embed_truetype_fonts(tmp_path: Path, style: Style) -> None:
    alone().plot(tmp_path / "a.pdf", style=style)
    content = (tmp_path / "a.pdf").read_bytes()
    # A TrueType font is a CIDFontType2 with its file; publishers refuse Type 3.
    assert b"/Subtype /CIDFontType2" in content
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("links.bottleneck.buffer", "Buffer of bottleneck"),
        ("links.0.buffer", "Buffer of link 1"),
        ("flows.0.count", "Count of flows 1"),
        ("flows.1.source.rate", "Rate of source of flows 2"),
        ("flows.algorithm.alpha", "Alpha of algorithm"),
        ("web.0.mean_size", "Mean size of web users 1"),
        ("duration", "Duration"),
        ("algorithm", "Algorithm"),
    ],
)
def test_axes_of_sweeps_have_words_and_no_key_paths(path: str, title: str) -> None:
    assert Across(path).title == title


def test_a_picture_is_as_large_as_its_figure_says(tmp_path: Path) -> None:
    write(alone().plot(), tmp_path / "a.png")
    head = (tmp_path / "a.png").read_bytes()[16:24]
    # Nine by nine inches, 160 dots each.
    assert (int.from_bytes(head[:4]), int.from_bytes(head[4:])) == (1440, 1440)


def test_what_no_font_has_is_no_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    write(Comparison({"\U0001f9ea": alone()}).plot(), tmp_path / "a.png")
    assert not recwarn.list
