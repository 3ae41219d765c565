"""The program that ranks run as `__main__`: a file, a directory or archive with a `__main__.py`, or a module."""

from __future__ import annotations

import builtins
import os
import re
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Final, Protocol

from smpy.emulate.modules.codes import CodeSupply, body_of
from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.looking_loops import code_with_giving_way
from smpy.emulate.modules.named_packages import find_module
from smpy.emulate.modules.sources import Source
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running
from smpy.errors import RankFailure, UsageError, closest
from smpy.input_files import read_input

_LAUNCHERS: Final = ("mpiexec", "mpirun", "srun", "prun", "orterun", "smpirun", "smpy")


class Program(Protocol):
    """Program that every rank runs.

    Attributes
    ----------
    home : str
        First entry of `sys.path`; modules found there are the program's own.
    name : str
        `sys.argv[0]`.
    packages : tuple of str
        Top-level packages that are the program's own wherever they lie.
    """

    home: str
    name: str
    packages: tuple[str, ...]

    def prepare(self, state: RankState, importer: Importer) -> Callable[[], None]:
        """Create the running rank's `__main__`; return the function that executes it."""
        ...


def open_program(program: str, is_module: bool, supply: CodeSupply, home: str | None = None) -> Program:
    """Find the program and compile it; `home` is the folder of its own modules, by default the program's folder.

    Raises
    ------
    UsageError
        If there is none of that name.
    RankFailure
        If it is not Python.
    """
    if is_module:
        return ModuleProgram(program, supply)
    if _is_launcher(program):
        raise UsageError(
            f"smpy starts the ranks itself, and runs Python: leave {program!r} and its options out, as in "
            "`smpy run -np 4 program.py`"
        )
    if not os.path.exists(program):
        raise UsageError(f"there is no program {program!r}{_suggestion(program)}")
    main = PathFinder.find_spec("__main__", [os.path.abspath(program)])
    if main is not None:
        return ArchiveProgram(program, main, supply)
    if os.path.isdir(program):
        raise UsageError(f"{program!r} is a directory without __main__.py: name the file to run")
    return ScriptProgram(program, supply, home)


class ScriptProgram:
    """A Python file: `python FILE`."""

    packages: tuple[str, ...] = ()

    def __init__(self, path: str, supply: CodeSupply, home: str | None = None) -> None:
        self.name = path
        self.home = os.path.dirname(os.path.realpath(path)) if home is None else home
        self._path = os.path.abspath(path)
        self._loader = SourceFileLoader("__main__", self._path)
        self._take_code = supply.of(self._compile())

    def _compile(self) -> CodeType:
        try:
            source = read_input(self._path, "program")
            code = compile(source, self._path, "exec", dont_inherit=True)
            return code_with_giving_way(source, self._path) or code
        except OSError as error:
            raise UsageError(f"cannot read program {self.name!r}: {error.strerror}") from error
        except (RecursionError, MemoryError) as error:
            raise UsageError(
                f"program {self.name!r} is nested too deep for Python's compiler: break its longest expression up"
            ) from error
        except (SyntaxError, ValueError) as error:
            text = "".join(traceback.format_exception_only(error)).rstrip()
            raise RankFailure(f"syntax error in the program:\n{text}") from error

    def prepare(self, state: RankState, importer: Importer) -> Callable[[], None]:
        """Create the running rank's `__main__`; return the function that executes it."""
        main = ModuleType("__main__")
        attributes: dict[str, Any] = {
            "__builtins__": builtins, "__file__": self._path, "__cached__": None, "__loader__": self._loader
        }  # fmt: skip
        if sys.version_info < (3, 14):
            attributes["__annotations__"] = {}
        vars(main).update(attributes)
        state.modules["__main__"] = main
        return body_of(self._take_code(), vars(main))


class TextProgram:
    """Python source text: `python -c TEXT`."""

    name = "-c"
    packages: tuple[str, ...] = ()

    def __init__(self, text: str, supply: CodeSupply, home: str) -> None:
        self.home = home
        try:
            self._take_code = supply.of(compile(text, "<string>", "exec", dont_inherit=True))
        except (SyntaxError, ValueError) as error:
            message = "".join(traceback.format_exception_only(error)).rstrip()
            raise RankFailure(f"syntax error in the program:\n{message}") from error

    def prepare(self, state: RankState, importer: Importer) -> Callable[[], None]:
        """Create the running rank's `__main__`; return the function that executes it."""
        main = ModuleType("__main__")
        vars(main)["__builtins__"] = builtins
        state.modules["__main__"] = main
        return body_of(self._take_code(), vars(main))


