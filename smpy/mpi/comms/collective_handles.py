"""Handles on windows and files: the ranks of a communicator make and end these together."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from smpy.engine.running import current, mpi_question
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.groups import Group
from smpy.mpi.state.error_handlers import ErrorHandling
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import Info, pairs_of
from smpy.mpi.state.per_rank_attributes import NOTHING_OF_ITS_OWN, Attributes, PerRankAttributes
from smpy.mpi.state.world import Communicator, world

__all__ = ["CollectiveHandle", "Membership", "wait_for_all"]


class Membership:
    """One rank's membership in a window or a file.

    Parameters
    ----------
    communicator : Communicator
        The window's or the file's own: the program may free the one it was made with.
    rank : int
        The rank there.
    info : Info or None
        Its hints.

    Attributes
    ----------
    is_over : bool
        Whether the rank has freed or closed it.
    """

    __slots__ = ("_own", "communicator", "is_over", "rank")

    def __init__(self, communicator: Communicator, rank: int, info: Info | None) -> None:
        self.communicator = communicator
        self.rank = rank
        self._own: PerRankAttributes | None = None
        hints = pairs_of(info)
        if hints:
            self.own.info = hints
        self.is_over = False

    @property
    def own(self) -> PerRankAttributes:
        """The rank's own name, hints, attributes and error handler, made when first asked for."""
        if self._own is None:
            self._own = PerRankAttributes()
        return self._own

    @property
    def attributes(self) -> Attributes:
        """Attributes that the rank has cached on the handle."""
        return NOTHING_OF_ITS_OWN.attributes if self._own is None else self._own.attributes

    @property
    def number(self) -> int:
        """Positive number of this membership, unique as long as the communicator exists."""
        return self.communicator.number * current().n_ranks + self.rank

    def end(self, n_barriers: int, call: str) -> None:
        """Give it back, together with the other ranks."""
        communicator = self.communicator
        for _ in range(n_barriers):
            wait_for_all(communicator, self.rank, call)
        self.is_over = True
        communicator.joint.n_freed += 1
        if communicator.joint.n_freed == communicator.size:
            world().forget(communicator)


class CollectiveHandle(ErrorHandling):
    """A handle on something that ranks have made together; it is the handle of one rank."""

    __slots__ = ()
    _error_class: ClassVar[str]
    """Error class of calls on a null handle."""

    _membership: Any

    @classmethod
    def _on(cls, membership: Membership | None) -> Self:
        """A handle; null without a membership."""
        self = super().__new__(cls)
        self._membership = membership
        return self

    def _identity(self) -> int:
        return 0 if self._membership is None else self._membership.number

    def _become_null(self) -> None:
        self._membership = None

    def _member(self, call: str) -> Any:
        """The membership; raises when there is none any more."""
        if self._membership is None:
            fail(self._error_class, f"{self._family}.{call}: the handle is null")
        if self._membership.is_over:
            fail(
                self._error_class, f"{self._family}.{call}: {self._giving_back} has been called on another handle of it"
            )
        return self._membership

    def _own_part(self, call: str, *, to_change: bool = False) -> PerRankAttributes:
        own: PerRankAttributes = self._member(call).own
        return own

    @mpi_question
    def Get_group(self) -> Group:
        """Group of the ranks that have made the object."""
        return Group._of(self._member("Get_group").communicator.world_ranks())

    def Get_info(self) -> Info:
        """Hints of the handle, on this rank, in a new object."""
        return Info.Create(self._member("Get_info").own.info)

    def Set_info(self, info: Info) -> None:
        """Give it hints, on this rank; they change nothing.

        Parameters
        ----------
        info : Info
            Hints to add.
        """
        self._member("Set_info").own.info.update(pairs_of(info))

    @property
    def group(self) -> Group:
        """Group of the ranks that have made the object."""
        return self.Get_group()

    @property
    def group_size(self) -> int:
        """Number of ranks that have made the object."""
        size: int = self._member("group_size").communicator.size
        return size

    @property
    def group_rank(self) -> int:
        """The running rank among them."""
        rank: int = self._member("group_rank").rank
        return rank

    @property
    def info(self) -> Info:
        """Hints of the handle."""
        return self.Get_info()

    @info.setter
    def info(self, value: Info) -> None:
        self.Set_info(value)


def wait_for_all(communicator: Communicator, rank: int, call: str) -> None:
    """Wait until all ranks have come, as in a barrier."""
    collective = enter(communicator, rank, Signature(call), object)
    perform(collective, communicator, "barrier", 0, 0, call)
    collective.leave()
