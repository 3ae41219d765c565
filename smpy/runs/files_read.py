"""The files that a run has read: its sources and its data, each with a hash."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import file_digest
from importlib.util import source_from_cache
from pathlib import Path
from stat import S_ISREG
from typing import Final

from smpy.emulate.modules.named_packages import find_module
from smpy.emulate.modules.package_imports import user_cache_folder

_WRITES: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC  # "r+" reads the old content
_ABSENT: Final = "absent"
_HASHED_MAX_BYTES: Final = 64 << 20  # a larger file is identified by its size and date
_SYSTEM: Final = ("/proc", "/sys", "/dev")


class FilesRead:
    """Records the files that this process opens, from now to its end: Python cannot remove an audit hook.

    Missing files are recorded, too, and those of modules that no `import` statement found; of an installed package,
    only its first file. Files of Python, numpy and smpy are not recorded: their versions are known. Files that a
    library (HDF5) or a child process reads on its own are not seen.
    """

    def __init__(self) -> None:
        self._read: dict[str, bool] = {}  # by path: whether the file existed
        self._written: set[str] = set()
        self._imports: dict[str, list[str]] = {}  # `sys.path` of the first import of each module
        self._began_ns = time.time_ns()
        self._modules = frozenset(sys.modules)
        sys.addaudithook(self._note)

    def _note(self, event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = args
            is_written = isinstance(flags, int) and bool(flags & _WRITES)
        elif event == "import":
            self._imports.setdefault(str(args[0]), [*map(str, sys.path or ())])
            return
        elif event == "sqlite3.connect":
            path, is_written = args[0], False
        else:
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        with suppress(OSError, ValueError):
            name = os.path.abspath(os.fsdecode(path))
            if is_written:
                self._written.add(name)
            elif name not in self._written and name not in self._read:
                self._read[name] = os.path.exists(name)

    def hashes(self) -> dict[str, str]:
        """Hash (`state_of`) of each file that was read, by its path; empty where it has changed since the run began."""
        known, versioned = _folders_of_python(), _folders_of_known_versions()
        paths: dict[str, bool] = {}
        for path, was_there in self._read.items():
            source = _first_of_package(_source(path))
            paths[source] = paths.get(source, False) or was_there or source != path
        for name in [*sys.modules.keys() - self._modules]:
            file = getattr(sys.modules.get(name), "__dict__", {}).get("__file__")
            if isinstance(file, str):
                paths[_first_of_package(os.path.abspath(file))] = True
        for path in self._missing_modules():
            paths.setdefault(path, False)
        states = {}
        for path in sorted(paths):
            if path.startswith(versioned) or (path.startswith(known) and not path.startswith(_INSTALLED)):
                continue
            state = state_of(path, self._began_ns)
            if state is not None:
                states[path] = "" if state == _ABSENT and paths[path] else state
        return states

    def _missing_modules(self) -> Iterator[str]:
        """Files that would have been modules which were looked for in vain."""
        for name, folders in self._imports.items():
            parts = name.split(".")
            if name in sys.modules or not all(map(str.isidentifier, parts)):
                continue
            if find_module(name, folders) is None:
                for folder in filter(os.path.isdir, folders):
                    stem = os.path.join(os.path.abspath(folder), *parts)
                    yield f"{stem}.py"
                    yield os.path.join(stem, "__init__.py")


def _source(path: str) -> str:
    if path.endswith(".pyc"):
        with suppress(ValueError):
            return source_from_cache(path)
    return path


def _first_of_package(path: str) -> str:
    """`__init__.py` of an installed package for any of its files, as all are installed at one time; else the file."""
    for folder in _INSTALLED:
        if path.startswith(folder):
            first = os.path.join(folder, path[len(folder) :].partition(os.sep)[0], "__init__.py")
            return first if os.path.isfile(first) else path
    return path


def _folders_of_known_versions() -> tuple[str, ...]:
    numpy = getattr(sys.modules.get("numpy"), "__file__", None)
    folders = [Path(__file__).parent.parent, *([Path(numpy).parent] if numpy else []), user_cache_folder() or "/proc"]
    return tuple(os.path.join(folder, "") for folder in folders)


def _folders_of_python() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {*_SYSTEM, paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)}
    return tuple(os.path.join(folder, "") for folder in folders)


def _folders_of_packages() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()}
    folders |= {os.path.join(sys.base_prefix, "lib", "python3")}  # folder of Debian's packages
    return tuple(os.path.join(folder, "") for folder in folders)


_INSTALLED: Final = _folders_of_packages()
_OF_OTHERS: Final = (*_folders_of_python(), *_INSTALLED, os.path.join(Path(__file__).parent.parent, ""), "<frozen ")


def is_of_the_program(path: str) -> bool:
    """Whether source code in this file is a program's own: not Python's, smpy's, or an installed package's."""
    return not path.startswith(_OF_OTHERS)


def state_of(path: str, before_ns: int | None = None) -> str | None:
    """Hash of the content of a file; for a large or installed file, its size and date.

    Parameters
    ----------
    path : str
        The file.
    before_ns : int, optional
        Latest date at which it may have been written, in nanoseconds.

    Returns
    -------
    str or None
        None: no readable file; empty: it was written or replaced after that date.
    """
    try:
        if not S_ISREG(os.stat(path).st_mode):  # opening a pipe may block forever
            return None
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
            if before_ns is not None and stat.st_ctime_ns > before_ns:
                return ""
            if stat.st_size > _HASHED_MAX_BYTES or path.startswith(_INSTALLED):
                return f"{stat.st_size} bytes of {stat.st_mtime_ns}"
            return file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return _ABSENT
    except OSError:
        return None


def are_as_they_were(files: Mapping[str, str], known: dict[str, str | None]) -> bool:
    """Whether files still have the content that a run has read.

    Parameters
    ----------
    files : mapping of str to str
        Hashes by path, from `FilesRead.hashes`.
    known : dict
        Cache of states, by path.
    """
    for path, state in files.items():
        if path not in known:
            known[path] = state_of(path)
        if not state or known[path] != state:
            return False
    return True
