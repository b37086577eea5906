"""Detection of a measurement's format by its content, and the readers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fullpipe._util.plain import Tree
from fullpipe.measurements.records import PCAP_MAGIC, PCAPNG_MAGIC
from fullpipe.measurements.schema import UNKNOWN, Measurement
from fullpipe.measurements.source import Progress, Source

__all__ = ["detect", "read"]

FLENT = re.compile(rb'^\s*\{\s*"(?:metadata|results|x_values|raw_values|version)"\s*:')
IPERF3 = re.compile(rb'^\s*\{\s*"(?:start"\s*:\s*\{|event"\s*:\s*"(?:start|interval)"|error"\s*:\s*")')
QLOG = re.compile(rb'"(?:qlog_version|file_schema)"\s*:')
OWN = re.compile(rb'^\s*\{\s*"engine"\s*:')
TC = re.compile(rb'(?m)^qdisc \S+ \S+ |^\s*\[\s*(?:\{\s*\}\s*,\s*)*\{[^{}]*"kind"\s*:')


def detect(head: bytes) -> str | None:
    """Format of a file by its first bytes, after decompression; None if it is unknown."""
    if head[:4] in PCAP_MAGIC:
        return "pcap"
    if head[:4] == PCAPNG_MAGIC:
        return "pcapng"
    if head[:1] == b"\x1e":
        return "sqlog"
    if QLOG.search(head[:4096]) and head.lstrip()[:1] == b"{":
        return "sqlog" if b'"trace"' in head.partition(b"\n")[0] else "qlog"
    if IPERF3.match(head) or (head.lstrip()[:1] == b"{" and b'"version"' in head and b'"iperf 3' in head):
        return "iperf3"
    if FLENT.match(head):
        return "flent"
    if OWN.match(head):
        return "fullpipe"
    if TC.search(head):
        return "tc"
    from fullpipe.measurements.ss import is_ss

    return "ss" if b"\0" not in head and is_ss(head.decode("utf-8", "replace")) else None


def read(
    path: str | os.PathLike[str],
    *,
    interval_s: float | None = None,
    packets: bool = False,
    progress: Progress | None = None,
) -> Measurement:
    """Measurement of a file or of a directory with a result of fullpipe. The content decides the format.

    Args:
        path: File, also compressed by gzip, bzip2, or zstd; or a directory that ``--out`` wrote.
        interval_s: Time between two samples of ``ss``, for a file without times.
        packets: Whether the table ``packets`` has rows for the packets of a capture or QUIC log. Else it is empty.
        progress: Called with the compressed bytes read and their number.

    Raises:
        InputError: The format is unknown, the file is damaged or exceeds a limit, or a package is missing.
    """
    if Path(path).is_dir():
        from fullpipe.measurements.own import read_own

        return read_own(path)
    source = Source(path, progress)
    kind = detect(source.head())
    if kind is None:
        raise source.error(UNKNOWN)
    metadata: Tree = {"format": kind, "file": source.name, "sha256": source.digest(), "truncated": False}
    return _reader(kind, interval_s, packets)(source, metadata)


def _reader(kind: str, interval_s: float | None, packets: bool) -> Callable[[Source, Tree], Measurement]:
    if kind == "flent":
        from fullpipe.measurements.flent import read_flent

        return read_flent
    if kind == "iperf3":
        from fullpipe.measurements.iperf3 import read_iperf3

        return read_iperf3
    if kind == "tc":
        from fullpipe.measurements.tc import read_tc

        return read_tc
    if kind in ("qlog", "sqlog"):
        from fullpipe.measurements.qlog import read_qlog

        return partial(read_qlog, packets=packets)
    if kind in ("pcap", "pcapng"):
        from fullpipe.measurements.pcap import read_pcap

        return partial(read_pcap, packets=packets)
    if kind == "fullpipe":
        from fullpipe.measurements.own import read_own

        return lambda source, _: read_own(Path(source.name).parent)
    from fullpipe.measurements.ss import read_ss

    return lambda source, metadata: read_ss(source, metadata, interval_s)
