"""Collectives on buffers: parse, meet, take the time, take the result."""

from __future__ import annotations

from typing import Any

from smpy.engine.kernel import surface
from smpy.engine.running import mpi_call
from smpy.mpi.buffers import is_in_place
from smpy.mpi.comm_core import CommCore, check_root, member_of, perform
from smpy.mpi.datatypes import Datatype, of_format
from smpy.mpi.exceptions import fail
from smpy.mpi.folds import Fold, check_defined
from smpy.mpi.gathering import NOT_COMPARED, OpenCollective, Signature, enter
from smpy.mpi.messages import Part, message_of
from smpy.mpi.operations import SUM, Op
from smpy.mpi.world import Communicator

__all__ = ["Blocks", "Collectives"]


class Blocks:
    """What each rank has left, in rank order; None until it has, and for folded memory.

    Parameters
    ----------
    n : int
        Number of blocks.
    """

    __slots__ = ("_joined", "at", "has_void")

    def __init__(self, n: int) -> None:
        self.at: list[bytes | None] = [None] * n
        self.has_void = False
        self._joined: bytes | None = None

    def leave(self, rank: int, carried: memoryview | None) -> None:
        """Take a copy of a rank's block; None when it is folded memory."""
        self.has_void |= carried is None
        self.at[rank] = None if carried is None else bytes(carried)

    def deliver(self, part: Part) -> None:
        """Put all blocks into `part`, once all ranks have left theirs."""
        if self.has_void:
            for rank, block in enumerate(self.at):
                part.put(block, rank)
            return
        if self._joined is None:
            self._joined = b"".join(block for block in self.at if block is not None)
            self.at = []
        part.put(self._joined)


class Collectives(CommCore):
    """Collective calls on buffers."""

    __slots__ = ()

    @mpi_call
    def Barrier(self) -> None:
        """Wait until all ranks have come."""
        self._barrier("Barrier")

    def _barrier(self, call: str) -> None:
        communicator, rank = member_of(self, call)
        meeting = enter(communicator, rank, Signature("Barrier"), object)
        perform(meeting, communicator, "barrier", 0, 0, call)
        meeting.leave()

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Give all ranks what the root has in its buffer."""
        communicator, rank = member_of(self, "Bcast")
        check_root(communicator, root, "Bcast")
        part = message_of(buf, is_written=rank != root)
        meeting = enter(communicator, rank, Signature("Bcast", root, part.nbytes), Blocks, 1)
        if rank == root:
            meeting.payload.leave(0, part.carried())
        perform(meeting, communicator, "bcast", root, part.nbytes, "Bcast")
        if rank != root:
            meeting.payload.deliver(part)
        meeting.leave()

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the blocks of all ranks, in rank order, into the root's buffer."""
        communicator, rank = member_of(self, "Gather")
        check_root(communicator, root, "Gather")
        into = message_of(recvbuf, is_written=True, n_blocks=communicator.size) if rank == root else None
        out = _own_block(sendbuf, into, rank, "Gather")
        meeting = enter(communicator, rank, Signature("Gather", root, out.nbytes), Blocks, communicator.size)
        meeting.payload.leave(rank, out.carried())
        perform(meeting, communicator, "gather", root, out.nbytes, "Gather")
        if into is not None:
            meeting.payload.deliver(into)
        meeting.leave()

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the blocks of all ranks, in rank order, into every rank's buffer."""
        communicator, rank = member_of(self, "Allgather")
        into = message_of(recvbuf, is_written=True, n_blocks=communicator.size)
        out = _own_block(sendbuf, into, rank, "Allgather")
        meeting = enter(communicator, rank, Signature("Allgather", nbytes=out.nbytes), Blocks, communicator.size)
        meeting.payload.leave(rank, out.carried())
        perform(meeting, communicator, "allgather", 0, out.nbytes, "Allgather")
        meeting.payload.deliver(into)
        meeting.leave()

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its block of the root's buffer."""
        communicator, rank = member_of(self, "Scatter")
        check_root(communicator, root, "Scatter")
        out = message_of(sendbuf, is_written=False, n_blocks=communicator.size) if rank == root else None
        into = None if rank == root and is_in_place(recvbuf) else message_of(recvbuf, is_written=True)
        nbytes = out.nbytes if out is not None else into.nbytes if into is not None else 0
        if into is not None and into.nbytes != nbytes:
            _fail_block(into.nbytes, nbytes, "Scatter")
        meeting = enter(communicator, rank, Signature("Scatter", root, nbytes), Blocks, 1)
        if out is not None:
            meeting.payload.leave(0, out.carried(n_blocks=communicator.size))
        perform(meeting, communicator, "scatter", root, nbytes, "Scatter")
        whole = meeting.payload.at[0]
        if into is not None:
            into.put(None if whole is None else memoryview(whole)[rank * nbytes : (rank + 1) * nbytes])
        meeting.leave()

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into the root's."""
        communicator, rank = member_of(self, "Reduce")
        check_root(communicator, root, "Reduce")
        into = message_of(recvbuf, is_written=True) if rank == root else None
        _reduce(communicator, rank, sendbuf, into, op, "Reduce", root)

    @mpi_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into every rank's."""
        communicator, rank = member_of(self, "Allreduce")
        if surface is not None:
            plain = surface.contents(sendbuf, recvbuf)
            if plain is not None:
                _allreduce_plain(communicator, rank, plain[1], of_format(plain[0]), recvbuf, op)
                return
        into = message_of(recvbuf, is_written=True)
        _reduce(communicator, rank, sendbuf, into, op, "Allreduce", NOT_COMPARED)


