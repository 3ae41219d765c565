"""`sys` of each rank: its own arguments, search path, streams and hooks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, Final

from smpy.emulate.modules.module_kinds import AnyModule
from smpy.emulate.modules.module_table import ModuleTable
from smpy.emulate.modules.streams import Outlet, RankInput, RankOutput, Switchboard, empty_input
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, doing_for_all, running

_LISTS: Final = ("path", "meta_path")
Make = Callable[[RankState], Any]


class _OfRank:
    """Attribute of `sys` with a value per rank."""

    def __init__(self, name: str, make: Make) -> None:
        self._name = name
        self._make = make

    def __get__(self, system: ModuleType, owner: object = None) -> Any:
        state = running()
        if state is None:
            return vars(system)[self._name]
        if state.system is None:
            state.system = {}
        elif self._name in state.system:
            return state.system[self._name]
        value = state.system[self._name] = self._make(state)
        return value

    def __set__(self, system: ModuleType, value: object) -> None:
        state = running()
        if state is None:
            vars(system)[self._name] = value
        elif state.system is None:
            state.system = {self._name: value}
        else:
            state.system[self._name] = value

    def __delete__(self, system: ModuleType) -> None:
        raise AttributeError(f"sys.{self._name} cannot be deleted while ranks share sys")


class _ListOfRank(_OfRank):
    """List of `sys` with a copy per rank; changes by shared modules during their import reach all ranks."""

    def __get__(self, system: ModuleType | None, owner: object = None) -> Any:
        if system is None:  # the class is asked whether it has the attribute
            return self
        state = running()
        common = vars(system)[self._name]
        if state is None:
            return common
        own = super().__get__(system, owner)
        key = f"{self._name} for all"
        assert state.system is not None  # the rank's list is there
        before = state.system.setdefault(key, common.copy())
        if before != common:
            _follow(own, before, common)
            state.system[key] = common.copy()
        return own


@contextmanager
def importing_for_all() -> Iterator[None]:
    """Mark the enclosed code as a shared module's: its changes to the lists of `sys` reach all ranks."""
    before = {name: getattr(sys, name).copy() for name in _LISTS}
    try:
        with doing_for_all():
            yield
    finally:
        for name in _LISTS:
            now = getattr(sys, name)
            if now != before[name]:
                _follow(vars(sys)[name], before[name], now)


def _copy_of(common: list[Any], state: RankState) -> list[Any]:
    return common.copy()


def _follow(own: list[Any], before: list[Any], now: list[Any]) -> None:
    """Apply a change of the common list to a rank's list: new first entries go first, the others last."""
    own[:] = [entry for entry in own if entry in now or entry not in before]
    n_first = next((place for place, entry in enumerate(now) if entry in before), 0)
    own[:0] = [entry for entry in now[:n_first] if entry not in own]
    own += [entry for entry in now[n_first:] if entry not in before and entry not in own]


class _RankSystem(ModuleType, metaclass=AnyModule):
    """Class of `sys` during a run."""

    if sys.version_info >= (3, 14):
        # the interpreter reads a module's dictionary directly unless its class intercepts the access
        def __getattribute__(self, name: str) -> Any:
            return ModuleType.__getattribute__(self, name)


class _ImportSystem(ModuleType, metaclass=AnyModule):
    """Class of the object that the import system sees as `sys`, with the interpreter's own table of modules."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def install_system(
    patches: Patches, argv: list[str], outlets: tuple[Outlet, Outlet], modules: ModuleTable
) -> tuple[RankOutput, RankOutput]:
    """Give every rank its own view of `sys` until the patches are undone.

    Parameters
    ----------
    patches : Patches
        Notes the attributes to put back.
    argv : list of str
        Every rank's `sys.argv`, to begin with.
    outlets : (Outlet, Outlet)
        Streams that standard output and standard error go to.
    modules : ModuleTable
        `sys.modules` for the ranks.

    Returns
    -------
    (RankOutput, RankOutput)
        Standard output and standard error of the ranks.
    """
    out, err = RankOutput(outlets[0], 1), RankOutput(outlets[1], 2)
    first_input = RankInput(sys.stdin, out, outlets[0])
    attributes: dict[str, Make] = {
        "argv": lambda _: argv.copy(),
        "modules": lambda _: modules,
        "stdin": lambda state: first_input if state.rank == 0 else empty_input(),
        "stdout": lambda _: out,
        "stderr": lambda _: err,
        "__stdout__": lambda _: out,
        "__stderr__": lambda _: err,
        "excepthook": lambda _: sys.__excepthook__,
        "flags": lambda _: vars(sys)["flags"],
    }
    for name, make in attributes.items():
        setattr(_RankSystem, name, _OfRank(name, make))
    system = ModuleType("sys")
    vars(system)["modules"] = sys.modules
    system.__class__ = _ImportSystem
    for module in (importlib._bootstrap, importlib._bootstrap_external):
        patches.entry(vars(module), "sys", system)
    for name in _LISTS:
        setattr(_RankSystem, name, _ListOfRank(name, partial(_copy_of, vars(sys)[name])))
    patches.entry(vars(sys), "argv", argv)
    for name in ("stdin", "stdout", "stderr"):
        patches.entry(vars(sys), name, _switchboard(name, vars(sys)[name]))
    sys.__class__ = _RankSystem
    patches.later(lambda: setattr(sys, "__class__", ModuleType))
    return out, err


def _switchboard(name: str, real: Any) -> Switchboard:
    def stream() -> Any:
        state = running()
        if state is None:
            return real
        own = None if state.system is None else state.system.get(name)
        return getattr(sys, name) if own is None else own

    return Switchboard(stream)
