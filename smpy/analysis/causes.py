"""The causes of waits: the delay behind each wait, passed on along chains of waits to the ranks that began them.

Threads wait, and delay others, as ranks do: below, a rank may be a thread. In a result the causes of a thread are its
rank's.

A wait of rank r for rank o ends at a date e, when o does its part. Let b be the date at which r last got out
of MPI's waits and transfers, before that wait, or its begin: from b on r ran freely until it waited, and o, in the same
time and that of the wait, did more. The time of o from b to e is compared with the time of r from b to the begin of the
wait, line by line and kind by kind:

* where o spent more than r in computing, sleeping, overheads, polls or transfers at a line, the excess is a delay;
* time that o itself waited for others is a delay, too, and not its own.

Each delay is charged with its share of the wait. A charge to waits of o is passed on: it is added to these
waits, and charged to their causes in the same way, until all of it lies with computing, sleeping, overheads, polls or
transfers. So a rank that only waited for another one causes nothing, and the causes add up to the waits.

This is the delay analysis of [1]_, with two departures. There, two ranks are compared from their last synchronisation
with each other on, and with clocks of their own; simulated time is one clock, so that the delays of the two differ by
the very length of the wait whatever the date b, and that needs no search for a common synchronisation. And costs of
chains are not separate from those of direct delays. Polls with an unknown partner waited for the rank that the next
ones waited for, if the rank only computed and slept in between; other waits with an unknown partner cause themselves.

References
----------
.. [1] Böhme, Geimer, Wolf, Arnold: "Identifying the root causes of wait states in large-scale parallel applications",
   ICPP 2010.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.timeline import IDLE, KINDS, LATE, ONE_DATE_S, OVERHEAD, TRANSFER
from smpy.analysis.windows import Pieces, Windows, concatenate_pieces, pieces_of, sums_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.analysis.timeline import Timeline

_TOGETHER: Final = 2_000_000  # pieces of windows that are compared together
_WIDE: Final = 64  # number of intervals: the time in wider windows is summed up differently
_NO_LABEL: Final = -1  # time spent waiting for others


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """Causes of a run's waits.

    Parameters
    ----------
    rank : (n_causes,) array of int
        Rank that delayed others.
    place : (n_causes,) array of int
        Place of the delay: number in the timeline's `places`.
    kind : (n_causes,) array of int
        Activity that delayed them: number in `KINDS`; that of a wait where the late rank is not known.
    seconds : (n_causes,) array of float
        Time that others waited because of it; adds up to the time of all waits.
    """

    rank: NDArray[np.int64]
    place: NDArray[np.int64]
    kind: NDArray[np.int64]
    seconds: NDArray[np.float64]


class _Waits(NamedTuple):
    """Waits in the order of their intervals."""

    interval: NDArray[np.int64]
    location: NDArray[np.int64]
    other: NDArray[np.int64]  # -1 if unknown
    free: NDArray[np.int64]  # first interval of the location's free run before it; that of the wait: none
    since_s: NDArray[np.float64]  # date b
    low: NDArray[np.int64]  # the other location between b and the end of the wait: intervals low to high - 1
    high: NDArray[np.int64]


class _Charges(NamedTuple):
    """Charges of waits to their causes.

    Activities of the late ones are in `own`, by (location, place, kind) as one number. Waits of theirs are one by one
    in `on`; or, in wide windows, all from number low_wait to high_wait - 1, at `per_s` per second of each.
    """

    own: Pieces  # seconds: shares of the wait
    on: Pieces
    low_wait: NDArray[np.int64]  # [n_waits]
    high_wait: NDArray[np.int64]
    per_s: NDArray[np.float64]


def causes_of_waits(timeline: Timeline) -> Causes:
    """Find the delays that caused the waits of a run.

    Parameters
    ----------
    timeline : Timeline
        Intervals of all ranks.
    """
    waits = _waits(timeline)
    charges = _charges(timeline, waits)
    costs_s, stuck_s = _pass_on(timeline, waits, charges)
    is_charged = charges.per_s > 0
    is_charged[charges.own.location] = is_charged[charges.on.location] = True
    itself_s = stuck_s + np.where(is_charged, 0.0, costs_s)
    itself = np.flatnonzero(itself_s)
    interval = waits.interval[itself]
    keys = np.concatenate(
        [charges.own.what, waits.location[itself] * _n_labels(timeline) + _labels(timeline)[interval]]
    )
    location, label = np.divmod(keys, _n_labels(timeline))
    keys = timeline.rank_of[location].astype(np.int64) * _n_labels(timeline) + label
    seconds = np.concatenate([charges.own.seconds * costs_s[charges.own.location], itself_s[itself]])
    unique, which = np.unique(keys, return_inverse=True)
    rest, kind = np.divmod(unique, len(KINDS))
    rank, place = np.divmod(rest, len(timeline.places))
    total_s = np.bincount(which, weights=seconds, minlength=len(unique)).astype(np.float64)
    return Causes(rank, place, kind, total_s)


def _n_labels(timeline: Timeline) -> int:
    return len(timeline.places) * len(KINDS)


def _labels(timeline: Timeline) -> NDArray[np.int64]:
    """[n_intervals] place and kind as one number."""
    return timeline.place.astype(np.int64) * len(KINDS) + timeline.kind


def _others(timeline: Timeline, interval: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n_waits] location that was waited for; -1: not known."""
    other, n = timeline.other[interval].astype(np.int64), len(interval)
    following = np.minimum.accumulate(np.where(other >= 0, np.arange(n), n)[::-1])[::-1]
    unknown = np.flatnonzero((other < 0) & (following < n))
    one, then = interval[unknown], interval[following[unknown]]
    n_calls = np.cumsum(np.isin(timeline.kind, (OVERHEAD, TRANSFER, IDLE)))
    is_one_row = (timeline.location[one] == timeline.location[then]) & (n_calls[one] == n_calls[then])
    is_one_row &= timeline.kind[one] == timeline.kind[then]
    other[unknown[is_one_row]] = other[following[unknown[is_one_row]]]
    return other


