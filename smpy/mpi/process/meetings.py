"""Meetings of two ranks that have no communicator in common: the first to come waits for the second.

Each brings the group that it speaks for; the two groups become the sides of an intercommunicator.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NoReturn

from smpy.engine.running import current, per_world
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.members import Members
from smpy.mpi.state.world import Communicator, world

__all__ = ["come_to_date", "fail_alike", "is_awaited", "meet"]


class _Meeting:
    """A meeting that one rank has come to."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.latch = current().new_latch(2)
        self.intercommunicator: Communicator | None = None


class _Waiting:
    """Meetings that wait for their second rank, by key, in the order of simulated time."""

    def __init__(self) -> None:
        self.meetings: dict[Hashable, list[_Meeting]] = {}


def come_to_date(call: str) -> None:
    """Give way until simulated time has reached the running rank, so that it sees what is there at its date."""
    current().block(call)


def fail_alike(error: MpiException) -> NoReturn:
    """Raise an error like the one that the root has met: each rank's handler hears of its own."""
    mine = MpiException(error.Get_error_code())
    mine._detail = error._detail
    raise mine


def is_awaited(key: Hashable) -> bool:
    """Whether a rank waits at a meeting for the next one to come."""
    return key in per_world(_Waiting).meetings


def meet(mine: Hashable, other: Hashable, members: Members, call: str) -> Communicator:
    """Meet the rank that comes with the same two keys the other way round.

    Parameters
    ----------
    mine, other : hashable
        Key under which others find this rank, and key under which this rank looks for others.
    members : sequence of int
        World ranks of the group that this rank speaks for.
    call : str
        Name of the MPI call.

    Returns
    -------
    Communicator
        This group's side of a new intercommunicator.
    """
    known = per_world(_Waiting).meetings
    waiting = known.get(other)
    if waiting:
        meeting = waiting.pop(0)
        if not waiting:
            del known[other]
        if not set(meeting.members).isdisjoint(members):
            fail("ERR_COMM", f"{call}: the two groups have ranks in common")
        meeting.intercommunicator, side = world().new_intercommunicator(meeting.members, members)
    else:
        meeting = _Meeting(members)
        known.setdefault(mine, []).append(meeting)
        side = None
    engine = current()
    coming = engine.start_collective(engine.comm_self(), world().no_steps(), 0, 0, (), meeting.latch)
    engine.wait(coming, call)
    if side is not None:
        return side
    assert meeting.intercommunicator is not None  # the second rank has opened the latch
    return meeting.intercommunicator
