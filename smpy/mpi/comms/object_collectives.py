"""Collectives on objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives.object_data_movement import all_gathered, broadcast, exchanged, gathered, scattered
from smpy.mpi.collectives.object_reductions import Operation, PrivateReduction
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.comms.creation_messages import private_duplicate
from smpy.mpi.comms.data_movement import DataMovement
from smpy.mpi.comms.locks import mark_use
from smpy.mpi.data.operations import SUM
from smpy.mpi.state.comm_core import CommCore, member_of
from smpy.mpi.state.environment import option
from smpy.mpi.state.world import Communicator

__all__ = ["ObjectCollectives", "ObjectScans"]


class ObjectCollectives(DataMovement):
    """Collective calls on objects."""

    __slots__ = ()

    @mpi_call
    def barrier(self) -> None:
        """Wait until all ranks have come."""
        self._barrier("barrier")

    @mpi_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Give all ranks a copy of the root's object."""
        return broadcast(*_entering(self, "bcast"), obj, root, "bcast")

    @mpi_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """A list of all ranks' objects, in rank order, at the root."""
        return gathered(*_entering(self, "gather"), sendobj, root, "gather")

    @mpi_call
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Give each rank its object of the root's sequence."""
        return scattered(*_entering(self, "scatter"), sendobj, root, "scatter")

    @mpi_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """A list of all ranks' objects, in rank order, at every rank."""
        return all_gathered(*_entering(self, "allgather"), sendobj, "allgather")

    @mpi_call
    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Give each rank its object of this rank's sequence; returns the objects that all ranks give this one."""
        return exchanged(*_entering(self, "alltoall"), sendobj, "alltoall")

    @mpi_call
    def reduce(self, sendobj: Any, op: Operation = SUM, root: int = 0) -> Any | None:
        """Reduce the ranks' objects, in rank order, at the root."""
        communicator, rank = _entering(self, "reduce")
        if option("fast_reduce", True):
            return _private(communicator, rank, op, "reduce").reduce(sendobj, root)
        objects = gathered(communicator, rank, sendobj, root, "reduce")
        return None if objects is None else reduce(op, objects)

    @mpi_call
    def allreduce(self, sendobj: Any, op: Operation = SUM) -> Any:
        """Reduce the ranks' objects, in rank order, at every rank."""
        communicator, rank = _entering(self, "allreduce")
        if option("fast_reduce", True):
            return _private(communicator, rank, op, "allreduce").allreduce(sendobj)
        return reduce(op, all_gathered(communicator, rank, sendobj, "allreduce"))


class ObjectScans(CommCore):
    """Prefix reductions of objects."""

    __slots__ = ()

    @mpi_call
    def scan(self, sendobj: Any, op: Operation = SUM) -> Any:
        """Reduce the objects of ranks 0 to this one, in rank order."""
        communicator, rank = _entering(self, "scan")
        if option("fast_reduce", True):
            return _private(communicator, rank, op, "scan").scan(sendobj)
        objects = gathered(communicator, rank, sendobj, 0, "scan")
        prefixes = None if objects is None else list(accumulate(objects, op))
        return scattered(communicator, rank, prefixes, 0, "scan")

    @mpi_call
    def exscan(self, sendobj: Any, op: Operation = SUM) -> Any | None:
        """Reduce the objects of the ranks before this one, in rank order; None at rank 0."""
        communicator, rank = _entering(self, "exscan")
        if option("fast_reduce", True):
            return _private(communicator, rank, op, "exscan").exscan(sendobj)
        objects = gathered(communicator, rank, sendobj, 0, "exscan")
        prefixes = None if objects is None else [None, *accumulate(objects[:-1], op)]
        return scattered(communicator, rank, prefixes, 0, "exscan")


def _entering(comm: CommCore, call: str) -> tuple[Communicator, int]:
    """The communicator that the running rank makes a call on, and the rank there."""
    communicator, rank = member_of(comm, call)
    mark_use(communicator, rank, call)
    return communicator, rank


def _private(communicator: Communicator, rank: int, op: Operation, call: str) -> PrivateReduction:
    """A reduction by messages; it counts as a collective of the communicator."""
    enter(communicator, rank, Signature(call), object).leave()
    return PrivateReduction(communicator, private_duplicate(communicator, rank, call), rank, op, call)
