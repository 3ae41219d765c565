"""Checks of arguments of `simulate` and of studies, before anything starts; errors name the argument."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import isfinite
from operator import index
from typing import Any, Final

from smpy.errors import ArgumentTypeError, ArgumentValueError

RANKS_MAX: Final = 2**31 - 1  # MPI's integers have 32 bits
BYTES_MAX: Final = 2**63 - 1
SECONDS_MAX: Final = 1e9  # 31 years


def whole_number(name: str, value: Any, most: int) -> int:
    """A number from 1 on.

    Parameters
    ----------
    name : str
        Name of the argument.
    value
        Its value: an integer of Python or numpy.
    most : int
        Its largest allowed value.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the value is no whole number, or out of range.
    """
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentTypeError(f"{name}={value!r}: say a whole number")
    if not 1 <= number <= most:
        raise ArgumentValueError(f"{name}={value!r}: say a number from 1 to {most:,}")
    return number


def several(value: Any) -> list[Any]:
    """Values of an argument that takes one or several; a text is one."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]


def seconds(name: str, value: Any) -> float:
    """Real time in seconds, above 0.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the value is no number of seconds, or out of range.
    """
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise ArgumentTypeError(f"{name}={value!r}: say a number of seconds")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}={value!r}: say a number of seconds") from None
    if not isfinite(number) or not 0 < number <= SECONDS_MAX:
        raise ArgumentValueError(f"{name}={value!r}: say seconds, more than 0 and at most {SECONDS_MAX:,.0f}")
    return number


def text(name: str, value: Any) -> str:
    """Text that can be written to a file.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the value is no text, or cannot be written.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}={value!r}: say text, a str")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ArgumentValueError(f"{name}: character {error.start} has no UTF-8: {error.reason}") from None
    return value


def word(name: str, value: Any) -> str:
    """A path or a word of a command line.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the value is neither text nor a path, or has a NUL character.
    """
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise ArgumentTypeError(f"{name}={value!r}: say a str or a path")
    if "\0" in text(name, path):
        raise ArgumentValueError(f"{name}={value!r}: it has a NUL character, which no file's name and no argument has")
    return path
