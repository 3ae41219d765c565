"""Collectives that move objects, timed as mpi4py performs them: a collective of sizes, then one of the pickled bytes.

The ranks leave their pickled objects in the collective of sizes, and unpickle those they receive when the bytes have
come.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, Final

from smpy.mpi.collectives.call import Root, equal_offsets, root_of
from smpy.mpi.collectives.open_collective import NOT_COMPARED, OpenCollective, Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.data.pickled import SIZE_BYTES, offsets_of, pickled, pickled_each, unpickled, unpickled_all
from smpy.mpi.state.world import Communicator

__all__ = ["all_gathered", "broadcast", "exchanged", "gathered", "scattered"]

_NO_TABLE: Final = array("q")
_NO_ROOT: Final = Root(NOT_COMPARED, is_here=False, is_idle=False)


def broadcast(communicator: Communicator, rank: int, obj: Any, root: int, call: str) -> Any:
    """The root's object, at every rank that is to get it; None at the others."""
    mine = _Part(communicator, rank, call, root)
    block = pickled(obj) if mine.is_root else b""
    collective = mine.enter()
    if mine.is_root:
        collective.payload[0] = block
    mine.perform(collective, "bcast", SIZE_BYTES)
    block = b"" if mine.root.is_idle else collective.payload[0]
    collective.leave()
    mine.move("bcast", len(block))
    return unpickled(block, root, call) if mine.is_below_root else None


def gathered(communicator: Communicator, rank: int, obj: Any, root: int, call: str) -> list[Any] | None:
    """The objects of all ranks, or of all of the other group, at the root; None at the others."""
    mine = _Part(communicator, rank, call, root)
    block = pickled(obj) if mine.is_below_root else b""
    collective = mine.enter()
    if mine.is_below_root:
        collective.payload[mine.member] = block
    mine.perform(collective, "gather", SIZE_BYTES)
    blocks = mine.blocks_of_peers(collective) if mine.is_root else []
    collective.leave()
    mine.move("gatherv", len(block), into=offsets_of(blocks))
    return unpickled_all(blocks, call) if mine.is_root else None


def scattered(communicator: Communicator, rank: int, objects: Iterable[Any] | None, root: int, call: str) -> Any:
    """The object that the root has for this rank; None at ranks that get none."""
    mine = _Part(communicator, rank, call, root)
    blocks = pickled_each(objects, communicator.remote.size) if mine.is_root else []
    collective = mine.enter()
    collective.payload.update(enumerate(blocks))
    mine.perform(collective, "scatter", SIZE_BYTES)
    block = collective.payload.pop(rank) if mine.is_below_root else b""
    collective.leave()
    mine.move("scatterv", len(block), out=offsets_of(blocks))
    return unpickled(block, root, call) if mine.is_below_root else None


def all_gathered(communicator: Communicator, rank: int, obj: Any, call: str) -> list[Any]:
    """The objects of all ranks, or of all of the other group."""
    mine = _Part(communicator, rank, call)
    block = pickled(obj)
    collective = mine.enter()
    collective.payload[mine.member] = block
    mine.perform(collective, "allgather", SIZE_BYTES, into=mine.sizes_between_groups())
    blocks, offsets = mine.blocks_of_all(collective)
    collective.leave()
    mine.move("allgatherv", len(block), into=offsets)
    return unpickled_all(blocks, call)


def exchanged(communicator: Communicator, rank: int, objects: Iterable[Any] | None, call: str) -> list[Any]:
    """Objects that all ranks, or all of the other group, have for this rank."""
    mine = _Part(communicator, rank, call)
    outgoing = pickled_each(objects, communicator.remote.size)
    collective = mine.enter()
    collective.payload[mine.member] = dict(enumerate(outgoing))
    offsets = mine.sizes_between_groups()
    mine.perform(collective, "alltoall", SIZE_BYTES, offsets, offsets)
    blocks = [row.pop(rank) for row in mine.blocks_of_peers(collective)]
    collective.leave()
    mine.move("alltoallv", 0, out=offsets_of(outgoing), into=offsets_of(blocks))
    return unpickled_all(blocks, call)


class _Part:
    """One rank's part in the two collectives that move objects."""

    __slots__ = ("_call", "_communicator", "_named_root", "_rank", "root")

    def __init__(self, communicator: Communicator, rank: int, call: str, root: Any = _NO_ROOT) -> None:
        self.root = _NO_ROOT if root is _NO_ROOT else root_of(communicator, rank, root, call)
        self._communicator = communicator
        self._rank = rank
        self._call = call
        self._named_root = 0 if root is _NO_ROOT else int(root)

    @property
    def is_root(self) -> bool:
        """Whether this rank is the root."""
        return self.root.is_here

    @property
    def is_below_root(self) -> bool:
        """Whether this rank exchanges an object with the root; the root of an intracommunicator does so with itself."""
        is_above = self.root.is_idle or self.root.is_here
        return not (self._communicator.is_inter and is_above)

    @property
    def member(self) -> int:
        """Place of this rank among the members of both groups."""
        return self._communicator.joint.index(self._communicator.side, self._rank)

    def enter(self) -> OpenCollective:
        """The next collective; its payload has the contribution of each member by number."""
        return enter(self._communicator, self._rank, Signature(self._call, self.root.member), dict)

    def perform(
        self,
        collective: OpenCollective,
        op: str,
        nbytes: int,
        out: array[int] = _NO_TABLE,
        into: array[int] = _NO_TABLE,
    ) -> None:
        """Take the time of `op`; `out` and `into` are offsets of blocks where this rank sends or receives several."""
        if not self.root.is_idle:
            tables = (out, into) if out or into else ()
            perform(collective, self._communicator, op, self._named_root, nbytes, self._call, tables=tables)

    def sizes_between_groups(self) -> array[int]:
        """Offsets of the sizes of the other group's objects, which algorithms between groups want."""
        remote = self._communicator.remote
        return equal_offsets(remote.size, SIZE_BYTES) if self._communicator.is_inter else _NO_TABLE

    def move(self, op: str, nbytes: int, out: array[int] = _NO_TABLE, into: array[int] = _NO_TABLE) -> None:
        """The collective of the bytes."""
        collective = self.enter()
        self.perform(collective, op, nbytes, out, into)
        collective.leave()

    def blocks_of_peers(self, collective: OpenCollective) -> list[Any]:
        """Contributions of the ranks that this rank hears from, in rank order."""
        remote = self._communicator.remote
        first = self._communicator.joint.index(remote.side, 0)
        return [collective.payload[first + peer] for peer in range(remote.size)]

    def blocks_of_all(self, collective: OpenCollective) -> tuple[list[Any], array[int]]:
        """`blocks_of_peers` and their offsets, made once for all ranks of a side, which hear from the same peers."""
        key = -1 - self._communicator.side  # no member has it
        if key not in collective.payload:
            blocks = self.blocks_of_peers(collective)
            collective.payload[key] = blocks, offsets_of(blocks)
        shared: tuple[list[Any], array[int]] = collective.payload[key]
        return shared
