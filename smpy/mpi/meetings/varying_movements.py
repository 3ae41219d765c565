"""Collectives that move blocks of many sizes: Gatherv, Scatterv, Allgatherv, Alltoallv, Alltoallw."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Final

from smpy.mpi.comms.comm_core import CommCore
from smpy.mpi.comms.world import Communicator
from smpy.mpi.data.buffers import is_in_place
from smpy.mpi.data.messages import Part, Parts, message_of, several_of, vector_of
from smpy.mpi.meetings.blocks import Blocks
from smpy.mpi.meetings.gathering import OpenCollective, Signature
from smpy.mpi.meetings.movements import check_block
from smpy.mpi.meetings.participation import Participation, both_sides, root_of
from smpy.mpi.meetings.promises import BlockSizes, PairSizes, sizes_between

__all__ = ["Allgatherv", "Alltoallv", "Alltoallw", "Gatherv", "Scatterv"]

_NO_OFFSETS: Final = array("q")


class SizedBlocks(Blocks):
    """One block a rank, and what the ranks say of their sizes.

    Parameters
    ----------
    n : int
        Number of blocks.
    """

    __slots__ = ("sizes",)

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.sizes = BlockSizes(n)


class Gatherv(Participation):
    """The blocks of all ranks for the root."""

    __slots__ = ("_into", "_out", "is_idle", "tables")
    op = "gatherv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root, self.tables = where.is_idle, root, ()
        self._into: Parts | None = None
        self._out: Part | None = None
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

    def give(self, meeting: OpenCollective, *, is_blocking: bool) -> None:
        """All leave copies: they may leave before the root takes them."""
        payload, communicator = meeting.payload, self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        if self._into is not None:
            payload.sizes.say_all(meeting, member, sizes_between(self.tables[1]), is_sent=False)
        if self._out is not None:
            payload.sizes.say_one(meeting, member, self.rank, self.nbytes, is_sent=True)
            payload.leave(self.rank, self._out.carried())

    def take(self, meeting: OpenCollective) -> None:
        """The root takes all."""
        if self._into is not None:
            meeting.payload.deliver_each(self._into)


class Scatterv(Participation):
    """A block of the root's for each rank."""

    __slots__ = ("_into", "_out", "is_idle", "tables")
    op = "scatterv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, root: int, call: str) -> None:
        super().__init__(comm, call)
        communicator = self.communicator
        where = root_of(communicator, self.rank, root, call)
        self.is_idle, self.root, self.tables = where.is_idle, root, ()
        self._into: Part | None = None
        self._out: Parts | None = None
        if where.is_here:
            self._out = vector_of(sendbuf, is_written=False, n_blocks=communicator.remote.size)
            self.tables = (self._out.offsets(),)
        if not (where.is_here and (communicator.is_inter or is_in_place(recvbuf))) and not where.is_idle:
            self._into = message_of(recvbuf, is_written=True)
            self.nbytes = self._into.nbytes
            if self._out is not None:
                check_block(self.nbytes, self._out[self.rank].nbytes, call)
        self.signature = Signature(call, where.member)

    def new_payload(self) -> SizedBlocks:
        """One block for each rank that receives one."""
        receiver = self.communicator if self._into is not None else self.communicator.remote
        return SizedBlocks(receiver.size)

    def give(self, meeting: OpenCollective, *, is_blocking: bool) -> None:
        """The root leaves copies: it may leave first."""
        payload, communicator = meeting.payload, self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        if self._into is not None:
            payload.sizes.say_one(meeting, member, self.rank, self.nbytes, is_sent=False)
        if self._out is not None:
            payload.sizes.say_all(meeting, member, sizes_between(self.tables[0]), is_sent=True)
            for rank, part in enumerate(self._out):
                payload.leave(rank, part.carried())

    def take(self, meeting: OpenCollective) -> None:
        """Each rank takes its own."""
        if self._into is not None:
            self._into.put(meeting.payload.at[self.rank])


