"""Choi, Lee and Cho: HighSpeed TCP that observes the queue (eHSTCP), compared with HSTCP, Scalable TCP, and BIC."""

from __future__ import annotations

from fullpipe.papers.ehstcp.figure_1 import FIGURE_1
from fullpipe.papers.ehstcp.safety import SAFETY_CHECK
from fullpipe.papers.ehstcp.table_1 import TABLE_1
from fullpipe.papers.ehstcp.table_2 import TABLE_2

__all__ = ["ITEMS"]

ITEMS = (TABLE_1, TABLE_2, FIGURE_1, SAFETY_CHECK)
