"""Routines of `scipy.linalg` on folded arrays: scipy is called with small arrays that stand for the real ones.

Types and errors are scipy's own (in its errors sizes are the small ones). Matrices are taken as regular: no rows are
exchanged, and nothing is singular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from math import prod
from typing import Any, Final, Literal

import numpy as np

from smpy.compute.folded import without_backing
from smpy.compute.folded.blas_arguments import as_rank
from smpy.compute.folded.charges import Charge, charge, copying, streaming
from smpy.compute.folded.linear_algebra_costs import (
    apply_q_charges,
    cholesky_charges,
    eigh_charges,
    inverse_of_factors_charges,
    least_squares_charges,
    lu_charges,
    q_charges,
    qr_charges,
    solve_charges,
    svd_charges,
    triangular_charges,
    triangular_inverse_charges,
)
from smpy.compute.folded.modelled_results import arrays_in, refused
from smpy.compute.folded.small_arrays import SmallSizes, unmoving_pivots
from smpy.engine.running import named_call

__all__ = ["LAPACK", "SCIPY_LINALG", "ScipyRoutine", "call_on_folded", "of_lapack", "of_linalg"]

_WORK_PER_COLUMN: Final = 3  # default workspace that scipy gives a routine
_BLOCK: Final = 32  # columns per block in LAPACK
_WORK_OF_SMALL: Final = 10_000  # enough for small arrays
_LSTSQ_RANK_AT: Final = 2
_CHO_FACTOR_FLAG_AT: Final = 1
Charges = tuple[Charge, ...]
Arguments = Mapping[str, Any]


def _matrix(args: Arguments) -> tuple[int, int, int]:
    """Rows, columns and number of the leading matrices."""
    first = next(arrays_in(args.values()))
    *stack, m, n = (1, 1, *first.shape)[-max(first.ndim, 2) :]
    return m, n, prod(stack)


def _n_right(args: Arguments) -> int:
    """Right-hand sides, of all matrices of a stack alike."""
    n, _, _ = _matrix(args)
    b = args["b"]
    return 1 if np.ndim(b) == 1 else prod(np.shape(b)[-1:]) if n else 0


def _lu(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, n_calls = _matrix(args)
    return lu_charges(dtype, m, n, n_calls)


def _solve(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(args)
    if args.get("assume_a") in ("pos", "positive definite"):
        return cholesky_charges(dtype, n, n_calls) + _two_triangles(args, dtype)
    if args.get("assume_a") not in (None, "gen", "general"):
        raise refused("scipy.linalg.solve", f" with assume_a={args['assume_a']!r}")
    return solve_charges(dtype, n, _n_right(args), n_calls)


def _solve_positive(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    return _cholesky(args, dtype) + _two_triangles(args, dtype)


def _two_triangles(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    return _triangle(args, dtype) * 2


def _triangle(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(args)
    return triangular_charges(dtype, n, _n_right(args), n_calls)


def _inv(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    return _lu(args, dtype) + _inverse_of_factors(args, dtype)


def _inverse_of_factors(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    n, _, n_calls = _matrix(args)
    return inverse_of_factors_charges(dtype, n, n_calls)


def _cholesky(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    _, n, n_calls = _matrix(args)
    return cholesky_charges(dtype, n, n_calls)


def _qr(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    if args.get("pivoting"):
        raise refused("scipy.linalg.qr", " with pivoting")
    m, n, n_calls = _matrix(args)
    mode, factors = args.get("mode", "full"), qr_charges(dtype, m, n, n_calls)
    if mode in ("r", "raw"):
        return factors
    return factors + q_charges(dtype, m, m if mode == "full" else min(m, n), min(m, n), n_calls)


def _geqrf(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, _ = _matrix(args)
    return qr_charges(dtype, m, n)


def _orgqr(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, _ = _matrix(args)
    return q_charges(dtype, m, n, np.size(args["tau"]))


def _apply_q(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n = as_rank(np.shape(args["c"]), 2)
    return apply_q_charges(dtype, m, n, np.size(args["tau"]), is_right=args.get("side") in ("R", b"R"))


def _exchange(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    _, n, _ = _matrix(args)
    n_rows = np.size(args["piv"]) if args.get("k2") is None else int(args["k2"]) + 1
    n_rows -= int(args.get("k1") or 0)
    return copying(2 * max(n_rows, 0) * n * dtype.itemsize)


def _inverse_of_cholesky(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    _, n, _ = _matrix(args)
    return triangular_inverse_charges(dtype, n, "potri")


def _inverse_of_triangle(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    _, n, _ = _matrix(args)
    return triangular_inverse_charges(dtype, n, "trtri")


def _eigh(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    for name in ("b", "subset_by_index", "subset_by_value"):
        if args.get(name) is not None:
            raise refused("scipy.linalg.eigh", f" with {name}")
    _, n, n_calls = _matrix(args)
    with_vectors = not args.get("eigvals_only") and args.get("compute_v", 1) != 0
    return eigh_charges(_input_type(args, dtype), n, n_calls, with_vectors=with_vectors)


def _eigvalsh(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    return _eigh({**args, "eigvals_only": True}, dtype)


def _input_type(args: Arguments, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the computation when results are real but the matrix may be complex."""
    is_complex = next(arrays_in(args.values())).dtype.kind == "c"
    return np.result_type(dtype, np.complex64) if is_complex else dtype


