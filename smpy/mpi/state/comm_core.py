"""Handles on communicators, and the communicator and rank of a call on one."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from smpy.engine.running import current, mpi_question
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle
from smpy.mpi.state.surface_bases import MYSELF, NOWHERE, CommBase, compiled_when_available
from smpy.mpi.state.world import Communicator, world

__all__ = ["CommCore", "handle_on", "member_of", "number_of"]

C = TypeVar("C", bound="CommCore")


@compiled_when_available("Get_rank", "Get_size", "rank", "size")
class CommCore(CommBase, Handle):
    """A handle on a communicator: a number, and no rank."""

    __slots__ = ()
    _family: ClassVar = "Comm"
    _null_identity: ClassVar = NOWHERE

    def _identity(self) -> int:
        return self._kernel_comm

    @mpi_question
    def Get_size(self) -> int:
        """Number of ranks."""
        return current().comm_size(number_of(self, "Get_size"))

    @mpi_question
    def Get_rank(self) -> int:
        """The running rank in this communicator."""
        return current().comm_rank(number_of(self, "Get_rank"))

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.Get_size()

    @property
    def rank(self) -> int:
        """The running rank in this communicator."""
        return self.Get_rank()


def number_of(comm: CommCore, call: str) -> int:
    """The kernel's number of a communicator for the running rank; raises ``ERR_COMM`` when the handle is null."""
    if comm._kernel_comm > 0:
        return comm._kernel_comm
    if comm._kernel_comm == 0:
        return current().world_of(current().rank)
    if comm._kernel_comm == MYSELF:
        return current().comm_self()
    return fail("ERR_COMM", f"{call}: the communicator is null")


def member_of(comm: CommCore, call: str) -> tuple[Communicator, int]:
    """The communicator as its ranks share it, and the running rank there."""
    number = comm._kernel_comm
    communicator = world().communicator(number if number > 0 else number_of(comm, call))
    rank = comm.rank
    if rank < 0:
        fail("ERR_COMM", f"{call}: rank {current().rank} is not in this communicator")
    return communicator, rank


def handle_on(kind: type[C], number: int) -> C:
    """A handle, of class `kind`, on the communicator with a number."""
    handle = kind.__new__(kind)
    handle._refer_to(number)
    return handle
