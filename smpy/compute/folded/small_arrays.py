"""Small arrays in place of folded ones: a function called with them reveals types, errors and shapes.

Sizes keep their order, and 0 and 1 stay, so that shapes that fit together still do; each size of a result is one of the
arguments'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from smpy.compute.folded.charges import is_folded
from smpy.compute.folded.modelled_results import arrays_in

__all__ = ["SmallSizes", "unmoving_pivots"]


class SmallSizes:
    """Maps each size of some arrays to a small size.

    Parameters
    ----------
    arguments : iterable
        Arguments of a call; arrays are looked for in lists and tuples, too.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        sizes = {size for array in arrays_in(arguments) for size in array.shape} | {0, 1}
        self._small: Final[Mapping[int, int]] = {size: at for at, size in enumerate(sorted(sizes))}
        self._real: Final = {at: size for size, at in self._small.items()}

    def cut(self, value: Any) -> Any:
        """Argument with small arrays in place of its own: ones that are far from singular."""
        if isinstance(value, np.ndarray):
            if not (value.ndim or is_folded(value)):  # a flag, which scipy 1.18 returns as an array
                return value
            if value.dtype.kind in "iu" and value.ndim == 1:
                return self._pivots(value)
            shape = self._cut_shape(value)
            array = np.ones(shape, value.dtype, order="F")
            if array.ndim > 1:
                diagonal = np.arange(min(shape[-2:]))
                array[..., diagonal, diagonal] = 2 * max(shape)
            return array
        if isinstance(value, (list, tuple)):
            if _are_factors(value):
                return type(value)((self.cut(value[0]), self._pivots(value[1])))
            return type(value)(map(self.cut, value))
        return value

    def _cut_shape(self, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
        return tuple(self._small[size] for size in array.shape)

    def _pivots(self, pivots: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return unmoving_pivots(self._cut_shape(pivots), pivots.dtype)

    def real(self, size: int) -> int:
        """Size that a small one stands for."""
        return self._real[size]

    def shape(self, small: tuple[int, ...]) -> tuple[int, ...]:
        """Shape that a small one stands for."""
        return tuple(map(self.real, small))


def unmoving_pivots(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Pivots that exchange no rows: of a matrix, or of each matrix of a stack."""
    return np.broadcast_to(np.arange(shape[-1], dtype=dtype), shape).copy()


def _are_factors(pair: Sequence[Any]) -> bool:
    """Whether a pair has the factors and the pivots of one matrix or of a stack."""
    if len(pair) != 2 or not all(isinstance(part, np.ndarray) for part in pair):
        return False
    factors, pivots = pair
    return pivots.dtype.kind in "iu" and 0 < pivots.ndim == factors.ndim - 1
