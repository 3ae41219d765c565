"""Performs some of a loop's iterations, and adds the time of the others: all ranks skip alike.

Ranks enter items at their own dates and keep these dates apart: at the end of a window each rank waits until all have
left it, and goes on later by the same time as all others. So a gathering moves the ranks together, and changes nothing
between them. It takes simulated time, which is part of the time of what is skipped: ranks gather only where that is
longer.
"""

from __future__ import annotations

import ast
import linecache
import random
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from operator import index
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from smpy.engine import thread_ranks
from smpy.engine.messages import LeftKind
from smpy.engine.running import current, is_running, named_call
from smpy.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from numpy.typing import NDArray

    from smpy.compute.clock.loop_plan import LoopPlan
    from smpy.compute.clock.loop_time import ItemWindow
    from smpy.compute.clock.skipped_counts import LoopCounts, SkippedCounts
    from smpy.engine.engine import Engine

__all__ = ["iterations"]

T = TypeVar("T")

_OVER: Final = -1
_WINDOW_ENDS: Final = -2
_SAME: Final = 0.01  # dates repeat that differ by less, as a part of an item's time
_GENERATOR: Final = 0x20  # CO_GENERATOR of inspect, whose import takes time
_BY_POSITION: Final = ("enumerate", "zip", "islice", "takewhile")
_RECENT: Final = 4  # items in which the spread of dates has not grown, where they do not repeat


def iterations(name: str, iterable: Collection[T], *, comm: Any = None, periods: Collection[int] = ()) -> Iterable[T]:
    """Mark a loop that all ranks of a communicator make, so that a run can skip iterations.

    ``for item in iterations("name", items):`` yields every item, and takes no time of its own. With
    ``smpy run --iterations skip`` some items are yielded, not always in their order, and the loop takes the time that
    all of them would. Results of items that were skipped are missing from the program's. Under a real MPI, and
    outside a simulated run, every item is yielded.

    Parameters
    ----------
    name : str
        Name of the loop in the summary. A loop of the same name and length begins from what is known of the first one.
    iterable : collection
        Items that the loop is over; it has a length.
    comm : MPI.Comm, optional
        Communicator whose ranks make the loop; None: all ranks of the world.
    periods : collection of int, optional
        Numbers of items after which times may repeat, such as the rows of a grid of ranks. Periods from 2 to 16 are
        tried anyway.

    Returns
    -------
    iterable
        The items to perform.

    Raises
    ------
    TypeError
        If the iterable has no length, or a period is no whole number.
    ValueError
        If a period is less than 1.
    UsageError
        With `--iterations skip`: if ranks disagree on the loop's name or length, a thread makes the loop, its ``for``
        statement has a ``break`` or ``return``, it is left by an exception, or a request or message outlives its item
        by more than one.

    Examples
    --------
    >>> sum(item for item in iterations("sum", [1, 2, 3]))
    6
    """
    try:
        len(iterable)
    except TypeError:
        raise TypeError(
            f"iterations {name!r}: a {type(iterable).__name__} has no length: give a range, a list or another sequence"
        ) from None
    if any(index(period) < 1 for period in periods):
        raise ValueError(f"iterations {name!r}: a period is of 1 item or more")
    skipping = current().world_storage.get(IterationSkipping) if is_running() else None
    if skipping is None:
        return iterable
    return _SkippingLoop(skipping, name, iterable, comm, tuple(periods))


def _refuse_exits(name: str, frame: FrameType | None) -> None:
    """Refuse a loop whose `for` statement may leave it, or takes items by position; generators may stand between."""
    while frame is not None:
        loop = _for_statement(frame.f_code.co_filename, frame.f_lineno)
        if loop is not None and (exit_line := next(_exits(loop.body, is_inner=False), None)) is not None:
            raise UsageError(
                f"iterations {name!r}: line {exit_line} can leave this loop, so the number of its iterations is not "
                "known: mark a loop that makes all of them, or run without --iterations"
            )
        if loop is not None and (call := _called_name(loop.iter)) in _BY_POSITION:
            raise UsageError(
                f"iterations {name!r}: {call} takes items by their position, and skipped ones are missing: put it "
                f"inside, as in iterations({name!r}, list({call}(...)))"
            )
        frame = frame.f_back if frame.f_code.co_flags & _GENERATOR else None


