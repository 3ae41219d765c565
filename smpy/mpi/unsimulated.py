"""Calls that smpy does not simulate yet: they exist, and say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

__all__ = ["unsimulated"]

T = TypeVar("T")


def unsimulated(what: str, calls: str) -> Callable[[type[T]], type[T]]:
    """Decorate a class: it gets methods that raise ``NotImplementedError``.

    Parameters
    ----------
    what : str
        What smpy does not simulate yet.
    calls : str
        Names of the methods, with spaces between them.
    """

    def complete(owner: type[T]) -> type[T]:
        for name in calls.split():
            setattr(owner, name, _refusal(what, owner.__name__, name))
        return owner

    return complete


def _refusal(what: str, owner: str, name: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"MPI.{owner}.{name}: smpy does not simulate {what} yet")

    refuse.__name__, refuse.__qualname__ = name, f"{owner}.{name}"
    refuse.__doc__ = f"Not simulated yet: raises ``NotImplementedError``, as all {what} does."
    return refuse
