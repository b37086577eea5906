"""Buffer sizing: the smallest buffer with which a link reaches a utilization, by simulation."""

from fullpipe.study.size.mix import Mix
from fullpipe.study.size.sizing import Sizing, size

__all__ = ["Mix", "Sizing", "size"]
