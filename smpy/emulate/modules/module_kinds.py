"""Subclasses of modules, for modules that answer each rank in its own way, that pass for `ModuleType`."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class AnyModule(type):
    """The class of such a kind.

    `isinstance(x, type(sys))` and `type(sys)(name)` go on meaning modules: the import system makes them so. So do
    tables by type: cloudpickle and dill know from them what to do with a module.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ModuleType)

    def __call__(cls, *args: Any, **kwargs: Any) -> ModuleType:
        return ModuleType(*args, **kwargs)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is ModuleType

    def __hash__(cls) -> int:
        return hash(ModuleType)
