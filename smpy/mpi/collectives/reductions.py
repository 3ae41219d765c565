"""Collectives that reduce: Reduce, Allreduce, Reduce_scatter and its block form, Scan, Exscan."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from operator import index
from typing import Any, ClassVar

from smpy.engine.messages import Carried, PartialBytes, piece_of
from smpy.mpi.collectives.call import CollectiveCall, both_sides, root_of
from smpy.mpi.collectives.data_movement import Allgather
from smpy.mpi.collectives.open_collective import NOT_COMPARED, OpenCollective, Signature
from smpy.mpi.collectives.size_checks import BlockSizes, sizes_between
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.operations import Op, Operation
from smpy.mpi.data.reductions import Prefixes, ReductionInProgress, check_defined
from smpy.mpi.state.comm_core import CommCore

__all__ = ["Allreduce", "Exscan", "Reduce", "ReduceScatter", "ReduceScatterBlock", "Scan"]


class _Reduction(CollectiveCall):
    """A collective that reduces entries: the rank's operand, and the buffer for its result."""

    __slots__ = ("_into", "_layout", "_operation", "_out", "facts")

    _operation: Operation
    _layout: Layout
    _out: BufferSegment | None
    _into: BufferSegment | None

    def __init__(self, comm: CommCore, op: Op, call: str) -> None:
        super().__init__(comm, call)
        self._operation = op._operation
        self._out = self._into = None
        self.signature = Signature(call)

    def _reduce(
        self, out: BufferSegment | None, into: BufferSegment | None, whole: BufferSegment, member: int = NOT_COMPARED
    ) -> None:
        """Set the rank's operand and result, of a vector like `whole`, and the root's `member`."""
        operation, layout = self._operation, whole.layout
        check_defined(operation, layout)
        self._out, self._into, self._layout = out, into, layout
        is_derived = not layout.is_basic
        typestr = "" if is_derived else layout.typestr
        self.nbytes = whole.nbytes
        self.signature = Signature(self.signature.call, member, whole.nbytes, operation.name, typestr)
        self.facts = {
            "commutative": operation.is_commutative,
            "item_bytes": max(layout.size, 1),
            "n_entries": whole.count,
            "is_predefined": operation.function is None,
            "is_derived": is_derived,
        }

    def new_payload(self) -> list[Any]:
        """A list for the reduction of each side, filled by the first rank that gives entries."""
        return []

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave the entries: a copy, unless nobody leaves a blocking one before all have come."""
        out, communicator = self._out, self.communicator
        if out is not None:
            if not collective.payload:
                new_fold = partial(self._new_fold, self._operation, self._layout)
                collective.payload.extend(both_sides(communicator, new_fold))
            is_lent = is_blocking and self._is_for_all and not communicator.is_inter
            collective.payload[communicator.side].put(self.rank, out.carried_in_time(), is_lent=is_lent)

    _is_for_all: ClassVar[bool] = True
    _new_fold: ClassVar[type[ReductionInProgress | Prefixes]] = ReductionInProgress

    def _result(self, collective: OpenCollective) -> bytes | PartialBytes | None:
        """The reduction of the entries of the remote side, which is the own one in an intracommunicator."""
        result: bytes | PartialBytes | None = collective.payload[self.communicator.remote.side].result(self._operation)
        return result

    @property
    def own_bytes(self) -> int:
        """The operand, which the reduction must not change."""
        is_in_place_here = self._into is not None and self._out is not None and self._out.memory is self._into.memory
        return 0 if self._out is None or is_in_place_here else self._out.nbytes

    def take(self, collective: OpenCollective) -> None:
        """Put the reduction where the program wants it, if it does and there is any."""
        if self._into is not None and self._into.nbytes:
            self._into.put_in_time(self._result(collective))


class Reduce(_Reduction):
    """The reduction of all for the root."""

    __slots__ = ("is_idle",)
    op = "reduce"
    _is_for_all = False

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, op: Op, root: int, call: str) -> None:
        super().__init__(comm, op, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root, self.facts = where.is_idle, root, {}
        if where.is_idle:
            return
        into = part_of(recvbuf, is_written=True) if where.is_here else None
        if into is not None and communicator.is_inter:
            self._reduce(None, into, into, where.member)
        else:
            out = _operand(sendbuf, into)
            self._reduce(out, into, out, where.member)


class Allreduce(_Reduction):
    """The reduction over all ranks, for every rank; between groups, over the other group."""

    __slots__ = ()
    op = "allreduce"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, op: Op, call: str) -> None:
        super().__init__(comm, op, call)
        into = part_of(recvbuf, is_written=True)
        self._reduce(_operand(sendbuf, into, is_inter=self.communicator.is_inter), into, into)


class ReduceScatterBlock(_Reduction):
    """Equal shares of the reduction over all ranks; between groups, over the other group."""

    __slots__ = ()
    op = "reduce_scatter_block"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, op: Op, call: str) -> None:
        super().__init__(comm, op, call)
        communicator = self.communicator
        n = communicator.size
        if not communicator.is_inter and is_in_place(sendbuf):
            into = out = part_of(recvbuf, is_written=True, n_blocks=n)
        else:
            into = part_of(recvbuf, is_written=True)
            out = part_of(sendbuf, is_written=False, n_blocks=n)
            _check_equal(out, into)
        whole = BufferSegment(out.memory, out.start, n * out.count, out.datatype)
        self._reduce(whole, into, whole)
        self.nbytes = whole.nbytes if communicator.is_inter else into.nbytes

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes its share."""
        into = self._into
        if into is not None and into.nbytes:
            start = self.rank * into.nbytes
            into.put_in_time(_piece(self._result(collective), start, start + into.nbytes))


