"""`advise`: the queue that suits the traffic of a link, with its cost and certainty."""

from fullpipe.experiments.advise.advice import Advice
from fullpipe.experiments.advise.advising import advise
from fullpipe.experiments.advise.mixes import mix

__all__ = ["Advice", "advise", "mix"]
