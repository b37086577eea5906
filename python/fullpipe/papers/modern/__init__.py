"""The algorithms of today, each held against what its own papers and RFCs say of it: a file for each item.

No paper prints these figures as a whole. The settings are those of the sources where they give any, else the smallest
in which the claim can be seen; each item's docstrings say which.
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
