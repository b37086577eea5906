"""Results of papers: runs, measured values, checks, and the report."""

from fullpipe.reproduce.check import Check, Shape, Value
from fullpipe.reproduce.item import Item
from fullpipe.reproduce.record import Outcome, reproduce, reproduce_all
from fullpipe.reproduce.rows import COLUMNS, Row, Rows

__all__ = ["COLUMNS", "Check", "Item", "Outcome", "Row", "Rows", "Shape", "Value", "reproduce", "reproduce_all"]
