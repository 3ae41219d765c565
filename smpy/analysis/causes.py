"""The causes of waits: whose delay each wait is due to, passed on along chains of waits to the ranks that began them.

A wait of rank r for rank o ends at a date e, when o does what r waited for. Let b be the date at which r last got out
of MPI's waits and transfers, before that wait, or its begin: from b on r ran freely until it waited, and o, in the same
time and that of the wait, did more. The time of o from b to e is compared with the time of r from b to the begin of the
wait, line by line and kind by kind:

* where o spent more than r in computing, sleeping, overheads, polls or transfers at a line, the excess is a delay;
* time that o itself waited for others is a delay, too, and not its own.

Each delay is charged with its share of the wait. What is charged to waits of o is passed on: it is added to these
waits, and charged to their causes in the same way, until all of it lies with computing, sleeping, overheads, polls or
transfers. So a rank that only waited for another one causes nothing, and the causes add up to the waits.

This is the delay analysis of [1]_, with two departures. There, two ranks are compared from their last synchronisation
with each other on, and with clocks of their own; simulated time is one clock, so that the delays of the two differ by
the very length of the wait whatever the date b, and that needs no search for a common synchronisation. And costs of
chains are not told apart from those of direct delays. Where a wait does not tell who was waited for, it is its own
cause.

References
----------
.. [1] Böhme, Geimer, Wolf, Arnold: "Identifying the root causes of wait states in large-scale parallel applications",
   ICPP 2010.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.analysis.timeline import KINDS, LATE, ONE_DATE_S, TRANSFER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.analysis.timeline import Timeline

_FRAGMENTS: Final = 2_000_000  # looked at together


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """What the waits of a run are due to.

    Parameters
    ----------
    rank : (n_causes,) array of int
        Who delayed others.
    place : (n_causes,) array of int
        Where: number in the timeline's `places`.
    kind : (n_causes,) array of int
        With what: number in `KINDS`; that of a wait where it is not known who was waited for.
    seconds : (n_causes,) array of float
        How long others waited because of it; together as long as all waits.
    """

    rank: NDArray[np.int64]
    place: NDArray[np.int64]
    kind: NDArray[np.int64]
    seconds: NDArray[np.float64]


class _Waits(NamedTuple):
    """Waits in the order of their intervals."""

    interval: NDArray[np.int64]
    rank: NDArray[np.int64]
    other: NDArray[np.int64]  # -1: not known
    free: NDArray[np.int64]  # first interval of the rank's free run before it; that of the wait: none
    since_s: NDArray[np.float64]  # date b
    low: NDArray[np.int64]  # what the other rank did between b and the end of the wait: intervals low to high - 1
    high: NDArray[np.int64]


class _Shares(NamedTuple):
    """Which share of a wait is charged to what."""

    wait: NDArray[np.int64]
    to: NDArray[np.int64]  # (rank, place, kind) as one number; or a wait
    share: NDArray[np.float64]


def causes_of_waits(timeline: Timeline) -> Causes:
    """Find whose delays the waits of a run are due to.

    Parameters
    ----------
    timeline : Timeline
        Of all ranks.
    """
    waits = _waits(timeline)
    number_of = np.full(len(timeline.kind), -1, np.int64)
    number_of[waits.interval] = np.arange(len(waits.interval))
    charged: list[_Shares] = []
    passed: list[_Shares] = []
    for some in _chunks(waits):
        own, on = _shares(timeline, waits, some, number_of)
        charged.append(own)
        passed.append(on)
    own, on = _together(charged), _together(passed)
    costs_s, stuck_s = _pass_on(timeline, waits, on)
    n_wait = len(waits.interval)
    explained = np.bincount(own.wait, minlength=n_wait).astype(bool) | np.bincount(on.wait, minlength=n_wait).astype(
        bool
    )
    itself_s = stuck_s + np.where(explained, 0.0, costs_s)
    itself = np.flatnonzero(itself_s)
    at = waits.interval[itself]
    keys = np.concatenate([own.to, _key(timeline, waits.rank[itself], at)])
    seconds = np.concatenate([own.share * costs_s[own.wait], itself_s[itself]])
    unique, which = np.unique(keys, return_inverse=True)
    rest, kind = np.divmod(unique, len(KINDS))
    rank, place = np.divmod(rest, len(timeline.places))
    total_s = np.bincount(which, weights=seconds, minlength=len(unique)).astype(np.float64)
    return Causes(rank, place, kind, total_s)


def _key(timeline: Timeline, rank: NDArray[np.int64], interval: NDArray[np.int64]) -> NDArray[np.int64]:
    place = rank * len(timeline.places) + timeline.place[interval]
    return place * len(KINDS) + timeline.kind[interval]


def _waits(timeline: Timeline) -> _Waits:
    first, end_s = timeline.first, timeline.end_s
    interval = np.flatnonzero(np.isin(timeline.kind, LATE)).astype(np.int64)
    rank = timeline.rank[interval].astype(np.int64)
    blocked = np.isin(timeline.kind, (TRANSFER, *LATE))
    last_blocked = np.maximum.accumulate(np.where(blocked, np.arange(len(blocked)), -1))
    free = np.maximum(first[rank], np.where(interval > 0, last_blocked[interval - 1], -1) + 1)
    other = timeline.other[interval].astype(np.int64)
    other[(other == rank) | (np.diff(first)[other] == 0)] = -1
    since_s = timeline.start_s[free]
    low, high = np.zeros(len(interval), np.int64), np.zeros(len(interval), np.int64)
    by_other = np.argsort(other, kind="stable")
    bounds = np.searchsorted(other[by_other], np.arange(timeline.n_ranks + 1))
    for o in range(timeline.n_ranks):
        mine = by_other[bounds[o] : bounds[o + 1]]
        if len(mine):
            its = slice(int(first[o]), int(first[o + 1]))
            low[mine] = first[o] + np.searchsorted(end_s[its], since_s[mine], side="right")
            high[mine] = first[o] + np.searchsorted(timeline.start_s[its], end_s[interval[mine]], side="left")
    return _Waits(interval, rank, other, free, since_s, low, np.maximum(low, high))


def _chunks(waits: _Waits) -> Iterator[NDArray[np.int64]]:
    """Numbers of waits, in order, so many that what is compared has its limit; at least one."""
    n = np.cumsum(waits.high - waits.low + waits.interval - waits.free)
    begin = 0
    while begin < len(n):
        done = int(n[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(n, done + _FRAGMENTS, side="right")))
        yield np.arange(begin, end)
        begin = end


def _spread(
    which: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All of low to high - 1 of each, and of which each is."""
    n = high - low
    return np.repeat(which, n), np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n - low, n)


