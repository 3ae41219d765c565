"""Packing: copies of entries between a program's memory and consecutive bytes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from smpy.engine.blocks import pack_strided, strided_of, unpack_strided
from smpy.engine.messages import Ranges
from smpy.engine.pointers import pointer_to
from smpy.mpi.data.buffers import LentMemory
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.strided import strided
from smpy.mpi.data.typemaps import LARGEST_OFFSET, ByteStretch, Places, RepeatedStride, Typemap, looped
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_bounds", "gathered", "pack", "packed_or_itself", "packed_ranges", "places_of", "spread", "unpack"]

_BATCH = 1 << 16
"""Number of irregular stretches moved at a time, so that their arrays of offsets stay small."""


def check_bounds(layout: Layout, memory: LentMemory, start: int, count: int) -> None:
    """Raise unless the bytes of `count` entries from byte `start` on lie within the memory and fit 64-bit numbers."""
    nbytes = count * layout.size
    if not nbytes:
        return
    if nbytes > LARGEST_OFFSET:
        fail("ERR_COUNT", f"message: {_counted(count, layout)} carry {nbytes} bytes, more than a message can")
    typemap, last = layout.typemap, start + (count - 1) * layout.extent
    first, end = min(start, last) + typemap.true_lb, max(start, last) + typemap.true_ub
    if not memory.has(first, end):
        memory.refuse(first, end, _counted(count, layout))


def _counted(count: int, layout: Layout) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'} of {layout.name or 'a derived datatype'}"


def pack(typemap: Typemap, memory: LentMemory, start: int, count: int) -> memoryview:
    """Packed bytes of `count` entries from byte `start` of `memory` on."""
    nbytes = count * typemap.size
    layout = strided(typemap)
    if layout is not None:
        room = bytearray(nbytes)
        pack_strided(strided_of(layout), memory.pointer + start, pointer_to(room), nbytes)
        return memoryview(room)

    import numpy as np

    packed = np.empty(nbytes, np.uint8)
    if nbytes:
        _move(typemap, memory, start, count, packed, is_packing=True)
    return packed.data


def packed_or_itself(typemap: Typemap, memory: LentMemory, count: int) -> memoryview:
    """Bytes that the first `count` entries carry: the memory itself if there are no gaps, else packed ones."""
    if typemap.is_tiling:
        return memory.stretch(typemap.true_lb, typemap.true_lb + count * typemap.size)
    return pack(typemap, memory, 0, count)


def unpack(typemap: Typemap, packed: memoryview, memory: LentMemory, start: int) -> None:
    """Write packed bytes into the entries from byte `start` of `memory` on; bytes in the gaps stay unchanged.

    The last entry may be incomplete.
    """
    if not len(packed):
        return
    if typemap.is_tiling:
        first = start + typemap.true_lb
        memory.stretch(first, first + len(packed))[:] = packed
        return
    layout = strided(typemap)
    if layout is not None:
        unpack_strided(strided_of(layout), memory.pointer + start, pointer_to(packed), len(packed))
        return

    import numpy as np

    count, rest = divmod(len(packed), typemap.size)
    whole = np.frombuffer(packed, np.uint8)
    if count:
        _move(typemap, memory, start, count, whole[: count * typemap.size], is_packing=False)
    if rest:
        last = start + count * typemap.extent
        entry = np.array(pack(typemap, memory, last, 1))
        entry[:rest] = whole[-rest:]
        _move(typemap, memory, last, 1, entry, is_packing=False)


def places_of(typemap: Typemap) -> tuple[NDArray[Any], NDArray[Any]]:
    """Offsets and lengths of an entry's stretches, in the order of the packed bytes; adjacent ones are merged."""
    import numpy as np

    parts = [np.empty((3, 0), np.int64)]
    for run in typemap.runs:
        at, packed = _places(run)
        parts.append(np.stack([packed, at, np.full(len(at), run.length)]))
    whole = np.concatenate(parts, axis=1)
    whole = whole[:, whole[2] > 0]
    _, at, lengths = whole[:, np.argsort(whole[0], kind="stable")]
    begins = np.flatnonzero(np.insert(at[1:] != (at + lengths)[:-1], 0, True)) if len(at) else at
    return at[begins], np.add.reduceat(lengths, begins) if len(at) else lengths


