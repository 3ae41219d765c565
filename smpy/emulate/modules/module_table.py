"""`sys.modules` as each rank sees it: shared modules, and the private ones that the rank has itself imported.

The table that the interpreter reads is one for all ranks: it holds a facade for each private name. This one is what
programs get at. An entry that a rank puts there is its own, whatever other ranks have under that name. A shared module
that a rank deletes is gone for all, and imported anew by whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from types import ModuleType
from typing import Any, Final

from smpy.emulate.modules.module_proxy import ModuleProxy
from smpy.emulate.ranks import is_for_all, running

_ABSENT: Final = object()
HALTED: Final = ModuleType("halted", "Stands for None in `sys.modules`: importing this module is an error.")


class ModuleTable(MutableMapping[str, Any]):
    """The running rank's `sys.modules`.

    Parameters
    ----------
    modules : dict
        The interpreter's table.
    claim : callable
        Called with the name of a module of which ranks have their own from now on.
    """

    def __init__(self, modules: dict[str, Any], claim: Callable[[str], None]) -> None:
        self._modules = modules
        self._claim = claim
        self._displaced: dict[str, Any] = {}

    def own(self, name: str) -> Any:
        """The running rank's copy of a private module; else the one that was there for all before, or None."""
        state = running()
        own = None if state is None else state.modules.get(name)
        return self._displaced.get(name) if own is None else own

    def __getitem__(self, name: str) -> Any:
        module = self._modules.get(name, _ABSENT)
        if type(module) is ModuleProxy:
            own = self.own(name)
            module = _ABSENT if own is None else own
        if module is _ABSENT:
            raise KeyError(name)
        return None if module is HALTED else module

    def __setitem__(self, name: str, module: Any) -> None:
        state = running()
        present = self._modules.get(name, _ABSENT)
        if state is None or is_for_all():
            self._modules[name] = module
        elif present is not module:
            if type(present) is not ModuleProxy:
                if present is not _ABSENT:
                    self._displaced[name] = present
                self._claim(name)
            state.modules[name] = HALTED if module is None else module

    def __delitem__(self, name: str) -> None:
        state = running()
        if type(self._modules[name]) is not ModuleProxy:
            del self._modules[name]
        elif state is None or state.modules.pop(name, None) is None:
            raise KeyError(name)

    def clear(self) -> None:
        """Forget the rank's own modules."""
        state = running()
        if state is not None:
            state.modules.clear()

    def copy(self) -> dict[str, Any]:
        """A dictionary with the modules of now."""
        return dict(self)

    def __iter__(self) -> Iterator[str]:
        return (
            name for name, module in self._modules.copy().items() if type(module) is not ModuleProxy or self.own(name)
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        module = self._modules.get(name, _ABSENT)  # type: ignore[call-overload]  # any key may be asked for
        return module is not _ABSENT and (type(module) is not ModuleProxy or self.own(_name(name)) is not None)

    def __repr__(self) -> str:
        return repr(dict(self))


def _name(key: object) -> str:
    assert isinstance(key, str)  # there is a facade under it
    return key
