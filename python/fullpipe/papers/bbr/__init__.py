"""Cardwell et al., the first version of BBR: goodput under random loss, compared with CUBIC and with a kernel."""

from __future__ import annotations

from fullpipe.papers.bbr.figure_8 import FIGURE_8

__all__ = ["ITEMS"]

ITEMS = (FIGURE_8,)
