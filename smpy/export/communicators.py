"""Communicators of a run, for formats that know the world alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged
from smpy.replay.trace_schedules import members_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANY: Final = -1
"""Any source, or any tag."""

LARGEST_TAG: Final = (1 << 31) - 1
"""The first tag that stands for those of another communicator, or of collectives; the next ones are below."""

OF_COLLECTIVES: Final = -2
"""Stands for a tag in messages of collectives; a strand k has the k-th number below it."""


class Communicators:
    """World ranks of the run's communicators, and the tags of their messages in a format that knows the world alone.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """

    def __init__(self, trace: Trace) -> None:
        self._path: Final = trace.folder / "actions.parquet"
        self._members, self._other_of = members_of(trace)
        self._rank_of: Final[dict[int, dict[int, int]]] = {}
        self._tags: Final[dict[tuple[int, int], int]] = {}
        self._is_world: Final[dict[int, bool]] = {}

    def rank(self, comm: int, world_rank: int) -> int:
        """Rank in a communicator."""
        if comm not in self._rank_of:
            self._rank_of[comm] = {member: rank for rank, member in enumerate(self._members[comm])}
        if world_rank not in self._rank_of[comm]:
            raise damaged(f"{self._path}: rank {world_rank} takes part in communicator {comm}, and is no member")
        return self._rank_of[comm][world_rank]

    def size(self, comm: int) -> int:
        """Number of ranks in a communicator, or on its side of one between groups."""
        return len(self._members[comm])

    def numbers(self) -> list[int]:
        """Numbers of all communicators."""
        return sorted(self._members)

    def members(self, comm: int) -> list[int]:
        """World ranks of a communicator, or of its side of one between groups."""
        return self._members[comm]

    def other(self, comm: int) -> int:
        """Number of the other side of a communicator between groups; of others, their own."""
        return self._other_of[comm]

    def is_between_groups(self, comm: int) -> bool:
        """Whether it is an intercommunicator."""
        return self._other_of[comm] != comm

    def world_rank(self, comm: int, peer: int) -> int:
        """World rank of the other end of a message; any source stays any."""
        peers = self._members[self._other_of[comm]]
        if not -1 <= peer < len(peers):
            raise damaged(f"{self._path}: communicator {comm} has {len(peers)} ranks to send to, and none is {peer}")
        return peer if peer == ANY else peers[peer]

    def world_ranks(self, comms: NDArray[np.int32], peers: NDArray[np.int32]) -> NDArray[np.int32]:
        """World ranks of the other ends of messages, each in its communicator; any source stays any."""
        ranks = np.empty_like(peers)
        for comm in np.unique(comms).tolist():
            is_here = comms == comm
            here = peers[is_here]
            for peer in (here.min(), here.max()):
                self.world_rank(comm, int(peer))
            ranks[is_here] = np.array([*self._members[self._other_of[comm]], ANY], np.int32)[here]
        return ranks

    def is_world(self, comm: int) -> bool:
        """Whether a communicator has the ranks of the world, in their order."""
        if comm not in self._is_world:
            self._is_world[comm] = self._other_of[comm] == comm and self._members[comm] == self._members[0]
        return self._is_world[comm]

    def joint(self, comm: int) -> int:
        """Number that both sides of a communicator have in common."""
        return min(comm, self._other_of[comm])

    def tag(self, comm: int, tag: int) -> int:
        """Tag in the format: the program's own in the world; others, and those of collectives, are the largest."""
        if comm == 0 and tag > OF_COLLECTIVES:
            return tag
        return self._tags.setdefault((self.joint(comm), tag), LARGEST_TAG - len(self._tags))

    @property
    def tags_end(self) -> int:
        """The first tag that the program cannot have in the world."""
        return LARGEST_TAG + 1 - len(self._tags)
