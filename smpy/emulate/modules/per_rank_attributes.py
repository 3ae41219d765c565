"""Keeps, per rank, attributes of shared modules that programs are meant to assign.

These are names of `builtins`, hooks of `sys` and `warnings`, and the directory of `tempfile`. Assignments to other
shared modules are visible to all ranks: intercepting them would slow down every use of those modules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Final

from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.module_kinds import AnyModule
from smpy.emulate.patches import Patches
from smpy.emulate.process_state import Change, PerRankProcessState
from smpy.emulate.ranks import RankState, running

_MODULES: Final = ("builtins", "sys", "warnings", "tempfile")
_MISSING: Final = object()


def install_assigned(
    patches: Patches, settings: PerRankProcessState, importer: Importer, others: Mapping[tuple[str, str], Change]
) -> None:
    """Give every rank its own values of these attributes until the patches are undone.

    Parameters
    ----------
    patches, settings, importer
        The run's.
    others : dict of (str, str) to callable
        Attributes, by the names of their modules and their own, that are settings already.
    """
    for module in _MODULES:
        attributes = _Attributes(module)
        watch = partial(attributes.watch, patches, settings.add(attributes), others)
        importer.when_imported(module, watch)


class _Attributes:
    """Per-rank values of a module's attributes that ranks have assigned or deleted."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._common: dict[str, object] = {}  # values for ranks that have assigned none

    def read(self, state: RankState | None) -> Hashable:
        if not self._common:
            return ()
        table = vars(sys.modules[self._module])
        present = ((name, table.get(name, _MISSING)) for name in self._common)
        return tuple((name, _Identical(value)) for name, value in present if value is not self._common[name])

    def write(self, value: tuple[tuple[str, _Identical], ...]) -> None:
        own = {name: identical.value for name, identical in value}
        for name, common in self._common.items():
            before = own.get(name, common)
            if before is _MISSING:
                vars(sys.modules[self._module]).pop(name, None)
            else:
                vars(sys.modules[self._module])[name] = before

    def watch(self, patches: Patches, change: Change, others: Mapping[tuple[str, str], Change]) -> None:
        """Intercept assignments to attributes of the module, which has been imported."""
        module = sys.modules[self._module]
        kind: Any = type(module)
        common = self._common

        def changing(name: str) -> Change:
            if (self._module, name) in others:
                return others[self._module, name]
            if running() is None or hasattr(kind, name):  # the class handles it
                return _at_once
            common.setdefault(name, vars(module).get(name, _MISSING))
            return change

        class Watched(kind, metaclass=AnyModule):  # type: ignore[misc]  # a class of modules
            def __setattr__(self, name: str, value: object) -> None:
                changing(name)(kind.__setattr__, self, name, value)

            def __delattr__(self, name: str) -> None:
                changing(name)(kind.__delattr__, self, name)

        module.__class__ = Watched
        patches.later(partial(setattr, module, "__class__", kind))


def _at_once(function: Callable[..., None], *args: Any) -> None:
    function(*args)


class _Identical:
    """Object without a hash that equals only itself."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identical) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
