"""Formulas of the measurements of an interval: features, rewards, and actions.

A formula is text in Python's syntax. NumPy evaluates it for arrays, the extension module for a row of numbers
(``crates/py/src/formula.rs``), and an exported policy as Python (`fullpipe.gym.exported`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FUNCTIONS", "Formula", "Raw", "Values", "Words"]

Values = npt.NDArray[np.float64]

Raw = Mapping[str, Values]
"""Measurements of an interval by name, a value for each flow; `fullpipe.gym.core` lists them."""

Words = list[tuple[str, float]]
"""Postfix notation: functions, measurements, and ``("number", n)``."""


@dataclass(frozen=True)
class Formula:
    """An expression of the measurements of an interval.

    Attributes:
        text: The expression, with the functions of `FUNCTIONS`.
    """

    text: str

    def __call__(self, raw: Raw) -> Values:
        """Values for the measurements of an interval."""
        return np.asarray(eval(_compiled(self.text), _SPACE, raw), np.float64)

    def words(self) -> Words:
        """Postfix notation."""
        return _words(ast.parse(self.text, mode="eval").body)


def over(part: Values, whole: Values, otherwise: float) -> Values:
    """Quotient, or another value where the divisor is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)


FUNCTIONS: dict[str, object] = {
    "exp": np.exp,
    "log10": np.log10,
    "log2": np.log2,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "over": over,
    "where": np.where,
}
"""Functions of the formulas."""

_SPACE = dict(FUNCTIONS)
"""Globals of the formulas, to which Python adds its own names."""

_OPERATORS: Mapping[type[ast.AST], tuple[str, bool]] = {
    ast.Add: ("add", False),
    ast.Sub: ("subtract", False),
    ast.Mult: ("multiply", False),
    ast.Div: ("divide", False),
    ast.Pow: ("power", False),
    ast.Lt: ("less", False),
    ast.LtE: ("less_equal", False),
    ast.Gt: ("less", True),
    ast.GtE: ("less_equal", True),
    ast.Eq: ("equal", False),
}
"""Word of each operator, and whether its operands change places."""


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<formula>", "eval")


def _words(node: ast.expr) -> Words:
    match node:
        case ast.Constant(value=int() | float() as number):
            return [("number", float(number))]
        case ast.Name(id=name):
            return [(name, 0.0)]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return [*_words(operand), ("negative", 0.0)]
        case ast.BinOp(left=left, op=operator, right=right):
            return _both(left, operator, right)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _both(left, operator, right)
        case ast.Call(func=ast.Name(id=name), args=operands):
            return [*(word for operand in operands for word in _words(operand)), (name, 0.0)]
    raise ValueError(f"a formula cannot have {ast.unparse(node)}")


def _both(left: ast.expr, operator: Any, right: ast.expr) -> Words:
    word, exchanged = _OPERATORS[type(operator)]
    first, second = (right, left) if exchanged else (left, right)
    return [*_words(first), *_words(second), (word, 0.0)]
