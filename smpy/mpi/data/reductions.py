"""Reductions: contributions of all ranks folded strictly from the left in rank order, for all operations and datatypes.

Floating-point sums depend on their order, so the order is the same for every algorithm and every order of
arrival: ((a0 + a1) + a2) + ... numpy's `reduce` is not used, because it sums in pairs where it can.

A contribution is folded at once when those before it have been, and kept otherwise; so only waiting contributions are
kept. A program's own operation runs when the first rank needs the result, as that rank's, on copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smpy.engine.messages import Carried, PartialBytes, Ranges
from smpy.mpi.data.built_in_operations import Operation
from smpy.mpi.data.datatypes import Datatype
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.packing import gathered, spread
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Prefixes", "ReductionInProgress", "check_defined"]

_WIDE_BYTES = 4096
"""Size from which contributions are folded one by one, without a copy; shorter ones are folded in groups."""
_BATCH_BYTES = 1 << 20


def check_defined(operation: Operation, layout: Layout) -> None:
    """Raise ``ERR_OP`` when an operation is not defined for a datatype."""
    if operation.function is None and layout.kind not in operation.kinds:
        defined = ", ".join(sorted(operation.kinds)) or "one-sided accumulation"
        what = f"{layout.name} ({layout.kind})" if layout.name else "a derived datatype"
        fail("ERR_OP", f"{operation.name} is not defined for {what}, only for {defined}")


class Operand(bytearray):
    """Operand of a program's own operation: bytes that can be read, written and viewed as an array."""

    format = "B"
    itemsize = 1
    readonly = False

    @property
    def nbytes(self) -> int:
        """Length."""
        return len(self)

    def cast(self, item_format: str, *shape: Any) -> memoryview:
        """The bytes as items of another format."""
        return memoryview(self).cast(item_format, *shape)  # type: ignore[call-overload, no-any-return]

    def tobytes(self, order: str | None = None) -> bytes:
        """A copy of the bytes."""
        return bytes(self)


class ReductionInProgress:
    """A reduction that has not received all contributions yet, or whose result is still needed.

    Parameters
    ----------
    operation : Operation
        Operation of the reduction.
    layout : Layout
        Layout of an entry; the program may free its datatype meanwhile.
    n_ranks : int
        Number of contributions.
    """

    __slots__ = (
        "_accumulated",
        "_is_void",
        "_kept",
        "_kept_bytes",
        "_layout",
        "_next",
        "_operation",
        "_private",
        "_result",
    )

    def __init__(self, operation: Operation, layout: Layout, n_ranks: int) -> None:
        self._operation = operation
        self._layout = layout
        self._kept: list[bytes | memoryview | None] = [None] * n_ranks
        self._kept_bytes = 0
        self._next = 0
        self._accumulated: NDArray[Any] | None = None
        self._is_void = False
        self._private: Ranges | None = None
        self._result: bytes | PartialBytes | None = None

    def put(self, rank: int, carried: Carried | None, *, is_lent: bool = False) -> None:
        """Take the contribution of `rank`; folded memory (None) leaves the reduction without a result.

        Entries that have no content in one contribution have none in the result.

        Parameters
        ----------
        rank : int
            Rank that contributes.
        carried : bytes, memoryview or partial bytes
            Packed entries of the rank.
        is_lent : bool
            Whether the bytes stay unchanged until a rank takes the result; otherwise they are copied.
        """
        if carried is None or self._is_void:
            self._is_void = True
            self._kept = []
            self._accumulated = None
            return
        if isinstance(carried, PartialBytes):
            self._private = _common(self._private, carried.private)
            carried = carried.data
        is_own = self._operation.function is not None
        nbytes = carried.nbytes if isinstance(carried, memoryview) else len(carried)
        if rank == self._next and nbytes >= _WIDE_BYTES and not is_own:
            self._accumulated = _folded(self._operation, self._layout, self._accumulated, [carried])
            self._next += 1
            return
        self._kept[rank] = carried if is_lent else bytes(carried)
        self._kept_bytes += nbytes
        if self._kept_bytes > _BATCH_BYTES and not is_own and self._kept[self._next] is not None:
            self._fold_kept()

    def _fold_kept(self) -> None:
        end = self._next
        while end < len(self._kept) and self._kept[end] is not None:
            end += 1
        rows = [row for row in self._kept[self._next : end] if row is not None]
        self._accumulated = _folded(self._operation, self._layout, self._accumulated, rows)
        self._kept[self._next : end] = [None] * (end - self._next)
        self._kept_bytes -= sum(memoryview(row).nbytes for row in rows)
        self._next = end

    def result(self, operation: Operation) -> bytes | PartialBytes | None:
        """Result of the reduction once every rank has contributed; None when some contributed folded memory.

        Parameters
        ----------
        operation : Operation
            The calling rank's handle on it: a program's own operation is called as that rank's.
        """
        if self._result is None and not self._is_void:
            if operation.function is not None:
                self._result = _folded_by_program(operation, self._layout, [row or b"" for row in self._kept])
            else:
                if self._next < len(self._kept):
                    self._fold_kept()
                assert self._accumulated is not None
                self._result = self._accumulated.tobytes()
            self._kept = []
            self._accumulated = None
            if self._private is not None:
                self._result = _restricted(self._result, self._private, self._layout)
        return self._result


