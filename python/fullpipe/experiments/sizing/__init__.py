"""Buffer sizing: the smallest buffer with which a link reaches a target, by simulation."""

from fullpipe.experiments.sizing.mix import Mix
from fullpipe.experiments.sizing.sizing import Sizing, size
from fullpipe.experiments.sizing.target import MEASURES, Target

__all__ = ["MEASURES", "Mix", "Sizing", "Target", "size"]
