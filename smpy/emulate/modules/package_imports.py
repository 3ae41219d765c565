"""Finds the imports of a package's modules: its sources are searched once, and the result is cached on disk."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final

from smpy.emulate.modules.import_statements import MPI4PY, Imports, imports_of, parsed_imports_of
from smpy.emulate.modules.sources import declares_shared

_VERSION: Final = 1  # version of a search's results, and of their format on disk
_DIGEST_BYTES: Final = 16
_TESTS: Final = frozenset({"test", "tests"})
_File = tuple[str, str, int, int]  # dotted name, path, time of change in ns, bytes


@dataclass(frozen=True)
class PackageImports:
    """Imports of the modules of one package, its tests aside.

    Attributes
    ----------
    name : str
        The package's.
    is_namespace : bool
        Whether its parts belong to distributions of their own.
    files : dict of str to str
        Path of the source of each module.
    using_mpi : frozenset of str
        Modules that import mpi4py themselves.
    shared : frozenset of str
        Modules that declare that they are shared.
    outside : frozenset of str
        Dotted names of other packages' that importing its modules imports.
    """

    name: str
    is_namespace: bool
    files: Mapping[str, str]
    using_mpi: frozenset[str]
    shared: frozenset[str]
    outside: frozenset[str]
    _kept: bytes

    @cached_property
    def by_module(self) -> Mapping[str, Imports]:
        """Imports of each module, unpacked at first use: few packages need them."""
        return {name: Imports(*fields) for name, fields in marshal.loads(self._kept).items()}  # noqa: S302  # our own

    def parse(self, module: str) -> Imports:
        """Imports of a module from its syntax tree: slower than a search, which finds too much."""
        path = self.files[module]
        return parsed_imports_of(Path(path).read_bytes(), _package_of(module, path))

    def read(self, module: str) -> Imports | None:
        """Imports of one of the package's tests; None if the file does not exist."""
        top, *parts = module.split(".")
        for folder in {os.path.dirname(path) for name, path in self.files.items() if name == top}:
            for path in (Path(folder, *parts).with_suffix(".py"), Path(folder, *parts, "__init__.py")):
                with suppress(OSError):
                    return imports_of(path.read_bytes(), _package_of(module, path.name))
        return None


class ImportCache:
    """Caches search results on disk.

    A file that cannot be read, is damaged or has another version counts as missing. A file that cannot be written is
    skipped: the package will be searched again.

    Parameters
    ----------
    folder : Path or None
        Folder of the cache; None: nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def imports_of(self, name: str, spec: ModuleSpec) -> PackageImports:
        """Imports of the modules of a top-level package, or of one module."""
        locations = spec.submodule_search_locations
        is_namespace = locations is not None and spec.origin is None
        if locations is None:
            path = spec.origin or ""
            return _search(name, is_namespace, [(name, path, 0, 0)] if path.endswith(".py") else [])[1]
        files = sorted(file for location in locations for file in _walk(os.path.abspath(location), name))
        stamp = repr((_VERSION, files)).encode()
        key = hashlib.blake2b("\n".join((sys.implementation.cache_tag or "", *locations)).encode(), digest_size=8)
        kept = None if self._folder is None else self._folder / f"{name}-{key.hexdigest()}"
        facts = None if kept is None else _read(kept, stamp)
        if facts is not None:
            return _package(name, is_namespace, files, facts)
        facts, package = _search(name, is_namespace, files)
        if kept is not None:
            with suppress(OSError):
                _write(kept, stamp, facts)
        return package


def user_cache() -> ImportCache:
    """The cache in the user's own cache folder."""
    return ImportCache(user_cache_folder())


def user_cache_folder() -> Path | None:
    """Folder of the user's cache; None if there is none."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base, "smpy", "imports") if os.path.isabs(base) else None


def _walk(folder: str, package: str) -> Iterator[_File]:
    """Python sources of a package, without tests."""
    below = []
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                stem, dot, suffix = entry.name.partition(".")
                if not stem.isidentifier():
                    continue
                if dot and suffix == "py":
                    status = entry.stat()
                    name = package if stem == "__init__" else f"{package}.{stem}"
                    yield name, entry.path, status.st_mtime_ns, status.st_size
                elif not dot and stem not in _TESTS and stem != "__pycache__" and entry.is_dir():
                    below.append(stem)
    except OSError:
        return
    for stem in below:
        yield from _walk(os.path.join(folder, stem), f"{package}.{stem}")


def _search(name: str, is_namespace: bool, files: list[_File]) -> tuple[list[Any], PackageImports]:
    by_module: dict[str, tuple[frozenset[str], frozenset[str], bool]] = {}
    shared = []
    outside: set[str] = set()
    for module, path, *_ in files:
        try:
            source = Path(path).read_bytes()
        except OSError:
            continue  # the importer of this module will get the error
        imports = imports_of(source, _package_of(module, path))
        by_module[module] = imports.at_once, imports.later, imports.uses_mpi
        outside.update(other for other in imports.at_once if other.partition(".")[0] not in (name, MPI4PY))
        if declares_shared(source):
            shared.append(module)
    users = [module for module, fields in by_module.items() if fields[2]]
    facts = [users, shared, sorted(outside), marshal.dumps(by_module)]
    return facts, _package(name, is_namespace, files, facts)


def _package_of(module: str, path: str) -> str:
    """Package to which relative imports in a module refer."""
    return module if path.endswith("__init__.py") else module.rpartition(".")[0]


def _package(name: str, is_namespace: bool, files: list[_File], facts: list[Any]) -> PackageImports:
    users, shared, outside, kept = facts
    paths = {module: path for module, path, *_ in files}
    return PackageImports(name, is_namespace, paths, frozenset(users), frozenset(shared), frozenset(outside), kept)


def _read(path: Path, stamp: bytes) -> list[Any] | None:
    """Search result on disk for sources in the state `stamp`; None if there is none."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[_DIGEST_BYTES:]
    return list(marshal.loads(body)) if content[:_DIGEST_BYTES] == _digest(stamp, body) else None  # noqa: S302  # our own


def _write(path: Path, stamp: bytes, facts: list[Any]) -> None:
    """Write a file atomically: other runs may read or write it at the same time."""
    from tempfile import mkstemp

    body = marshal.dumps(facts)
    path.parent.mkdir(parents=True, exist_ok=True)
    number, partial = mkstemp(dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(_digest(stamp, body) + body)
        os.replace(partial, path)
    except OSError:
        os.unlink(partial)
        raise


def _digest(stamp: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(stamp + body, digest_size=_DIGEST_BYTES).digest()
