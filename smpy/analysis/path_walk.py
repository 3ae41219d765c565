"""The walk along the critical path, from the last event back to the first.

A rank's own activity before an event is on the path; so is a thread's. At a wait the path goes on with the rank, or
with the thread of a rank (`threads`), that ended it:

* at the end of a transfer it follows the message to its start, and there goes on with the side that let it start: the
  sender of an early message, else the side that was posted last;
* at the end of a wait for others it goes on, at that date, with the rank that was waited for; at that of a sleep that
  another thread ended, with that one; at the start of a thread, with the one that started it;
* at a message of a collective that was sent or received in the background (a collective that was started), it goes on
  with the message whose end at that rank and date allowed it, if there is one.

A wait itself is on the path only if the trace does not tell which rank ended it. Dates never increase; a circle at a
single date is cut. A jump costs O(log n).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.analysis.timeline import IDLE, LATE, ONE_DATE_S, TRANSFER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.analysis.messages import Messages
    from smpy.analysis.timeline import Timeline

_NO_MESSAGE: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class PathParts:
    """The path in pieces, the last first; each begins where the next one ends.

    Parameters
    ----------
    rank : (n_parts,) array of int
        Rank of the part; of a message, the rank that waited for its end.
    start_s, end_s : (n_parts,) array of float
        Dates.
    kind, place : (n_parts,) array of int
        Kind and place of `Timeline`; of a message, those of the wait for its end.
    message : (n_parts,) array of int
        Row in `Messages`; -1: none.
    """

    rank: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    kind: NDArray[np.int8]
    place: NDArray[np.int32]
    message: NDArray[np.int64]


class _Cause(NamedTuple):
    """Continuation of the path: a location's activity up to a date, and the message along which the path came."""

    location: int
    date_s: float
    message: int


def walk_back(timeline: Timeline, messages: Messages) -> PathParts:
    """Walk the critical path.

    Parameters
    ----------
    timeline : Timeline
        Intervals of all ranks and threads; one without an interval cannot be on the path.
    messages : Messages
        Messages between them.
    """
    walk = _Walk(timeline, messages)
    walk.back()
    return walk.parts()


