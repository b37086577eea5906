"""Report cards after RFC 9743 (BCP 133): what a new congestion control does beside what is standardized."""

from fullpipe.experiments.evaluate.card import Card
from fullpipe.experiments.evaluate.running import PROFILES, Plan, evaluate, plan
from fullpipe.experiments.evaluate.statement import Statement

__all__ = ["PROFILES", "Card", "Plan", "Statement", "evaluate", "plan"]