@cache
def _for_statement(path: str, line: int) -> ast.For | None:
    """The `for` statement whose iterable is at a line; None: none seen."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and node.lineno <= line <= (node.iter.end_lineno or line):
            return node
    return None


def _called_name(node: ast.expr) -> str:
    """Last part of the name of the function that an expression calls; "": it is no such call."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _exits(body: Iterable[ast.AST], *, is_inner: bool) -> Iterator[int]:
    """Lines that leave a loop with this body; `is_inner`: of a loop inside, which only `return` leaves with it."""
    for node in body:
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not is_inner):
            yield node.lineno
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield from _exits(node.body, is_inner=True)
            yield from _exits(node.orelse, is_inner=is_inner)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _exits(ast.iter_child_nodes(node), is_inner=is_inner)


class _SkippingLoop:
    """A marked loop, as one rank sees it."""

    def __init__(
        self, skipping: IterationSkipping, name: str, items: Collection[Any], comm: Any, periods: tuple[int, ...]
    ) -> None:
        self._skipping, self._name, self._items, self._comm, self._periods = skipping, name, items, comm, periods

    def __iter__(self) -> Iterator[Any]:
        _refuse_exits(self._name, sys._getframe(1))
        items = self._items if isinstance(self._items, Sequence) else list(self._items)
        loop, member = _join(self._skipping, self._name, len(items), self._comm, self._periods)
        try:
            while (item := _next_item(loop, member)) != _OVER:
                yield items[item]
        except GeneratorExit:
            _refuse_break(loop.name, sys._getframe(1).f_code.co_filename)
            raise


def _refuse_break(name: str, left_in: str) -> None:
    """End the run when simulated time comes to this, unless it was an exception that has ended the rank by then."""
    if is_running() and current().is_here() and not left_in.startswith(thread_ranks.OURS):
        _note_break(name)


@named_call("")
def _note_break(name: str) -> None:
    engine = current()
    timeline = engine.timeline

    def refuse() -> None:
        if not engine.has_ended(timeline):
            engine.end_with(
                UsageError(
                    f"iterations {name!r}: this loop was left before its end, by an exception, so its length is not "
                    "known: run it without --iterations"
                )
            )

    engine.note(refuse)


@named_call("")
def _join(
    skipping: IterationSkipping, name: str, n_items: int, comm: Any, periods: tuple[int, ...]
) -> tuple[SkippedLoop, int]:
    engine = current()
    if engine.timeline != engine.first_timeline(engine.rank):
        engine.give_up(UsageError(f"iterations {name!r}: a thread makes this loop: let the rank's own program make it"))
    if comm is not None and comm.Is_inter():
        raise UsageError(f"iterations {name!r}: comm= is an intercommunicator: say the communicator of one group")
    if comm is None and engine.rank >= engine.n_first_ranks:
        raise UsageError(f"iterations {name!r}: a spawned rank makes this loop: say comm=MPI.COMM_WORLD")
    number, size, member = (
        (0, engine.n_first_ranks, engine.rank)
        if comm is None
        else (comm._kernel_comm, comm.Get_size(), comm.Get_rank())
    )
    engine.catch_up("iterations")
    loop = skipping.join(name, n_items, number, size, member, periods)
    loop.path_sums[member] = engine.path(engine.rank)
    return loop, member


