"""Einstein sums of folded arrays.

They are one loop over all indices, `numpy.einsum`'s default; a path is refused. Shapes, types and errors are numpy's
own, for small arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from smpy.compute.folded.linear_algebra_costs import kernel_charges
from smpy.compute.folded.modelled_results import Modelled, into, new, refused, traffic_bytes
from smpy.compute.folded.small_arrays import SmallSizes

__all__ = ["einsum"]

Term = tuple[Any, ...]
"""Indices of an operand: letters or numbers as in the call, and ("...", position from the end)."""


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **named: Any) -> Modelled:
    """Rule of `numpy.einsum`."""
    if optimize is not False:
        raise refused("numpy.einsum", f" with optimize={optimize!r}")
    small = SmallSizes(operands)
    cut = [small.cut(operand) for operand in operands]
    small_result = np.einsum(*cut, **named)  # refuses operands that do not match
    shape = small.shape(np.shape(small_result))
    arrays, terms, result = _parsed(operands)
    result_of = new(shape, small_result.dtype, is_array=isinstance(small_result, np.ndarray))
    total = into(out, result_of, small_result, lambda room: np.einsum(*cut, out=room, **named))
    sizes: dict[Any, int] = {}
    for array, term in zip(arrays, terms, strict=True):
        for index, size in zip(term, array.shape, strict=True):
            sizes[index] = max(sizes.get(index, 1), size)
    is_view = len(terms) == 1 and set(terms[0]) == set(result) and out is None
    if is_view or 0 in (sizes | dict(enumerate(shape))).values():
        return Modelled(total)
    n_points = prod(sizes.values())
    flop = float(n_points) * len(terms)  # multiplications, and one addition
    n_moved = traffic_bytes(arrays, (total,)) / small_result.dtype.itemsize
    return Modelled(total, kernel_charges("einsum", small_result.dtype, (n_points,), flop, n_moved))


def _parsed(operands: Sequence[Any]) -> tuple[list[Any], list[Term], Term]:
    """Arrays, their indices, and those of the result; numpy has checked that they match."""
    if isinstance(operands[0], str):
        arrays = [np.asanyarray(array) for array in operands[1:]]
        inputs, arrow, output = operands[0].replace(" ", "").partition("->")
        spelled: list[Any] = [_letters(term) for term in inputs.split(",")]
        output_term = _letters(output) if arrow else None
    else:
        n_pairs = len(operands) // 2
        arrays = [np.asanyarray(array) for array in operands[: 2 * n_pairs : 2]]
        spelled = [list(term) for term in operands[1 : 2 * n_pairs : 2]]
        output_term = list(operands[-1]) if len(operands) % 2 else None
    n_dotted = [
        array.ndim - sum(letter is not ... for letter in term) for array, term in zip(arrays, spelled, strict=True)
    ]
    terms = [_with_axes(term, n_axes) for term, n_axes in zip(spelled, n_dotted, strict=True)]
    if output_term is not None:
        return arrays, terms, _with_axes(output_term, max(n_dotted))
    every = sum(terms, ())
    left = (index for index in dict.fromkeys(every) if isinstance(index, tuple) or every.count(index) == 1)
    return arrays, terms, tuple(left)


def _letters(term: str) -> list[Any]:
    before, dots, after = term.partition("...")
    return [*before, *([...] if dots else []), *after]


def _with_axes(term: Sequence[Any], n_more: int) -> Term:
    """Indices with the dots expanded to positions from the end."""
    return tuple(
        index for one in term for index in ([("...", at) for at in range(n_more, 0, -1)] if one is ... else [one])
    )
