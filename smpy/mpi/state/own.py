"""A rank's own part of an object that ranks share: its name for it, attributes, error handler, hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["NOTHING_OF_ITS_OWN", "Attributes", "ErrorHandler", "KeyKind", "Own"]


class KeyKind(NamedTuple):
    """A key of attributes, as `Create_keyval` was called for it."""

    family: str
    copy_fn: Callable[[Any, int, Any], Any] | bool | None
    delete_fn: Callable[[Any, int, Any], None] | None
    is_number: bool


Attributes: TypeAlias = dict[int, tuple[KeyKind, Any]]
"""What one rank has cached on one object."""


class ErrorHandler:
    """What is done about errors.

    Parameters
    ----------
    family : str
        Kind of object that it serves; empty for all.
    function : callable, optional
        Called with the object and the error code; without it the run ends (``ends_run``), or nothing is done.
    ends_run : bool
        Whether an error ends the run.

    Attributes
    ----------
    n_handles : int
        How many handles refer to it.
    """

    __slots__ = ("ends_run", "family", "function", "n_handles")

    def __init__(self, family: str, function: Callable[[Any, int], None] | None = None, ends_run: bool = False) -> None:
        self.family = family
        self.function = function
        self.ends_run = ends_run
        self.n_handles = 0


class Own:
    """What one rank has made of a communicator, a window, a file or a session for itself.

    Attributes
    ----------
    name : str or None
        What it calls it, if something else than the others.
    attributes : dict
        What it has cached there.
    error_handler : ErrorHandler or None
        Who is told of its errors; None: they are raised.
    info : dict of str to str
        Its hints.
    """

    __slots__ = ("attributes", "error_handler", "info", "name")

    def __init__(self) -> None:
        self.name: str | None = None
        self.attributes: Attributes = {}
        self.error_handler: ErrorHandler | None = None
        self.info: dict[str, str] = {}


NOTHING_OF_ITS_OWN: Final = Own()
"""For ranks that have made nothing of an object; never changed."""
