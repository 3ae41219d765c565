"""Sizes of the blocks that the ranks of a collective send and expect, compared as the ranks enter.

A rank must send as many bytes to another as the other expects. The later of the two to enter checks it, and the error
names both.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from smpy.mpi.collectives.open_collective import OpenCollective, caller_location

__all__ = ["BlockSizes", "sizes_between"]

_UNKNOWN: Final = -1


class BlockSizes:
    """Sizes of the blocks of a collective, in bytes; each rank knows one, or all.

    Parameters
    ----------
    n : int
        Number of blocks.
    """

    __slots__ = ("_all", "_all_said", "_one", "_one_said")

    def __init__(self, n: int) -> None:
        self._one = array("q", [_UNKNOWN]) * n
        self._one_said: dict[int, tuple[int, str]] = {}
        self._all: array[int] | None = None
        self._all_said = (0, "")

    def say_one(self, collective: OpenCollective, member: int, block: int, nbytes: int, *, is_sent: bool) -> None:
        """Record the size of a block that a member sends, or expects; raises if another member's size differs."""
        line = caller_location()
        self._one[block], self._one_said[block] = nbytes, (member, line)
        if self._all is not None and self._all[block] != nbytes:
            self._fail(collective, block, is_sent=is_sent)

    def say_all(self, collective: OpenCollective, member: int, sizes_bytes: array[int], *, is_sent: bool) -> None:
        """Record the sizes of all blocks that a member sends, or expects; raises if other members' sizes differ."""
        if self._all is None:
            self._all, self._all_said = sizes_bytes, (member, caller_location())
            for block in self._one_said:
                if self._one[block] != sizes_bytes[block]:
                    self._fail(collective, block, is_sent=not is_sent)
        elif self._all != sizes_bytes:
            block = next(i for i, sizes in enumerate(zip(self._all, sizes_bytes, strict=True)) if sizes[0] != sizes[1])
            first, line = self._all_said
            collective.fail_about(
                block, (first, self._all[block], line), (member, sizes_bytes[block], caller_location())
            )

    def _fail(self, collective: OpenCollective, block: int, *, is_sent: bool) -> None:
        assert self._all is not None
        (one, its_line), (every, line) = self._one_said[block], self._all_said
        ends = (one, self._one[block], its_line), (every, self._all[block], line)
        collective.fail_between(*(ends if is_sent else ends[::-1]))


def sizes_between(offsets: Sequence[int]) -> array[int]:
    """Sizes of the blocks that lie between offsets."""
    return array("q", (end - start for start, end in pairwise(offsets)))
