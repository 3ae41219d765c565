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
        self.attributes: list[tuple[Any, str, object, object]] = []
        """Attributes replaced so far: owner, name, value before, value now."""

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
        self.attributes.append((owner, name, before, value))
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
        """Call `undo` when the patches are undone, the latest first."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Undo all changes, as far as their modules, and directories, still exist."""
        while self._undo:
            with suppress(Exception):
                self._undo.pop()()


class LastingPatches:
    """Functions of modules whose replacements keep nothing of a run: made in the first run, put back in later ones.

    They are made anew if a module has other functions in the meantime.

    Parameters
    ----------
    make : callable
        Replaces the functions, which have to be there.
    """

    def __init__(self, make: Callable[[Patches], None]) -> None:
        self._make = make
        self._functions: list[tuple[dict[str, Any], dict[str, object], dict[str, object]]] = []
        """Contents of each module, its functions that are replaced, and the replacements."""

    def apply(self, patches: Patches) -> None:
        """Replace the functions until `patches` are undone."""
        if not self._functions or any(
            contents.get(name) is not function
            for contents, before, _ in self._functions
            for name, function in before.items()
        ):
            recorder = Patches()
            self._make(recorder)
            self._functions = _by_module(recorder.attributes)
        for contents, _, replacements in self._functions:
            contents.update(replacements)
        patches.later(self._put_back)

    def _put_back(self) -> None:
        for contents, before, _ in self._functions:
            contents.update(before)


def _by_module(
    attributes: list[tuple[Any, str, object, object]],
) -> list[tuple[dict[str, Any], dict[str, object], dict[str, object]]]:
    modules: dict[int, tuple[dict[str, Any], dict[str, object], dict[str, object]]] = {}
    for module, name, function, replacement in attributes:
        _, before, replacements = modules.setdefault(id(module), (vars(module), {}, {}))
        before.setdefault(name, function)
        replacements[name] = replacement
    return list(modules.values())