@dataclass(slots=True, eq=False)
class _Walk:
    """The path as rows (low, high, from, until, message), the last piece first.

    A piece without message has the intervals low to high of a rank, the first one from a date on, the last one up to
    another; a piece with one has the interval that it ends, twice, and the dates between which the path follows it.
    """

    timeline: Timeline
    messages: Messages
    rows: list[tuple[int, int, float, float, int]] = field(default_factory=list)
    arrivals: _ByDate | None = None

    def back(self) -> None:
        timeline = self.timeline
        first, start_s = timeline.first.data, timeline.start_s.data
        waits = np.isin(timeline.kind, (TRANSFER, *LATE)) | (timeline.other >= 0)
        last_wait = np.maximum.accumulate(np.where(waits, np.arange(len(waits)), -1)).data
        at = self._last_event()
        location = int(np.searchsorted(timeline.first, at, side="right")) - 1
        date_s, came_with = float(timeline.end_s[at]), _NO_MESSAGE
        seen, seen_s = {location: at}, date_s  # the earliest interval of each location, at this date
        while True:
            if date_s < seen_s - ONE_DATE_S:
                seen, seen_s = {}, date_s
            seen[location] = at
            cause = self._cause(at, location, date_s, came_with)
            before = -1 if cause is None else self._interval(cause.location, cause.date_s)
            if cause is not None and (
                cause.date_s < seen_s - ONE_DATE_S or before < seen.get(cause.location, before + 1)
            ):
                if cause.message >= 0:
                    self.rows.append((at, at, cause.date_s, date_s, cause.message))
                location, date_s, came_with = cause
                at = before
            else:
                low = max(min(last_wait[at] + 1, at), first[location])
                self.rows.append((low, at, start_s[low], date_s, _NO_MESSAGE))
                date_s, at, came_with = start_s[low], low - 1, _NO_MESSAGE
            begun: set[int] = set()
            while at < first[location] or date_s <= start_s[at]:  # it begins there
                begun.add(location)
                location = int(timeline.started_by[location])
                if location < 0 or location in begun:
                    return
                at = self._interval(location, date_s)

    def parts(self) -> PathParts:
        timeline = self.timeline
        low, high = (np.array([row[k] for row in self.rows], np.int64) for k in (0, 1))
        since_s, until_s = (np.array([row[k] for row in self.rows], np.float64) for k in (2, 3))
        message = np.array([row[4] for row in self.rows], np.int64)
        n = high - low + 1
        row = np.repeat(np.arange(len(n)), n)
        step = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
        interval = high[row] - step
        return PathParts(
            rank=timeline.rank_of[np.searchsorted(timeline.first, interval, side="right") - 1],
            start_s=np.where((message[row] < 0) & (step < n[row] - 1), timeline.start_s[interval], since_s[row]),
            end_s=np.where(step == 0, until_s[row], timeline.end_s[interval]),
            kind=np.where(message[row] < 0, timeline.kind[interval], np.int8(TRANSFER)),
            place=timeline.place[interval],
            message=message[row],
        )

    def _last_event(self) -> int:
        """The interval that ended last, among those before the ends of ranks."""
        return int(np.argmax(np.where(self.timeline.kind == IDLE, -np.inf, self.timeline.end_s)))

    def _interval(self, location: int, date_s: float) -> int:
        """Index of a location's interval before a date: the one that ended then, or the one under way."""
        end_s = self.timeline.end_s.data
        low, high = int(self.timeline.first[location]), int(self.timeline.first[location + 1])
        at = min(bisect_left(end_s, date_s - ONE_DATE_S, low, high), high - 1)
        while at + 1 < high and end_s[at + 1] <= date_s:
            at += 1
        while at > low and self.timeline.start_s[at] >= date_s:  # it takes no time
            at -= 1
        return at

    def _cause(self, at: int, location: int, date_s: float, came_with: int) -> _Cause | None:
        """Continuation of the path with the location that ended a wait at a date; None if no wait ended."""
        timeline, kind = self.timeline, self.timeline.kind[at]
        cause = None
        if date_s < timeline.end_s[at] - ONE_DATE_S:
            cause = self._beside(location, date_s, came_with)
        elif kind == TRANSFER:
            cause = self._start(self.messages.row(int(timeline.message[at])), date_s)
        elif timeline.other[at] >= 0:
            cause = _Cause(int(timeline.other[at]), date_s, _NO_MESSAGE)
        if cause is None or not timeline.first[cause.location] < timeline.first[cause.location + 1]:
            return None
        return cause

    def _start(self, message: int, date_s: float) -> _Cause | None:
        if message < 0 or not self.messages.started_s[message] <= date_s + ONE_DATE_S:
            return None
        ends = self.messages.sender if self.messages.is_sender_last[message] else self.messages.receiver
        return _Cause(int(ends[message]), min(float(self.messages.started_s[message]), date_s), message)

    def _beside(self, location: int, date_s: float, came_with: int) -> _Cause | None:
        """Message that let a location continue a collective that it had started."""
        if came_with < 0 or not self.messages.is_inner[came_with]:
            return None
        if self.arrivals is None:
            inner = np.flatnonzero(self.messages.is_inner)
            self.arrivals = _ByDate.sorted(
                inner, self.messages.receiver, self.messages.ended_s, self.timeline.n_locations
            )
        message, ended_s = self.arrivals.next(location, date_s)
        return self._start(message, date_s) if ended_s <= date_s + ONE_DATE_S else None


@dataclass(frozen=True, slots=True, eq=False)
class _ByDate:
    """Messages by receiver and by one of their dates."""

    order: NDArray[np.int64]
    date_s: NDArray[np.float64]
    first: NDArray[np.int64]

    @classmethod
    def sorted(
        cls, some: NDArray[np.int64], receiver: NDArray[np.int32], date_s: NDArray[np.float64], n_locations: int
    ) -> _ByDate:
        order = some[np.lexsort((date_s[some], receiver[some]))]
        return cls(order, date_s[order], np.searchsorted(receiver[order], np.arange(n_locations + 1)))

    def next(self, location: int, date_s: float) -> tuple[int, float]:
        """Row and date of a location's first message from a date on; -1 if there is none."""
        low, high = int(self.first[location]), int(self.first[location + 1])
        place = bisect_left(self.date_s.data, date_s - ONE_DATE_S, low, high)
        return (int(self.order[place]), float(self.date_s[place])) if place < high else (_NO_MESSAGE, np.inf)
