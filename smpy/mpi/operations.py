"""`Op`: reduction operations, as functions of two objects; how they fold arrays is in `folds`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Final, Self

from smpy.mpi.exceptions import fail
from smpy.mpi.handle import Handle

__all__ = ["MAX", "MIN", "OP_NULL", "PREDEFINED", "SUM", "Op", "Operation"]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """A reduction operation as all handles on it share it.

    Parameters
    ----------
    name : str
        Name in the standard; that of the function when a program made it.
    number : int
        Its handle.
    on_objects : callable
        Of two objects, the left one first.
    ufunc : str
        Name of numpy's function of two arrays; empty when there is none.
    kinds : frozenset of str
        Kinds of datatypes it is defined for.
    is_commutative : bool
        Whether operands may change places.
    function : callable
        A program's own: of two buffers and a datatype, it leaves the result in the second.
    """

    name: str
    number: int
    on_objects: Callable[[Any, Any], Any]
    ufunc: str = ""
    kinds: frozenset[str] = frozenset()
    is_commutative: bool = True
    function: Callable[[Any, Any, Any], object] | None = None


class Op(Handle):
    """A reduction operation.

    Parameters
    ----------
    op : Op, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_operation")
    _family: ClassVar = "Op"

    _operation: Operation | None

    def __new__(cls, op: Op | None = None) -> Self:
        return cls.of(op.operation if op else None)

    @classmethod
    def of(cls, operation: Operation | None) -> Self:
        """A handle on an operation."""
        self = super().__new__(cls)
        self._operation = operation
        return self

    def _identity(self) -> int:
        return 0 if self._operation is None else self._operation.number

    def __call__(self, x: Any, y: Any, /) -> Any:
        if not self:
            raise ValueError("cannot call the null operation")
        return self.operation.on_objects(x, y)

    @property
    def operation(self) -> Operation:
        """What the handle refers to; raises ``ERR_OP`` when it is null."""
        if self._operation is None:
            fail("ERR_OP", "the operation is null")
        return self._operation

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], object], commute: bool = False) -> Op:
        """Make an operation of a function.

        Parameters
        ----------
        function : callable
            Called with two buffers and the datatype of their entries; it leaves the reduction of both in the second.
        commute : bool
            Whether operands may change places.
        """
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        operation = Operation(
            name=getattr(function, "__name__", "function"),
            number=next(_numbers),
            on_objects=lambda x, y: function(x, y, None),
            is_commutative=bool(commute),
            function=function,
        )
        return cls.of(operation)

    def Free(self) -> None:
        """Give the operation back; predefined ones cannot be."""
        if self.operation.function is None:
            fail("ERR_OP", f"{self.operation.name} is predefined and cannot be freed")
        self._operation = None

    def Is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.operation.is_commutative

    @property
    def is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.Is_commutative()

    @property
    def is_predefined(self) -> bool:
        """Whether it exists without being made."""
        return self._operation is None or self._operation.function is None


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
_TRUTHS = frozenset({"integer", "floating", "logical"})
_BITS = frozenset({"integer", "byte"})
_PAIRS = frozenset({"pair"})

_numbers = count(1)


def _built_in(name: str, on_objects: Callable[[Any, Any], Any], ufunc: str, kinds: frozenset[str]) -> Op:
    return Op.of(Operation(f"MPI_{name}", next(_numbers), on_objects, ufunc, kinds))


PREDEFINED: Final[dict[str, Op]] = {
    "OP_NULL": Op(),
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
"""Every predefined operation by its name in `mpi4py.MPI`."""
Op.know(PREDEFINED)

OP_NULL, SUM, MAX, MIN = (PREDEFINED[name] for name in ("OP_NULL", "SUM", "MAX", "MIN"))
