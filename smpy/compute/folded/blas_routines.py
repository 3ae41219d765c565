"""The routines of BLAS as `scipy.linalg.blas` has them: arguments, checks, shapes of results, and costs.

A family ("gemm") is written once for all its types. Its rule gets the arguments of a call and gives scipy's results
without looking at the content of an array. Costs are the operations of the definition [1]_, a multiplication
and an addition counted as two, four times as many in complex numbers, and the operands read once, results written once.

References
----------
.. [1] J. J. Dongarra, J. Du Croz, S. Hammarling, R. J. Hanson, "An extended set of FORTRAN basic linear algebra
   subprograms", ACM TOMS 14(1), 1988; J. J. Dongarra et al., "A set of level 3 basic linear algebra subprograms", ACM
   TOMS 16(1), 1990.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np

from smpy.compute.folded.blas_arguments import BlasArguments, check, fixed
from smpy.compute.folded.charges import Charge

__all__ = ["ROUTINES", "ArrayResult", "BlasRoutine", "Done", "bind"]

Shape = tuple[int, ...]
_TYPES: Final = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
_COMPLEX_FLOP: Final = 4
_SAME_COST: Final = {"dotc": "dotu", "gerc": "geru"}
"""Kernels that differ from a measured one in a sign."""


@dataclass(frozen=True, slots=True)
class ArrayResult:
    """Array that a call returns.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    storage : str
        Name of the argument that may lend it its memory; "": none.
    is_in_place : bool
        Whether it is that memory, if its type is the routine's.
    """

    shape: Shape
    storage: str = ""
    is_in_place: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """Results and cost of a call.

    Parameters
    ----------
    results : tuple of ArrayResult or number
        One is returned as it is, several as a tuple.
    sizes : tuple of int
        Sizes of the kernel.
    flop : float
        Operations in real numbers.
    elements : float
        Elements read and written.
    variant : str
        Ending of the kernel's name: "_left".
    rewritten : float
        Elements among these that are read and then overwritten.
    """

    results: tuple[ArrayResult | complex, ...]
    sizes: tuple[int, ...]
    flop: float
    elements: float
    variant: str = ""
    rewritten: float = 0


@dataclass(frozen=True, slots=True)
class BlasRoutine:
    """A routine of one type.

    Parameters
    ----------
    name : str
        Scipy's name of it.
    kernel : str
        Name of the kernel in the machine's `[kernels]`.
    dtype : numpy.dtype
        Type of its arrays.
    required, optional : tuple of str
        Its arguments, in order.
    arrays : tuple of str
        Arguments that are arrays.
    rule : callable
        Function that gives a call's results and cost.
    """

    name: str
    kernel: str
    dtype: np.dtype[Any]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    arrays: tuple[str, ...]
    rule: Callable[[BlasArguments], Done]

    def charge_of(self, done: Done) -> Charge:
        """Charge the running rank for a call."""
        factor = _COMPLEX_FLOP if self.dtype.kind == "c" else 1
        moved_bytes, rewritten_bytes = (count * self.dtype.itemsize for count in (done.elements, done.rewritten))
        name = self.kernel + done.variant
        return Charge(name, done.sizes, done.flop * factor, moved_bytes, rewritten_bytes=rewritten_bytes)


def bind(routine: BlasRoutine, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call by name.

    Raises
    ------
    TypeError
        If they are too many, unknown, or some are missing.
    """
    names = routine.required + routine.optional
    if len(args) > len(names):
        raise TypeError(f"_fblas.{routine.name}() takes at most {len(names)} arguments ({len(args)} given)")
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{name!r} is an invalid keyword argument for _fblas.{routine.name}()")
        if name in bound:
            raise TypeError(f"argument for _fblas.{routine.name}() given by name ({name!r}) and position")
        bound[name] = value
    for at, name in enumerate(routine.required, 1):
        if name not in bound:
            raise TypeError(f"_fblas.{routine.name}() missing required argument {name!r} (pos {at})")
    return bound