def _shares(
    timeline: Timeline, waits: _Waits, some: NDArray[np.int64], number_of: NDArray[np.int64]
) -> tuple[_Shares, _Shares]:
    """What some waits are charged to: what their ranks did themselves; waits of theirs."""
    some = some[waits.other[some] >= 0]
    theirs, their_interval = _spread(some, waits.low[some], waits.high[some])
    ours, our_interval = _spread(some, waits.free[some], waits.interval[some])
    end_s = np.minimum(timeline.end_s[their_interval], timeline.end_s[waits.interval[theirs]])
    their_s = np.maximum(end_s - np.maximum(timeline.start_s[their_interval], waits.since_s[theirs]), 0.0)
    our_s = timeline.end_s[our_interval] - timeline.start_s[our_interval]
    late = number_of[their_interval] >= 0
    own = ~late
    n_kinds, n_places = len(KINDS), len(timeline.places)
    wait = np.concatenate([theirs[own], ours])
    interval = np.concatenate([their_interval[own], our_interval])
    spot = timeline.place[interval].astype(np.int64) * n_kinds + timeline.kind[interval]
    begin = int(some[0]) if len(some) else 0
    unique, which = np.unique((wait - begin) * (n_places * n_kinds) + spot, return_inverse=True)
    excess_s = np.bincount(which, weights=np.concatenate([their_s[own], -our_s]), minlength=len(unique))
    own_wait, own_spot = np.divmod(unique, n_places * n_kinds)
    own_wait += begin
    kept = excess_s > 0
    own_wait, own_spot, excess_s = own_wait[kept], own_spot[kept], excess_s[kept]
    late &= their_s > 0
    late_wait, late_s = theirs[late], their_s[late]
    end = int(some[-1]) + 1 if len(some) else 0
    whole_s = np.bincount(own_wait - begin, weights=excess_s, minlength=end - begin)
    whole_s = whole_s + np.bincount(late_wait - begin, weights=late_s, minlength=end - begin)
    to = waits.other[own_wait] * (n_places * n_kinds) + own_spot
    return (
        _Shares(own_wait, to, excess_s / whole_s[own_wait - begin]),
        _Shares(late_wait, number_of[their_interval[late]], late_s / whole_s[late_wait - begin]),
    )


def _together(shares: list[_Shares]) -> _Shares:
    if not shares:
        return _Shares(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return _Shares(*(np.concatenate(columns) for columns in zip(*shares, strict=True)))


def _pass_on(timeline: Timeline, waits: _Waits, on: _Shares) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each wait is charged with, its own length included; and what could not be passed on to it.

    The latter is that of a circle: a wait that was passed on already is charged to itself.
    """
    costs_s = timeline.duration_s()[waits.interval]
    stuck_s = np.zeros(len(costs_s))
    first = np.searchsorted(on.wait, np.arange(len(costs_s) + 1)).data
    cost, stuck, to, share = costs_s.data, stuck_s.data, on.to.data, on.share.data
    is_done = bytearray(len(costs_s))
    for wait in _order(timeline.end_s[waits.interval], on, timeline.n_ranks).tolist():
        is_done[wait] = True
        mine = cost[wait]
        for row in range(first[wait], first[wait + 1]):
            target = to[row]
            if is_done[target]:
                stuck[target] += mine * share[row]
            else:
                cost[target] += mine * share[row]
    return costs_s, stuck_s


def _order(end_s: NDArray[np.float64], on: _Shares, n_ranks: int) -> NDArray[np.int64]:
    """Waits from the last to the first, each before those that it is passed on to, also within one date."""
    date_s, step = end_s.copy(), np.zeros(len(end_s), np.int64)
    tied = end_s[on.to] > end_s[on.wait] - ONE_DATE_S
    source, target = on.wait[tied], on.to[tied]
    for _ in range(n_ranks + 1):  # a chain within one date has each rank once, or it is a circle
        before = date_s[target]
        np.minimum.at(date_s, target, date_s[source])
        at_once = date_s[target] == date_s[source]
        steps = step.copy()
        np.maximum.at(steps, target[at_once], step[source[at_once]] + 1)
        if (steps == step).all() and (before == date_s[target]).all():
            break
        step = steps
    return np.lexsort((step, -date_s))
