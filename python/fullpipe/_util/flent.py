"""Data files of flent, version 4 (``flent/resultset.py``), for its test ``tcp_nup``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence

from fullpipe._util.plain import Tree

__all__ = ["data_file"]

FORMAT_VERSION = 4


def data_file(
    metadata: Mapping[str, object], grid: Sequence[float], results: Mapping[str, Sequence[float | None]], raw: Tree
) -> bytes:
    """Bytes of a data file.

    Args:
        metadata: Metadata of the run; ``LENGTH`` is the total length too, and ``TIME`` the time 0. Metadata that are
            left out are empty.
        grid: Times of ``results``, seconds.
        results: Values of each series on the grid.
        raw: Samples of each series, with their times.
    """
    document = {
        "metadata": {
            "NAME": "tcp_nup",
            "T0": metadata["TIME"],
            "BATCH_NAME": None,
            "BATCH_TITLE": None,
            "BATCH_TIME": None,
            "BATCH_UUID": None,
            "TOTAL_LENGTH": metadata["LENGTH"],
            "HOSTS": [metadata["HOST"]],
            "LOCAL_HOST": metadata["HOST"],
            "REMOTE_HOSTS": {},
            "IP_VERSION": 4,
            "SYSCTLS": {},
            "EGRESS_INFO": {},
            "REMOTE_METADATA": {},
            **metadata,
        },
        "results": results,
        "raw_values": raw,
        "x_values": grid,
        "version": FORMAT_VERSION,
    }
    return gzip.compress(json.dumps(document, allow_nan=False).encode(), mtime=0)