# ---- vectors ----


def _step(args: BlasArguments, name: str) -> int:
    step = args.number(f"inc{name}", 1)
    check(step != 0, f"inc{name}>0||inc{name}<0")
    return abs(step)


def _offset(args: BlasArguments, name: str, length: int) -> int:
    offset = args.number(f"off{name}")
    check(0 <= offset < length, f"off{name}>=0 && off{name}<len({name})")
    return offset


def _holds(length: int, offset: int, step: int, n: int, name: str) -> None:
    check(length - offset > (n - 1) * step, f"len({name})-off{name}>(n-1)*abs(inc{name})")


def _count(args: BlasArguments, *names: str, rounds_up: bool = False, takes_fewest: bool = False) -> int:
    """Number of elements that a routine uses of its vectors."""
    parts = [(name, args.length(name), _step(args, name)) for name in names]
    parts_with_offsets = [(name, length, step, _offset(args, name, length)) for name, length, step in parts]
    counts = [
        (length - 1 - offset) // step + 1 if rounds_up else (length - offset) // step
        for _, length, step, offset in parts_with_offsets
    ]
    n = args.number("n", min(counts) if takes_fewest else counts[0])
    for name, length, step, offset in parts_with_offsets:
        _holds(length, offset, step, n, name)
    return n


def _axpy(args: BlasArguments) -> Done:
    n = _count(args, "x", "y")
    return Done((ArrayResult((args.length("y"),), "y", True),), (n,), 2 * n, 3 * n, rewritten=n)


def _copy(args: BlasArguments) -> Done:
    n = _count(args, "x", "y")
    return Done((ArrayResult((args.length("y"),), "y", True),), (n,), 0, 2 * n)


def _swap(args: BlasArguments) -> Done:
    n = _count(args, "x", "y")
    results = tuple(ArrayResult((args.length(name),), name, True) for name in "xy")
    return Done(results, (n,), 0, 4 * n, rewritten=2 * n)


def _scal(args: BlasArguments) -> Done:
    n = _count(args, "x")
    return Done((ArrayResult((args.length("x"),), "x", True),), (n,), n, 2 * n, rewritten=n)


def _scal_copy(args: BlasArguments) -> Done:
    n = _count(args, "x")
    return Done((ArrayResult((args.length("x"),), "x", args.number("overwrite_x") != 0),), (n,), n, 2 * n, rewritten=n)


def _rot(args: BlasArguments) -> Done:
    n = _count(args, "x", "y", rounds_up=True)
    results = tuple(ArrayResult((args.length(name),), name, args.number(f"overwrite_{name}") != 0) for name in "xy")
    return Done(results, (n,), 6 * n, 4 * n, rewritten=2 * n)


def _rotm(args: BlasArguments) -> Done:
    fixed("param", (args.length("param"),), (5,))
    return _rot(args)


def _dot(args: BlasArguments) -> Done:
    n = _count(args, "x", "y")
    return Done((1.0,), (n,), 2 * n, 2 * n)


def _complex_dot(args: BlasArguments) -> Done:
    n = _count(args, "x", "y")
    return Done((1 + 0j,), (n,), 2 * n, 2 * n)


def _norm(args: BlasArguments) -> Done:
    check(args.number("incx", 1) > 0, "incx>0")
    n = _count(args, "x")
    return Done((1.0,), (n,), 2 * n, n)


def _sum(args: BlasArguments) -> Done:
    n = _count(args, "x")
    return Done((1.0,), (n,), n, n)


def _index_of_largest(args: BlasArguments) -> Done:
    n = _count(args, "x")
    return Done((0,), (n,), n, n)


# ---- matrices and vectors ----


def _vector(args: BlasArguments, name: str, n: int) -> int:
    """Length of a vector of which n elements are used."""
    length, step = args.length(name), _step(args, name)
    check(length > _offset(args, name, length) + (n - 1) * step, f"len({name})>off{name}+(n-1)*abs(inc{name})")
    return length


