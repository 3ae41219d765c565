"""What the ranks of a collective with blocks of different sizes promise each other, compared as they enter.

What one rank sends to another must be what the other expects. The later of the two to enter finds out, and the error
names both.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from smpy.mpi.meetings.gathering import OpenCollective, line_of_program

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BlockSizes", "PairSizes", "sizes_between"]

_UNKNOWN: Final = -1


class BlockSizes:
    """Sizes of the blocks of a collective, in bytes, of which each rank knows one, or all.

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

    def say_one(self, meeting: OpenCollective, member: int, block: int, nbytes: int, *, is_sent: bool) -> None:
        """A member sends, or expects, one block."""
        line = line_of_program()
        self._one[block], self._one_said[block] = nbytes, (member, line)
        if self._all is not None and self._all[block] != nbytes:
            self._fail(meeting, block, is_sent=is_sent)

    def say_all(self, meeting: OpenCollective, member: int, sizes_bytes: array[int], *, is_sent: bool) -> None:
        """A member sends, or expects, all blocks."""
        if self._all is None:
            self._all, self._all_said = sizes_bytes, (member, line_of_program())
            for block in self._one_said:
                if self._one[block] != sizes_bytes[block]:
                    self._fail(meeting, block, is_sent=not is_sent)
        elif self._all != sizes_bytes:
            block = next(i for i, sizes in enumerate(zip(self._all, sizes_bytes, strict=True)) if sizes[0] != sizes[1])
            first, line = self._all_said
            meeting.fail_about(block, (first, self._all[block], line), (member, sizes_bytes[block], line_of_program()))

    def _fail(self, meeting: OpenCollective, block: int, *, is_sent: bool) -> None:
        assert self._all is not None
        (one, its_line), (every, line) = self._one_said[block], self._all_said
        ends = (one, self._one[block], its_line), (every, self._all[block], line)
        meeting.fail_between(*(ends if is_sent else ends[::-1]))


class PairSizes:
    """Bytes that each member sends to each other.

    Parameters
    ----------
    n_members : int
        Number of ranks, of both sides of an intercommunicator.
    """

    __slots__ = ("_lines", "_sizes")

    def __init__(self, n_members: int) -> None:
        import numpy as np

        self._sizes = np.full((n_members, n_members), _UNKNOWN)
        self._lines: dict[int, str] = {}

    def say(
        self, meeting: OpenCollective, member: int, first_peer: int, sent: array[int], expected: array[int]
    ) -> None:
        """A member sends to, and expects from, the peers that follow `first_peer`, sizes in bytes."""
        self._lines[member] = line_of_program()
        peers = slice(first_peer, first_peer + len(sent))
        wrong = _settled(self._sizes[member, peers], sent)
        if wrong is not None:
            peer = first_peer + wrong
            self._fail(meeting, (member, sent[wrong]), (peer, self._sizes[member, peer]))
        wrong = _settled(self._sizes[peers, member], expected)
        if wrong is not None:
            peer = first_peer + wrong
            self._fail(meeting, (peer, self._sizes[peer, member]), (member, expected[wrong]))

    def _fail(self, meeting: OpenCollective, sender: tuple[int, int], receiver: tuple[int, int]) -> None:
        meeting.fail_between((*sender, self._lines[sender[0]]), (*receiver, self._lines[receiver[0]]))


def sizes_between(offsets: Sequence[int]) -> array[int]:
    """Sizes of the blocks that lie between offsets."""
    return array("q", (end - start for start, end in pairwise(offsets)))


def _settled(known: NDArray[Any], sizes_bytes: array[int]) -> int | None:
    """Fill in what is not known; index of the first that is known to be another, if any."""
    import numpy as np

    mine = np.frombuffer(sizes_bytes, np.int64)
    wrong = (known != mine) & (known != _UNKNOWN)
    if wrong.any():
        return int(wrong.argmax())
    known[:] = mine
    return None
