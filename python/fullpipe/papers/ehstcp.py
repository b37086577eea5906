"""Choi, Lee and Cho: HighSpeed TCP that watches the queue (eHSTCP), beside HSTCP, Scalable TCP and BIC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fullpipe.papers.item import Item, Quick, Results
from fullpipe.scenario import Scenario
from fullpipe.tables import to_numpy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fullpipe.result import Result

__all__ = ["ITEMS"]

SCHEMES = {"hstcp": "HSTCP", "scalable": "STCP", "bic": "BIC", "ehstcp": "eHSTCP"}
"""The algorithms, and how the paper's tables call them."""

STANDARD: dict[str, Any] = {"algorithm": "newreno", "recovery": "sack"}

PACKET_BYTES = 1500
"""The paper gives no size; this is an Ethernet frame's."""

LONG_LIVED, SMALL, SMALL_WINDOW = 4, 25, 64
"""Background in each direction, section 3: long-lived flows, and small ones whose window is limited."""

BACKGROUND_DELAY = "10 ms..90 ms"
"""Access delay, one way, of background flows and of Table 1's high-speed flows: with the link's 10 ms, round trips of
40 to 200 ms."""

WEB_SESSIONS = 100
"""Web users in each direction; a transfer of 12 kB on average (Pareto, shape 1.2), then a gap of 1 s on average: about
8 Mbit/s. The paper names web traffic and no more."""

BDP_1G_40MS = round(1e9 * 0.04 / (8 * PACKET_BYTES))
"""3333 packets."""


def link_with_background(
    rate_mbps: float,
    buffer_packets: int,
    high_speed: Iterable[Mapping[str, Any]],
    seconds: tuple[float, float],
    *,
    load: float = 1.0,
    **keys: Any,
) -> Scenario:
    """The high-speed flows first, then the background, on a dumbbell of 10 ms one way.

    Args:
        rate_mbps: Of the link, Mbit/s.
        buffer_packets: In each direction.
        high_speed: The groups of high-speed flows.
        seconds: The run's length and the warm-up in it.
        load: How many times the background that the paper states; 0 for none.
        keys: Further keys of the scenario.
    """
    flows, web = [dict(group) for group in high_speed], []
    for reverse in (False, True) if load else ():
        common = {**STANDARD, "access_delay": BACKGROUND_DELAY, "reverse": reverse}
        flows.append({**common, "count": round(load * LONG_LIVED), "start": "0 s..5 s"})
        flows.append({**common, "count": round(load * SMALL), "max_window": SMALL_WINDOW, "start": "0 s..5 s"})
        web.append({**common, "sessions": round(load * WEB_SESSIONS), "mean_gap": "1 s", "mean_size": "12 kB"})
    return Scenario(
        duration=f"{seconds[0]:g} s",
        warmup=f"{seconds[1]:g} s",
        packet_size=PACKET_BYTES,
        links=[
            {
                "name": "bottleneck",
                "rate": f"{rate_mbps:g} Mbit/s",
                "delay": "10 ms",
                "buffer": f"{buffer_packets} packets",
            }
        ],
        flows=flows,
        **({"web": web} if web else {}),
        **{"series_interval": "off", **keys},
    )


# Table 1: 2.5 Gbit/s.

TABLE_1_FLOWS = 4
TABLE_1_BDP = round(2.5e9 * 0.1 / (8 * PACKET_BYTES))
"""Of 100 ms: 20833 packets."""

TABLE_1_SETTINGS: dict[str, tuple[float, float]] = {
    "a quarter of the buffer": (0.25, 1),
    "as reconstructed": (1, 1),
    "no background": (1, 0),
    "twice the background": (1, 2),
}
"""Buffer in BDP of 100 ms, background in times of what is stated."""

SAMPLE_S = 1.0
"""Over which a flow's throughput is taken for its deviation; the paper does not say."""


def _table_1_scenarios() -> dict[str, Scenario]:
    return _table_1_runs((220, 60))


def _table_1_runs(seconds: tuple[float, float]) -> dict[str, Scenario]:
    return {
        _name(scheme, setting): link_with_background(
            2500,
            round(share * TABLE_1_BDP),
            [{"algorithm": scheme, "count": TABLE_1_FLOWS, "access_delay": BACKGROUND_DELAY, "start": "0 s..5 s"}],
            seconds,
            load=load,
            series_interval=f"{SAMPLE_S:g} s",
        )
        for setting, (share, load) in TABLE_1_SETTINGS.items()
        for scheme in SCHEMES
    }


def _table_1_measure(results: Results) -> dict[str, float]:
    figures = {}
    for setting in TABLE_1_SETTINGS:
        for scheme in SCHEMES:
            if result := results.get(_name(scheme, setting)):
                named = f"{SCHEMES[scheme]}, {setting}"
                figures[f"utilization, {named}"] = float(result.links["utilization"][0].as_py())
                figures[f"loss, {named}, %"] = 100 * float(result.links["loss_rate"][0].as_py())
                figures[f"normalized deviation, {named}"] = _deviation(result)
    return figures


