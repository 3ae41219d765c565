"""Attributes that a run replaces, and puts back when it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from smpy.emulate.replacement import Replacement, in_place_of

_MISSING: Final = object()


class Patches:
    """Attributes and entries replaced for the length of a run; `undo` restores them, last first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def attribute(self, owner: Any, name: str, value: object) -> None:
        """Replace an attribute as its owner stores it, so that one found in a base class is uncovered again.

        A function behaves like the one that it replaces, also in the module that defines that one: pickle looks there.
        """
        before = vars(owner).get(name, _MISSING)
        value = in_place_of(before, value)
        self._set(owner, name, before, value)
        if isinstance(value, Replacement):
            home, own_name = sys.modules.get(value.__module__ or "", owner), value.__name__
            if vars(home).get(own_name) is before:
                self._set(home, own_name, before, value)

    def _set(self, owner: Any, name: str, before: object, value: object) -> None:
        setattr(owner, name, value)
        if before is _MISSING:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, before))

    def keep_entry(self, table: dict[Any, Any], key: object) -> None:
        """Note the entry of a dictionary under `key`, to put it back."""
        before = table.get(key, _MISSING)
        if before is _MISSING:
            self._undo.append(lambda: table.pop(key, None))
        else:
            self._undo.append(lambda: table.__setitem__(key, before))

    def entry(self, table: dict[Any, Any], key: object, value: object) -> None:
        """Replace the entry of a dictionary under `key`."""
        self.keep_entry(table, key)
        table[key] = value

    def later(self, undo: Callable[[], object]) -> None:
        """Have `undo` called among the others."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Put back everything that can be: the program may have removed what was replaced, or its directory."""
        while self._undo:
            with suppress(Exception):
                self._undo.pop()()
