"""Reader of flent's data files, versions 2 to 4 (``flent/resultset.py``).

``raw_values`` have exact times; ``results`` are interpolated onto a grid, and are not read.
"""

from __future__ import annotations

import json
from itertools import pairwise

from fullpipe._util.plain import Tree
from fullpipe.measurements.schema import UNKNOWN, Builder, Measurement
from fullpipe.measurements.source import Source
from fullpipe.measurements.times import rfc3339
from fullpipe.measurements.values import Path, as_number, as_text, values

__all__ = ["KEYS", "read_flent"]

KEYS = ("metadata", "results", "x_values", "raw_values", "version")
"""Keys of a data file."""

VERSIONS = (2, 4)

SUMS = ("avg", "sum", "totals", "total", "mean")
"""Last words of series that flent computes from others."""

SILENCE_S = 3.0
"""Time without a value of a series that becomes a gap."""

ALGORITHM = "net.ipv4.tcp_congestion_control"


def read_flent(source: Source, metadata: Tree) -> Measurement:
    """Measurement of a data file of flent.

    Raises:
        FileError: The file is no data file of flent, or has no values that can be used.
    """
    builder = Builder(metadata)
    about, version = _about(source)
    metadata |= {
        "format_version": str(version),
        "tool": "flent",
        "tool_version": as_text(about.get("FLENT_VERSION")),
        "clock": "wall",
        "vantage": "sender",
        "sysctls": _table(about.get("SYSCTLS")),
    }
    _add_links(builder, about)
    series: dict[str, list[Tree]] = {}

    def cut() -> None:
        metadata["truncated"] = True

    with source.open() as stream:
        for path, row in values(source, stream, lambda path: len(path) == 3 and path[0] == "raw_values", cut):
            name = str(path[1])
            if isinstance(row, dict) and as_number(row.get("t")) is not None and not _is_sum(name):
                series.setdefault(name, []).append(row)
    times = [float(row["t"]) for rows in series.values() for row in rows]
    if not times:
        raise source.error("requires raw_values, as a data file of flent has them")
    start = min(times)
    metadata |= {"t0": rfc3339(start), "duration_s": max(times) - start}
    _Series(builder, about, version, start, max(times)).write(series)
    if not builder.has("flows") and not builder.has("link_samples"):
        raise source.error("requires a series of TCP, of pings, or of queueing disciplines")
    return builder.build()


def _about(source: Source) -> tuple[Tree, int]:
    """Metadata and version."""
    keys: set[str | None] = set()
    found: dict[str, object] = {}

    def wanted(path: Path) -> bool:
        keys.update(path[:1])
        return path in (("metadata",), ("version",))

    with source.open() as stream:
        for path, value in values(source, stream, wanted, lambda: None):
            found[str(path[0])] = value
            if len(found) == 2:
                break
    if not {"metadata"} <= keys <= set(KEYS):
        raise source.error(UNKNOWN)
    version = found.get("version", 1)
    if not isinstance(version, int) or not VERSIONS[0] <= version <= VERSIONS[1]:
        shown = version if isinstance(version, int | float) else "no number"
        raise source.error(f"flent version must be in [{VERSIONS[0]}, {VERSIONS[1]}], got {shown}")
    return _table(found.get("metadata")), version


def _add_links(builder: Builder, about: Tree) -> None:
    """Adds the disciplines of the hosts. That of the local host need not be the bottleneck's."""
    hosts = {**_table(about.get("REMOTE_METADATA")), "": about}
    link = 0
    for host, known in hosts.items():
        for each in _list(_table(_table(known).get("EGRESS_INFO")).get("qdiscs")):
            kind = as_text(each.get("name")) or as_text(each.get("kind"))
            if kind is None:
                continue
            params = _table(each.get("params"))
            plain = {key: value for key, value in params.items() if isinstance(value, str | int | float)}
            name = f"{host} {kind}".strip()
            builder.add("links", link=link, name=name, queue=kind, options=json.dumps(plain))
            link += 1