def _result_vector(args: BlasArguments, n: int) -> ArrayResult:
    """Vector y := ... + beta y, of the needed length unless it was passed."""
    if args.has("y"):
        return ArrayResult((_vector(args, "y", n),), "y", args.number("overwrite_y") != 0)
    step, offset = _step(args, "y"), args.number("offy")
    length = 1 + offset + (n - 1) * step
    if length < 0:
        raise ValueError(f"failed to create the result -- must have defined dimensions but got ({length},)")
    check(0 <= offset < length, "offy>=0 && offy<len(y)")
    return ArrayResult((length,))


def _order(args: BlasArguments, name: str) -> int:
    n, n_columns = args.matrix(name)
    check(n == n_columns, f"shape({name},0)==shape({name},1)")
    return n


def _gemv(args: BlasArguments) -> Done:
    m, n = args.matrix("a")
    n_results, n_taken = (n, m) if args.transposed("trans") else (m, n)
    _vector(args, "x", n_taken)
    elements = m * n + n_taken + 2 * n_results
    return Done((_result_vector(args, n_results),), (m, n), 2 * m * n, elements, rewritten=n_results)


def _ger(args: BlasArguments) -> Done:
    m, n = args.length("x"), args.length("y")
    for name in "xy":
        check(abs(args.number(f"inc{name}", 1)) == 1, f"inc{name}==1||inc{name}==-1")
    if args.has("a"):
        fixed("a", args.matrix("a"), (m, n))
    result = ArrayResult((m, n), "a", args.number("overwrite_a") != 0)
    return Done((result,), (m, n), 2 * m * n, 2 * m * n + m + n, rewritten=m * n)


def _symmetric_update(vectors: str) -> Callable[[BlasArguments], Done]:
    """Rule of a += alpha x x^T, or of a += alpha (x y^T + y x^T)."""

    def rule(args: BlasArguments) -> Done:
        args.flag("lower")
        n = _count(args, *vectors, rounds_up=True, takes_fewest=True)
        check(n >= 0, "n>=0")
        shape = (n, n)
        if args.has("a"):
            fixed("a", shape := args.matrix("a"), (n, n))
        result = ArrayResult(shape, "a", args.number("overwrite_a") != 0)
        flop, elements = len(vectors) * n * (n + 1), n * (n + 1) + len(vectors) * n
        return Done((result,), (n,), flop, elements, rewritten=n * (n + 1) / 2)

    return rule


def _symv(args: BlasArguments) -> Done:
    n = _order(args, "a")
    args.flag("lower")
    _vector(args, "x", n)
    return Done((_result_vector(args, n),), (n,), 2 * n * n, n * (n + 1) / 2 + 3 * n, rewritten=n)


def _trmv(args: BlasArguments) -> Done:
    args.transposed("trans")
    return _trsv(args)


def _trsv(args: BlasArguments) -> Done:
    n = _order(args, "a")
    args.flag("lower"), args.flag("diag")
    result = ArrayResult((_vector(args, "x", n),), "x", args.number("overwrite_x") != 0)
    return Done((result,), (n,), n * n, n * (n + 1) / 2 + 2 * n, rewritten=n)


# ---- matrices and matrices ----


def _result_matrix(args: BlasArguments, m: int, n: int) -> ArrayResult:
    """Matrix c := ... + beta c."""
    if args.has("c"):
        fixed("c", args.matrix("c"), (m, n))
    return ArrayResult((m, n), "c", args.number("overwrite_c") != 0)


def _gemm(args: BlasArguments) -> Done:
    n_rows, n_columns = args.matrix("a")
    m, k = (n_columns, n_rows) if args.transposed("trans_a") else (n_rows, n_columns)
    n_rows, n_columns = args.matrix("b")
    other_k, n = (n_columns, n_rows) if args.transposed("trans_b") else (n_rows, n_columns)
    check(k == other_k, "trans_b?kb==k:ldb==k")
    elements = m * k + k * n + 2 * m * n
    return Done((_result_matrix(args, m, n),), (m, n, k), 2 * m * n * k, elements, rewritten=m * n)


