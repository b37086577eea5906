"""Shorten and Leith, the backoff factor follows the queue: figures 5, 13, 14, and 16, equations (3) to (10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import axis
from fullpipe.models import aimd_utilization
from fullpipe.papers.drawing import TIME
from fullpipe.papers.shorten_leith.common import (
    ADAPTIVE,
    BDP_PACKETS_10M,
    KINDS,
    PACKET_BYTES,
    RTT_100,
    STANDARD,
    backoffs,
    chart,
    draw,
    draw_queue,
    dumbbell,
    fixed_aimd,
    flow_values,
    goodputs_bps,
    time_charts,
    utilization,
)
from fullpipe.papers.shorten_leith.theory import backoff_factor
from fullpipe.plots.looks import pen, pens
from fullpipe.reproduce.item import Item, Quick, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot


__all__ = ["EQUATIONS", "FIGURE_5", "FIGURE_14", "FIGURE_16"]


# Figure 5: one flow, 10 Mbit/s, a queue of 25 packets.


def _figure_5_scenarios() -> dict[str, Scenario]:
    return {
        kind: dumbbell("10 Mbit/s", "50 ms", 25, [{**flow, **RTT_100}], (200, 50), series_interval="20 ms")
        for kind, flow in KINDS.items()
    }


def _figure_5_measure(results: Results) -> Rows:
    adaptive = results["adaptive"]
    beta = flow_values(adaptive, 0, "beta")
    events = backoffs(adaptive, 0)
    queue = adaptive.link_series["queue_packets"].to_numpy()
    steady = [event.sample for event in events if event.t_s > 50]
    lows = [queue[start : start + 60].min() for start in steady[:-1]]
    rows = Rows(named=("quantity", "unit"))
    rows.add("delay-bandwidth product", BDP_PACKETS_10M, unit="packets")
    rows.add("beta at the first congestion event", beta[events[0].sample + 2], algorithm="adaptive")
    rows.add("beta later", float(np.mean([beta[i + 2] for i in steady[:-1]])), algorithm="adaptive")
    rows.add("least queue after a backoff", float(np.mean(lows)), unit="packets", algorithm="adaptive")
    for kind in KINDS:
        rows.add("utilization", utilization(results[kind]), algorithm=kind, name=f"utilization, {kind}")
    return rows


def _figure_5_picture(results: Results) -> Plot:
    title = "Adaptive AIMD, 10 Mbit/s, 102.4 ms, queue 25 packets (delay-bandwidth product 85)"
    plot, (above, below) = time_charts(title, (axis("cwnd_packets")[0], axis("queue_packets")[0]))
    draw(above, results["adaptive"], 0, "cwnd_packets", pen("adaptive-aimd"))
    above.level(BDP_PACKETS_10M, color="#666666", linestyle=":", label="delay-bandwidth product")
    draw_queue(below, results["adaptive"])
    below.x.limits = (0, 60)
    return plot


FIGURE_5 = Item(
    id="shorten-leith/figure-5",
    title="One adaptive flow: window and queue",
    scenarios=_figure_5_scenarios,
    measure=_figure_5_measure,
    pictures={"figure-5": _figure_5_picture},
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


def _figure_14_measure(results: Results) -> Rows:
    drawn, long = results["as-drawn"], results["both-for-long"]
    t_s = drawn.link_series["t_s"].to_numpy()[: len(flow_values(drawn, 0, "beta"))]
    beta = flow_values(drawn, 0, "beta")
    goodput = goodputs_bps(long)
    lows = [
        float(flow_values(long, 0, "beta")[min(event.sample + 2, len(flow_values(long, 0, "beta")) - 1)])
        for event in backoffs(long, 0, since_s=30)
    ]
    rows = Rows(named=("quantity", "setting"))
    rows.add("beta of flow 1 before 25 s", beta[(t_s > 15) & (t_s < 25)].mean())
    rows.add("least beta of flow 1 from 25 to 30 s", beta[(t_s > 25) & (t_s < 30)].min())
    rows.add("least beta of flow 1", min(lows), setting="both for long")
    rows.add("beta of flow 1 from 40 s on", beta[t_s > 40].mean())
    rows.add("beta of flow 2 later", flow_values(long, 1, "beta")[-1])
    rows.add("equation (7)", backoff_factor(HOP_RTTS_S[0], *HOP_QUEUES_S), setting="flow 1, both queues full")
    for flow, bps in enumerate(goodput, 1):
        name = f"flow {flow}, Mbit/s, both for long"
        rows.add("throughput", bps / 1e6, unit="Mbit/s", setting=f"flow {flow}, both for long", name=name)
    for hop in (1, 2):
        rows.add("utilization", utilization(long, hop - 1), setting=f"hop {hop}, both for long")
    return rows


def _figure_14_picture(results: Results) -> Plot:
    result = results["as-drawn"]
    labels = (axis("cwnd_packets")[0], "Beta", axis("queue_packets")[0])
    title = "Two hops, 40 Mbit/s then 100 Mbit/s; flow 2 on the second hop from 25 to 30 s"
    plot, (window, beta, queue) = time_charts(title, labels, height=7.0)
    for flow, look in enumerate(pens(["adaptive-aimd"] * 2)):
        draw(window, result, flow, "cwnd_packets", look, f"flow {flow + 1}")
        draw(beta, result, flow, "beta", look, f"flow {flow + 1}")
    beta.level(backoff_factor(HOP_RTTS_S[0], HOP_QUEUES_S[0]), color="#666666", linestyle=":", label="hop 1 full")
    both = backoff_factor(HOP_RTTS_S[0], *HOP_QUEUES_S)
    beta.level(both, color="#666666", linestyle="--", label="both hops full")
    beta.y.limits = (0.45, 0.85)
    window.y.limits = (0, 320)
    for hop in (0, 1):
        draw_queue(queue, result, hop, f"hop {hop + 1}")
    queue.x.limits = (20, 36)
    return plot


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


def _figure_16_measure(results: Results) -> Rows:
    rows = Rows()
    for reading in FIGURE_16_DELAYS:
        adaptive, standard = (results[f"{kind}-{reading.replace(' ', '-')}"] for kind in ("adaptive", "standard"))
        beta = flow_values(adaptive, 0, "beta")
        later = [float(beta[event.sample + 2]) for event in backoffs(adaptive, 0, since_s=20)[:-1]]
        rows.add("mean beta", float(np.mean(later)), setting=reading)
        rows.add("deviation of beta", float(np.std(later)), setting=reading)
        rows.add("utilization", utilization(adaptive), algorithm="adaptive", setting=reading)
        rows.add("utilization", utilization(standard), algorithm="standard", setting=reading)
    return rows


def _figure_16_picture(results: Results) -> Plot:
    result = results["adaptive-RTT-20-ms"]
    title = "One adaptive flow and ten web users each way: 40 Mbit/s, 20 ms, queue 30 packets"
    plot, (window, rtt, beta) = time_charts(title, (axis("cwnd_packets")[0], axis("rtt_s")[0], "Beta"), height=7.0)
    draw(window, result, 0, "cwnd_packets", pen("adaptive-aimd"))
    draw(rtt, result, 0, "rtt_s", pen("adaptive-aimd"), scale=1e3)
    draw(beta, result, 0, "beta", pen("adaptive-aimd"), "beta")
    beta.level(backoff_factor(0.02, 0.009), color="#666666", linestyle=":", label="20 ms over 20 ms and a full queue")
    beta.y.limits = (0.45, 0.85)
    beta.x.limits = (0, 60)
    return plot


FIGURE_16 = Item(
    id="shorten-leith/figure-16",
    title="The backoff factor with web traffic in both directions",
    scenarios=_figure_16_scenarios,
    measure=_figure_16_measure,
    pictures={"figure-16": _figure_16_picture},
    quick=shorter(_figure_16_scenarios, "100 s instead of 220 s", duration="100 s"),
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


def _equation_measure(results: Results) -> Rows:
    rows = Rows()
    for beta in EQUATION_3_BETAS:
        small, enough = (utilization(results[f"beta-{beta:g}-queue-{part:g}"]) for part in (0.5, 1.1))
        half = round(0.5 * (1 / beta - 1) * BDP_PACKETS_10M) / BDP_PACKETS_10M
        above = small - aimd_utilization(half, beta)
        rows.add("(3) utilization", enough, setting=f"beta {beta:g}, the queue it needs and a tenth")
        rows.add("(3) less the closed form", above, setting=f"beta {beta:g}, half the queue it needs")
    for packets in (25, 40, 60):
        by_rtt, by_rate = (results[f"{estimator}-queue-{packets}"] for estimator in ("rtt", "throughput"))
        beta = float(flow_values(by_rtt, 0, "beta")[-1])
        theory = backoff_factor(0.1024, packets * 1.2e-3)
        alpha, other = float(flow_values(by_rtt, 0, "alpha")[-1]), float(flow_values(by_rate, 0, "beta")[-1])
        rows.add("(4) beta less RTTmin/RTTmax", beta - theory, setting=f"queue {packets}")
        rows.add("(5) alpha over 1 - beta", alpha / (1 - beta), setting=f"queue {packets}")
        rows.add("(10) beta less RTTmin/RTTmax", other - theory, setting=f"queue {packets}")
    for fading in (0.875, 1.0):
        beta_then = flow_values(results[f"fading-{fading:g}"], 0, "beta")
        kept = beta_then[-1] - beta_then[1400]
        rows.add("(9) beta long after a queue is gone less before", kept, setting=f"fading {fading:g}")
    return rows


def _equation_picture(results: Results) -> Plot:
    title = "Equation (9): the backoff factor forgets a queue that is gone (second hop busy from 15 to 30 s)"
    plot, axes = chart(title, TIME, "Beta of flow 1")
    for look, fading in zip(pens(["adaptive-aimd"] * 2), (0.875, 1.0), strict=True):
        label = "fading 7/8" if fading < 1 else "no fading"
        draw(axes, results[f"fading-{fading:g}"], 0, "beta", look, label)
    axes.y.limits = (0.45, 0.85)
    axes.x.limits = (0, 60)
    return plot


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
