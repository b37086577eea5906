"""`search`: the network on which an algorithm does worst."""

from fullpipe.experiments.search.found import Search
from fullpipe.experiments.search.searching import search

__all__ = ["Search", "search"]
