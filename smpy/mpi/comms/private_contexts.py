"""Private functions of mpi4py's module that its packages call: locks of a communicator, and a duplicate of it.

A lock is a rank's own: it keeps apart the threads of one rank.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

from smpy.engine.running import mpi_call
from smpy.mpi.comms.comm import Comm, Intercomm, Intracomm
from smpy.mpi.comms.creation_messages import private_duplicate
from smpy.mpi.comms.locks import locks_of
from smpy.mpi.state.comm_core import handle_on, member_of
from smpy.mpi.state.world import Communicator

__all__ = ["_comm_lock", "_comm_lock_table", "_commctx_inter", "_commctx_intra"]


def _comm_lock(comm: Comm, key: Hashable | None = None) -> Lock:
    """A lock of the running rank and a communicator; the same for the same key."""
    return _comm_lock_table(comm).setdefault(key, Lock())


def _comm_lock_table(comm: Comm) -> dict[Hashable, Lock]:
    """The locks of the running rank and a communicator, by their key."""
    return locks_of(*member_of(comm, "_comm_lock_table"))


@mpi_call
def _commctx_intra(comm: Intracomm) -> tuple[Intracomm, int]:
    """A duplicate of a communicator, made with the first use, and a tag for the next use."""
    communicator, rank = member_of(comm, "_commctx_intra")
    return handle_on(Intracomm, private_duplicate(communicator, rank, "Dup").number), _next_tag(communicator, rank)


@mpi_call
def _commctx_inter(comm: Intercomm) -> tuple[Intercomm, int, Intracomm, bool]:
    """A duplicate, a tag for the next use, a communicator of this side, and whether this side comes first."""
    communicator, rank = member_of(comm, "_commctx_inter")
    private, tag = private_duplicate(communicator, rank, "Dup"), _next_tag(communicator, rank)
    own_side = handle_on(Intracomm, communicator.local().number)
    return handle_on(Intercomm, private.number), tag, own_side, communicator.side == 0


def _next_tag(communicator: Communicator, rank: int) -> int:
    """Positive: reductions of objects use 0."""
    uses = communicator.n_private_uses
    uses[rank] += 1
    return uses[rank] % (1 << 30) or 1
