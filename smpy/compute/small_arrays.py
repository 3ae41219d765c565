"""Small arrays in place of folded ones: a function that is asked with them tells types, errors and shapes.

Sizes keep their order, and 0 and 1 stay, so that what fits together still does; each size of a result is one of the
arguments'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from smpy.compute.modelled_results import arrays_in

__all__ = ["SmallSizes"]


class SmallSizes:
    """A small size for each size of some arrays.

    Parameters
    ----------
    arguments : iterable
        Of a call; arrays are looked for in lists and tuples, too.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        sizes = {size for array in arrays_in(arguments) for size in array.shape} | {0, 1}
        self._small: Final[Mapping[int, int]] = {size: at for at, size in enumerate(sorted(sizes))}
        self._real: Final = {at: size for size, at in self._small.items()}

    def cut(self, value: Any) -> Any:
        """An argument with small arrays in place of its own: ones that are far from singular."""
        if isinstance(value, np.ndarray):
            shape = tuple(self._small[size] for size in value.shape)
            if value.dtype.kind in "iu" and value.ndim == 1:  # pivots
                return np.arange(*shape, dtype=value.dtype)
            array = np.ones(shape, value.dtype, order="F")
            if array.ndim > 1:
                diagonal = np.arange(min(shape[-2:]))
                array[..., diagonal, diagonal] = 2 * max(shape)
            return array
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.cut, value))
        return value

    def real(self, size: int) -> int:
        """The size for which a small one stands."""
        return self._real[size]

    def shape(self, small: tuple[int, ...]) -> tuple[int, ...]:
        """The shape for which a small one stands."""
        return tuple(map(self.real, small))
