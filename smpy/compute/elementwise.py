"""Operations on each element of folded arrays, and reductions: they take memory's time and touch nothing.

Numpy itself is asked for types, errors and the value of the one element: it computes with one element of each array.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from smpy.compute.charges import streaming
from smpy.compute.linear_algebra import GENERALIZED
from smpy.compute.modelled_results import Modelled, New, fits_into, one_of_each, refused, traffic_bytes

__all__ = ["broadcast", "of_ufunc", "reduced_shape", "reduction"]

Shape = tuple[int, ...]
_COMPUTED_KINDS: Final = "fc"


def of_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: tuple[Any, ...], named: Mapping[str, Any]
) -> Modelled:
    """A universal function, or one of its methods, on arrays some of which are folded.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The function.
    method : str
        As `numpy.ndarray.__array_ufunc__` gets it.
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
    inputs = tuple(np.asarray(it) if isinstance(it, (list, tuple)) else it for it in inputs)
    if method == "__call__":
        return _on_elements(ufunc, inputs, out, named)
    if method == "reduce":
        return _reduce(ufunc, inputs[0], out, named)
    if method == "accumulate":
        return _same_shape(ufunc.accumulate, inputs[0], out, named)
    if method == "outer":
        n_dimensions = np.ndim(inputs[1])
        first = inputs[0][(..., *(None,) * n_dimensions)] if n_dimensions else inputs[0]
        return _on_elements(ufunc, (first, inputs[1]), out, named)
    raise refused(f"numpy.{ufunc.__name__}.{method}")


def _on_elements(ufunc: np.ufunc, inputs: tuple[Any, ...], out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    cut = {name: one_of_each(value) for name, value in named.items()}
    cut["where"] = True
    if out:
        cut["out"] = tuple(None if array is None else _room(array) for array in out)
    with np.errstate(all="ignore"):
        found = ufunc(*map(one_of_each, inputs), **cut)
    found = found if isinstance(found, tuple) else (found,)
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
        for at, element in enumerate(found)
    ]
    flop = prod(shape) if any(np.asarray(element).dtype.kind in _COMPUTED_KINDS for element in found) else 0
    result = results[0] if len(results) == 1 else tuple(results)
    return Modelled(result, streaming(traffic_bytes(inputs, results), flop))


def _reduce(ufunc: np.ufunc, array: Any, out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    axis = named.get("axis", 0)
    kept = {name: value for name, value in named.items() if name != "where"}
    return _reduced(lambda one: ufunc.reduce(one, **kept), array, axis, named.get("keepdims", False), out)


def reduction(function: Any, n_passes: int = 1) -> Any:
    """The rule of a function like `numpy.sum`, which reads its array so many times."""

    def rule(a: Any, axis: Any = None, *args: Any, **named: Any) -> Modelled:
        out, keepdims = named.pop("out", None), named.get("keepdims", False)
        kept = {name: value for name, value in named.items() if name != "where"}
        return _reduced(
            lambda one: function(one, axis, *args, **kept), a, axis, keepdims, () if out is None else (out,), n_passes
        )

    return rule


def _reduced(reduce: Any, array: Any, axis: Any, keepdims: Any, out: tuple[Any, ...], n_passes: int = 1) -> Modelled:
    with np.errstate(all="ignore"):
        found = reduce(one_of_each(array))
    shape = reduced_shape(array.shape, axis, keepdims=keepdims is True)
    if out and out[0] is not None:
        if out[0].shape != shape:
            raise ValueError(f"output parameter for reduction has the wrong shape {out[0].shape}, not {shape}")
        result: Any = out[0]
    else:
        result = New(shape, np.asarray(found).reshape(1))
    flop = n_passes * array.size if array.dtype.kind in _COMPUTED_KINDS else 0
    return Modelled(result, streaming(n_passes * array.nbytes + traffic_bytes((), (result,)), flop))


def reduced_shape(shape: Shape, axis: Any, *, keepdims: bool) -> Shape:
    """The shape that is left when axes have been reduced."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {at % len(shape) for at in axes} if shape else set()
    if keepdims:
        return tuple(1 if at in gone else size for at, size in enumerate(shape))
    return tuple(size for at, size in enumerate(shape) if at not in gone)


def _same_shape(function: Any, array: Any, out: tuple[Any, ...], named: Mapping[str, Any]) -> Modelled:
    with np.errstate(all="ignore"):
        found = function(one_of_each(array), **named)
    result = out[0] if out and out[0] is not None else New(array.shape, found.reshape(1))
    return Modelled(result, streaming(traffic_bytes((array,), (result,)), array.size))


def broadcast(*arrays: Any) -> Shape:
    """The shape of what arrays make together.

    Raises
    ------
    ValueError
        If they do not fit, in numpy's words.
    """
    shapes = [np.shape(array) for array in arrays]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        told = " ".join(map(_spelled, filter(None, shapes)))
        raise ValueError(f"operands could not be broadcast together with shapes {told} ") from None


def _room(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.empty((1,) * array.ndim, array.dtype)


def _spelled(shape: Shape) -> str:
    """A shape in the words of numpy's errors."""
    return str(shape).replace(" ", "")
