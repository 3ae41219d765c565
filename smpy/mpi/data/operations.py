"""`Op`: handles on reduction operations, built in or made by programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Final, Self

from smpy.engine.running import current, is_running, mpi_call, mpi_question, per_world
from smpy.mpi.data.built_in_operations import BUILT_IN, Operation
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.reductions import ReductionInProgress, check_defined
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family

__all__ = ["MAX", "MIN", "OP_NULL", "PREDEFINED", "SUM", "Op", "Operation"]

_LARGEST_NUMBER: Final = 32
"""Largest number of operations that a rank may have made at a time, as in mpi4py."""


class _NumbersMade(Counter[int]):
    """Number of operations that each rank of a world has made."""


class Op(Handle):
    """A reduction operation.

    Parameters
    ----------
    op : Op, optional
        Operation to make another handle of; without it, the handle is null.
    """

    __slots__ = ("__weakref__", "_is_by_number", "_operation_or_null")
    _family: ClassVar = "Op"

    _operation_or_null: Operation | None
    _is_by_number: bool
    """Whether the handle was made from a number alone."""

    def __new__(cls, op: Op | None = None) -> Self:
        return cls._of(None if op is None else of_family(op, Op)._operation_or_null)

    @classmethod
    def _of(cls, operation: Operation | None) -> Self:
        """A handle on an operation."""
        self = super().__new__(cls)
        self._operation_or_null = operation
        self._is_by_number = False
        return self

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """Operation of a number that `handle` returned; one made by a program cannot be pickled through this handle."""
        operation = super().fromhandle(handle)
        if operation.is_predefined:
            return operation
        other = cls._of(operation._operation_or_null)
        other._is_by_number = True
        return other

    def _become_null(self) -> None:
        self._operation_or_null = None

    def _identity(self) -> int:
        return 0 if self._operation_or_null is None else self._operation_or_null.number

    def __call__(self, x: Any, y: Any, /) -> Any:
        if not self:
            raise ValueError("cannot call the null operation")
        return self._operation.on_objects(x, y)

    @property
    def _operation(self) -> Operation:
        """Operation that the handle refers to; raises ``ERR_OP`` when the handle is null."""
        if self._operation_or_null is None:
            fail("ERR_OP", "the operation is null")
        return self._operation_or_null

    @classmethod
    @mpi_question
    def Create(cls, function: Callable[[Any, Any, Any], object], commute: bool = False) -> Op:
        """Make an operation from a function.

        Parameters
        ----------
        function : callable
            Function of two buffers and the datatype of their entries; it stores their reduction in the second.
        commute : bool
            Whether operands may change places.
        """
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        if is_running():
            n_made = per_world(_NumbersMade)
            if n_made[current().rank] >= _LARGEST_NUMBER:
                raise RuntimeError(f"a rank can have {_LARGEST_NUMBER} operations of its own at a time: Free one")
            n_made[current().rank] += 1
        operation = Operation(
            name=getattr(function, "__name__", "function"),
            on_objects=lambda x, y: function(x, y, None),
            is_commutative=bool(commute),
            function=function,
        )
        return cls._of(operation)

    @mpi_question
    def Free(self) -> None:
        """Free the operation; predefined ones cannot be freed."""
        if self._operation.function is None:
            fail("ERR_OP", f"{self._operation.name} is predefined and cannot be freed")
        if is_running():
            per_world(_NumbersMade)[current().rank] -= 1
        self._become_null()

    @mpi_call
    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Reduce the entries of two buffers into the second one; entries of the first are the left operands.

        Parameters
        ----------
        inbuf, inoutbuf : buffer-like or sequence
            Message specifications of the same number of entries of one datatype.
        """
        left, right = part_of(inbuf, is_written=False), part_of(inoutbuf, is_written=True)
        if left.datatype != right.datatype:
            raise ValueError("mismatch in inbuf and inoutbuf MPI datatypes")
        if left.count != right.count:
            raise ValueError(f"mismatch in inbuf count {left.count} and inoutbuf count {right.count}")
        operation = self._operation
        check_defined(operation, right.layout)
        if is_running() and current().charges_data:
            current().spend_on_reduction(left.nbytes)
        fold = ReductionInProgress(operation, right.layout, 2)
        fold.put(0, left.carried())
        fold.put(1, right.carried())
        right.put(fold.result(operation))

    def __reduce__(self) -> str | tuple[Any, ...]:
        operation = self._operation_or_null
        if operation is None or operation.function is None or self._is_by_number:
            return super().__reduce__()
        return type(self).Create, (operation.function, operation.is_commutative)

    def Is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self._operation.is_commutative

    @property
    def is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.Is_commutative()

    @property
    def is_predefined(self) -> bool:
        """Whether the operation is predefined."""
        return self._operation_or_null is None or self._operation_or_null.function is None


PREDEFINED: Final[dict[str, Op]] = {name: Op._of(operation) for name, operation in BUILT_IN.items()}
"""Predefined operations by their names in `mpi4py.MPI`."""
Op._know(PREDEFINED)

OP_NULL, SUM, MAX, MIN = (PREDEFINED[name] for name in ("OP_NULL", "SUM", "MAX", "MIN"))