def _symm(args: BlasArguments) -> Done:
    (lda, ka), (ldb, kb) = args.matrix("a"), args.matrix("b")
    args.flag("lower")
    is_right = args.flag("side")
    m, n = (ldb, ka) if is_right else (lda, kb)
    check(kb == lda if is_right else ka == ldb, "side? kb==lda : ka==ldb")
    order = n if is_right else m
    elements = order * (order + 1) / 2 + 3 * m * n
    return Done((_result_matrix(args, m, n),), (m, n), 2 * m * n * order, elements, rewritten=m * n)


def _syrk(args: BlasArguments) -> Done:
    n, k = args.matrix("a")
    args.flag("lower")
    if args.transposed("trans"):
        n, k = k, n
    elements = n * k + n * (n + 1)
    return Done((_result_matrix(args, n, n),), (n, k), n * (n + 1) * k, elements, rewritten=n * (n + 1) / 2)


def _syr2k(args: BlasArguments) -> Done:
    n, k = args.matrix("a")
    other_n, other_k = args.matrix("b")
    args.flag("lower")
    if args.transposed("trans"):
        n, k, other_k = k, n, other_n
    check(k == other_k, "trans? lda==ldb : ka==kb")
    elements = 2 * n * k + n * (n + 1)
    return Done((_result_matrix(args, n, n),), (n, k), 2 * n * (n + 1) * k, elements, rewritten=n * (n + 1) / 2)


def _trmm(args: BlasArguments) -> Done:
    n_rows, n_columns = args.matrix("a")
    order = args.matrix("b")[args.flag("side")]
    check(order <= n_columns <= n_rows, "k>=(side?n:m) && k<=shape(a, 0)")
    return _triangle_and_matrix(args)


def _trsm(args: BlasArguments) -> Done:
    n_rows, n_columns = args.matrix("a")
    check(n_rows == n_columns, "shape(a,0)==shape(a,1)")
    check(n_rows == args.matrix("b")[args.flag("side")], "shape(a,0)==(side?n:m)")
    return _triangle_and_matrix(args)


def _triangle_and_matrix(args: BlasArguments) -> Done:
    m, n = args.matrix("b")
    is_right = args.flag("side")
    args.flag("lower"), args.transposed("trans_a"), args.flag("diag")
    order = n if is_right else m
    result = ArrayResult((m, n), "b", args.number("overwrite_b") != 0)
    flop, elements = m * n * order, order * (order + 1) / 2 + 2 * m * n
    return Done((result,), (m, n), flop, elements, "_right" if is_right else "_left", rewritten=m * n)


# ---- bands and packed triangles ----


def _gbmv(args: BlasArguments) -> Done:
    m, n, kl, ku = (args.number(name) for name in ("m", "n", "kl", "ku"))
    check(args.matrix("a")[1] == n, "n>=0&&n==shape(a,1)")
    check(min(kl, ku) >= 0, "kl>=0&&ku>=0")
    check(m >= kl + ku + 1, "m>=ku+kl+1")
    n_results, n_taken = (n, m) if args.transposed("trans") else (m, n)
    _vector(args, "x", n_taken)
    stored = n * (kl + ku + 1)
    elements = stored + n_taken + 2 * n_results
    return Done((_result_vector(args, n_results),), (m, n, kl, ku), 2 * stored, elements, rewritten=n_results)


def _band_and_vector(args: BlasArguments) -> Done:
    k = args.number("k")
    lda, n = args.matrix("a")
    check(0 <= k < lda, "k>=0&&k<=lda-1")
    args.flag("lower"), args.flag("diag")
    _vector(args, "x", n)
    return Done((), (n, k), 2 * n * (2 * k + 1), n * (k + 1) + 3 * n, rewritten=n)


