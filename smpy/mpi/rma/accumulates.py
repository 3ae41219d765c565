"""Accumulates: accesses that combine entries with another rank's part of a window, atomically per entry.

An accumulate sends one message and waits until its data has arrived. One that also fetches exchanges two messages in
turn, and keeps other fetching accumulates out of the target's part meanwhile. Entries change when the last message
arrives.
"""

from __future__ import annotations

from typing import Any

from smpy.engine.messages import Load, copied, piece_of
from smpy.engine.running import current, mpi_call
from smpy.mpi.comms.collective_handles import CollectiveHandle
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.message_specifications import to_fill, to_send
from smpy.mpi.data.operations import PREDEFINED, SUM, Op
from smpy.mpi.data.reductions import ReductionInProgress, check_defined
from smpy.mpi.requests.request import Request, to_nobody
from smpy.mpi.rma.targets import check_fits, rank_of, target_of
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.exceptions import fail

__all__ = ["Accumulates"]

_REPLACE, _NO_OP = PREDEFINED["REPLACE"], PREDEFINED["NO_OP"]


class Accumulates(CollectiveHandle):
    """Accumulate, Get_accumulate, Fetch_and_op and Compare_and_swap, and the forms with a request."""

    __slots__ = ()

    @mpi_call
    def Accumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM) -> None:
        """Combine entries with those of a rank's part of the window.

        Parameters
        ----------
        origin : buffer-like or sequence
            Message specification of the right operands.
        target_rank : int
            The rank; ``PROC_NULL``: nothing happens.
        target : int or sequence, optional
            Displacement, or [displacement, count, datatype]; without it 0, and as many entries as in `origin`.
        op : Op
            A predefined operation, or ``REPLACE``.

        Raises
        ------
        Exception
            ``ERR_OP``: not a predefined operation, ``NO_OP``, or not defined for these entries; ``ERR_TYPE``: the
            target's entries are of another type; see `Win.Put` for others.
        """
        _accumulate(self._member("Accumulate"), origin, target_rank, target, op, "Win.Accumulate", has_request=False)

    @mpi_call
    def Raccumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM) -> Request:
        """Combine entries with those of a rank's part of the window; the request is complete.

        Parameters
        ----------
        origin, target_rank, target, op
            See `Accumulate`.
        """
        _accumulate(self._member("Raccumulate"), origin, target_rank, target, op, "Win.Raccumulate", has_request=True)
        return to_nobody()

    @mpi_call
    def Get_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM) -> None:
        """Read entries of a rank's part of the window, and combine other entries with them, in one step.

        Parameters
        ----------
        origin : buffer-like or sequence
            Message specification of the right operands; ``NO_OP`` has none.
        result : buffer-like or sequence
            Room for the entries as they were before.
        target_rank, target, op
            See `Accumulate`; ``NO_OP`` only reads.
        """
        _get_accumulate(self._member("Get_accumulate"), origin, result, target_rank, target, op, "Win.Get_accumulate")

    @mpi_call
    def Rget_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM) -> Request:
        """Read entries, and combine other entries with them, in one step; the request is complete.

        Parameters
        ----------
        origin, result, target_rank, target, op
            See `Get_accumulate`.
        """
        part = self._member("Rget_accumulate")
        _get_accumulate(part, origin, result, target_rank, target, op, "Win.Rget_accumulate")
        return to_nobody()

    @mpi_call
    def Fetch_and_op(self, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Op = SUM) -> None:
        """Read one entry of a rank's part of the window, and combine another with it, in one step.

        Parameters
        ----------
        origin, result : buffer-like or sequence
            See `Get_accumulate`; one entry each.
        target_rank : int
            The rank.
        target_disp : int
            Displacement of the entry.
        op : Op
            See `Get_accumulate`.
        """
        call = "Win.Fetch_and_op"
        _get_accumulate(self._member("Fetch_and_op"), origin, result, target_rank, target_disp, op, call, is_one=True)

    @mpi_call
    def Compare_and_swap(self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0) -> None:
        """Read one entry of a rank's part of the window, and replace it when it is equal to another, in one step.

        Parameters
        ----------
        origin, compare : buffer-like or sequence
            Message specifications of the new entry, and of the one to compare with.
        result : buffer-like or sequence
            Room for the entry as it was before.
        target_rank : int
            The rank.
        target_disp : int
            Displacement of the entry.
        """
        _compare_and_swap(self._member("Compare_and_swap"), origin, compare, result, target_rank, target_disp)


def _operation_of(op: Op, origin: BufferSegment, call: str) -> Op:
    """`op`, after a check that it applies to entries of the origin's datatype."""
    operation = op._operation
    if not op.is_predefined:
        fail("ERR_OP", f"{call}: {operation.name} is a program's own operation: accumulates take predefined ones")
    if origin.nbytes and op not in (_REPLACE, _NO_OP):
        check_defined(operation, _operand_layout(origin))
    return op