class Prefixes:
    """Reductions of ranks 0 to r for each rank r, computed in rank order as far as needed.

    Parameters
    ----------
    operation : Operation
        Operation of the reduction.
    layout : Layout
        Layout of an entry; the program may free its datatype meanwhile.
    n_ranks : int
        Number of contributions.
    """

    __slots__ = ("_first_void", "_layout", "_n_done", "_operation", "_private", "_rows")

    def __init__(self, operation: Operation, layout: Layout, n_ranks: int) -> None:
        self._operation = operation
        self._layout = layout
        self._rows: list[bytes | memoryview | None] = [None] * n_ranks
        """Reductions of the first `_n_done` ranks, then the contributions of later ranks; None for missing ones."""
        self._n_done = 0
        self._first_void = n_ranks
        self._private: dict[int, Ranges] = {}
        """Ranges of bytes with content, for ranks that contribute partial bytes."""

    def put(self, rank: int, carried: memoryview | PartialBytes | None, *, is_lent: bool = False) -> None:
        """Take the contribution of `rank`, as `ReductionInProgress` does; there is no result after folded memory."""
        if carried is None:
            self._first_void = min(self._first_void, rank)
            return
        if isinstance(carried, PartialBytes):
            self._private[rank] = carried.private
            self._rows[rank] = carried.data if is_lent else bytes(carried.data)
        else:
            self._rows[rank] = carried if is_lent else bytes(carried)

    def up_to(self, rank: int, operation: Operation) -> Carried | None:
        """Reduction of ranks 0 to `rank`, which have all contributed; None when some contributed folded memory.

        Parameters
        ----------
        rank : int
            The last rank.
        operation : Operation
            The calling rank's handle on it: a program's own operation is called as that rank's, and only up to `rank`.
        """
        if rank >= self._first_void:
            return None
        if rank >= self._n_done:
            self._extend(rank, operation)
        row = self._rows[rank]
        private: Ranges | None = None
        for place in (place for place in self._private if place <= rank):
            private = _common(private, self._private[place])
        return row if row is None or private is None else _restricted(row, private, self._layout)

    def _extend(self, rank: int, operation: Operation) -> None:
        first = max(self._n_done - 1, 0)
        if operation.function is not None:
            for i in range(first + 1, rank + 1):
                pair = [self._rows[i - 1] or b"", self._rows[i] or b""]
                self._rows[i] = _folded_by_program(operation, self._layout, pair)
                self._n_done = i + 1
            return
        end = rank + 1
        while end < self._first_void and self._rows[end] is not None:
            end += 1
        rows = [row or b"" for row in self._rows[first:end]]
        self._rows[first:end] = _running(operation, self._layout, rows)
        self._n_done = end


def _common(a: Ranges | None, b: Ranges) -> Ranges:
    """Intersection of two sets of ranges; None stands for all bytes."""
    if a is None:
        return b
    common, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        first, last = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if first < last:
            common.append((first, last))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return common


