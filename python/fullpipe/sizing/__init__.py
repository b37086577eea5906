"""Buffer sizing: the smallest buffer with which a link reaches a utilization, by simulation."""

from fullpipe.sizing.mix import Mix
from fullpipe.sizing.size import Sizing, size

__all__ = ["Mix", "Sizing", "size"]
