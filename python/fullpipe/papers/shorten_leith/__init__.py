"""Shorten and Leith: AIMD whose backoff follows the queue, instead of queues sized for AIMD."""

from __future__ import annotations

from fullpipe.papers.shorten_leith.backoff import EQUATIONS, FIGURE_5, FIGURE_14, FIGURE_16
from fullpipe.papers.shorten_leith.buffers import FIGURE_1, FIGURE_4, FIGURE_7
from fullpipe.papers.shorten_leith.many import FIGURE_8, FIGURE_10
from fullpipe.papers.shorten_leith.mixes import FIGURE_9, FIGURE_11, FIGURE_12, FIGURE_15
from fullpipe.papers.shorten_leith.pairs import FIGURE_2, FIGURE_3, FIGURE_6, FIGURE_17, FIGURE_18
from fullpipe.papers.shorten_leith.tables import TABLE_1, TABLE_2

__all__ = ["ITEMS"]

ITEMS = (
    EQUATIONS,
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
    FIGURE_11,
    FIGURE_12,
    FIGURE_14,
    FIGURE_15,
    FIGURE_16,
    FIGURE_17,
    FIGURE_18,
    TABLE_1,
    TABLE_2,
)