def _operand_layout(segment: BufferSegment) -> Layout:
    """Layout of one operand: that of the elements of a segment's entries, which are all alike (MPI 4.1, 12.3.4)."""
    return segment.layout.basic or segment.layout


def _check_operands(op: Op, origin: BufferSegment, target: BufferSegment, rank: int, call: str) -> None:
    """Raise unless the origin's elements fit in the target, and an operation on them finds others of their type."""
    check_fits(call, rank, origin=origin, target=target)
    mine, there = _operand_layout(origin), _operand_layout(target)
    if origin.nbytes and op not in (_REPLACE, _NO_OP) and mine.typestr != there.typestr:
        names = " and ".join(layout.name or "a derived datatype" for layout in (mine, there))
        fail("ERR_TYPE", f"{call}(rank={rank}): origin and target have elements of different types: {names}")


def _check_entries(call: str, **segments: BufferSegment) -> None:
    """Raise ``ValueError`` unless each segment is one entry, all of one datatype."""
    for name, segment in segments.items():
        if segment.count != 1:
            raise ValueError(f"{call}: {name}: expecting a single element, got {segment.count}")
        if segment.datatype != segments["origin"].datatype:
            raise ValueError(f"{call}: mismatch in origin and {name} MPI datatypes")


def _combine(op: Op, origin: BufferSegment, target: BufferSegment) -> None:
    """Store the reduction of target and origin, in this order, in the target."""
    if op == _NO_OP or not origin.nbytes:
        return
    if op == _REPLACE:
        target.copy_from(origin)
        return
    operation = op._operation
    fold = ReductionInProgress(operation, _operand_layout(origin), 2)
    there = target.carried()
    fold.put(0, there if there is None else piece_of(there, 0, origin.nbytes))
    fold.put(1, origin.carried())
    target.put(fold.result(operation))


def _accumulate(part: WindowPart, origin: Any, rank: Any, target: Any, op: Op, call: str, *, has_request: bool) -> None:
    rank = rank_of(part, rank, call)
    if rank == PROC_NULL:
        return
    source = to_send(origin, call)
    part.epochs.check_access(rank, call)
    op = _operation_of(op, source, call)
    if op == _NO_OP:
        fail("ERR_OP", f"{call}: NO_OP is for calls that fetch")
    room = target_of(part, rank, target, source, call)
    _check_operands(op, source, room, rank, call)
    engine = current()
    _start_accumulate(part, rank, source.nbytes, has_request=has_request)
    engine.block(call)
    _combine(op, source, room)


def _start_accumulate(part: WindowPart, rank: int, nbytes: int, *, has_request: bool) -> None:
    """Append the access and its completion."""
    engine, window = current(), part.communicator.number
    engine.accumulate(window, rank, nbytes, has_request=has_request)
    part.append_flush(rank)


def _get_accumulate(
    part: WindowPart,
    origin: Any,
    result: Any,
    rank: Any,
    target: Any,
    op: Op,
    call: str,
    *,
    is_one: bool = False,
) -> None:
    rank = rank_of(part, rank, call)
    if rank == PROC_NULL:
        return
    room = to_fill(result, call)
    source = room if op == _NO_OP and not is_one else to_send(origin, call)
    if is_one:
        _check_entries(call, origin=source, result=room)
    part.epochs.check_access(rank, call)
    op = _operation_of(op, source, call)
    place = target_of(part, rank, target, source, call)
    if op != _NO_OP:
        _check_operands(op, source, place, rank, call)
    check_fits(call, rank, target=place, result=room)
    engine, window = current(), part.communicator.number
    engine.begin_atomic(window, rank)
    number = engine.fetch(window, rank, place.nbytes) if rank != part.rank else 0
    if op != _NO_OP:
        _start_accumulate(part, rank, source.nbytes, has_request=True)
    part.catch_up(call)
    engine.release(number)
    if op == _NO_OP:
        room.copy_from(place)
    else:
        before = copied(place.carried())
        _combine(op, source, place)
        room.put(before)
    engine.end_atomic(window, rank)


def _compare_and_swap(part: WindowPart, origin: Any, compare: Any, result: Any, rank: Any, displacement: Any) -> None:
    call = "Win.Compare_and_swap"
    rank = rank_of(part, rank, call)
    if rank == PROC_NULL:
        return
    source, expected, room = to_send(origin, call), to_send(compare, call), to_fill(result, call)
    _check_entries(call, origin=source, compare=expected, result=room)
    part.epochs.check_access(rank, call)
    place = target_of(part, rank, displacement, source, call)
    engine, window = current(), part.communicator.number
    engine.begin_atomic(window, rank)
    number = engine.fetch(window, rank, place.nbytes) if rank != part.rank else 0
    part.catch_up(call)
    engine.release(number)
    before = copied(place.carried())
    if before is not None:
        if before == copied(expected.carried()):
            place.copy_from(source)
            if rank != part.rank:
                engine.put(window, rank, Load(place.nbytes), has_request=False)
                part.epochs.note_access(rank)
        room.put(before)
    engine.end_atomic(window, rank)