def _restricted(result: bytes | memoryview, private: Ranges, layout: Layout) -> PartialBytes:
    """Result in which only entries that lie completely within `private` have content."""
    size = layout.size
    whole = ((-(-first // size) * size, last // size * size) for first, last in private)
    return PartialBytes(result, [(first, last) for first, last in whole if first < last])


def _folded_by_program(operation: Operation, layout: Layout, rows: Sequence[bytes | memoryview]) -> bytes:
    assert operation.function is not None
    typemap, size = layout.typemap, layout.size
    accumulated = Operand(spread(typemap, rows[0]))
    for row in rows[1:]:
        into = Operand(spread(typemap, row))
        operation.function(accumulated, into, Datatype._of(layout))
        accumulated = into
    return bytes(gathered(typemap, accumulated, memoryview(rows[0]).nbytes // size if size else 0))


def _folded(
    operation: Operation, layout: Layout, accumulated: NDArray[Any] | None, rows: Sequence[bytes | memoryview]
) -> NDArray[Any]:
    """Fold `rows` into `accumulated` from left to right; `accumulated` is overwritten."""
    import numpy as np

    joined = rows[0] if len(rows) == 1 else b"".join(rows)
    arrays = np.frombuffer(joined, _dtype(layout)).reshape(len(rows), -1)
    if accumulated is None:
        accumulated, arrays = arrays[0].copy(), arrays[1:]
    if not len(arrays) or not accumulated.size:
        return accumulated
    ufunc = getattr(np, operation.ufunc)
    with np.errstate(all="ignore"):  # no warnings, as in C
        if layout.kind == "pair":
            return _folded_pairs(ufunc, accumulated, arrays)
        if accumulated.nbytes >= _WIDE_BYTES or len(arrays) == 1:
            for row in arrays:
                ufunc(accumulated, row, out=accumulated)
            return accumulated
        last: NDArray[Any] = _accumulate(operation, np.concatenate([accumulated[None, :], arrays]))[-1]
        return last


def _running(operation: Operation, layout: Layout, rows: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """Reductions of the first row, the first two rows, and so on."""
    import numpy as np

    if layout.kind != "pair" and memoryview(rows[0]).nbytes < _WIDE_BYTES:
        whole = np.frombuffer(b"".join(rows), _dtype(layout)).reshape(len(rows), -1)
        with np.errstate(all="ignore"):  # no warnings, as in C
            return [rows[0], *(row.tobytes() for row in _accumulate(operation, whole)[1:])]
    accumulated = _folded(operation, layout, None, rows[:1])
    running = [rows[0]]
    for row in rows[1:]:
        accumulated = _folded(operation, layout, accumulated, [row])
        running.append(accumulated.tobytes())
    return running


def _accumulate(operation: Operation, rows: NDArray[Any]) -> NDArray[Any]:
    """Reductions of each row with all rows above it."""
    import numpy as np

    in_between = bool if operation.ufunc.startswith("logical") else rows.dtype
    running: NDArray[Any] = getattr(np, operation.ufunc).accumulate(rows, axis=0, dtype=in_between)
    return running.astype(rows.dtype, copy=False)


def _dtype(layout: Layout) -> Any:
    """Type of one entry in numpy, without gaps."""
    import numpy as np

    if layout.kind != "pair":
        return np.dtype(layout.typestr)
    value, location = layout.typestr.split(",")
    return np.dtype([("value", value), ("location", location)])


def _folded_pairs(ufunc: Any, accumulated: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Extreme values, each with the least location among equals; the result is the same in any order."""
    import numpy as np

    whole = np.concatenate([accumulated[None, :], rows])
    values, locations = whole["value"], whole["location"]
    accumulated["value"] = ufunc.reduce(values, axis=0)
    farthest = np.iinfo(locations.dtype).max
    is_extreme = (values == accumulated["value"]) | (values != values)  # a NaN is the extreme, and equals nothing
    accumulated["location"] = np.where(is_extreme, locations, farthest).min(axis=0)
    return accumulated
