"""Synchronization of flows: correlation of their congestion windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.runs.measure import Row, name_of

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["CORRELATION", "MOST_SAMPLED", "SYNCHRONIZED", "correlation"]

MOST_SAMPLED = 500
"""Largest number of flows whose windows are sampled; more flows need too much memory."""

SYNCHRONIZED = 0.3
"""Correlation from which flows count as synchronized. Ten NewReno flows with equal RTTs have 0.5, two have 0.97; with
RTTs that differ by 5 % and random processing times, 2 to 50 flows have less than 0.01 (50 Mbit/s, 40 ms, 200 packets).
"""


def correlation(result: Result) -> Row:
    """Mean correlation between the windows of two flows after the warm-up, weighted by their variances.

    Of n windows it is (variance of their sum / sum of their variances - 1) / (n - 1): 1 if all move together, 0 if they
    are independent. The rule BDP/sqrt(n) assumes independent windows (G. Appenzeller, I. Keslassy, N. McKeown, Sizing
    Router Buffers, SIGCOMM 2004, section 3). None for one flow, or for windows that never change.
    """
    series = result.series
    flow, now = (series[name].to_numpy() for name in ("flow", "t_s"))
    windows = series["cwnd_packets"].to_numpy()
    measured = now >= result.scenario.warmup_s
    found = [windows[measured & (flow == each)] for each in np.unique(flow)]
    shortest = min((len(one) for one in found), default=0)
    if len(found) < 2 or shortest < 2:
        return {"window_correlation": None}
    each = np.array([one[-shortest:] for one in found])
    alone = float(each.var(axis=1).sum())
    if not alone:
        return {"window_correlation": None}
    return {"window_correlation": (float(each.sum(axis=0).var()) / alone - 1) / (len(found) - 1)}


CORRELATION = name_of(correlation)
"""Measure of the run with series."""
