"""Checks around MPI calls: none, until a rank has ended MPI, has yet to start it, or has set an error handler.

From then on every call of the world first checks that its rank may call, and passes its errors to the error handler;
the extension leaves its calls to Python's methods. Without checks, a call costs one comparison more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from smpy.engine.running import current
from smpy.engine.surface import surface
from smpy.mpi.state.exceptions import Exception as MpiException

__all__ = ["CallWrapper", "ask_before_calls", "check_calls", "is_of_mpi", "tell_of_errors", "watch_calls"]

_questions: Final[list[Callable[[str], None]]] = []
_checks: Final[list[Callable[[str, tuple[Any, ...]], None]]] = []
_listeners: Final[list[Callable[[tuple[Any, ...], MpiException], None]]] = []


def ask_before_calls(question: Callable[[str], None]) -> None:
    """Have `question(call)` asked before each call that is watched: it raises when the rank may not make the call."""
    _questions.append(question)


def check_calls(check: Callable[[str, tuple[Any, ...]], None]) -> None:
    """Have `check(call, arguments)` made as each watched call begins; an error that it raises is the call's."""
    _checks.append(check)


def tell_of_errors(listener: Callable[[tuple[Any, ...], MpiException], None]) -> None:
    """Have `listener(arguments, error)` called once for each error that a watched call raises."""
    _listeners.append(listener)


class CallWrapper:
    """A guard that makes all calls of a world, watched or not, the way it is told to.

    Parameters
    ----------
    make : callable
        Called as ``make(inner, method, args, kwargs)``; it makes the call by ``inner(method, *args, **kwargs)``.
    """

    __slots__ = ("_make", "inner")

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self.inner: Callable[..., Any] = _plain

    def __call__(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._make(self.inner, method, args, kwargs)


def watch_calls() -> None:
    """Have the calls of the running world watched."""
    engine = current()
    wrapper = engine.guard
    if isinstance(wrapper, CallWrapper):
        if wrapper.inner is _guarded:
            return
        wrapper.inner = _guarded
    elif wrapper is not None:
        return
    else:
        engine.guard = _guarded
    if surface is not None:
        surface.watch(True)


def _plain(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


def _guarded(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if not is_of_mpi(method):
        return method(*args, **kwargs)
    for question in _questions:
        question(method.__name__)
    try:
        for check in _checks:
            check(method.__name__, args)
        return method(*args, **kwargs)
    except MpiException as error:
        if not error._is_told:
            error._is_told = True
            for listener in _listeners:
                listener(args, error)
        raise


def is_of_mpi(method: Callable[..., Any]) -> bool:
    """Whether `method` is a call of MPI's, rather than of output or sleep."""
    return str(getattr(method, "__module__", "")).startswith("smpy.mpi")
