"""A result written by hand: no engine had a part in it, and no two of its figures are alike, so that a table, a picture
or a row that shows one in another's place, or in another unit, is seen.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from fullpipe import Result, Scenario
from fullpipe.runs.transfers import COLUMNS

EXPECTED = Path(__file__).parent / "unit/expected"
"""Rows of the tables that the program prints of figures written by hand, checked by hand against these."""

NO = math.nan
"""A figure without a value."""

SCENARIO: dict[str, Any] = {
    "duration": "4 s",
    "warmup": "1 s",
    "seed": 7,
    "links": [
        {"name": "bottleneck", "rate": "100 Mbit/s", "delay": "39 ms", "buffer": "250 packets"},
        {"name": "edge", "rate": "1 Gbit/s", "delay": "2 ms", "buffer": "500 packets"},
    ],
    "flows": [
        {"algorithm": "reno", "path": ["bottleneck"]},
        {"name": "ours", "algorithm": "vegas", "path": ["edge", "bottleneck"]},
    ],
    "udp": [{"rate": "1 Mbit/s", "path": ["bottleneck"]}],
    "web": [{"algorithm": "reno", "transfers_per_second": 5, "mean_size": "10 kB", "path": ["edge"]}],
}

LINKS: dict[str, list[Any]] = {
    "name": ["bottleneck", "edge"],
    "utilization": [0.8123, 0.0617],
    "carried_goodput_bps": [62.4e6, 1.7e6],
    "loss_rate": [0.00125, 0.0],
    "dropped_packets": [1234, 0],
    "marked_packets": [4321, 7],
    "wire_lost_packets": [5, 6],
    "arrived_packets": [987654, 87654],
    "mean_queue_packets": [61.25, 1.375],
    "max_queue_packets": [2500, 17],
    "p50_queueing_delay_s": [0.0051, 0.0],
    "p95_queueing_delay_s": [0.0152, 0.0013],
    "p99_queueing_delay_s": [0.0183, 0.0024],
    "max_queueing_delay_s": [0.0194, 0.0035],
    "shared_queues": [3, 0],
    "reverse_utilization": [0.0321, 0.0043],
    "reverse_carried_goodput_bps": [0.31e6, 0.42e6],
    "reverse_loss_rate": [0.0002, 0.0003],
    "reverse_dropped_packets": [21, 22],
    "reverse_marked_packets": [27, 28],
    "reverse_wire_lost_packets": [23, 24],
    "reverse_arrived_packets": [50001, 50002],
    "reverse_mean_queue_packets": [0.75, 0.25],
    "reverse_max_queue_packets": [31, 32],
    "reverse_p50_queueing_delay_s": [0.0, 0.00001],
    "reverse_p95_queueing_delay_s": [0.00021, 0.00022],
    "reverse_p99_queueing_delay_s": [0.00031, 0.00032],
    "reverse_max_queueing_delay_s": [0.00041, 0.00042],
    "reverse_shared_queues": [2, 1],
}

FLOWS: dict[str, list[Any]] = {
    "id": [0, 1],
    "name": ["reno", "ours"],
    "algorithm": ["reno", "vegas"],
    "active_s": [3.0, 1.5],
    "throughput_bps": [61.5e6, 2.15e6],
    "goodput_bps": [60.25e6, 950e3],
    "payload_goodput_bps": [57.84e6, 912e3],
    "retransmits": [2740, 11],
    "timeouts": [3, 1],
    "fast_recoveries": [70, 20],
    "loss_rate": [0.00138, 0.00033],
    "mean_rtt_s": [0.0852, 0.0904],
    "p50_rtt_s": [0.0843, 0.0915],
    "p95_rtt_s": [0.0961, 0.0972],
    "p99_rtt_s": [0.0983, 0.0994],
    "p50_jitter_s": [0.00011, 0.00021],
    "p95_jitter_s": [0.00512, 0.00622],
    "p99_jitter_s": [0.00713, 0.00823],
    "mean_cwnd_packets": [1880.125, 13.5],
    "base_rtt_s": [0.078, 0.082],
    "completion_s": [NO, 2.5],
}

GROUPS: dict[str, list[Any]] = {
    "name": ["reno", "ours"],
    "loss_rate": [0.00137, 0.00032],
    "p50_rtt_s": [0.0842, 0.0914],
    "p95_rtt_s": [0.0962, 0.0973],
    "p99_rtt_s": [0.0982, 0.0993],
    "p50_jitter_s": [0.00012, 0.00022],
    "p95_jitter_s": [0.00513, 0.00623],
    "p99_jitter_s": [0.00714, 0.00824],
}

NO_TRANSFERS: dict[str, list[Any]] = {name: [] for name in COLUMNS}

TRAFFIC: dict[str, list[Any]] = {
    "kind": ["udp", "web"],
    "throughput_bps": [1.5e9, 640.0],
    "sent_packets": [2000, 800],
    "received_packets": [1990, 790],
    "transfers_started": [0, 41],
    "transfers_completed": [0, 39],
    "mean_completion_s": [NO, 0.375],
}

SERIES: dict[str, list[Any]] = {
    "t_s": [1.0, 2.0, 3.0, 4.0] * 2,
    "flow": [0, 0, 0, 0, 1, 1, 1, 1],
    "cwnd_packets": [10.0, 20.0, 30.0, 15.0, 2.0, 4.0, 6.0, 8.0],
    "ssthresh_packets": [math.inf, math.inf, 12.0, 13.0, 50.0, 51.0, 52.0, 53.0],
    "rtt_s": [NO, 0.081, 0.082, 0.083, 0.091, 0.092, 0.093, 0.094],
    "in_flight_packets": [9.0, 19.0, 29.0, 14.0, 1.0, 3.0, 5.0, 7.0],
    "goodput_bps": [0.1e6, 60.5e6, 61.5e6, 62.5e6, 0.2e6, 0.9e6, 1.1e6, 1.2e6],
}

LINK_SERIES: dict[str, list[Any]] = {
    "t_s": [1.0, 2.0, 3.0, 4.0] * 2,
    "link": [0, 0, 0, 0, 1, 1, 1, 1],
    "queue_packets": [100.0, 200.0, 300.0, 400.0, 11.0, 12.0, 13.0, 14.0],
    "utilization": [0.5, 0.6, 0.7, 0.8, 0.01, 0.02, 0.03, 0.04],
    # A few ACKs, as pictures leave out.
    "reverse_queue_packets": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0],
    "reverse_utilization": [0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.017, 0.1],
}

TOTALS: dict[str, Any] = {
    "data_packets": 1234567,
    "jain_index": 0.8079,
    "p50_rtt_s": 0.0846,
    "p95_rtt_s": 0.0967,
    "p99_rtt_s": 0.0987,
    "p50_jitter_s": 0.00015,
    "p95_jitter_s": 0.00554,
    "p99_jitter_s": 0.00765,
}


def by_hand(*, engine: str = "simulator", wall_s: float = 0.5, **tables: Any) -> Result:
    """The result above. ``tables`` replaces its tables by name, and columns by name."""
    own = {
        "links": LINKS,
        "flows": FLOWS,
        "groups": GROUPS,
        "traffic": TRAFFIC,
        "series": SERIES,
        "link_series": LINK_SERIES,
        "totals": TOTALS,
    }
    own["transfers"] = NO_TRANSFERS
    columns = {name: {**table, **tables.get(name, {})} for name, table in own.items()}
    return Result(Scenario(**SCENARIO), columns, engine=engine, wall_s=wall_s)


def table_rows(text: str) -> list[list[str]]:
    """Cells of each row of the tables in a text; headings, titles and sentences are left out."""
    rows, inside = [], False
    for line in text.splitlines():
        if line.strip().startswith("───"):
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            rows.append(re.split(r" {2,}", line.strip()))
    return rows


def check_rows(text: str, *names: str) -> None:
    """Fails unless the tables of a text have the rows of these files one after another; rows may have further cells."""
    wanted = [line for name in names for line in (EXPECTED / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
    found = table_rows(text)
    starts = range(len(found) - len(wanted) + 1)
    assert any(all(map(_has_cells, found[start:], wanted)) for start in starts), f"{text}\nlacks\n" + "\n".join(wanted)


def _has_cells(row: list[str], line: str) -> bool:
    cells = iter(row)
    return all(cell in cells for cell in line.split(" | "))
