"""Shorten and Leith on few flows: figures 2, 3, 5, 6, 13, 14, 16, 17 and 18, and the equations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fullpipe.papers.item import Item, Quick, Results, shorter
from fullpipe.papers.shorten_leith_common import (
    ADAPTIVE,
    BDP_PACKETS_10M,
    KINDS,
    PACKET_BYTES,
    STANDARD,
    backoffs,
    chart,
    dumbbell,
    fixed_aimd,
    flow_values,
    goodputs_bps,
    time_charts,
    utilization,
)
from fullpipe.papers.shorten_leith_theory import (
    aimd_utilization,
    backoff_factor,
    epochs_to_95,
    pair_convergence,
    synchronized_utilization,
)
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fullpipe.result import Result

__all__ = [
    "EQUATIONS",
    "FIGURE_2",
    "FIGURE_3",
    "FIGURE_5",
    "FIGURE_6",
    "FIGURE_14",
    "FIGURE_16",
    "FIGURE_17",
    "FIGURE_18",
]

RTT_100 = {"access_delay": "1.2 ms"}
"""Behind a link of 50 ms one way: the round trip of 102.4 ms that the paper calls 100 ms."""


# Figure 2: the dumbbell, and what equations (1) and (2) say of two flows on it.

FIGURE_2_RTTS_S = (0.08, 0.16)
FIGURE_2_QUEUE_S = 40 * 1.2e-3


def _figure_2_scenarios() -> dict[str, Scenario]:
    groups = [{**STANDARD, "access_delay": "10 ms"}, {**STANDARD, "access_delay": "50 ms"}]
    return {"dumbbell": dumbbell("10 Mbit/s", "30 ms", 40, groups, (400, 100), series_interval="10 ms")}


def _figure_2_measure(results: Results) -> dict[str, float]:
    import numpy as np

    result = results["dumbbell"]
    capacity = 10e6 / (8 * PACKET_BYTES)
    windows = [flow_values(result, flow, "cwnd_packets") for flow in (0, 1)]
    before = _total([w / (rtt + FIGURE_2_QUEUE_S) for w, rtt in zip(windows, FIGURE_2_RTTS_S, strict=True)]) / capacity
    empty = _total([w / rtt for w, rtt in zip(windows, FIGURE_2_RTTS_S, strict=True)]) / capacity
    events = [backoffs(result, flow, since_s=100) for flow in (0, 1)]
    at_congestion = [float(before[event.sample]) for flow in events for event in flow]
    sent = result.link_series["utilization"].to_numpy()
    # Where equation (2) says that a backoff leaves the link short, how much is sent in the second round trip after it?
    ratios = []
    for event in events[1]:
        later = event.sample + 1 + round(1.5 * FIGURE_2_RTTS_S[1] / 0.01)
        span = slice(later, later + round(FIGURE_2_RTTS_S[1] / 0.01))
        if span.stop < len(sent) and np.all(empty[span] < 1):
            ratios.append(float(np.mean(sent[span]) / np.mean(empty[span])))
    return {
        "equation (1): windows over full-queue round trips at a drop, of capacity": float(np.mean(at_congestion)),
        "equation (2): sent after a backoff over windows by base round trips": float(np.mean(ratios))
        if ratios
        else math.nan,
    }


def _total(rates: list[Any]) -> Any:
    return sum(rates[1:], rates[0])


def _figure_2_picture(results: Results) -> Figure:
    import numpy as np

    from fullpipe.plot import COLOURS

    result = results["dumbbell"]
    title = "The dumbbell: two flows, 80 and 160 ms, one queue of 40 packets on 10 Mbit/s"
    with time_charts(title, ("rates by the windows, of capacity", "queue, packets")) as (figure, (above, below)):
        series = result.link_series
        t_s = series["t_s"].to_numpy()
        chosen = (t_s > 100) & (t_s < 130)
        queue_s = series["queue_packets"].to_numpy() * 1.2e-3
        windows = [flow_values(result, flow, "cwnd_packets") for flow in (0, 1)]
        low = np.zeros(len(t_s))
        for colour, flow, rtt in zip(COLOURS, (0, 1), FIGURE_2_RTTS_S, strict=False):
            high = low + windows[flow] / (rtt + queue_s) * 1.2e-3
            above.fill_between(
                t_s[chosen],
                low[chosen],
                high[chosen],
                color=colour,
                alpha=0.6,
                linewidth=0,
                label=f"flow of {1e3 * rtt:g} ms",
            )
            low = high
        above.axhline(1, color="#666666", linestyle=":", label="capacity")
        below.plot(t_s[chosen], series["queue_packets"].to_numpy()[chosen], color=COLOURS[2])
        below.set_xlim(100, 130)
    return figure


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


def _figure_3_measure(results: Results) -> dict[str, float]:
    figures = {}
    for d in FIGURE_3_DIFFERENCES_MS:
        used = utilization(results[f"difference-{d:g}-ms"])
        figures[f"utilization, difference {d:g} ms"] = used
        figures[f"above equal synchronized flows, difference {d:g} ms"] = used - aimd_utilization(FIGURE_3_SHARE, 0.5)
        figures[f"above synchronized flows, difference {d:g} ms"] = used - _figure_3_bound(d)
    return figures


def _figure_3_bound(difference_ms: float) -> float:
    rtts = (0.1024, 0.1024 + difference_ms / 1e3)
    return synchronized_utilization(rtts, FIGURE_3_SHARE * sum(rtts) / 2)


def _figure_3_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    title = "Two flows, 10 Mbit/s, queue 0.75 of the delay-bandwidth product"
    with chart(title, "difference of the round trips, ms", "utilization of the link") as (figure, axes):
        used = [utilization(results[f"difference-{d:g}-ms"]) for d in FIGURE_3_DIFFERENCES_MS]
        axes.plot(FIGURE_3_DIFFERENCES_MS, used, "o-", color=COLOURS[0], label="simulated")
        bound = [_figure_3_bound(d) for d in FIGURE_3_DIFFERENCES_MS]
        axes.plot(FIGURE_3_DIFFERENCES_MS, bound, color="#1b1b1b", label="every flow backs off at every event (fluid)")
        equal = aimd_utilization(FIGURE_3_SHARE, 0.5)
        axes.axhline(equal, color="#666666", linestyle=":", label="the same, equal round trips")
        axes.set_ylim(0.98, 1.001)
    return figure


FIGURE_3 = Item(
    id="shorten-leith/figure-3",
    title="Two flows: utilization against the difference of their round trips",
    scenarios=_figure_3_scenarios,
    measure=_figure_3_measure,
    pictures={"figure-3": _figure_3_picture},
    quick=shorter(_figure_3_scenarios, "400 s instead of 1100 s", duration="400 s"),
)


# Figure 5: one flow, 10 Mbit/s, a queue of 25 packets.


def _figure_5_scenarios() -> dict[str, Scenario]:
    return {
        kind: dumbbell("10 Mbit/s", "50 ms", 25, [{**flow, **RTT_100}], (200, 50), series_interval="20 ms")
        for kind, flow in KINDS.items()
    }


def _figure_5_measure(results: Results) -> dict[str, float]:
    import numpy as np

    adaptive = results["adaptive"]
    beta = flow_values(adaptive, 0, "beta")
    events = backoffs(adaptive, 0)
    queue = adaptive.link_series["queue_packets"].to_numpy()
    steady = [event.sample for event in events if event.t_s > 50]
    lows = [queue[start : start + 60].min() for start in steady[:-1]]
    return {
        "delay-bandwidth product, packets": BDP_PACKETS_10M,
        "beta at the first congestion event": float(beta[events[0].sample + 2]),
        "beta later": float(np.mean([beta[i + 2] for i in steady[:-1]])),
        "least queue after a backoff, packets": float(np.mean(lows)),
        **{f"utilization, {kind}": utilization(results[kind]) for kind in KINDS},
    }


def _figure_5_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    title = "Adaptive AIMD, 10 Mbit/s, 102.4 ms, queue 25 packets (delay-bandwidth product 85)"
    with time_charts(title, ("congestion window, packets", "queue, packets")) as (figure, (above, below)):
        _draw(above, results["adaptive"], 0, "cwnd_packets", COLOURS[0])
        above.axhline(BDP_PACKETS_10M, color="#666666", linestyle=":", label="delay-bandwidth product")
        _draw_queue(below, results["adaptive"], COLOURS[2])
        below.set_xlim(0, 60)
    return figure


FIGURE_5 = Item(
    id="shorten-leith/figure-5",
    title="One adaptive flow: window and queue",
    scenarios=_figure_5_scenarios,
    measure=_figure_5_measure,
    pictures={"figure-5": _figure_5_picture},
)


# Figure 6: two flows with different alpha and beta; the paper does not say which.

FIGURE_6_BETAS = (0.6, 0.7, 0.75, 0.8)


def _figure_6_scenarios() -> dict[str, Scenario]:
    return {
        f"beta-{beta:g}": dumbbell(
            "10 Mbit/s",
            "50 ms",
            40,
            [{**fixed_aimd(0.5), **RTT_100}, {**fixed_aimd(beta), **RTT_100, "start": "10 s"}],
            (600, 100),
            series_interval="50 ms",
        )
        for beta in FIGURE_6_BETAS
    }


def _figure_6_measure(results: Results) -> dict[str, float]:
    import numpy as np

    figures = {}
    for beta in FIGURE_6_BETAS:
        first, second = (backoffs(results[f"beta-{beta:g}"], flow, since_s=100) for flow in (0, 1))
        peaks = [float(np.mean([event.window for event in events])) for events in (first, second)]
        figures[f"peak windows, beta {beta:g} over 0.5"] = peaks[1] / peaks[0]
        figures[f"peak windows times events, beta {beta:g} over 0.5"] = peaks[1] * len(second) / (peaks[0] * len(first))
    return figures


def _figure_6_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    title = "Two flows with alpha = 2 (1 - beta): 10 Mbit/s, 102.4 ms, queue 40 packets"
    labels = tuple(f"windows, beta {beta:g}" for beta in (0.6, 0.75))
    with time_charts(title, labels) as (figure, panels):
        for axes, beta in zip(panels, (0.6, 0.75), strict=True):
            for colour, flow, own in zip(COLOURS, (0, 1), (0.5, beta), strict=False):
                label = f"alpha {2 * (1 - own):g}, beta {own:g}"
                _draw(axes, results[f"beta-{beta:g}"], flow, "cwnd_packets", colour, label)
            axes.set_xlim(0, 160)
            axes.set_ylim(0, 140)
    return figure


FIGURE_6 = Item(
    id="shorten-leith/figure-6",
    title="Fairness of the windows of two flows with different alpha and beta",
    scenarios=_figure_6_scenarios,
    measure=_figure_6_measure,
    pictures={"figure-6": _figure_6_picture},
    quick=shorter(_figure_6_scenarios, "400 s instead of 600 s", duration="400 s"),
)


# Figures 13 and 14: two hops, a second flow over the second hop from 25 to 30 s (and, to measure shares, to 100 s).

HOPS = [
    {"name": "hop 1", "rate": "40 Mbit/s", "delay": "1.5 ms", "buffer": "30 packets"},
    {"name": "hop 2", "rate": "100 Mbit/s", "delay": "10 ms", "buffer": "80 packets"},
]
HOP_QUEUES_S = (30 * 12e3 / 40e6, 80 * 12e3 / 100e6)
HOP_RTTS_S = (0.023, 0.020)


def _figure_14_scenarios() -> dict[str, Scenario]:
    def over_two_hops(stop: str, duration: str, warmup: str, interval: str) -> Scenario:
        return Scenario(
            duration=duration,
            warmup=warmup,
            packet_size=PACKET_BYTES,
            series_interval=interval,
            links=HOPS,
            flows=[
                {**ADAPTIVE, "path": ["hop 1", "hop 2"]},
                {**ADAPTIVE, "path": ["hop 2"], "start": "25 s", "stop": stop},
            ],
        )

    return {
        "as-drawn": over_two_hops("30 s", "50 s", "0 s", "5 ms"),
        "both-for-long": over_two_hops("230 s", "230 s", "30 s", "20 ms"),
    }


def _figure_14_measure(results: Results) -> dict[str, float]:
    drawn, long = results["as-drawn"], results["both-for-long"]
    t_s = drawn.link_series["t_s"].to_numpy()[: len(flow_values(drawn, 0, "beta"))]
    beta = flow_values(drawn, 0, "beta")
    goodput = goodputs_bps(long)
    lows = [
        float(flow_values(long, 0, "beta")[min(event.sample + 2, len(flow_values(long, 0, "beta")) - 1)])
        for event in backoffs(long, 0, since_s=30)
    ]
    return {
        "beta of flow 1 before 25 s": float(beta[(t_s > 15) & (t_s < 25)].mean()),
        "least beta of flow 1 from 25 to 30 s": float(beta[(t_s > 25) & (t_s < 30)].min()),
        "least beta of flow 1, both for long": min(lows),
        "beta of flow 1 from 40 s on": float(beta[t_s > 40].mean()),
        "beta of flow 2 later": float(flow_values(long, 1, "beta")[-1]),
        "equation (7), flow 1, both queues full": backoff_factor(HOP_RTTS_S[0], *HOP_QUEUES_S),
        "flow 1, Mbit/s, both for long": goodput[0] / 1e6,
        "flow 2, Mbit/s, both for long": goodput[1] / 1e6,
        "utilization, hop 1, both for long": utilization(long, 0),
        "utilization, hop 2, both for long": utilization(long, 1),
    }


def _figure_14_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    result = results["as-drawn"]
    labels = ("window, packets", "beta", "queue, packets")
    title = "Two hops, 40 Mbit/s then 100 Mbit/s; flow 2 on the second hop from 25 to 30 s"
    with time_charts(title, labels, height=7.0) as (figure, (window, beta, queue)):
        for colour, flow in zip(COLOURS, (0, 1), strict=False):
            _draw(window, result, flow, "cwnd_packets", colour, f"flow {flow + 1}")
            _draw(beta, result, flow, "beta", colour, f"flow {flow + 1}")
        beta.axhline(backoff_factor(HOP_RTTS_S[0], HOP_QUEUES_S[0]), color="#666666", linestyle=":", label="hop 1 full")
        both = backoff_factor(HOP_RTTS_S[0], *HOP_QUEUES_S)
        beta.axhline(both, color="#666666", linestyle="--", label="both hops full")
        beta.set_ylim(0.45, 0.85)
        window.set_ylim(0, 320)
        for colour, hop in zip(COLOURS[2:], (0, 1), strict=False):
            _draw_queue(queue, result, colour, hop, f"hop {hop + 1}")
        queue.set_xlim(20, 36)
    return figure


FIGURE_14 = Item(
    id="shorten-leith/figure-14",
    title="Two bottlenecks (figures 13 and 14): the backoff follows the queues along the path",
    scenarios=_figure_14_scenarios,
    measure=_figure_14_measure,
    pictures={"figure-14": _figure_14_picture},
)


# Figure 16: one adaptive flow and web users in both directions. "20 ms delay" is read as the round trip and as one way.

FIGURE_16_DELAYS = {"RTT 20 ms": "10 ms", "RTT 40 ms": "20 ms"}


def _figure_16_scenarios() -> dict[str, Scenario]:
    users = {**STANDARD, "sessions": 10, "mean_gap": "1 s", "mean_size": "12 kB"}
    return {
        f"{kind}-{reading.replace(' ', '-')}": dumbbell(
            "40 Mbit/s", delay, 30, [flow], (220, 20), series_interval="20 ms", web=[users, {**users, "reverse": True}]
        )
        for kind, flow in KINDS.items()
        for reading, delay in FIGURE_16_DELAYS.items()
    }


def _figure_16_measure(results: Results) -> dict[str, float]:
    import numpy as np

    figures = {}
    for reading in FIGURE_16_DELAYS:
        adaptive, standard = (results[f"{kind}-{reading.replace(' ', '-')}"] for kind in ("adaptive", "standard"))
        beta = flow_values(adaptive, 0, "beta")
        later = [float(beta[event.sample + 2]) for event in backoffs(adaptive, 0, since_s=20)[:-1]]
        figures[f"mean beta, {reading}"] = float(np.mean(later))
        figures[f"deviation of beta, {reading}"] = float(np.std(later))
        figures[f"utilization, adaptive, {reading}"] = utilization(adaptive)
        figures[f"utilization, standard, {reading}"] = utilization(standard)
    return figures


def _figure_16_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    result = results["adaptive-RTT-20-ms"]
    title = "Ten web users each way beside one adaptive flow: 40 Mbit/s, 20 ms, queue 30 packets"
    with time_charts(title, ("window, packets", "RTT, ms", "beta"), height=7.0) as (figure, (window, rtt, beta)):
        _draw(window, result, 0, "cwnd_packets", COLOURS[0])
        _draw(rtt, result, 0, "rtt_s", COLOURS[1], scale=1e3)
        _draw(beta, result, 0, "beta", COLOURS[2], "beta")
        beta.axhline(
            backoff_factor(0.02, 0.009), color="#666666", linestyle=":", label="20 ms over 20 ms and a full queue"
        )
        beta.set_ylim(0.45, 0.85)
        beta.set_xlim(0, 60)
    return figure


FIGURE_16 = Item(
    id="shorten-leith/figure-16",
    title="The backoff factor beside web traffic in both directions",
    scenarios=_figure_16_scenarios,
    measure=_figure_16_measure,
    pictures={"figure-16": _figure_16_picture},
    quick=shorter(_figure_16_scenarios, "100 s instead of 220 s", duration="100 s"),
)


# Figures 17 and 18: a second flow starts into an established one; how many congestion epochs to equal windows?

EPOCHS = 4
"""Epochs over which the rate of convergence is read off."""


def _starts(first_s: float) -> list[float]:
    """Eight moments of the established flow's epoch: late ones end slow start early and leave something to converge."""
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
    """The factor by which the distance of the two windows shrinks per congestion epoch, the geometric mean of the first
    ones; None where slow start left too little distance, or not both flows backed off at each event.
    """
    both = [
        (a.window, b.window)
        for a in backoffs(result, 0, since_s=start_s)
        for b in backoffs(result, 1, since_s=start_s)
        if abs(a.t_s - b.t_s) < 0.3
    ]
    # The second flow's slow start ends at the first event, above what it keeps.
    gaps = [a - b for a, b in both[1 : EPOCHS + 1]]
    if len(gaps) < EPOCHS or gaps[0] < 8 or min(gaps) <= 0.2:
        return None
    return math.pow(gaps[-1] / gaps[0], 1 / (EPOCHS - 1))


