"""Reduction operations as functions of two objects; `reductions` applies them to arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

__all__ = ["BUILT_IN", "Operation"]

_numbers: Final = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """A reduction operation, shared by all handles on it.

    Parameters
    ----------
    name : str
        Name in the standard; for a program's operation, the name of its function.
    on_objects : callable
        Function of two objects, the left one first.
    ufunc : str
        Name of numpy's function of two arrays; empty when there is none.
    kinds : frozenset of str
        Kinds of datatypes that the operation is defined for.
    is_commutative : bool
        Whether operands may change places.
    function : callable
        Function of a program, with two buffers and a datatype; it stores the result in the second buffer.
    """

    name: str
    on_objects: Callable[[Any, Any], Any]
    ufunc: str = ""
    kinds: frozenset[str] = frozenset()
    is_commutative: bool = True
    function: Callable[[Any, Any, Any], object] | None = None
    number: int = field(init=False, default_factory=lambda: next(_numbers))
    """Number that is equal for all handles on the operation."""


def _larger(x: Any, y: Any) -> Any:
    return max(x, y)


def _smaller(x: Any, y: Any) -> Any:
    return min(x, y)


def _with_larger(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (u, i) if u > v or (not v > u and not j < i) else (v, j)


def _with_smaller(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (u, i) if u < v or (not v < u and not j < i) else (v, j)


_NUMBERS = frozenset({"integer", "floating", "complex"})
_ORDERED = frozenset({"integer", "floating"})
_TRUTHS = frozenset({"integer", "logical"})
_BITS = frozenset({"integer", "byte"})
_PAIRS = frozenset({"pair"})


def _built_in(name: str, on_objects: Callable[[Any, Any], Any], ufunc: str, kinds: frozenset[str]) -> Operation:
    return Operation(f"MPI_{name}", on_objects, ufunc, kinds)


BUILT_IN: Final[dict[str, Operation | None]] = {
    "OP_NULL": None,
    "MAX": _built_in("MAX", _larger, "maximum", _ORDERED),
    "MIN": _built_in("MIN", _smaller, "minimum", _ORDERED),
    "SUM": _built_in("SUM", operator.add, "add", _NUMBERS),
    "PROD": _built_in("PROD", operator.mul, "multiply", _NUMBERS),
    "LAND": _built_in("LAND", lambda x, y: bool(x) & bool(y), "logical_and", _TRUTHS),
    "BAND": _built_in("BAND", operator.and_, "bitwise_and", _BITS),
    "LOR": _built_in("LOR", lambda x, y: bool(x) | bool(y), "logical_or", _TRUTHS),
    "BOR": _built_in("BOR", operator.or_, "bitwise_or", _BITS),
    "LXOR": _built_in("LXOR", lambda x, y: bool(x) ^ bool(y), "logical_xor", _TRUTHS),
    "BXOR": _built_in("BXOR", operator.xor, "bitwise_xor", _BITS),
    "MAXLOC": _built_in("MAXLOC", _with_larger, "maximum", _PAIRS),
    "MINLOC": _built_in("MINLOC", _with_smaller, "minimum", _PAIRS),
    "REPLACE": _built_in("REPLACE", lambda x, y: y, "", frozenset()),
    "NO_OP": _built_in("NO_OP", lambda x, y: x, "", frozenset()),
}
"""Predefined operations by their names in `mpi4py.MPI`; None for the null operation."""
