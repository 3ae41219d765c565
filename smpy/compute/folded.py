"""Folded arrays: they have a shape and a type, and stand for memory whose content does not matter.

All elements are one element: the strides are 0. Messages of folded arrays take their time and carry nothing, so
numbers in a run that has folded anything are not results; its record says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smpy.engine.running import current, is_running

__all__ = ["Folded", "folded"]


class Folded(np.ndarray):
    """An array of one element for all; made by `folded`, and by taking parts of one.

    What computes with it gets ordinary arrays of meaningless numbers, as large as it asks for.
    """

    @property
    def __smpy_folded__(self) -> bool:
        return self.size > 0 and not any(self.strides)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **named: Any
    ) -> Any:
        """Compute with ordinary arrays, so that what has memory of its own is never taken for folded.

        Results that go into folded arrays alone are not computed.
        """
        if out and all(_is_folded(array) for array in out):
            return out[0] if len(out) == 1 else out
        if out:
            named["out"] = tuple(_plain(array) for array in out)
        return getattr(ufunc, method)(*(_plain(array) for array in inputs), **named)


def _is_folded(array: Any) -> bool:
    return isinstance(array, Folded) and array.__smpy_folded__


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, Folded) else array


def folded(shape: int | Sequence[int], dtype: DTypeLike = float) -> NDArray[Any]:
    """An array without backing: it can be sent and received as a buffer of its size, and holds none of it.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the array.
    dtype : data-type, optional
        Type of its elements.

    Returns
    -------
    Folded
        An array whose content is meaningless.

    Examples
    --------
    >>> matrix = folded((100_000, 100_000))
    >>> matrix.nbytes
    80000000000
    >>> matrix[:, 3].shape
    (100000,)
    """
    if is_running():
        current().has_folded = True
    return without_backing((shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype))


def without_backing(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Folded:
    """A folded array as the result of an operation on others."""
    return np.ndarray.__new__(Folded, shape, dtype, _element(dtype), strides=(0,) * len(shape))


@cache
def _element(dtype: np.dtype[Any]) -> NDArray[Any]:
    """The one element of all folded arrays of a type: what it holds has no meaning."""
    return np.zeros(1, dtype)