class ArchiveProgram:
    """A directory or an archive with a `__main__.py`: `python DIRECTORY`."""

    packages: tuple[str, ...] = ()

    def __init__(self, path: str, main: ModuleSpec, supply: CodeSupply) -> None:
        self.name = path
        self.home = os.path.abspath(path)
        self._source = Source(main, supply)

    def prepare(self, state: RankState, importer: Importer) -> Callable[[], None]:
        """Create the running rank's `__main__`; return the function that executes it."""
        return _prepare(self._source, state)


class ModuleProgram:
    """A module found on `sys.path`, or the `__main__` of a package: `python -m MODULE`."""

    def __init__(self, module: str, supply: CodeSupply, home: str | None = None) -> None:
        self.home = os.getcwd() if home is None else home
        self._module = module
        self._supply = supply
        self._main: Source | None = None
        top = module.partition(".")[0]
        self.packages: tuple[str, ...] = () if top in sys.stdlib_module_names else (top,)
        if find_module(top, [self.home, *sys.path]) is None:
            raise UsageError(f"there is no module {module!r} on sys.path, nor in {self.home}")
        self.name = "-m"  # until the module is found, as python does

    def prepare(self, state: RankState, importer: Importer) -> Callable[[], None]:
        """Create the running rank's `__main__`; return the function that executes it."""
        source = self._find(self._module, importer)
        if source.spec.origin is not None:
            sys.argv[0] = source.spec.origin
        return _prepare(source, state)

    def _find(self, name: str, importer: Importer) -> Source:
        """Import the packages that contain the module, for this rank too, then find the module."""
        try:
            spec = importer.find_spec(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise UsageError(f"cannot run module {self._module!r}: {error}") from None
        if spec is None:
            raise UsageError(f"cannot run module {self._module!r}: there is no {name!r}")
        if spec.submodule_search_locations is not None:
            if name.endswith(".__main__"):
                raise UsageError(f"cannot run module {self._module!r}: its __main__ is a package")
            return self._find(f"{name}.__main__", importer)
        if self._main is None:
            self._main = Source(spec, self._supply)
        return self._main


def _prepare(source: Source, state: RankState) -> Callable[[], None]:
    module = source.new_module()
    vars(module).update(__name__="__main__", __builtins__=builtins)
    state.modules["__main__"] = module
    return source.prepare(module)


def install_runpy(patches: Patches, importer: Importer) -> None:
    """Make `runpy` use a module of the rank's own, which it puts into `sys.modules` during the execution."""
    import runpy

    shared: Any = vars(runpy)["_TempModule"]

    class TempModule(shared):  # type: ignore[misc]  # the class has no public name
        def __enter__(self) -> Any:
            state = running()
            if state is None or not importer.provide(self.mod_name):
                return super().__enter__()
            self._before = state.modules.get(self.mod_name)
            state.modules[self.mod_name] = self.module
            return self

        def __exit__(self, *args: object) -> None:
            state = running()
            if state is None or state.modules.get(self.mod_name) is not self.module:
                super().__exit__(*args)
            elif self._before is None:
                del state.modules[self.mod_name]
            else:
                state.modules[self.mod_name] = self._before

    patches.attribute(runpy, "_TempModule", TempModule)


def _is_launcher(program: str) -> bool:
    """Whether the word is Python or an mpiexec, written before the program by habit, and no file of the user's."""
    name = os.path.basename(program)
    if name not in _LAUNCHERS and not re.fullmatch(r"python[\d.]*", name):
        return False
    from shutil import which

    launcher = which(name)
    return not os.path.exists(program) or (launcher is not None and os.path.samefile(launcher, program))


def _suggestion(program: str) -> str:
    folder, script_name = os.path.split(program)
    try:
        stems = [name.removesuffix(".py") for name in os.listdir(folder or ".") if name.endswith(".py")]
    except OSError:
        return f": there is no directory {folder!r}" if folder else ""
    close = closest(script_name.removesuffix(".py"), stems)
    if close is not None:
        return f": did you mean {os.path.join(folder, close + '.py')!r}?"
    return "; to run an installed module, say -m" if "." not in script_name else ""
