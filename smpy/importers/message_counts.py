"""Counts of the messages that ranks send and receive, by sender, receiver and tag: each has to have both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.engine.trace import ACTIONS
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENDS: Final = tuple(map(ACTIONS.index, ("send", "isend")))
_RECEIVES: Final = tuple(map(ACTIONS.index, ("recv", "irecv")))
_ANY: Final = -1


class MessageCounts:
    """Messages of rows so far.

    Parameters
    ----------
    path : Path
        File of the rows, for errors.
    members : sequence of sequence of int
        World ranks of each communicator, which may grow.
    """

    def __init__(self, path: Path, members: Sequence[Sequence[int]]) -> None:
        self._path, self._members = path, members
        self._left: Counter[tuple[int, int, int, int]] = Counter()  # by communicator, sender, receiver, tag

    def add(self, rows: NDArray[Any]) -> None:
        """Count the messages of rows of actions."""
        for actions, is_send in ((_SENDS, True), (_RECEIVES, False)):
            rank, peer, tag, comm = (
                rows[name][np.isin(rows["action"], actions)] for name in ("rank", "peer", "tag", "comm")
            )
            for number in np.unique(comm):
                if number > 0:
                    of_it = comm == number
                    peer[of_it] = np.array(self._members[number])[peer[of_it]]
            ends = (rank, peer) if is_send else (peer, rank)
            keys, n = np.unique(np.stack((comm, *ends, tag)), axis=1, return_counts=True)
            for *key, number in zip(*keys.tolist(), n.tolist(), strict=True):
                left = self._left[tuple(key)] + (number if is_send else -number)
                if left:
                    self._left[tuple(key)] = left
                else:
                    del self._left[tuple(key)]

    def check(self) -> None:
        """Refuse messages that nobody receives, or nobody sends.

        Raises
        ------
        UsageError
            Names the first ones.
        """
        of_pair: Counter[tuple[int, int, int]] = Counter()
        has_any = {key[:3] for key in self._left if key[3] == _ANY}
        for key, left in self._left.items():
            if key[:3] in has_any:
                of_pair[key[:3]] += left
        wrong = [(*key, left) for key, left in self._left.items() if key[:3] not in has_any]
        wrong += [(*pair, _ANY, left) for pair, left in of_pair.items() if left]
        if wrong:
            _, source, target, tag, left = min(wrong)
            tagged = "" if tag == _ANY else f" with tag {tag}"
            messages = f"{abs(left):,} message{'s' * (abs(left) > 1)}"
            wrong_by = f"{messages} that nobody receives" if left > 0 else f"{messages} too few"
            raise UsageError(f"{self._path}: rank {source} sends {wrong_by}: to rank {target}{tagged}")
