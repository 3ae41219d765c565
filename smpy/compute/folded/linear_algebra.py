"""Linear algebra on folded arrays: products and factorisations take the time of the BLAS and LAPACK kernels they call.

Shapes, types and errors are numpy's own: it is called on empty stacks of such matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final, Literal

import numpy as np

from smpy.compute.folded.charges import is_folded
from smpy.compute.folded.linear_algebra_costs import (
    cholesky_charges,
    eigh_charges,
    least_squares_charges,
    lu_charges,
    product_charges,
    q_charges,
    qr_charges,
    solve_charges,
    svd_charges,
)
from smpy.compute.folded.modelled_results import (
    Modelled,
    New,
    Rule,
    fits_into,
    into,
    new,
    one_pass,
    refused,
    room_like,
)
from smpy.compute.folded.small_arrays import SmallSizes

__all__ = ["GENERALIZED", "LINEAR_ALGEBRA"]


# ---- products ----


def _matmul(a: Any, b: Any, /, out: Any = None, **named: Any) -> Modelled:
    if "axes" in named:
        raise refused("numpy.matmul", " with axes of its own")
    a, b = np.asanyarray(a), np.asanyarray(b)
    if not (a.ndim and b.ndim):
        room = None if out is None else np.empty(1, out.dtype)
        np.matmul(np.empty((1,) * a.ndim, a.dtype), np.empty((1,) * b.ndim, b.dtype), room)  # refuses scalars
    if out is not None:
        one, other = (np.empty((0, 1, 1), array.dtype) for array in (a, b))
        np.matmul(one, other, room_like(out, (0, 1, 1)), **named)  # refuses wrong types
    rows = a.shape if a.ndim > 1 else (1, *a.shape)
    columns = b.shape if b.ndim > 1 else (*b.shape, 1)
    n_dimensions = max(len(rows), len(columns))
    rows, columns = ((1,) * (n_dimensions - len(shape)) + shape for shape in (rows, columns))
    result = np.matmul(np.empty((0, *rows), a.dtype), np.empty((0, *columns), b.dtype), **named)
    shape = result.shape[1:]
    n_calls = prod(shape[:-2])
    if a.ndim == 1:
        shape = (*shape[:-2], shape[-1])
    if b.ndim == 1:
        shape = shape[:-1]
    n_core = min(a.ndim - 1, 1) + min(b.ndim - 1, 1)
    n_loops = len(shape) - n_core
    if out is not None and shape[n_loops:] == out.shape[out.ndim - n_core :]:
        shape = out.shape if fits_into(shape[:n_loops], out.shape[: out.ndim - n_core]) else shape
    product = _into(out, new(shape, result.dtype))
    return Modelled(product, product_charges(result.dtype, rows[-2], columns[-1], rows[-1], n_calls))


def _into(out: Any, result: New) -> Any:
    """Array passed for the result, unchanged."""
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"output array has the shape {out.shape}, and the result {result.shape}")
    return out


def _dot(a: Any, b: Any, out: Any = None) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    dtype = np.result_type(a.dtype, b.dtype)
    if not (a.ndim and b.ndim):
        product = _dot_into(out, new(a.shape + b.shape, dtype))
        return Modelled(product, one_pass((a, b), (product,), a.size * b.size))
    at = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[at]:
        raise ValueError(
            f"shapes {_spelled(a)} and {_spelled(b)} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != "
            f"{b.shape[at]} (dim {at})"
        )
    left, right = a.shape[:-1], b.shape[:at] + b.shape[at + 1 :]
    product = _dot_into(out, new(left + right, dtype))
    return Modelled(product, product_charges(dtype, prod(left), prod(right), a.shape[-1]))


def _dot_into(out: Any, result: New) -> Any:
    """Array that receives a product; refuse another type, or one that is not C-contiguous, as `numpy.dot` does."""
    if isinstance(out, np.ndarray):
        is_contiguous = is_folded(out) or out.flags.c_contiguous
        if (out.shape, out.dtype) != (result.shape, result.element.dtype) or not is_contiguous:
            raise ValueError(
                "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
            )
    one, number = (np.zeros((1,) * n_dimensions, result.element.dtype) for n_dimensions in (len(result.shape), 0))
    return into(out, result, one, lambda room: np.dot(one, number, room))


def _spelled(array: Any) -> str:
    return str(array.shape).replace(" ", "")


def _vdot(a: Any, b: Any, /) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if a.size != b.size:
        raise ValueError("cannot reshape array of different sizes: vdot needs as many elements in both")
    dtype = np.result_type(a.dtype, b.dtype)
    return Modelled(new((), dtype), product_charges(dtype, 1, 1, a.size))


def _inner(a: Any, b: Any, /) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if not (a.ndim and b.ndim):
        return _dot(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"shapes {_spelled(a)} and {_spelled(b)} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != "
            f"{b.shape[-1]} (dim {b.ndim - 1})"
        )
    dtype = np.result_type(a.dtype, b.dtype)
    left, right = a.shape[:-1], b.shape[:-1]
    return Modelled(new(left + right, dtype), product_charges(dtype, prod(left), prod(right), a.shape[-1]))


def _outer(a: Any, b: Any, out: Any = None) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    product = new((a.size, b.size), np.result_type(a.dtype, b.dtype))
    one, other = (np.ones((1, 1), array.dtype) for array in (a, b))
    result = into(out, product, one, lambda room: np.multiply(one, other, room), is_broadcast=True)
    return Modelled(result, one_pass((a, b), (result,), a.size * b.size))


def _linalg_outer(x1: Any, x2: Any, /) -> Modelled:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} and x2.ndim={np.ndim(x2)}."
        )
    return _outer(x1, x2)


def _different_axes(n_dimensions: int, listed: list[int]) -> list[int]:
    """Axes counted from the first one."""
    axes = listed if len(set(listed)) < len(listed) else [range(n_dimensions)[at] for at in listed]
    if len(set(axes)) < len(axes):
        raise ValueError(f"an axis is told twice: {listed}")
    return axes


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    try:
        pair = iter(axes)
    except TypeError:
        of_a, of_b = list(range(-axes, 0)), list(range(axes))
    else:
        of_a, of_b = (list(axis) if np.ndim(axis) else [axis] for axis in pair)
    of_a, of_b = _different_axes(a.ndim, of_a), _different_axes(b.ndim, of_b)
    if [a.shape[at] for at in of_a] != [b.shape[at] for at in of_b]:
        raise ValueError("shape-mismatch for sum")
    left = [size for at, size in enumerate(a.shape) if at not in of_a]
    right = [size for at, size in enumerate(b.shape) if at not in of_b]
    dtype, k = np.result_type(a.dtype, b.dtype), prod(a.shape[at] for at in of_a)
    return Modelled(new((*left, *right), dtype, is_array=True), product_charges(dtype, prod(left), prod(right), k))


# ---- factorisations and their uses ----


def _stacked(function: Any, *arrays: Any, **named: Any) -> Any:
    """Result of a function for empty stacks of matrices: types, trailing shapes, errors."""
    return function(*(np.empty((0, *np.shape(array)), np.asanyarray(array).dtype) for array in arrays), **named)


def _of_stack(a: Any) -> tuple[int, int, int]:
    """Rows, columns and number of matrices."""
    *stack, m, n = np.shape(a)
    return m, n, prod(stack)


def _unstacked(stacked: Any) -> New:
    return new(stacked.shape[1:], stacked.dtype)


def _is_matrix(a: Any) -> None:
    if np.ndim(a) < 2:  # another axis would make it a matrix
        raise np.linalg.LinAlgError(f"{np.ndim(a)}-dimensional array given. Array must be at least two-dimensional")


def _solve(a: Any, b: Any) -> Modelled:
    a, b = np.asanyarray(a), np.asanyarray(b)
    _is_matrix(a)
    if not b.ndim:
        np.linalg.solve(np.empty((1, 1)), np.empty(()))  # refuses a scalar
    right = b.shape if b.ndim > 1 else (*b.shape, 1)
    n_dimensions = max(a.ndim, len(right))
    left, right = ((1,) * (n_dimensions - len(shape)) + shape for shape in (a.shape, right))
    stacked = np.linalg.solve(np.empty((0, *left), a.dtype), np.empty((0, *right), b.dtype))
    shape = stacked.shape[1:]
    n_calls = prod(shape[:-2])
    solution = new(shape[:-1] if b.ndim == 1 else shape, stacked.dtype)
    return Modelled(solution, solve_charges(stacked.dtype, a.shape[-1], right[-1], n_calls))


def _inv(a: Any) -> Modelled:
    _is_matrix(a)
    stacked = _stacked(np.linalg.inv, a)
    n, _, n_calls = _of_stack(a)
    return Modelled(_unstacked(stacked), solve_charges(stacked.dtype, n, n, n_calls))


def _det(a: Any) -> Modelled:
    _is_matrix(a)
    stacked = _stacked(np.linalg.det, a)
    n, _, n_calls = _of_stack(a)
    return Modelled(_unstacked(stacked), lu_charges(stacked.dtype, n, n, n_calls))


def _slogdet(a: Any) -> Modelled:
    _is_matrix(a)
    stacked = _stacked(np.linalg.slogdet, a)
    n, _, n_calls = _of_stack(a)
    return Modelled(type(stacked)(*map(_unstacked, stacked)), lu_charges(stacked[0].dtype, n, n, n_calls))


def _cholesky(a: Any, /, **named: Any) -> Modelled:
    _is_matrix(a)
    stacked = _stacked(np.linalg.cholesky, a, **named)
    n, _, n_calls = _of_stack(a)
    return Modelled(_unstacked(stacked), cholesky_charges(stacked.dtype, n, n_calls))


def _qr(a: Any, mode: str = "reduced") -> Modelled:
    _is_matrix(a)
    stacked = _stacked(np.linalg.qr, a, mode=mode)
    m, n, n_calls = _of_stack(a)
    if not isinstance(stacked, tuple):
        return Modelled(_unstacked(stacked), qr_charges(stacked.dtype, m, n, n_calls))
    results = [_unstacked(part) for part in stacked]
    factors: Any = tuple(results)
    if hasattr(stacked, "_make"):
        factors = stacked._make(results)
    charges = qr_charges(stacked[0].dtype, m, n, n_calls)
    if mode in ("reduced", "complete"):
        charges += q_charges(stacked[0].dtype, m, results[0].shape[-1], min(m, n), n_calls)
    return Modelled(factors, charges)


def _eigh(a: Any, UPLO: str = "L") -> Modelled:  # noqa: N803  # numpy's name
    _is_matrix(a)
    stacked = _stacked(np.linalg.eigh, a, UPLO=UPLO)
    n, _, n_calls = _of_stack(a)
    results = type(stacked)(*map(_unstacked, stacked))
    return Modelled(results, eigh_charges(stacked[1].dtype, n, n_calls, with_vectors=True))


def _eigvalsh(a: Any, UPLO: str = "L") -> Modelled:  # noqa: N803  # numpy's name
    _is_matrix(a)
    stacked = _stacked(np.linalg.eigvalsh, a, UPLO=UPLO)
    n, _, n_calls = _of_stack(a)
    return Modelled(_unstacked(stacked), eigh_charges(_computed_in(a, stacked), n, n_calls, with_vectors=False))


def _computed_in(a: Any, values: Any) -> np.dtype[Any]:
    """Type of a matrix with real values."""
    is_complex = np.asanyarray(a).dtype.kind == "c"
    return np.result_type(values.dtype, np.complex64) if is_complex else values.dtype


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Modelled:
    if hermitian:
        raise refused("numpy.linalg.svd", " with hermitian=True")
    _is_matrix(a)
    stacked = _stacked(np.linalg.svd, a, full_matrices=full_matrices, compute_uv=compute_uv)
    m, n, n_calls = _of_stack(a)
    if not compute_uv:
        return Modelled(_unstacked(stacked), svd_charges(_computed_in(a, stacked), m, n, n_calls, vectors="none"))
    factors = type(stacked)(*map(_unstacked, stacked))
    vectors: Literal["full", "reduced"] = "full" if full_matrices else "reduced"
    return Modelled(factors, svd_charges(stacked[0].dtype, m, n, n_calls, vectors=vectors))


def _svdvals(x: Any, /) -> Modelled:
    return _svd(x, compute_uv=False)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Modelled:
    small = SmallSizes((a, b))
    small_results = np.linalg.lstsq(small.cut(a), small.cut(b), rcond)
    x, residuals, _, values = (
        new(small.shape(part.shape), part.dtype) if isinstance(part, np.ndarray) else part for part in small_results
    )
    (m, n), n_right = np.shape(a), 1 if np.ndim(b) == 1 else np.shape(b)[1]
    rank = type(small_results[2])(min(m, n))
    return Modelled((x, residuals, rank, values), least_squares_charges(small_results[0].dtype, m, n, n_right))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Modelled:  # noqa: A002  # numpy's
    n_axes = np.ndim(x) if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if n_axes == 2 and ord in (2, -2, "nuc"):
        raise refused("numpy.linalg.norm", f" with ord={ord!r}")
    one = np.asanyarray(x)[(slice(0, 1),) * np.ndim(x)].view(np.ndarray)
    small_norm = np.linalg.norm(one, ord, axis, keepdims)
    axes = range(np.ndim(x)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {at % np.ndim(x) for at in axes}
    kept = [(1 if at in gone else size) for at, size in enumerate(np.shape(x)) if keepdims or at not in gone]
    norms = New(tuple(kept), np.asarray(small_norm).reshape(1))
    return Modelled(norms, one_pass((x,), (norms,), 2 * np.size(x)))


GENERALIZED: Final[Mapping[str, Rule]] = {"matmul": _matmul}
"""Models of generalized universal functions."""
LINEAR_ALGEBRA: Final[Mapping[str, Rule]] = {
    "dot": _dot,
    "vdot": _vdot,
    "inner": _inner,
    "outer": _outer,
    "tensordot": _tensordot,
    "linalg.matmul": _matmul,
    "linalg.outer": _linalg_outer,
    "linalg.tensordot": _tensordot,
    "linalg.solve": _solve,
    "linalg.inv": _inv,
    "linalg.det": _det,
    "linalg.slogdet": _slogdet,
    "linalg.cholesky": _cholesky,
    "linalg.qr": _qr,
    "linalg.eigh": _eigh,
    "linalg.eigvalsh": _eigvalsh,
    "linalg.svd": _svd,
    "linalg.svdvals": _svdvals,
    "linalg.lstsq": _lstsq,
    "linalg.norm": _norm,
}
"""Models of numpy's functions, by their names in it."""
