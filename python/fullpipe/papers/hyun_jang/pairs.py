"""Hyun and Jang, two flows: figures 4 and 5 as ranges.

The letter prints one run each, to three digits. The utilization of two flows on a small buffer depends on the flows
that lose packets when the buffer overflows. If both lose packets, their sawteeth stay synchronized; if one does, they
fill each other's gaps. The letter omits the details that decide this: the difference of the RTTs, the exact start of
the second flow, and the loss recovery. So each figure is run over a grid of these details, in pairs of runs that differ
in the scheme only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from fullpipe.papers.drawing import bottleneck, flow_samples, link_samples, loss_times, mean_between, panels, titled
from fullpipe.papers.hyun_jang.single import SCHEMES, W_FULL_PACKETS
from fullpipe.plots.looks import COLOURS, link_pen, pens
from fullpipe.plots.spec import moving_mean
from fullpipe.reproduce.item import Item, Quick, Results, marks
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["FIGURE_4", "FIGURE_5"]

BOTH_RENO = "two reno"

RTT_OFFSETS_MS = (0.0, 0.53, 1.03, 2.03, 5.03, 10.03, 20.03)
"""Differences of the two base RTTs. They are not multiples of a packet's 80 microseconds: packets of both flows would
arrive at equal times, and the rule for ties would decide the losses.
"""

RECOVERIES = ("reno", "newreno", "sack")
"""Loss recoveries of ns-2's TCP Reno, of which the letter names none."""

SEEDS = (1, 2)
"""Seeds that vary the second flow's start within a second."""

BEGIN_S, END_S = 100.0, 400.0
"""Averaging interval from the second flow's start to the first flow's end; the letter does not give one."""

TOGETHER_S = 2.0
"""Largest time between losses of both flows in one event, about 20 RTTs."""

FEWEST_PAIRS = 12
"""Smallest number of pairs of runs for medians and fractions. The shortened variant has six, of which two have equal
RTTs.
"""

SAMPLE = "sample"
"""Name of the run in the plot, two flows with different RTTs."""


def pair(
    k: float,
    second: str,
    first: str,
    *,
    offset_ms: float,
    recovery: str,
    seed: int,
    duration: str = "400 s",
    **first_has: str,
) -> Scenario:
    """Two flows over the paper's link: one from 0 s, and one from 100 s on."""
    both = {"recovery": recovery, "access_rate": "1 Gbit/s"}
    return Scenario(
        duration=duration,
        warmup=f"{BEGIN_S:g} s",
        packet_size=1000,
        seed=seed,
        series_interval="100 ms",
        links=[bottleneck("100 Mbit/s", "39 ms", f"{round(k * W_FULL_PACKETS)} packets", queue="drop-tail")],
        flows=[
            {"algorithm": SCHEMES[first], "access_delay": "1 ms", **both, **first_has},
            {
                "algorithm": SCHEMES[second],
                "access_delay": f"{1 + offset_ms / 2:g} ms",
                "start": f"{BEGIN_S:g} s..{BEGIN_S + 1:g} s",
                **both,
            },
        ],
    )


class Grid(TypedDict, total=False):
    """Values of a grid of runs."""

    offsets_ms: tuple[float, ...]
    recoveries: tuple[str, ...]
    seeds: tuple[int, ...]


def _grid(
    k: float,
    schemes: Mapping[str, tuple[str, str]],
    offsets_ms: Iterable[float] = RTT_OFFSETS_MS,
    recoveries: Iterable[str] = RECOVERIES,
    seeds: Iterable[int] = SEEDS,
) -> dict[str, Scenario]:
    offsets, repairs, numbers = tuple(offsets_ms), tuple(recoveries), tuple(seeds)
    return {
        _name(label, recovery, offset_ms, seed): pair(
            k, second, first, offset_ms=offset_ms, recovery=recovery, seed=seed
        )
        for label, (first, second) in schemes.items()
        for recovery in repairs
        for offset_ms in offsets
        for seed in numbers
    }


def _name(label: str, recovery: str, offset_ms: float, seed: int) -> str:
    return f"{label.replace(' ', '-')}_{recovery}_{offset_ms:g}ms_{seed}"


