"""Message specifications: from what a program passes to a run of entries in memory.

All of mpi4py's forms: a buffer; ``[buffer, type]``; ``[buffer, count]``; ``[buffer, count, type]``; ``[buffer,
(count, displacement), type]``; ``[buffer, count, displacement, type]``. Types are `Datatype` objects or type strings;
without one the buffer's format says it, without a count the buffer's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

from smpy.engine.kernel import ffi
from smpy.engine.messages import Load
from smpy.engine.running import current
from smpy.mpi.buffers import NOTHING, Memory, is_bottom, memory_of
from smpy.mpi.datatypes import Datatype, as_datatype, of_format
from smpy.mpi.layout import Layout, pack, unpack

__all__ = ["Part", "message_of"]


class Part:
    """Entries of one datatype in a program's memory: what a message carries, or blocks for several messages.

    Parameters
    ----------
    memory : Memory
        Where they are.
    start : int
        Offset of the first, in bytes.
    count : int
        Entries a message, or a block, has.
    datatype : Datatype
        What an entry is.
    """

    __slots__ = ("count", "datatype", "layout", "memory", "nbytes", "start")

    def __init__(self, memory: Memory, start: int, count: int, datatype: Datatype) -> None:
        self.memory = memory
        self.start = start
        self.count = count
        self.datatype = datatype
        self.layout: Layout = datatype.layout
        self.nbytes = count * self.layout.size
        """Bytes that one message, or one block, carries."""

    def outgoing(self) -> Load:
        """The payload end of a send."""
        if self._is_lent:
            return self._lent()
        packed = ffi.from_buffer(pack(self.layout, self.memory, self.start, self.count))
        return Load(self.nbytes, int(ffi.cast("uintptr_t", packed)), packed)

    def incoming(self) -> Load:
        """The payload end of a receive."""
        if self._is_lent:
            return self._lent()
        return Load(self.nbytes, take=lambda packed: unpack(self.layout, packed, self.memory, self.start))

    @property
    def _is_lent(self) -> bool:
        return self.layout.is_contiguous or self.memory.is_folded

    def _lent(self) -> Load:
        memory = self.memory
        if memory.is_folded:
            return Load(self.nbytes, keep=memory)
        return Load(self.nbytes, memory.address + self.start, memory.keep)

    def carried(self, block: int = 0, n_blocks: int = 1) -> memoryview | None:
        """The bytes of some blocks, without gaps, or None when they are folded; the view's format may be any."""
        memory, nbytes = self.memory, n_blocks * self.nbytes
        if memory.is_folded:
            current().has_folded = True
            return None
        if not self.layout.is_contiguous:
            start = self.start + block * self.count * self.layout.extent
            return memoryview(pack(self.layout, memory, start, n_blocks * self.count))
        if nbytes == memory.nbytes:
            return memory.view
        start = self.start + block * self.nbytes
        return memory.data()[start : start + nbytes]

    def put(self, carried: bytes | memoryview | None, block: int = 0) -> None:
        """Write bytes without gaps into the entries from `block` on; folded memory and folded bytes go nowhere."""
        if self.memory.is_folded:
            current().has_folded = True
        elif carried:
            start = self.start + block * self.count * self.layout.extent
            if self.layout.is_contiguous:
                self.memory.data()[start : start + len(carried)] = carried
            else:
                unpack(self.layout, memoryview(carried), self.memory, start)


def message_of(spec: Any, *, is_written: bool, n_blocks: int = 1) -> Part:
    """What a message specification means.

    Parameters
    ----------
    spec : buffer-like or sequence
        As the program passed it.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks the memory is for: a count is per block.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        As mpi4py does, if it makes no sense.
    """
    if not isinstance(spec, (list, tuple)):
        memory = memory_of(spec, is_written)
        count, datatype = _whole(memory.view.format, memory.nbytes, n_blocks)
        return Part(memory, 0, count, datatype)
    exporter, count, displacement, named = _taken_apart(spec)
    if is_bottom(exporter):
        if named is None:
            raise ValueError("message: without a buffer a datatype must be named")
        memory = NOTHING
        datatype = as_datatype(named)
    else:
        memory = memory_of(exporter, is_written)
        datatype = of_format(memory.view.format) if named is None else as_datatype(named)
    layout = datatype.layout
    entries = 0 if displacement is None else index(displacement)
    if entries < 0:
        raise ValueError(f"message: negative displacement {entries}")
    start = entries * layout.extent
    if start > memory.nbytes:
        raise ValueError(
            f"message: displacement {entries} is beyond the {memory.nbytes // layout.extent} entries of the buffer"
        )
    room = memory.nbytes - start
    number = _inferred_count(room, layout, n_blocks) if count is None else index(count)
    _check_count(number, n_blocks, room, layout)
    return Part(memory, start, number, datatype)


def _taken_apart(spec: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Buffer, count, displacement and datatype, None where not given."""
    if len(spec) == 4:
        return spec[0], spec[1], spec[2], spec[3]
    if len(spec) == 3:
        return spec[0], *_count_and_displacement(spec[1]), spec[2]
    if len(spec) != 2:
        raise ValueError("message: expecting 2 to 4 items")
    if isinstance(spec[1], (Datatype, str)):
        return spec[0], None, None, spec[1]
    return spec[0], *_count_and_displacement(spec[1]), None


def _count_and_displacement(count: Any) -> tuple[Any, Any]:
    if isinstance(count, (list, tuple)):
        first, second = count
        return first, second
    return count, None


@lru_cache(maxsize=1024)
def _whole(code: str, nbytes: int, n_blocks: int) -> tuple[int, Datatype]:
    """What a buffer means that nothing else is said of: programs send the same few over and over."""
    datatype = of_format(code)
    return _inferred_count(nbytes, datatype.layout, n_blocks), datatype


def _inferred_count(room: int, layout: Layout, n_blocks: int) -> int:
    entries, rest = divmod(room, layout.extent)
    if rest:
        raise ValueError(
            f"message: cannot infer count, buffer length {room} is not a multiple of "
            f"the extent {layout.extent} of {layout.name}"
        )
    count, rest = divmod(entries, n_blocks)
    if rest:
        raise ValueError(f"message: cannot infer count, {entries} entries are not a multiple of {n_blocks} blocks")
    return count


def _check_count(count: int, n_blocks: int, room: int, layout: Layout) -> None:
    if count < 0:
        raise ValueError(f"message: negative count {count}")
    needed = count * n_blocks * layout.extent
    if count and needed > room + layout.extent - max(offset + length for offset, length in layout.blocks):
        raise ValueError(
            f"message: {count * n_blocks} entries of {layout.name} need {needed} bytes, the buffer has {room}"
        )
