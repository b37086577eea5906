"""`explain`: a scenario that gives the metrics of a measurement, or the statement that none does."""

from fullpipe.experiments.explain.explaining import explain
from fullpipe.experiments.explain.explanation import Explanation

__all__ = ["Explanation", "explain"]
