"""Executes computing until its mean time is known, and from then on takes that time without executing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, Final, ParamSpec, TypeVar, cast, overload

from smpy.compute.clock.sampled_clock import SampledClock
from smpy.compute.clock.sampled_regions import Region, Sampling, Scope
from smpy.compute.clock.stopping import ConfidenceInterval, SmpiRule, StoppingRule
from smpy.engine.running import current, is_running, per_world
from smpy.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_SCOPES: Final = ("rank", "world")


@overload
def sample(
    name: str, iterable: Collection[T], *, scope: Scope = ..., half_width: float = ..., least: int = ...,
    rule: SmpiRule | None = ...,
) -> Iterable[T]: ...  # fmt: skip


@overload
def sample(
    name: str, *, scope: Scope = ..., half_width: float = ..., least: int = ..., rule: SmpiRule | None = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def sample(
    name: str,
    iterable: Any = None,
    *,
    scope: Scope = "rank",
    half_width: float = 0.05,
    least: int = 5,
    rule: SmpiRule | None = None,
) -> Any:
    """Execute a loop or function until its mean time is known; from then on take that time without executing it.

    ``for item in sample("name", items):`` runs the body for the first items, and leaves the loop when there are enough
    samples. Items that are left take the mean time of a run each. ``@sample("name")`` does the same with a function
    that is called again and again: a skipped call takes the mean time, and returns the result of the last call that
    ran, the very object.

    Times are measured, so a run samples with ``--compute measured`` alone: otherwise, and outside a simulated run, all
    is run, and no time is added. All runs of a body should do alike work: a mean says nothing of the rest of a loop
    whose steps shrink. Results of skipped runs are missing from the program's.

    There are enough samples when half of the 95 % confidence interval of their mean (Student's) is at most a part
    `half_width` of it. It is looked at after each run, so that the mean is within this bound a little less often than
    in 95 % of cases.

    Parameters
    ----------
    name : str
        Name of the region in the summary. Loops and functions of one name share their samples.
    iterable : collection, optional
        Items that the loop is over; it has a length. None: decorate a function.
    scope : {"rank", "world"}, optional
        Samples that count: the rank's own, or those of all ranks, as if all did the same on the same core.
    half_width : float, optional
        Bound on half the interval, as a part of the mean.
    least : int, optional
        Runs that there are at least, 2 or more.
    rule : smpy.compute.clock.stopping.SmpiRule, optional
        SMPI's rule instead of these two. As there, a loop takes its length times the mean, those runs included that
        were made.

    Returns
    -------
    iterable or callable
        The items of the runs to make, or a decorator.

    Raises
    ------
    ValueError
        If the scope, or a number of the rule, cannot be.
    TypeError
        If the iterable has no length, or the function is a generator or a coroutine.
    UsageError
        If the body calls MPI, sleeps or calls `smpy.execute`, or samples itself; if a loop that was left by ``break``
        or an exception would be skipped: it has no known length.

    Examples
    --------
    >>> sum(item for item in sample("sum", [1, 2, 3], scope="world"))
    6
    """
    chosen: StoppingRule = ConfidenceInterval(half_width, least) if rule is None else rule
    if scope not in _SCOPES:
        raise ValueError(f"sample {name!r}: scope = {scope!r}: it is 'rank' or 'world'")
    if iterable is None:
        return _decorator(name, scope, chosen)
    try:
        len(iterable)
    except TypeError:
        raise TypeError(
            f"sample {name!r}: a {type(iterable).__name__} has no length: give a range, a list or another sequence"
        ) from None
    if not is_running():
        return iterable
    return SampledLoop(name, scope, chosen, iterable)


# ---- loops ----


class SampledLoop:
    """Iterable over the items of a sampled loop; each iteration starts anew, as over a list."""

    def __init__(self, name: str, scope: Scope, rule: StoppingRule, items: Collection[Any]) -> None:
        self._name, self._scope, self._rule, self._items = name, scope, rule, items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        engine, sampling = current(), per_world(Sampling)
        clock = sampling.clock_of(engine, self._name)
        if clock is None:
            return iter(self._items)
        mark_s = clock.pause()
        try:
            region = sampling.region(engine, self._name, self._scope, self._rule)
        finally:
            clock.resume(mark_s)
        return _runs(engine.rank, clock, region, self._items)


def _runs(rank: int, clock: SampledClock, region: Region, items: Collection[Any]) -> Iterator[Any]:
    mark_s = clock.read()
    if mark_s < 0:  # by an import, for example
        yield from items
        return
    slot, n_run, is_whole = region.slot(rank), 0, region.rule.is_injected_whole
    try:
        _refuse_inside(clock, region)
        if is_whole:
            mark_s = clock.charge(mark_s)
        n_skipped = 0
        for item in items:
            if region.is_enough(slot):
                n_skipped = max(len(items) - n_run, 1)  # the body may extend a list
                break
            body = clock.enter(region.name, mark_s, is_charged=not is_whole)
            is_ended = False
            try:
                yield item
                is_ended = True
            finally:
                mark_s = clock.leave(rank, body)
                region.has_been_left |= not is_ended
            region.add(slot, body.computed_s)
            n_run += 1
        if n_skipped and region.has_been_left:
            raise UsageError(
                f"sample {region.name!r}: this loop was left before its end, by `break` or an exception, so how often "
                "its body would run is not known: do not sample it"
            )
        region.n_skipped += n_skipped
        if is_whole and n_run + n_skipped:
            mark_s = (n_run + n_skipped) * region.mean_s(slot)
        elif n_skipped:
            mark_s += n_skipped * region.mean_s(slot)
    finally:
        clock.resume(mark_s)


def _refuse_inside(clock: SampledClock, region: Region) -> None:
    outer = clock.current_body()
    if outer is not None:
        raise UsageError(
            f"sample {region.name!r} is in the body of the sampled {outer.name!r}, which is not always run: "
            "sample one of them"
        )


# ---- functions ----


def _decorator(name: str, scope: Scope, rule: StoppingRule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if isgeneratorfunction(function) or iscoroutinefunction(function) or isasyncgenfunction(function):
            raise TypeError(f"sample {name!r}: a generator or coroutine does not compute when it is called")

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not is_running():
                return function(*args, **kwargs)
            engine, sampling = current(), per_world(Sampling)
            clock = sampling.clock_of(engine, name)
            if clock is None:
                return function(*args, **kwargs)
            mark_s = clock.read()
            if mark_s < 0:
                return function(*args, **kwargs)
            try:
                region = sampling.region(engine, name, scope, rule)
                _refuse_inside(clock, region)
                slot, is_whole = region.slot(engine.rank), region.rule.is_injected_whole
                if is_whole:
                    mark_s = clock.charge(mark_s)
                if slot in region.results and region.is_enough(slot):
                    region.n_skipped += 1
                    mark_s += region.mean_s(slot)
                    return cast("R", region.results[slot])
                rank, body = engine.rank, clock.enter(name, mark_s, is_charged=not is_whole)
                try:
                    result = function(*args, **kwargs)
                finally:
                    mark_s = clock.leave(rank, body)
                region.add(slot, body.computed_s)
                region.results[slot] = result
                if is_whole:
                    mark_s = region.mean_s(slot)
                return result
            finally:
                clock.resume(mark_s)

        return call

    return decorate
