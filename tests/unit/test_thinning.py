"""Long series are thinned before they are drawn: peaks and gaps stay, memory does not grow with the samples."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from by_hand import FLOWS, LINKS, TRAFFIC
from fullpipe.plots.draw import figure
from fullpipe.plots.series import Sampled, run_plot
from fullpipe.plots.spec import COLUMNS, moving_mean, thinned


def test_a_short_line_stays_as_it_is() -> None:
    t_s = np.linspace(0, 1, 4 * COLUMNS)
    values = np.sin(t_s)
    found = thinned(t_s, values)
    assert found[0] is t_s
    assert found[1] is values


def test_each_column_keeps_its_first_last_least_and_greatest_sample() -> None:
    generator = np.random.default_rng(1)
    t_s, values = np.linspace(0, 10, 100_001), generator.normal(size=100_001)
    times, kept = thinned(t_s, values, 10)
    assert len(times) <= 4 * 10
    assert (np.diff(times) > 0).all()
    for start in range(10):
        # The last column has the last sample as well.
        inside = (t_s >= start) & ((t_s < start + 1) | (start == 9))
        of_kept = kept[(times >= start) & ((times < start + 1) | (start == 9))]
        own = values[inside]
        assert (of_kept[0], of_kept[-1], of_kept.min(), of_kept.max()) == (own[0], own[-1], own.min(), own.max())


def test_one_peak_among_a_million_samples_stays() -> None:
    t_s, values = np.linspace(0, 100, 1_000_000), np.zeros(1_000_000)
    values[123_456] = 7.0
    values[765_432] = -3.0
    times, kept = thinned(t_s, values)
    assert times[kept == 7.0].tolist() == [t_s[123_456]]
    assert times[kept == -3.0].tolist() == [t_s[765_432]]


def test_a_gap_stays_a_gap() -> None:
    t_s, values = np.linspace(0, 100, 1_000_000), np.ones(1_000_000)
    values[400_000:600_000] = np.nan
    times, kept = thinned(t_s, values)
    gap = times[np.isnan(kept)]
    assert (gap.min(), gap.max()) == (t_s[400_000], t_s[599_999])
    assert np.isfinite(kept[(times < t_s[400_000]) | (times > t_s[599_999])]).all()


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 5, 50, 99, 100])
def test_moving_means_are_those_of_a_convolution(samples: int) -> None:
    values = np.random.default_rng(2).normal(size=100)
    values[10:13] = np.nan
    known = np.isfinite(values)
    kernel = np.ones(samples)
    sums = np.convolve(np.where(known, values, 0.0), kernel, "same")
    counts = np.convolve(known, kernel, "same")
    want = np.where(counts > 0.5, sums / np.maximum(counts, 1), np.nan)
    np.testing.assert_allclose(moving_mean(values, samples), want, atol=1e-12)


def test_a_picture_of_millions_of_rows_takes_less_memory_than_its_rows() -> None:
    rows, flows = 1_000_000, 10
    per_flow = rows // flows
    t_s = np.tile(np.linspace(0.1, 100, per_flow), flows)
    series: dict[str, Any] = {
        name: np.arange(rows, dtype=np.float64) % 97 for name in ("cwnd_packets", "ssthresh_packets", "rtt_s")
    }
    link = {"t_s": t_s[:per_flow], "link": np.zeros(per_flow, dtype=np.int64)}
    columns = ("queue_packets", "utilization", "reverse_queue_packets", "reverse_utilization")
    tables: dict[str, Any] = {
        "links": {name: column[:1] for name, column in LINKS.items()},
        "flows": {
            **{name: [column[0]] * flows for name, column in FLOWS.items()},
            "id": np.arange(flows),
            "name": ["reno"] * flows,
            "algorithm": ["reno"] * flows,
        },
        "traffic": {name: [] for name in TRAFFIC},
        "series": {"t_s": t_s, "flow": np.repeat(np.arange(flows), per_flow), **series},
        "link_series": {**link, **{name: np.zeros(per_flow) for name in columns}},
    }
    figure(run_plot(Sampled(tables, 100.0, 10.0, 0.001)))  # fonts are loaded once
    tracemalloc.start()
    made = figure(run_plot(Sampled(tables, 100.0, 10.0, 0.001)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    drawn = [len(np.asarray(line.get_xdata())) for axes in made.axes for line in axes.lines]
    assert max(drawn) <= 6 * COLUMNS
    # Five columns of eight bytes; drawing all samples takes more than that again.
    assert peak < 5 * 8 * rows / 2, f"{peak / 1e6:.0f} MB"
