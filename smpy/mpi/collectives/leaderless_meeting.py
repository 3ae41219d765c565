"""Meetings of ranks that have no communicator yet: the ranks of a group, or the leaders of two groups.

Participants find each other by a key that each of them derives from its arguments. The first one makes the meeting and
the last one removes it; a participant that comes again before that makes a further meeting under the same key.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from smpy.mpi.state.world import world

__all__ = ["LeaderlessMeeting", "form_group"]


class LeaderlessMeeting:
    """A meeting.

    Attributes
    ----------
    brought : dict of int to object
        Object that each participant has brought, by its place.
    result : object
        Common result, set by the first participant that can compute it; None before.
    """

    __slots__ = ("brought", "result")

    def __init__(self) -> None:
        self.brought: dict[int, Any] = {}
        self.result: Any = None


def form_group(key: Hashable, place: int, n_expected: int, brought: Any = None) -> LeaderlessMeeting:
    """The meeting that the running rank comes to.

    Parameters
    ----------
    key : hashable
        Key of the meeting, equal at all participants.
    place : int
        Number of this participant.
    n_expected : int
        Number of participants.
    brought : object
        Object that other participants may need from this one.
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