def _waits(timeline: Timeline) -> _Waits:
    first, end_s = timeline.first, timeline.end_s
    interval = np.flatnonzero(np.isin(timeline.kind, LATE)).astype(np.int64)
    location = timeline.location[interval].astype(np.int64)
    blocked = np.isin(timeline.kind, (TRANSFER, *LATE))
    last_blocked = np.maximum.accumulate(np.where(blocked, np.arange(len(blocked)), -1))
    free = np.maximum(first[location], np.where(interval > 0, last_blocked[interval - 1], -1) + 1)
    other = _others(timeline, interval)
    other[(other == location) | (np.diff(first)[other] == 0)] = -1
    since_s = timeline.start_s[free]
    low, high = np.zeros(len(interval), np.int64), np.zeros(len(interval), np.int64)
    by_other = np.argsort(other, kind="stable")
    bounds = np.searchsorted(other[by_other], np.arange(timeline.n_locations + 1))
    for o in range(timeline.n_locations):
        mine = by_other[bounds[o] : bounds[o + 1]]
        if len(mine):
            its = slice(int(first[o]), int(first[o + 1]))
            low[mine] = first[o] + np.searchsorted(end_s[its], since_s[mine], side="right")
            high[mine] = first[o] + np.searchsorted(timeline.start_s[its], end_s[interval[mine]], side="left")
    return _Waits(interval, location, other, free, since_s, low, np.maximum(low, high))


def _charges(timeline: Timeline, waits: _Waits) -> _Charges:
    n_waits = len(waits.interval)
    is_late = np.isin(timeline.kind, LATE)
    label = np.where(is_late, _NO_LABEL, _labels(timeline))
    number_of = np.cumsum(is_late) - 1
    low_wait, high_wait = np.zeros(n_waits, np.int64), np.zeros(n_waits, np.int64)
    per_s = np.zeros(n_waits)
    own: list[Pieces] = []
    on: list[Pieces] = []
    for some in _chunks(waits):
        spent, late, inner = _compared(timeline, waits, some, label)
        n, begin = int(some[-1] - some[0]) + 1, int(some[0])
        inner_s = np.bincount(inner.location - begin, weights=inner.seconds, minlength=n)
        whole_s = inner_s + np.bincount(spent.location - begin, weights=spent.seconds, minlength=n)
        whole_s = whole_s + np.bincount(late.location - begin, weights=late.seconds, minlength=n)
        to = waits.other[spent.location] * _n_labels(timeline) + spent.what
        own.append(Pieces(spent.location, to, spent.seconds / whole_s[spent.location - begin]))
        on.append(Pieces(late.location, number_of[late.what], late.seconds / whole_s[late.location - begin]))
        wide = np.flatnonzero(inner_s) + begin
        per_s[wide] = 1 / whole_s[wide - begin]
        low_wait[wide] = np.searchsorted(waits.interval, waits.low[wide] + 1)
        high_wait[wide] = np.searchsorted(waits.interval, waits.high[wide] - 1)
    return _Charges(concatenate_pieces(own), concatenate_pieces(on), low_wait, high_wait, per_s)


def _chunks(waits: _Waits) -> Iterator[NDArray[np.int64]]:
    """Waits with a known partner, by number, in chunks that compare at most `_TOGETHER` pieces; at least one each."""
    known = np.flatnonzero(waits.other >= 0)
    widths = waits.high[known] - waits.low[known], waits.interval[known] - waits.free[known]
    n = np.cumsum(np.minimum(widths[0], _WIDE) + np.minimum(widths[1], _WIDE))
    begin = 0
    while begin < len(n):
        done = int(n[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(n, done + _TOGETHER, side="right")))
        yield known[begin:end]
        begin = end


