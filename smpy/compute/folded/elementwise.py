"""Elementwise operations and reductions on folded arrays: they take the memory's time and touch nothing.

Numpy itself is asked for types, errors and the value of the one element: it computes with one element of each array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from math import prod
from typing import Any, Final

import numpy as np

from smpy.compute.folded.charges import streaming
from smpy.compute.folded.linear_algebra import GENERALIZED
from smpy.compute.folded.modelled_results import (
    Modelled,
    New,
    Rule,
    as_arrays,
    fits_into,
    into,
    one_of_each,
    one_pass,
    refused,
    room_like,
    traffic_bytes,
)

__all__ = ["broadcast", "of_ufunc", "reduced_shape", "reduction"]

Shape = tuple[int, ...]
_COMPUTED_KINDS: Final = "fc"


def of_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: tuple[Any, ...], named: Mapping[str, Any]
) -> Modelled:
    """Universal function, or one of its methods, on arrays some of which are folded.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The function.
    method : str
        Method of the ufunc, as `numpy.ndarray.__array_ufunc__` gets it.
    inputs, out, named
        Likewise. Arrays in `out` are not touched.

    Raises
    ------
    UsageError
        If it has no model.
    """
    if ufunc.signature is not None:
        rule = GENERALIZED.get(ufunc.__name__)
        if rule is None or method != "__call__":
            raise refused(f"numpy.{ufunc.__name__}")
        return rule(*inputs, out=out[0] if out else None, **named)
    if all(set(types) <= set("O->") for types in ufunc.types):
        raise refused(f"numpy.{ufunc.__name__}", " by a function of Python's")
    inputs, named = as_arrays(inputs), _with_mask(named)
    if method == "__call__":
        return _on_elements(ufunc, inputs, out, named)
    if method == "reduce":
        return _reduce(ufunc, inputs[0], out, named)
    if method == "accumulate":
        return _same_shape(ufunc.accumulate, inputs[0], out, named)
    if method == "outer":
        first, second = map(np.asanyarray, inputs)
        return _on_elements(ufunc, (first[(..., *(None,) * second.ndim)], second), out, named)
    raise refused(f"numpy.{ufunc.__name__}.{method}")


def _on_elements(ufunc: np.ufunc, inputs: tuple[Any, ...], out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    cut = _cut(named)
    if out:
        cut["out"] = tuple(None if array is None else room_like(array, (1,) * array.ndim) for array in out)
    with np.errstate(all="ignore"):
        elements = ufunc(*map(one_of_each, inputs), **cut)
    elements = elements if isinstance(elements, tuple) else (elements,)
    shape = broadcast(*inputs, named.get("where", True))
    for array in out:
        if array is not None and not fits_into(shape, array.shape):
            raise ValueError(
                f"non-broadcastable output operand with shape {_spelled(array.shape)} doesn't match the broadcast "
                f"shape {_spelled(shape)}"
            )
    shape = broadcast(*inputs, named.get("where", True), *(array for array in out if array is not None))
    results = [
        out[at] if out and out[at] is not None else New(shape, np.asarray(element).reshape(1))
        for at, element in enumerate(elements)
    ]
    flop = prod(shape) if any(np.asarray(element).dtype.kind in _COMPUTED_KINDS for element in elements) else 0
    result = results[0] if len(results) == 1 else tuple(results)
    return Modelled(result, one_pass(inputs, results, flop))


def _with_mask(named: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments with a mask converted from a list to an array."""
    return {**named, "where": as_arrays((named["where"],))[0]} if "where" in named else named


def _cut(named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments cut to one element, all of which are computed."""
    cut = {name: one_of_each(value) for name, value in named.items()}
    if isinstance(named.get("where"), np.ndarray):
        cut["where"] = np.ones_like(cut["where"], subok=False)
    return cut


def _reduce(ufunc: np.ufunc, array: Any, out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    return _reduced(ufunc.reduce, array, {"axis": 0, **named}, out[0] if out else None)


def reduction(function: Callable[..., Any], n_passes: int = 1) -> Rule:
    """Rule of a function like `numpy.sum`, which reads its array this many times."""
    parameters = signature(function)

    def rule(*args: Any, **named: Any) -> Modelled:
        bound = parameters.bind(*args, **named).arguments
        keywords = dict(_with_mask({name: value for name, value in bound.items() if value is not np._NoValue}))
        array, out = np.asanyarray(keywords.pop("a")), keywords.pop("out", None)
        return _reduced(function, array, keywords, out, n_passes)

    return rule


def _reduced(reduce: Callable[..., Any], array: Any, named: Mapping[str, Any], out: Any, n_passes: int = 1) -> Modelled:
    """A reduction; `named` are the arguments except the array and the output array."""
    cut = _cut(named)
    for name in ("where", "mean"):
        if not fits_into(shape := np.shape(named.get(name, 0)), array.shape):
            raise ValueError(f"non-broadcastable operand: {name} of shape {shape} for an array of {array.shape}")
    with np.errstate(all="ignore"):
        element = reduce(one_of_each(array), **cut)
    shape = reduced_shape(array.shape, named.get("axis"), keepdims=bool(named.get("keepdims", False)))
    new_array: Any = New(shape, np.asarray(element).reshape(1))
    if type(element) is int:  # numpy before 2.0 counts in numbers of Python
        new_array = element
    result = into(out, new_array, element, lambda room: reduce(one_of_each(array), out=room, **cut))
    flop = n_passes * array.size if array.dtype.kind in _COMPUTED_KINDS else 0
    moved_bytes = n_passes * array.nbytes + traffic_bytes((), (result,))
    return Modelled(result, streaming(moved_bytes, flop, (n_passes - 1) * array.nbytes))


def reduced_shape(shape: Shape, axis: Any, *, keepdims: bool) -> Shape:
    """Shape that remains after axes have been reduced."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {at % len(shape) for at in axes} if shape else set()
    if keepdims:
        return tuple(1 if at in gone else size for at, size in enumerate(shape))
    return tuple(size for at, size in enumerate(shape) if at not in gone)


def _same_shape(function: Any, array: Any, out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    with np.errstate(all="ignore"):
        element = function(one_of_each(array), **named)
    new_array = New(array.shape, element.reshape(1))
    result = into(
        out[0] if out else None, new_array, element, lambda room: function(one_of_each(array), out=room, **named)
    )
    return Modelled(result, one_pass((array,), (result,), array.size))


def broadcast(*arrays: Any) -> Shape:
    """Common shape of arrays.

    Raises
    ------
    ValueError
        If they do not fit, in numpy's words.
    """
    shapes = [np.shape(array) for array in arrays]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shape_texts = " ".join(map(_spelled, filter(None, shapes)))
        raise ValueError(f"operands could not be broadcast together with shapes {shape_texts} ") from None


def _spelled(shape: Shape) -> str:
    """A shape as numpy's errors write it."""
    return str(shape).replace(" ", "")