class _Series:
    """Writer of the series."""

    def __init__(self, builder: Builder, about: Tree, version: int, start: float, end: float) -> None:
        self._builder = builder
        self._about = about
        self._version = version
        self._start = start
        self._end = end
        self._links = 0

    def write(self, series: dict[str, list[Tree]]) -> None:
        """Writes each series that is a flow, a probe, or a discipline."""
        flow = 0
        self._links = 1000  # after those of the metadata
        for name, rows in series.items():
            rows.sort(key=lambda row: float(row["t"]))
            lower = name.lower()
            if lower.startswith("qdisc_stats"):
                self._write_link(name, rows)
            elif lower.startswith("tcp ") and ("upload" in lower or "download" in lower):
                self._add_flow(flow, name, "tcp")
                self._write_tcp(flow, rows, is_sender="download" not in lower)
                flow += 1
            elif "ping" in lower or lower.startswith(("udp_rr", "icmp")):
                self._add_flow(flow, name, "udp" if "UDP" in name else "icmp")
                self._write_probe(flow, name, rows)
                flow += 1

    def _add_flow(self, flow: int, name: str, protocol: str) -> None:
        algorithm, origin = self._algorithm(name) if protocol == "tcp" else (None, None)
        hosts = [each for each in self._about.get("HOSTS") or [] if isinstance(each, str)]
        self._builder.add(
            "flows",
            flow=flow,
            name=name,
            protocol=protocol,
            sink=next((host for host in hosts if name.endswith(host)), None),
            direction="in" if "download" in name.lower() else "out",
            algorithm=algorithm,
            algorithm_source=origin,
        )

    def _algorithm(self, name: str) -> tuple[str | None, str | None]:
        """Algorithm of a flow. The sysctl is the default of the host, and not always the flow's."""
        own = _table(_table(self._about.get("SERIES_META")).get(name)).get("CONG_CONTROL")
        asked = _table(self._about.get("TEST_PARAMETERS")).get("tcp_cong_control")
        if found := as_text(own) or as_text(asked):
            return found, "metadata"
        guess = as_text(_table(self._about.get("SYSCTLS")).get(ALGORITHM))
        return guess, guess and "guess"

    def _write_tcp(self, flow: int, rows: list[Tree], *, is_sender: bool) -> None:
        acked = 0.0
        before: float | None = None
        for row in rows:
            t = float(row["t"])
            rate, width = as_number(row.get("val")), as_number(row.get("dur"))
            if rate is not None:
                width = width if width is not None else 0.0 if before is None else t - before
                acked += rate * 1e6 / 8 * width
                before = t
            rtt_ms, deviation_ms = (as_number(row.get(f"tcp_rtt{name}")) for name in ("", "_var"))
            pacing, delivery = (as_number(row.get(f"tcp_{name}_rate")) for name in ("pacing", "delivery"))
            self._builder.add(
                "samples",
                t_s=t - self._start,
                flow=flow,
                interval_s=None if rate is None else width,
                acked_bytes=None if rate is None else acked,
                rtt_s=rtt_ms / 1000 if rtt_ms and is_sender else None,
                rtt_kind="smoothed" if rtt_ms and is_sender else None,
                rttvar_s=None if deviation_ms is None or not is_sender else deviation_ms / 1000,
                pacing_bps=None if pacing is None else 1e6 * pacing,
                delivery_bps=None if delivery is None else 1e6 * delivery,
            )

    def _write_probe(self, flow: int, name: str, rows: list[Tree]) -> None:
        # netperf's UDP_RR counts transactions per second before version 4; flent's own rule.
        for row in rows:
            value = as_number(row.get("val"))
            per_second = self._version < 4 and "UDP" in name and "dur" in row
            rtt_s = None if not value else 1 / value if per_second else value / 1000
            self._builder.add(
                "samples", t_s=float(row["t"]) - self._start, flow=flow, rtt_s=rtt_s, rtt_kind=rtt_s and "probe"
            )
        times = [float(row["t"]) for row in rows]
        for before, after in pairwise([*times, self._end]):
            if after - before > SILENCE_S:
                begin, end = before - self._start, after - self._start
                self._builder.add("gaps", t_s=begin, until_s=end, flow=flow, reason="the probe is silent")

    def _write_link(self, name: str, rows: list[Tree]) -> None:
        link, self._links = self._links, self._links + 1
        self._builder.add("links", link=link, name=name)
        totals = {"dropped": 0.0, "ecn_mark": 0.0}
        for row in rows:
            counts: dict[str, float | None] = {key: as_number(row.get(key)) for key in totals}
            if self._version >= 4:  # per interval
                for key, count in counts.items():
                    totals[key] += count or 0.0
                    counts[key] = None if count is None else totals[key]
            self._builder.add(
                "link_samples",
                t_s=float(row["t"]) - self._start,
                link=link,
                backlog_bytes=as_number(row.get("backlog_bytes")),
                backlog_packets=as_number(row.get("backlog_packets")),
                drops=counts["dropped"],
                marks=counts["ecn_mark"],
            )


def _is_sum(name: str) -> bool:
    return name.rpartition(" ")[2].lower() in SUMS


def _table(value: object) -> Tree:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Tree]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