def _sbmv(args: BlasArguments) -> Done:
    done = _band_and_vector(args)
    return replace(done, results=(_result_vector(args, done.sizes[0]),))


def _tbmv(args: BlasArguments) -> Done:
    done = _band_and_vector(args)
    result = ArrayResult((args.length("x"),), "x", args.number("overwrite_x") != 0)
    return replace(done, results=(result,), flop=done.flop / 2)


def _packed(args: BlasArguments) -> int:
    n = args.number("n")
    check(n >= 0 and args.length("ap") >= n * (n + 1) // 2, "len(ap)>=(n*(n+1)/2)")
    args.flag("lower")
    return n


def _spmv(args: BlasArguments) -> Done:
    n = _packed(args)
    _vector(args, "x", n)
    return Done((_result_vector(args, n),), (n,), 2 * n * n, n * (n + 1) / 2 + 3 * n, rewritten=n)


def _packed_update(vectors: str) -> Callable[[BlasArguments], Done]:
    def rule(args: BlasArguments) -> Done:
        n = _packed(args)
        for name in vectors:
            _vector(args, name, n)
        result = ArrayResult((args.length("ap"),), "ap", args.number("overwrite_ap") != 0)
        flop, elements = len(vectors) * n * (n + 1), n * (n + 1) + len(vectors) * n
        return Done((result,), (n,), flop, elements, rewritten=n * (n + 1) / 2)

    return rule


def _tpmv(args: BlasArguments) -> Done:
    n = _packed(args)
    args.flag("diag")
    result = ArrayResult((_vector(args, "x", n),), "x", args.number("overwrite_x") != 0)
    return Done((result,), (n,), n * n, n * (n + 1) / 2 + 2 * n, rewritten=n)


# ---- the table ----

_XY: Final = "x,y,[n,offx,incx,offy,incy]"
_X: Final = "x,[n,offx,incx]"
_Y: Final = "[incx,offx,beta,y,incy,offy,lower,overwrite_y]"
_TRIANGLE: Final = "[incx,offx,lower,trans,diag,overwrite_x]"
_FAMILIES: Final[tuple[tuple[str, str, Callable[[BlasArguments], Done]], ...]] = (
    # names of all types, arguments, rule; {} stands for the type's letter
    ("{sd}asum scasum dzasum", _X, _sum),
    ("{sdcz}axpy", "x,y,[n,a,offx,incx,offy,incy]", _axpy),
    ("{sdcz}copy", _XY, _copy),
    ("{sd}dot", _XY, _dot),
    ("{cz}dotc {cz}dotu", _XY, _complex_dot),
    ("i{sdcz}amax", _X, _index_of_largest),
    ("{sd}nrm2 scnrm2 dznrm2", _X, _norm),
    ("{sd}rot csrot zdrot", "x,y,c,s,[n,offx,incx,offy,incy,overwrite_x,overwrite_y]", _rot),
    ("{sd}rotm", "x,y,param,[n,offx,incx,offy,incy,overwrite_x,overwrite_y]", _rotm),
    ("{sdcz}scal", "a,x,[n,offx,incx]", _scal),
    ("csscal zdscal", "a,x,[n,offx,incx,overwrite_x]", _scal_copy),
    ("{sdcz}swap", _XY, _swap),
    ("{sdcz}gbmv", "m,n,kl,ku,alpha,a,x,[incx,offx,beta,y,incy,offy,trans,overwrite_y]", _gbmv),
    ("{sdcz}gemv", "alpha,a,x,[beta,y,offx,incx,offy,incy,trans,overwrite_y]", _gemv),
    ("{sd}ger {cz}gerc {cz}geru", "alpha,x,y,[incx,incy,a,overwrite_x,overwrite_y,overwrite_a]", _ger),
    ("{sd}sbmv {cz}hbmv", f"k,alpha,a,x,{_Y}", _sbmv),
    ("{sdcz}spmv {cz}hpmv", f"n,alpha,ap,x,{_Y}", _spmv),
    ("{sdcz}spr {cz}hpr", "n,alpha,x,ap,[incx,offx,lower,overwrite_ap]", _packed_update("x")),
    ("{sd}spr2 {cz}hpr2", "n,alpha,x,y,ap,[incx,offx,incy,offy,lower,overwrite_ap]", _packed_update("xy")),
    ("{sd}symv {cz}hemv", "alpha,a,x,[beta,y,offx,incx,offy,incy,lower,overwrite_y]", _symv),
    ("{sdcz}syr {cz}her", "alpha,x,[lower,incx,offx,n,a,overwrite_a]", _symmetric_update("x")),
    ("{sd}syr2 {cz}her2", "alpha,x,y,[lower,incx,offx,incy,offy,n,a,overwrite_a]", _symmetric_update("xy")),
    ("{sdcz}tbmv {sdcz}tbsv", f"k,a,x,{_TRIANGLE}", _tbmv),
    ("{sdcz}tpmv {sdcz}tpsv", f"n,ap,x,{_TRIANGLE}", _tpmv),
    ("{sdcz}trmv", "a,x,[offx,incx,lower,trans,diag,overwrite_x]", _trmv),
    ("{sdcz}trsv", f"a,x,{_TRIANGLE}", _trsv),
    ("{sdcz}gemm", "alpha,a,b,[beta,c,trans_a,trans_b,overwrite_c]", _gemm),
    ("{sdcz}symm {cz}hemm", "alpha,a,b,[beta,c,side,lower,overwrite_c]", _symm),
    ("{sdcz}syrk {cz}herk", "alpha,a,[beta,c,trans,lower,overwrite_c]", _syrk),
    ("{sdcz}syr2k {cz}her2k", "alpha,a,b,[beta,c,trans,lower,overwrite_c]", _syr2k),
    ("{sdcz}trmm", "alpha,a,b,[side,lower,trans_a,diag,overwrite_b]", _trmm),
    ("{sdcz}trsm", "alpha,a,b,[side,lower,trans_a,diag,overwrite_b]", _trsm),
)
_ARRAYS: Final = frozenset({"a", "b", "c", "x", "y", "ap", "param"})
_SCALAR_A_OR_C: Final[Mapping[Callable[[BlasArguments], Done], str]] = {
    _axpy: "a",
    _scal: "a",
    _scal_copy: "a",
    _rot: "c",
}


def _routines() -> Iterator[BlasRoutine]:
    for names, arguments, rule in _FAMILIES:
        before, _, after = arguments.partition("[")
        required = tuple(filter(None, before.split(",")))
        optional = tuple(after.rstrip("]").split(","))
        scalar = _SCALAR_A_OR_C.get(rule, "")
        arrays = tuple(name for name in required + optional if name in _ARRAYS and name != scalar)
        for pattern in names.split():
            for name, letter in _spelled(pattern):
                kernel = name
                for family, measured in _SAME_COST.items():
                    kernel = kernel.replace(family, measured)
                yield BlasRoutine(name, kernel, np.dtype(_TYPES[letter]), required, optional, arrays, rule)


def _spelled(pattern: str) -> Iterator[tuple[str, str]]:
    """Names with the letter of their arrays' type: the second letter of "dznrm2", a norm of complex doubles."""
    if "{" in pattern:
        before, _, rest = pattern.partition("{")
        letters, _, after = rest.partition("}")
        yield from ((before + letter + after, letter) for letter in letters)
    else:
        yield pattern, "c" if "c" in pattern[:2] else "z"


@cache
def _table() -> dict[str, BlasRoutine]:
    return {routine.name: routine for routine in _routines()}


ROUTINES: Final[Mapping[str, BlasRoutine]] = _table()
"""Routines by name."""
