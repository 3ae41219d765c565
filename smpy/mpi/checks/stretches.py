"""Stretches of bytes that entries of a datatype occupy, and an index to search those of many accesses."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from smpy.mpi.data.packing import places_of
from smpy.mpi.data.typemaps import Typemap

__all__ = ["StretchIndex", "StretchOfBytes", "span_of", "stretches_of"]

T = TypeVar("T")
_STRETCHES_MAX: Final = 1 << 20


class StretchOfBytes(NamedTuple):
    """Address or offset of the first byte, and of the one after the last."""

    begin: int
    end: int


def span_of(typemap: Typemap, first: int, count: int) -> StretchOfBytes:
    """Stretch from the first byte of some entries to their last one."""
    back, ahead = sorted((0, (count - 1) * typemap.extent))
    return StretchOfBytes(first + back + typemap.true_lb, first + ahead + typemap.true_ub)


def stretches_of(typemap: Typemap, first: int, count: int) -> list[StretchOfBytes]:
    """Stretches of some entries, in order; empty when there are too many to list.

    Parameters
    ----------
    typemap : Typemap
        Offsets of an entry's bytes.
    first : int
        Address or offset of the first entry.
    count : int
        Number of entries.
    """
    if not count or not typemap.size:
        return []
    if typemap.is_tiling or (typemap.is_dense and count == 1):
        return [span_of(typemap, first, count)]
    at, lengths = places_of(typemap)
    if count * len(at) > _STRETCHES_MAX:
        return []
    pieces = zip(at.tolist(), lengths.tolist(), strict=True)
    places = [(first + begin, first + begin + length) for begin, length in pieces]
    extent = typemap.extent
    return sorted(StretchOfBytes(a + i * extent, b + i * extent) for i in range(count) for a, b in places)


class StretchIndex(Generic[T]):
    """Stretches with a value each, searchable for those that overlap a given one.

    One sorted list holds all stretches whose lengths have equally many bits, so that a long stretch among many short
    ones slows no search. A search visits few others if the stretches of a list do not overlap each other.
    """

    def __init__(self) -> None:
        self._by_bits: dict[int, list[tuple[int, int, int, T]]] = {}
        self._n_added = 0

    def add(self, stretch: StretchOfBytes, value: T) -> None:
        """Add a stretch with its value."""
        begin, end = stretch
        self._n_added += 1  # breaks ties of equal stretches: values have no order
        insort(self._by_bits.setdefault((end - begin).bit_length(), []), (begin, end, self._n_added, value))

    def remove(self, stretch: StretchOfBytes, value: T) -> None:
        """Remove a stretch that was added with this value."""
        begin, end = stretch
        entries = self._by_bits[(end - begin).bit_length()]
        at = bisect_left(entries, (begin, end, 0))
        while entries[at][3] is not value:
            at += 1
        del entries[at]

    def overlapping(self, stretch: StretchOfBytes) -> Iterator[tuple[StretchOfBytes, T]]:
        """Stretches that overlap this one, with their values."""
        begin, end = stretch
        for bits, entries in self._by_bits.items():
            for i in range(bisect_left(entries, (begin - (1 << bits),)), len(entries)):
                its_begin, its_end, _, value = entries[i]
                if its_begin >= end:
                    break
                if its_end > begin:
                    yield StretchOfBytes(its_begin, its_end), value
