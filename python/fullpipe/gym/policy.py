"""Small neural networks as policies: dense layers whose sums have a fixed order.

NumPy's matrix products may add in any order. These sums add a layer's inputs one after the other, so that an exported
policy (`fullpipe.gym.export`) gives equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fullpipe._util.text import unknown
from fullpipe.errors import InputError

__all__ = ["ACTIVATIONS", "Policy"]

Array = npt.NDArray[np.float64]

ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "relu": lambda x: np.maximum(x, 0.0),
    "clip": lambda x: np.minimum(np.maximum(x, -1.0), 1.0),
    "tanh": np.tanh,
}
"""Activations by name. All but tanh use basic operations of IEEE 754 alone, with equal results on every machine."""


@dataclass(frozen=True)
class Policy:
    """Dense layers, with an activation after each but the last. The action is the last layer's number, in [-1, 1].

    >>> import numpy as np
    >>> policy = Policy([(np.array([[0.5, 0.0]]), np.array([0.25]))])
    >>> policy(np.array([1.0, 9.0]))
    array([0.75])

    Attributes:
        layers: Weights, shape (outputs, inputs), and biases, shape (outputs,), of each layer. For several policies at a
            time, both have one more dimension in front.
        activation: A name of `ACTIVATIONS`.

    Raises:
        InputError: The activation is unknown, or the shapes do not fit together.
    """

    layers: Sequence[tuple[Array, Array]]
    activation: str = "softsign"

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise InputError(unknown("activation", self.activation, ACTIVATIONS))
        sizes = [weights.shape[-2:] for weights, _ in self.layers]
        ends = [outputs for outputs, _ in sizes]
        fits = all(weights.shape[:-1] == biases.shape for weights, biases in self.layers)
        if not sizes or not fits or ends[-1] != 1 or any(a != b for a, (_, b) in zip(ends, sizes[1:], strict=False)):
            shapes = ", ".join(str(weights.shape) for weights, _ in self.layers)
            raise InputError(
                f"the layers of a policy must fit together and end with one number, got {shapes or 'none'}"
            )

    @classmethod
    def of(cls, numbers: npt.ArrayLike, sizes: Sequence[int], activation: str = "softsign") -> Policy:
        """Policy of a flat vector: for each layer its weights, row by row, and its biases.

        Args:
            numbers: Vector of `count` numbers, or a matrix with a policy in each row.
            sizes: Inputs, sizes of the hidden layers, and 1.
            activation: A name of `ACTIVATIONS`.

        Raises:
            InputError: The vector has another length.
        """
        given = np.asarray(numbers, np.float64)
        if given.shape[-1] != cls.count(sizes):
            raise InputError(f"a policy of sizes {tuple(sizes)} has {cls.count(sizes)} numbers, got {given.shape[-1]}")
        layers, at = [], 0
        for inputs, outputs in pairwise(sizes):
            weights = given[..., at : at + inputs * outputs].reshape(*given.shape[:-1], outputs, inputs)
            at += inputs * outputs
            layers.append((weights, given[..., at : at + outputs]))
            at += outputs
        return cls(layers, activation)

    @staticmethod
    def count(sizes: Sequence[int]) -> int:
        """Numbers of a policy with layers of these sizes."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))

    @property
    def inputs(self) -> int:
        """Length of an observation."""
        return int(self.layers[0][0].shape[-1])

    def __call__(self, observations: npt.ArrayLike) -> Array:
        """Actions of observations, shape (..., inputs), as (..., 1).

        For several policies, the observations have shape (policies, n, inputs).
        """
        values = np.asarray(observations, np.float64)
        activate = ACTIVATIONS[self.activation]
        for place, (weights, biases) in enumerate(self.layers):
            several = weights.ndim == 3
            total: Any = biases[:, None, :] if several else biases
            for i in range(weights.shape[-1]):
                column = weights[:, None, :, i] if several else weights[:, i]
                total = total + values[..., i, None] * column
            values = activate(total) if place < len(self.layers) - 1 else ACTIVATIONS["clip"](total)
        return values
