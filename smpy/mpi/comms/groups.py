"""`Group`: ordered sets of ranks, without communication."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Protocol, Self

from smpy.engine.running import current, mpi_call
from smpy.mpi.state.arguments import exact_integer, integer
from smpy.mpi.state.constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family
from smpy.mpi.state.members import NOBODY, Members, common, in_order, joined, place_of, without

__all__ = ["GROUP_EMPTY", "GROUP_NULL", "Group"]


class _Session(Protocol):
    def Create_group(self, pset_name: str) -> Group:
        """The group of a set of processes."""


class Group(Handle):
    """An ordered set of world ranks.

    Parameters
    ----------
    group : Group, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_members_or_null")
    _family: ClassVar = "Group"

    _members_or_null: Members | None

    def __new__(cls, group: Group | None = None) -> Self:
        return cls._of(None if group is None else of_family(group, Group)._members_or_null)

    @classmethod
    def _of(cls, world_ranks: Members | None) -> Self:
        """The group of these world ranks, in this order, as `in_order` gives them."""
        self = super().__new__(cls)
        self._members_or_null = world_ranks
        return self

    def _identity(self) -> int:
        return 0 if self._members_or_null is None else id(self._members_or_null)

    def _become_null(self) -> None:
        self._members_or_null = None

    @property
    def _members(self) -> Members:
        """World ranks in order; raises ``ERR_GROUP`` when the group is null."""
        if self._members_or_null is None:
            fail("ERR_GROUP", "the group is null")
        return self._members_or_null

    # ---- its ranks ----

    @mpi_call
    def Get_size(self) -> int:
        """Number of ranks."""
        return len(self._members)

    @mpi_call
    def Get_rank(self) -> int:
        """Rank of the running rank in the group, ``UNDEFINED`` when it is not a member."""
        place = place_of(self._members, current().rank)
        return UNDEFINED if place < 0 else place

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.Get_size()

    @property
    def rank(self) -> int:
        """Rank of the running rank in the group."""
        return self.Get_rank()

    @mpi_call
    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """Ranks of this group as ranks of another.

        Parameters
        ----------
        ranks : sequence of int, optional
            Ranks here; all of them without it.
        group : Group, optional
            The other group; that of the world without it.
        """
        members = self._members
        checked_ranks = range(len(members)) if ranks is None else [self._checked(rank, or_null=True) for rank in ranks]
        if group is None:
            return [PROC_NULL if rank == PROC_NULL else members[rank] for rank in checked_ranks]
        places = {member: rank for rank, member in enumerate(group._members)}
        return [PROC_NULL if rank == PROC_NULL else places.get(members[rank], UNDEFINED) for rank in checked_ranks]

    @mpi_call
    def Compare(self, group: Group) -> int:
        """Compare two groups: ``IDENT``, ``SIMILAR`` (other order) or ``UNEQUAL``.

        Parameters
        ----------
        group : Group
            The other group.
        """
        mine, its = self._members, group._members
        if mine == its:
            return IDENT
        return SIMILAR if len(mine) == len(its) and set(mine) == set(its) else UNEQUAL

    # ---- groups made of it ----

    @mpi_call
    def Dup(self) -> Self:
        """A further group of the same ranks."""
        self._check()
        return type(self)(self)

    @mpi_call
    def Incl(self, ranks: Sequence[int]) -> Self:
        """The group of these ranks, in this order.

        Parameters
        ----------
        ranks : sequence of int
            Ranks of this group, each once.
        """
        return self._these(list(ranks), "Incl")

    @mpi_call
    def Excl(self, ranks: Sequence[int]) -> Self:
        """The group of all other ranks.

        Parameters
        ----------
        ranks : sequence of int
            Ranks of this group, each once.
        """
        return self._others(list(ranks), "Excl")

    @mpi_call
    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Self:
        """The group of these ranges of ranks, in this order.

        Parameters
        ----------
        ranks : sequence of (int, int, int)
            First and last rank of a range, and the step.
        """
        return self._these(self._listed(ranks, "Range_incl"), "Range_incl")

    @mpi_call
    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Self:
        """The group of all ranks outside these ranges.

        Parameters
        ----------
        ranks : sequence of (int, int, int)
            First and last rank of a range, and the step.
        """
        return self._others(self._listed(ranks, "Range_excl"), "Range_excl")

    @classmethod
    @mpi_call
    def Union(cls, group1: Group, group2: Group) -> Self:
        """The members of the first group, then the members of the second that are not in the first."""
        return cls._of(joined(group1._members, group2._members))

    @classmethod
    @mpi_call
    def Intersection(cls, group1: Group, group2: Group) -> Self:
        """The members of the first that are in the second."""
        return cls._of(common(group1._members, group2._members))

    @classmethod
    @mpi_call
    def Intersect(cls, group1: Group, group2: Group) -> Self:
        """The members of the first that are in the second."""
        return cls.Intersection(group1, group2)

    @classmethod
    @mpi_call
    def Difference(cls, group1: Group, group2: Group) -> Self:
        """The members of the first that are not in the second."""
        return cls._of(without(group1._members, group2._members))

    @classmethod
    @mpi_call
    def Create_from_session_pset(cls, session: _Session, pset_name: str) -> Self:
        """The group of a session's set of processes.

        Parameters
        ----------
        session : Session
            An open session.
        pset_name : str
            Name of one of its sets.
        """
        return cls._of(session.Create_group(pset_name)._members)

    @mpi_call
    def Free(self) -> None:
        """Give the group back; the handle becomes null."""
        self._check()
        if self is GROUP_EMPTY:
            fail("ERR_GROUP", "Free: MPI_GROUP_EMPTY is predefined")
        self._become_null()

    # ---- checks ----

    def _check(self) -> None:
        self._members  # noqa: B018  # raises when there are none

    def _checked(self, rank: int, *, or_null: bool = False) -> int:
        if type(rank) is not int:
            rank = exact_integer("Group", "rank", rank)
        if not 0 <= rank < self.Get_size() and not (or_null and rank == PROC_NULL):
            fail("ERR_RANK", f"rank {rank}: the group has ranks 0 to {self.Get_size() - 1}")
        return rank

    def _once(self, ranks: list[int], call: str) -> set[int]:
        unique = {self._checked(rank) for rank in ranks}
        if len(unique) < len(ranks):
            twice = next(rank for rank in unique if ranks.count(rank) > 1)
            fail("ERR_RANK", f"{call}: rank {twice} is named more than once")
        return unique

    def _these(self, ranks: list[int], call: str) -> Self:
        members = self._members
        self._once(ranks, call)
        return self._of(in_order(members[rank] for rank in ranks))

    def _others(self, ranks: list[int], call: str) -> Self:
        members, left_out = self._members, self._once(ranks, call)
        if not left_out:
            return type(self)(self)
        return self._of(in_order(member for rank, member in enumerate(members) if rank not in left_out))

    def _listed(self, ranges: Iterable[tuple[int, int, int]], call: str) -> list[int]:
        ranks: list[int] = []
        for triple in ranges:
            first, last, step = (integer(call, "range", number) for number in triple)
            if step == 0:
                fail("ERR_ARG", f"{call}: the range ({first}, {last}, {step}) has no step")
            span = range(first, last + (1 if step > 0 else -1), step)
            for end in span[:1], span[-1:]:
                self._once(list(end), call)
            ranks += span
        return ranks


GROUP_NULL: Final = Group()
GROUP_EMPTY: Final = Group._of(NOBODY)
Group._know({"GROUP_NULL": GROUP_NULL, "GROUP_EMPTY": GROUP_EMPTY})
