"""Writer of flent's data files, version 4 (``flent/resultset.py``), from measurements of sockets and queues."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from fullpipe._util.flent import data_file
from fullpipe._util.plain import Tree
from fullpipe.measurements.schema import Measurement

__all__ = ["write_flent"]

Series = dict[str, list[Tree]]


def write_flent(measurements: Sequence[Measurement], path: Path, step_s: float, made_from: str) -> None:
    """Writes the flows and links of measurements as series of uploads and queueing disciplines.

    Args:
        measurements: Measurements with dates.
        path: The file.
        step_s: Distance of the grid of ``results``, about that of the samples.
        made_from: Origin of the samples, in place of flent's version.
    """
    raw: Series = {}
    about: Tree = {}
    for each in measurements:
        _add_flows(each, raw, about)
        _add_links(each, raw, about)
    times = [row["t"] for rows in raw.values() for row in rows]
    begin, end = min(times), max(times)
    grid = np.arange(0.0, end - begin, step_s)
    metadata = {
        "TITLE": path.name.partition(".")[0],
        "TIME": str(measurements[0].metadata["t0"]),
        "LENGTH": end - begin,
        "STEP_SIZE": step_s,
        "HOST": "guest",
        "FLENT_VERSION": made_from,
        "DATA_FILENAME": path.name,
        "TEST_PARAMETERS": {"upload_streams": str(sum(name.startswith("TCP") for name in raw))},
        "SERIES_META": about,
    }
    results = {name: _on_grid(rows, grid + begin) for name, rows in raw.items()}
    path.write_bytes(data_file(metadata, grid.tolist(), results, raw))


def _on_grid(rows: Sequence[Tree], grid: np.typing.NDArray[np.float64]) -> list[float | None]:
    """Values of a series on the grid, as flent interpolates them; None outside."""
    known = [(row["t"], row["val"]) for row in rows if "val" in row]
    if not known:
        return [None] * len(grid)
    at, values = np.array(known).T
    found = np.interp(grid, at, values, left=np.nan, right=np.nan)
    return [None if np.isnan(value) else float(value) for value in found]


def _seconds(measurement: Measurement) -> float:
    return datetime.fromisoformat(str(measurement.metadata["t0"])).timestamp()


def _add_flows(measurement: Measurement, raw: Series, about: Tree) -> None:
    """Adds a series per flow: Mbit/s of payload, and what ss shows of the socket."""
    start = _seconds(measurement)
    for flow in measurement.flows.to_pylist():
        name = f"TCP upload::{sum(each.startswith('TCP') for each in raw) + 1}"
        mss = flow["mss_bytes"] or 1
        rows = raw[name] = []
        known_bytes = [row for row in measurement.of_flow(flow["flow"]) if row["acked_bytes"] is not None]
        for before, row in pairwise(known_bytes):
            width = row["t_s"] - before["t_s"]
            values = {
                "val": (row["acked_bytes"] - before["acked_bytes"]) * 8e-6 / width,
                "tcp_cwnd": _scaled(row["cwnd_bytes"], 1 / mss),
                "tcp_rtt": _scaled(row["rtt_s"], 1e3),
                "tcp_rtt_var": _scaled(row["rttvar_s"], 1e3),
                "tcp_pacing_rate": _scaled(row["pacing_bps"], 1e-6),
                "tcp_delivery_rate": _scaled(row["delivery_bps"], 1e-6),
            }
            known = {key: value for key, value in values.items() if value is not None}
            rows.append({"t": start + row["t_s"], "dur": width, **known})
        about[name] = {"UNITS": "Mbits/s", "CONG_CONTROL": flow["algorithm"]}


def _add_links(measurement: Measurement, raw: Series, about: Tree) -> None:
    """Adds a series per queueing discipline: its backlog, and its drops since the last row."""
    start = _seconds(measurement)
    samples = measurement.link_samples.to_pylist()
    for link in measurement.links.to_pylist():
        name = f"qdisc_stats_{link['name']}".replace(" ", "_")
        own = [row for row in samples if row["link"] == link["link"]]
        raw[name] = [
            {
                "t": start + row["t_s"],
                "val": row["backlog_bytes"],
                "backlog_bytes": row["backlog_bytes"],
                "backlog_packets": row["backlog_packets"],
                "dropped": row["drops"] - before["drops"],
            }
            for before, row in pairwise(own)  # every value is in each sample of tc
        ]
        about[name] = {"UNITS": "bytes"}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
