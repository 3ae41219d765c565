"""Private modules are found and compiled once; every rank makes its own module from them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from smpy.emulate.codes import count, own_copy

# Each rank has its own code objects while they are at most this many for a module: the limit trades speed for memory.
OWN_CODES_MAX: Final = 262_144

# Where to find what a program expects to be installed, when it is not.
STAND_INS: Final = {"mpi4py": str(Path(__file__).with_name("stand_in"))}


class Source:
    """What all ranks' copies of one private module have in common.

    Parameters
    ----------
    spec : ModuleSpec
        As the import system found it.
    n_ranks : int
        How many copies there may be.
    """

    def __init__(self, spec: ModuleSpec, n_ranks: int) -> None:
        self.spec = spec
        self.is_shared = isinstance(spec.loader, ExtensionFileLoader)
        self._n_ranks = n_ranks
        self._template: dict[str, Any] | None = None
        self._code: CodeType | None = None
        self._has_own_codes = True

    def new_module(self) -> ModuleType:
        """A module of the running rank's, as the import system would make it, not yet executed."""
        if self._template is None or not self._is_plain:
            module = importlib.util.module_from_spec(self.spec)
            self._template = dict(vars(module))
            return module
        module = ModuleType(self.spec.name)
        attributes = vars(module)
        attributes.update(self._template)
        path = attributes.get("__path__")
        if type(path) is list:
            attributes["__path__"] = path.copy()
        return module

    def execute(self, module: ModuleType) -> None:
        """Run the module's code for the running rank."""
        loader = self.spec.loader
        vars(self.spec)["_initializing"] = True  # for the interpreter's messages about circular imports
        try:
            if self._is_plain:
                exec(self._own_code(), vars(module))  # noqa: S102  # this is what importing is
            elif loader is not None:  # a namespace package has nothing to execute
                loader.exec_module(module)
        finally:
            vars(self.spec)["_initializing"] = False

    @property
    def _is_plain(self) -> bool:
        """Whether executing means running a code object, so that it can be compiled once."""
        kind = type(self.spec.loader)
        return (
            getattr(kind, "exec_module", None) is SourceFileLoader.exec_module
            and getattr(kind, "create_module", None) is SourceFileLoader.create_module
        )

    def _own_code(self) -> CodeType:
        if self._code is None:
            assert isinstance(self.spec.loader, InspectLoader)
            code = self.spec.loader.get_code(self.spec.name)
            if code is None:
                raise ImportError(f"cannot get code object of {self.spec.name!r}", name=self.spec.name)
            self._code = code
            self._has_own_codes = has_own_codes(code, self._n_ranks)
        return own_copy(self._code) if self._has_own_codes else self._code


def has_own_codes(code: CodeType, n_ranks: int) -> bool:
    """Whether each of `n_ranks` ranks runs a copy of its own of a module's code."""
    return n_ranks > 1 and count(code) * n_ranks <= OWN_CODES_MAX


class Sources:
    """Finds private modules' sources, each once for all ranks that look for it in the same places.

    Parameters
    ----------
    n_ranks : int
        How many copies of a module there may be.
    """

    def __init__(self, n_ranks: int) -> None:
        self._n_ranks = n_ranks
        self._found: dict[tuple[str, ...], Source] = {}
        self._by_origin: dict[tuple[str, ...], Source] = {}
        self._not_asked: set[object] = set()

    def forget(self, name: str) -> None:
        """Find and compile a module anew when it is asked for again: its file may have changed."""
        for table in (self._found, self._by_origin):
            for key in [key for key in table if key[0] == name]:
                del table[key]

    def ignore(self, finder: object) -> None:
        """Never ask this entry of `sys.meta_path`."""
        self._not_asked.add(finder)

    def find(self, name: str, path: Sequence[str] | None = None) -> Source | None:
        """The source of module `name`; a submodule is looked for in its parent's `path`."""
        key = (name, *(sys.path if path is None else path))
        source = self._found.get(key)
        if source is None:
            spec = self.find_spec(name, path)
            if spec is None:
                return None
            source = Source(spec, self._n_ranks)
            if spec.has_location and spec.origin is not None:
                source = self._by_origin.setdefault((name, spec.origin), source)
            self._found[key] = source
        return source

    def find_spec(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        """What the import system would find if no module were private."""
        for finder in sys.meta_path:
            if finder not in self._not_asked and (spec := finder.find_spec(name, path)) is not None:
                return spec
        if name in STAND_INS:
            return PathFinder.find_spec(name, [STAND_INS[name]])
        return None
