"""Groups, name, hints, attributes and error handler of a communicator."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from smpy.engine.running import current, mpi_question
from smpy.mpi.comms.groups import Group
from smpy.mpi.comms.hints import give_hints
from smpy.mpi.data.message_specifications import LARGEST_TAG
from smpy.mpi.state import constants
from smpy.mpi.state.attributes import Attributed
from smpy.mpi.state.comm_core import CommCore, member_of, number_of
from smpy.mpi.state.constants import CONGRUENT, IDENT, SIMILAR, UNDEFINED, UNEQUAL
from smpy.mpi.state.error_codes import last_used_code
from smpy.mpi.state.error_handlers import ErrorHandling
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import Info, pairs_of
from smpy.mpi.state.members import Members
from smpy.mpi.state.per_rank_attributes import Attributes, PerRankAttributes
from smpy.mpi.state.surface_bases import NOWHERE
from smpy.mpi.state.world import Communicator, world

__all__ = ["Identity"]

_FIRST_NUMBER: Final = 2
"""The number that a program sees of COMM_WORLD; before it are COMM_SELF and COMM_NULL."""


class Identity(CommCore, Attributed, ErrorHandling):
    """Ranks, kind, name, hints, attributes and error handler of a communicator."""

    __slots__ = ()
    _predefined_keyvals: ClassVar = frozenset(
        {
            *(constants.TAG_UB, constants.IO, constants.WTIME_IS_GLOBAL),
            *(constants.UNIVERSE_SIZE, constants.APPNUM, constants.LASTUSEDCODE),
        }
    )

    # ---- as a handle ----

    def _handle_number(self) -> int:
        return self._kernel_comm + _FIRST_NUMBER

    def _become_null(self) -> None:
        self._refer_to(NOWHERE)

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """The communicator with a number that `handle` gave; its class follows from its kind."""
        for known in cls._predefined.values():
            if known._handle_number() == handle:
                return known if isinstance(known, cls) else cls(known)
        communicator: Any = cls._handle_on(world().communicator(handle - _FIRST_NUMBER))
        return communicator if isinstance(communicator, cls) else cls(communicator)

    @classmethod
    def _handle_on(cls, communicator: Communicator) -> Any:
        """A handle of the class that fits."""
        raise NotImplementedError

    def _own_part(self, call: str, *, to_change: bool = False) -> PerRankAttributes:
        communicator, rank = member_of(self, call)
        return communicator.own_of(rank, to_change=to_change)

    # ---- its ranks ----

    @mpi_question
    def Get_group(self) -> Group:
        """The group of its ranks; of an intercommunicator, those on the running rank's side."""
        return Group._of(member_of(self, "Get_group")[0].world_ranks())

    def Is_inter(self) -> bool:
        """Whether it joins two groups."""
        return world().communicator(number_of(self, "Is_inter")).is_inter

    def Is_intra(self) -> bool:
        """Whether it has one group."""
        return not world().communicator(number_of(self, "Is_intra")).is_inter

    def Get_topology(self) -> int:
        """Kind of its virtual topology, ``UNDEFINED`` for none."""
        topology = world().communicator(number_of(self, "Get_topology")).topology
        return UNDEFINED if topology is None else int(topology.kind)

    def Compare(self, comm: Identity) -> int:
        """``IDENT``, ``CONGRUENT`` (same ranks in the same order), ``SIMILAR`` (other order) or ``UNEQUAL``.

        Parameters
        ----------
        comm : Comm
            The other communicator.
        """
        numbers = number_of(self, "Compare"), number_of(comm, "Compare")
        if numbers[0] == numbers[1]:
            return IDENT
        mine, its = (world().communicator(number) for number in numbers)
        if mine.is_inter != its.is_inter:
            return UNEQUAL
        pairs = (mine.world_ranks(), its.world_ranks()), (mine.remote.world_ranks(), its.remote.world_ranks())
        if all(here == there for here, there in pairs):
            return CONGRUENT
        return SIMILAR if all(_are_similar(here, there) for here, there in pairs) else UNEQUAL

    # ---- name, hints and attributes ----

    def Get_name(self) -> str:
        """Name of the communicator, on this rank."""
        if self._kernel_comm == NOWHERE:
            return "MPI_COMM_NULL"
        name = self._own_part("Get_name").name
        return world().communicator(number_of(self, "Get_name")).name if name is None else name

    def Set_name(self, name: str) -> None:
        """Call it something, on this rank.

        Parameters
        ----------
        name : str
            At most ``MAX_OBJECT_NAME - 1`` characters are kept.
        """
        self._own_part("Set_name", to_change=True).name = name[: constants.MAX_OBJECT_NAME - 1]

    def Get_info(self) -> Info:
        """Hints of the communicator, on this rank, in a new object."""
        return Info.Create(self._own_part("Get_info").info)

    def Set_info(self, info: Info) -> None:
        """Give it hints, on this rank.

        Parameters
        ----------
        info : Info
            Hints to add. ``smpy_collectives`` is the table that chooses algorithms of collectives, and
            ``smpy_algorithm_bcast`` the algorithm of one, here that of a broadcast; all ranks give the same ones. Other
            hints change nothing.
        """
        number_of(self, "Set_info")
        if not info:
            fail("ERR_INFO", "Set_info: the info object is null")
        give_hints(*member_of(self, "Set_info"), pairs_of(info), "Set_info")

    def _attributes_of_rank(self, call: str) -> Attributes:
        return self._own_part(call).attributes

    def _attributes_to_change(self, call: str) -> Attributes:
        return self._own_part(call, to_change=True).attributes

    def _predefined_attribute(self, keyval: int) -> int:
        if keyval == constants.LASTUSEDCODE:
            return last_used_code()
        return {
            constants.TAG_UB: LARGEST_TAG,
            constants.WTIME_IS_GLOBAL: 1,
            constants.UNIVERSE_SIZE: current().n_first_ranks,
            constants.IO: constants.ANY_SOURCE,
            constants.APPNUM: world().program_numbers.get(current().rank, 0),
        }[keyval]

    # ---- the same, as attributes of Python's ----

    @property
    def group(self) -> Group:
        """The group of its ranks."""
        return self.Get_group()

    @property
    def name(self) -> str:
        """Name of the communicator, on this rank."""
        return self.Get_name()

    @name.setter
    def name(self, value: str) -> None:
        self.Set_name(value)

    @property
    def info(self) -> Info:
        """Hints of the communicator."""
        return self.Get_info()

    @info.setter
    def info(self, value: Info) -> None:
        self.Set_info(value)

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
        """Kind of its virtual topology, ``UNDEFINED`` for none."""
        return self.Get_topology()

    @property
    def is_topo(self) -> bool:
        """Whether it has a virtual topology."""
        return self._kernel_comm != NOWHERE and self.Get_topology() != UNDEFINED


def _are_similar(mine: Members, its: Members) -> bool:
    return len(mine) == len(its) and set(mine) == set(its)
