"""Plots: every format, equal bytes, many flows, and several links."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import fullpipe
from fullpipe import InputError, Scenario
from fullpipe.plots.draw import write
from fullpipe.plots.spec import moving_mean

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def legend(figure: Figure) -> list[str]:
    shown = figure.axes[0].get_legend()
    assert shown is not None
    return [text.get_text() for text in shown.get_texts()]


@pytest.mark.parametrize("suffix", MAGIC)
def test_a_picture_is_written_whole_and_the_same_each_time(small: Scenario, tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for file in files:
        fullpipe.run(small).plot(file)
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(MAGIC[suffix])
    assert first == second
    assert sorted(tmp_path.iterdir()) == files


def test_panels_are_labelled_with_units(small: Scenario) -> None:
    figure = fullpipe.run(small).plot()
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["Congestion window (packets)", "Queue (packets)", "Utilization (%)", "RTT (ms)"]
    assert figure.axes[-1].get_xlabel() == "Time (s); shaded: warm-up of 5 s"
    assert legend(figure) == ["newreno #0", "newreno #1", "ssthresh"]


def test_many_flows_are_drawn_thin_with_their_mean(small: Scenario) -> None:
    result = fullpipe.run(small.replace(**{"flows.count": 100}))
    figure = result.plot()
    assert legend(figure) == ["newreno, mean of 100 flows"]
    assert len(figure.axes[0].lines) < 100
    mean = figure.axes[0].lines[-1].get_ydata()
    at_end = [row["cwnd_packets"] for row in result.series.to_pylist() if row["t_s"] == 20]
    assert np.asarray(mean)[-1] == pytest.approx(np.mean(at_end))


def test_a_comparison_draws_a_line_per_algorithm(small: Scenario, tmp_path: Path) -> None:
    figure = fullpipe.compare(small, ["reno", "vegas"]).plot(tmp_path / "both.svg")
    assert legend(figure) == ["reno", "vegas"]


@pytest.mark.parametrize("name", ["picture.bmp", "picture", "no/such/folder/picture.png"])
def test_a_picture_that_can_not_be_written(small: Scenario, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown suffix|does not exist"):
        fullpipe.run(small).plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_moving_mean_by_hand() -> None:
    mean = moving_mean(np.array([1.0, 2.0, np.nan, 4.0, 6.0]), 3)
    assert mean.tolist() == [1.5, 1.5, 3.0, 5.0, 5.0]


@pytest.mark.parametrize(
    "traffic",
    [
        {"udp": [{"rate": "5 Mbit/s"}]},
        {"web": [{"algorithm": "reno", "transfers_per_second": 20, "mean_size": "12 kB"}]},
    ],
    ids=["udp", "web"],
)
def test_cross_traffic_alone_shows_the_links(small: Scenario, tmp_path: Path, traffic: dict[str, Any]) -> None:
    tree = small.to_dict()
    del tree["flows"]
    tree["links"][0]["buffer"] = "20 packets"
    result = fullpipe.run(Scenario.from_dict({**tree, **traffic}))
    figure = result.plot(tmp_path / "p.png")
    assert [axes.get_title("left") for axes in figure.axes] == ["Queue", "Utilization"]
    drawn = np.asarray(figure.axes[1].lines[0].get_ydata())
    assert drawn.tolist() == [100 * row["utilization"] for row in result.link_series.to_pylist()]
    both = fullpipe.Comparison({"one": result, "[other]": result}).plot(tmp_path / "c.png")
    shown = both.axes[0].get_legend()
    assert shown is not None
    assert [text.get_text() for text in shown.get_texts()] == ["one", "[other]"]


def test_flows_that_begin_too_late_for_a_sample_leave_their_panels_empty(small: Scenario, tmp_path: Path) -> None:
    late = small.replace(
        **{"flows.start": "19.9999 s", "series_interval": "1 s", "links.bottleneck.buffer": "9 packets"}
    )
    fullpipe.run(late).plot(tmp_path / "p.png")
    fullpipe.compare(late, ["reno", "vegas"]).plot(tmp_path / "c.png")


@pytest.mark.parametrize(("interval", "why"), [("off", '"off"'), ("30 s", "30 s, the run only 20 s")])
def test_without_samples_the_reason_is_true(small: Scenario, interval: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        fullpipe.run(small.replace(series_interval=interval)).plot()
    assert str(caught.value) == f"the plot requires series, and the run has none (series_interval is {why})"


def test_a_full_disk_leaves_no_picture(small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    figure = fullpipe.run(small).plot()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*p.pdf'"):
        write(figure, tmp_path / "p.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("style", "inches"), [("paper", 3.4), ("paper-wide", 7.0)])
def test_a_plot_for_a_paper_has_the_width_of_its_columns(
    small: Scenario, tmp_path: Path, style: Any, inches: float
) -> None:
    result = fullpipe.run(small)
    assert result.plot(tmp_path / "p.pdf", style=style).get_figwidth() == inches
    pdf = (tmp_path / "p.pdf").read_bytes()
    # FontFile2 is an embedded TrueType font; Type 3 fonts are refused by many publishers.
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    (box,) = re.findall(rb"/MediaBox \[ 0 0 ([0-9.]+) ", pdf)
    assert float(box) == pytest.approx(72 * inches)
    result.plot(tmp_path / "p.svg", style=style)
    assert f'width="{72 * inches:g}pt"' in (tmp_path / "p.svg").read_text()


def test_an_unknown_style_is_refused_before_a_file_is_written(small: Scenario, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown style .*papre.*; did you mean .*paper"):
        fullpipe.run(small).plot(tmp_path / "p.pdf", style="papre")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("style", ["screen", "paper", "paper-wide"])
def test_no_text_covers_another(small: Scenario, style: Any) -> None:
    """Titles, legends, and labels of the axes, with as many and as long names as a legend may have."""
    names = ["newreno", "cubic", "bbr3", "vegas", "hstcp", "westwood"]
    result = fullpipe.run(small)
    for figure in (
        result.plot(style=style),
        fullpipe.Comparison({f"{name} with a long name": result for name in names}).plot(style=style),
    ):
        FigureCanvasAgg(figure).draw()  # places everything; the canvas of a new figure does not
        texts = [text for axes in figure.axes for text in (axes._left_title, axes.xaxis.label, axes.yaxis.label)]  # type: ignore[attr-defined]
        legends = [legend for axes in figure.axes if (legend := axes.get_legend())] + figure.legends
        boxes = [each.get_window_extent() for each in (*(text for text in texts if text.get_text()), *legends)]
        assert len(boxes) > 4
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_a_notebook_shows_a_plot_without_pyplot(small: Scenario) -> None:
    figure: Any = fullpipe.run(small).plot()
    assert figure._repr_png_().startswith(MAGIC[".png"])
    # A figure of pyplot would stay open until the user closes it.
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []
