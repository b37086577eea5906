"""Hyun and Jang: a window that stays at the full pipe on a link with a small buffer."""

from __future__ import annotations

from fullpipe.papers.hyun_jang.pairs import FIGURE_4, FIGURE_5
from fullpipe.papers.hyun_jang.single import EQUATION_5, FIGURE_1, FIGURE_2, FIGURE_3, TABLE_1

__all__ = ["ITEMS"]

ITEMS = (FIGURE_1, FIGURE_2, TABLE_1, EQUATION_5, FIGURE_3, FIGURE_4, FIGURE_5)
