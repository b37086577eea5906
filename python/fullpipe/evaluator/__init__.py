"""Scores of written controllers, for people and for programs that write code.

>>> from fullpipe.evaluator import evaluate  # doctest: +SKIP
>>> evaluate("mine.py", secret=b"...")["combined_score"]  # doctest: +SKIP
"""

from fullpipe.evaluator.score import evaluate, evaluate_stage1, evaluate_stage2

__all__ = ["evaluate", "evaluate_stage1", "evaluate_stage2"]
