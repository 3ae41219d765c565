"""Einstein sums of folded arrays.

Without a path they are one loop over all indices (`numpy.einsum`'s default); along one, each step is a product of two
operands, by gemm as far as indices are summed. Shapes, types and errors are numpy's own, for small arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from smpy.compute.charges import Charge, streaming
from smpy.compute.linear_algebra_costs import kernel_charges, product_charges
from smpy.compute.modelled_results import Modelled, into, new, traffic_bytes
from smpy.compute.small_arrays import SmallSizes

__all__ = ["einsum"]

Term = tuple[Any, ...]
"""Indices of an operand: letters or numbers as a call has them, and ("...", place from the end)."""


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **named: Any) -> Modelled:
    """The rule of `numpy.einsum`."""
    small = SmallSizes(operands)
    cut = [small.cut(operand) for operand in operands]
    found = np.einsum(*cut, optimize=optimize, **named)  # refuses what does not fit
    shape = small.shape(np.shape(found))
    arrays, terms, result = _parsed(operands)
    result_of = new(shape, found.dtype, is_array=isinstance(found, np.ndarray))
    made = into(out, result_of, found, lambda room: np.einsum(*cut, optimize=optimize, out=room, **named))
    sizes: dict[Any, int] = {}
    for array, term in zip(arrays, terms, strict=True):
        for index, size in zip(term, array.shape, strict=True):
            sizes[index] = max(sizes.get(index, 1), size)
    is_view = len(terms) == 1 and set(terms[0]) == set(result) and out is None
    if is_view or 0 in (sizes | dict(enumerate(shape))).values():
        return Modelled(made)
    if optimize is False or len(terms) < 2:
        return Modelled(made, _loop(found.dtype, terms, sizes, traffic_bytes(arrays, (made,))))
    path = np.einsum_path(*operands, optimize=optimize)[0][1:]
    return Modelled(made, _along(path, terms, result, sizes, found.dtype))


def _loop(
    dtype: np.dtype[Any], terms: Sequence[Term], sizes: Mapping[Any, int], moved_bytes: int
) -> tuple[Charge, ...]:
    n_points = prod(sizes.values())
    flop = float(n_points) * len(terms)  # multiplications, and one addition
    return kernel_charges("einsum", dtype, (n_points,), flop, moved_bytes / dtype.itemsize)


def _along(
    path: Sequence[Sequence[int]], terms: Sequence[Term], result: Term, sizes: Mapping[Any, int], dtype: np.dtype[Any]
) -> tuple[Charge, ...]:
    """Charges of the steps of a path; each takes some terms, and puts their product at the end."""
    left = list(terms)
    charges: list[Charge] = []
    for step in path:
        taken = [left.pop(at) for at in sorted(step, reverse=True)]
        needed = set(result).union(*left)
        made = tuple(index for index in dict.fromkeys(sum(taken, ())) if index in needed)
        charges += _step(taken, made, sizes, dtype)
        left.append(made)
    return tuple(charges)


def _step(taken: Sequence[Term], made: Term, sizes: Mapping[Any, int], dtype: np.dtype[Any]) -> tuple[Charge, ...]:
    def n_of(indices: set[Any]) -> int:
        return prod(sizes[index] for index in indices)

    n_elements = sum(n_of(set(term)) for term in (*taken, made))
    if len(taken) == 2:
        a, b = map(set, taken)
        kept, summed = a & b & set(made), (a & b) - set(made)
        if summed:
            rows, columns = (a - b) & set(made), (b - a) & set(made)
            return product_charges(dtype, n_of(rows), n_of(columns), n_of(summed), n_of(kept))
        return streaming(n_elements * dtype.itemsize, n_of(a | b))
    return _loop(dtype, taken, {index: sizes[index] for term in taken for index in term}, n_elements * dtype.itemsize)


def _parsed(operands: Sequence[Any]) -> tuple[list[Any], list[Term], Term]:
    """Arrays, their indices, and those of the result; numpy has found them to fit."""
    if isinstance(operands[0], str):
        arrays = [np.asanyarray(array) for array in operands[1:]]
        inputs, arrow, output = operands[0].replace(" ", "").partition("->")
        spelled: list[Any] = [_letters(term) for term in inputs.split(",")]
        wanted = _letters(output) if arrow else None
    else:
        n_pairs = len(operands) // 2
        arrays = [np.asanyarray(array) for array in operands[: 2 * n_pairs : 2]]
        spelled = [list(term) for term in operands[1 : 2 * n_pairs : 2]]
        wanted = list(operands[-1]) if len(operands) % 2 else None
    n_dotted = [array.ndim - sum(it is not ... for it in term) for array, term in zip(arrays, spelled, strict=True)]
    terms = [_with_axes(term, n_axes) for term, n_axes in zip(spelled, n_dotted, strict=True)]
    if wanted is not None:
        return arrays, terms, _with_axes(wanted, max(n_dotted))
    every = sum(terms, ())
    left = (index for index in dict.fromkeys(every) if isinstance(index, tuple) or every.count(index) == 1)
    return arrays, terms, tuple(left)


def _letters(term: str) -> list[Any]:
    before, dots, after = term.partition("...")
    return [*before, *([...] if dots else []), *after]


def _with_axes(term: Sequence[Any], n_more: int) -> Term:
    """Indices with those that dots stand for, by their places from the end."""
    return tuple(
        index for one in term for index in ([("...", at) for at in range(n_more, 0, -1)] if one is ... else [one])
    )
