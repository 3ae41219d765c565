"""Counts of the messages that ranks send and receive, by sender, receiver and tag: each has to have both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.engine.trace import ACTIONS
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = tuple[int, int, int, int]
"""Communicator, sender, receiver and tag."""

_SIDES: Final = (
    (1, tuple(map(ACTIONS.index, ("send", "isend")))),
    (-1, tuple(map(ACTIONS.index, ("recv", "irecv")))),
)
_ANY: Final = -1


class MessageCounts:
    """Messages of rows so far.

    Parameters
    ----------
    place_of : callable
        Returns file and line, given a rank and a line, for errors.
    members : sequence of sequence of int
        World ranks of each communicator, which may grow.
    """

    def __init__(self, place_of: Callable[[int, int], str], members: Sequence[Sequence[int]]) -> None:
        self._place_of, self._members = place_of, members
        self._left: dict[Key, tuple[int, int]] = {}  # sends without receives, or receives if negative; last line

    def add(self, rows: NDArray[Any], lines: NDArray[Any]) -> None:
        """Count the messages of rows of actions, given the line of each."""
        for sign, actions in _SIDES:
            of_side = np.flatnonzero(np.isin(rows["action"], actions))[::-1]  # the last one of a key comes first
            rank, peer, tag, comm = (rows[name][of_side] for name in ("rank", "peer", "tag", "comm"))
            for number in np.unique(comm):
                if number > 0:
                    of_it = comm == number
                    peer[of_it] = np.array(self._members[number])[peer[of_it]]
            ends = (rank, peer) if sign > 0 else (peer, rank)
            keys, last, n = np.unique(np.stack((comm, *ends, tag)), axis=1, return_index=True, return_counts=True)
            for *numbers, count, line in zip(*keys.tolist(), n.tolist(), lines[of_side[last]].tolist(), strict=True):
                key: Key = (*numbers,)
                before, line_before = self._left.pop(key, (0, 0))
                left = before + sign * count
                if left:
                    self._left[key] = left, line if left * sign > 0 else line_before

    def check(self) -> None:
        """Refuse messages that nobody receives, or nobody sends.

        A receive from any source, or of any tag, may take all that no other receive needs; so only numbers count there.

        Raises
        ------
        UsageError
            Names the first ones: file, line and rank.
        """
        into_any = {(comm, target) for comm, source, target, _ in self._left if source == _ANY}
        of_any = {key[:3] for key in self._left if key[3] == _ANY}
        groups: defaultdict[Key, list[tuple[Key, int, int]]] = defaultdict(list)
        for key, (left, line) in self._left.items():
            comm, source, target, tag = key
            is_needed = left < 0 and _ANY not in (source, tag)
            if not is_needed and (comm, target) in into_any:
                groups[comm, _ANY, target, _ANY].append((key, left, line))
            elif not is_needed and key[:3] in of_any:
                groups[comm, source, target, _ANY].append((key, left, line))
            else:
                groups[key].append((key, left, line))
        for (*_, tag), group in sorted(groups.items()):
            n = sum(left for _, left, _ in group)
            if n:
                (_, source, target, _), _, line = min(each for each in group if each[1] * n > 0)
                raise UsageError(self._sentence(source, target, tag, n, line))

    def _sentence(self, source: int, target: int, tag: int, n: int, line: int) -> str:
        messages, tagged = f"{abs(n):,} message{'s' * (abs(n) > 1)}", "" if tag == _ANY else f" with tag {tag}"
        if n > 0:
            place, fact = self._place_of(source, line), f"rank {source} sends {messages} that nobody receives"
            return f"{place}: {fact}: to rank {target}{tagged}"
        sender = "any rank" if source == _ANY else f"rank {source}"
        place, fact = self._place_of(target, line), f"rank {target} receives {messages} that nobody sends"
        return f"{place}: {fact}: from {sender}{tagged}"