def _deviation(result: Result) -> float:
    """Sample standard deviation of a high-speed flow's throughput over its average; the mean over the flows.

    A flow's throughput in a sample is its window over its round trip.
    """
    import numpy as np

    from fullpipe.plot import flow_series

    lines = flow_series(result)[:TABLE_1_FLOWS]
    ratios = []
    for line in lines:
        rate = (line.values["cwnd_packets"] / line.values["rtt_s"])[line.t_s > result.scenario.warmup_s]
        rate = rate[np.isfinite(rate)]
        ratios.append(float(np.std(rate, ddof=1) / np.mean(rate)))
    return float(np.mean(ratios))


def _table_1_picture(results: Results) -> Figure:
    figures = _table_1_measure(results)
    labels = {"utilization": "", "loss": ", %", "normalized deviation": ""}
    settings = [setting for setting in TABLE_1_SETTINGS if f"utilization, HSTCP, {setting}" in figures]
    return _bars(
        "2.5 Gbit/s: utilization, loss, normalized deviation of throughput",
        list(SCHEMES.values()),
        {
            f"{what}{unit}": {
                setting: [figures[f"{what}, {name}, {setting}{unit}"] for name in SCHEMES.values()]
                for setting in settings
            }
            for what, unit in labels.items()
        },
        logarithmic=("loss, %",),
    )


def _bars(
    title: str,
    groups: list[str],
    panels: Mapping[str, Mapping[str, list[float]]],
    *,
    logarithmic: tuple[str, ...] = (),
) -> Figure:
    """A panel per quantity, a group of bars per scheme, a bar per setting."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.figure import Figure

    from fullpipe.plot import COLOURS, STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.4), layout="constrained")
        for axes, (label, settings) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            width = 0.8 / len(settings)
            for index, (colour, (setting, values)) in enumerate(zip(COLOURS, settings.items(), strict=False)):
                places = np.arange(len(groups)) + (index - (len(settings) - 1) / 2) * width
                axes.bar(places, values, width, color=colour, label=setting)
            axes.set_title(label)
            axes.set_xticks(range(len(groups)), groups)
            if label in logarithmic:
                axes.set_yscale("log")
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=4)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


TABLE_1 = Item(
    id="ehstcp/table-1",
    title="Utilization, loss and stability at 2.5 Gbit/s",
    scenarios=_table_1_scenarios,
    measure=_table_1_measure,
    pictures={"table-1": _table_1_picture},
    quick=Quick(
        "40 s instead of 220 s, as reconstructed only",
        lambda: {
            name: scenario
            for name, scenario in _table_1_runs((40, 15)).items()
            if name.endswith(_name("", "as reconstructed"))
        },
    ),
)


# Table 2: 1 Gbit/s, round trips of 40 ms and of 3 or 6 times that.

RATIOS = (3, 6)
TABLE_2_SETTINGS: dict[str, tuple[float, float]] = {
    "half the buffer": (0.5, 1),
    "as reconstructed": (1, 1),
    "2.5 times the buffer": (2.5, 1),
    "no background": (1, 0),
}
"""Buffer in BDP of 40 ms, background in times of what is stated."""


def _table_2_scenarios() -> dict[str, Scenario]:
    return _table_2_runs((300, 60))


def _table_2_runs(seconds: tuple[float, float]) -> dict[str, Scenario]:
    return {
        f"{_name(scheme, setting)}-ratio-{ratio}": link_with_background(
            1000,
            round(share * BDP_1G_40MS),
            [
                {"algorithm": scheme, "access_delay": "10 ms"},
                {"algorithm": scheme, "access_delay": f"{20 * ratio - 10} ms"},
            ],
            seconds,
            load=load,
        )
        for setting, (share, load) in TABLE_2_SETTINGS.items()
        for ratio in RATIOS
        for scheme in SCHEMES
    }


def _table_2_measure(results: Results) -> dict[str, float]:
    figures = {}
    for setting in TABLE_2_SETTINGS:
        for ratio in RATIOS:
            for scheme, name in SCHEMES.items():
                if result := results.get(f"{_name(scheme, setting)}-ratio-{ratio}"):
                    short, long = (float(rate) for rate in to_numpy(result.columns("flows")["goodput_bps"])[:2])
                    figures[f"throughput ratio, {name}, RTT ratio {ratio}, {setting}"] = short / long
    return figures


def _table_2_picture(results: Results) -> Figure:
    figures = _table_2_measure(results)
    settings = [s for s in TABLE_2_SETTINGS if f"throughput ratio, HSTCP, RTT ratio 3, {s}" in figures]
    panels = {
        f"RTT ratio {ratio}": {
            s: [figures[f"throughput ratio, {name}, RTT ratio {ratio}, {s}"] for name in SCHEMES.values()]
            for s in settings
        }
        for ratio in RATIOS
    }
    title = "1 Gbit/s: throughput of the flow of 40 ms over that of the flow of 120 or 240 ms"
    return _bars(title, list(SCHEMES.values()), panels, logarithmic=tuple(panels))


TABLE_2 = Item(
    id="ehstcp/table-2",
    title="Throughput ratio of two flows with different round trips at 1 Gbit/s",
    scenarios=_table_2_scenarios,
    measure=_table_2_measure,
    pictures={"table-2": _table_2_picture},
    quick=Quick(
        "60 s instead of 300 s, as reconstructed only",
        lambda: {
            name: scenario
            for name, scenario in _table_2_runs((60, 20)).items()
            if _name("", "as reconstructed") in name
        },
    ),
)


# Figure 1: who gets how much of 20 Mbit/s to 2.5 Gbit/s.

RATES_MBPS = (20, 100, 300, 1000, 2500)
KINDS = ("high-speed", "long-lived TCP", "small TCP", "web", "unused")


def _figure_1_scenarios() -> dict[str, Scenario]:
    return _figure_1_runs((200, 50))


def _figure_1_runs(seconds: tuple[float, float]) -> dict[str, Scenario]:
    return {
        f"{scheme}-{rate}-Mbps": link_with_background(
            rate,
            round(rate * 1e6 * 0.1 / (8 * PACKET_BYTES)),
            [{"algorithm": scheme, "count": TABLE_1_FLOWS, "access_delay": BACKGROUND_DELAY, "start": "0 s..5 s"}],
            seconds,
        )
        for rate in RATES_MBPS
        for scheme in SCHEMES
    }


def _figure_1_measure(results: Results) -> dict[str, float]:
    return {
        f"{kind}, {name}, {rate} Mbit/s, %": 100 * share
        for rate in RATES_MBPS
        for scheme, name in SCHEMES.items()
        if (result := results.get(f"{scheme}-{rate}-Mbps"))
        for kind, share in zip(KINDS, _shares(result, rate), strict=True)
    }


def _shares(result: Result, rate_mbps: float) -> list[float]:
    """Of the link, by kind of flow: what reached the receivers; unused is the link's idle time."""
    rates = [float(rate) for rate in to_numpy(result.columns("flows")["throughput_bps"])]
    ends = (TABLE_1_FLOWS, TABLE_1_FLOWS + LONG_LIVED, TABLE_1_FLOWS + LONG_LIVED + SMALL)
    parts = [sum(rates[: ends[0]]), sum(rates[ends[0] : ends[1]]), sum(rates[ends[1] : ends[2]])]
    parts.append(float(result.traffic["throughput_bps"][0].as_py()))
    return [part / (rate_mbps * 1e6) for part in parts] + [1 - float(result.links["utilization"][0].as_py())]


