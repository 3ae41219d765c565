"""Making, comparing, naming and ending communicators.

A new communicator costs what SMPI's does: rank 0 of it broadcasts 4 bytes. A split first gathers 8 bytes at rank 0,
which sends each member 8 bytes, group by group.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from smpy.engine.messages import Load
from smpy.engine.outcomes import Aborted
from smpy.engine.running import current, mpi_call
from smpy.mpi import constants
from smpy.mpi.comm_core import CommCore, handle_on, member_of, number_of, perform
from smpy.mpi.constants import CONGRUENT, IDENT, SIMILAR, UNDEFINED, UNEQUAL
from smpy.mpi.exceptions import fail
from smpy.mpi.gathering import OpenCollective, Signature, enter
from smpy.mpi.groups import Group
from smpy.mpi.handles import MYSELF, NOWHERE
from smpy.mpi.world import Communicator, world

__all__ = ["Management", "pay_for_new"]

_ANNOUNCED_BYTES: Final = 4
_SPLIT_BYTES: Final = 8


class Management(CommCore):
    """What a communicator is, and how it becomes another."""

    __slots__ = ()

    # ---- what it is ----

    def _Get_size(self) -> int:
        return current().comm_size(number_of(self, "Get_size"))

    def _Get_rank(self) -> int:
        return current().comm_rank(number_of(self, "Get_rank"))

    def Get_group(self) -> Group:
        """The group of its ranks."""
        return Group.of(member_of(self, "Get_group")[0].world_ranks())

    def Get_name(self) -> str:
        """What it is called."""
        if self.comm == NOWHERE:
            return "MPI_COMM_NULL"
        communicator, rank = member_of(self, "Get_name")
        return communicator.names.get(rank, communicator.name)

    def Set_name(self, name: str) -> None:
        """Call it something, on this rank."""
        communicator, rank = member_of(self, "Set_name")
        communicator.names[rank] = name[: constants.MAX_OBJECT_NAME - 1]

    def Is_inter(self) -> bool:
        """Whether it joins two groups."""
        number_of(self, "Is_inter")
        return False

    def Is_intra(self) -> bool:
        """Whether it has one group."""
        return not self.Is_inter()

    def Get_topology(self) -> int:
        """Which virtual topology it has: none."""
        number_of(self, "Get_topology")
        return UNDEFINED

    def Get_attr(self, keyval: int) -> Any:
        """A predefined attribute, or None when there is no such."""
        number_of(self, "Get_attr")
        known = {
            constants.TAG_UB: constants.LARGEST_TAG,
            constants.WTIME_IS_GLOBAL: 1,
            constants.UNIVERSE_SIZE: current().n_ranks,
            constants.IO: constants.ANY_SOURCE,
        }
        return known.get(keyval)

    def Compare(self, comm: Management) -> int:
        """``IDENT``, ``CONGRUENT`` (same ranks in the same order), ``SIMILAR`` (other order) or ``UNEQUAL``."""
        numbers = number_of(self, "Compare"), number_of(comm, "Compare")
        if numbers[0] == numbers[1]:
            return IDENT
        mine, its = (world().communicator(number).world_ranks() for number in numbers)
        if mine == its:
            return CONGRUENT
        return SIMILAR if sorted(mine) == sorted(its) else UNEQUAL

    @property
    def group(self) -> Group:
        """The group of its ranks."""
        return self.Get_group()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.Get_name()

    @name.setter
    def name(self, value: str) -> None:
        self.Set_name(value)

    @property
    def is_inter(self) -> bool:
        """Whether it joins two groups."""
        return self.Is_inter()

    @property
    def is_intra(self) -> bool:
        """Whether it has one group."""
        return self.Is_intra()

    @property
    def topology(self) -> int:
        """Which virtual topology it has."""
        return self.Get_topology()

    @property
    def is_topo(self) -> bool:
        """Whether it has a virtual topology."""
        return self.Get_topology() != UNDEFINED

    # ---- how it becomes another ----

    @mpi_call
    def Dup(self, info: Any = None) -> Any:
        """A communicator of the same ranks, with messages of its own."""
        communicator, rank = member_of(self, "Dup")
        meeting = enter(
            communicator, rank, Signature("Dup"), lambda: world().new_communicator(communicator.world_ranks())
        )
        new: Communicator = meeting.payload
        pay_for_new(new, rank, "Dup")
        meeting.leave()
        return handle_on(type(self), new.number)

    def Clone(self) -> Any:
        """A communicator of the same ranks, with messages of its own."""
        return self.Dup()

    @mpi_call
    def Split(self, color: int = 0, key: int = 0) -> Any:
        """A communicator of the ranks with the same color, in order of key, then of rank.

        Parameters
        ----------
        color : int
            Not negative, or ``UNDEFINED`` for no communicator.
        key : int
            Order in the new communicator.
        """
        communicator, rank = member_of(self, "Split")
        if color < 0 and color != UNDEFINED:
            fail("ERR_ARG", f"Split(color={color}): a color is not negative, or UNDEFINED")
        new = _split(communicator, rank, color, key)
        if new is None:
            return self._null_handle()
        pay_for_new(new, current().comm_rank(new.number), "Split")
        return self._new_intracomm(new.number)

    def Free(self) -> None:
        """Give the communicator back; the handle becomes null."""
        communicator, _ = member_of(self, "Free")
        if self.comm in (0, MYSELF):
            fail("ERR_COMM", f"Free: {communicator.name} is predefined")
        self.comm = NOWHERE
        communicator.n_freed += 1
        if communicator.n_freed == communicator.size:
            world().forget(communicator)

    @mpi_call
    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the run, at the simulated time of this call.

        Parameters
        ----------
        errorcode : int
            Exit code of the run.
        """
        engine = current()
        engine.stop(Aborted(engine.rank, errorcode))
        while True:
            engine.block("Abort")

    @classmethod
    def _new_intracomm(cls, number: int) -> Any:
        raise NotImplementedError

    @classmethod
    def _null_handle(cls) -> Any:
        raise NotImplementedError


