"""Routines of `scipy.linalg` on folded arrays: scipy is asked with small arrays, whose sizes stand for the real ones.

Sizes keep their order, and 0 and 1 stay, so that what fits together still does; each size of a result is one of the
arguments'. Types and errors are scipy's own (in its errors sizes are the small ones). Matrices are taken as regular:
no rows are exchanged, and nothing is singular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from smpy.compute.charges import Charge, charge
from smpy.compute.folded import without_backing
from smpy.compute.linear_algebra import (
    cholesky_charges,
    lu_charges,
    q_charges,
    qr_charges,
    solve_charges,
    triangular_charges,
)
from smpy.compute.modelled_results import arrays_in, refused
from smpy.engine.running import mpi_call

__all__ = ["LAPACK", "SCIPY_LINALG", "Routine", "call_on_folded", "of_lapack"]

_WORK_PER_COLUMN: Final = 3  # of what scipy gives a routine that is given none
_BLOCK: Final = 32  # columns of a block of LAPACK's
Charges = tuple[Charge, ...]
Given = Mapping[str, Any]


def _matrix(given: Given) -> tuple[int, int, int]:
    """Rows, columns and number of the matrices that come first."""
    first = next(arrays_in(given.values()))
    *stack, m, n = (1, 1, *first.shape)[-max(first.ndim, 2) :]
    return m, n, prod(stack)


def _n_right(given: Given) -> int:
    """Right-hand sides, of all matrices of a stack alike."""
    n, _, _ = _matrix(given)
    b = given["b"]
    return 1 if np.ndim(b) == 1 else prod(np.shape(b)[-1:]) if n else 0


def _lu(given: Given, dtype: np.dtype[Any]) -> Charges:
    m, n, n_calls = _matrix(given)
    return lu_charges(dtype, m, n, n_calls)


def _solve(given: Given, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(given)
    if given.get("assume_a") in ("pos", "positive definite"):
        return cholesky_charges(dtype, n, n_calls) + _two_triangles(given, dtype)
    if given.get("assume_a") not in (None, "gen", "general"):
        raise refused("scipy.linalg.solve", f" with assume_a={given['assume_a']!r}")
    return solve_charges(dtype, n, _n_right(given), n_calls)


def _solve_positive(given: Given, dtype: np.dtype[Any]) -> Charges:
    return _cholesky(given, dtype) + _two_triangles(given, dtype)


def _two_triangles(given: Given, dtype: np.dtype[Any]) -> Charges:
    return _triangle(given, dtype) * 2


def _triangle(given: Given, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(given)
    return triangular_charges(dtype, n, _n_right(given), n_calls)


def _inv(given: Given, dtype: np.dtype[Any]) -> Charges:
    return _lu(given, dtype) + _inverse_of_factors(given, dtype)


def _inverse_of_factors(given: Given, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(given)
    return solve_charges(dtype, n, n, n_calls)[1:]


def _cholesky(given: Given, dtype: np.dtype[Any]) -> Charges:
    _, n, n_calls = _matrix(given)
    return cholesky_charges(dtype, n, n_calls)


def _qr(given: Given, dtype: np.dtype[Any]) -> Charges:
    if given.get("pivoting"):
        raise refused("scipy.linalg.qr", " with pivoting")
    m, n, n_calls = _matrix(given)
    mode, factors = given.get("mode", "full"), qr_charges(dtype, m, n, n_calls)
    if mode in ("r", "raw"):
        return factors
    return factors + q_charges(dtype, m, m if mode == "full" else min(m, n), min(m, n), n_calls)


def _geqrf(given: Given, dtype: np.dtype[Any]) -> Charges:
    m, n, _ = _matrix(given)
    return qr_charges(dtype, m, n)


def _orgqr(given: Given, dtype: np.dtype[Any]) -> Charges:
    m, n, _ = _matrix(given)
    return q_charges(dtype, m, n, np.size(given["tau"]))


ChargeRule = Callable[[Given, np.dtype[Any]], Charges]
SCIPY_LINALG: Final[Mapping[str, ChargeRule]] = {
    "solve": _solve,
    "lu_factor": _lu,
    "lu_solve": _two_triangles,
    "cholesky": _cholesky,
    "cho_factor": _cholesky,
    "cho_solve": _two_triangles,
    "solve_triangular": _triangle,
    "inv": _inv,
    "qr": _qr,
}
"""What functions of `scipy.linalg` cost."""
LAPACK: Final[Mapping[str, ChargeRule]] = {
    letter + family: rule
    for letters, family, rule in (
        ("sdcz", "getrf", _lu),
        ("sdcz", "getrs", _two_triangles),
        ("sdcz", "gesv", _solve),
        ("sdcz", "getri", _inverse_of_factors),
        ("sdcz", "potrf", _cholesky),
        ("sdcz", "potrs", _two_triangles),
        ("sdcz", "posv", _solve_positive),
        ("sdcz", "trtrs", _triangle),
        ("sdcz", "geqrf", _geqrf),
        ("sd", "orgqr", _orgqr),
        ("cz", "ungqr", _orgqr),
    )
    for letter in letters
}
"""What routines of `scipy.linalg.lapack` cost."""


@dataclass(frozen=True, slots=True)
class Routine:
    """One of scipy's routines.

    Parameters
    ----------
    function : callable
        Scipy's own.
    names : tuple of str
        Of its arguments.
    rule : callable
        What it costs.
    work_at : int
        Which of its results is its workspace; -1: none.
    """

    function: Callable[..., Any]
    names: tuple[str, ...]
    rule: ChargeRule
    work_at: int = -1


def of_lapack(function: Callable[..., Any], rule: ChargeRule) -> Routine:
    """A routine of `scipy.linalg.lapack`, whose arguments and results its documentation begins with."""
    results, _, call = str(function.__doc__).partition("\n")[0].partition(" = ")
    names = tuple(filter(None, re.split(r"[\[\],]+", call.partition("(")[2].rstrip(")"))))
    parts = results.split(",")
    return Routine(function, names, rule, parts.index("work") if "work" in parts else -1)


@mpi_call
def call_on_folded(routine: Routine, args: tuple[Any, ...], kwargs: Given) -> Any:
    """A routine's results for arguments some of which are folded; arrays that are there are left as they are.

    A query for the size of its workspace (``lwork=-1``) is answered, and takes no time.
    """
    given = dict(zip(routine.names, args, strict=False)) | dict(kwargs)
    n_work = given.pop("lwork", None)
    sizes = {size for array in arrays_in(given.values()) for size in array.shape} | {0, 1}
    small = {size: at for at, size in enumerate(sorted(sizes))}
    if len(args) > len(routine.names):
        routine.function(*args, **kwargs)  # which refuses so many
    found = routine.function(**{name: _cut(value, small) for name, value in given.items()})
    real = {at: size for size, at in small.items()}
    parts = list(found) if isinstance(found, tuple) else [found]
    dtype = next(array.dtype for array in arrays_in(parts) if array.dtype.kind in "fc")
    if n_work != -1:
        charge(routine.rule(given, dtype))
    if routine.work_at >= 0:
        n_columns = _matrix(given)[1]
        n_wanted = 1 if n_work == -1 else max(_WORK_PER_COLUMN * n_columns if n_work is None else int(n_work), 1)
        parts[routine.work_at] = np.full(n_wanted, _BLOCK * n_columns, dtype)
    results = [part if at == routine.work_at else _grown(part, real) for at, part in enumerate(parts)]
    return tuple(results) if isinstance(found, tuple) else results[0]


def _cut(value: Any, small: Mapping[int, int]) -> Any:
    """An argument with small arrays in place of its own: ones that are far from singular."""
    if isinstance(value, np.ndarray):
        shape = tuple(small[size] for size in value.shape)
        if value.dtype.kind in "iu" and value.ndim == 1:  # pivots
            return np.arange(*shape, dtype=value.dtype)
        array = np.ones(shape, value.dtype, order="F")
        if array.ndim > 1:
            diagonal = np.arange(min(shape[-2:]))
            array[..., diagonal, diagonal] = 2 * max(shape)
        return array
    if isinstance(value, (list, tuple)):
        return type(value)(_cut(part, small) for part in value)
    return value


def _grown(part: Any, real: Mapping[int, int]) -> Any:
    """A result with a folded array in place of a small one; row exchanges are there, and change nothing."""
    if isinstance(part, np.ndarray) and part.ndim:
        shape = tuple(real[size] for size in part.shape)
        return np.arange(*shape, dtype=part.dtype) if part.dtype.kind in "iu" else without_backing(shape, part.dtype)
    if isinstance(part, tuple):
        return tuple(_grown(one, real) for one in part)
    return part
