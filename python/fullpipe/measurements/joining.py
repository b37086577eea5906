"""One measurement of several files of one run, for example a capture and samples of ``tc``.

The file with most samples of a sender is the main one. Others add algorithms of its flows, and queues. Times since 1970
match the clocks; without them, the shift of at most 2 s with the largest correlation of acknowledged bytes does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe._util.plain import Tree
from fullpipe.errors import InputError
from fullpipe.measurements.schema import Measurement, schema

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["join"]

LEAST_OVERLAP = 0.5
"""Part of the shorter measurement that has to overlap with the main one."""

LONGEST_SHIFT_S, LEAST_BIN_S, LEAST_CORRELATION = 2.0, 0.01, 0.8
"""Search for the shift of a clock: largest shift, shortest bin, and smallest correlation."""


def join(measurements: Sequence[Measurement], names: Sequence[str]) -> Measurement:
    """Measurement of files of one run.

    Args:
        measurements: What the files have.
        names: Names of the files, for errors.

    Raises:
        InputError: Two files overlap in less than half of the shorter one, or their clocks cannot be matched.
    """
    main = max(range(len(measurements)), key=lambda i: _weight(measurements[i]))
    joined = measurements[main]
    for i, other in enumerate(measurements):
        if i != main:
            shift_s = _shift_s(joined, other, names[main], names[i])
            _check_overlap(joined, other, shift_s, names[main], names[i])
            joined = _added(joined, other, shift_s)
    return joined


def _weight(measured: Measurement) -> int:
    """Number of samples of senders."""
    senders = [row["flow"] for row in measured.flows.to_pylist() if row["protocol"] in ("tcp", "quic")]
    flows = measured.samples["flow"].to_pylist()
    return sum(flow in senders for flow in flows)


def _shift_s(main: Measurement, other: Measurement, first: str, second: str) -> float:
    """Time to add to the times of the other measurement."""
    starts = [measured.metadata.get("t0") for measured in (main, other)]
    if all(isinstance(start, str) for start in starts):
        begin, moment = (datetime.fromisoformat(str(start)).timestamp() for start in starts)
        return moment - begin
    rates = [_rates(measured) for measured in (main, other)]
    if any(len(times) < 2 for times, _ in rates):
        raise InputError(f"{second}: requires times since 1970 to match those of {first}")
    width = max(LEAST_BIN_S, *(float(np.median(np.diff(times))) for times, _ in rates))
    best, shift_s = _best_shift(rates[0], rates[1], width)
    if best < LEAST_CORRELATION:
        raise InputError(f"{second} conflicts with {first}: acknowledged bytes differ (correlation {best:.2f})")
    return shift_s


Series = tuple["npt.NDArray[np.float64]", "npt.NDArray[np.float64]"]
"""Times, and bytes acknowledged by then."""


def _best_shift(main: Series, other: Series, width: float) -> tuple[float, float]:
    """Largest correlation of the acknowledged bytes of bins, and its shift."""
    found = (-1.0, 0.0)
    for steps in range(-round(LONGEST_SHIFT_S / width), round(LONGEST_SHIFT_S / width) + 1):
        shift_s = steps * width
        begin = max(main[0][0], other[0][0] + shift_s)
        end = min(main[0][-1], other[0][-1] + shift_s)
        edges = np.arange(begin, end, width)
        if len(edges) < 10:
            continue
        own, moved = (
            np.diff(np.interp(edges, times, acked)) for times, acked in (main, (other[0] + shift_s, other[1]))
        )
        if own.std() and moved.std():
            found = max(found, (float(np.corrcoef(own, moved)[0, 1]), shift_s))
    return found


def _rates(measured: Measurement) -> Series:
    """Times and acknowledged bytes of the flow with most samples."""
    rows = [row for row in measured.samples.to_pylist() if row["acked_bytes"] is not None]
    flows = [row["flow"] for row in rows]
    if not flows:
        return np.empty(0), np.empty(0)
    flow = max(set(flows), key=flows.count)
    table = np.array([(row["t_s"], row["acked_bytes"]) for row in rows if row["flow"] == flow], dtype=float)
    return table[:, 0], table[:, 1]


def _check_overlap(main: Measurement, other: Measurement, shift_s: float, first: str, second: str) -> None:
    spans = [_span(main, 0.0), _span(other, shift_s)]
    overlap = min(end for _, end in spans) - max(begin for begin, _ in spans)
    shorter = min(end - begin for begin, end in spans)
    if overlap < LEAST_OVERLAP * shorter:
        shown = f"times overlap by {max(0.0, overlap):.3g} s of {shorter:.3g} s"
        raise InputError(f"{second} conflicts with {first}: {shown}")


def _span(measured: Measurement, shift_s: float) -> tuple[float, float]:
    tables = (measured.samples, measured.link_samples)
    times: list[Any] = [t for table in tables for t in table["t_s"].to_pylist()]
    return (min(times) + shift_s, max(times) + shift_s) if times else (0.0, 0.0)


def _added(main: Measurement, other: Measurement, shift_s: float) -> Measurement:
    """The main measurement with algorithms, links, and events of another one."""
    flows = [_named(flow, other.flows.to_pylist()) for flow in main.flows.to_pylist()]
    count = len(main.links)
    return replace(
        main,
        flows=_table("flows", flows),
        links=_table("links", [*main.links.to_pylist(), *_moved(other.links, count)]),
        link_samples=_table(
            "link_samples", [*main.link_samples.to_pylist(), *_moved(other.link_samples, count, shift_s)]
        ),
        events=_table(
            "events", [*main.events.to_pylist(), *(row for row in other.events.to_pylist() if row["flow"] is None)]
        ),
    )


def _named(flow: Tree, others: Sequence[Tree]) -> Tree:
    """A flow with the algorithm of the other file's flow of equal addresses, or of equal name."""
    if flow["algorithm"] is not None:
        return flow
    for key in ("source", "name"):
        for each in others:
            same = each[key] == flow[key] and (key == "name" or each["sink"] == flow["sink"])
            if flow[key] is not None and same and each["algorithm"] is not None:
                return {**flow, "algorithm": each["algorithm"], "algorithm_source": each["algorithm_source"]}
    return flow


def _moved(table: pa.Table, count: int, shift_s: float | None = None) -> list[Tree]:
    """Rows of links after ``count`` others."""
    rows = table.to_pylist()
    for row in rows:
        row["link"] += count
        if shift_s is not None:
            row["t_s"] += shift_s
    return rows


def _table(name: str, rows: list[Any]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema(name))
