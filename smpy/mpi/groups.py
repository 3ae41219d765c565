"""`Group`: ordered sets of ranks, without communication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Self

from smpy.engine.running import current
from smpy.mpi.constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from smpy.mpi.exceptions import fail
from smpy.mpi.handle import Handle

__all__ = ["GROUP_EMPTY", "GROUP_NULL", "Group"]


class Group(Handle):
    """An ordered set of world ranks.

    Parameters
    ----------
    group : Group, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_members")
    _family: ClassVar = "Group"

    _members: tuple[int, ...] | None

    def __new__(cls, group: Group | None = None) -> Self:
        return cls.of(group.members if group else None)

    @classmethod
    def of(cls, world_ranks: tuple[int, ...] | None) -> Self:
        """The group of these world ranks, in this order."""
        self = super().__new__(cls)
        self._members = world_ranks
        return self

    def _identity(self) -> int:
        return 0 if self._members is None else id(self._members)

    @property
    def members(self) -> tuple[int, ...]:
        """World ranks in order; raises ``ERR_GROUP`` when the group is null."""
        if self._members is None:
            fail("ERR_GROUP", "the group is null")
        return self._members

    def Get_size(self) -> int:
        """Number of ranks."""
        return len(self.members)

    def Get_rank(self) -> int:
        """Rank of the running rank in the group, ``UNDEFINED`` when it is not a member."""
        return _place(self.members, current().rank)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.Get_size()

    @property
    def rank(self) -> int:
        """Rank of the running rank in the group."""
        return self.Get_rank()

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """Ranks of this group as ranks of another.

        Parameters
        ----------
        ranks : sequence of int, optional
            Ranks here; all of them without it.
        group : Group, optional
            The other group; that of the world without it.
        """
        wanted = range(self.Get_size()) if ranks is None else [self._checked(rank) for rank in ranks]
        if group is None:
            return [PROC_NULL if rank == PROC_NULL else self.members[rank] for rank in wanted]
        places = {member: rank for rank, member in enumerate(group.members)}
        return [PROC_NULL if rank == PROC_NULL else places.get(self.members[rank], UNDEFINED) for rank in wanted]

    def Compare(self, group: Group) -> int:
        """``IDENT``, ``SIMILAR`` (other order) or ``UNEQUAL``."""
        if self.members == group.members:
            return IDENT
        return SIMILAR if sorted(self.members) == sorted(group.members) else UNEQUAL

    def Dup(self) -> Group:
        """Another handle."""
        self.members  # noqa: B018  # a null group has none
        return type(self)(self)

    def Incl(self, ranks: Sequence[int]) -> Group:
        """The group of these ranks, in this order."""
        return self.of(tuple(self.members[self._checked(rank)] for rank in ranks))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """The group of all other ranks."""
        left_out = {self._checked(rank) for rank in ranks}
        return self.of(tuple(member for rank, member in enumerate(self.members) if rank not in left_out))

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """The members of the first, then those of the second that are not in the first."""
        first = set(group1.members)
        return cls.of(group1.members + tuple(member for member in group2.members if member not in first))

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """The members of the first that are in the second."""
        second = set(group2.members)
        return cls.of(tuple(member for member in group1.members if member in second))

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """The members of the first that are not in the second."""
        second = set(group2.members)
        return cls.of(tuple(member for member in group1.members if member not in second))

    def Free(self) -> None:
        """Give the group back; the handle becomes null."""
        self.members  # noqa: B018  # a null group cannot be freed
        self._members = None

    def _checked(self, rank: int) -> int:
        if rank != PROC_NULL and not 0 <= rank < self.Get_size():
            fail("ERR_RANK", f"rank {rank}: the group has ranks 0 to {self.Get_size() - 1}")
        return rank


def _place(members: tuple[int, ...], member: int) -> int:
    if len(members) > member >= 0 and members[member] == member:  # the world and its first ranks
        return member
    return members.index(member) if member in members else UNDEFINED


GROUP_NULL: Final = Group()
GROUP_EMPTY: Final = Group.of(())
Group.know({"GROUP_NULL": GROUP_NULL, "GROUP_EMPTY": GROUP_EMPTY})
