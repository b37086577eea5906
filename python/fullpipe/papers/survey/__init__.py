"""Survey of Tahoe, NewReno, and Vegas versus constant-rate UDP traffic on a link with a buffer of ten segments.

The text omits the UDP traffic's rate and packet size, the access links, the duration, Vegas's parameters, and the
segment size. Reconstruction: ns-2's defaults (segments of 1000 bytes with 40 bytes of headers, a receive window of 20,
Vegas with alpha 1, beta 3, gamma 1), access links of 10 Mbit/s, half of the 40 ms before the shared link, UDP at half
the link's rate in packets of 1000 bytes, throughput over the first 16 s. The sensitivity item varies the important
ones.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.papers.drawing import flow_samples, flow_values, panels, titled
from fullpipe.plots.looks import Look, link_pen, pen
from fullpipe.reproduce.item import Item, Quick, Results, marks
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["ITEMS", "SCHEMES", "shared_link"]

SCHEMES: dict[str, object] = {
    "vegas": {"name": "vegas", "alpha": 1, "beta": 3, "gamma": 1},
    "newreno": "newreno",
    "tahoe": "tahoe",
}
"""Algorithms in the order of the published throughputs."""

LENGTH_S = 16
TIMES_S = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, LENGTH_S, 20, 30, 50, 100)
"""Durations of the runs behind figure 5's curves: the throughput since the start is the mean of a run."""

SETTLED_S = 5.0
"""Time after slow start and its losses."""


def shared_link(
    algorithm: object,
    *,
    length_s: float = LENGTH_S,
    udp_rate_mbps: float = 1.0,
    udp_packet: int = 1000,
    window: int | None = 20,
    delay_ms: float = 40.0,
    interval: str = "20 ms",
) -> Scenario:
    """One TCP flow and one UDP flow over the shared link."""
    flow: dict[str, object] = {
        "algorithm": algorithm,
        "access_delay": f"{delay_ms / 2:g} ms",
        "access_rate": "10 Mbit/s",
        **({} if window is None else {"max_window": window}),
    }
    return Scenario(
        duration=f"{length_s:g} s",
        packet_size=1040,
        series_interval=interval,
        links=[{"name": "shared", "rate": "2 Mbit/s", "delay": f"{delay_ms / 2:g} ms", "buffer": "10 packets"}],
        flows=[flow],
        udp=[{"rate": f"{udp_rate_mbps:g} Mbit/s", "packet_size": udp_packet, "access_delay": f"{delay_ms / 2:g} ms"}],
    )


def _kbps(result: Result) -> float:
    return float(flow_values(result, "throughput_bps")[0]) / 1e3


def _window_scenarios(scheme: str) -> dict[str, Scenario]:
    # Also Tahoe, because the text compares its slow start with Vegas's.
    return {name: shared_link(SCHEMES[name], length_s=20) for name in dict.fromkeys((scheme, "tahoe"))}


def _sawtooth_measure(scheme: str, results: Results) -> Rows:
    """Medians over the loss episodes after the first seconds."""
    result = results[scheme]
    t_s, cwnd, threshold = flow_samples(result, 0, "cwnd_packets", "ssthresh_packets")
    places = _cuts(result)
    own = (
        ("window before a loss", "packets", cwnd[places - 1]),
        ("window after a loss", "packets", cwnd[places]),
        ("ssthresh over the window before the loss", "", threshold[places] / cwnd[places - 1]),
        ("time between losses", "s", np.diff(t_s[places])),
    )
    rows = Rows(named=("algorithm", "quantity", "unit"))
    for quantity, unit, values in own:
        name = f"{scheme}, {quantity}" if unit == "packets" else ""
        rows.add(quantity, float(np.median(values)), unit=unit, algorithm=scheme, name=name)
    return rows


def _cuts(result: Result) -> NDArray[np.intp]:
    """Samples after the first seconds at which the window was just cut by a tenth or more."""
    t_s, cwnd = flow_samples(result, 0, "cwnd_packets")
    return np.flatnonzero((cwnd[1:] < 0.9 * cwnd[:-1]) & (t_s[1:] > SETTLED_S)) + 1


