"""Entries in a program's memory that a message sends or fills, and blocks of them for several ranks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import mul
from typing import Any, Final, overload

from smpy.engine.blocks import blocks_outside, new_blocks, pack_blocks, strided_of, take_blocks, unpack_blocks
from smpy.engine.folded_memory import is_any, private_ranges
from smpy.engine.messages import Carried, Entries, Load, PartialBytes, Ranges, piece_of
from smpy.engine.pointers import address_of, bytes_at, int64s_of, pointer_to
from smpy.engine.running import current
from smpy.mpi.data.buffers import EVERYWHERE, LentMemory
from smpy.mpi.data.datatypes import Datatype
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.packing import check_bounds, pack, packed_ranges, unpack
from smpy.mpi.data.strided import strided
from smpy.mpi.data.typemaps import Typemap

__all__ = ["BufferSegment", "BufferSegments"]

_FEW: Final = 8
"""Largest number of datatypes of one call whose kernel descriptions are kept."""


class BufferSegment:
    """Entries of one datatype in a program's memory, for one message, or in blocks for several messages.

    Parameters
    ----------
    memory : LentMemory
        Memory that holds them.
    start : int
        Offset of the first, in bytes.
    count : int
        Entries of a message, or of a block.
    datatype : Datatype
        Datatype of an entry.
    """

    __slots__ = ("count", "datatype", "layout", "memory", "nbytes", "start")

    def __init__(self, memory: LentMemory, start: int, count: int, datatype: Datatype) -> None:
        self.memory = memory
        self.start = start
        self.count = count
        self.datatype = datatype
        self.layout: Layout = datatype._layout
        self.nbytes = count * self.layout.size
        """Bytes that one message, or one block, carries."""

    def outgoing(self) -> Load:
        """Payload end of a send."""
        lent = self._lent()
        if lent is not None:
            return lent
        if current().charges_data:
            self._spend_on_blocks(self.count)
        packed = pointer_to(pack(self.layout.typemap, self.memory, self.start, self.count))
        private = self._private(self.start, self.count) if is_any() else None
        return Load(self.nbytes, int(address_of(packed)), packed, private=private, entries=self.entries)

    def incoming(self) -> Load:
        """Payload end of a receive."""
        lent = self._lent()
        if lent is not None:
            return lent
        n_blocks = self.count * self.layout.typemap.n_blocks
        return Load(self.nbytes, take=self.put, entries=self.entries, n_blocks=n_blocks)

    @property
    def entries(self) -> Entries:
        """Entries in the program's memory; entries of folded memory have no bytes."""
        return Entries(self.memory.address + self.start, self.count, self.layout, self.memory.keep)

    def _lent(self) -> Load | None:
        """Load of the memory itself if the message is one stretch of it, or needs no copy; else None."""
        memory = self.memory
        if memory.is_folded:
            return Load(self.nbytes, keep=memory, is_on_device=memory.is_on_device)
        at = self._stretch(0, self.count) if self.nbytes else self.start
        if at is None:
            return None
        address, keep = memory.address, memory.keep
        return Load(
            self.nbytes, address + at, keep, entries=Entries(address + self.start, self.count, self.layout, keep)
        )

    def _stretch(self, first: int, count: int) -> int | None:
        """Offset of `count` entries from entry `first` on if they are one stretch of bytes, else None."""
        layout = self.layout
        at = self.start + first * layout.extent
        if layout.is_contiguous:
            return at
        typemap = layout.typemap
        return at + typemap.true_lb if typemap.is_tiling or (typemap.is_dense and count == 1) else None

    def whole_stretch(self) -> memoryview | None:
        """The memory itself if the entries are one stretch with content everywhere, else None."""
        memory, nbytes = self.memory, self.nbytes
        at = self._stretch(0, self.count) if nbytes and not memory.is_folded else None
        if at is None or (is_any() and private_ranges(memory.address + at, nbytes) is not None):
            return None
        return memory.stretch(at, at + nbytes)

    def _private(self, start: int, count: int) -> Ranges | None:
        """Ranges with content in the packed bytes of `count` entries from byte `start` on; None: all have content."""
        typemap, memory = self.layout.typemap, self.memory
        back, ahead = sorted((0, (count - 1) * typemap.extent))
        first, last = start + back + typemap.true_lb, start + ahead + typemap.true_ub
        ranges = private_ranges(memory.address + first, last - first)
        return packed_ranges(typemap, ranges, start - first, count) if ranges else ranges

    def carried(self, n_blocks: int = 1) -> memoryview | PartialBytes | None:
        """Packed bytes of the first blocks, or None when none has content; the format of the view is arbitrary."""
        memory, nbytes, count = self.memory, n_blocks * self.nbytes, n_blocks * self.count
        if memory.is_folded:
            current().has_folded = True
            return None
        if not nbytes:
            return memoryview(b"")
        start, at, private = self.start, self._stretch(0, count), None
        if is_any():
            private = private_ranges(memory.address + at, nbytes) if at is not None else self._private(start, count)
        if private is not None and not private:
            return None
        if private is None and nbytes == memory.nbytes and self.layout.is_contiguous:
            return memory.view
        packed = memory.stretch(at, at + nbytes) if at is not None else pack(self.layout.typemap, memory, start, count)
        return packed if private is None else PartialBytes(packed, private)

    def carried_in_time(self, n_blocks: int = 1) -> memoryview | PartialBytes | None:
        """`carried` of the first blocks, in the time that the running rank takes to gather them."""
        if current().charges_data:
            self.spend_on_packing(n_blocks)
        return self.carried(n_blocks)

    def put_in_time(self, carried: Carried | None, block: int = 0) -> None:
        """`put`, in the time that the running rank takes for page faults, or to scatter the bytes."""
        if carried and current().charges_data:
            self.spend_on_write(len(carried), block)
        self.put(carried, block)

    def spend_on_packing(self, n_blocks: int = 1) -> None:
        """Take the time that the running rank needs to gather the bytes of some blocks."""
        if self.nbytes and self._stretch(0, n_blocks * self.count) is None:
            self._spend_on_blocks(n_blocks * self.count)

    def spend_on_write(self, nbytes: int, block: int = 0) -> None:
        """Take the time that the running rank needs for page faults of `nbytes`, or to scatter them."""
        if not nbytes or self.memory.is_folded:
            return
        count = -(-nbytes // self.layout.size)
        at = self._stretch(block * self.count, count)
        if at is None:
            self._spend_on_blocks(count)
        else:
            current().spend_on_write(self.memory.address + at, nbytes)

    def _spend_on_blocks(self, count: int) -> None:
        if not self.memory.is_folded:
            current().spend_on_blocks(count * self.layout.typemap.n_blocks)

    def put(self, carried: Carried | None, block: int = 0) -> None:
        """Write packed bytes into the entries from `block` on; bytes from or for folded memory are ignored."""
        if self.memory.is_folded:
            current().has_folded = True
        elif carried:
            layout = self.layout
            at = self._stretch(block * self.count, -(-len(carried) // layout.size))
            if at is not None:
                self._put_stretch(carried, at)
            else:
                start = self.start + block * self.count * layout.extent
                packed = self._merged(carried, start) if isinstance(carried, PartialBytes) else carried
                unpack(layout.typemap, memoryview(packed), self.memory, start)

    def copy_from(self, other: BufferSegment) -> None:
        """Overwrite the entries with those of another segment of the same number of bytes."""
        carried = other.carried()
        self.put(carried if carried is None else piece_of(carried, 0, other.nbytes))

    def _put_stretch(self, carried: Carried, at: int) -> None:
        memory = self.memory
        private = private_ranges(memory.address + at, len(carried)) if is_any() else None
        if isinstance(carried, PartialBytes):
            for first, last in carried.private:
                self._put_stretch(memoryview(carried.data)[first:last], at + first)
        elif private is None:
            memory.stretch(at, at + len(carried))[:] = carried
        else:
            for first, last in private:
                memory.stretch(at + first, at + last)[:] = memoryview(carried)[first:last]

    def _merged(self, carried: PartialBytes, start: int) -> bytearray:
        """Packed entries from byte `start` on, overwritten with the carried bytes that have content."""
        merged = bytearray(pack(self.layout.typemap, self.memory, start, -(-len(carried) // self.layout.size)))
        for first, last in carried.private:
            merged[first:last] = carried.data[first:last]
        return merged[: len(carried)]

    def check(self, n_blocks: int = 1) -> None:
        """Raise unless the entries of `n_blocks` blocks lie within the memory."""
        memory, layout, count = self.memory, self.layout, n_blocks * self.count
        if layout.is_contiguous and 0 <= self.start <= self.start + count * layout.size <= memory.nbytes:
            return
        check_bounds(layout, memory, self.start, count)


class BufferSegments(Sequence[BufferSegment]):
    """Blocks of a program's memory, one for each rank that a call exchanges with.

    Parameters
    ----------
    memory : LentMemory
        Memory that holds them.
    counts : list of int
        Entries that each block has.
    starts : list of int
        Offset of the first entry of each block, in bytes.
    datatypes : list of Datatype
        Datatypes of the entries: one for all blocks, or one for each.
    """

    __slots__ = ("_compiled", "_datatypes", "_memory", "_starts", "counts")

    def __init__(self, memory: LentMemory, counts: list[int], starts: list[int], datatypes: list[Datatype]) -> None:
        self._memory = memory
        self.counts = counts
        self._starts = starts
        self._datatypes = [Datatype._handle_on(datatype._layout) for datatype in datatypes]  # programs may free theirs
        self._compiled = _compiled(counts, starts, self._datatypes)

    @property
    def datatype(self) -> Datatype:
        """Datatype of the entries; if each block has its own, that of the first block."""
        return self._datatypes[0]

    def datatype_of(self, block: int) -> Datatype:
        """Datatype of a block's entries."""
        return self._datatypes[block if len(self._datatypes) > 1 else 0]

    def check(self) -> None:
        """Raise unless all blocks lie within the memory."""
        if self._compiled is not None and blocks_outside(self._compiled[0], self._memory.nbytes) < 0:
            return
        for part in self:
            if part.count < 0:
                raise ValueError(f"message: negative count {part.count}")
            part.check()

    def offsets(self) -> array[int]:
        """Offsets in bytes of the consecutively packed blocks; the last item is their end."""
        if len(self._datatypes) == 1:
            size = self._datatypes[0]._layout.size
            sizes: Iterable[int] = [count * size for count in self.counts]
        else:
            sizes = map(mul, self.counts, [datatype._layout.size for datatype in self._datatypes])
        return array("q", accumulate(sizes, initial=0))

    def _private(self) -> Ranges | None:
        """Ranges of the whole memory that have content; None: all of it."""
        memory = self._memory
        if memory.is_folded:
            current().has_folded = True
            return ()
        return private_ranges(memory.address, memory.nbytes) if is_any() and memory.nbytes else None

    def packed(self, nbytes: int) -> tuple[Any, Ranges | None]:
        """Copy all blocks into consecutive bytes.

        Parameters
        ----------
        nbytes : int
            Length of all blocks.

        Returns
        -------
        copy : cffi pointer
            C memory; None when the blocks are folded, or empty.
        private : sequence of (int, int)
            Ranges of bytes of the copy that have content; None: all.
        """
        memory, private = self._memory, self._private()
        if not nbytes or (private is not None and not private):
            return None, None
        if private is not None or (memory is EVERYWHERE and is_any()):
            return self._packed_in_part(nbytes)
        room = pointer_to(bytearray(nbytes))
        if self._compiled is not None:
            pack_blocks(self._compiled[0], memory.pointer, room)
        else:
            for part, (start, end) in zip(self, pairwise(self.offsets()), strict=True):
                carried = part.carried()
                assert not isinstance(carried, PartialBytes), "memory all of which has a content"
                bytes_at(room)[start:end] = carried or b""
        return room, None

    def _packed_in_part(self, nbytes: int) -> tuple[Any, Ranges]:
        """Copy of all blocks if parts of the memory have no content; such bytes are zeros in the copy."""
        room = pointer_to(bytearray(nbytes))
        copy, private = bytes_at(room), []
        for part, (start, end) in zip(self, pairwise(self.offsets()), strict=True):
            carried = part.carried()
            if carried is None or start == end:
                continue
            block = carried if isinstance(carried, PartialBytes) else PartialBytes(carried, [(0, end - start)])
            copy[start:end] = bytes(block.data)
            private += [(start + first, start + last) for first, last in block.private]
        return room, private

    def put(self, packed: bytes) -> None:
        """Write consecutive bytes into the blocks."""
        private = self._private()
        if private is not None and not private:
            return
        if self._compiled is not None:
            unpack_blocks(self._compiled[0], self._memory.pointer, pointer_to(packed))
        else:
            for part, (start, end) in zip(self, pairwise(self.offsets()), strict=True):
                part.put(memoryview(packed)[start:end])

    def take(self, peers: Any, place: int, private_of: dict[int, Ranges]) -> None:
        """Write the bytes that each peer has packed for this rank into the block for that peer.

        Parameters
        ----------
        peers : contribution pointer
            Pointer to the first peer's contribution (kernels/event/basics/blocks.h).
        place : int
            Index of this rank among the peers of each.
        private_of : dict of int to sequence of (int, int)
            Ranges with a content in a peer's packed bytes, of peers with partly folded memory.
        """
        private = self._private()
        if private is not None and not private:
            return
        if self._compiled is not None and not private_of:
            take_blocks(self._compiled[0], self._memory.pointer, peers, place)
        else:
            for i, part in enumerate(self):
                if part.nbytes and peers[i].packed:
                    first = peers[i].sent_offsets[place]
                    packed: Carried = memoryview(bytes_at(peers[i].packed + first, part.nbytes))
                    if i in private_of:
                        whole = bytes_at(peers[i].packed, first + part.nbytes)
                        packed = PartialBytes(memoryview(whole), private_of[i]).piece(first, first + part.nbytes)
                    part.put(packed)

    def spend_on_packing(self) -> None:
        """Take the time that the running rank needs to gather the bytes of all blocks."""
        if current().charges_data:
            for part in self:
                part.spend_on_packing()

    def spend_on_write(self) -> None:
        """Take the time that the running rank needs for page faults of all blocks, or to scatter their bytes."""
        if current().charges_data:
            for part in self:
                part.spend_on_write(part.nbytes)

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[BufferSegment]:
        n, datatypes = len(self.counts), self._datatypes
        of_each = datatypes if len(datatypes) > 1 else datatypes * n
        return map(BufferSegment, [self._memory] * n, self._starts, self.counts, of_each)

    @overload
    def __getitem__(self, block: int) -> BufferSegment: ...
    @overload
    def __getitem__(self, block: slice) -> list[BufferSegment]: ...
    def __getitem__(self, block: int | slice) -> BufferSegment | list[BufferSegment]:
        if isinstance(block, slice):
            return [self[i] for i in range(*block.indices(len(self)))]
        return BufferSegment(self._memory, self._starts[block], self.counts[block], self.datatype_of(block))


def _compiled(counts: list[int], starts: list[int], datatypes: list[Datatype]) -> tuple[Any, ...] | None:
    """Kernel description of blocks, and the arrays that it points to; None without regular strides."""
    described = _kernel_layouts if len(datatypes) <= _FEW else _kernel_layouts.__wrapped__
    layouts = described(*[datatype._layout.typemap for datatype in datatypes])
    if not counts or layouts is None:
        return None
    try:
        kept = array("q", counts), array("q", starts)
    except OverflowError:  # no memory has such a block
        return None
    pointers = int64s_of(kept[0]), int64s_of(kept[1]), layouts
    return new_blocks((len(counts), *pointers, len(datatypes))), pointers


@lru_cache(maxsize=1024)
def _kernel_layouts(*typemaps: Typemap) -> Any:
    """Pointer to kernel descriptions of the entries of blocks; None without regular strides."""
    layouts = [layout for typemap in typemaps if (layout := strided(typemap)) is not None]
    return strided_of(b"".join(layouts)) if len(layouts) == len(typemaps) else None
