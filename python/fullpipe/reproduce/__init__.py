"""Items of papers: run, judged, kept and reported."""

from fullpipe.reproduce.check import Check, Shape, Value
from fullpipe.reproduce.item import Item
from fullpipe.reproduce.record import Outcome, reproduce, reproduce_all
from fullpipe.reproduce.rows import Row, Rows

__all__ = ["Check", "Item", "Outcome", "Row", "Rows", "Shape", "Value", "reproduce", "reproduce_all"]
