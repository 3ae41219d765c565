"""What makes arrays of arrays: conversions of folded arrays stay folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from smpy.compute.array_functions import COPIES
from smpy.compute.modelled_results import Modelled, Rule

__all__ = ["CONVERSIONS", "REFUSED"]


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
    if isinstance(object, (list, tuple)):
        object = np.concatenate([np.asanyarray(part)[None] for part in object])  # noqa: A001
        copy = None
    wanted = object.dtype if dtype is None else np.dtype(dtype)
    if ndmin > object.ndim:
        object = object.reshape((1,) * (ndmin - object.ndim) + object.shape)  # noqa: A001
    if wanted != object.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return COPIES["astype"](object, wanted)
    return COPIES["copy"](object) if copy else Modelled(object)


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Modelled:
    return _array(a, dtype, copy=copy)


def _contiguous(a: Any, dtype: Any = None, *, like: Any = None) -> Modelled:
    return _array(a, dtype, ndmin=1)


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Modelled:
    asked = {str(one).upper()[:1] for one in requirements or ()}
    return _array(a, dtype, copy=bool(asked & {"C", "F"}) or None)


CONVERSIONS: Final[Mapping[str, Rule]] = {
    "array": _array,
    "asanyarray": _asarray,
    "asarray": _asarray,
    "ascontiguousarray": _contiguous,
    "asfortranarray": _contiguous,
    "require": _require,
}
"""Rules of numpy's functions, by name; contiguous arrays are copies, as folded ones do not say how they lie."""
REFUSED: Final = ("asarray_chkfinite", "asmatrix", "bmat", "lib.stride_tricks.as_strided", "poly")
"""Functions that look at the memory of an array."""
