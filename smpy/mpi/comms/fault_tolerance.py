"""Fault tolerance (ULFM, a chapter of MPI 5), where no rank fails but by an error that ends the run.

No rank is ever found to have failed. A program can revoke a communicator: calls on it that communicate raise
``ERR_REVOKED`` from then on. Other ranks learn it at the simulated time of the call; a rank that waits in a call then
goes on waiting. `Agree` and `Shrink` have messages of their own, which no revocation stops. SMPI has none of these
calls: an agreement costs an allreduce of 4 bytes, and a smaller communicator a duplicate.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from smpy.engine.running import current, mpi_call
from smpy.mpi.collectives import reductions
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import start
from smpy.mpi.comms.creation import Creation
from smpy.mpi.comms.creation_messages import pay_for_new
from smpy.mpi.comms.groups import GROUP_EMPTY, Group
from smpy.mpi.data.datatypes import PREDEFINED as DATATYPES
from smpy.mpi.data.operations import PREDEFINED as OPERATIONS
from smpy.mpi.requests.request import Request
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.comm_core import CommCore, handle_on, member_of
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.guard import check_calls, watch_calls
from smpy.mpi.state.world import Communicator, world

__all__ = ["FaultTolerance"]

_INT: Final = DATATYPES["INT"]
_AND: Final = OPERATIONS["BAND"]
_ALLOWED: Final = (
    *("Ack_failed", "Agree", "Iagree", "Is_revoked", "Ishrink", "Revoke", "Shrink"),
    *("Abort", "Attach_buffer", "Cart_map", "Compare", "Detach_buffer", "Disconnect", "Free", "Graph_map", "Shift"),
)
"""Calls that a revoked communicator still answers: local ones, besides the ``Get_`` ones, and those of this chapter."""


class FaultTolerance(Creation):
    """Calls of programs that go on when ranks fail."""

    __slots__ = ()

    @mpi_call
    def Revoke(self) -> None:
        """Have calls on this communicator that communicate raise ``ERR_REVOKED``, on all its ranks."""
        communicator, rank = member_of(self, "Revoke")
        joint = communicator.joint
        joint.revoked_by.add(joint.index(communicator.side, rank))
        current().note(partial(setattr, joint, "is_revoked", True))
        watch_calls()

    @mpi_call
    def Is_revoked(self) -> bool:
        """Whether a rank has revoked this communicator."""
        return _is_revoked(*member_of(self, "Is_revoked"))

    @mpi_call
    def Get_failed(self) -> Group:
        """The group of the ranks that have failed: an empty one."""
        member_of(self, "Get_failed")
        return type(GROUP_EMPTY)(GROUP_EMPTY)

    @mpi_call
    def Ack_failed(self, num_to_ack: int | None = None) -> int:
        """Acknowledge ranks that have failed, for receives from any source to pass over them.

        Parameters
        ----------
        num_to_ack : int, optional
            Number of ranks to acknowledge; default: all.

        Returns
        -------
        int
            Number of ranks that are acknowledged: 0.
        """
        member_of(self, "Ack_failed")
        if num_to_ack is not None and integer("Ack_failed", "num_to_ack", num_to_ack) < 0:
            fail("ERR_ARG", f"Ack_failed({num_to_ack}): a number of ranks is not negative")
        return 0

    @mpi_call
    def Agree(self, flag: int) -> int:
        """Agree on an integer: the bits that all ranks have set; between groups, those of the other group.

        Parameters
        ----------
        flag : int
            Bits of this rank.
        """
        agreed = bytearray(_encoded(integer("Agree", "flag", flag)))
        _agreement(self, bytes(agreed), agreed, "Agree").perform()
        return int(memoryview(agreed).cast("i")[0])

    @mpi_call
    def Iagree(self, flag: Any) -> Request:
        """Start to agree on an integer.

        Parameters
        ----------
        flag : buffer
            An int: bits of this rank, and the common ones when the request has completed.
        """
        memory = memoryview(flag).cast("B")
        if memory.readonly:
            raise TypeError("Iagree: flag is read-only")
        if memory.nbytes != _INT.Get_size():
            raise ValueError(f"Iagree: flag has {memory.nbytes} bytes, and an int has {_INT.Get_size()}")
        return _agreement(self, bytes(memory), memory, "Iagree").start()

    @mpi_call
    def Shrink(self) -> Any:
        """A communicator of the ranks that have not failed: all of them."""
        communicator, rank = member_of(self, "Shrink")
        new = _shrunken(communicator, rank, "Shrink")
        pay_for_new(new, rank, "Shrink")
        return self._handle_or_null(new)

    @mpi_call
    def Ishrink(self) -> tuple[Any, Request]:
        """Start to make a communicator of the ranks that have not failed, to be used when the request has completed."""
        communicator, rank = member_of(self, "Ishrink")
        new = _shrunken(communicator, rank, "Ishrink")
        announcing = enter(new, rank, Signature("Ishrink's barrier"), object)
        request = start(announcing, new, "barrier", 0, 0, lambda _: announcing.leave())
        return self._handle_or_null(new), request


def _encoded(flag: int) -> bytes:
    try:
        return flag.to_bytes(_INT.Get_size(), "little", signed=True)
    except OverflowError:
        raise OverflowError(f"flag {flag} does not fit an int") from None


def _agreement(comm: CommCore, bits: bytes, agreed: Any, call: str) -> reductions.Allreduce:
    recovery = handle_on(CommCore, member_of(comm, call)[0].recovery().number)
    return reductions.Allreduce(recovery, [bits, _INT], [agreed, _INT], _AND, call)


def _shrunken(communicator: Communicator, rank: int, call: str) -> Communicator:
    """This side of the new communicator."""
    collective = enter(communicator.recovery(), rank, Signature(call), world().new_like, communicator)
    new: Communicator = collective.payload
    collective.leave()
    return new if new.side == communicator.side else new.remote


def _is_revoked(communicator: Communicator, rank: int) -> bool:
    joint = communicator.joint
    return joint.is_revoked or joint.index(communicator.side, rank) in joint.revoked_by


def _check_not_revoked(call: str, arguments: tuple[Any, ...]) -> None:
    """Raise ``ERR_REVOKED`` for a call that communicates on a revoked communicator."""
    comm = arguments[0] if arguments else None
    if not isinstance(comm, CommCore) or call in _ALLOWED or call.startswith("Get_") or comm._kernel_comm == -1:
        return
    communicator, rank = member_of(comm, call)
    if _is_revoked(communicator, rank):
        fail("ERR_REVOKED", f"{call}: a rank has called Revoke on {communicator.name or 'the communicator'}; Shrink it")


check_calls(_check_not_revoked)
