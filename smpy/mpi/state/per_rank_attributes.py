"""A rank's own part of an object that ranks share: its name for it, attributes, error handler, hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["NOTHING_OF_ITS_OWN", "Attributes", "ErrorHandler", "KeyKind", "PerRankAttributes"]


class KeyKind(NamedTuple):
    """A key of attributes, as `Create_keyval` was called for it."""

    family: str
    copy_fn: Callable[[Any, int, Any], Any] | bool | None
    delete_fn: Callable[[Any, int, Any], None] | None
    is_number: bool


Attributes: TypeAlias = dict[int, tuple[KeyKind, Any]]
"""Attributes that one rank has cached on one object: the kind and value of each key."""


class ErrorHandler:
    """A handler of errors.

    Parameters
    ----------
    family : str
        Kind of object that it serves; empty for all.
    function : callable, optional
        Called with the object and the error code; without it the run ends if ``ends_run``, else the error is raised.
    ends_run : bool
        Whether an error ends the run.

    Attributes
    ----------
    n_handles : int
        Number of handles that refer to it.
    """

    __slots__ = ("ends_run", "family", "function", "n_handles")

    def __init__(self, family: str, function: Callable[[Any, int], None] | None = None, ends_run: bool = False) -> None:
        self.family = family
        self.function = function
        self.ends_run = ends_run
        self.n_handles = 0


class PerRankAttributes:
    """One rank's own name, attributes, error handler and hints of a communicator, a window, a file or a session.

    Attributes
    ----------
    name : str or None
        The rank's own name for the object; None if it has set none.
    attributes : dict
        Attributes that the rank has cached on the object.
    error_handler : ErrorHandler or None
        Handler of its errors; None: they are raised.
    info : dict of str to str
        Its hints.
    """

    __slots__ = ("attributes", "error_handler", "info", "name")

    def __init__(self) -> None:
        self.name: str | None = None
        self.attributes: Attributes = {}
        self.error_handler: ErrorHandler | None = None
        self.info: dict[str, str] = {}


NOTHING_OF_ITS_OWN: Final = PerRankAttributes()
"""Shared default of ranks that have set nothing on an object; never changed."""