def packed_ranges(typemap: Typemap, ranges: Ranges, start: int, count: int) -> Ranges:
    """Ranges of the packed bytes of `count` entries from `start` on that come from `ranges` of the memory.

    The cost grows with the number of stretches, not with the distances between them.
    """
    import numpy as np

    firsts, lasts = np.array(ranges, np.int64).reshape(-1, 2).T
    parts = [np.empty((0, 2), np.int64)]
    for run in looped(typemap.runs, count, typemap.extent, typemap.size):
        for batch in _batches(run.moved(start, 0)):
            at, packed = _places(batch)
            low = np.searchsorted(lasts, at, "right")  # the first range that overlaps each stretch
            n_ranges = np.maximum(np.searchsorted(firsts, at + run.length) - low, 0)
            which = np.repeat(np.arange(len(at)), n_ranges)
            of_stretch = np.arange(len(which)) - np.repeat(np.cumsum(n_ranges) - n_ranges, n_ranges)
            hit = low[which] + of_stretch
            begin, end = np.maximum(firsts[hit], at[which]), np.minimum(lasts[hit], at[which] + run.length)
            parts.append(np.column_stack((begin, end)) + (packed - at)[which, None])
    pieces = np.concatenate(parts)
    if not len(pieces):
        return []
    begin, end = pieces[np.argsort(pieces[:, 0])].T
    is_apart = begin[1:] != end[:-1]
    begins, ends = begin[np.insert(is_apart, 0, True)], end[np.append(is_apart, True)]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def spread(typemap: Typemap, packed: bytes | memoryview) -> bytearray:
    """Entries laid out in new memory as a program has them, with zeros in the gaps; `gathered` is the inverse."""
    if typemap.is_tiling or not typemap.size:
        return bytearray(packed)
    count = memoryview(packed).nbytes // typemap.size
    first, last = _span(typemap, count)
    try:
        room = bytearray(last - first)
    except (MemoryError, OverflowError):
        entries = f"{count} entries of extent {typemap.extent}"
        fail("ERR_NO_MEM", f"{entries} need {last - first} bytes beside the program's own")
    unpack(typemap, memoryview(packed), LentMemory(room, memoryview(room), "B"), -first)
    return room


def gathered(typemap: Typemap, room: bytearray, count: int) -> memoryview:
    """Packed bytes of entries that `spread` has laid out."""
    if typemap.is_tiling or not typemap.size:
        return memoryview(room)
    first, _ = _span(typemap, count)
    return pack(typemap, LentMemory(room, memoryview(room), "B"), -first, count)


def _span(typemap: Typemap, count: int) -> tuple[int, int]:
    """Start and end of the memory of entries, relative to the address of the first entry."""
    back, ahead = sorted((0, (count - 1) * typemap.extent))
    return min(0, back + typemap.true_lb), max(count * typemap.extent, ahead + typemap.true_ub)


def _move(
    typemap: Typemap, memory: LentMemory, start: int, count: int, packed: NDArray[Any], *, is_packing: bool
) -> None:
    """Copy bytes between `packed` and the `count` entries from byte `start` of `memory` on."""
    back, ahead = sorted((0, (count - 1) * typemap.extent))
    first, last = typemap.true_lb + back, typemap.true_ub + ahead
    window = memory.stretch(start + first, start + last)
    for run in looped(typemap.runs, count, typemap.extent, typemap.size):
        for there, here, chosen, number in _stretches(run.moved(-first, 0), window, packed):
            if is_packing:
                here[number] = there[chosen]
            else:
                there[chosen] = here[number]


def _stretches(run: ByteStretch, window: Any, packed: NDArray[Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Arrays over a run's stretches, in memory and packed, and the indices of the stretches in each."""
    if all(isinstance(loop, RepeatedStride) for loop in run.loops):
        yield _array(run, window, 0), _array(run, packed, 1), ..., ...
        return
    there, here = _everywhere(run.length, window), _everywhere(run.length, packed)
    for batch in _batches(run):
        yield there, here, *_places(batch)


def _array(run: ByteStretch, buffer: Any, side: int) -> NDArray[Any]:
    """Array of the stretches of a run with regular loops; `side`: 0 in memory, 1 packed."""
    import numpy as np

    offset = (run.offset, run.packed)[side]
    loops = [(loop.times, loop[1 + side]) for loop in run.loops if isinstance(loop, RepeatedStride)]
    shape, strides = zip(*loops, strict=True) if loops else ((), ())
    return np.ndarray(shape, f"V{run.length}", buffer, offset, strides)


def _everywhere(length: int, buffer: Any) -> NDArray[Any]:
    """Array of overlapping stretches of one length, one beginning at each byte."""
    import numpy as np

    return np.ndarray((len(buffer) - length + 1,), f"V{length}", buffer, 0, (1,))


def _batches(run: ByteStretch) -> Iterator[ByteStretch]:
    """Split a run into runs with few stretches each."""
    if prod(loop.times for loop in run.loops) <= _BATCH:
        yield run
        return
    outer, *inner = run.loops
    n_inner = prod(loop.times for loop in inner)
    step = max(1, _BATCH // n_inner)
    for first in range(0, outer.times, step):
        count = min(step, outer.times - first)
        if isinstance(outer, RepeatedStride):
            part = run.moved(first * outer.stride, first * outer.packed_stride)
            loop: RepeatedStride | Places = outer._replace(times=count)
        else:
            part = run
            loop = Places(outer.offsets[first : first + count], outer.packed[first : first + count])
        if count > 1 or not inner:
            yield part._replace(loops=(loop, *inner))
        else:
            at, before = _places(ByteStretch(0, 0, 0, (loop,)))
            yield from _batches(part._replace(loops=tuple(inner)).moved(int(at[0]), int(before[0])))


def _places(run: ByteStretch) -> tuple[NDArray[Any], NDArray[Any]]:
    """Offsets of all stretches, in memory and packed."""
    import numpy as np

    at, before = np.array([run.offset]), np.array([run.packed])
    for loop in run.loops:
        if isinstance(loop, RepeatedStride):
            steps = np.arange(loop.times)
            offsets, packed = steps * loop.stride, steps * loop.packed_stride
        else:
            offsets, packed = (np.frombuffer(numbers, np.int64) for numbers in loop)
        at = (at[:, None] + offsets).ravel()
        before = (before[:, None] + packed).ravel()
    return at, before