def _of(results: Results, label: str) -> dict[str, Result]:
    """Results of one scheme in the grid, by the rest of their names."""
    prefix = f"{label.replace(' ', '-')}_"
    return {name.removeprefix(prefix): result for name, result in results.items() if name.startswith(prefix)}


def _used(result: Result) -> float:
    t_s, used = link_samples(result, "utilization")
    return mean_between(t_s, used, BEGIN_S, END_S)


def _jain(result: Result) -> float:
    """Jain's index of the two flows' windows over the second half of their common time."""
    windows = (flow_samples(result, flow, "cwnd_packets") for flow in (0, 1))
    means = [mean_between(t_s, cwnd, (BEGIN_S + END_S) / 2, END_S) for t_s, cwnd in windows]
    return float(sum(means) ** 2 / (2 * sum(mean**2 for mean in means)))


def _together(result: Result) -> float:
    """Fraction of the loss events that hit both flows, from 20 s after the second flow's start."""
    first, second = (
        times[(times > BEGIN_S + 20) & (times <= END_S)] for times in (loss_times(result, 0), loss_times(result, 1))
    )
    if not len(first) and not len(second):
        return float("nan")
    met = [bool(len(second)) and bool((abs(second - t) < TOGETHER_S).any()) for t in first]
    alone = sum(not (len(first) and (abs(first - t) < TOGETHER_S).any()) for t in second)
    return sum(met) / (len(met) + alone)


def _measure(results: Results, *, other: str) -> Rows:
    reno, tried = _of(results, BOTH_RENO), _of(results, other)
    used = {
        label: np.array([_used(run) for run in runs.values()]) for label, runs in ((BOTH_RENO, reno), (other, tried))
    }
    rows = Rows()
    many = len(reno) >= FEWEST_PAIRS
    for label, values in used.items():
        rows.add("utilization", values.min(), algorithm=label, setting="lowest")
        if many:
            rows.add("utilization", float(np.median(values)), algorithm=label, setting="median")
        rows.add("utilization", values.max(), algorithm=label, setting="highest")
    gains = used[other] - used[BOTH_RENO]
    level = np.array([_offset_ms(name) == 0 for name in reno])
    if many:
        rows.add("gain", float(np.median(gains)), setting="median")
    rows.add("gain", gains[level].min(), setting="equal RTTs, lowest")
    if many:
        rows.add("gain, share of the pairs in which it is positive", float(np.mean(gains > 0)))
        for label, runs in ((BOTH_RENO, reno), (other, tried)):
            index = float(np.median([_jain(run) for run in runs.values()]))
            rows.add("Jain index", index, algorithm=label, setting="median")
    # Reno's recovery causes additional timeouts if several packets of a window are lost.
    repaired = np.array([not name.startswith("reno_") for name in reno])
    shares = np.array([_together(run) for run in reno.values()])[repaired]
    correlation = np.corrcoef(shares, used[BOTH_RENO][repaired])[0, 1]
    rows.add("correlation of two renos' utilization with the share of losses that hit both", correlation)
    return rows


def _offset_ms(name: str) -> float:
    return float(name.split("_")[1].removesuffix("ms"))


def _figure_4_measure(results: Results) -> Rows:
    sample = results[SAMPLE]
    t_s, used = link_samples(sample, "utilization")
    alone = t_s > END_S
    last = mean_between(t_s, used, sample.scenario.duration_s - 100, sample.scenario.duration_s)
    full_s = t_s[alone][np.argmax(moving_mean(used, 50)[alone] > 0.98)]
    rows = _measure(results, other=OTHER_4)
    rows.add("utilization", last, setting="last 100 s of the proposed alone")
    rows.add("time after the first flow's end until the link is full", full_s - END_S, unit="s")
    return rows


