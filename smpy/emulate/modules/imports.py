"""`import` on a rank: its own copy of a private module, or the shared copy of any other module.

`builtins.__import__` is replaced during a run, so that the one dictionary of builtins serves each rank differently.
Code that reaches modules in other ways (`sys.modules`, an `import_module` bound before the run) gets a proxy.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import FrameType, ModuleType
from typing import Any

from smpy.emulate.modules.import_time import LateImports
from smpy.emulate.modules.module_proxy import ModuleProxy, ModuleProxyFinder, Reference, install_static_lookup
from smpy.emulate.modules.module_table import HALTED, ModuleTable
from smpy.emulate.modules.privacy import Privacy
from smpy.emulate.modules.sources import Source, Sources, is_asking
from smpy.emulate.modules.system import importing_for_all
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, doing_for_all, is_for_all, running
from smpy.engine.thread_ranks import OURS


class Importer:
    """Gives every rank its own copy of private modules.

    Parameters
    ----------
    privacy : Privacy
        Says which modules are private.
    sources : Sources
        Finds them.
    loading : callable
        Entered with the rank while something is imported for it, so that this is not taken for computing.
    executing : callable
        Entered with the rank, within, while it executes a module of its own, which may call MPI.
    late : LateImports, optional
        Charges ranks for what they import inside functions; None: that is free.

    Attributes
    ----------
    table : ModuleTable
        `sys.modules` for the ranks.
    """

    def __init__(
        self,
        privacy: Privacy,
        sources: Sources,
        loading: Callable[[RankState], AbstractContextManager[None]] = lambda _: nullcontext(),
        executing: Callable[[RankState], AbstractContextManager[None]] = lambda _: nullcontext(),
        late: LateImports | None = None,
    ) -> None:
        self._privacy = privacy
        self._sources = sources
        self._loading = loading
        self._executing = executing
        self._late = late
        self._plain: dict[str, bool] = {}  # neither it, nor a package it lies in, nor a part of it is private
        self._found_shared: set[str] = set()
        self._substitutes: dict[str, Callable[[], ModuleType]] = {}
        self._imported: dict[str, Callable[[], None]] = {}
        self._needs_package: dict[str, Callable[[RankState], bool]] = {}
        self._changes: dict[str, Callable[[ModuleType], None]] = {}
        self._bundles: dict[str, ModuleType] = {}
        self._facades: dict[str, ModuleProxy] = {}
        self._references: dict[str, Reference] = {}
        self._awaited: dict[str, Callable[[], None]] = {}
        self._awaited_parts: dict[str, set[str]] = {}  # names that `from package import` may bring: see _awaited
        self._patches = Patches()
        self._modules = sys.modules  # the interpreter's own table
        self.table = ModuleTable(self._modules, self._claim)
        self._shared_import = builtins.__import__
        self._shared_import_module = importlib.import_module
        self._shared_reload = importlib.reload
        self._shared_find_spec = importlib.util.find_spec

    def install(self, patches: Patches) -> None:
        """Serve the program's imports until the patches are undone."""
        self._patches = patches
        patches.attribute(builtins, "__import__", self.import_)

        def import_module(name: str, package: str | None = None) -> ModuleType:
            return self.import_module(name, package, sys._getframe(1))

        patches.attribute(importlib, "import_module", import_module)
        patches.attribute(importlib, "reload", self.reload)
        patches.attribute(importlib.util, "find_spec", self.find_spec)
        patches.later(partial(_forget_modules_of, self._privacy, set(sys.modules)))
        self.when_imported("inspect", partial(install_static_lookup, patches))
        finder = ModuleProxyFinder(self._to_load, self._modules)
        meta_path = sys.meta_path.copy()
        patches.later(lambda: sys.meta_path.__setitem__(slice(None), meta_path))
        sys.meta_path.insert(0, finder)

    def substitute(
        self,
        name: str,
        load: Callable[[], ModuleType],
        imported: Callable[[], None],
        needs_package: Callable[[RankState], bool],
    ) -> None:
        """Make module `name` the result of `load`.

        A rank that imports nothing else of the package it lies in executes no copy of the package, unless it
        `needs_package`. `imported` is called when one that does imports the module.
        """
        self._substitutes[name] = load
        self._imported[name] = imported
        self._needs_package[name] = needs_package

    def amend(self, name: str, change: Callable[[ModuleType], None]) -> None:
        """Call `change` with each rank's copy of private module `name`, once it is executed."""
        self._changes[name] = change

    def provide(self, name: str) -> bool:
        """Put a module's proxy in `sys.modules`, for ranks to create; return False if a shared module is there."""
        if name in self._modules and not self.is_private(name):
            return False
        self._claim(name)
        return True

    def when_imported(self, name: str, action: Callable[[], None]) -> None:
        """Call `action` once, as soon as shared module `name` exists and before the program gets it."""
        self._awaited[name] = action
        package, _, part = name.rpartition(".")
        if package:
            self._awaited_parts.setdefault(package, {"*"}).add(part)
        self._look_for_awaited()

    def is_private(self, name: str) -> bool:
        state = running()
        if state is None or self._privacy.is_decided(name):
            return self._privacy.decide(name)
        with self._loading(state):
            return self._privacy.decide(name)

    def get(self, name: str) -> ModuleType:
        """The running rank's view of a module, imported if needed: its own copy, or the shared one."""
        if self._is_plain(name):
            shared = self._modules.get(name) or self._import_shared(name)
            self._charge(name)
            return shared
        if self.is_private(name):
            return self._own(name)
        parent, _, child = name.rpartition(".")
        package = self.get(parent) if parent else None  # before its parts, as the import system does
        module = self._modules.get(name)
        if module is None:
            module = self._substitute(name) if name in self._substitutes else self._import_shared(name)
        self._charge(name)
        if package is not None and child not in getattr(package, "__dict__", ()):
            setattr(package, child, module)
            if name in self._imported:
                self._imported[name]()
        return module

    # ---- replacements of the import statement and of importlib's functions ----

    def import_(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002  # the names of __import__
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """`builtins.__import__`."""
        requested = _resolve(name, _package_of(globals), level) if level else name
        if self._late is not None and self._late.seconds:
            self._charge(requested, fromlist)
        if (
            self._plain.get(requested)
            and not self._missing(requested, fromlist)
            and not (fromlist and self._brings_awaited(requested, fromlist))
        ) or (state := running()) is None:
            return self._shared_import(name, globals, locals, fromlist, level)
        own = state.modules.get(name)
        if (
            own is not None and own is not HALTED and level == 0 and type(self._modules.get(name)) is ModuleProxy
        ):  # the short way for late imports
            if "__path__" not in getattr(own, "__dict__", ()) if fromlist else "." not in name:
                return self._as_seen_by(globals, name, own, state)
        elif fromlist and len(fromlist) == 1 and level == 0 and self._is_bundled(f"{name}.{fromlist[0]}", state):
            return self._bundle(name, fromlist[0])
        module: ModuleType | None = None
        with self._loading(state):
            if self._is_plain(requested):
                measured = self._measured(self._missing(requested, fromlist), state, sys._getframe(1))
                with importing_for_all(), measured:
                    module = self._shared_import(name, globals, locals, fromlist, level)
                    self._look_for_awaited()
        if module is not None:
            self._charge(requested, fromlist)
            return module
        with self._taking_time(state, sys._getframe(1)):
            module = self.get(requested)
            if not fromlist:
                top = name.partition(".")[0]  # first part of the name as written: `import a.b` binds a
                requested = requested[: len(requested) - len(name) + len(top)] if name else requested
                module = self.get(requested)
            elif hasattr(module, "__path__"):
                self._import_parts(requested, module, fromlist)
        return self._as_seen_by(globals, requested, module, state)

    def import_module(self, name: str, package: str | None, frame: FrameType) -> ModuleType:
        """`importlib.import_module`, called in this frame."""
        absolute = name if package is None else importlib.util.resolve_name(name, package)
        state = running()
        if state is None or absolute.startswith("."):
            return self._shared_import_module(name, package)
        with self._taking_time(state, frame):
            module = self.get(absolute)
        return self._as_seen_by(frame.f_globals, absolute, module, state)

    def reload(self, module: ModuleType) -> ModuleType:
        """`importlib.reload`."""
        name = getattr(getattr(module, "__spec__", None), "name", None) or getattr(module, "__name__", None)
        state = running()
        if state is None or name is None or not self.is_private(name):
            return self._shared_reload(module)
        own = state.modules.get(name)
        if own is None or (module is not own and not isinstance(module, ModuleProxy)):
            raise ImportError(f"module {name} not in sys.modules", name=name)
        parent = name.rpartition(".")[0]
        self._sources.forget(name)
        source = self._sources.find(name, self.get(parent).__path__ if parent else None)
        if source is None:
            raise ModuleNotFoundError(f"spec not found for the module {name!r}", name=name)
        vars(own).update(vars(source.new_module()))
        with self._executing(state):
            source.execute(own)
        return self._own(name)

    def find_spec(self, name: str, package: str | None = None) -> Any:
        """`importlib.util.find_spec`, which imports the parents of a module but not the module."""
        absolute = name if package is None else importlib.util.resolve_name(name, package)
        state = running()
        if state is None or absolute.startswith(".") or self._is_plain(absolute):
            with nullcontext() if state is None else self._loading(state):
                return self._shared_find_spec(name, package)
        parent = absolute.rpartition(".")[0]
        path = None
        if parent:
            try:
                path = self.get(parent).__path__
            except AttributeError as error:
                message = f"__path__ attribute not found on {parent!r} while trying to find {absolute!r}"
                raise ModuleNotFoundError(message, name=absolute) from error
        if self.is_private(absolute):
            source = self._sources.find(absolute, path)
            return None if source is None else source.spec
        return self._shared_find_spec(absolute)

    # ---- how ----

    def _is_plain(self, name: str) -> bool:
        known = self._plain.get(name)
        if known is None:
            parent = name.rpartition(".")[0]
            known = not self.is_private(name) and (not parent or self._is_plain(parent))
            known = known and not self._privacy.has_private_parts(name)
            if self._privacy.is_decided(name) and name not in self._awaited:
                self._plain[name] = known
        return known

    def _brings_awaited(self, package: str, fromlist: Sequence[str]) -> bool:
        return package in self._awaited_parts and not self._awaited_parts[package].isdisjoint(fromlist)

    def _import_shared(self, name: str) -> ModuleType:
        state = _of_rank()
        with self._loading(state):
            measured = self._measured(name, state)
            with importing_for_all(), measured:
                module = self._shared_import_module(name)
                self._look_for_awaited()
        return module

    # ---- imports that take time ----

    def _taking_time(self, state: RankState, frame: FrameType) -> AbstractContextManager[None]:
        """Context of a frame's imports, which take simulated time if the frame is a function's."""
        if self._late is None or not _is_in_function(frame):
            return nullcontext()
        return self._late.loading.take_time(state.rank)

    def _missing(self, name: str, fromlist: Sequence[str] | None) -> str:
        """First shared module that an import may execute; "": all are there."""
        module = self._modules.get(name)
        if module is None:
            return name
        if fromlist:
            there = getattr(module, "__dict__", ())
            for part in fromlist:
                if part not in there and part != "*":
                    return f"{name}.{part}"
        return ""

    def _measured(self, missing: str, state: RankState, frame: FrameType | None = None) -> AbstractContextManager[None]:
        """Context of the import of a shared module, which measures one that takes time; others inside are a part."""
        late = self._late
        if late is None or not missing or is_for_all() or not late.loading.has_interrupted(state.rank):
            return nullcontext()
        is_late = late.loading.takes_time(state.rank) or (frame is not None and _is_in_function(frame))
        return late.measure(missing) if is_late else nullcontext()

    def _charge(self, name: str, fromlist: Sequence[str] | None = None) -> None:
        """Let the running rank take the time of a shared module, and of such parts of it, if it has not yet."""
        late = self._late
        if late is None or not late.seconds or is_for_all():
            return
        for each in (name, *(f"{name}.{part}" for part in fromlist or ())):
            if each in late.seconds and (state := running()) is not None:
                late.charge(each, state.rank)

    # ---- the rank's own modules ----

    def _substitute(self, name: str) -> ModuleType:
        with self._loading(_of_rank()):
            module = self._substitutes[name]()
        self._patches.keep_entry(self._modules, name)
        self._modules[name] = module
        self._look_for_awaited()
        return module

    def _is_bundled(self, name: str, state: RankState) -> bool:
        return name in self._substitutes and not self._needs_package[name](state)

    def _bundle(self, package: str, part: str) -> ModuleType:
        """Module that serves `from package import part` with a substitute: the package without anything else."""
        bundle = self._bundles.get(package)
        if bundle is None:
            name = f"{package}.{part}"
            module = self._modules.get(name) or self._substitute(name)
            bundle = self._bundles[package] = ModuleType(package)
            setattr(bundle, part, module)
            self._show_facade(package)
        return bundle

    def _own(self, name: str) -> ModuleType:
        """The running rank's copy of a private module."""
        state = _of_rank()
        if type(self._modules.get(name)) is not ModuleProxy:
            return self._load(state, name)
        module = self.table.own(name)
        if module is HALTED:
            raise ModuleNotFoundError(f"import of {name} halted; None in sys.modules", name=name)
        return self._load(state, name) if module is None else module

    def _load(self, state: RankState, name: str) -> ModuleType:
        parent, _, child = name.rpartition(".")
        path, package = None, None
        if parent:
            package = self.get(parent)
            if parent in self._found_shared and not self._privacy.is_named(name):
                return self._share(name)
            if name in state.modules:  # the package has imported it
                return state.modules[name]
            path = getattr(package, "__path__", None)
            if path is None:
                raise ModuleNotFoundError(f"No module named {name!r}; {parent!r} is not a package", name=name)
        with self._loading(state):
            source = self._sources.find(name, path)
        if source is None:
            module_known = self._modules.get(name)
            if module_known is None or type(module_known) is ModuleProxy:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            state.modules[name] = getattr(package, child, module_known)  # the package has made it
            self._show_facade(name)
            return state.modules[name]
        if self._is_for_all_ranks(name, source):
            return self._share(name)
        module = self._execute(state, name, source)
        if package is not None:
            setattr(package, child, module if self.is_private(parent) else self._reference(name))
        return module

    def _share(self, name: str) -> ModuleType:
        """Shared copy of a module taken for private until it, or the package it lies in, was found to be shared."""
        self._found_shared.add(name)
        self._privacy.declare(name, is_private=False)
        self._plain.pop(name, None)
        return self.get(name)

    def _execute(self, state: RankState, name: str, source: Source) -> ModuleType:
        self._show_facade(name)
        module = source.new_module()
        state.modules[name] = module
        try:
            with self._loading(state):
                source.compile()
            with self._executing(state), doing_for_all(whether=False):
                source.execute(module)
                if name in self._changes:
                    self._changes[name](module)
        except BaseException:
            state.modules.pop(name, None)
            raise
        return state.modules.setdefault(name, module)  # the module may have replaced or removed itself

    def _claim(self, name: str) -> None:
        """Declare a module private; ranks that have created their own find it, others find none."""
        self._privacy.declare(name, is_private=True)
        self._plain[name] = False
        self._show_facade(name)

    def _show_facade(self, name: str) -> None:
        self._modules[name] = self._facade(name)

    def _facade(self, name: str) -> ModuleProxy:
        facade = self._facades.get(name)
        if facade is None:
            facade = self._facades[name] = ModuleProxy(name, self._own)
            self._patches.keep_entry(self._modules, name)
        return facade

    def _reference(self, name: str) -> Reference:
        reference = self._references.get(name)
        if reference is None:
            reference = self._references[name] = Reference(name, self.get)
        return reference

    def _to_load(self, name: str, path: Sequence[str] | None) -> ModuleType | None:
        """Module for the import system: a substitute, or the facade of a private module; None: neither."""
        if name in self._substitutes:
            self._patches.keep_entry(self._modules, name)
            return self._substitutes[name]()
        if is_asking() or not self.is_private(name):
            return None
        source = self._sources.find(name, path)
        if source is None or self._is_for_all_ranks(name, source):
            return None
        return self._facade(name)

    def _is_for_all_ranks(self, name: str, source: Source) -> bool:
        return source.is_extension or (source.says_shared and not self._privacy.is_named(name))

    def _import_parts(self, name: str, package: ModuleType, fromlist: Sequence[str]) -> None:
        """Import the modules that `from package import ...` names and the package lacks."""
        for part in fromlist:
            if part == "*":
                self._import_parts(name, package, [part for part in getattr(package, "__all__", ()) if part != "*"])
            elif not hasattr(package, part) or isinstance(vars(package).get(part), ModuleProxy):
                full_name = f"{name}.{part}"
                try:
                    self.get(full_name)
                except ModuleNotFoundError as error:
                    if error.name != full_name or self.table.get(full_name, "") is None:
                        raise

    def _as_seen_by(
        self, importing: Mapping[str, Any] | None, name: str, module: ModuleType, state: RankState
    ) -> ModuleType:
        """Module as an import returns it: shared importers get a reference for all copies of a private one."""
        if importing is None or state.modules.get(name) is not module:
            return module
        importer = importing.get("__name__", "__main__")
        if importer in state.modules or self._modules.get(importer) is None:  # some namespace of exec's
            return module
        return self._reference(name)

    def _look_for_awaited(self) -> None:
        for name in [name for name in self._awaited if name in self._modules]:
            module = self._modules[name]
            if type(module) is not ModuleProxy and not getattr(module.__spec__, "_initializing", False):
                tell = self._awaited.pop(name, None)  # another one may have imported it, and told
                if tell is not None:
                    package, _, part = name.rpartition(".")
                    self._awaited_parts.get(package, set()).discard(part)
                    tell()


def _forget_modules_of(privacy: Privacy, kept: set[str]) -> None:
    """Forget shared modules of the program's own: another one may have modules of the same names.

    A package with compiled modules stays, which cannot all be loaded twice.
    """
    packages: dict[str, dict[str, ModuleSpec]] = {}
    for name in sys.modules.keys() - kept:
        spec = getattr(sys.modules[name], "__spec__", None)
        if isinstance(spec, ModuleSpec):
            packages.setdefault(name.partition(".")[0], {})[name] = spec
    for top, parts in packages.items():
        is_own = privacy.is_beside_program(parts[top]) if top in parts else privacy.is_known_private(top)
        if is_own and not any(isinstance(spec.loader, ExtensionFileLoader) for spec in parts.values()):
            for name in parts:
                del sys.modules[name]


def _of_rank() -> RankState:
    state = running()
    assert state is not None
    return state


def _package_of(importing: Mapping[str, Any] | None) -> str:
    """The package that a relative import is relative to."""
    if importing is None:
        return ""
    package = importing.get("__package__")
    if package is None:
        spec = importing.get("__spec__")
        package = spec.parent if spec is not None else importing.get("__name__", "")
        if spec is None and "__path__" not in importing:
            package = package.rpartition(".")[0]
    return str(package)


def _is_in_function(frame: FrameType) -> bool:
    """Whether it is a function's, and not one of smpy."""
    return frame.f_code.co_name != "<module>" and not frame.f_code.co_filename.startswith(OURS)


def _resolve(name: str, package: str, level: int) -> str:
    if not package:
        raise ImportError("attempted relative import with no known parent package")
    base = package.rsplit(".", level - 1)
    if len(base) < level:
        raise ImportError("attempted relative import beyond top-level package")
    return f"{base[0]}.{name}" if name else base[0]
