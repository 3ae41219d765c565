"""Plan of a loop whose items are not all performed: windows of items, until the loop's time is known well enough.

A first window lasts until ranks enter items at dates that repeat. The next one is the loop's end. Unless both say the
same, further windows are drawn: each gap between measured items is divided into strata, one window falls anywhere in
each, and gaps get more strata the longer they are and the more the times at their ends differ. Each window begins with
a lead-in, whose time does not count. The last window performed is the loop's end again.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from smpy.compute.clock.loop_time import ItemWindow, LoopTime, loop_time, relative_change

_LEAST_DRAWN: Final = 4  # windows in the first round of draws
_ROUNDS_OF_SHORT: Final = 2  # then windows get longer, where dates do not repeat from item to item
_KEPT_MAX: Final = 64  # windows that the next loop of the same name begins from
_WORTH: Final = 4  # least ratio of skipped time to the simulated time that a gathering of ranks takes


@dataclass(slots=True)
class LoopPlan:
    """Windows of one loop, one after the other.

    Attributes
    ----------
    n_items : int
        Items of the loop.
    target : float
        Half width to reach, as a part of the loop's time.
    draws : random.Random
        Source of positions.
    periods : collection of int
        Periods that the program names.
    known : sequence of ItemWindow
        Windows of an earlier loop of the same name and length.
    lead, n_measured : int
        Items of a lead-in, and those after it that are measured.
    n_performed : int
        Items performed so far.
    elapsed_s : float
        Median time of ranks in these.
    paused_s : float
        Simulated time that gatherings of ranks have taken.
    stop_reason : str
        Reason why no further window is performed; "": one is.
    """

    n_items: int
    target: float
    draws: random.Random
    periods: Collection[int] = ()
    known: Sequence[ItemWindow] = ()
    lead: int = 1
    n_measured: int = 1
    n_performed: int = 0
    elapsed_s: float = 0.0
    paused_s: float = 0.0
    stop_reason: str = ""
    estimate: LoopTime | None = None
    _first_s: dict[int, float] = field(default_factory=dict)
    _windows: list[ItemWindow] = field(default_factory=list)
    _queue: deque[range] = field(default_factory=deque)
    _is_at_end: bool = False
    _n_rounds: int = 0

    def end_first(self, seconds: Sequence[float], settled: int, lead: int) -> None:
        """Take the times of the first window, the items from 0 on; from item `settled` on they are like all others."""
        self._note(seconds)
        self.lead = self.n_measured = lead
        self._first_s = dict(enumerate(seconds))
        self._windows = [ItemWindow(tuple(range(settled, len(seconds))), tuple(seconds[settled:]))]
        self._queue.append(self._end())

    def end_window(self, items: Sequence[int], seconds: Sequence[float]) -> None:
        """Take the times of a window."""
        self._note(seconds)
        self._is_at_end = items[-1] == self.n_items - 1
        window = ItemWindow(tuple(items[self.lead :]), tuple(seconds[self.lead :]))
        if all(window.items != other.items for other in self._windows):
            self._windows.append(window)
            self._windows.sort()

    def next_window(self, spread_s: float) -> range | None:
        """Items to perform next; None: the loop is over.

        Parameters
        ----------
        spread_s : float
            Time between the first and the last rank that ends a window: a gathering takes it.
        """
        if not self._queue and not self.stop_reason:
            self._judge(spread_s)
        if self._queue:
            return self._queue.popleft()
        return None if self._is_at_end else self._end()

    @property
    def added_s(self) -> float:
        """Time of the items that were not performed, and of lead-ins, less the time that has passed for them."""
        assert self.estimate is not None
        return self.estimate.total_s - self.elapsed_s - self.paused_s

    def windows_to_keep(self) -> list[ItemWindow]:
        """Windows for the next loop of the same name and length."""
        known = self._in_use()
        return known[:: -(-len(known) // _KEPT_MAX)]

    def _note(self, seconds: Sequence[float]) -> None:
        self.n_performed += len(seconds)
        self.elapsed_s += sum(seconds)

    def _end(self) -> range:
        return range(self.n_items - self.n_measured - self.lead, self.n_items)

    def _judge(self, spread_s: float) -> None:
        """Estimate the loop's time; stop, or draw further windows."""
        windows = self._in_use()
        self.estimate = loop_time(self.n_items, self._first_s, windows, self.periods)
        if self.estimate.half_width_s <= self.target * self.estimate.total_s and not self.estimate.is_rough:
            self.stop_reason = "half width reached"
            return
        self._n_rounds += 1
        if self._n_rounds > _ROUNDS_OF_SHORT and self.lead > 1:
            self.n_measured *= 2
        drawn = list(self._drawn(max(_LEAST_DRAWN, len(windows) // 2)))
        mean_s = self.estimate.total_s / self.n_items
        cost_s = (len(drawn) + 2) * (spread_s + (self.lead + self.n_measured) * mean_s)
        if not drawn or self.added_s < cost_s + _WORTH * spread_s:
            self.stop_reason = "nothing left to skip"
            return
        self._queue.extend(drawn)

    def _in_use(self) -> list[ItemWindow]:
        """Windows of this loop, and those of an earlier one if it took as long, but for a factor."""
        if not self.known:
            return self._windows
        factor, spread = relative_change(self.known, self._windows, self.n_items)
        if spread > self.target:
            return self._windows
        measured = {item for window in self._windows for item in window.items}
        others = [
            ItemWindow(window.items, tuple(factor * one_s for one_s in window.seconds))
            for window in self.known
            if measured.isdisjoint(window.items)
        ]
        return sorted([*self._windows, *others])

    # ---- draws ----

    def _drawn(self, n: int) -> Iterable[range]:
        """At most n windows in strata of the gaps between measured items."""
        gaps, length = self._gaps(), self.lead + self.n_measured
        n_strata = dict.fromkeys(gaps, 0)
        for _ in range(n):
            widest = max(gaps, key=lambda gap: gaps[gap] / (1 + n_strata[gap]), default=None)
            if widest is None or gaps[widest] <= 0:
                break
            n_strata[widest] += 1
        for (first, end), n_here in sorted(n_strata.items()):
            bounds = [first + (end - first) * i // max(n_here, 1) for i in range(n_here + 1)]
            for low, high in itertools.pairwise(bounds):
                if high - low >= length:
                    start = self.draws.randrange(low, high - length + 1)
                    yield range(start, start + length)

    def _gaps(self) -> dict[tuple[int, int], float]:
        """First item and end of each gap that has room for a window, and its part of the uncertainty."""
        assert self.estimate is not None
        windows = self._in_use()
        error_s = self.estimate.error_s if self.estimate.error_s < inf else self.estimate.half_width_s / self.n_items
        gaps = {}
        for window, after in itertools.pairwise(windows):
            first, end = max(window.items[-1] + 1, len(self._first_s)), after.items[0]
            if end - first >= self.lead + self.n_measured:
                gaps[first, end] = (end - first) * (abs(after.mean_s - window.mean_s) + error_s)
        return gaps