def _figure_1_picture(results: Results) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fullpipe.plot import COLOURS, STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.4), layout="constrained")
        rates = [rate for rate in RATES_MBPS if f"hstcp-{rate}-Mbps" in results]
        for axes, rate in zip(figure.subplots(1, len(rates), sharey=True, squeeze=False)[0], rates, strict=True):
            bottom = [0.0] * len(SCHEMES)
            shares = [_shares(results[f"{scheme}-{rate}-Mbps"], rate) for scheme in SCHEMES]
            for colour, kind, values in zip((*COLOURS[:4], "#eeeeee"), KINDS, zip(*shares, strict=True), strict=True):
                percent = [100 * value for value in values]
                axes.bar(list(SCHEMES.values()), percent, bottom=bottom, color=colour, label=kind)
                bottom = [low + part for low, part in zip(bottom, percent, strict=True)]
            axes.set_title(f"{rate} Mbit/s" if rate < 1000 else f"{rate / 1000:g} Gbit/s")
            axes.tick_params("x", rotation=60)
            axes.set_ylim(0, 101)
        figure.axes[0].set_ylabel("share of the link, %")
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=5)
    return figure


FIGURE_1 = Item(
    id="ehstcp/figure-1",
    title="Shares of the bandwidth by kind of flow, 20 Mbit/s to 2.5 Gbit/s",
    scenarios=_figure_1_scenarios,
    measure=_figure_1_measure,
    pictures={"figure-1": _figure_1_picture},
    quick=Quick("40 s instead of 200 s", lambda: _figure_1_runs((40, 15))),
)


def _name(scheme: str, setting: str) -> str:
    return f"{scheme}-{setting.replace(' ', '-')}"


ITEMS = (TABLE_1, TABLE_2, FIGURE_1)
