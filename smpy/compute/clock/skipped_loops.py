"""Loops of which all ranks perform some iterations, and add the time of the others: all ranks skip alike.

Ranks enter items at their own dates and keep these dates apart: at the end of a window each rank waits until all have
left it, and goes on later by the same time as all others. So a gathering moves the ranks together, and changes nothing
between them. A gathering takes simulated time, which is a part of the skipped time: ranks gather only where that is
longer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.engine.messages import LeftKind
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.compute.clock.loop_plan import LoopPlan
    from smpy.compute.clock.loop_time import ItemWindow
    from smpy.compute.clock.skipped_counts import LoopCounts, SkippedCounts
    from smpy.engine.engine import Engine

OVER: Final = -1
WINDOW_ENDS: Final = -2
_SAME: Final = 0.01  # dates repeat that differ by less, as a part of an item's time
_RECENT: Final = 4  # items in which the spread of dates has not grown, where they do not repeat


@dataclass(slots=True)
class LoopTotal:
    """Iterations of all loops of one name.

    Attributes
    ----------
    n_items, n_performed : int
        Items of these loops, and those that were performed.
    time_s, half_width_s : float
        Time of the loops, and half of its 95 % interval.
    stop_reason : str
        Reason why the last of them stopped performing items.
    """

    n_items: int = 0
    n_performed: int = 0
    time_s: float = 0.0
    half_width_s: float = 0.0
    stop_reason: str = ""


class IterationSkipping:
    """Marked loops of a run that skips iterations.

    Parameters
    ----------
    half_width : float
        Half width to reach, as a part of a loop's time.
    seed : int
        Seed of the positions of windows.

    Attributes
    ----------
    totals : dict of str to LoopTotal
        Loops by name.
    counts : SkippedCounts or None
        Calls, messages and bytes of iterations that were not performed; None: all were.
    """

    def __init__(self, half_width: float, seed: int) -> None:
        self.counts: SkippedCounts | None = None
        self._half_width, self._seed = half_width, seed
        self._groups: dict[tuple[int, int], _Group] = {}
        self.known: dict[tuple[str, int, int], list[ItemWindow]] = {}
        self.totals: dict[str, LoopTotal] = {}

    def join(self, name: str, n_items: int, comm: int, size: int, member: int, periods: tuple[int, ...]) -> SkippedLoop:
        """Loop that a member of a communicator begins."""
        group = self._groups.setdefault((comm, size), _Group([0] * size, {}))
        place = group.n_begun[member]
        loop = group.loops.get(place)
        if loop is None:
            loop = group.loops[place] = SkippedLoop(self, name, n_items, size, self._plan(name, n_items, size, periods))
        if (loop.name, loop.n_items) != (name, n_items):
            raise UsageError(
                f"iterations {name!r} of {n_items} items: another rank of the communicator makes {loop.name!r} of "
                f"{loop.n_items}: all ranks make the same marked loops"
            )
        group.n_begun[member] += 1
        loop.n_joined += 1
        if loop.n_joined == size:
            del group.loops[place]
        return loop

    def _plan(self, name: str, n_items: int, size: int, periods: tuple[int, ...]) -> LoopPlan:
        from smpy.compute.clock.loop_plan import LoopPlan  # with numpy, which a run without loops need not import

        known = self.known.get((name, n_items, size), [])
        draws = random.Random(f"{self._seed}/{name}/{len(known)}")
        return LoopPlan(n_items, self._half_width, draws, periods, known)


class _Group(NamedTuple):
    """Loops of one communicator: how many each member has begun, and those that not all have."""

    n_begun: list[int]
    loops: dict[int, SkippedLoop]


class SkippedLoop:
    """One loop of all ranks of a communicator.

    Attributes
    ----------
    resume_s : array
        Date at which each rank goes on from the present gathering.
    moved_s : float
        Time by which that is later than the rank's end of the window.
    waiting : list of int
        Timelines that wait at the end of the window.
    n_joined : int
        Ranks that have begun the loop.
    path_sums : list of list of float
        Uncertain times along the critical path to each rank's end of the first window.
    """

    def __init__(self, skipping: IterationSkipping, name: str, n_items: int, size: int, plan: LoopPlan) -> None:
        self.name, self.n_items = name, n_items
        self._skipping, self._size, self._plan = skipping, size, plan
        self.waiting: list[int] = []
        self.n_joined = 0
        self.path_sums: list[list[float]] = [[]] * size
        self._first_s = 0.0  # time of the first window
        self._unperformed = 0.0  # time of items not performed, over that of those performed behind the first window
        self._half_width_s = 0.0
        self.resume_s: NDArray[Any]
        self.moved_s = 0.0
        self._is_first, self._is_open, self._is_over = True, True, n_items == 0
        self._settled, self._lead = -1, 1
        self._n_arrived = 0
        self._world_ranks = [0] * size
        self._began_s: NDArray[Any]
        self._counts: LoopCounts
        self._begin([])

    def _begin(self, items: Sequence[int]) -> None:
        self._items = list(items)
        self._place = [0] * self._size
        self._rows: dict[int, NDArray[Any]] = {}
        self._n_in_row: dict[int, int] = {}
        self._seconds: list[float] = []
        self._spreads_s: list[float] = []

    # ---- ranks enter items ----

    def enter(self, member: int, rank: int, now_s: float) -> int:
        """Item that a rank is to perform next, `OVER`, or `WINDOW_ENDS`."""
        if self._is_over:
            return OVER
        place = self._place[member]
        self._note(place, member, rank, now_s)
        if place == len(self._items) and not self._extend():
            return OVER if len(self._items) == self.n_items and self._is_first else WINDOW_ENDS
        self._place[member] = place + 1
        return self._items[place]

    def _extend(self) -> bool:
        """Whether another item follows in the first window, whose length is not known beforehand."""
        n = len(self._items)
        if not self._is_first or not self._is_open:
            return False
        self._is_open = n < self.n_items and not (self._settled >= 0 and self._is_worth_skipping(n))
        if self._is_open:
            self._items.append(n)
        return self._is_open

    def _is_worth_skipping(self, n: int) -> bool:
        """Whether the rest is much longer than the gatherings and lead-ins that skipping needs."""
        n_left = self.n_items - n - 2 * self._lead
        return n_left > 0 and n_left * self._seconds[-1] > 4 * self._spreads_s[-1]

    def _note(self, place: int, member: int, rank: int, now_s: float) -> None:
        import numpy as np

        if place not in self._rows:
            self._rows[place] = np.empty(self._size)
            self._n_in_row[place] = 0
        self._rows[place][member] = now_s
        self._world_ranks[member] = rank
        self._n_in_row[place] += 1
        if self._n_in_row[place] == self._size:
            self._end_row(place)

    def _end_row(self, place: int) -> None:
        """Evaluate the dates at which all ranks have entered an item."""
        import numpy as np

        row = self._rows[place]
        self._spreads_s.append(float(row.max() - row.min()))
        if place == 0:
            self._began_s = row if self._is_first else self._began_s
            return
        before = self._rows[place - 1]
        self._seconds.append(float(np.median(row - before)))
        self._rows.pop(place - 2, None)
        if self._is_first and self._settled < 0 and place > 1:
            limit_s = _SAME * self._seconds[-1]
            is_same = float(np.abs((row - row.min()) - (before - before.min())).max()) <= limit_s
            recent_s = self._spreads_s[-1 - _RECENT : -1]
            has_stopped_growing = len(recent_s) == _RECENT and self._spreads_s[-1] <= max(recent_s[1:]) + limit_s
            if is_same or has_stopped_growing:
                self._settled, self._lead = place - 1, 1 if is_same else 2

    # ---- ranks gather ----

    def arrive(self, engine: Engine, timeline: int) -> bool:
        """Note that a rank has ended a window; return whether it is the last one, for which the others wait."""
        self._n_arrived += 1
        if self._n_arrived < self._size:
            self.waiting.append(timeline)
            return False
        self._n_arrived = 0
        self._refuse_outliving(engine)
        self._go_on(engine)
        return True

    def _refuse_outliving(self, engine: Engine) -> None:
        """Refuse operations started before the last item that are not over: skipped items would start more of them."""
        last_s = self._rows[len(self._items) - 1]
        member_of = {rank: member for member, rank in enumerate(self._world_ranks)}
        for left in engine.left_over():
            member = member_of.get(left.rank, -1)
            if left.is_done or member < 0 or not self._began_s[member] < left.date_s < last_s[member]:
                continue
            file, line = left.line
            kind = "receive" if left.kind == LeftKind.RECV else left.kind.name.lower()
            raise UsageError(
                f"iterations {self.name!r}: a {kind} of rank {left.rank} ({file}:{line}) outlives its iteration by "
                "more than one: run it without --iterations"
            )

    def _count(self, engine: Engine) -> None:
        """Note the counts of the window's items."""
        from smpy.compute.clock.skipped_counts import LoopCounts, SkippedCounts  # with numpy, as the plan

        if self._skipping.counts is None:
            self._skipping.counts = SkippedCounts()
        if self._is_first:
            self._counts = LoopCounts(self.n_items)
        self._counts.end_window(self._items, self._skipping.counts.until_now(engine, self._world_ranks))

    def _go_on(self, engine: Engine) -> None:
        """Choose the next window, and the dates at which ranks begin it or leave the loop."""
        arrived_s, spread_s = self._rows[len(self._items)], self._spreads_s[-1]
        self._count(engine)
        if self._is_first:
            self._plan.end_first(self._seconds, self._settled, self._lead)
            self._first_s = self._plan.elapsed_s
            self._is_first = False
        else:
            self._plan.end_window(self._items, self._seconds)
        items = self._plan.next_window(spread_s)
        if items is None:
            self._is_over = True
            moved_s = max(self._plan.added_s, spread_s)
            self._finish(moved_s - self._plan.added_s)
        else:
            moved_s = spread_s
            self._plan.paused_s += spread_s
            self._begin(items)
        self.moved_s, self.resume_s = moved_s, arrived_s + moved_s

    def note_path(self, engine: Engine, member: int) -> None:
        """Note the path to the end of the first window, where all ranks take that of the last one."""
        if not self.path_sums[member]:
            self.path_sums[member] = engine.path(engine.rank)

    def add_uncertainty(self, engine: Engine, member: int) -> None:
        """Add the uncertain times of items that were not performed: as those of the others, in proportion to time."""
        if not self.path_sums[member]:
            return
        *sums, variance = (
            self._unperformed * (after - before)
            for before, after in zip(self.path_sums[member], engine.path(engine.rank), strict=True)
        )
        for number, amount in enumerate(sums):
            if amount or (variance and not number):
                engine.add_to_path(number, amount, 0.0 if number else variance)
        if self._half_width_s:
            from smpy.engine.loop import LOOP_SUMS  # programs import this module outside runs, too

            place = list(self._skipping.totals).index(self.name)
            engine.add_to_path(LOOP_SUMS[min(place, len(LOOP_SUMS) - 1)], self._half_width_s)

    def _finish(self, missed_s: float) -> None:
        """Note the time of the loop; `missed_s` is time that has passed beyond the time to add."""
        plan, estimate, counts = self._plan, self._plan.estimate, self._skipping.counts
        assert estimate is not None
        behind_s = plan.elapsed_s - self._first_s
        self._unperformed = (estimate.total_s - plan.elapsed_s) / behind_s if behind_s else 0.0
        assert counts is not None
        counts.add(self._world_ranks[0], self._counts.skipped())
        self._skipping.known[self.name, self.n_items, self._size] = plan.windows_to_keep()
        total = self._skipping.totals.setdefault(self.name, LoopTotal())
        total.n_items += self.n_items
        total.n_performed += plan.n_performed
        total.time_s += estimate.total_s + missed_s
        self._half_width_s = estimate.half_width_s + missed_s
        total.half_width_s += self._half_width_s
        total.stop_reason = plan.stop_reason
