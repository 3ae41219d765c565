"""`Comm`, `Intracomm`, `Intercomm` and the predefined communicators: the families, put together."""

from __future__ import annotations

from typing import Any, Final, Self

from smpy.engine.running import current
from smpy.mpi.comms.attached_buffers import AttachedBuffers
from smpy.mpi.comms.creation_by_group import CreationByGroup, RemoteGroup
from smpy.mpi.comms.exchanges import Exchanges
from smpy.mpi.comms.fault_tolerance import FaultTolerance
from smpy.mpi.comms.object_collectives import ObjectCollectives, ObjectScans
from smpy.mpi.comms.object_messages import ObjectMessages
from smpy.mpi.comms.partitioned_messages import PartitionedMessages
from smpy.mpi.comms.reductions import Reductions, Scans
from smpy.mpi.comms.sends import Sends
from smpy.mpi.comms.split_type import TypeSplitting
from smpy.mpi.comms.topology_creation import TopologyCreation
from smpy.mpi.process.connections import Connections, Joining
from smpy.mpi.process.spawning import Spawning
from smpy.mpi.state.comm_core import handle_on
from smpy.mpi.state.error_handlers import ErrorHandling
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.surface_bases import MYSELF, NOWHERE
from smpy.mpi.state.world import Communicator, world

__all__ = ["COMM_NULL", "COMM_SELF", "COMM_WORLD", "Comm", "Intercomm", "Intracomm"]


class Comm(
    Sends,
    ObjectMessages,
    Exchanges,
    PartitionedMessages,
    AttachedBuffers,
    ObjectCollectives,
    Reductions,
    TypeSplitting,
    FaultTolerance,
    Joining,
):
    """A communicator: ranks, and messages that stay among them.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, comm: Comm | None = None) -> Self:
        self = super().__new__(cls)
        if comm is not None:
            self._refer_to(of_family(comm, Comm)._kernel_comm)
        return self

    @classmethod
    def Get_parent(cls) -> Intercomm:
        """The intercommunicator to the ranks that spawned these; null if the run started them, or it is freed."""
        number = world().parents.get(current().rank)
        return Intercomm() if number is None else handle_on(Intercomm, number)

    @classmethod
    def _handle_on(cls, communicator: Communicator) -> Any:
        kind: type[Any] = Intercomm if communicator.is_inter else Intracomm
        if communicator.topology is not None:
            kind = communicator.topology.comm_class
        return handle_on(kind, communicator.number)

    @classmethod
    def _null_handle(cls) -> Any:
        return Intercomm() if issubclass(cls, Intercomm) else Intracomm()


class Intracomm(Scans, ObjectScans, TopologyCreation, CreationByGroup, Connections, Spawning, Comm):
    """A communicator of one group of ranks.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If it is one between two groups.
    """

    __slots__ = ()

    def __new__(cls, comm: Comm | None = None) -> Self:
        self = super().__new__(cls, comm)
        if self._kernel_comm > 0 and self.Is_inter():
            raise TypeError("expected an intracommunicator")
        return self


class Intercomm(RemoteGroup, Comm):
    """A communicator between two groups of ranks: messages go to the other group and come from there.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If it is one of a single group.
    """

    __slots__ = ()

    def __new__(cls, comm: Comm | None = None) -> Self:
        self = super().__new__(cls, comm)
        if self._kernel_comm != NOWHERE and not self.Is_inter():
            raise TypeError("expected an intercommunicator")
        return self


COMM_NULL: Final = Comm()
COMM_SELF: Final[Intracomm] = handle_on(Intracomm, MYSELF)
COMM_WORLD: Final[Intracomm] = handle_on(Intracomm, 0)
Comm._know({"COMM_NULL": COMM_NULL, "COMM_SELF": COMM_SELF, "COMM_WORLD": COMM_WORLD})
ErrorHandling._in_place_of_none = COMM_WORLD
