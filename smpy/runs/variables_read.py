"""The environment variables that a run's program has read by name, each with a hash."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from types import FrameType
from typing import Final

from smpy.runs.files_read import is_of_the_program

_ABSENT: Final = "absent"
_ACCESSORS: Final = frozenset(
    {
        "os",
        "collections",
        "collections.abc",
        "_collections_abc",
        "string",
        "re",
        "smpy.emulate.process.environment",
        __name__,
    }
)
"""Modules that read variables on behalf of others; `posixpath` does so in `expandvars`."""


class VariablesRead:
    """Records the variables that the program reads through `os.environ`, from now on.

    A variable that was not set is recorded, too; one that the program has set itself is not. Variables that Python
    and installed packages read for themselves (`HOME`, `TERM`, `COLUMNS`) are not recorded: they differ from login to
    login. A copy of all variables, for a child process, counts as no read.
    """

    def __init__(self) -> None:
        self._variables = Noting(vars(os.environ)["_data"])
        for environ in (os.environ, os.environb):
            vars(environ)["_data"] = self._variables

    def hashes(self) -> dict[str, str]:
        """Hash of each variable that was read, by its name."""
        return {os.fsdecode(name): _state(value) for name, value in sorted(self._variables.read().items())}


class Noting(dict[bytes, bytes]):
    """Encoded variables, with a record of those that are read before they are written.

    Reads of all names in the order of an iteration are a copy of the variables, and are not recorded.
    """

    def __init__(self, variables: Mapping[bytes, bytes]) -> None:
        super().__init__(variables)
        self._read: dict[bytes, bytes | None] = {}
        self._listed: dict[bytes, bytes | None] = {}
        self._to_come: list[bytes] = []
        self._written: set[bytes] = set()

    def read(self) -> dict[bytes, bytes | None]:
        """Variables that were read, with their values at that time; None: not set."""
        return {**self._read, **self._listed}

    def _note(self, name: bytes) -> None:
        is_next = bool(self._to_come) and self._to_come[-1] == name
        if is_next:
            self._to_come.pop()
        else:
            self._end_listing()
        if name not in self._written and name not in self._read and _asks_for_the_program():
            (self._listed if is_next else self._read)[name] = super().get(name)
        if is_next and not self._to_come:
            self._listed.clear()

    def _end_listing(self) -> None:
        self._to_come.clear()
        self._read.update(self._listed)
        self._listed.clear()

    def __getitem__(self, name: bytes) -> bytes:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        self._note(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[bytes]:
        self._end_listing()
        self._to_come = [*reversed(self.keys())]
        return super().__iter__()

    def __setitem__(self, name: bytes, value: bytes) -> None:
        self._written.add(name)
        super().__setitem__(name, value)

    def __delitem__(self, name: bytes) -> None:
        self._written.add(name)
        super().__delitem__(name)

    def pop(self, name: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        self._written.add(name)
        return super().pop(name, default)


def _asks_for_the_program() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and _reads_for_others(frame):
        frame = frame.f_back
    return frame is not None and is_of_the_program(frame.f_code.co_filename)


def _reads_for_others(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")
    return module in _ACCESSORS or (module == "posixpath" and frame.f_code.co_name != "expanduser")


def _state(value: bytes | None) -> str:
    return _ABSENT if value is None else sha256(value).hexdigest()


def hashes_of(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Hash of each named variable, comparable with `VariablesRead.hashes`; a variable may be absent."""
    return {name: _state(os.fsencode(environment[name]) if name in environment else None) for name in names}


def changed_variables(variables: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Names of variables whose values have changed since a run read them.

    Parameters
    ----------
    variables : mapping of str to str
        Their hashes, from `VariablesRead.hashes`.
    environment : mapping of str to str
        The present variables.
    """
    now = hashes_of(variables, environment)
    return [name for name, state in variables.items() if state != now[name]]
