"""Calls that smpy does not simulate yet: they raise ``NotImplementedError`` with an alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

__all__ = [
    "Close_port",
    "Lookup_name",
    "Open_port",
    "Publish_name",
    "Register_datarep",
    "Unpublish_name",
    "unsimulated",
]

T = TypeVar("T")

_INSTEAD: Final = {
    "one-sided communication": "send and receive, or use collectives",
    "reading and writing files through MPI": "each rank can use Python's own files",
    "dynamic processes": "start all ranks at once, `smpy run -np N`, and divide them with Split or Create_intercomm",
    "fault tolerance": "no rank fails but by an error of the program, which ends the run",
}
"""Parts of MPI, and an alternative to each for programs."""


def unsimulated(what: str, calls: str) -> Callable[[type[T]], type[T]]:
    """Decorate a class: it gets methods that raise ``NotImplementedError``.

    Parameters
    ----------
    what : str
        A part of MPI that smpy does not simulate yet.
    calls : str
        Names of the methods, with spaces between them.
    """

    def complete(owner: type[T]) -> type[T]:
        for name in calls.split():
            setattr(owner, name, _refusal(what, f"{owner.__name__}.{name}"))
        return owner

    return complete


def _refusal(what: str, call: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"MPI.{call}: smpy does not simulate {what} yet; {_INSTEAD[what]}")

    refuse.__name__, refuse.__qualname__ = call.rpartition(".")[2], call
    refuse.__doc__ = f"Not simulated yet: raises ``NotImplementedError``, as all {what} does."
    return refuse


Open_port = _refusal("dynamic processes", "Open_port")
Close_port = _refusal("dynamic processes", "Close_port")
Publish_name = _refusal("dynamic processes", "Publish_name")
Unpublish_name = _refusal("dynamic processes", "Unpublish_name")
Lookup_name = _refusal("dynamic processes", "Lookup_name")
Register_datarep = _refusal("reading and writing files through MPI", "Register_datarep")