def pay_for_new(new: Communicator, rank: int, call: str) -> None:
    """Take the time that SMPI takes to make a communicator, as its rank `rank`."""
    meeting = enter(new, rank, Signature("the new communicator's first broadcast", 0), object)
    perform(meeting, new, "bcast", 0, _ANNOUNCED_BYTES, call)
    meeting.leave()


class _Splitting:
    """Colors and keys of all ranks, and then the new communicator of each."""

    __slots__ = ("colors", "keys", "new")

    def __init__(self, n: int) -> None:
        self.colors = [UNDEFINED] * n
        self.keys = [0] * n
        self.new: dict[int, Communicator] = {}

    def groups(self) -> list[list[int]]:
        """Ranks of each color by key, then rank; colors in the order of their first rank."""
        members: dict[int, list[int]] = {}
        for rank, color in enumerate(self.colors):
            if color != UNDEFINED:
                members.setdefault(color, []).append(rank)
        return [sorted(ranks, key=self.keys.__getitem__) for ranks in members.values()]


def _split(communicator: Communicator, rank: int, color: int, key: int) -> Communicator | None:
    meeting = enter(communicator, rank, Signature("Split"), _Splitting, communicator.size)
    splitting: _Splitting = meeting.payload
    splitting.colors[rank], splitting.keys[rank] = color, key
    perform(meeting, communicator, "gather", 0, _SPLIT_BYTES, "Split")
    if rank == 0:
        _tell_groups(communicator, splitting, meeting)
    elif color != UNDEFINED:
        current().recv(communicator.shadow(), 0, _tag(meeting), Load(_SPLIT_BYTES), "Split")
    new = splitting.new.get(rank)
    meeting.leave()
    return new


def _tell_groups(communicator: Communicator, splitting: _Splitting, meeting: OpenCollective) -> None:
    """What rank 0 does: make the communicators and tell their members, one group after the other."""
    engine, world_ranks = current(), communicator.world_ranks()
    for ranks in splitting.groups():
        new = world().new_communicator([world_ranks[r] for r in ranks])
        splitting.new.update(dict.fromkeys(ranks, new))
        sent = [engine.isend(communicator.shadow(), r, _tag(meeting), Load(_SPLIT_BYTES)) for r in ranks if r != 0]
        engine.wait_all(sent, "Split")


def _tag(meeting: OpenCollective) -> int:
    return meeting.place % (1 << 30)
