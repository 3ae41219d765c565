"""Correlations of the coefficients of a cost: check of a correlation matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

_ROUNDING: Final = 1e-3
"""Tolerance for eigenvalues below 0: correlations are written with a few decimals."""


def check_correlations(rows: Sequence[Sequence[float]], n_terms: int) -> None:
    """Check that a matrix can be the correlations of this many coefficients.

    Raises
    ------
    ValueError
        If it has another size, is not symmetric, has a number below -1 or above 1 or another one than 1 in its
        diagonal, or is not positive semidefinite, rounding aside.

    Examples
    --------
    >>> check_correlations([[1, -0.98], [-0.98, 1]], 2)
    """
    if len(rows) != n_terms or any(len(row) != n_terms for row in rows):
        raise ValueError(f"correlations of {n_terms} terms are {n_terms} lists of {n_terms} numbers")
    for at, row in enumerate(rows):
        for other, correlation in enumerate(row):
            if not -1 <= correlation <= 1:
                raise ValueError(f"{correlation:g} is no correlation: one lies between -1 and 1")
            if correlation != rows[other][at]:
                raise ValueError(
                    f"correlations are symmetric: {correlation:g} and {rows[other][at]:g} are of the same two terms"
                )
        if row[at] != 1:
            raise ValueError(f"a term's correlation with itself is 1, not {row[at]:g}")
    if not _is_semidefinite(rows):
        raise ValueError("correlations contradict each other: the matrix is not positive semidefinite")


def _is_semidefinite(rows: Sequence[Sequence[float]]) -> bool:
    """Whether Cholesky's factor exists, after the diagonal is raised by the rounding tolerance."""
    factor: list[list[float]] = []
    for at, row in enumerate(rows):
        factor_row: list[float] = []
        for other, above in enumerate(factor):
            factor_row.append((row[other] - sum(x * y for x, y in zip(factor_row, above, strict=False))) / above[other])
        left = row[at] + _ROUNDING - sum(x * x for x in factor_row)
        if left <= 0:
            return False
        factor.append([*factor_row, sqrt(left)])
    return True
