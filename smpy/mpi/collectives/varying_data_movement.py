"""Collectives that move blocks of many sizes: Gatherv, Scatterv, Allgatherv, Alltoallv, Alltoallw."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Final, NoReturn

from smpy.collectives.parts import PART_BYTES, ring_parts
from smpy.engine.blocks import conflict_of, new_contributions
from smpy.engine.messages import Ranges
from smpy.engine.pointers import NULL, int64s_of
from smpy.mpi.collectives.blocks import Blocks
from smpy.mpi.collectives.call import CollectiveCall, both_sides, root_of
from smpy.mpi.collectives.data_movement import check_block, kept_bytes
from smpy.mpi.collectives.open_collective import OpenCollective, Signature, caller_location
from smpy.mpi.collectives.size_checks import BlockSizes, sizes_between
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.buffer_segments import BufferSegment, BufferSegments
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.state.comm_core import CommCore

__all__ = ["Allgatherv", "Alltoallv", "Alltoallw", "Gatherv", "Scatterv"]

_NO_OFFSETS: Final = array("q")


class SizedBlocks(Blocks):
    """One block a rank, and the sizes of the blocks as the ranks give them.

    Parameters
    ----------
    n : int
        Number of blocks.
    """

    __slots__ = ("sizes",)

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.sizes = BlockSizes(n)


class Gatherv(CollectiveCall):
    """The blocks of all ranks for the root."""

    __slots__ = ("_into", "_out", "is_idle", "tables")
    op = "gatherv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root, self.tables = where.is_idle, root, ()
        self._into: BufferSegments | None = None
        self._out: BufferSegment | None = None
        if where.is_here:
            self._into = vector_of(recvbuf, is_written=True, n_blocks=communicator.remote.size)
            self.tables = (_NO_OFFSETS, self._into.offsets())
        if not (communicator.is_inter and (where.is_here or where.is_idle)):
            self._out = _block_of(sendbuf, self._into, self.rank, call)
            self.nbytes = self._out.nbytes
        self.signature = Signature(call, where.member)

    def new_payload(self) -> SizedBlocks:
        """One block for each rank that sends one."""
        sender = self.communicator if self._out is not None else self.communicator.remote
        return SizedBlocks(sender.size)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy: a rank may go on before the root takes it."""
        payload, communicator = collective.payload, self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        if self._into is not None:
            payload.sizes.say_all(collective, member, sizes_between(self.tables[1]), is_sent=False)
        if self._out is not None:
            payload.sizes.say_one(collective, member, self.rank, self.nbytes, is_sent=True)
            payload.leave(self.rank, self._out.carried_in_time())

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return 0 if self._into is None else kept_bytes(self._out, self._into[self.rank])

    def take(self, collective: OpenCollective) -> None:
        """The root takes all."""
        if self._into is not None:
            collective.payload.deliver_each(self._into)


class Scatterv(CollectiveCall):
    """A block of the root's for each rank."""

    __slots__ = ("_into", "_out", "is_idle", "tables")
    op = "scatterv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root, self.tables = where.is_idle, root, ()
        self._into: BufferSegment | None = None
        self._out: BufferSegments | None = None
        if where.is_here:
            self._out = vector_of(sendbuf, is_written=False, n_blocks=communicator.remote.size)
            self.tables = (self._out.offsets(),)
        if not (where.is_here and (communicator.is_inter or is_in_place(recvbuf))) and not where.is_idle:
            self._into = part_of(recvbuf, is_written=True)
            self.nbytes = self._into.nbytes
            if self._out is not None:
                check_block(self.nbytes, self._out[self.rank].nbytes, call)
        self.signature = Signature(call, where.member)

    def new_payload(self) -> SizedBlocks:
        """One block for each rank that receives one."""
        receiver = self.communicator if self._into is not None else self.communicator.remote
        return SizedBlocks(receiver.size)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave the root's copies: it may go on before the others take them."""
        payload, communicator = collective.payload, self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        if self._into is not None:
            payload.sizes.say_one(collective, member, self.rank, self.nbytes, is_sent=False)
        if self._out is not None:
            payload.sizes.say_all(collective, member, sizes_between(self.tables[0]), is_sent=True)
            for rank, part in enumerate(self._out):
                payload.leave(rank, part.carried_in_time())

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return 0 if self._out is None else kept_bytes(self._into, self._out[self.rank])

    def take(self, collective: OpenCollective) -> None:
        """Each rank takes its own."""
        if self._into is not None:
            self._into.put_in_time(collective.payload.at[self.rank])