def _compared(
    timeline: Timeline, waits: _Waits, some: NDArray[np.int64], label: NDArray[np.int64]
) -> tuple[Pieces, Pieces, Pieces]:
    """Excess of the late ranks' time over the waiting ones', by label; and the time that the late ranks waited.

    The latter is interval by interval; but, together, for all but the first and last interval of a wide window.
    """
    until_s, start_s = timeline.end_s[waits.interval[some]], timeline.start_s[waits.interval[some]]
    theirs = Windows(some, waits.low[some], waits.high[some], waits.since_s[some], until_s)
    ours = Windows(some, waits.free[some], waits.interval[some], waits.since_s[some], start_s)
    is_wide = theirs.high - theirs.low > _WIDE
    wide = theirs.where(is_wide)
    edges = [Windows(wide.location, at, at + 1, wide.since_s, wide.until_s) for at in (wide.low, wide.high - 1)]
    near = pieces_of(timeline, theirs.where(~is_wide))
    edge = concatenate_pieces([pieces_of(timeline, pieces) for pieces in edges])
    far = sums_of(timeline, wide, label)
    inner = sums_of(timeline, wide._replace(low=wide.low + 1, high=wide.high - 1), label)
    own = ours.where(ours.high > ours.low)
    is_long = own.high - own.low > _WIDE
    our_near = pieces_of(timeline, own.where(~is_long))
    our_far = sums_of(timeline, own.where(is_long), label)
    waited = [_selected(pieces, (label[pieces.what] == _NO_LABEL) & (pieces.seconds > 0)) for pieces in (near, edge)]
    near, our_near = (Pieces(pieces.location, label[pieces.what], pieces.seconds) for pieces in (near, our_near))
    less = (Pieces(pieces.location, pieces.what, -pieces.seconds) for pieces in (our_near, our_far))
    spent = concatenate_pieces([*(_selected(pieces, pieces.what != _NO_LABEL) for pieces in (near, far)), *less])
    late = concatenate_pieces(waited)
    by_location = np.argsort(late.location, kind="stable")
    return _excess(spent, _n_labels(timeline)), _selected(late, by_location), _selected(inner, inner.what == _NO_LABEL)


def _selected(pieces: Pieces, which: NDArray[Any]) -> Pieces:
    return Pieces(*(column[which] for column in pieces))


def _excess(spent: Pieces, n_labels: int) -> Pieces:
    """Positive sums by location and label."""
    unique, which = np.unique(spent.location * n_labels + spent.what, return_inverse=True)
    seconds = np.bincount(which, weights=spent.seconds, minlength=len(unique))
    kept = seconds > 0
    location, label = np.divmod(unique[kept], n_labels)
    return Pieces(location, label, seconds[kept].astype(np.float64))


def _pass_on(timeline: Timeline, waits: _Waits, charges: _Charges) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time charged to each wait, its own length included; and the part that could not be passed on.

    The latter belongs to circles: a wait that was passed on already is charged to itself. A charge passed on to all
    waits between two is kept as a change at the last and one before the first: a location's waits are met in order.
    """
    length_s = timeline.duration_s()[waits.interval]
    costs_s, stuck_s, change_per_s = length_s.copy(), np.zeros(len(length_s)), np.zeros(len(length_s) + 1)
    first_wait = np.searchsorted(waits.location, np.arange(timeline.n_locations + 1)).tolist()
    now_per_s = [0.0] * timeline.n_locations
    first = np.searchsorted(charges.on.location, np.arange(len(costs_s) + 1)).data
    cost, stuck, change, length = costs_s.data, stuck_s.data, change_per_s.data, length_s.data
    to, share, location_of, other = charges.on.what.data, charges.on.seconds.data, waits.location.data, waits.other.data
    low, high, per_s = charges.low_wait.data, charges.high_wait.data, charges.per_s.data
    is_done = bytearray(len(costs_s))
    for wait in _order(timeline, waits, charges.on).tolist():
        is_done[wait] = True
        location = location_of[wait]
        now_per_s[location] += change[wait]
        mine = cost[wait] = cost[wait] + now_per_s[location] * length[wait]
        for row in range(first[wait], first[wait + 1]):
            target = to[row]
            if is_done[target]:
                stuck[target] += mine * share[row]
            else:
                cost[target] += mine * share[row]
        if per_s[wait]:
            if is_done[high[wait] - 1]:
                stuck[wait] += mine * per_s[wait] * float(length_s[low[wait] : high[wait]].sum())
                continue
            change[high[wait] - 1] += mine * per_s[wait]
            if low[wait] > first_wait[other[wait]]:
                change[low[wait] - 1] -= mine * per_s[wait]
    return costs_s, stuck_s


def _order(timeline: Timeline, waits: _Waits, on: Pieces) -> NDArray[np.int64]:
    """Waits from the last to the first, each before the waits that it is passed on to, also at one date."""
    end_s = timeline.end_s[waits.interval]
    date_s, step = end_s.copy(), np.zeros(len(end_s), np.int64)
    tied = end_s[on.what] > end_s[on.location] - ONE_DATE_S
    source, target = on.location[tied], on.what[tied]
    for _ in range(timeline.n_locations + 1):  # a chain at one date has each location once, or it is a circle
        before = date_s[target]
        np.minimum.at(date_s, target, date_s[source])
        at_once = date_s[target] == date_s[source]
        steps = step.copy()
        np.maximum.at(steps, target[at_once], step[source[at_once]] + 1)
        if (steps == step).all() and (before == date_s[target]).all():
            break
        step = steps
    return np.lexsort((step, -date_s))