@named_call("")
def _next_item(loop: SkippedLoop, member: int) -> int:
    engine = current()
    while True:
        engine.catch_up("iterations")
        item = loop.enter(member, engine.rank, engine.now_s)
        if item == _OVER:
            loop.add_uncertainty(engine, member)
        if item != _WINDOW_ENDS:
            return item
        timeline = engine.timeline
        if loop.arrive(engine, timeline):
            for other in loop.waiting:
                engine.wake_timeline(other)
            loop.waiting.clear()
        else:
            engine.gather(lambda: f"iterations({loop.name!r}), for ranks that have not left the item")
        engine.skip(loop.moved_s, float(loop.resume_s[member]) - engine.now_s)


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

    @property
    def half_width_s(self) -> float:
        """Half width of the time of all loops."""
        return sqrt(sum(total.half_width_s**2 for total in self.totals.values()))

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
        Uncertain times along the critical path to each rank's begin of the loop.
    """

    def __init__(self, skipping: IterationSkipping, name: str, n_items: int, size: int, plan: LoopPlan) -> None:
        self.name, self.n_items = name, n_items
        self._skipping, self._size, self._plan = skipping, size, plan
        self._before = {other: total.half_width_s for other, total in skipping.totals.items()}
        self.waiting: list[int] = []
        self.n_joined = 0
        self.path_sums: list[list[float]] = [[]] * size
        self._unperformed = 0.0  # time of items not performed, over that of those performed
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
        """Item that a rank is to perform next, `_OVER`, or `_WINDOW_ENDS`."""
        if self._is_over:
            return _OVER
        place = self._place[member]
        self._note(place, member, rank, now_s)
        if place == len(self._items) and not self._extend():
            return _OVER if len(self._items) == self.n_items and self._is_first else _WINDOW_ENDS
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
        """Refuse requests and messages that were posted in the loop, before the last item."""
        last_s = self._rows[len(self._items) - 1]
        member_of = {rank: member for member, rank in enumerate(self._world_ranks)}
        for left in engine.left_over():
            member = member_of.get(left.rank, -1)
            if (
                member < 0
                or left.kind == LeftKind.COLLECTIVE
                or not self._began_s[member] <= left.date_s < last_s[member]
            ):
                continue
            file, line = left.line
            what = {LeftKind.SEND: "send", LeftKind.RECV: "receive"}.get(left.kind, "request")
            raise UsageError(
                f"iterations {self.name!r}: a {what} of rank {left.rank} "
                f"({file}:{line}) outlives its iteration by more than one: run it without --iterations"
            )

    def _count(self, engine: Engine) -> None:
        """Note what the window's items have done."""
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

    def add_uncertainty(self, engine: Engine, member: int) -> None:
        """Add the uncertain times of items that were not performed: as those of the others, in proportion to time."""
        *sums, variance = (
            self._unperformed * (after - before)
            for before, after in zip(self.path_sums[member], engine.path(engine.rank), strict=True)
        )
        for number, amount in enumerate(sums):
            if amount or (variance and not number):
                engine.add_to_path(number, amount, 0.0 if number else variance)

    def _finish(self, missed_s: float) -> None:
        """Note the time of the loop; `missed_s` is time that has passed beyond what was to be added."""
        plan, estimate, counts = self._plan, self._plan.estimate, self._skipping.counts
        assert estimate is not None
        self._unperformed = estimate.total_s / plan.elapsed_s - 1 if plan.elapsed_s else 0.0
        assert counts is not None
        counts.add(self._world_ranks[0], self._counts.skipped())
        self._skipping.known[self.name, self.n_items, self._size] = plan.windows_to_keep()
        for name, total in self._skipping.totals.items():  # of loops inside, which are as often as this loop is long
            before_s = self._before.get(name, 0.0)
            total.half_width_s = before_s + (total.half_width_s - before_s) * estimate.total_s / plan.elapsed_s
        total = self._skipping.totals.setdefault(self.name, LoopTotal())
        total.n_items += self.n_items
        total.n_performed += plan.n_performed
        total.time_s += estimate.total_s + missed_s
        total.half_width_s += estimate.half_width_s + missed_s
        total.stop_reason = plan.stop_reason
