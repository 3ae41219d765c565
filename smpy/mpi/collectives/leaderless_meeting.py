"""Meetings of ranks that have no communicator yet: those of a group, or the leaders of two groups.

They find each other by a key that all of them derive from their arguments. Whoever comes first makes the meeting, the
last one takes it away; who comes again before that opens the next one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from smpy.mpi.state.world import world

__all__ = ["LeaderlessMeeting", "meet"]


class LeaderlessMeeting:
    """A meeting.

    Attributes
    ----------
    brought : dict of int to object
        What each participant has brought, by its place.
    made : object
        What they make of it, set by whoever can do so first; None before.
    """

    __slots__ = ("brought", "made")

    def __init__(self) -> None:
        self.brought: dict[int, Any] = {}
        self.made: Any = None


def meet(key: Hashable, place: int, n_expected: int, brought: Any = None) -> LeaderlessMeeting:
    """The meeting that the running rank comes to.

    Parameters
    ----------
    key : hashable
        What all participants know.
    place : int
        Which of them this one is.
    n_expected : int
        Number of participants.
    brought : object
        What the others may need of this one.
    """
    meetings = world().leaderless_meetings.setdefault(key, [])
    meeting = next((meeting for meeting in meetings if place not in meeting.brought), None)
    if meeting is None:
        meeting = LeaderlessMeeting()
        meetings.append(meeting)
    meeting.brought[place] = brought
    if len(meeting.brought) == n_expected:
        meetings.remove(meeting)
        if not meetings:
            del world().leaderless_meetings[key]
    return meeting
