"""Options of `smpy run` as arguments of a function: the same names, in Python's spelling."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from smpy.errors import ArgumentTypeError
from smpy.runs.arguments import word


def command_line(ranks: int, options: Mapping[str, object]) -> list[str]:
    """Arguments to write after `smpy run` for these options.

    Parameters
    ----------
    ranks : int
        Number of ranks.
    options : mapping
        Names as `smpy run --help` has them, with underscores; `module=True` is -m. True stands for an option without
        a value; None and False leave it out; one that may be repeated takes several values, or a mapping of keys
        to values.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a value is not allowed for its option.

    Examples
    --------
    >>> command_line(4, {"map_by": "core", "strict": True, "set": {"host.cores": 8}, "private": ["a", "b"]})
    ['-np', '4', '--map-by=core', '--strict', '--set=host.cores=8', '--private=a', '--private=b']
    """
    line = ["-np", str(ranks)]
    for name, value in options.items():
        flag = "-m" if name == "module" else "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif value is not None and value is not False:
            line += [f"{flag}={text}" for text in _values(name, value)]
    return line


def _values(name: str, value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        return [f"{key}={_text(name, one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_text(name, one) for one in value]
    return [_text(name, value)]


def _text(name: str, value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return word(name, value)
    if isinstance(value, (bytes, bool)) or not hasattr(value, "__float__"):
        raise ArgumentTypeError(f"{name}={value!r}: an option takes text, a number or a path, several, or a mapping")
    return str(value)