def _svd(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, n_calls = _matrix(args)
    wants_vectors, is_full = args.get("compute_uv", True), args.get("full_matrices", True)
    vectors: Literal["none", "reduced", "full"] = "none" if not wants_vectors else "full" if is_full else "reduced"
    return svd_charges(_input_type(args, dtype), m, n, n_calls, vectors=vectors)


def _svdvals(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    return _svd({**args, "compute_uv": False}, dtype)


def _lstsq(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, n_calls = _matrix(args)
    return least_squares_charges(dtype, m, n, _n_right(args), n_calls)


def _gels(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, _ = _matrix(args)
    tall, short, n_right = max(m, n), min(m, n), _n_right(args)
    return (
        *qr_charges(dtype, m, n),
        *apply_q_charges(dtype, tall, n_right, short),
        *triangular_charges(dtype, short, n_right),
    )


def _lu_parts(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    m, n, n_calls = _matrix(args)
    triangles = min(m, n) * (m + n) * dtype.itemsize * n_calls
    return lu_charges(dtype, m, n, n_calls) + copying(triangles)


def _norm(args: Arguments, dtype: np.dtype[Any]) -> Charges:
    a = next(arrays_in(args.values()))
    if a.ndim > 1 and args.get("ord") in (2, -2, "nuc"):
        raise refused("scipy.linalg.norm", f" with ord={args['ord']!r}")
    return streaming(a.nbytes, 2 * a.size)


ChargeRule = Callable[[Arguments, np.dtype[Any]], Charges]
SCIPY_LINALG: Final[Mapping[str, ChargeRule]] = {
    "solve": _solve,
    "lu_factor": _lu,
    "lu_solve": _two_triangles,
    "cholesky": _cholesky,
    "cho_factor": _cholesky,
    "cho_solve": _two_triangles,
    "solve_triangular": _triangle,
    "inv": _inv,
    "det": _lu,
    "lu": _lu_parts,
    "qr": _qr,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "svd": _svd,
    "svdvals": _svdvals,
    "lstsq": _lstsq,
    "norm": _norm,
}
"""Cost rules of functions of `scipy.linalg`."""
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
        ("sd", "ormqr", _apply_q),
        ("cz", "unmqr", _apply_q),
        ("sdcz", "laswp", _exchange),
        ("sdcz", "potri", _inverse_of_cholesky),
        ("sdcz", "trtri", _inverse_of_triangle),
        ("sd", "syev", _eigh),
        ("sd", "syevd", _eigh),
        ("cz", "heev", _eigh),
        ("cz", "heevd", _eigh),
        ("sdcz", "gesvd", _svd),
        ("sdcz", "gesdd", _svd),
        ("sdcz", "gels", _gels),
    )
    for letter in letters
}
"""Cost rules of routines of `scipy.linalg.lapack`."""


@dataclass(frozen=True, slots=True)
class ScipyRoutine:
    """One of scipy's routines.

    Parameters
    ----------
    function : callable
        Scipy's own.
    names : tuple of str
        Names of its arguments.
    rule : callable
        Rule that gives its cost.
    required : tuple of str
        Arguments that a call must give.
    work_at : int
        Index of the result that is its workspace; -1: none.
    rank_at : int
        Index of the result that is the rank of a matrix, full here; -1: none.
    flag_at : int
        Index of the result that is the argument ``lower``, or an array of it, one for each matrix of a stack;
        -1: none.
    """

    function: Callable[..., Any]
    names: tuple[str, ...]
    rule: ChargeRule
    required: tuple[str, ...] = ()
    work_at: int = -1
    rank_at: int = -1
    flag_at: int = -1


def of_lapack(function: Callable[..., Any], rule: ChargeRule) -> ScipyRoutine:
    """A routine of `scipy.linalg.lapack`; its docstring begins with its arguments and results."""
    results, _, call = str(function.__doc__).partition("\n")[0].partition(" = ")
    required, _, optional = call.partition("(")[2].rstrip(")").partition("[")
    names = [tuple(filter(None, re.split(r"[\[\],]+", part))) for part in (required, optional)]
    places = {name: at for at, name in enumerate(results.split(","))}
    return ScipyRoutine(function, names[0] + names[1], rule, names[0], places.get("work", -1), places.get("rank", -1))


def of_linalg(function: Callable[..., Any], name: str) -> ScipyRoutine:
    """A function of `scipy.linalg` that has a rule."""
    rank_at = _LSTSQ_RANK_AT if name == "lstsq" else -1
    flag_at = _CHO_FACTOR_FLAG_AT if name == "cho_factor" else -1
    names = tuple(signature(function).parameters)
    return ScipyRoutine(function, names, SCIPY_LINALG[name], rank_at=rank_at, flag_at=flag_at)


@named_call("")
def call_on_folded(routine: ScipyRoutine, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Results of a routine with some folded arguments; real arrays are left unchanged.

    A query for the size of its workspace (``lwork=-1``) is answered, and takes no time.
    """
    arguments = dict(zip(routine.names, args, strict=False)) | dict(kwargs)
    if len(args) > len(routine.names):
        routine.function(*args, **kwargs)  # refuses so many
    asked = {name: value for name, value in arguments.items() if name != "lwork"}
    n_work = arguments.get("lwork")
    if n_work is not None and "lwork" in routine.required:
        asked["lwork"] = _WORK_OF_SMALL
    if {"k1", "k2"} & asked.keys():
        _rows_of_small(asked)
    small = SmallSizes(arguments.values())
    small_results = routine.function(**{name: small.cut(value) for name, value in asked.items()})
    is_one = not isinstance(small_results, (tuple, list))  # a list for a stack of matrices
    parts = [small_results] if is_one else list(small_results)
    dtype = np.result_type(
        *([array for array in arrays_in(parts) if array.dtype.kind in "fc"] or arrays_in(arguments.values()))
    )
    if n_work != -1:
        charge(routine.rule(arguments, dtype))
    if routine.work_at >= 0:
        n_columns = _matrix(arguments)[1]
        n_wanted = 1 if n_work == -1 else max(_WORK_PER_COLUMN * n_columns if n_work is None else int(n_work), 1)
        parts[routine.work_at] = np.full(n_wanted, _BLOCK * n_columns, dtype)
    as_found = {routine.work_at, routine.flag_at}
    results = [part if at in as_found else _grown(part, small) for at, part in enumerate(parts)]
    if routine.flag_at >= 0 and isinstance(results[routine.flag_at], np.ndarray):
        lower, stack = arguments.get("lower", False), next(arrays_in(arguments.values())).shape[:-2]
        results[routine.flag_at] = np.tile(lower, stack) if stack else np.asarray(lower)
    if routine.rank_at >= 0:
        rank, ranks = min(_matrix(arguments)[:2]), results[routine.rank_at]
        results[routine.rank_at] = np.full_like(ranks, rank) if isinstance(ranks, np.ndarray) else type(ranks)(rank)
    if isinstance(small_results, list):
        return results
    return tuple(results) if isinstance(small_results, tuple) else results[0]


def _rows_of_small(asked: dict[str, Any]) -> None:
    """Adapt the rows of `laswp`: rows inside the matrix become all rows of the small one; others stay outside both."""
    n_pivots = np.size(asked.get("piv", ()))
    first, last = int(asked.pop("k1", 0)), int(asked.pop("k2", n_pivots - 1))
    if not 0 <= first <= last < n_pivots:
        asked["k1"] = -1


def _grown(part: Any, small: SmallSizes) -> Any:
    """Result with a folded array in place of a small one; row exchanges are real."""
    if isinstance(part, np.ndarray) and part.ndim:
        shape = small.shape(part.shape)
        return unmoving_pivots(shape, part.dtype) if part.dtype.kind in "iu" else without_backing(shape, part.dtype)
    if isinstance(part, tuple):
        return tuple(_grown(one, small) for one in part)
    if isinstance(part, (float, complex, np.inexact)):
        return type(part)(1)
    return part
