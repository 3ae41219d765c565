"""Blocks of bytes that the ranks of a collective leave for each other; None stands for folded memory.

Blocks with a content in some bytes only are kept in a list, as are all blocks once one of them is folded memory.
"""

from __future__ import annotations

from smpy.engine.messages import Carried, PartialBytes, copied, piece_of
from smpy.mpi.data.buffer_segments import BufferSegment, BufferSegments

__all__ = ["Blocks"]


class Blocks:
    """One block a rank, or the root's only one; None until it is left, and for folded memory.

    Parameters
    ----------
    n : int
        Number of blocks.

    Attributes
    ----------
    at : list of bytes or partial bytes
        The blocks by their place.
    """

    __slots__ = ("_is_apart", "_is_settled", "_joined", "_n_void", "at")

    def __init__(self, n: int) -> None:
        self.at: list[Carried | None] = [None] * n
        self._n_void = 0
        self._is_apart = False
        self._is_settled = False
        self._joined: bytes | None = None

    def leave(self, place: int, carried: memoryview | PartialBytes | None, *, is_lent: bool = False) -> None:
        """Take a rank's block, None when it is folded memory.

        Parameters
        ----------
        place : int
            Index of the block.
        carried : memoryview
            Its bytes.
        is_lent : bool
            Whether no rank leaves before all have come: then the first to leave copies all blocks at once, and none
            is copied before.
        """
        self._is_apart |= carried is None or isinstance(carried, PartialBytes)
        if carried is None:
            self._n_void += 1
        else:
            self.at[place] = carried if is_lent else copied(carried)

    def deliver(self, part: BufferSegment) -> None:
        """Put all blocks into `part`, once all are left."""
        joined = self._all()
        if joined is not None:
            part.put_in_time(joined)
        else:
            for place, block in enumerate(self.at):
                part.put_in_time(block, place)

    def deliver_each(self, parts: BufferSegments) -> None:
        """Put each block into its part, once all that are not empty are left."""
        if not self._is_apart and (self._is_settled or None not in self.at):
            parts.spend_on_write()
            parts.put(self._all() or b"")
            return
        for block, part in zip(self.at, parts, strict=True):
            assert block is not None or self._n_void or not part.nbytes, "a rank is through before all have come"
            part.put_in_time(block)

    def deliver_column(self, part: BufferSegment, column: int) -> None:
        """Put the same piece of every block, as long as one block of `part`, one behind the other into `part`."""
        nbytes = part.nbytes
        joined = self._all() if nbytes else b""
        if joined:
            part.put_in_time(_column(joined, len(self.at), column, nbytes))
        elif joined is None and self._n_void < len(self.at):
            for place, block in enumerate(self.at):
                if block is not None:
                    part.put_in_time(piece_of(block, column * nbytes, (column + 1) * nbytes), place)

    def _all(self) -> bytes | None:
        """All blocks in one, or None when some have no content in places; from now on none is lent."""
        if not self._is_settled:
            self._is_settled = True
            if not self._is_apart:
                assert None not in self.at or not any(self.at), "a rank is through before all have come"
                self._joined = b"".join(block for block in self.at if block and not isinstance(block, PartialBytes))
                self.at = [None] * len(self.at)
            else:
                self.at = [copied(block) for block in self.at]
        return self._joined


def _column(joined: bytes, n_rows: int, column: int, nbytes: int) -> memoryview:
    import numpy as np

    rows = np.frombuffer(joined, f"V{nbytes}").reshape(n_rows, -1)
    return memoryview(rows[:, column].tobytes())
