"""Shorten and Leith, two flows: figures 2, 3, 6, 17, and 18."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import axis, metric
from fullpipe.models import aimd_utilization, convergence_epochs
from fullpipe.papers.drawing import TIME, runs_of
from fullpipe.papers.shorten_leith.common import (
    PACKET_BYTES,
    RTT_100,
    STANDARD,
    backoffs,
    chart,
    draw,
    dumbbell,
    fixed_aimd,
    flow_pens,
    flow_values,
    time_charts,
    utilization,
)
from fullpipe.papers.shorten_leith.theory import pair_convergence, synchronized_utilization
from fullpipe.plots.looks import COLOURS, link_pen, pen
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["FIGURE_2", "FIGURE_3", "FIGURE_6", "FIGURE_17", "FIGURE_18"]


# Figure 2: the dumbbell, and equations (1) and (2) for two flows on it.

FIGURE_2_RTTS_S = (0.08, 0.16)
FIGURE_2_QUEUE_S = 40 * 1.2e-3


def _figure_2_scenarios() -> dict[str, Scenario]:
    groups = [{**STANDARD, "access_delay": "10 ms"}, {**STANDARD, "access_delay": "50 ms"}]
    return {"dumbbell": dumbbell("10 Mbit/s", "30 ms", 40, groups, (400, 100), series_interval="10 ms")}


def _figure_2_measure(results: Results) -> Rows:
    result = results["dumbbell"]
    capacity = 10e6 / (8 * PACKET_BYTES)
    windows = [flow_values(result, flow, "cwnd_packets") for flow in (0, 1)]
    first, second = FIGURE_2_RTTS_S
    before = (windows[0] / (first + FIGURE_2_QUEUE_S) + windows[1] / (second + FIGURE_2_QUEUE_S)) / capacity
    empty = (windows[0] / first + windows[1] / second) / capacity
    events = [backoffs(result, flow, since_s=100) for flow in (0, 1)]
    at_congestion = [float(before[event.sample]) for flow in events for event in flow]
    sent = result.link_series["utilization"].to_numpy()
    # If equation (2) predicts that a backoff leaves the link short, how much is sent in the second round trip after it?
    ratios = []
    for event in events[1]:
        later = event.sample + 1 + round(1.5 * FIGURE_2_RTTS_S[1] / 0.01)
        span = slice(later, later + round(FIGURE_2_RTTS_S[1] / 0.01))
        if span.stop < len(sent) and np.all(empty[span] < 1):
            ratios.append(float(np.mean(sent[span]) / np.mean(empty[span])))
    sent_over_windows = float(np.mean(ratios)) if ratios else math.nan
    rows = Rows()
    rows.add("equation (1): windows over full-queue round trips at a drop, of capacity", float(np.mean(at_congestion)))
    rows.add("equation (2): sent after a backoff over windows by base round trips", sent_over_windows)
    return rows


def _figure_2_picture(results: Results) -> Plot:
    result = results["dumbbell"]
    title = "The dumbbell: two flows, 80 and 160 ms, one queue of 40 packets on 10 Mbit/s"
    plot, (above, below) = time_charts(title, ("Rates by the windows (of capacity)", axis("queue_packets")[0]))
    series = result.link_series
    t_s = series["t_s"].to_numpy()
    chosen = (t_s > 100) & (t_s < 130)
    queue_s = series["queue_packets"].to_numpy() * 1.2e-3
    windows = [flow_values(result, flow, "cwnd_packets") for flow in (0, 1)]
    low = np.zeros(len(t_s))
    for colour, flow, rtt in zip(COLOURS, (0, 1), FIGURE_2_RTTS_S, strict=False):  # areas have no dashes
        high = low + windows[flow] / (rtt + queue_s) * 1.2e-3
        above.area(t_s[chosen], low[chosen], high[chosen], colour, alpha=0.6, label=f"flow of {1e3 * rtt:g} ms")
        low = high
    above.level(1, color="#666666", linestyle=":", label="capacity")
    below.line(t_s[chosen], series["queue_packets"].to_numpy()[chosen], **link_pen(0))
    below.x.limits = (100, 130)
    return plot


FIGURE_2 = Item(
    id="shorten-leith/figure-2",
    title="The dumbbell, and equations (1) and (2) on it",
    scenarios=_figure_2_scenarios,
    measure=_figure_2_measure,
    pictures={"figure-2": _figure_2_picture},
)


# Figure 3: two flows; the access delay of the second is swept, the queue is 0.75 of the mean delay-bandwidth product.

FIGURE_3_DIFFERENCES_MS = (0, 0.5, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100)
FIGURE_3_SHARE = 0.75


def _figure_3_scenarios() -> dict[str, Scenario]:
    return {
        f"difference-{d:g}-ms": dumbbell(
            "10 Mbit/s",
            "50 ms",
            round(FIGURE_3_SHARE * 10e6 * (102.4 + d / 2) / 1e3 / (8 * PACKET_BYTES)),
            [{**STANDARD, **RTT_100}, {**STANDARD, "access_delay": f"{1.2 + d / 2:g} ms", "start": "1 s"}],
            (1100, 100),
        )
        for d in FIGURE_3_DIFFERENCES_MS
    }


def _figure_3_measure(results: Results) -> Rows:
    rows = Rows()
    for d in FIGURE_3_DIFFERENCES_MS:
        used = utilization(results[f"difference-{d:g}-ms"])
        where = f"difference {d:g} ms"
        rows.add("utilization", used, setting=where)
        rows.add("above equal synchronized flows", used - aimd_utilization(FIGURE_3_SHARE, 0.5), setting=where)
        rows.add("above synchronized flows", used - _figure_3_bound(d), setting=where)
    return rows


def _figure_3_bound(difference_ms: float) -> float:
    rtts = (0.1024, 0.1024 + difference_ms / 1e3)
    return synchronized_utilization(rtts, FIGURE_3_SHARE * sum(rtts) / 2)


def _figure_3_picture(results: Results) -> Plot:
    rows = _figure_3_measure(results)
    title = "Two flows, 10 Mbit/s, queue 0.75 of the delay-bandwidth product"
    plot, axes = chart(title, "Difference of the round trips (ms)", metric("utilization").title)
    used = [rows.value("utilization", setting=f"difference {d:g} ms") for d in FIGURE_3_DIFFERENCES_MS]
    axes.line(FIGURE_3_DIFFERENCES_MS, used, **pen("newreno", marked=True), label="simulated")
    bound = [_figure_3_bound(d) for d in FIGURE_3_DIFFERENCES_MS]
    axes.line(FIGURE_3_DIFFERENCES_MS, bound, color="#1b1b1b", label="every flow backs off at every event (fluid)")
    equal = aimd_utilization(FIGURE_3_SHARE, 0.5)
    axes.level(equal, color="#666666", linestyle=":", label="the same, equal round trips")
    axes.y.limits = (0.98, 1.001)
    return plot


FIGURE_3 = Item(
    id="shorten-leith/figure-3",
    title="Two flows: utilization against the difference of their round trips",
    scenarios=_figure_3_scenarios,
    measure=_figure_3_measure,
    pictures={"figure-3": _figure_3_picture},
    quick=shorter(_figure_3_scenarios, "400 s instead of 1100 s", duration="400 s"),
)


# Figure 6: two flows with different alpha and beta. The paper does not give the values.

FIGURE_6_BETAS = (0.6, 0.7, 0.75, 0.8)

FIGURE_6_STARTS_S = tuple(round(10 + 0.37 * i, 2) for i in range(16))
"""Start times of the second flow, of which the mean is checked. These runs have no randomness: from its start on, a
pair of flows repeats one of a few loss patterns.
"""


def _figure_6_scenarios(starts_s: Sequence[float] = FIGURE_6_STARTS_S) -> dict[str, Scenario]:
    return {
        _figure_6_name(beta, start_s): dumbbell(
            "10 Mbit/s",
            "50 ms",
            40,
            [{**fixed_aimd(0.5), **RTT_100}, {**fixed_aimd(beta), **RTT_100, "start": f"{start_s:g} s"}],
            (600, 100),
            series_interval="50 ms",
        )
        for beta in FIGURE_6_BETAS
        for start_s in starts_s
    }


def _figure_6_name(beta: float, start_s: float) -> str:
    return f"beta-{beta:g}-start-{start_s:g}"


def _figure_6_measure(results: Results) -> Rows:
    rows = Rows()
    for beta in FIGURE_6_BETAS:
        names = (_figure_6_name(beta, start_s) for start_s in FIGURE_6_STARTS_S)
        pairs = [_figure_6_ratios(run) for run in runs_of(results, names)]
        which = f"beta {beta:g} over 0.5"
        for quantity, values in zip(
            ("peak windows", "peak windows times events"), zip(*pairs, strict=True), strict=True
        ):
            rows.add_mean(quantity, values, setting=which)
    return rows


def _figure_6_ratios(result: Result) -> tuple[float, float]:
    """Second flow over first flow: mean peak window, and that times the number of congestion events."""
    events = [backoffs(result, flow, since_s=100) for flow in (0, 1)]
    first, second = (float(np.mean([event.window for event in own])) for own in events)
    return second / first, second * len(events[1]) / (first * len(events[0]))


def _figure_6_picture(results: Results) -> Plot:
    title = "Two flows with alpha = 2 (1 - beta): 10 Mbit/s, 102.4 ms, queue 40 packets"
    labels = tuple(f"windows, beta {beta:g}" for beta in (0.6, 0.75))
    plot, panels = time_charts(title, labels)
    for axes, beta in zip(panels, (0.6, 0.75), strict=True):
        result = results[_figure_6_name(beta, FIGURE_6_STARTS_S[0])]
        for flow, (look, own) in enumerate(zip(flow_pens(result), (0.5, beta), strict=True)):
            draw(axes, result, flow, "cwnd_packets", look, f"alpha {2 * (1 - own):g}, beta {own:g}")
        axes.x.limits = (0, 160)
        axes.y.limits = (0, 140)
    return plot


FIGURE_6 = Item(
    id="shorten-leith/figure-6",
    title="Fairness of the windows of two flows with different alpha and beta",
    scenarios=_figure_6_scenarios,
    measure=_figure_6_measure,
    pictures={"figure-6": _figure_6_picture},
    quick=shorter(
        partial(_figure_6_scenarios, FIGURE_6_STARTS_S[:8]),
        "300 s instead of 600 s, with eight starts instead of 16",
        duration="300 s",
    ),
)


# Figures 17 and 18: a second flow starts into an established one; how many congestion epochs to equal windows?

EPOCHS = 4
"""Epochs over which the rate of convergence is measured."""


def _starts(first_s: float) -> list[float]:
    """Eight start times within the established flow's epoch. Late ones end slow start early, so that the windows still
    have to converge.
    """
    return [first_s + 0.75 * i for i in range(8)]


def _convergence_scenarios(delay: str, betas: tuple[float, float], first_s: float, prefix: str) -> dict[str, Scenario]:
    return {
        f"{prefix}-start-{start:g}": dumbbell(
            "10 Mbit/s",
            delay,
            40,
            [
                {**fixed_aimd(betas[0]), "access_delay": "1.2 ms"},
                {**fixed_aimd(betas[1]), "access_delay": "1.2 ms", "start": f"{start:g} s"},
            ],
            (first_s + 60, first_s),
            series_interval="20 ms",
        )
        for start in _starts(first_s)
    }


def _kept_per_epoch(result: Result, start_s: float) -> float | None:
    """Factor by which the difference of the windows shrinks per congestion epoch, as a geometric mean; None if slow
    start leaves too small a difference, or if one flow misses an event.
    """
    both = [
        (a.window, b.window)
        for a in backoffs(result, 0, since_s=start_s)
        for b in backoffs(result, 1, since_s=start_s)
        if abs(a.t_s - b.t_s) < 0.3
    ]
    # The second flow's slow start ends at the first event, with a larger window than later. That event is skipped.
    gaps = [a - b for a, b in both[1 : EPOCHS + 1]]
    if len(gaps) < EPOCHS or gaps[0] < 8 or min(gaps) <= 0.2:
        return None
    return math.pow(gaps[-1] / gaps[0], 1 / (EPOCHS - 1))


def _epochs(results: Results, prefix: str, first_s: float) -> float:
    """Median, over the start times, of the epochs to 95 % at the measured rate."""
    kept = [_kept_per_epoch(results[f"{prefix}-start-{start:g}"], start) for start in _starts(first_s)]
    known = [convergence_epochs(rate) for rate in kept if rate is not None and rate < 1]
    return statistics.median(known) if known else math.nan


def _figure_17_scenarios() -> dict[str, Scenario]:
    return _convergence_scenarios("50 ms", (0.5, 0.5), 50, "both-0.5")


def _figure_17_measure(results: Results) -> Rows:
    rows = Rows()
    rows.add("congestion epochs to 95 %", _epochs(results, "both-0.5", 50))
    rows.add("ln 0.05 / ln 0.5", convergence_epochs(0.5))
    return rows


def _figure_17_picture(results: Results) -> Plot:
    return _convergence_picture(
        results, "both-0.5", 50, "Convergence, alpha 1, beta 0.5: 10 Mbit/s, 102.4 ms, queue 40 packets"
    )


def _convergence_picture(results: Results, prefix: str, first_s: float, title: str) -> Plot:
    starts = [s for s in _starts(first_s) if _kept_per_epoch(results[f"{prefix}-start-{s:g}"], s) is not None]
    start = (starts or _starts(first_s))[-1]
    plot, axes = chart(title, TIME, axis("cwnd_packets")[0])
    result = results[f"{prefix}-start-{start:g}"]
    labels = ("established", f"starts at {start:g} s")
    for flow, (look, label) in enumerate(zip(flow_pens(result), labels, strict=True)):
        draw(axes, result, flow, "cwnd_packets", look, label)
    axes.x.limits = (first_s - 15, first_s + 60)
    return plot


FIGURE_17 = Item(
    id="shorten-leith/figure-17",
    title="Convergence of two standard flows",
    scenarios=_figure_17_scenarios,
    measure=_figure_17_measure,
    pictures={"figure-17": _figure_17_picture},
)

FIGURE_18_PAIRS = {"0.5 and 0.5": (0.5, 0.5), "0.5 and 0.75": (0.5, 0.75), "0.75 and 0.75": (0.75, 0.75)}


def _figure_18_scenarios() -> dict[str, Scenario]:
    return {
        name: scenario
        for pair, betas in FIGURE_18_PAIRS.items()
        for name, scenario in _convergence_scenarios("38.8 ms", betas, 65, pair.replace(" ", "-")).items()
    }


def _figure_18_measure(results: Results) -> Rows:
    rows = Rows()
    for pair, betas in FIGURE_18_PAIRS.items():
        rows.add("epochs to 95 %", _epochs(results, pair.replace(" ", "-"), 65), setting=f"beta {pair}")
        by_theory = convergence_epochs(pair_convergence(betas))
        rows.add("epochs by the second eigenvalue", by_theory, setting=f"beta {pair}")
    return rows


def _figure_18_picture(results: Results) -> Plot:
    return _convergence_picture(
        results,
        "0.5-and-0.75",
        65,
        "A flow with beta 0.75 joins one with 0.5: 10 Mbit/s, 80 ms, queue 40 packets",
    )


FIGURE_18 = Item(
    id="shorten-leith/figure-18",
    title="Slower convergence with greater backoff factors",
    scenarios=_figure_18_scenarios,
    measure=_figure_18_measure,
    pictures={"figure-18": _figure_18_picture},
)