class _SharedFold(ReductionInProgress):
    """A reduction, and the sizes of its shares as the ranks give them."""

    __slots__ = ("shares",)

    def __init__(self, operation: Operation, layout: Layout, n_ranks: int) -> None:
        super().__init__(operation, layout, n_ranks)
        self.shares = BlockSizes(n_ranks)


class ReduceScatter(_Reduction):
    """Shares of given sizes of the reduction over all ranks; between groups, over the other group."""

    __slots__ = ("_offsets", "tables")
    op = "reduce_scatter"
    _is_for_all = False  # a rank whose share is empty may leave first
    _new_fold = _SharedFold

    def __init__(
        self, comm: CommCore, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None, op: Op, call: str
    ) -> None:
        super().__init__(comm, op, call)
        communicator, rank = self.communicator, self.rank
        into = part_of(recvbuf, is_written=True)
        is_in_place_here = not communicator.is_inter and is_in_place(sendbuf)
        out = into if is_in_place_here else part_of(sendbuf, is_written=False)
        if recvcounts is None and not communicator.is_inter and not is_in_place_here:
            recvcounts = _counts_of_all(comm, into.count, call)
        counts = _checked_counts(recvcounts, communicator.size)
        if is_in_place_here:
            _check_sum(into, "receive", counts)
            into = BufferSegment(into.memory, into.start, counts[rank], into.datatype)
        else:
            _check_datatypes(out, into)
            _check_sum(out, "send", counts)
            if into.count != counts[rank]:
                raise ValueError(f"mismatch in receive count {into.count} and counts[{rank}] {counts[rank]}")
        self._reduce(out, into, out)
        self._offsets = array("q", accumulate((count * out.layout.size for count in counts), initial=0))
        self.tables = (self._offsets,)
        self.nbytes = out.nbytes if communicator.is_inter else into.nbytes
        self.facts |= {"total_bytes": out.nbytes, "are_equal": len(set(counts)) == 1}

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave the entries, and state the sizes of the shares."""
        super().give(collective, is_blocking=is_blocking)
        communicator = self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        shared = collective.payload[communicator.remote.side]
        shared.shares.say_all(collective, member, sizes_between(self._offsets), is_sent=True)

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes its share."""
        into = self._into
        if into is not None and into.nbytes:
            into.put_in_time(_piece(self._result(collective), self._offsets[self.rank], self._offsets[self.rank + 1]))


class _Running(_Reduction):
    """A reduction that gives every rank another result."""

    __slots__ = ()
    _is_for_all = False
    _new_fold = Prefixes

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, op: Op, call: str) -> None:
        super().__init__(comm, op, call)
        into = part_of(recvbuf, is_written=True)
        self._reduce(_operand(sendbuf, into), into, into)

    def _up_to(self, collective: OpenCollective, rank: int) -> None:
        """Put the reduction of ranks 0 to `rank` where the program wants it."""
        if self._into is not None and self._into.nbytes:
            self._into.put_in_time(collective.payload[0].up_to(rank, self._operation))


class Scan(_Running):
    """For each rank, the reduction over itself and all lower ranks."""

    __slots__ = ()
    op = "scan"

    def take(self, collective: OpenCollective) -> None:
        """Take the reduction up to this rank, which needs no later ranks."""
        self._up_to(collective, self.rank)


class Exscan(_Running):
    """For each rank, the reduction over all lower ranks."""

    __slots__ = ()
    op = "exscan"

    def take(self, collective: OpenCollective) -> None:
        """Take the reduction before this rank, which needs no later ranks; rank 0 takes nothing."""
        if self.rank > 0:
            self._up_to(collective, self.rank - 1)


def _piece(result: bytes | PartialBytes | None, start: int, end: int) -> Carried | None:
    return None if result is None else piece_of(result, start, end)


def _operand(sendbuf: Any, into: BufferSegment | None, *, is_inter: bool = False) -> BufferSegment:
    """A rank's operand: its send buffer, or its receive buffer for ``IN_PLACE``."""
    if into is not None and not is_inter and is_in_place(sendbuf):
        return into
    out = part_of(sendbuf, is_written=False)
    if into is not None:
        _check_equal(out, into)
    return out


def _counts_of_all(comm: CommCore, count: int, call: str) -> array[int]:
    """The shares as the ranks' receive buffers say them, gathered as mpi4py does."""
    shares = array("q", bytes(8 * comm.size))
    Allgather(comm, array("q", [count]), shares, f"{call}'s Allgather of counts").perform()
    return shares


def _checked_counts(counts: Sequence[int] | None, n: int) -> list[int]:
    if counts is None:
        raise TypeError("recvcounts: these ranks need a count each, not None")
    if len(counts) != n:
        raise ValueError(f"recvcounts: expecting {n} items, got {len(counts)}")
    return list(map(index, counts))


def _check_sum(part: BufferSegment, what: str, counts: Sequence[int]) -> None:
    if part.count != sum(counts):
        raise ValueError(f"mismatch in {what} count {part.count} and sum(counts) {sum(counts)}")


def _check_datatypes(out: BufferSegment, into: BufferSegment) -> None:
    if out.layout is not into.layout:
        raise ValueError("mismatch in send and receive MPI datatypes")


def _check_equal(out: BufferSegment, into: BufferSegment) -> None:
    _check_datatypes(out, into)
    if out.count != into.count:
        raise ValueError(f"mismatch in send count {out.count} and receive count {into.count}")
