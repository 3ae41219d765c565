"""The one object in `sys.modules` for all ranks' copies of a private module: it answers with the running rank's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import running

Load = Callable[[str], ModuleType]


class ModuleProxy(ModuleType):
    """Stands in `sys.modules` for every rank's copy of a private module.

    pickle, typing, dataclasses, inspect and their like look modules up there and find the running rank's own classes.
    A rank that has not imported the module is told that there is no such attribute, but asking for `__spec__` imports
    it: that is how the import system asks whether a module it found is complete.
    """

    __slots__ = ("_load", "_name")
    _load: Load
    _name: str

    def __init__(self, name: str, load: Load) -> None:
        ModuleType.__init__(self, name)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_load", load)

    def __getattribute__(self, name: str) -> Any:
        state = running()
        if state is None:
            return ModuleType.__getattribute__(self, name)
        module = state.modules.get(_name_of(self))
        if module is None:
            module = _load_of(self)(_name_of(self)) if name == "__spec__" else _own(self)
        return getattr(module, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_own(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_own(self), name)

    def __dir__(self) -> Iterable[str]:
        return dir(_own(self))

    def __repr__(self) -> str:
        return f"<facade of {_name_of(self)!r}>" if running() is None else repr(_own(self))


class Reference(ModuleProxy):
    """Stands in shared modules for every rank's copy of a private module that they import, or that lies in them.

    For a rank that has not imported the module, using it imports it: the shared module's own import was for all ranks.
    """

    __slots__ = ()


_name_of: Final[Callable[[ModuleProxy], str]] = vars(ModuleProxy)["_name"].__get__
_load_of: Final[Callable[[ModuleProxy], Load]] = vars(ModuleProxy)["_load"].__get__


def _own(facade: ModuleProxy) -> ModuleType:
    state = running()
    if state is None:
        raise AttributeError(f"module {_name_of(facade)!r} belongs to the ranks, and none is running")
    module = state.modules.get(_name_of(facade))
    if module is None and type(facade) is Reference:
        module = _load_of(facade)(_name_of(facade))
    if module is None:
        raise AttributeError(f"rank {state.rank} has not imported module {_name_of(facade)!r}")
    return module


def install_static_lookup(patches: Patches) -> None:
    """Have `inspect.getattr_static`, which asks nobody, look into ranks' copies until the patches are undone."""
    import inspect

    look: Callable[..., Any] = inspect.getattr_static

    def getattr_static(obj: object, *args: Any, **kwargs: Any) -> Any:
        return look(_own(obj) if isinstance(obj, ModuleProxy) else obj, *args, **kwargs)

    patches.attribute(inspect, "getattr_static", getattr_static)


class ModuleProxyFinder:
    """An entry of `sys.meta_path`: the import system finds the facade of a private module, and has it load a copy.

    It is for imports that do not go through `builtins.__import__`, such as an `import_module` bound before the run.

    Parameters
    ----------
    to_load : callable
        Called with a module's name and where to look for it: the facade, another module that is complete, or None.
    modules : dict
        The interpreter's table of modules.
    """

    def __init__(
        self, to_load: Callable[[str, Sequence[str] | None], ModuleType | None], modules: dict[str, ModuleType]
    ) -> None:
        self._to_load = to_load
        self._modules = modules

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """The spec of a module that is private or has a substitute, or None."""
        module = None if running() is None else self._to_load(name, path)
        loader: Any = _FoundLoader(module, self._modules) if module is not None else None
        return None if loader is None else ModuleSpec(name, loader)


class _FoundLoader:
    """Loader of a module that is there; no `importlib.abc.Loader`, whose import brings `tempfile` and `shutil`."""

    def __init__(self, module: ModuleType, modules: dict[str, ModuleType]) -> None:
        self._module = module
        self._modules = modules

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._module if isinstance(self._module, ModuleProxy) else None

    def exec_module(self, module: ModuleType) -> None:
        if isinstance(self._module, ModuleProxy):
            _load_of(self._module)(_name_of(self._module))
        else:
            self._modules[module.__name__] = self._module
