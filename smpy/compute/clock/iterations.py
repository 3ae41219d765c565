"""Marks loops of which a run performs some iterations, and yields the items to perform."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import index
from typing import Any, NoReturn, TypeVar

from smpy.compute.clock.loop_statement import refuse_exits
from smpy.compute.clock.skipped_loops import OVER, WINDOW_ENDS, IterationSkipping, SkippedLoop
from smpy.engine import thread_ranks
from smpy.engine.running import current, is_running, named_call
from smpy.errors import ArgumentTypeError, ArgumentValueError, UsageError

__all__ = ["iterations"]

T = TypeVar("T")


def iterations(name: str, iterable: Collection[T], *, comm: Any = None, periods: Collection[int] = ()) -> Iterable[T]:
    """Mark a loop that all ranks of a communicator make, so that a run can skip iterations.

    ``for item in iterations("name", items):`` yields every item, and takes no time of its own. With
    ``smpy run --iterations skip`` some items are yielded, not always in their order, and the loop takes the time that
    all of them would. Results of items that were skipped are missing from the program's. Under a real MPI, and
    outside a simulated run, every item is yielded.

    Parameters
    ----------
    name : str
        Name of the loop in the summary. A later loop of the same name and length begins with the times of the first
        one.
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
        If the iterable has no length, or a period is no whole number. In a simulated run, this and what follows ends
        the run.
    ValueError
        If a period is less than 1.
    UsageError
        With `--iterations skip`: if ranks disagree on the loop's name or length, its length changes, a thread makes the
        loop, its ``for`` statement has a ``break`` or ``return``, it is left by an exception, or a request, a message,
        an access to a window or work of a device outlives its item by more than one.

    Examples
    --------
    >>> sum(item for item in iterations("sum", [1, 2, 3]))
    6
    """
    try:
        _check(name, iterable, periods)
    except UsageError as misuse:
        _end_run(misuse)
    skipping = current().world_storage.get(IterationSkipping) if is_running() else None
    if skipping is None:
        return iterable
    return _SkippingLoop(skipping, name, iterable, comm, tuple(periods))


def _check(name: str, iterable: Collection[Any], periods: Collection[int]) -> None:
    try:
        len(iterable)
    except TypeError:
        raise ArgumentTypeError(
            f"iterations {name!r}: a {type(iterable).__name__} has no length: give a range, a list or another sequence"
        ) from None
    for period in periods:
        try:
            is_possible = index(period) >= 1
        except TypeError:
            raise ArgumentTypeError(f"iterations {name!r}: a period of {period!r} items: say a whole number") from None
        if not is_possible:
            raise ArgumentValueError(f"iterations {name!r}: a period is of 1 item or more")


def _end_run(misuse: UsageError) -> NoReturn:
    """End the run with a message: a traceback would add only the name of the loop. Outside a run, raise the error."""
    if is_running() and current().is_here():
        current().give_up(misuse)
    raise misuse


class _SkippingLoop:
    """A marked loop, as one rank sees it."""

    def __init__(
        self, skipping: IterationSkipping, name: str, items: Collection[Any], comm: Any, periods: tuple[int, ...]
    ) -> None:
        self._skipping, self._name, self._items, self._comm, self._periods = skipping, name, items, comm, periods

    def __iter__(self) -> Iterator[Any]:
        return self._iterations()

    def _iterations(self) -> Iterator[Any]:
        try:
            refuse_exits(self._name, sys._getframe(1))
            self._refuse_sampled()
            items = self._items if isinstance(self._items, Sequence) else list(self._items)
            n_items = len(items)
            self._check_length(n_items)
            loop, member = _join(self._skipping, self._name, n_items, self._comm, self._periods)
            while (item := _next_item(loop, member)) != OVER:
                self._check_length(n_items)
                yield items[item]
            self._check_length(n_items)
        except UsageError as misuse:
            _end_run(misuse)
        except GeneratorExit:
            _refuse_break(self._name, sys._getframe(1).f_code.co_filename)
            raise

    def _refuse_sampled(self) -> None:
        from smpy.compute.clock.sampling import SampledLoop  # programs import this module outside runs, too

        if isinstance(self._items, SampledLoop):
            raise UsageError(
                f"iterations {self._name!r}: smpy.sample yields some of its items, and so does this: mark it by one"
            )

    def _check_length(self, n_items: int) -> None:
        if len(self._items) != n_items:
            raise UsageError(
                f"iterations {self._name!r}: its {type(self._items).__name__} of {len(self._items):,} items gave "
                f"{n_items:,} when the loop began: items that a loop adds or takes cannot be skipped"
            )


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
        raise UsageError(f"iterations {name!r}: a thread makes this loop: let the rank's own program make it")
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
    return skipping.join(name, n_items, number, size, member, periods), member


@named_call("")
def _next_item(loop: SkippedLoop, member: int) -> int:
    engine = current()
    while True:
        engine.catch_up("iterations")
        item = loop.enter(member, engine.rank, engine.now_s)
        if item == OVER:
            loop.add_uncertainty(engine, member)
        if item != WINDOW_ENDS:
            return item
        timeline = engine.timeline
        if loop.arrive(engine, timeline):
            for other in loop.waiting:
                engine.wake_timeline(other)
            loop.waiting.clear()
        else:
            engine.gather(lambda: f"iterations({loop.name!r}), for ranks that have not left the item")
        loop.note_path(engine, member)
        engine.skip(loop.moved_s, float(loop.resume_s[member]) - engine.now_s)
