"""Calls that smpy does not simulate yet: they raise ``NotImplementedError`` with an alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

__all__ = ["unsimulated"]

T = TypeVar("T")


def unsimulated(what: str, instead: str, calls: str) -> Callable[[type[T]], type[T]]:
    """Decorate a class: it gets methods that raise ``NotImplementedError``.

    Parameters
    ----------
    what : str
        A part of MPI that smpy does not simulate yet.
    instead : str
        An alternative for programs.
    calls : str
        Names of the methods, with spaces between them.
    """

    def complete(owner: type[T]) -> type[T]:
        for name in calls.split():
            setattr(owner, name, _refusal(what, instead, f"{owner.__name__}.{name}"))
        return owner

    return complete


def _refusal(what: str, instead: str, call: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"MPI.{call}: smpy does not simulate {what} yet; {instead}")

    refuse.__name__, refuse.__qualname__ = call.rpartition(".")[2], call
    refuse.__doc__ = f"Not simulated yet: raises ``NotImplementedError``, as all {what} does."
    return refuse