class Allgatherv(Participation):
    """The blocks of all ranks for every rank; between groups, those of the other group."""

    __slots__ = ("_into", "_out", "facts", "tables")
    op = "allgatherv"

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        self._into = vector_of(recvbuf, is_written=True, n_blocks=self.communicator.remote.size)
        self._out = _block_of(sendbuf, None if self.communicator.is_inter else self._into, self.rank, call)
        self.nbytes = self._out.nbytes
        self.tables = (_NO_OFFSETS, self._into.offsets())
        self.facts = {"total_bytes": self.tables[1][-1]}
        self.signature = Signature(call)

    def new_payload(self) -> list[SizedBlocks]:
        """One block a rank, by sides."""
        return both_sides(self.communicator, SizedBlocks)

    def give(self, meeting: OpenCollective, *, is_blocking: bool) -> None:
        """All leave copies: one whose others are empty may leave first."""
        communicator = self.communicator
        member = communicator.joint.index(communicator.side, self.rank)
        mine, theirs = meeting.payload[communicator.side], meeting.payload[communicator.remote.side]
        mine.leave(self.rank, self._out.carried())
        mine.sizes.say_one(meeting, member, self.rank, self.nbytes, is_sent=True)
        theirs.sizes.say_all(meeting, member, sizes_between(self.tables[1]), is_sent=False)

    def take(self, meeting: OpenCollective) -> None:
        """Every rank takes all."""
        meeting.payload[self.communicator.remote.side].deliver_each(self._into)


class Parcels:
    """What each member of an Alltoallv has for all its peers, packed, and where each one's begins.

    Parameters
    ----------
    n_members : int
        Number of ranks, of both sides of an intercommunicator.
    """

    __slots__ = ("_offsets", "_packed", "sizes")

    def __init__(self, n_members: int) -> None:
        self._packed: list[bytes | None] = [None] * n_members
        self._offsets: list[array[int]] = [_NO_OFFSETS] * n_members
        self.sizes = PairSizes(n_members)

    def leave(self, member: int, parts: Parts, offsets: array[int]) -> None:
        """Take copies of all blocks of a member."""
        self._offsets[member] = offsets
        carried = [part.carried() for part in parts if part.nbytes]
        if None not in carried:
            self._packed[member] = b"".join(block for block in carried if block is not None)

    def between(self, sender: int, place: int) -> memoryview | None:
        """The block of a sender for its peer at a place."""
        packed, offsets = self._packed[sender], self._offsets[sender]
        assert offsets, "a rank is through before all it waits for have come"
        return None if packed is None else memoryview(packed)[offsets[place] : offsets[place + 1]]


class Alltoallv(Participation):
    """A block from every rank for every other."""

    __slots__ = ("_into", "_out", "tables")
    op = "alltoallv"
    _read: Callable[..., Parts] = staticmethod(vector_of)

    def __init__(self, comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> None:
        super().__init__(comm, call)
        n_blocks = self.communicator.remote.size
        self._into = self._read(recvbuf, is_written=True, n_blocks=n_blocks)
        if not self.communicator.is_inter and is_in_place(sendbuf):
            self._out = self._into
        else:
            self._out = self._read(sendbuf, is_written=False, n_blocks=n_blocks)
        self.tables = (self._out.offsets(), self._into.offsets())
        self.signature = Signature(call)

    def new_payload(self) -> Parcels:
        """All blocks of a rank in one."""
        return Parcels(self.communicator.joint.n_members)

    def give(self, meeting: OpenCollective, *, is_blocking: bool) -> None:
        """All leave copies: one whose others are empty may leave first."""
        communicator, payload = self.communicator, meeting.payload
        member = communicator.joint.index(communicator.side, self.rank)
        sent, expected = (sizes_between(offsets) for offsets in self.tables)
        payload.sizes.say(meeting, member, _first_peer(communicator), sent, expected)
        payload.leave(member, self._out, self.tables[0])

    def take(self, meeting: OpenCollective) -> None:
        """Every rank takes its own of all."""
        payload, first = meeting.payload, _first_peer(self.communicator)
        for peer, part in enumerate(self._into):
            if part.nbytes:
                part.put(payload.between(first + peer, self.rank))


class Alltoallw(Alltoallv):
    """A block from every rank for every other, each of its own datatype."""

    __slots__ = ()
    op = "alltoallw"
    _read: Callable[..., Parts] = staticmethod(several_of)


def _first_peer(communicator: Communicator) -> int:
    return communicator.joint.index(communicator.remote.side, 0)


def _block_of(sendbuf: Any, into: Parts | None, rank: int, call: str) -> Part:
    """The block that a rank gives: its send buffer, or in place its own of those it receives."""
    if into is not None and is_in_place(sendbuf):
        return into[rank]
    out = message_of(sendbuf, is_written=False)
    if into is not None:
        check_block(out.nbytes, into[rank].nbytes, call)
    return out
