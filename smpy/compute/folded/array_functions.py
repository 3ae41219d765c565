"""Numpy functions on folded arrays: some take time, some return views or facts, the others are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from math import prod
from operator import attrgetter, index
from typing import Any, Final

import numpy as np

from smpy.compute.folded.charges import copying, is_folded, streaming
from smpy.compute.folded.contractions import einsum
from smpy.compute.folded.elementwise import broadcast, reduction
from smpy.compute.folded.fourier import FOURIER
from smpy.compute.folded.linear_algebra import LINEAR_ALGEBRA
from smpy.compute.folded.modelled_results import (
    Modelled,
    New,
    Rule,
    arrays_in,
    as_arrays,
    as_shape,
    fits_into,
    into,
    one_of_each,
    one_pass,
    refused,
    room_like,
)

__all__ = ["AS_THEY_ARE", "COMPOSED", "COPIES", "ELEMENTWISE", "REDUCTIONS", "RULES", "VIEWS", "numpy_function"]

AS_THEY_ARE: Final = [
    "reshape",
    "transpose",
    "permute_dims",
    "matrix_transpose",
    "linalg.matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "squeeze",
    "expand_dims",
    "diagonal",
    "linalg.diagonal",
    "split",
    "array_split",
    "hsplit",
    "vsplit",
    "dsplit",
    "unstack",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "flip",
    "fliplr",
    "flipud",
    "rot90",
    "real",
    "imag",
    "shape",
    "ndim",
    "size",
    "iscomplexobj",
    "isrealobj",
    "result_type",
    "common_type",
    "can_cast",
    "einsum_path",
    "min_scalar_type",
    "shares_memory",
    "may_share_memory",
]
"""Views and queries of shapes and types: they take no time."""
COMPOSED: Final = [
    "allclose",
    "append",
    "average",
    "diff",
    "dstack",
    "gradient",
    "kron",
    "linalg.matrix_power",
    "linalg.multi_dot",
    "meshgrid",
    "trapezoid",
]
"""Functions that numpy builds from modelled ones: each of those takes its time."""
ELEMENTWISE: Final = [
    "where",
    "clip",
    "round",
    "around",
    "fix",
    "nan_to_num",
    "angle",
    "sinc",
    "isclose",
    "real_if_close",
]
"""Elementwise functions that are no universal functions."""
REDUCTIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        [
            "sum",
            "prod",
            "max",
            "min",
            "amax",
            "amin",
            "any",
            "all",
            "mean",
            "argmax",
            "argmin",
            "count_nonzero",
        ],
        1,
    ),
    **dict.fromkeys(
        [
            "nansum",
            "nanprod",
            "nanmax",
            "nanmin",
            "nanmean",
        ],
        1,
    ),
    **dict.fromkeys(
        [
            "ptp",
            "std",
            "var",
            "nanstd",
            "nanvar",
        ],
        2,
    ),
}
"""Functions that reduce axes, and the number of times they read their array."""
_LIKE: Final = {
    "empty_like": ("prototype", "dtype", "order", "subok", "shape"),
    "zeros_like": ("a", "dtype", "order", "subok", "shape"),
    "ones_like": ("a", "dtype", "order", "subok", "shape"),
    "full_like": ("a", "fill_value", "dtype", "order", "subok", "shape"),
}
"""Functions that create an array like another, with their parameters, which compiled functions do not have."""


def _elementwise(function: Callable[..., Any]) -> Rule:
    parameters = signature(function)

    def rule(*args: Any, **named: Any) -> Modelled:
        bound = parameters.bind(*args, **named)
        out = bound.arguments.pop("out", None)
        operands = as_arrays(bound.args) if function in (np.clip, np.isclose) else bound.args
        return _on_elements(function, out, *operands, **bound.kwargs)

    return rule


def _on_elements(function: Callable[..., Any], out: Any, /, *args: Any, **named: Any) -> Modelled:
    one = partial(
        function, *map(one_of_each, args), **{name: one_of_each(argument) for name, argument in named.items()}
    )
    with np.errstate(all="ignore"):
        element = one()
    arrays = list(arrays_in((*args, *named.values())))
    shape = broadcast(*arrays)
    new_array = New(shape, np.asarray(element).reshape(1), isinstance(element, np.ndarray))
    result = into(
        out, new_array, element, lambda room: one(out=room), is_broadcast=function not in (np.round, np.around)
    )
    return Modelled(result, one_pass(arrays, (result,), prod(shape)))


def _where(condition: Any, *values: Any) -> Modelled:
    if not values:
        raise refused("numpy.where", " without values to choose from")
    return _on_elements(np.where, None, *as_arrays((condition, *values)))


def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Modelled:
    array = np.asanyarray(x)
    nan, posinf, neginf = as_arrays((nan, posinf, neginf))
    np.nan_to_num(*map(one_of_each, (array, True, nan, posinf, neginf)))  # refuses wrong types
    for value in (nan, posinf, neginf):
        if array.dtype.kind in "fc" and not fits_into(np.shape(value), array.shape):
            raise ValueError(f"could not broadcast values of shape {np.shape(value)} into shape {array.shape}")
    return _on_elements(np.nan_to_num, None, array)


def _like(function: Callable[..., Any], parameters: Sequence[str], *, is_written: bool) -> Rule:
    def rule(*args: Any, **named: Any) -> Modelled:
        arguments = dict(zip(parameters, args, strict=False)) | named
        a, shape = arguments.pop(parameters[0]), arguments.pop("shape", None)
        if "fill_value" in arguments:
            (arguments["fill_value"],) = as_arrays((arguments["fill_value"],))
        element = function(one_of_each(a), **{name: one_of_each(argument) for name, argument in arguments.items()})
        result_shape = np.shape(a) if shape is None else as_shape(shape)
        for value in arrays_in(arguments.values()):
            if not fits_into(value.shape, result_shape):
                raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {result_shape}")
        new_array = New(result_shape, element.reshape(-1)[:1], is_array=True)
        return Modelled(new_array, streaming(new_array.nbytes) if is_written else ())

    return rule


def _cumulative(function: Callable[..., Any]) -> Rule:
    def rule(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Modelled:
        with np.errstate(all="ignore"):
            element = function(one_of_each(a), axis, dtype)
        new_array = New((a.size,) if axis is None else a.shape or (1,), element.reshape(1))
        result = into(out, new_array, element, lambda room: function(one_of_each(a), axis, dtype, room))
        return Modelled(result, one_pass((a,), (result,), a.size))

    return rule


# ---- copies ----


def _copied(shape: Sequence[int], element: Any) -> Modelled:
    copy = New(tuple(shape), np.asarray(element).reshape(-1)[:1], is_array=True)
    return Modelled(copy, copying(copy.nbytes))


def _copy(a: Any, order: Any = "K", subok: bool = False) -> Modelled:
    np.copy(np.empty(0), order)  # refuses unknown orders
    return _copied(a.shape, one_of_each(a))


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Modelled:
    if not copy and x.dtype == np.dtype(dtype):
        return Modelled(x)
    converted = New(x.shape, one_of_each(x).astype(dtype).reshape(1), is_array=True)
    return Modelled(converted, streaming(x.nbytes + converted.nbytes))


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Modelled:
    src, where = as_arrays((src, where))
    mask = np.ones((1,) * np.ndim(where), np.asarray(where).dtype)
    np.copyto(room_like(dst, (1,) * dst.ndim), one_of_each(src), casting, mask)  # refuses wrong types
    if not all(fits_into(np.shape(operand), dst.shape) for operand in (src, where)):
        raise ValueError(f"could not broadcast input array from shape {np.shape(src)} into shape {dst.shape}")
    return Modelled(None, copying(dst.nbytes))


def _concatenate(arrays: Sequence[Any], axis: Any = 0, out: Any = None, **named: Any) -> Modelled:
    arrays = [np.asanyarray(array) for array in arrays]
    ones = [one_of_each(array) for array in arrays]
    element = np.concatenate(ones, axis, **named)  # refuses wrong axes and numbers
    if axis is None:
        shape = [sum(array.size for array in arrays)]
    else:
        at = axis % arrays[0].ndim
        shape = list(arrays[0].shape)
        for number, array in enumerate(arrays[1:], 1):
            for dimension, (first, other) in enumerate(zip(shape, array.shape, strict=True)):
                if dimension != at and first != other:
                    raise ValueError(
                        "all the input array dimensions except for the concatenation axis must match exactly, but "
                        f"along dimension {dimension}, the array at index 0 has size {first} and the array at index "
                        f"{number} has size {other}"
                    )
        shape[at] = sum(array.shape[at] for array in arrays)
    joined = _copied(shape, element)
    return Modelled(
        into(out, joined.result, element, lambda room: np.concatenate(ones, axis, room, **named)), joined.charges
    )


def _stack(arrays: Sequence[Any], axis: int = 0, out: Any = None, **named: Any) -> Modelled:
    arrays = [np.asanyarray(array) for array in arrays]
    if len({array.shape for array in arrays}) != 1:
        raise ValueError("all input arrays must have the same shape")
    n_dimensions = arrays[0].ndim + 1
    np.stack([one_of_each(arrays[0])], axis)  # refuses a wrong axis
    at = axis % n_dimensions
    wider = [_with_axis(array, at) for array in arrays]
    return _concatenate(wider, at, out, **named)


def _with_axis(array: Any, at: int) -> Any:
    return array[(slice(None),) * at + (None,)]


def _vstack(tup: Sequence[Any], **named: Any) -> Modelled:
    return _concatenate([np.atleast_2d(array) for array in tup], 0, **named)


def _hstack(tup: Sequence[Any], **named: Any) -> Modelled:
    arrays = [np.atleast_1d(array) for array in tup]
    return _concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, **named)


def _column_stack(tup: Sequence[Any]) -> Modelled:
    return _concatenate([np.atleast_2d(array).T if np.ndim(array) < 2 else array for array in tup], 1)


def _roll(a: Any, shift: Any, axis: Any = None) -> Modelled:
    return _copied(a.shape, np.roll(one_of_each(a), shift, axis))


def _triangle(function: Callable[..., Any]) -> Rule:
    def rule(m: Any, k: int = 0) -> Modelled:
        small_result = function(one_of_each(m), k)
        return _copied(m.shape if m.ndim > 1 else m.shape * 2, small_result)

    return rule


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Modelled:
    if is_folded(repeats):
        raise refused("numpy.repeat", " as often as a folded array says")
    a, n_repeats = np.atleast_1d(a), np.asarray(repeats)
    if isinstance(repeats, np.ndarray):
        np.repeat(np.zeros(1), np.ones((1,) * n_repeats.ndim, n_repeats.dtype))  # refuses wrong types
    if n_repeats.size and n_repeats.min() < 0:
        raise ValueError("repeats may not contain negative values.")
    shape = [a.size] if axis is None else list(a.shape)
    at = 0 if axis is None else range(a.ndim)[axis]
    is_one = n_repeats.size == 1 and n_repeats.ndim < 2
    shape[at] = shape[at] * int(n_repeats.item()) if is_one else int(np.broadcast_to(n_repeats, (shape[at],)).sum())
    return _copied(shape, one_of_each(a))


def _tile(A: Any, reps: Any) -> Modelled:  # noqa: N803  # numpy's name
    if is_folded(reps):
        raise refused("numpy.tile", " as often as a folded array says")
    times = tuple(1 if count == 1 else index(count) for count in (reps if np.ndim(reps) else (reps,)))
    if min(times, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    n_dimensions = max(len(times), A.ndim)
    shape = (1,) * (n_dimensions - A.ndim) + A.shape
    times = (1,) * (n_dimensions - len(times)) + times
    return _copied([size * count for size, count in zip(shape, times, strict=True)], one_of_each(A))


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Modelled:
    taken = np.shape(indices)
    a = a if np.ndim(a) else np.reshape(a, 1)
    if axis is None:
        shape = taken
    else:
        at = range(a.ndim)[axis]
        shape = a.shape[:at] + taken + a.shape[at + 1 :]
    places, n_places = np.asarray(indices), a.size if axis is None else a.shape[axis]
    one = one_of_each(a)
    zeros = np.zeros((1,) * len(taken), places.dtype if isinstance(indices, np.ndarray) else int)
    small_result = np.take(one, zeros, axis, mode=mode)  # refuses wrong types
    if mode == "raise" and places.size and not is_folded(indices):
        for place in (places.min(), places.max()):
            if not -n_places <= place < n_places:
                raise IndexError(f"index {place} is out of bounds for an axis of size {n_places}")
    part = New(tuple(shape), one.reshape(-1)[:1])
    result = into(out, part, small_result, lambda room: np.take(one, zeros, axis, room, mode))
    return Modelled(result, copying(part.nbytes))


def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Modelled:
    result_shape = as_shape(shape)
    np.broadcast_to(array.view(np.ndarray), result_shape)  # refuses shapes that do not match
    return Modelled(New(result_shape, one_of_each(array).reshape(1), is_array=True))


def _broadcast_arrays(*args: Any, subok: bool = False) -> Modelled:
    result_shape = np.broadcast_shapes(*(np.shape(array) for array in args))
    views = [New(result_shape, one_of_each(np.asanyarray(array)).reshape(-1)[:1], is_array=True) for array in args]
    return Modelled(views if isinstance(np.broadcast_arrays(0), list) else tuple(views))  # a list before numpy 2.0


def _ravel(a: Any, order: Any = "C") -> Modelled:
    np.ravel(np.empty(1), order)  # refuses unknown orders
    return Modelled(a.reshape(-1, order="F" if order == "F" else "C"))


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Modelled:
    diagonal = a.diagonal(offset, axis1, axis2)
    element = np.trace(one_of_each(a), 0, axis1, axis2, dtype)
    new_array = New(diagonal.shape[:-1], np.asarray(element).reshape(1))
    result = into(out, new_array, element, lambda room: np.trace(one_of_each(a), 0, axis1, axis2, dtype, room))
    return Modelled(result, streaming(diagonal.nbytes, diagonal.size))


COPIES: Final[Mapping[str, Rule]] = {
    "copy": _copy,
    "astype": _astype,
    "copyto": _copyto,
    "concatenate": _concatenate,
    "stack": _stack,
    "vstack": _vstack,
    "hstack": _hstack,
    "column_stack": _column_stack,
    "repeat": _repeat,
    "tile": _tile,
    "take": _take,
    "roll": _roll,
    **{name: _triangle(getattr(np, name)) for name in ("tril", "triu")},
}
"""Functions that copy their input to a new place."""


def _by_function() -> dict[Callable[..., Any], Rule]:
    rules: dict[str, Rule] = {
        **LINEAR_ALGEBRA,
        **FOURIER,
        **COPIES,
        "where": _where,
        "nan_to_num": _nan_to_num,
        "broadcast_to": _broadcast_to,
        "broadcast_arrays": _broadcast_arrays,
        "einsum": einsum,
        "ravel": _ravel,
        "trace": _trace,
    }
    by_function = {getattr(np, name): _elementwise(getattr(np, name)) for name in ELEMENTWISE if name not in rules}
    for name, n_passes in REDUCTIONS.items():
        by_function[getattr(np, name)] = reduction(getattr(np, name), n_passes)
    for name, parameters in _LIKE.items():
        by_function[getattr(np, name)] = _like(getattr(np, name), parameters, is_written=name != "empty_like")
    for name in ("cumsum", "cumprod"):
        by_function[getattr(np, name)] = _cumulative(getattr(np, name))
    return by_function | {
        function: rule for name, rule in rules.items() if (function := numpy_function(name)) is not None
    }


def numpy_function(name: str) -> Callable[..., Any] | None:
    """Numpy function of a name; None if this version of numpy lacks it."""
    try:
        function: Callable[..., Any] = attrgetter(name)(np)
    except AttributeError:
        return None
    return function


RULES: Final[Mapping[Callable[..., Any], Rule]] = _by_function()
"""Models by numpy function."""
VIEWS: Final = frozenset(filter(None, map(numpy_function, AS_THEY_ARE + COMPOSED)))
"""Functions of `AS_THEY_ARE` and `COMPOSED`: they treat folded arrays like other arrays."""
