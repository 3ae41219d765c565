"""Names the collective in which a rank waits, as its program called it, and the ranks that have not entered it.

The kernel may see a call as a message, or as a collective of an inner communicator. The program's own call is the
outermost frame of the surface. Each rank counts the collectives that it enters on a communicator; calls with equal
counts belong together.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from smpy.engine.messages import WaitingRank, WaitKind

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.mpi.state.world import Communicator, SharedBySides


class CollectiveOfRank(NamedTuple):
    """A collective in which a rank waits.

    Parameters
    ----------
    name : str
        The call that began it.
    communicator : Communicator
        On what it was called.
    place : int
        Its place among the communicator's collectives.
    is_started : bool
        Whether the rank waits for what it has started before.
    """

    name: str
    communicator: Communicator
    place: int
    is_started: bool = False


def collective_call(engine: Engine, wait: WaitingRank) -> CollectiveOfRank | None:
    """Collective in which a rank waits; None if it is in another call."""
    from smpy.mpi.state.world import world  # the program has imported it by now; a program without MPI needs none

    is_collective = wait.kind == WaitKind.COLLECTIVE
    if not is_collective and wait.kind not in (WaitKind.SEND, WaitKind.RECV):
        return None
    if is_collective and wait.call.lower().startswith(("wait", "test", "get_status")):
        return _started(world().communicator(wait.comm))
    name, number = _called(engine.frame_of(wait.timeline)) or (wait.call, wait.comm)
    if number < 0 or (number == wait.comm and not is_collective):
        return None
    communicator = world().communicator(number)
    return CollectiveOfRank(name, communicator, _n_entered(communicator.joint)[_member(communicator, wait.rank)])


def missing_ranks(call: CollectiveOfRank) -> list[int]:
    """World ranks that have not entered a collective."""
    communicator = call.communicator
    entered = _n_entered(communicator.joint)
    sides = communicator.groups() if communicator.is_inter else [communicator.world_ranks()]
    members = [rank for side in sides for rank in side]
    return [rank for rank, n in zip(members, entered, strict=True) if n < call.place]


def _called(frame: FrameType | None) -> tuple[str, int] | None:
    """Name of the program's call, and number of its communicator."""
    from smpy.mpi.state.comm_core import CommCore

    call = None
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("smpy."):
        code = frame.f_code
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if isinstance(first, CommCore):
            call = code.co_name.lstrip("_"), first._kernel_comm
        frame = frame.f_back
    return call


def _started(communicator: Communicator) -> CollectiveOfRank | None:
    """The first collective of a communicator that some rank has not entered."""
    entered = _n_entered(communicator.joint)
    for place, collective in sorted(communicator.joint.open.items()):
        if min(entered) < place:
            return CollectiveOfRank(collective.signature.call, communicator, place, is_started=True)
    return None


def _n_entered(joint: SharedBySides) -> list[int]:
    return list(joint.entered) if joint.entered is not None else [0] * joint.n_members


def _member(communicator: Communicator, world_rank: int) -> int:
    return communicator.joint.index(communicator.side, list(communicator.world_ranks()).index(world_rank))
