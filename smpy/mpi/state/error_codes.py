"""Error classes, codes and strings that a rank adds to the standard's."""

from __future__ import annotations

from smpy.mpi.state.exceptions import AddedCodes, added_codes, fail

__all__ = [
    "Add_error_class",
    "Add_error_code",
    "Add_error_string",
    "Remove_error_class",
    "Remove_error_code",
    "Remove_error_string",
    "last_used_code",
]


def last_used_code() -> int:
    """The largest error code in use."""
    return added_codes().last


def Add_error_class() -> int:
    """A new error class: its number."""
    return added_codes().add(None)


def Add_error_code(errorclass: int) -> int:
    """A new error code of a class: its number.

    Parameters
    ----------
    errorclass : int
        One of the standard's classes, or an added one.
    """
    mine = added_codes()
    if mine.class_of.get(errorclass, errorclass) != errorclass:
        fail("ERR_ARG", f"Add_error_code({errorclass}): this is a code, not a class")
    return mine.add(errorclass)


def Add_error_string(errorcode: int, string: str) -> None:
    """Set the message of an added class or code.

    Parameters
    ----------
    errorcode : int
        Its number.
    string : str
        The message.
    """
    _check_added(errorcode, "Add_error_string")
    added_codes().strings[errorcode] = string


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
    if any(its_class == errorclass for code, its_class in mine.class_of.items() if code != errorclass):
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
    """Delete the message of an added class or code.

    Parameters
    ----------
    errorcode : int
        Its number.
    """
    _check_added(errorcode, "Remove_error_string").strings.pop(errorcode, None)


def _check_added(number: int, call: str) -> AddedCodes:
    mine = added_codes()
    if number not in mine.class_of:
        fail("ERR_ARG", f"{call}({number}): no such error class or code has been added")
    return mine


def _check_bare(number: int, call: str) -> None:
    if number in added_codes().strings:
        fail("ERR_OTHER", f"{call}({number}): remove its error string first")
