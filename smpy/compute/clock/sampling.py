"""Executes computing until its mean time is known, and from then on takes that time without executing it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar, cast, overload

from smpy.compute.clock.sampled_clock import SampledClock
from smpy.compute.clock.stopping import ConfidenceInterval, SmpiRule, StoppingRule, relative_half_width
from smpy.engine.running import current, is_running, per_world
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

__all__ = ["Region", "Sampling", "sample"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Scope = Literal["rank", "world"]
_SCOPES: Final = ("rank", "world")
_COUNT, _SUM, _SQUARES, _NUMBERS = range(4)


class Region:
    """Samples of a region: of all ranks together, or of each rank.

    Parameters
    ----------
    name : str
        Name that the program gives it.
    scope : {"rank", "world"}
        Ranks with samples that count: the rank itself, or all.
    rule : StoppingRule
        Rule that says when there are enough.
    n_ranks : int
        Number of ranks of the world.

    Attributes
    ----------
    n_skipped : int
        Runs that were not made.
    has_been_left : bool
        Whether a loop was left before its end.
    results : dict of int to object
        Last result of a function, by slot.
    """

    def __init__(self, name: str, scope: Scope, rule: StoppingRule, n_ranks: int) -> None:
        self.name: Final = name
        self.scope: Final = scope
        self.rule: Final = rule
        self._numbers: Final = array("d", bytes(8 * _NUMBERS * (n_ranks if scope == "rank" else 1)))
        self.n_skipped = 0
        self.has_been_left = False
        self.results: dict[int, Any] = {}

    def slot(self, rank: int) -> int:
        """Index of a rank's samples."""
        if self.scope != "rank":
            return 0
        n_missing = (rank + 1) * _NUMBERS - len(self._numbers)
        if n_missing > 0:  # ranks were added to the world
            self._numbers.frombytes(bytes(8 * n_missing))
        return rank

    def is_enough(self, slot: int) -> bool:
        """Whether the region need not be executed any more."""
        n, sum_s, squares_s2 = self._samples(slot)
        return self.rule.is_enough(int(n), sum_s, squares_s2)

    def add(self, slot: int, seconds: float) -> None:
        """Record the time of one execution."""
        at, numbers = slot * _NUMBERS, self._numbers
        numbers[at + _COUNT] += 1
        numbers[at + _SUM] += seconds
        numbers[at + _SQUARES] += seconds * seconds

    def mean_s(self, slot: int) -> float:
        """Mean time of an execution."""
        n, sum_s, _ = self._samples(slot)
        return sum_s / n

    def has_samples(self) -> bool:
        """Whether the region has been executed at all."""
        return any(self._numbers)

    def _samples(self, slot: int) -> tuple[float, float, float]:
        n, sum_s, squares_s2 = self._numbers[slot * _NUMBERS : (slot + 1) * _NUMBERS]
        return n, sum_s, squares_s2

    def facts(self) -> dict[str, Any]:
        """Statistics of the samples, if there are any: executions, their mean, and the widest interval of a rank."""
        slots = [self._samples(slot) for slot in range(len(self._numbers) // _NUMBERS)]
        used = [samples for samples in slots if samples[_COUNT]]
        n_run, sum_s, _ = (sum(column) for column in zip(*used, strict=True))
        widest = max((relative_half_width(int(n), *rest) for n, *rest in used if n > 1), default=None)
        return {
            "scope": self.scope,
            "n_run": int(n_run),
            "n_skipped": self.n_skipped,
            "n_ranks_run": len(used) if self.scope == "rank" else None,
            "mean_s": sum_s / n_run,
            "relative_half_width": widest,
        }


class Sampling:
    """The sampled regions of a world.

    Attributes
    ----------
    regions : dict of str to Region
        By name.
    unmeasured : dict of str to None
        Names of the regions that were run without being measured, in order.
    clock : SampledClock or None
        The run's clock, from the first sample on.
    """

    def __init__(self) -> None:
        self.regions: Final[dict[str, Region]] = {}
        self.unmeasured: Final[dict[str, None]] = {}
        self.clock: SampledClock | None = None

    def clock_of(self, engine: Engine, name: str) -> SampledClock | None:
        """Clock that measures the running rank in a region; None if nothing is measured."""
        if engine.clock is None:
            self.unmeasured[name] = None
            return None
        if not engine.is_here():
            return None
        if self.clock is None:
            engine.clock = self.clock = SampledClock(engine, engine.clock)
        return self.clock

    def region(self, engine: Engine, name: str, scope: Scope, rule: StoppingRule) -> Region:
        """Region of this name."""
        region = self.regions.get(name)
        if region is None:
            region = self.regions[name] = Region(name, scope, rule, engine.n_ranks)
        elif region.scope != scope or region.rule != rule:
            raise UsageError(
                f"sample {name!r}: it was sampled before with scope {region.scope!r} and {region.rule}, and now with "
                f"{scope!r} and {rule}: give one of them another name"
            )
        return region


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