def _epochs(results: Results, prefix: str, first_s: float) -> float:
    """The median, over the starts, of the epochs to 95 % at the rate seen."""
    import statistics

    kept = [_kept_per_epoch(results[f"{prefix}-start-{start:g}"], start) for start in _starts(first_s)]
    known = [epochs_to_95(rate) for rate in kept if rate is not None and rate < 1]
    return statistics.median(known) if known else math.nan


def _figure_17_scenarios() -> dict[str, Scenario]:
    return _convergence_scenarios("50 ms", (0.5, 0.5), 50, "both-0.5")


def _figure_17_measure(results: Results) -> dict[str, float]:
    return {
        "congestion epochs to 95 %": _epochs(results, "both-0.5", 50),
        "ln 0.05 / ln 0.5": epochs_to_95(0.5),
    }


def _figure_17_picture(results: Results) -> Figure:
    return _convergence_picture(
        results, "both-0.5", 50, "Convergence, alpha 1, beta 0.5: 10 Mbit/s, 102.4 ms, queue 40 packets"
    )


def _convergence_picture(results: Results, prefix: str, first_s: float, title: str) -> Figure:
    from fullpipe.plot import COLOURS

    starts = [s for s in _starts(first_s) if _kept_per_epoch(results[f"{prefix}-start-{s:g}"], s) is not None]
    start = (starts or _starts(first_s))[-1]
    with chart(title, "time, s", "congestion window, packets") as (figure, axes):
        for colour, flow, label in zip(COLOURS, (0, 1), ("established", f"starts at {start:g} s"), strict=False):
            _draw(axes, results[f"{prefix}-start-{start:g}"], flow, "cwnd_packets", colour, label)
        axes.set_xlim(first_s - 15, first_s + 60)
    return figure


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


