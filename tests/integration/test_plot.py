"""Pictures: every format, the same bytes, many flows, several links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import fullpipe
from fullpipe import InputError, Scenario
from fullpipe.charts.style import moving_mean, write

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
    assert figure.axes[-1].get_xlabel() == "time, s (shaded: the warm-up, 5 s)"
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
    with pytest.raises(ValueError, match=r"unknown suffix|there is no directory"):
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
    assert str(caught.value) == f"nothing to draw: the run sampled no series (series_interval is {why})"


def test_a_full_disk_leaves_no_picture(small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    figure = fullpipe.run(small).plot()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*p.pdf'"):
        write(figure, tmp_path / "p.pdf")
    assert list(tmp_path.iterdir()) == []
