"""Error classes, codes and strings that a rank adds to the standard's."""

from __future__ import annotations

from typing import Final

from smpy.engine.running import current, is_running
from smpy.mpi.state.exceptions import ERROR_CLASSES, fail, look_up_with
from smpy.mpi.state.world import world

__all__ = [
    "Add_error_class",
    "Add_error_code",
    "Add_error_string",
    "Remove_error_class",
    "Remove_error_code",
    "Remove_error_string",
    "last_used_code",
]

_LAST_OF_STANDARD: Final = ERROR_CLASSES["ERR_LASTCODE"][0]


class _Added:
    """What one rank has added: the class of each number, and the strings."""

    __slots__ = ("class_of", "last", "strings")

    def __init__(self) -> None:
        self.last = _LAST_OF_STANDARD
        self.class_of: dict[int, int] = {}
        self.strings: dict[int, str] = {}

    def add(self, error_class: int | None) -> int:
        self.last += 1
        self.class_of[self.last] = self.last if error_class is None else error_class
        return self.last

    def remove(self, number: int) -> None:
        del self.class_of[number]
        self.last = max(self.class_of, default=_LAST_OF_STANDARD)


def _mine() -> _Added:
    added: _Added = world().added_errors.setdefault(current().rank, _Added())
    return added


def _look_up(number: int) -> tuple[int, str] | None:
    if not is_running() or number not in (mine := _mine()).class_of:
        return None
    return mine.class_of[number], mine.strings.get(number, "")


look_up_with(_look_up)


def last_used_code() -> int:
    """The largest error code in use."""
    return _mine().last


def Add_error_class() -> int:
    """A new error class: its number."""
    return _mine().add(None)


def Add_error_code(errorclass: int) -> int:
    """A new error code of a class: its number.

    Parameters
    ----------
    errorclass : int
        One of the standard's classes, or an added one.
    """
    mine = _mine()
    if mine.class_of.get(errorclass, errorclass) != errorclass:
        fail("ERR_ARG", f"Add_error_code({errorclass}): this is a code, not a class")
    return mine.add(errorclass)


def Add_error_string(errorcode: int, string: str) -> None:
    """Say what an added class or code means.

    Parameters
    ----------
    errorcode : int
        Its number.
    string : str
        In words.
    """
    _check_added(errorcode, "Add_error_string")
    _mine().strings[errorcode] = string


def Remove_error_class(errorclass: int) -> None:
    """Forget an added class; it must have no codes and no string any more.

    Parameters
    ----------
    errorclass : int
        Its number.
    """
    mine = _check_added(errorclass, "Remove_error_class")
    if mine.class_of[errorclass] != errorclass:
        fail("ERR_ARG", f"Remove_error_class({errorclass}): this is a code, not a class")
    _check_bare(errorclass, "Remove_error_class")
    if any(of == errorclass for code, of in mine.class_of.items() if code != errorclass):
        fail("ERR_OTHER", f"Remove_error_class({errorclass}): remove its error codes first")
    mine.remove(errorclass)


def Remove_error_code(errorcode: int) -> None:
    """Forget an added code; it must have no string any more.

    Parameters
    ----------
    errorcode : int
        Its number.
    """
    mine = _check_added(errorcode, "Remove_error_code")
    if mine.class_of[errorcode] == errorcode:
        fail("ERR_ARG", f"Remove_error_code({errorcode}): this is a class, not a code")
    _check_bare(errorcode, "Remove_error_code")
    mine.remove(errorcode)


def Remove_error_string(errorcode: int) -> None:
    """Forget what an added class or code means.

    Parameters
    ----------
    errorcode : int
        Its number.
    """
    _check_added(errorcode, "Remove_error_string").strings.pop(errorcode, None)


def _check_added(number: int, call: str) -> _Added:
    mine = _mine()
    if number not in mine.class_of:
        fail("ERR_ARG", f"{call}({number}): no such error class or code has been added")
    return mine


def _check_bare(number: int, call: str) -> None:
    if number in _mine().strings:
        fail("ERR_OTHER", f"{call}({number}): remove its error string first")
