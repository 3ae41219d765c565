"""Arguments of a BLAS routine, taken and checked as f2py's wrappers do."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

__all__ = ["BadArgument", "BlasArguments", "as_rank", "check", "fixed"]

Shape = tuple[int, ...]


class BadArgument(Exception):
    """Invalid argument of a call: f2py's wrappers raise their own `error` for it."""


class BlasArguments:
    """Arguments of one call, by name; options that were not passed have their defaults."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments: Final = arguments

    def has(self, name: str) -> bool:
        """Whether an array was passed."""
        return self._arguments.get(name) is not None

    def number(self, name: str, default: int = 0) -> int:
        """Value of an integer argument."""
        value = self._arguments.get(name)
        return default if value is None else int(value)

    def flag(self, name: str) -> bool:
        """Whether a 0-or-1 option is 1."""
        value = self.number(name)
        check(value in (0, 1), f"{name}==0||{name}==1")
        return value == 1

    def transposed(self, name: str) -> bool:
        """Whether an operand is transposed (1), or conjugated and transposed (2)."""
        value = self.number(name)
        check(0 <= value <= 2, f"{name}>=0 && {name} <=2")
        return value != 0

    def length(self, name: str) -> int:
        """Length of a vector."""
        return as_rank(self.shape(name), 1)[0]

    def matrix(self, name: str) -> tuple[int, int]:
        """Shape of a matrix."""
        n_rows, n_columns = as_rank(self.shape(name), 2)
        return n_rows, n_columns

    def shape(self, name: str) -> Shape:
        """Shape of an array argument."""
        return tuple(np.shape(self._arguments[name]))


def check(holds: bool, condition: str) -> None:
    """Refuse a call whose arguments do not match each other."""
    if not holds:
        raise BadArgument(f"({condition}) failed")


def as_rank(shape: Shape, rank: int) -> Shape:
    """Shape to which f2py converts an array of another rank: axes of 1 are added or removed, the last ones merged."""
    if len(shape) <= rank:
        return shape + (1,) * (rank - len(shape))
    left = list(shape)
    extents = []
    for _ in range(rank):
        while left and left[0] == 1:
            left.pop(0)
        extents.append(left.pop(0) if left else 1)
    extents[-1] *= prod(left)
    return tuple(extents)


def fixed(name: str, shape: Shape, expected: Shape) -> None:
    """Refuse an array of another shape; an axis of 1 matches one of 0."""
    for axis, (has, needs) in enumerate(zip(shape, expected, strict=True)):
        if has != max(needs, 1):
            raise ValueError(
                f"failed to create array from `{name}` -- {axis}-th dimension must be fixed to {needs} but got {has}"
            )
