"""Buffer sizing: the smallest buffer with which a link reaches a utilization, by simulation."""

from fullpipe.study.size.mix import Mix
from fullpipe.study.size.sizing import Sizing, size
from fullpipe.study.size.target import MEASURES, Target

__all__ = ["MEASURES", "Mix", "Sizing", "Target", "size"]