def _figure_18_measure(results: Results) -> dict[str, float]:
    figures = {}
    for pair, betas in FIGURE_18_PAIRS.items():
        figures[f"epochs to 95 %, beta {pair}"] = _epochs(results, pair.replace(" ", "-"), 65)
        figures[f"epochs by the second eigenvalue, beta {pair}"] = epochs_to_95(pair_convergence(betas))
    return figures


def _figure_18_picture(results: Results) -> Figure:
    return _convergence_picture(
        results,
        "0.5-and-0.75",
        65,
        "A flow with beta 0.75 starts beside one with 0.5: 10 Mbit/s, 80 ms, queue 40 packets",
    )


FIGURE_18 = Item(
    id="shorten-leith/figure-18",
    title="Slower convergence with greater backoff factors",
    scenarios=_figure_18_scenarios,
    measure=_figure_18_measure,
    pictures={"figure-18": _figure_18_picture},
)


# Equations (3) to (10) where no figure shows them.

EQUATION_3_BETAS = (0.5, 0.6, 0.7, 0.8)


def _equation_scenarios() -> dict[str, Scenario]:
    scenarios = {}
    for beta in EQUATION_3_BETAS:
        for part in (0.5, 1.1):
            packets = round(part * (1 / beta - 1) * BDP_PACKETS_10M)
            scenarios[f"beta-{beta:g}-queue-{part:g}"] = dumbbell(
                "10 Mbit/s", "50 ms", packets, [{**fixed_aimd(beta), **RTT_100}], (400, 100)
            )
    for estimator in ("rtt", "throughput"):
        for packets in (25, 40, 60):
            scenarios[f"{estimator}-queue-{packets}"] = dumbbell(
                "10 Mbit/s",
                "50 ms",
                packets,
                [{"algorithm": {"name": "adaptive-aimd", "estimator": estimator}, **RTT_100}],
                (300, 100),
                series_interval="50 ms",
            )
    for fading in (0.875, 1.0):
        flow = {"algorithm": {"name": "adaptive-aimd", "fading": fading}}
        scenarios[f"fading-{fading:g}"] = Scenario(
            duration="60 s",
            packet_size=PACKET_BYTES,
            series_interval="10 ms",
            links=HOPS,
            flows=[{**flow, "path": ["hop 1", "hop 2"]}, {**flow, "path": ["hop 2"], "start": "15 s", "stop": "30 s"}],
        )
    return scenarios


