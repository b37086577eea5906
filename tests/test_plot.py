"""Pictures: every format, the same bytes, many flows, several links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import fullpipe
from fullpipe import Scenario
from fullpipe.plot import moving_mean

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
    assert labels == ["packets", "packets", "of capacity", "ms"]
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
    with pytest.raises(ValueError, match=r"unknown kind of picture|there is no directory"):
        fullpipe.run(small).plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_moving_mean_by_hand() -> None:
    mean = moving_mean(np.array([1.0, 2.0, np.nan, 4.0, 6.0]), 3)
    assert mean.tolist() == [1.5, 1.5, 3.0, 5.0, 5.0]