def _reduce(
    communicator: Communicator, rank: int, sendbuf: Any, into: Part | None, op: Op, call: str, root: int
) -> None:
    out = into if into is not None and is_in_place(sendbuf) else message_of(sendbuf, is_written=False)
    if into is not None:
        _check_equal(out, into)
    meeting = _folded(communicator, rank, out.carried(), out.nbytes, out.datatype, op, call, root)
    if into is not None:
        into.put(meeting.payload.result(op.operation))
    meeting.leave()


def _allreduce_plain(
    communicator: Communicator, rank: int, content: bytes, datatype: Datatype, recvbuf: Any, op: Op
) -> None:
    """`Allreduce` of plain buffers, which the compiled surface has seen to be alike."""
    meeting = _folded(communicator, rank, content, len(content), datatype, op, "Allreduce", NOT_COMPARED)
    result = meeting.payload.result(op.operation)
    if result is not None and not surface.replace(recvbuf, result):
        message_of(recvbuf, is_written=True).put(result)
    meeting.leave()


def _folded(
    communicator: Communicator,
    rank: int,
    carried: bytes | memoryview | None,
    nbytes: int,
    datatype: Datatype,
    op: Op,
    call: str,
    root: int,
) -> OpenCollective:
    """The reduction after this rank's part in it."""
    operation, layout = op.operation, datatype.layout
    check_defined(operation, layout)
    signature = Signature(call, root, nbytes, operation.name, layout.typestr)
    meeting = enter(communicator, rank, signature, Fold, operation, datatype, communicator.size)
    meeting.payload.put(rank, carried)
    perform(meeting, communicator, call.lower(), max(root, 0), nbytes, call, operation.is_commutative)
    return meeting


def _own_block(sendbuf: Any, into: Part | None, rank: int, call: str) -> Part:
    """The block that a rank gives: its send buffer, or in place its own block of the receive buffer."""
    if into is None or not is_in_place(sendbuf):
        out = message_of(sendbuf, is_written=False)
        if into is not None and out.nbytes != into.nbytes:
            _fail_block(out.nbytes, into.nbytes, call)
        return out
    return Part(into.memory, into.start + rank * into.count * into.layout.extent, into.count, into.datatype)


def _fail_block(nbytes: int, expected: int, call: str) -> None:
    fail("ERR_TRUNCATE", f"{call}: a block of {nbytes} bytes where blocks of {expected} bytes are expected")


def _check_equal(out: Part, into: Part) -> None:
    if out.layout is not into.layout:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if out.count != into.count:
        raise ValueError(f"mismatch in send count {out.count} and receive count {into.count}")
