"""`Compute_dims`: as many ranks along each dimension of a grid as along the others, as far as their number allows.

Prime factors, largest first, each multiply the dimension that is then shortest, as in Open MPI and SMPI; other
implementations search longer, and may find dimensions that are closer to each other. SMPI 3.32 takes the square of an
odd prime for a prime (9 ranks on 2 dimensions: 9 and 1); here it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

from smpy.mpi.state.arguments import integer
from smpy.mpi.state.exceptions import fail

__all__ = ["Compute_dims"]


def Compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """A balanced distribution of ranks on a grid.

    Parameters
    ----------
    nnodes : int
        Number of ranks.
    dims : int or sequence of int
        Number of dimensions, or ranks along each of them, 0 for those to compute.

    Returns
    -------
    list of int
        Ranks along each dimension; computed ones do not increase.

    Raises
    ------
    Exception
        If no such grid has `nnodes` ranks: ``ERR_DIMS``.

    Examples
    --------
    >>> Compute_dims(12, 2)
    [4, 3]
    >>> Compute_dims(12, [0, 2, 0])
    [3, 2, 2]

    Given dimensions are kept.
    """
    extents: Any = dims
    one = not hasattr(extents, "__len__")
    fixed_extents = [0] * integer("Compute_dims", "dims", extents) if one else [index(extent) for extent in extents]
    nnodes, fixed = integer("Compute_dims", "nnodes", nnodes), prod(extent for extent in fixed_extents if extent)
    n_free = fixed_extents.count(0)
    is_possible = nnodes > 0 and min(fixed_extents, default=0) >= 0 and nnodes % fixed == 0
    if not is_possible or (n_free == 0 and fixed != nnodes):
        fail("ERR_DIMS", f"Compute_dims({nnodes}, {fixed_extents}): no grid with these dimensions has {nnodes} ranks")
    free_extents = iter(_balanced(nnodes // fixed, n_free))
    return [extent or next(free_extents) for extent in fixed_extents]


def _balanced(n: int, n_dims: int) -> list[int]:
    extents = [1] * n_dims
    for factor in reversed(_prime_factors(n)):
        extents[extents.index(min(extents))] *= factor
    return sorted(extents, reverse=True)


def _prime_factors(n: int) -> list[int]:
    factors, divisor = [], 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    return [*factors, n] if n > 1 else factors
