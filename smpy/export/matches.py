"""Sources and tags of the messages that receives from any source, or of any tag, took."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.export.action_columns import is_named
from smpy.export.communicators import ANY, Communicators
from smpy.records.columns import numbers
from smpy.records.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS: Final = ("rank", "action", "comm", "peer", "tag", "bytes", "request")
_NUMBERS: Final = ("rank", "comm", "peer", "tag", "request")
_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv")
_UNKNOWN: Final = -2  # tag of a receive that took no message
_NO_INDEX: Final = -1


class Matches:
    """Matches of a run. A receive from any source takes 100 bytes of memory, one of any tag takes 4.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    communicators : Communicators
        Communicators of the trace.

    Attributes
    ----------
    largest_bytes : int
        Size of the largest message that the program sent.
    largest_tag : int
        Largest tag in the world.
    """

    def __init__(self, trace: Trace, communicators: Communicators) -> None:
        self.largest_bytes = self.largest_tag = 0
        self._took: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        self._tags: Final = [array("i") for _ in range(trace.n_ranks)]  # of receives of any tag, in order
        self._next: Final = [0] * trace.n_ranks
        has_any_tag = False
        for batch in trace.batches("actions", _COLUMNS):
            is_send = _is_one_of(batch["action"], _SENDS)
            if is_send.any():
                self.largest_bytes = max(self.largest_bytes, int(numbers(batch["bytes"])[is_send].max()))
                in_world = numbers(batch["tag"])[is_send & (numbers(batch["comm"], ANY) == 0)]
                self.largest_tag = max(self.largest_tag, int(in_world.max(initial=0)))
            is_any = _is_one_of(batch["action"], _RECEIVES) & (numbers(batch["tag"]) == ANY)
            has_any_tag |= bool((is_any & (numbers(batch["peer"]) != ANY)).any())
            for row in batch.take(np.flatnonzero(_is_one_of(batch["action"], ("took",)))).to_pylist():
                self._took[row["rank"], row["request"]] = row["peer"], row["tag"]
        if has_any_tag:
            self._match(trace, communicators)

    def taken_by(self, rank: int, request: int, peer: int, tag: int) -> tuple[int, int] | None:
        """Source and tag of what a receive took, asked once for each receive and in order; None: it took nothing."""
        if peer == ANY:
            return self._took.get((rank, request))
        if tag != ANY:
            return peer, tag
        number, self._next[rank] = self._next[rank], self._next[rank] + 1
        taken = self._tags[rank][number]
        return None if taken == _UNKNOWN else (peer, taken)

    def _match(self, trace: Trace, communicators: Communicators) -> None:
        """Match sends and receives of each two ranks in order, which decides alone, as each source is known."""
        sent: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)  # tags of sends that nobody has taken
        posted: dict[tuple[int, int, int], deque[tuple[int, int]]] = defaultdict(deque)  # tags, and their indices
        for batch in trace.batches("actions", _COLUMNS):
            rows = batch.take(np.flatnonzero(_is_one_of(batch["action"], (*_SENDS, *_RECEIVES))))
            names = rows["action"].to_numpy(zero_copy_only=False).tolist()
            others = (numbers(rows[column]).tolist() for column in _NUMBERS)
            for name, rank, comm, peer, tag, request in zip(names, *others, strict=True):
                if name in _SENDS:
                    key = communicators.joint(comm), rank, communicators.world_rank(comm, peer)
                    if not self._take(posted[key], tag, key[2]):
                        sent[key].append(tag)
                    continue
                index = _NO_INDEX
                if peer == ANY:
                    if (rank, request) not in self._took:
                        continue
                    peer, tag = self._took[rank, request]
                elif tag == ANY:
                    index = len(self._tags[rank])
                    self._tags[rank].append(_UNKNOWN)
                key = communicators.joint(comm), communicators.world_rank(comm, peer), rank
                waiting = sent[key]
                place = next((i for i, of_send in enumerate(waiting) if tag in (ANY, of_send)), None)
                if place is None:
                    posted[key].append((tag, index))
                else:
                    if index != _NO_INDEX:
                        self._tags[rank][index] = waiting[place]
                    del waiting[place]

    def _take(self, posted: deque[tuple[int, int]], tag: int, target: int) -> bool:
        """Give a send to the first receive that may take it; return whether there is one."""
        for place, (of_receive, index) in enumerate(posted):
            if of_receive in (ANY, tag):
                if index != _NO_INDEX:
                    self._tags[target][index] = tag
                del posted[place]
                return True
        return False


def _is_one_of(column: Any, words: Sequence[str]) -> NDArray[np.bool_]:
    """Mask of the rows with one of some words."""
    return is_named(column.dictionary.to_pylist(), numbers(column.indices), *words)