def _vegas_measure(results: Results) -> Rows:
    vegas, tahoe = results["vegas"], results["tahoe"]
    t_s, cwnd = flow_samples(vegas, 0, "cwnd_packets")
    settled = cwnd[t_s > SETTLED_S]
    ratio = _time_to(vegas, 8) / _time_to(tahoe, 8)
    rows = Rows(named=("algorithm", "quantity"))
    rows.add("largest less smallest window", float(np.ptp(settled)), unit="packets", algorithm="vegas")
    rows.add("mean window", settled.mean(), unit="packets", algorithm="vegas")
    rows.add("losses", len(_cuts(vegas)), algorithm="vegas")
    name = "time to a window of 8, vegas over tahoe"
    rows.add("time to a window of 8", ratio, algorithm="vegas over tahoe", name=name)
    return rows


def _time_to(result: Result, window: float) -> float:
    t_s, cwnd = flow_samples(result, 0, "cwnd_packets")
    return float(t_s[np.argmax(cwnd >= window)])


def _window_picture(scheme: str, results: Results) -> Plot:
    window, unit = titled("cwnd_packets")
    plot, ((axes,),) = panels(((f"{scheme}: {window}", unit),), height=3.5)
    t_s, cwnd, threshold = flow_samples(results[scheme], 0, "cwnd_packets", "ssthresh_packets")
    axes.line(t_s, cwnd, **pen(scheme), label="cwnd")
    limits = np.where(np.isfinite(threshold), threshold, np.nan)
    axes.line(t_s, limits, color="#666666", linestyle=(0, (4, 2)), linewidth=0.8, label="ssthresh")
    axes.x.limits = (0, results[scheme].scenario.duration_s)
    axes.y.limits = (0, 24)
    axes.legend = True
    return plot


def _throughput_scenarios() -> dict[str, Scenario]:
    return {
        f"{name}-{length_s}s": shared_link(algorithm, length_s=length_s, interval="off")
        for name, algorithm in SCHEMES.items()
        for length_s in TIMES_S
    }


def _throughput_measure(results: Results) -> Rows:
    kbps = {name: {s: _kbps(results[f"{name}-{s}s"]) for s in TIMES_S} for name in SCHEMES}
    rows = Rows()
    for name, curve in kbps.items():
        rows.add("throughput", curve[LENGTH_S], unit="kbit/s", algorithm=name)
    for better, worse in (("vegas", "newreno"), ("newreno", "tahoe")):
        least = min(kbps[better][s] - kbps[worse][s] for s in TIMES_S if s >= SETTLED_S)
        both, since = f"{better} less {worse}", f"least from {SETTLED_S:g} s on"
        name = f"{both}, {since}, kbit/s"
        rows.add("throughput", least, unit="kbit/s", algorithm=both, setting=since, name=name)
    for name, curve in kbps.items():
        quantity = "throughput at 10 s over that at 100 s"
        rows.add(quantity, curve[10] / curve[100], algorithm=name, name=f"{name}, {quantity}")
    return rows


def _throughput_picture(results: Results) -> Plot:
    rows = (("throughput since the beginning", "kbit/s"),)
    plot, ((axes,),) = panels(rows, height=3.8)
    for name in SCHEMES:
        look = pen(name, marked=True)
        curve = [_kbps(results[f"{name}-{s}s"]) for s in TIMES_S]
        axes.line(TIMES_S, curve, **look, label=name)
        hollow: Look = look | {"linestyle": "none", "markersize": 9, "markerfacecolor": "none"}
        called = "published" if name == list(SCHEMES)[-1] else None
        axes.line(LENGTH_S, marks("survey/figure-5")[name], **hollow, label=called)
    axes.upright(LENGTH_S, color="#999999", linewidth=0.8)
    axes.x.limits = (0, 50)
    axes.y.limits = (0, 1100)
    axes.legend = True
    return plot


