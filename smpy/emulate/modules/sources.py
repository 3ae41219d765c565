"""Finds and compiles private modules once; every rank creates its own module from the result."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from smpy.emulate.modules.codes import CodeSupply, body_of
from smpy.emulate.modules.looking_loops import code_with_giving_way

# Folders with stand-ins for packages that programs expect to be installed.
STAND_INS: Final = {"mpi4py": str(Path(__file__).with_name("stand_in"))}

_ASKING: Final[ContextVar[bool]] = ContextVar("asking", default=False)

is_asking: Final[Callable[[], bool]] = _ASKING.get
"""Whether the import system is being asked for its own answer; finders may ask each other."""


class Source:
    """Source of one private module, from which all ranks make their copies.

    Parameters
    ----------
    spec : ModuleSpec
        The module's, as the import system found it.
    supply : CodeSupply
        Gives ranks the code to execute.

    Attributes
    ----------
    is_extension : bool
        Whether it is compiled: there is one copy for all ranks.
    says_shared : bool
        Whether it assigns True to ``__smpy_shared__``: it keeps nothing in globals that differs between ranks, and one
        copy may serve them all.
    """

    def __init__(self, spec: ModuleSpec, supply: CodeSupply) -> None:
        self.spec = spec
        self.is_extension = is_extension(spec)
        self.says_shared = _says_shared(spec)
        self._supply = supply
        self._template: dict[str, Any] | None = None
        self._take_code: Callable[[], CodeType] | None = None

    def new_module(self) -> ModuleType:
        """New module of the running rank, as the import system would create it, not yet executed."""
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
        vars(self.spec)["_initializing"] = True  # for the interpreter's messages about circular imports
        try:
            self.prepare(module)()
        finally:
            vars(self.spec)["_initializing"] = False

    def prepare(self, module: ModuleType) -> Callable[[], None]:
        """Function that runs the module's code for the running rank."""
        if self._is_plain:
            return body_of(self._code_supply()(), vars(module))
        loader = self.spec.loader
        return _nothing if loader is None else partial(loader.exec_module, module)

    @property
    def _is_plain(self) -> bool:
        """Whether the module executes a code object, so that it can be compiled once."""
        kind = type(self.spec.loader)
        return (
            getattr(kind, "exec_module", None) is SourceFileLoader.exec_module
            and getattr(kind, "create_module", None) is SourceFileLoader.create_module
        )

    def compile(self) -> None:
        """Compile the module for all ranks, if it executes a code object."""
        if self._is_plain:
            self._take_code = self._code_supply()

    def _code_supply(self) -> Callable[[], CodeType]:
        if self._take_code is None:
            loader: Any = self.spec.loader  # a plain module's has `get_code`
            code: CodeType | None = loader.get_code(self.spec.name)
            if self._is_plain and self.spec.origin is not None:
                code = code_with_giving_way(loader.get_data(self.spec.origin), self.spec.origin) or code
            if code is None:
                raise ImportError(f"cannot get code object of {self.spec.name!r}", name=self.spec.name)
            self._take_code = self._supply.of(code)
        return self._take_code


def is_extension(spec: ModuleSpec) -> bool:
    """Whether a module is compiled code, whatever its loader."""
    return spec.has_location and (spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES))


def _says_shared(spec: ModuleSpec) -> bool:
    if spec.origin is None or not spec.origin.endswith(".py"):
        return False
    try:
        return declares_shared(Path(spec.origin).read_bytes())
    except OSError:
        return False  # the import system will report the error


def declares_shared(source: bytes) -> bool:
    """Whether the declaration is a statement of the module, and not only mentioned."""
    try:
        return b"__smpy_shared__" in source and any(map(_declares, ast.parse(source).body))
    except (SyntaxError, ValueError):
        return False  # the import system will report the error


def _declares(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id="__smpy_shared__")], value=ast.Constant(value=True))
            | ast.AnnAssign(target=ast.Name(id="__smpy_shared__"), value=ast.Constant(value=True))
        ):
            return True
    return False


def _nothing() -> None:
    """Execute a namespace package, which has no code."""


class Sources:
    """Finds private modules' sources, each once for all ranks that look for it in the same places.

    Parameters
    ----------
    supply : CodeSupply
        Gives ranks the code to execute.
    """

    def __init__(self, supply: CodeSupply) -> None:
        self._supply = supply
        self._found: dict[tuple[str, ...], Source] = {}
        self._by_origin: dict[tuple[str, ...], Source] = {}

    def forget(self, name: str) -> None:
        """Find and compile a module anew when it is requested again: its file may have changed."""
        for table in (self._found, self._by_origin):
            for key in [key for key in table if key[0] == name]:
                del table[key]

    def find(self, name: str, path: Sequence[str] | None = None) -> Source | None:
        """Source of module `name`; a submodule is searched for in its parent's `path`."""
        key = (name, *(sys.path if path is None else path))
        source = self._found.get(key)
        if source is None:
            spec = self.find_spec(name, path)
            if spec is None:
                return None
            source = Source(spec, self._supply)
            if spec.has_location and spec.origin is not None:
                source = self._by_origin.setdefault((name, spec.origin), source)
            self._found[key] = source
        return source

    def find_spec(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        """Spec that the import system would find if no module were private."""
        before = _ASKING.set(True)
        try:
            for finder in sys.meta_path:
                if (spec := finder.find_spec(name, path)) is not None:
                    return spec
        finally:
            _ASKING.reset(before)
        if name in STAND_INS:
            return PathFinder.find_spec(name, [STAND_INS[name]])
        return None
