"""Scores of written controllers, for people and for programs that write code.

>>> from fullpipe.evaluator import evaluate  # doctest: +SKIP
>>> evaluate("mine.py", secret=b"...")["combined_score"]  # doctest: +SKIP
"""

from fullpipe.evaluator.score import Score, evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3
from fullpipe.evaluator.wrapper import wrapper

__all__ = ["Score", "evaluate", "evaluate_stage1", "evaluate_stage2", "evaluate_stage3", "wrapper"]
