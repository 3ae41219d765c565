"""Typemaps: the bytes of memory in a datatype's entry, in the order in which messages carry them (MPI 4.1, 5.1).

An entry has a few runs. A run is a stretch of bytes repeated by loops: at a fixed distance, or at listed offsets if
there is no regular distance. So the description of an entry is as small as the calls that made it, however many bytes
it has, and each run is moved by one strided copy (`smpy.mpi.data.packing`).

A typemap never changes. So calls with the same arguments, on one rank or on many, return the same typemap while it is
among the last that were made.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import prod
from typing import Final, NamedTuple

__all__ = [
    "EMPTY",
    "LARGEST_OFFSET",
    "ByteStretch",
    "Places",
    "RepeatedStride",
    "Typemap",
    "basic",
    "joined",
    "looped",
    "placed",
    "repeated",
    "resized",
]

LARGEST_OFFSET: Final = (1 << 63) - 1
"""Largest size or displacement: C uses 64 bits."""

_FEW: Final = 16
"""Largest number of blocks that get runs of their own; a larger number shares one run with a list of offsets."""
_KEPT: Final = 512
"""Number of typemaps that each constructor caches; it caches none with more than `_FEW` blocks."""


class RepeatedStride(NamedTuple):
    """Loop of equal steps, in memory and in the packed bytes."""

    times: int
    stride: int
    packed_stride: int


class Places(NamedTuple):
    """Loop without a fixed step: offsets in memory and in the packed bytes."""

    offsets: array[int]
    packed: array[int]

    @property
    def times(self) -> int:
        """Number of steps."""
        return len(self.offsets)


class ByteStretch(NamedTuple):
    """A stretch of bytes, repeated by loops; `offset` is its offset in the entry, `packed` that in the packed bytes.

    The loops are nested, the outermost one first.
    """

    offset: int
    packed: int
    length: int
    loops: tuple[RepeatedStride | Places, ...] = ()

    def moved(self, offset: int, packed: int) -> ByteStretch:
        """Same run at other offsets."""
        return self._replace(offset=self.offset + offset, packed=self.packed + packed)


@dataclass(frozen=True, slots=True, eq=False)
class Typemap:
    """Bytes of an entry.

    Parameters
    ----------
    size : int
        Bytes that an entry carries.
    lb, ub : int
        Lower and upper bound: the next entry is `ub` - `lb` bytes farther on.
    true_lb, true_ub : int
        Offset of the first byte carried, and offset behind the last.
    alignment : int
        Alignment of the most demanding element, in bytes.
    n_elements : int
        Number of basic elements.
    elements : tuple of (int, Typemap)
        Number and typemap of the parts that it was made of, in order; empty for a basic element.
    runs : tuple of ByteStretch
        The bytes.
    is_resized : bool
        Whether the bounds were set, rather than following from the elements.
    code : str
        Type string of a basic element.
    """

    size: int
    lb: int
    ub: int
    true_lb: int
    true_ub: int
    alignment: int
    n_elements: int
    elements: tuple[tuple[int, Typemap], ...]
    runs: tuple[ByteStretch, ...]
    is_resized: bool = False
    code: str = ""

    extent: int = field(init=False)
    """Bytes from one entry to the next."""
    is_dense: bool = field(init=False)
    """Whether the bytes of an entry are one stretch."""
    is_tiling: bool = field(init=False)
    """Whether consecutive entries are one stretch."""
    has_64_bits: bool = field(init=False)
    """Whether size, bounds and extent fit 64-bit numbers, as in C."""

    def __post_init__(self) -> None:
        extent, is_dense = self.ub - self.lb, len(self.runs) == 1 and not self.runs[0].loops
        numbers = (self.size, self.lb, self.ub, self.true_lb, self.true_ub, extent)
        set_field = partial(object.__setattr__, self)  # made once: a typemap is used more often than it is made
        set_field("extent", extent)
        set_field("is_dense", is_dense)
        set_field("is_tiling", is_dense and self.size == extent)
        set_field("has_64_bits", max(map(abs, numbers)) <= LARGEST_OFFSET)

    @property
    def n_blocks(self) -> int:
        """Number of contiguous blocks of an entry."""
        return sum(prod(loop.times for loop in run.loops) for run in self.runs)

    def span_bytes(self, count: int) -> int:
        """Memory from the first to the last byte of so many entries."""
        return self.true_ub - self.true_lb + abs(self.extent) * max(count - 1, 0)

    @property
    def has_bounds(self) -> bool:
        """Whether the typemap has anything that determines bounds."""
        return self.is_resized or self.n_elements > 0


EMPTY = Typemap(0, 0, 0, 0, 0, 1, 0, (), ())


def basic(code: str, size: int, alignment: int) -> Typemap:
    """One basic element."""
    return Typemap(size, 0, size, 0, size, alignment, 1, (), (ByteStretch(0, 0, size),), code=code)


@lru_cache(_KEPT)
def repeated(old: Typemap, count: int, stride: int) -> Typemap:
    """`count` entries, `stride` bytes apart."""
    if count == 0 or not old.has_bounds:
        return EMPTY
    back, ahead = sorted((0, (count - 1) * stride))
    return Typemap(
        size=count * old.size,
        lb=old.lb + back,
        ub=old.ub + ahead,
        true_lb=old.true_lb + back,
        true_ub=old.true_ub + ahead,
        alignment=old.alignment,
        n_elements=count * old.n_elements,
        elements=((count, old),),
        runs=looped(old.runs, count, stride, old.size),
        is_resized=old.is_resized,
    )


def placed(old: Typemap, lengths: Sequence[int], displacements: Sequence[int]) -> Typemap:
    """Blocks of entries, each at its own displacement in bytes."""
    blocks = tuple((count, at) for count, at in zip(lengths, displacements, strict=True) if count)
    return _placed(old, blocks) if len(blocks) <= _FEW else _placed.__wrapped__(old, blocks)


@lru_cache(_KEPT)
def _placed(old: Typemap, blocks: tuple[tuple[int, int], ...]) -> Typemap:
    if not blocks or not old.has_bounds:
        return EMPTY
    ends = [(at, at + (count - 1) * old.extent) for count, at in blocks]
    first, last = min(map(min, ends)), max(map(max, ends))
    n_entries = sum(count for count, _ in blocks)
    return Typemap(
        size=n_entries * old.size,
        lb=old.lb + first,
        ub=old.ub + last,
        true_lb=old.true_lb + first,
        true_ub=old.true_ub + last,
        alignment=old.alignment,
        n_elements=n_entries * old.n_elements,
        elements=((n_entries, old),),
        runs=tuple(_runs_of_blocks(old, blocks)),
        is_resized=old.is_resized,
    )


def joined(members: Iterable[tuple[int, int, Typemap]]) -> Typemap:
    """Blocks of entries of different kinds, given as (count, displacement in bytes, typemap).

    Bounds that were set hold for the whole (MPI 4.1, 5.1.6); otherwise the upper one leaves room for the next entry's
    alignment, as a C compiler does.
    """
    parts = tuple(members)
    return _joined(parts) if len(parts) <= _FEW else _joined.__wrapped__(parts)


@lru_cache(_KEPT)
def _joined(members: tuple[tuple[int, int, Typemap], ...]) -> Typemap:
    blocks = [(at, repeated(old, count, old.extent)) for count, at, old in members]
    blocks = [(at, block) for at, block in blocks if block.has_bounds]
    if not blocks:
        return EMPTY
    is_resized = any(block.is_resized for _, block in blocks)
    bounding = [(at, block) for at, block in blocks if block.is_resized == is_resized]
    carrying = [(at, block) for at, block in blocks if block.size] or blocks
    lb, ub = min(at + block.lb for at, block in bounding), max(at + block.ub for at, block in bounding)
    alignment = max(block.alignment for _, block in blocks)
    return Typemap(
        size=sum(block.size for _, block in blocks),
        lb=lb,
        ub=ub if is_resized else ub + (lb - ub) % alignment,
        true_lb=min(at + block.true_lb for at, block in carrying),
        true_ub=max(at + block.true_ub for at, block in carrying),
        alignment=alignment,
        n_elements=sum(block.n_elements for _, block in blocks),
        elements=tuple((1, block) for _, block in blocks),
        runs=tuple(_runs_of_members(blocks)),
        is_resized=is_resized,
    )


@lru_cache(_KEPT)
def resized(old: Typemap, lb: int, extent: int) -> Typemap:
    """Same bytes between other bounds."""
    return Typemap(
        size=old.size,
        lb=lb,
        ub=lb + extent,
        true_lb=old.true_lb,
        true_ub=old.true_ub,
        alignment=old.alignment,
        n_elements=old.n_elements,
        elements=((1, old),),
        runs=old.runs,
        is_resized=True,
    )


def looped(runs: tuple[ByteStretch, ...], count: int, stride: int, packed_stride: int) -> tuple[ByteStretch, ...]:
    """Runs of `count` entries."""
    if count == 1:
        return runs
    return tuple(_in_loop(run, RepeatedStride(count, stride, packed_stride)) for run in runs)


def _in_loop(run: ByteStretch, loop: RepeatedStride) -> ByteStretch:
    if not run.loops and loop.stride == loop.packed_stride == run.length:
        return run._replace(length=loop.times * run.length)
    inner = run.loops[0] if run.loops else None
    if isinstance(inner, RepeatedStride) and loop[1:] == (
        inner.times * inner.stride,
        inner.times * inner.packed_stride,
    ):
        return run._replace(loops=(inner._replace(times=loop.times * inner.times), *run.loops[1:]))
    return run._replace(loops=(loop, *run.loops))


def _runs_of_blocks(old: Typemap, blocks: Sequence[tuple[int, int]]) -> Iterator[ByteStretch]:
    """Runs of blocks, each a count of entries and a displacement in bytes; blocks of equal length share runs."""
    if old.is_tiling:
        yield from _of_stretches((at + old.true_lb, count * old.size) for count, at in blocks)
        return
    packed = accumulate((count * old.size for count, _ in blocks), initial=0)
    of_count: dict[int, Places] = {}
    for (count, at), before in zip(blocks, packed, strict=False):
        places = of_count.setdefault(count, Places(array("q"), array("q")))
        places.offsets.append(at)
        places.packed.append(before)
    for count, places in of_count.items():
        yield from _at_places(looped(old.runs, count, old.extent, old.size), places)


def _runs_of_members(blocks: list[tuple[int, Typemap]]) -> Iterator[ByteStretch]:
    """Runs of entries of different kinds, each a displacement in bytes and a typemap."""
    if all(block.is_dense or not block.size for _, block in blocks):
        yield from _of_stretches((at + block.true_lb, block.size) for at, block in blocks if block.size)
        return
    packed = accumulate((block.size for _, block in blocks), initial=0)
    for (at, block), before in zip(blocks, packed, strict=False):
        yield from (run.moved(at, before) for run in block.runs)


def _of_stretches(stretches: Iterable[tuple[int, int]]) -> Iterator[ByteStretch]:
    """Runs of stretches, each given as offset and length, in packed order; adjacent stretches are merged."""
    offsets, lengths, end = array("q"), array("q"), None
    for offset, length in stretches:
        if offset == end:
            lengths[-1] += length
        else:
            offsets.append(offset)
            lengths.append(length)
        end = offset + length
    if len(offsets) == 1:
        yield ByteStretch(offsets[0], 0, lengths[0])
        return
    of_length: dict[int, Places] = {}
    for offset, before, length in zip(offsets, accumulate(lengths, initial=0), lengths, strict=False):
        places = of_length.get(length)
        if places is None:
            places = of_length[length] = Places(array("q"), array("q"))
        places.offsets.append(offset)
        places.packed.append(before)
    for length, places in of_length.items():
        yield from _at_places((ByteStretch(0, 0, length),), places)


def _at_places(runs: tuple[ByteStretch, ...], places: Places) -> Iterator[ByteStretch]:
    """Copies of `runs` at offsets: a loop if the offsets are regular, separate runs if there are few of them."""
    (offsets, packed), count = places, places.times
    if count > 1:
        stride, packed_stride = offsets[1] - offsets[0], packed[1] - packed[0]
        if _is_regular(offsets, stride) and _is_regular(packed, packed_stride):
            for run in looped(runs, count, stride, packed_stride):
                yield run.moved(offsets[0], packed[0])
            return
    if count <= _FEW:
        for offset, before in zip(offsets, packed, strict=True):
            yield from (run.moved(offset, before) for run in runs)
        return
    yield from (run._replace(loops=(places, *run.loops)) for run in runs)


def _is_regular(numbers: array[int], step: int) -> bool:
    return all(after - before == step for before, after in pairwise(numbers))
