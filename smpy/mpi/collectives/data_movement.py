"""Collectives that move blocks of one size: Barrier, Bcast, Gather, Scatter, Allgather, Alltoall."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from smpy.engine.running import current
from smpy.mpi.collectives.blocks import Blocks
from smpy.mpi.collectives.call import CollectiveCall, both_sides, both_ways, equal_offsets, root_of
from smpy.mpi.collectives.open_collective import NOT_COMPARED, OpenCollective, Signature
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.exceptions import fail

__all__ = ["Allgather", "Alltoall", "Barrier", "Bcast", "Gather", "Scatter", "block_of", "check_block", "kept_bytes"]


class Barrier(CollectiveCall):
    """A barrier: no rank goes on before all have come."""

    __slots__ = ()
    op = "barrier"

    def __init__(self, comm: CommCore, call: str) -> None:
        super().__init__(comm, call)
        self.signature = Signature(call)

    def latch(self, collective: OpenCollective) -> int:
        """Opens when the last rank has started its part."""
        if collective.payload is None:
            collective.payload = current().new_latch(self.communicator.joint.n_members)
        latch: int = collective.payload
        return latch


class Bcast(CollectiveCall):
    """A broadcast: the root's entries for all ranks."""

    __slots__ = ("_is_here", "_part", "is_idle")
    op = "bcast"

    def __init__(self, comm: CommCore, buf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        where = root_of(self.communicator, self.rank, root, call)
        self.is_idle, self._is_here, self.root = where.is_idle, where.is_here, root
        if where.is_idle:
            self.signature = Signature(call)
        else:
            self._part = part_of(buf, is_written=not where.is_here)
            self.nbytes = self._part.nbytes
            self.signature = Signature(call, where.member, self.nbytes)

    def new_payload(self) -> Blocks:
        """The root's."""
        return Blocks(1)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy at the root: it may go on first."""
        if self._is_here:
            collective.payload.leave(0, self._part.carried_in_time())

    def take(self, collective: OpenCollective) -> None:
        """Give all other ranks the entries."""
        if not self._is_here:
            collective.payload.deliver(self._part)


class Gather(CollectiveCall):
    """The blocks of all ranks for the root."""

    __slots__ = ("_into", "_out", "is_idle")
    op = "gather"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root = where.is_idle, root
        self._into = self._out = None
        if where.is_here:
            self._into = part_of(recvbuf, is_written=True, n_blocks=communicator.remote.size)
        if not (communicator.is_inter and (where.is_here or where.is_idle)):
            self._out = block_of(sendbuf, self._into, self.rank, call)
        part = self._out or self._into
        self.nbytes = part.nbytes if part is not None else 0
        self.signature = Signature(call, where.member, self.nbytes if part is not None else NOT_COMPARED)

    def new_payload(self) -> Blocks:
        """One block for each rank that sends one."""
        sender = self.communicator if self._out is not None else self.communicator.remote
        return Blocks(sender.size)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy: a rank may go on before the root takes it."""
        if self._out is not None:
            collective.payload.leave(self.rank, self._out.carried_in_time())

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return kept_bytes(self._out, self._into)

    def take(self, collective: OpenCollective) -> None:
        """The root takes all."""
        if self._into is not None:
            collective.payload.deliver(self._into)


class Scatter(CollectiveCall):
    """A block of the root's for each rank."""

    __slots__ = ("_into", "_out", "is_idle")
    op = "scatter"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root = where.is_idle, root
        self._into = self._out = None
        if where.is_here:
            self._out = part_of(sendbuf, is_written=False, n_blocks=communicator.remote.size)
        if not (where.is_here and (communicator.is_inter or is_in_place(recvbuf))) and not where.is_idle:
            self._into = part_of(recvbuf, is_written=True)
        if self._into is not None and self._out is not None:
            check_block(self._into.nbytes, self._out.nbytes, call)
        part = self._out or self._into
        self.nbytes = part.nbytes if part is not None else 0
        self.signature = Signature(call, where.member, self.nbytes if part is not None else NOT_COMPARED)

    def new_payload(self) -> Blocks:
        """All blocks, in one."""
        return Blocks(1)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy at the root: it may go on first."""
        if self._out is not None:
            collective.payload.leave(0, self._out.carried_in_time(n_blocks=self.communicator.remote.size))

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return 0 if self._out is None else kept_bytes(self._into, self._out)

    def take(self, collective: OpenCollective) -> None:
        """Each rank takes its own."""
        if self._into is not None:
            collective.payload.deliver_column(self._into, self.rank)


class Allgather(CollectiveCall):
    """The blocks of all ranks for every rank; between groups, those of the other group."""

    __slots__ = ("_into", "_out", "tables")
    op = "allgather"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        n_blocks, is_inter = self.communicator.remote.size, self.communicator.is_inter
        self._into = part_of(recvbuf, is_written=True, n_blocks=n_blocks)
        self._out = block_of(sendbuf, None if is_inter else self._into, self.rank, call)
        self.nbytes = self._out.nbytes
        sent, back = both_ways(self.communicator, self.nbytes, self._into.nbytes)
        self.signature = Signature(call, nbytes=sent, nbytes_back=back)
        self.tables = (array("q"), equal_offsets(n_blocks, self._into.nbytes)) if is_inter else ()

    def new_payload(self) -> list[Blocks]:
        """One block a rank, by sides."""
        return both_sides(self.communicator, Blocks)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave the block; a blocking call lends it, as no rank of a group leaves before all have come."""
        is_lent = is_blocking and not self.communicator.is_inter
        collective.payload[self.communicator.side].leave(self.rank, self._out.carried_in_time(), is_lent=is_lent)

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return kept_bytes(self._out, self._into)

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes all."""
        collective.payload[self.communicator.remote.side].deliver(self._into)


class Alltoall(CollectiveCall):
    """A block from every rank for every other."""

    __slots__ = ("_into", "_out", "tables")
    op = "alltoall"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        n_blocks, is_inter = self.communicator.remote.size, self.communicator.is_inter
        self._into = part_of(recvbuf, is_written=True, n_blocks=n_blocks)
        if not is_inter and is_in_place(sendbuf):
            self._out = self._into
        else:
            self._out = part_of(sendbuf, is_written=False, n_blocks=n_blocks)
        self.nbytes = self._out.nbytes
        if not is_inter:
            check_block(self.nbytes, self._into.nbytes, call)
        sent, back = both_ways(self.communicator, self.nbytes, self._into.nbytes)
        self.signature = Signature(call, nbytes=sent, nbytes_back=back)
        self.tables: Sequence[Sequence[int]] = ()
        if is_inter:
            self.tables = equal_offsets(n_blocks, self.nbytes), equal_offsets(n_blocks, self._into.nbytes)

    def new_payload(self) -> list[Blocks]:
        """All blocks of a rank in one, by sides."""
        return both_sides(self.communicator, Blocks)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave the block; a blocking call lends it, as no rank of a group leaves before all have come."""
        communicator = self.communicator
        carried = self._out.carried_in_time(n_blocks=communicator.remote.size)
        is_lent = is_blocking and not communicator.is_inter
        collective.payload[communicator.side].leave(self.rank, carried, is_lent=is_lent)

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return kept_bytes(self._out, self._into)

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes its own of all."""
        collective.payload[self.communicator.remote.side].deliver_column(self._into, self.rank)


def block_of(sendbuf: Any, into: BufferSegment | None, rank: int, call: str) -> BufferSegment:
    """The block that a rank gives: its send buffer, or in place its own block of where it receives."""
    if into is None or not is_in_place(sendbuf):
        out = part_of(sendbuf, is_written=False)
        if into is not None:
            check_block(out.nbytes, into.nbytes, call)
        return out
    return BufferSegment(into.memory, into.start + rank * into.count * into.layout.extent, into.count, into.datatype)


def kept_bytes(out: BufferSegment | None, into: BufferSegment | None) -> int:
    """Bytes of a block that a rank copies from where it sends to where it receives; 0 unless it does both, apart."""
    return 0 if out is None or into is None or out.memory is into.memory else out.nbytes


def check_block(nbytes: int, expected: int, call: str) -> None:
    """Raise unless a rank's own block is as large as it expects."""
    if nbytes != expected:
        fail("ERR_TRUNCATE", f"{call}: a block of {nbytes} bytes where blocks of {expected} bytes are expected")
