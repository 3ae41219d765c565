"""`sys` as each rank sees it: arguments, search path, streams and hooks of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from smpy.emulate.any_module import AnyModule
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running
from smpy.emulate.streams import Outlet, RankInput, RankOutput, Switchboard, empty_input

Make = Callable[[RankState], Any]


class _OfRank:
    """An attribute of `sys` that the running rank looks at and assigns for itself alone."""

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


class _RankSystem(ModuleType, metaclass=AnyModule):
    """The class that `sys` has during a run."""

    if sys.version_info >= (3, 14):
        # the interpreter reads the dictionary of a module at once unless its class has a say
        def __getattribute__(self, name: str) -> Any:
            return ModuleType.__getattribute__(self, name)


def install_system(patches: Patches, argv: list[str], outlets: tuple[Outlet, Outlet]) -> tuple[RankOutput, RankOutput]:
    """Give every rank its own view of `sys` until the patches are undone.

    Parameters
    ----------
    patches : Patches
        Where to note what to put back.
    argv : list of str
        Every rank's `sys.argv`, to begin with.
    outlets : (Outlet, Outlet)
        Where standard output and standard error go.

    Returns
    -------
    (RankOutput, RankOutput)
        Standard output and standard error of the ranks.
    """
    out, err = RankOutput(outlets[0], 1), RankOutput(outlets[1], 2)
    first_input = RankInput(sys.stdin, out, outlets[0])
    path: Final = sys.path
    attributes: dict[str, Make] = {
        "argv": lambda _: argv.copy(),
        "path": lambda _: path.copy(),
        "stdin": lambda state: first_input if state.rank == 0 else empty_input(),
        "stdout": lambda _: out,
        "stderr": lambda _: err,
        "__stdout__": lambda _: out,
        "__stderr__": lambda _: err,
        "excepthook": lambda _: sys.__excepthook__,
    }
    for name, make in attributes.items():
        setattr(_RankSystem, name, _OfRank(name, make))
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
