"""The algorithms of today, each held against what its own papers and RFCs say of it: a file for each item.

No paper prints these figures as a whole. The settings are those of the sources where they give any, else the smallest
in which the claim can be seen; each item's docstrings say which.
"""

from __future__ import annotations

from fullpipe.papers.modern.copa import COPA
from fullpipe.papers.modern.dctcp import DCTCP
from fullpipe.papers.modern.ledbat import LEDBAT
from fullpipe.papers.modern.prague import PRAGUE

__all__ = ["ITEMS"]

ITEMS = (DCTCP, PRAGUE, LEDBAT, COPA)
