"""Ordered accesses to a file: each rank's entries follow those of lower ranks."""

from __future__ import annotations

from itertools import accumulate

__all__ = ["Order"]


class Order:
    """Ranks that access a file in rank order, and the number of etypes that each of them wants.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.

    Attributes
    ----------
    n_etypes, n_bytes : list of int
        Number of etypes in the file, and of bytes in memory, of each rank.
    told_pointer : int
        Shared pointer that rank 0 announces to the others.
    """

    __slots__ = ("_places", "n_bytes", "n_etypes", "told_pointer")

    def __init__(self, n_ranks: int) -> None:
        self.n_etypes = [0] * n_ranks
        self.n_bytes = [0] * n_ranks
        self.told_pointer = 0
        self._places: list[int] = []

    def places(self, first: int) -> list[int]:
        """Offset of each rank, and of the end; the first call sets `first`, the shared pointer, for later calls."""
        if not self._places:
            self._places = list(accumulate(self.n_etypes, initial=first))
        return self._places
