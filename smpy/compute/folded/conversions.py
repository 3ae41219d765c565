"""Functions that create arrays from arrays: conversions of folded arrays stay folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any, Final

import numpy as np

from smpy.compute.folded.array_functions import COPIES
from smpy.compute.folded.modelled_results import Modelled, New, Rule, arrays_in, refused

__all__ = ["CONVERSIONS", "REFUSED", "has_one_of"]

_NUMBERS: Final = (bool, int, float, complex, str, bytes, np.generic)
_LISTS: Final = frozenset({list, tuple})


def has_one_of(kind: type, items: Sequence[Any]) -> bool:
    """Whether an array of a kind is in a list, or in nested lists.

    A list that begins with a number has numbers, and so have those beside it: numpy refuses others.
    """
    while items and not isinstance(items[0], _NUMBERS):
        kinds = set(map(type, items))
        if kind in kinds:
            return True
        lists = items if kinds <= _LISTS else [part for part in items if type(part) in _LISTS]
        if not lists or not lists[0] or isinstance(lists[0][0], _NUMBERS):
            return False
        items = list(chain.from_iterable(lists))
    return False


def _array(
    object: Any,  # noqa: A002  # numpy's name
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Modelled:
    if isinstance(copy, Enum):  # numpy's `_CopyMode`, one of which has no truth value
        copy = None if copy.name == "IF_NEEDED" else copy.value
    if isinstance(object, (list, tuple)):
        _refuse_if_unwanted(copy)
        return _joined(object, dtype, ndmin)
    target_dtype = object.dtype if dtype is None else np.dtype(dtype)
    if ndmin > object.ndim:
        object = object.reshape((1,) * (ndmin - object.ndim) + object.shape)  # noqa: A001
    if target_dtype != object.dtype:
        _refuse_if_unwanted(copy)
        return COPIES["astype"](object, target_dtype)
    return COPIES["copy"](object) if copy else Modelled(object)


def _refuse_if_unwanted(copy: Any) -> None:
    """Before numpy 2.0 `copy=False` was only a request."""
    if copy is False and np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        raise ValueError("Unable to avoid copy while creating an array as requested.")


def _joined(parts: Sequence[Any], dtype: Any, ndmin: int) -> Modelled:
    """Array of a list's elements, nested lists included."""
    if dtype is not None and np.dtype(dtype).hasobject:
        raise refused("numpy.array", " as an object in a list")
    shape, arrays = _shape_and_arrays(parts)
    joined = COPIES["concatenate"]([array.ravel() for array in arrays], dtype=dtype, casting="unsafe")
    whole = (1,) * (ndmin - len(shape)) + shape
    return Modelled(New(whole, joined.result.element, is_array=True), joined.charges)


def _shape_and_arrays(part: Any) -> tuple[tuple[int, ...], list[Any]]:
    if not isinstance(part, (list, tuple)) or not any(True for _ in arrays_in(part)):
        array = np.asanyarray(part)
        return array.shape, [array]
    parts = [_shape_and_arrays(one) for one in part]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ValueError("setting an array element with a sequence: the parts of a list have different shapes")
    return (len(part), *shapes.pop()), [array for _, arrays in parts for array in arrays]


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Modelled:
    return _array(a, dtype, copy=copy)


def _contiguous(a: Any, dtype: Any = None, *, like: Any = None) -> Modelled:
    return _array(a, dtype, ndmin=1)


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Modelled:
    letters = {str(one).upper()[:1] for one in requirements or ()}
    return _array(a, dtype, copy=bool(letters & {"C", "F"}) or None)


CONVERSIONS: Final[Mapping[str, Rule]] = {
    "array": _array,
    "asanyarray": _asarray,
    "asarray": _asarray,
    "ascontiguousarray": _contiguous,
    "asfortranarray": _contiguous,
    "require": _require,
}
"""Rules of numpy's functions, by name; contiguous arrays are copies, as folded ones do not show their layout."""
_BEFORE_2: Final = tuple(name for name in ("fastCopyAndTranspose", "mat") if hasattr(np, name))
REFUSED: Final = ("asarray_chkfinite", "asmatrix", "bmat", "lib.stride_tricks.as_strided", "poly", *_BEFORE_2)
"""Functions that inspect the memory of an array."""
