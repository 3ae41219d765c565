"""Two-phase collective access to a file [1]_: each rank accesses one part of the whole range, then they exchange.

`SmpiRanges` divides the range, and computes the exchanged bytes, as SMPI 3.32 does, with its roundings and omissions.

References
----------
.. [1] Thakur, Choudhary: "An Extended Two-Phase Method for Accessing Sections of Out-of-Core Arrays", Scientific
   Programming 5 (4), 1996.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Ranges", "SmpiRanges", "TwoPhasePart"]


class TwoPhasePart(NamedTuple):
    """A rank's part in a two-phase access.

    Parameters
    ----------
    first : int
        First byte of the file that the rank accesses.
    nbytes : int
        Number of bytes that the rank accesses, of those that any rank wants.
    sent : list of int
        Numbers of bytes that the rank sends to each rank.
    """

    first: int
    nbytes: int
    sent: list[int]


class Ranges:
    """Ranges of a file that the ranks of a collective access want.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.

    Attributes
    ----------
    first, last : list of int
        First byte that each rank wants, and the byte after its last.
    n_wanted : list of int
        Number of bytes that each rank wants between the two.
    """

    __slots__ = ("_merged", "_sent", "first", "last", "n_wanted")

    def __init__(self, n_ranks: int) -> None:
        self.first = [0] * n_ranks
        self.last = [0] * n_ranks
        self.n_wanted = [0] * n_ranks
        self._merged: list[list[int]] | None = None
        self._sent: dict[int, list[int]] = {}

    def want(self, rank: int, first: int, last: int, n_wanted: int) -> None:
        """Record the range of a rank."""
        self.first[rank], self.last[rank], self.n_wanted[rank] = first, last, n_wanted

    @property
    def are_empty(self) -> bool:
        """Whether no rank wants any bytes."""
        return self.first == self.last

    @property
    def are_apart(self) -> bool:
        """Whether the ranges follow one another without gaps, and each rank wants all bytes of its own."""
        n_wanted = sum(self.n_wanted)
        return len(self.first) == 1 or (self._span() == n_wanted == sum(self.last) - sum(self.first))

    def part_of(self, rank: int) -> TwoPhasePart:
        """Part of a rank, when the ranges are not apart."""
        start, end = self._chunk(rank)
        nbytes = 0
        for first, last in self._stretches():
            if last >= start and first <= end:
                nbytes += max(0, min(last, end) - max(first, start))
        return TwoPhasePart(start, nbytes, self._sent_by(rank))

    def received_by(self, rank: int) -> list[int]:
        """Numbers of bytes that a rank receives from each rank."""
        return [self._sent_by(other)[rank] for other in range(len(self.first))]

    def _sent_by(self, rank: int) -> list[int]:
        if rank not in self._sent:
            start, end = self._chunk(rank)
            self._sent[rank] = [self._sent_to(rank, other, start, end) for other in range(len(self.first))]
        return self._sent[rank]

    def _span(self) -> int:
        return max(self.last) - min(self.first)

    def _chunk(self, rank: int) -> tuple[int, int]:
        """Begin and end of a rank's part of the whole range."""
        length = -(-self._span() // len(self.first))
        start = min(self.first) + length * rank
        return min(start, max(self.last)), min(start + length, max(self.last))

    def _sent_to(self, rank: int, other: int, start: int, end: int) -> int:  # SMPI's rule depends on the sender
        """Number of bytes that `other` wants from a rank's part."""
        first, last = self.first[other], self.last[other]
        overlap = min(last, end) - max(first, start)
        return overlap * self.n_wanted[other] // (last - first) if overlap > 0 else 0

    def _stretches(self) -> list[list[int]]:
        """Stretches of the file that at least one rank wants, in order."""
        if self._merged is None:
            ranges = sorted(zip(self.first, self.last, strict=True))
            merged = [list(ranges[0])]
            for first, last in ranges[1:]:
                if last <= merged[-1][1]:
                    continue
                if first > merged[-1][1]:
                    merged.append([first, last])
                else:
                    merged[-1][1] = last
            self._merged = merged
        return self._merged


class SmpiRanges(Ranges):
    """Ranges divided as in SMPI 3.32.

    Attributes
    ----------
    size, extent : list of int
        Size and extent of the datatype in each rank's memory.
    are_dense : bool
        Whether no datatype has gaps.
    """

    __slots__ = ("are_dense", "extent", "size")

    def __init__(self, n_ranks: int) -> None:
        super().__init__(n_ranks)
        self.size = [1] * n_ranks
        self.extent = [1] * n_ranks
        self.are_dense = True

    @property
    def are_apart(self) -> bool:
        """Whether the ranges together are as long as the whole range, and no datatype has gaps."""
        return len(self.first) == 1 or (self.are_dense and self._span() == sum(self.last) - sum(self.first))

    def part_of(self, rank: int) -> TwoPhasePart:
        """Part of a rank; it begins at the lowest of the rank's own range and the ranges that it sends to."""
        start, end = self._chunk(rank)
        part = super().part_of(rank)
        lowest = min([self.first[rank], *(self.first[other] for other in self._reached(start, end))])
        return part._replace(first=max(lowest, start))

    def _chunk(self, rank: int) -> tuple[int, int]:
        length, low = (self._span() + 1) // len(self.first), min(self.first)
        return low + length * rank, low + length * (rank + 1) + 1

    def _reached(self, start: int, end: int) -> list[int]:
        """Ranks whose range contains an end of the chunk; ranges inside the chunk are missed, as in SMPI."""
        ranges = enumerate(zip(self.first, self.last, strict=True))
        return [other for other, (first, last) in ranges if first <= start < last or first < end <= last]

    def _sent_to(self, rank: int, other: int, start: int, end: int) -> int:
        first, last = self.first[other], self.last[other]
        if not (first <= start < last or first < end <= last):
            return 0
        return (min(last, end) - max(first, start)) // self.extent[rank] * self.size[rank]
