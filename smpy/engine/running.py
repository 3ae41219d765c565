"""The one running world: code that all ranks share asks it for the running rank."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

K = TypeVar("K")
P = ParamSpec("P")
R = TypeVar("R")

_PLAIN: Final = (TypeError, AttributeError, ValueError, LookupError, OverflowError)
"""Exceptions that a wrong argument may raise if nothing has checked it."""

_engine: Engine | None = None
_explain: Callable[..., None] | None = None


def current() -> Engine:
    """The engine of the world that runs.

    Raises
    ------
    UsageError
        Outside `smpy run`: there are no ranks.
    """
    if _engine is None:
        raise UsageError("no simulated world is running: start the program with `smpy run -np N PROGRAM`")
    return _engine


def is_running() -> bool:
    """Whether a simulated world is running in this process."""
    return _engine is not None


def per_world(kind: type[K]) -> K:
    """The running world's one object of a class, for a layer above; made when it is first asked for."""
    kept = current().world_storage
    value: K | None = kept.get(kind)
    if value is None:
        value = kept[kind] = kind()
    return value


def enter(engine: Engine | None) -> None:
    """Make `engine` the running world; None when it is over."""
    global _engine
    _engine = engine


def explain_failures(explain: Callable[..., None]) -> None:
    """Have a plain error of an MPI call looked at by `explain(method, args, kwargs, error, has_begun)`.

    It may raise a better one. `has_begun` is false when the arguments did not fit the signature.
    """
    global _explain
    _explain = explain


def mpi_call(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public MPI call: time inside is not the rank's own computing."""
    return _call(method, method.__name__.removeprefix("_"))


def named_call(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that a program calls under another name, such as "sleep"; "": nothing that it calls MPI's."""
    return lambda method: _call(method, name)


def _call(method: Callable[P, R], name: str) -> Callable[P, R]:
    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        engine, guard, stopped, has_begun = _engine, None, None, False
        if engine is not None:
            clock, guard = engine.clock, engine.guard
            has_begun = engine.call_recorder.begin_call(name, args)
            if clock is not None and clock.stop():
                stopped = clock
        try:
            return method(*args, **kwargs) if guard is None else guard(method, *args, **kwargs)
        except _PLAIN as error:
            trace = error.__traceback__
            if _explain is not None and trace is not None:
                _explain(method, args, kwargs, error, trace.tb_next is not None)
            raise
        finally:
            if has_begun and _engine is engine is not None:
                engine.call_recorder.end_call()
            if stopped is not None:
                stopped.start()

    function: Any = call
    function.__code__ = function.__code__.replace(co_name=method.__name__)  # frames tell which call the program made
    return call


def as_computing(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Perform work of the program inside a call, such as pickling its objects: it is computing of the rank."""
    clock = _engine.clock if _engine is not None else None
    if clock is None:
        return work(*args, **kwargs)
    clock.start()
    try:
        return work(*args, **kwargs)
    finally:
        clock.stop()


def mpi_question(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public MPI call that takes no simulated time, and is too short for the clock to be stopped."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        guard = _engine.guard if _engine is not None else None
        if guard is None:
            return method(*args, **kwargs)
        answer: R = guard(method, *args, **kwargs)
        return answer

    return call
