"""Hyun and Jang: a window held at the full pipe on a link with a small buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.models import hyun_jang_gain
from fullpipe.papers.item import Item, Results
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fullpipe.result import Result

__all__ = ["ITEMS"]

W_FULL_PACKETS = 1000
"""100 Mbit/s times 80 ms in packets of 1000 bytes."""

BUFFERS = {"1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "3/4": 3 / 4}
"""k: the buffer over the bandwidth-delay product."""

SCHEMES = {"reno": "reno", "proposed": {"name": "hyun-jang", "a": 1.1, "alpha": 1.02, "beta": 0.97}}
"""The paper's two columns; a, alpha and beta are its values."""


def link_scenario(k: float, algorithm: object) -> Scenario:
    """One flow over the paper's link: 100 Mbit/s, 80 ms, a drop-tail buffer of k bandwidth-delay products.

    The paper gives no access rate ("faster"), no length and no averaging window. Here: 1 Gbit/s over 1 ms; the first
    200 s left out, because the scheme only measures in its first congestion avoidance cycle (the paper excepts it too),
    which ends after 88 to 113 s; then 400 s, four cycles or more at each buffer.
    """
    return Scenario(
        duration="600 s",
        warmup="200 s",
        packet_size=1000,
        series_interval="100 ms",
        links=[
            {
                "name": "bottleneck",
                "rate": "100 Mbit/s",
                "delay": "39 ms",
                "buffer": f"{round(k * W_FULL_PACKETS)} packets",
                "queue": "drop-tail",
            }
        ],
        flows=[{"algorithm": algorithm, "access_delay": "1 ms", "access_rate": "1 Gbit/s"}],
    )


def _table_1_scenarios() -> dict[str, Scenario]:
    return {
        _name(scheme, k): link_scenario(BUFFERS[k], algorithm) for k in BUFFERS for scheme, algorithm in SCHEMES.items()
    }


def _table_1_measure(results: Results) -> dict[str, float]:
    used = {(scheme, k): _utilization(results[_name(scheme, k)]) for scheme in SCHEMES for k in BUFFERS}
    figures = {f"utilization, {scheme}, k={k}": value for (scheme, k), value in used.items()}
    for k, size in BUFFERS.items():
        figures[f"gain over reno, k={k}, %"] = 100 * (used["proposed", k] / used["reno", k] - 1)
        figures[f"gain by equation (5), k={k}, %"] = 100 * (hyun_jang_gain(size) - 1)
    return figures


def _table_1_picture(results: Results) -> Figure:
    """The windows at k = 1/8, Reno's above the proposed scheme's with `extra` shaded, and the link's utilization."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fullpipe.plot import COLOURS, STYLE, legend_above, moving_mean

    reno, proposed = results[_name("reno", "1/8")], results[_name("proposed", "1/8")]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 7.5), layout="constrained")
        above, below, link = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 2))
        _draw_window(above, reno, COLOURS[0], "Reno")
        _draw_window(below, proposed, COLOURS[1], "proposed: Reno's window plus extra")
        for result, colour, label in ((reno, COLOURS[0], "Reno"), (proposed, COLOURS[1], "proposed")):
            series = result.link_series
            mean = f"{label}, {_utilization(result):.3f} from {result.scenario.warmup_s:g} s on"
            # Samples are 100 ms apart, round trips at least 80 ms long: eight samples are ten round trips.
            used = moving_mean(series["utilization"].to_numpy(), 8)
            link.plot(series["t_s"], used, color=colour, label=mean)
        link.set_title("utilization of the link, mean over 0.8 s")
        link.set_ylabel("of capacity")
        link.set_ylim(0, 1.05)
        link.set_xlabel("time, s")
        link.set_xlim(0, reno.scenario.duration_s)
        legend_above(link)
        figure.suptitle("One flow, 100 Mbit/s, 80 ms, a buffer of 1/8 BDP", x=0.01, ha="left")
    return figure


def _draw_window(axes: Axes, result: Result, colour: str, title: str) -> None:
    from fullpipe.plot import legend_above

    series = result.series
    t_s, cwnd = series["t_s"].to_numpy(), series["cwnd_packets"].to_numpy()
    axes.plot(t_s, cwnd, color=colour, label="congestion window")
    if "extra" in series.column_names:
        own = cwnd - series["extra"].to_numpy()
        axes.fill_between(t_s, own, cwnd, color=colour, alpha=0.25, linewidth=0, label="extra")
        axes.plot(t_s, own, color=colour, linewidth=0.8, linestyle=(0, (4, 2)), label="Reno's own part")
    axes.axhline(W_FULL_PACKETS, color="#666666", linewidth=0.8, linestyle=":", label="full pipe, 1000 packets")
    axes.set_title(title)
    axes.set_ylabel("packets")
    axes.set_ylim(0, 1250)
    legend_above(axes)


def _name(scheme: str, k: str) -> str:
    return f"{scheme}-k-{k.replace('/', '-')}"


def _utilization(result: Result) -> float:
    return float(result.links["utilization"][0].as_py())


ITEMS = (
    Item(
        id="hyun-jang/table-1",
        title="Utilization by one flow against the buffer: Reno and the proposed scheme",
        scenarios=_table_1_scenarios,
        measure=_table_1_measure,
        pictures={"table-1": _table_1_picture},
    ),
)