def _picture(results: Results, *, item: str, other: str) -> Plot:
    """Plot with a point per run: the fraction of losses that hit both flows, and the utilization. A line marks the
    published value.
    """
    published = marks(item)
    rows = ((f"Utilization from {BEGIN_S:g} s to {END_S:g} s", "Fraction of capacity"),)
    where = "share of the loss events that hit both flows"
    plot, ((left, right),) = panels(rows, columns=2, xlabel=where, height=4.0, width=10.0)
    for axes, label in ((left, BOTH_RENO), (right, other)):
        axes.title = f"{label}: {rows[0][0]}"
        if label in published:
            axes.level(published[label], color="#666666", linewidth=0.8, linestyle=":", label="published")
        for colour, recovery in zip(COLOURS, RECOVERIES, strict=False):
            runs = [run for name, run in _of(results, label).items() if name.startswith(f"{recovery}_")]
            if runs:
                axes.line(
                    [_together(r) for r in runs],
                    [_used(r) for r in runs],
                    marker="o",
                    linestyle="none",
                    color=colour,
                    label=f"{recovery} recovery",
                )
        axes.x.limits = (-0.05, 1.05)
        axes.legend = True
    return plot


def _time_picture(results: Results) -> Plot:
    result = results[SAMPLE]
    rows = (titled("cwnd_packets"), titled("utilization", "Fraction of capacity"), titled("rtt_s"))
    plot, ((window,), (used,), (rtt,)) = panels(rows)
    names = result.columns("flows")["algorithm"]
    for flow, (name, look) in enumerate(zip(names, pens(names), strict=True)):
        t_s, cwnd, rtt_s = flow_samples(result, flow, "cwnd_packets", "rtt_s")
        stop = result.scenario.to_dict()["flows"][flow].get("stop")
        alive = t_s <= (END_S if stop else result.scenario.duration_s)
        window.line(t_s[alive], cwnd[alive], **look, label=f"{name} #{flow}")
        rtt.line(t_s[alive], rtt_s[alive] * 1e3, **look, label=f"{name} #{flow}")
    t_s, utilizations = link_samples(result, "utilization")
    used.line(t_s, moving_mean(utilizations, 8), **link_pen(0))
    used.y.limits = (0, 1.05)
    window.x.limits = (0, result.scenario.duration_s)
    window.legend = True
    return plot


OTHER_4 = "reno and proposed"
OTHER_5 = "two proposed"
GRID_4 = {BOTH_RENO: ("reno", "reno"), OTHER_4: ("reno", "proposed")}
GRID_5 = {BOTH_RENO: ("reno", "reno"), OTHER_5: ("proposed", "proposed")}
FEWER: Grid = {"offsets_ms": (0.0, 2.03, 10.03), "recoveries": ("newreno", "sack"), "seeds": (1,)}
FEW = "6 pairs of runs instead of 42: RTT offsets of 0, 2.03 and 10.03 ms, NewReno and SACK, one seed"


def _figure_4_scenarios(**grid: Unpack[Grid]) -> dict[str, Scenario]:
    drawn = pair(
        0.25, "proposed", "reno", offset_ms=2.03, recovery="newreno", seed=1, duration="700 s", stop=f"{END_S:g} s"
    )
    return {SAMPLE: drawn, **_grid(0.25, GRID_4, **grid)}


def _figure_5_scenarios(**grid: Unpack[Grid]) -> dict[str, Scenario]:
    drawn = pair(0.5, "proposed", "proposed", offset_ms=2.03, recovery="newreno", seed=1)
    return {SAMPLE: drawn, **_grid(0.5, GRID_5, **grid)}


FIGURE_4 = Item(
    id="hyun-jang/figure-4",
    title="Reno from 0 s to 400 s and the proposed scheme from 100 s on, compared with two Reno flows, k = 1/4",
    scenarios=_figure_4_scenarios,
    measure=_figure_4_measure,
    pictures={
        "figure-4": _time_picture,
        "figure-4-range": partial(_picture, item="hyun-jang/figure-4", other=OTHER_4),
    },
    quick=Quick(FEW, lambda: _figure_4_scenarios(**FEWER)),
)

FIGURE_5 = Item(
    id="hyun-jang/figure-5",
    title="Two flows of the proposed scheme, compared with two Reno flows, k = 1/2",
    scenarios=_figure_5_scenarios,
    measure=partial(_measure, other=OTHER_5),
    pictures={
        "figure-5": _time_picture,
        "figure-5-range": partial(_picture, item="hyun-jang/figure-5", other=OTHER_5),
    },
    quick=Quick(FEW, lambda: _figure_5_scenarios(**FEWER)),
)
