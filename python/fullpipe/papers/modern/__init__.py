"""Algorithms of today, each checked against the claims of its papers and RFCs: a file per item.

No paper prints these values together. Settings come from the sources where they give any; otherwise, they are the
smallest that show the claim. The docstrings of each item name them.
"""

from __future__ import annotations

from fullpipe.papers.modern.c4 import C4
from fullpipe.papers.modern.copa import COPA
from fullpipe.papers.modern.dctcp import DCTCP
from fullpipe.papers.modern.ledbat import LEDBAT
from fullpipe.papers.modern.loss_zone import LOSS_ZONE
from fullpipe.papers.modern.prague import PRAGUE
from fullpipe.papers.modern.westwood import WESTWOOD

__all__ = ["ITEMS"]

ITEMS = (C4, LOSS_ZONE, WESTWOOD, DCTCP, PRAGUE, LEDBAT, COPA)