def _equation_measure(results: Results) -> dict[str, float]:
    figures = {}
    for beta in EQUATION_3_BETAS:
        small, enough = (utilization(results[f"beta-{beta:g}-queue-{part:g}"]) for part in (0.5, 1.1))
        figures[f"(3) utilization, beta {beta:g}, the queue it needs and a tenth"] = enough
        figures[f"(3) less the closed form, beta {beta:g}, half the queue it needs"] = small - aimd_utilization(
            round(0.5 * (1 / beta - 1) * BDP_PACKETS_10M) / BDP_PACKETS_10M, beta
        )
    for packets in (25, 40, 60):
        by_rtt, by_rate = (results[f"{estimator}-queue-{packets}"] for estimator in ("rtt", "throughput"))
        beta = float(flow_values(by_rtt, 0, "beta")[-1])
        theory = backoff_factor(0.1024, packets * 1.2e-3)
        figures[f"(4) beta less RTTmin/RTTmax, queue {packets}"] = beta - theory
        figures[f"(5) alpha over 1 - beta, queue {packets}"] = float(flow_values(by_rtt, 0, "alpha")[-1]) / (1 - beta)
        figures[f"(10) beta less RTTmin/RTTmax, queue {packets}"] = float(flow_values(by_rate, 0, "beta")[-1]) - theory
    for fading in (0.875, 1.0):
        beta_then = flow_values(results[f"fading-{fading:g}"], 0, "beta")
        figures[f"(9) beta long after a queue is gone less before, fading {fading:g}"] = float(
            beta_then[-1] - beta_then[1400]
        )
    return figures


