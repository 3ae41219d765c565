"""Calls that are watched: none, until a rank has ended MPI, has yet to start it, or has set an error handler.

From then on every call of the world asks first whether its rank may call, and tells the error handler what it raises;
the compiled calls go through the same door. A world that never comes to that pays one comparison a call, and the
compiled calls nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GetSetDescriptorType, MethodDescriptorType
from typing import Any, Final

from smpy.engine.running import current, mpi_call
from smpy.mpi.state.bases import TAKEN_OVER, CommBase, RequestBase
from smpy.mpi.state.exceptions import Exception as MpiException

__all__ = ["ask_before_calls", "tell_of_errors", "watch_calls"]

_assign, _remove = type.__setattr__, type.__delattr__  # programs may not (`FixedClass`)

_questions: Final[list[Callable[[str], None]]] = []
_listeners: Final[list[Callable[[tuple[Any, ...], MpiException], None]]] = []


def ask_before_calls(question: Callable[[str], None]) -> None:
    """Have `question(call)` asked before each call that is watched: it raises when the rank may not make the call."""
    _questions.append(question)


def tell_of_errors(listener: Callable[[tuple[Any, ...], MpiException], None]) -> None:
    """Have `listener(arguments, error)` called once for each error that a watched call raises."""
    _listeners.append(listener)


def watch_calls() -> None:
    """Have the calls of the running world watched."""
    engine = current()
    if engine.guard is not None:
        return
    engine.guard = _guarded
    engine.at_end.append(_unwrap_compiled)
    for owner, name in TAKEN_OVER:
        _assign(owner, name, _wrapped(owner, name))


def _unwrap_compiled() -> None:
    """The watched world is over: the compiled calls are themselves again."""
    for owner, name in TAKEN_OVER:
        _remove(owner, name)


def _wrapped(owner: type, name: str) -> Any:
    """A compiled call that goes through the guard."""
    base: type = CommBase if issubclass(owner, CommBase) else RequestBase
    compiled = vars(base)[name]
    if isinstance(compiled, MethodDescriptorType):
        return mpi_call(compiled)
    if isinstance(compiled, GetSetDescriptorType):
        return property(mpi_call(vars(base)[f"Get_{name}"]))

    def call(cls: type, *args: Any, **kwargs: Any) -> Any:
        return compiled.__get__(None, cls)(*args, **kwargs)

    call.__name__ = name  # by which errors name it
    return classmethod(mpi_call(call))


def _guarded(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if not _is_of_mpi(method):
        return method(*args, **kwargs)
    for question in _questions:
        question(method.__name__)
    try:
        return method(*args, **kwargs)
    except MpiException as error:
        if not error._is_told:
            error._is_told = True
            for listener in _listeners:
                listener(args, error)
        raise


def _is_of_mpi(method: Callable[..., Any]) -> bool:
    """Whether it is a call of MPI's, and not of what goes on around it: output, sleep."""
    return isinstance(method, MethodDescriptorType) or str(getattr(method, "__module__", "")).startswith("smpy.mpi")
