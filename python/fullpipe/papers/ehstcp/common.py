"""Common parts of Choi, Lee and Cho's items: algorithms, link with background traffic, bar plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from fullpipe._util.plain import Tree
from fullpipe.papers.drawing import bottleneck
from fullpipe.plots.looks import COLOURS, Look, pen
from fullpipe.plots.spec import Plot
from fullpipe.scenario import Scenario

__all__ = [
    "BACKGROUND_DELAY",
    "HIGH_SPEED_FLOWS",
    "LONG_LIVED",
    "PACKET_BYTES",
    "SCHEMES",
    "SMALL",
    "STANDARD",
    "bars",
    "bdp_packets",
    "file_name",
    "link_with_background",
]

SCHEMES = {"hstcp": "HSTCP", "scalable": "STCP", "bic": "BIC", "ehstcp": "eHSTCP"}
"""Names of the algorithms in the paper's tables."""

ALGORITHMS = {name: algorithm for algorithm, name in SCHEMES.items()}

STANDARD: dict[str, object] = {"algorithm": "newreno", "recovery": "sack"}

PACKET_BYTES = 1500
"""Packet size of an Ethernet frame; the paper gives none."""

LONG_LIVED, SMALL, SMALL_WINDOW = 4, 25, 64
"""Background in each direction, section 3: long-lived flows, and small flows with a limited window."""

BACKGROUND_DELAY = "10 ms..90 ms"
"""One-way access delay of background flows and of Table 1's high-speed flows: with the link's 10 ms, RTTs of 40 to 200
ms.
"""

HIGH_SPEED_FLOWS = 4
"""High-speed flows of table 1 and figure 1; the paper does not give their number."""

WEB_SESSIONS = 100
"""Web users in each direction: a transfer of 12 kB on average (Pareto, shape 1.2), then a gap of 1 s on average, about
8 Mbit/s. The paper only mentions web traffic.
"""

SPAN = "#00000080"
"""Color of the lines for the range of the runs."""


def bdp_packets(rate_mbps: float, rtt_s: float) -> float:
    """Bandwidth-delay product of a link."""
    return rate_mbps * 1e6 * rtt_s / (8 * PACKET_BYTES)


def file_name(scheme: str, setting: str) -> str:
    """File name of a scenario."""
    return f"{scheme}-{setting.replace(' ', '-')}"


def link_with_background(
    rate_mbps: float,
    buffer_packets: int,
    high_speed: Iterable[Mapping[str, object]],
    seconds: tuple[float, float],
    *,
    load: float = 1.0,
    **keys: object,
) -> Scenario:
    """High-speed flows, then background traffic, on a dumbbell of 10 ms one way.

    Args:
        rate_mbps: Rate of the link, Mbit/s.
        buffer_packets: Buffer in each direction.
        high_speed: Groups of high-speed flows.
        seconds: Duration and warm-up.
        load: Background traffic relative to the paper's; 0 for none.
        keys: Additional keys of the scenario.
    """
    flows, web = [dict(group) for group in high_speed], []
    for reverse in (False, True) if load else ():
        common = {**STANDARD, "access_delay": BACKGROUND_DELAY, "reverse": reverse}
        flows.append({**common, "count": round(load * LONG_LIVED), "start": "0 s..5 s"})
        flows.append({**common, "count": round(load * SMALL), "max_window": SMALL_WINDOW, "start": "0 s..5 s"})
        web.append({**common, "sessions": round(load * WEB_SESSIONS), "mean_gap": "1 s", "mean_size": "12 kB"})
    more: Tree = {**({"web": web} if web else {}), "series_interval": "off", **keys}
    return Scenario(
        duration=f"{seconds[0]:g} s",
        warmup=f"{seconds[1]:g} s",
        packet_size=PACKET_BYTES,
        links=[bottleneck(f"{rate_mbps:g} Mbit/s", "10 ms", f"{buffer_packets} packets")],
        flows=flows,
        **more,
    )


def bars(
    title: str,
    groups: list[str],
    panels: Mapping[str, Mapping[str, list[float]]],
    *,
    columns: int = 3,
    logarithmic: tuple[str, ...] = (),
    published: Mapping[str, Mapping[str, float]] | None = None,
    spans: Mapping[str, Mapping[str, list[tuple[float, float]]]] | None = None,
) -> Plot:
    """Plot with a panel per quantity, a group of bars per scheme, and a bar per setting; points on a logarithmic axis,
    and a line for the published value. With one setting, schemes have the colors of their algorithms; with several,
    settings have colors. `spans`, laid out as `panels`, are ranges of single runs.
    """
    rows = math.ceil(len(panels) / columns)
    plot = Plot.grid(rows, columns, title=title, height=1.2 + 2.6 * rows, share_x="none", share_y="none", legend=True)
    places = plot.panels
    for axes, (label, settings) in zip(places, panels.items(), strict=True):
        width = 0.8 / len(settings)
        for index, (colour, (setting, values)) in enumerate(zip(COLOURS, settings.items(), strict=False)):
            offsets = np.arange(len(groups)) + (index - (len(settings) - 1) / 2) * width
            alone = [pen(ALGORITHMS[group.partition(" ")[0]], marked=True) for group in groups]
            looks = alone if len(settings) == 1 else [Look(color=colour, marker="o")] * len(groups)
            named = None if len(settings) == 1 else setting
            if label in logarithmic:  # a bar begins at 0, which is not there
                for at, value, look in zip(offsets, values, looks, strict=True):
                    axes.line(at, value, **(look | {"linestyle": "none"}), label=named if at == offsets[0] else None)
            else:
                axes.bars(offsets, values, [look["color"] for look in looks], thickness=width, label=named)
            for at, (least, greatest) in zip(offsets, (spans or {}).get(label, {}).get(setting, []), strict=False):
                if least < greatest:
                    axes.line([at, at], [least, greatest], color=SPAN, linewidth=1)
        for group, value in ((published or {}).get(label, {})).items():
            middle = groups.index(group)
            last = "published" if group == list((published or {})[label])[-1] else None
            axes.line([middle - 0.45, middle + 0.45], [value, value], color="#000000", linewidth=2, label=last)
        axes.title = label
        axes.x.name(range(len(groups)), [group.replace(" without ", "\nwithout ") for group in groups])
        if label in logarithmic:
            axes.y.scale = "log"
    bounds = (pair for panel in (spans or {}).values() for bar in panel.values() for pair in bar)
    if any(least < greatest for least, greatest in bounds):
        places[0].line([], [], color=SPAN, linewidth=1, label="least to greatest of the runs")
    return plot