def _equation_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    title = "Equation (9): the backoff factor forgets a queue that is gone (second hop busy from 15 to 30 s)"
    with chart(title, "time, s", "beta of flow 1") as (figure, axes):
        for colour, fading in zip(COLOURS, (0.875, 1.0), strict=False):
            label = "fading 7/8" if fading < 1 else "no fading"
            _draw(axes, results[f"fading-{fading:g}"], 0, "beta", colour, label)
        axes.set_ylim(0.45, 0.85)
        axes.set_xlim(0, 60)
    return figure


EQUATIONS = Item(
    id="shorten-leith/equations",
    title="Equations (3) to (5), (9) and (10), by simulation",
    scenarios=_equation_scenarios,
    measure=_equation_measure,
    pictures={"equations": _equation_picture},
    quick=Quick(
        "equation (3) over 250 s instead of 400 s",
        lambda: {
            name: scenario.replace(duration="250 s") if name.startswith("beta") else scenario
            for name, scenario in _equation_scenarios().items()
        },
    ),
)


def _draw(
    axes: Axes, result: Result, flow: int, name: str, colour: str, label: str | None = None, *, scale: float = 1.0
) -> None:
    from fullpipe.plot import flow_series

    line = flow_series(result)[flow]
    axes.plot(line.t_s, line.values[name] * scale, color=colour, label=label)


def _draw_queue(axes: Axes, result: Result, colour: str, link: int = 0, label: str | None = None) -> None:
    from fullpipe.plot import link_series

    line = link_series(result)[link]
    axes.plot(line.t_s, line.values["queue_packets"], color=colour, label=label, linewidth=0.8)