class Allgatherv(CollectiveCall):
    """The blocks of all ranks for every rank; between groups, those of the other group."""

    __slots__ = ("_into", "_out", "facts", "tables")
    op = "allgatherv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        self._into = vector_of(recvbuf, is_written=True, n_blocks=self.communicator.remote.size)
        self._out = _block_of(sendbuf, None if self.communicator.is_inter else self._into, self.rank, call)
        self.nbytes = self._out.nbytes
        self.tables = (_NO_OFFSETS, self._into.offsets())
        n_entries, n_bytes = sum(self._into.counts), self.tables[1][-1]
        parts = None
        if n_bytes > PART_BYTES and not self.communicator.is_inter:
            parts = ring_parts(tuple(self._into.counts), n_bytes // n_entries)
        self.tables = (*self.tables, *(parts or ()))
        self.facts = {"total_bytes": n_bytes, "n_entries": n_entries, "in_parts": parts is not None}
        self.signature = Signature(call)

    def new_payload(self) -> list[SizedBlocks]:
        """One block a rank, by sides."""
        return both_sides(self.communicator, SizedBlocks)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy: a rank that receives only empty blocks may go on before the others take it."""
        communicator = self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        mine, theirs = collective.payload[communicator.side], collective.payload[communicator.remote.side]
        mine.sizes.say_one(collective, member, self.rank, self.nbytes, is_sent=True)
        theirs.sizes.say_all(collective, member, sizes_between(self.tables[1]), is_sent=False)
        mine.leave(self.rank, self._out.carried_in_time())

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return kept_bytes(self._out, self._into[self.rank])

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes all."""
        collective.payload[self.communicator.remote.side].deliver_each(self._into)


class Contributions:
    """Packed blocks that each member of an Alltoallv sends to its peers, and sizes of those it expects.

    A rank must send as many bytes to another as the other expects: the later of the two to enter checks it.

    Parameters
    ----------
    n_members : int
        Number of ranks, of both sides of an intercommunicator.
    """

    __slots__ = ("_kept", "_lines", "_members", "_private_of")

    def __init__(self, n_members: int) -> None:
        self._members = new_contributions(n_members)
        self._kept: list[tuple[Any, ...]] = [()] * n_members
        self._lines: dict[int, str] = {}
        self._private_of: dict[int, Ranges] = {}

    def leave(self, collective: OpenCollective, mine: Alltoallv) -> None:
        """Take copies of all blocks of a rank."""
        member, sent, expected = mine.member, *(int64s_of(offsets) for offsets in mine.tables)
        mine.out.spend_on_packing()
        packed, private = mine.out.packed(mine.tables[0][-1])
        if private is not None:
            self._private_of[member] = private
        self._members[member] = (sent, expected, NULL if packed is None else packed)
        self._kept[member] = sent, expected, packed
        self._lines[member] = caller_location()
        first, n = mine.first_peer, len(mine.out)
        conflict = conflict_of(self._members + member, self._members + first, n, mine.rank)
        if conflict >= 0:
            self._fail(collective, mine, conflict)

    def take(self, mine: Alltoallv) -> None:
        """Give a rank the blocks that its peers have for it, once all that are not empty are left."""
        first = mine.first_peer
        private_of = {member - first: ranges for member, ranges in self._private_of.items()}
        mine.into.spend_on_write()
        mine.into.take(self._members + first, mine.rank, private_of)

    def _fail(self, collective: OpenCollective, mine: Alltoallv, conflict: int) -> NoReturn:
        peer = mine.first_peer + conflict
        me, its = self._members[mine.member], self._members[peer]
        sent, expected = _size(me.sent_offsets, conflict), _size(its.expected_offsets, mine.rank)
        sender, receiver = (mine.member, sent), (peer, expected)
        if sent == expected:  # then it is the other way round
            sender = peer, _size(its.sent_offsets, mine.rank)
            receiver = mine.member, _size(me.expected_offsets, conflict)
        collective.fail_between((*sender, self._lines[sender[0]]), (*receiver, self._lines[receiver[0]]))


class Alltoallv(CollectiveCall):
    """A block from every rank for every other."""

    __slots__ = ("first_peer", "into", "member", "out", "tables")
    op = "alltoallv"
    _read: Callable[..., BufferSegments] = staticmethod(vector_of)

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        n_blocks = communicator.remote.size
        self.member = communicator.joint.index(communicator.side, self.rank)
        self.first_peer = communicator.joint.index(communicator.remote.side, 0)
        self.into = self._read(recvbuf, is_written=True, n_blocks=n_blocks)
        if not communicator.is_inter and is_in_place(sendbuf):
            self.out = self.into
        else:
            self.out = self._read(sendbuf, is_written=False, n_blocks=n_blocks)
        self.tables = (self.out.offsets(), self.into.offsets())
        self.signature = Signature(call)

    def new_payload(self) -> Contributions:
        """All blocks of a rank in one."""
        return Contributions(self.communicator.joint.n_members)

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave a copy: a rank that receives only empty blocks may go on before the others take it."""
        collective.payload.leave(collective, self)

    @property
    def own_bytes(self) -> int:
        """The block that this rank keeps."""
        return 0 if self.out is self.into else self.out[self.rank].nbytes

    def take(self, collective: OpenCollective) -> None:
        """Every rank takes its block of each peer's."""
        collective.payload.take(self)


class Alltoallw(Alltoallv):
    """A block from every rank for every other, each of its own datatype."""

    __slots__ = ()
    op = "alltoallw"
    _read: Callable[..., BufferSegments] = staticmethod(several_of)


def _size(offsets: Any, block: int) -> int:
    return int(offsets[block + 1] - offsets[block])


def _block_of(sendbuf: Any, into: BufferSegments | None, rank: int, call: str) -> BufferSegment:
    """The block that a rank gives: its send buffer, or its own block of the receive buffer for ``IN_PLACE``."""
    if into is not None and is_in_place(sendbuf):
        return into[rank]
    out = part_of(sendbuf, is_written=False)
    if into is not None:
        check_block(out.nbytes, into[rank].nbytes, call)
    return out