RATES_MBPS = (0.9, 0.95, 1.0, 1.05)
PACKETS = (210, 500, 1000)
WINDOWS = {"20": 20, "any": None}
DELAYS_MS = (20.0, 40.0)
"""One way; a reader may take the text's 40 ms for a round trip."""


def _grid(rates: tuple[float, ...], packets: tuple[int, ...], windows: dict[str, int | None]) -> dict[str, Scenario]:
    return {
        f"{name}_{rate:g}Mbps_{packet}B_w-{window}_{delay_ms:g}ms": shared_link(
            algorithm, udp_rate_mbps=rate, udp_packet=packet, window=windows[window], delay_ms=delay_ms, interval="off"
        )
        for rate, packet, window, delay_ms in product(rates, packets, windows, DELAYS_MS)
        for name, algorithm in SCHEMES.items()
    }


def _by_scheme(results: Results, delay: str = "") -> dict[str, NDArray[np.float64]]:
    return {
        name: np.array([_kbps(run) for key, run in results.items() if key.startswith(name) and key.endswith(delay)])
        for name in SCHEMES
    }


def _sensitivity_measure(results: Results) -> Rows:
    kbps = _by_scheme(results)
    rows = Rows()
    for name, values in kbps.items():
        rows.add("throughput", values.min(), unit="kbit/s", algorithm=name, setting="lowest")
        rows.add("throughput", values.max(), unit="kbit/s", algorithm=name, setting="highest")
    for label, delay in (("40 ms one way", "_40ms"), ("20 ms one way", "_20ms")):
        each = _by_scheme(results, delay)
        ordered = (each["vegas"] > each["newreno"]) & (each["newreno"] > each["tahoe"])
        rows.add("share of configurations in the published order", ordered.mean(), setting=label)
    return rows


def _sensitivity_picture(results: Results) -> Plot:
    rows = (("throughput over the first 16 s, one line a configuration", "kbit/s"),)
    plot, (axes,) = panels(rows, columns=2, xlabel="", height=4.2, width=10.0)
    thin: Look = {**link_pen(0), "linewidth": 0.7, "alpha": 0.5, "marker": "."}
    for panel, delay_ms in zip(axes, DELAYS_MS, strict=True):
        panel.title = f"{delay_ms:g} ms one way"
        curves = np.array(list(_by_scheme(results, f"_{delay_ms:g}ms").values()))
        for curve in curves.T:
            panel.line(range(len(SCHEMES)), curve, **thin)
        panel.x.name(range(len(SCHEMES)), SCHEMES)
    return plot


ITEMS = (
    Item(
        id="survey/figure-2",
        title="Tahoe's congestion window",
        scenarios=partial(_window_scenarios, "tahoe"),
        measure=partial(_sawtooth_measure, "tahoe"),
        pictures={"figure-2": partial(_window_picture, "tahoe")},
    ),
    Item(
        id="survey/figure-3",
        title="NewReno's congestion window",
        scenarios=partial(_window_scenarios, "newreno"),
        measure=partial(_sawtooth_measure, "newreno"),
        pictures={"figure-3": partial(_window_picture, "newreno")},
    ),
    Item(
        id="survey/figure-4",
        title="Vegas's congestion window",
        scenarios=partial(_window_scenarios, "vegas"),
        measure=_vegas_measure,
        pictures={"figure-4": partial(_window_picture, "vegas")},
    ),
    Item(
        id="survey/figure-5",
        title="Throughput of Vegas, NewReno and Tahoe over time",
        scenarios=_throughput_scenarios,
        measure=_throughput_measure,
        pictures={"figure-5": _throughput_picture},
    ),
    Item(
        id="survey/sensitivity",
        title="Figure 5's throughputs by settings that the text omits: the UDP traffic, the maximum window, the delay",
        scenarios=partial(_grid, RATES_MBPS, PACKETS, WINDOWS),
        measure=_sensitivity_measure,
        pictures={"sensitivity": _sensitivity_picture},
        quick=Quick(
            "8 configurations instead of 48",
            partial(_grid, (0.9, 1.0), (500, 1000), {"20": 20}),
        ),
    ),
)
