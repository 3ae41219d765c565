"""Parts of folded arrays that are copies: indexing by arrays, and assignments to parts.

Shapes and errors are numpy's own: it indexes an array of the same shape whose elements are empty.
"""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from smpy.compute.folded.charges import copying, is_folded, streaming
from smpy.compute.folded.modelled_results import (
    Modelled,
    New,
    arrays_in,
    fits_into,
    one_of_each,
    refused,
    traffic_bytes,
)

__all__ = ["getitem", "is_of_fields", "setitem"]

Shape = tuple[int, ...]
_RANGES_ARE_WARNINGS = np.lib.NumpyVersion(np.__version__) < "2.0.0"
"""Numpy before 2.0 only warns of an index out of range when the result has no elements."""


def getitem(array: Any, key: Any) -> Modelled:
    """Rule of ``array[key]``, if it is a copy."""
    keys = _keys(key)
    if any(_is_folded_mask(part) for part in keys):
        raise refused("numpy.ndarray.__getitem__", " with a mask that is folded, too: how much it takes is not known")
    part = New(_shape(array, keys), one_of_each(array).reshape(1))
    return Modelled(part, streaming(2 * part.nbytes + traffic_bytes(keys, ())))


def setitem(array: Any, key: Any, value: Any) -> Modelled:
    """Rule of ``array[key] = value``."""
    keys, values = _keys(key), np.asanyarray(value)
    index_bytes = traffic_bytes(keys, ())
    if any(_is_folded_mask(part) for part in keys):
        if len(keys) > 1 or values.ndim:
            raise refused("numpy.ndarray.__setitem__", " with a mask that is folded, too, but for a number")
        if keys[0].shape != array.shape[: keys[0].ndim]:
            raise IndexError(f"boolean index did not match: it has the shape {keys[0].shape}, the array {array.shape}")
        return Modelled(None, streaming(array.nbytes + index_bytes))
    shape = array.shape if is_of_fields(key) else _shape(array, keys)
    if not fits_into(values.shape, shape):
        raise ValueError(f"could not broadcast input array from shape {values.shape} into shape {shape}")
    if not shape:
        return Modelled(None)
    part_bytes = prod(shape) * (array[key] if is_of_fields(key) else array).itemsize
    if values.dtype == array.dtype and values.ndim and not index_bytes:
        return Modelled(None, copying(part_bytes))
    return Modelled(None, streaming(part_bytes + (values.nbytes if values.ndim else 0) + index_bytes))


def is_of_fields(key: Any) -> bool:
    """Whether the key names fields of a record, one or several."""
    return isinstance(key, str) or (isinstance(key, list) and any(isinstance(part, str) for part in key[:1]))


def _keys(key: Any) -> tuple[Any, ...]:
    keys = key if isinstance(key, tuple) else (key,)
    return tuple(_indices(part) if isinstance(part, (list, tuple)) else part for part in keys)


def _indices(part: Any) -> Any:
    """A list as the index array that numpy makes of it; an empty one has integers."""
    array = np.asanyarray(part)
    return array if array.size else array.astype(np.intp)


def _is_folded_mask(part: Any) -> bool:
    return is_folded(part) and part.dtype.kind == "b"


def _shape(array: Any, keys: tuple[Any, ...]) -> Shape:
    """Shape of a part."""
    empty = np.empty((*array.shape, 0), np.uint8)
    rest = (slice(None),) if any(part is ... for part in keys) else (..., slice(None))
    if not any(map(is_folded, arrays_in(keys))):
        return _part_shape(empty, keys + rest)
    # Indices that are not there are all in range. Where their axes end up shows in those that change with their length.
    keys = tuple(
        index
        for part in keys
        for index in (part.nonzero() if isinstance(part, np.ndarray) and part.dtype.kind == "b" else (part,))
    )
    try:
        common = np.broadcast_shapes(*(part.shape for part in keys if isinstance(part, np.ndarray)))
    except ValueError as wrong:
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together: {wrong}") from None
    one, two = (_part_shape(empty, _with_indices_of((length,) * len(common), keys) + rest) for length in (1, 2))
    axes = iter(common)
    return tuple(size if size == other else next(axes) for size, other in zip(one, two, strict=True))


def _part_shape(empty: np.ndarray[Any, Any], key: tuple[Any, ...]) -> Shape:
    if not _RANGES_ARE_WARNINGS:
        return tuple(empty[key].shape[:-1])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Out of bound index", DeprecationWarning)
        try:
            return tuple(empty[key].shape[:-1])
        except DeprecationWarning as warning:
            raise IndexError(str(warning).partition(".")[0]) from None


def _with_indices_of(shape: Shape, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    for part in keys:
        if isinstance(part, np.ndarray) and part.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return tuple(np.zeros(shape, np.intp) if isinstance(part, np.ndarray) else part for part in keys)
