"""Writer of flent's data files, version 4 (``flent/resultset.py``)."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fullpipe._util.files import staged_file
from fullpipe._util.flent import data_file
from fullpipe._util.plain import Tree
from fullpipe.engine.tables import rows, to_numpy
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    import numpy.typing as npt

    from fullpipe.runs.result import Result

__all__ = ["write_flent"]

START = datetime(2000, 1, 1, 0, 0, 1, tzinfo=UTC)
"""Time of the simulated time 0, as in captures."""

TCP_HEADERS = 66
"""Bytes of Ethernet, IPv4, and TCP with timestamps in a data packet, as in captures."""

FLENT_VERSION = "2.1.1"

PING = "Ping (ms) ICMP"


def write_flent(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes the series of a result with one series per flow, their sum, and the RTT of an idle flow."""
    content = _content(result, Path(path))
    with staged_file(path) as stage:
        stage.write_bytes(content)


def _content(result: Result, path: Path) -> bytes:
    series = result.columns("series")
    flows, at = to_numpy(series["flow"]), to_numpy(series["t_s"]).astype(float)
    grid = np.unique(at)
    step = result.scenario.series_interval_s or 0.0
    packet = int(result.scenario.resolved().to_dict()["packet_size"])
    payload = max(1, packet - TCP_HEADERS) / packet
    columns: dict[str, list[float | None]] = {}
    raw: dict[str, list[Tree]] = {}
    rates = []
    for flow in rows(result.columns("flows")):
        name = f"TCP upload::{flow['id'] + 1}"
        own = flows == flow["id"]
        place = np.searchsorted(grid, at[own])

        def on_grid(values: npt.NDArray[np.float64], place: npt.NDArray[np.intp] = place) -> npt.NDArray[np.float64]:
            found = np.full(len(grid), math.nan)
            found[place] = values
            return found

        rate, cwnd, rtt = (
            on_grid(to_numpy(series[column])[own].astype(float) * factor)
            for column, factor in (("goodput_bps", payload / 1e6), ("cwnd_packets", 1.0), ("rtt_s", 1e3))
        )
        rates.append(rate)
        columns[name] = _known(rate)
        columns[f"{name}::tcp_cwnd"], columns[f"{name}::tcp_rtt"] = _known(cwnd), _known(rtt)
        raw[name] = [
            {
                "t": _epoch(t),
                "dur": step,
                "val": value,
                **{key: number for key, number in (("tcp_cwnd", window), ("tcp_rtt", delay)) if number is not None},
            }
            for t, value, window, delay in zip(grid.tolist(), _known(rate), _known(cwnd), _known(rtt), strict=True)
            if value is not None
        ]
    table = np.array(rates)
    silent = np.isnan(table).all(axis=0)
    total = np.where(silent, math.nan, np.nansum(table, axis=0))
    columns["TCP upload sum"] = _known(total)
    columns["TCP upload avg"] = _known(total / np.maximum(1, (~np.isnan(table)).sum(axis=0)))
    ping = _idle_rtts(result, grid, packet)
    columns[PING] = _known(ping)
    raw[PING] = [
        {"t": _epoch(t), "val": value}
        for t, value in zip(grid.tolist(), _known(ping), strict=True)
        if value is not None
    ]
    metadata = _metadata(result, path, step, len(rates), sorted(columns))
    return data_file(metadata, grid.tolist(), columns, raw)


def _metadata(result: Result, path: Path, step: float, count: int, names: list[str]) -> Tree:
    about: Tree = {name: {"UNITS": "ms" if name == PING else "Mbits/s"} for name in names}
    for flow in rows(result.columns("flows")):
        about[f"TCP upload::{flow['id'] + 1}"] |= {"CONG_CONTROL": flow["algorithm"]}
    return {
        "TITLE": str(result.scenario.file or "fullpipe"),
        "TIME": START.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "LENGTH": result.scenario.duration_s,
        "STEP_SIZE": step,
        "HOST": "fullpipe",
        "FLENT_VERSION": FLENT_VERSION,
        "DATA_FILENAME": path.name,
        "TEST_PARAMETERS": {"upload_streams": str(count)},
        "NOTE": f"simulated by fullpipe, seed {result.scenario.seed}",
        "SERIES_META": about,
    }


def _idle_rtts(result: Result, grid: npt.NDArray[np.float64], packet: int) -> npt.NDArray[np.float64]:
    """RTT of a probe on the path of the first flow, in ms: the base RTT and the time to send the queues."""
    first = rows(result.columns("flows"))[0]
    series = result.columns("link_series")
    resolved = result.scenario.resolved().to_dict()
    path = resolved["flows"][0].get("path") or [resolved["links"][0]["name"]]
    delay = np.full(len(grid), float(first["base_rtt_s"]))
    at, links = to_numpy(series["t_s"]).astype(float), to_numpy(series["link"])
    rate = {link["name"]: _bits_per_second(link) for link in resolved["links"]}
    for number, link in enumerate(resolved["links"]):
        own = links == number
        if link["name"] not in path or not own.any() or not rate[link["name"]]:
            continue
        queue = np.interp(grid, at[own], np.nan_to_num(to_numpy(series["queue_packets"])[own].astype(float)))
        delay += queue * packet * 8 / rate[link["name"]]
    return delay * 1e3


def _bits_per_second(link: Tree) -> float:
    quantity = Quantity.parse(str(link.get("rate", "")))
    return 0.0 if quantity is None else quantity.value


def _known(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _epoch(t_s: float) -> float:
    return (START + timedelta(seconds=t_s)).timestamp()
