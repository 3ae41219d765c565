"""A function as a program: a file that each rank runs, which finds or makes the function and calls it.

A function of a module is imported by the ranks, as they import everything. A function of a notebook, or of the script
that was started, cannot be imported: its source is executed. Before it come imports of the modules, and sources of
the functions and classes of the same place, that it names. Other objects that it names, and its arguments, are
pickled.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import io
import linecache
import os
import pickle
import re
import reprlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType, ModuleType
from typing import Any, Final

from smpy.errors import UsageError
from smpy.runs.request import MadeProgram

_MAIN: Final = "__main__"
_SITE: Final = ("site-packages", "dist-packages")
_IMPORTED: Final = """\
import pickle
from importlib import import_module
from operator import attrgetter
from smpy.emulate.run.returned_values import keep_returned
with open({values!r}, "rb") as file:
    args = pickle.load(file)["args"]
keep_returned(attrgetter({function!r})(import_module({module!r}))(*args))
"""
_PROGRAM: Final = """\
import pickle as _pickle
from importlib import import_module as _import_module
from operator import attrgetter as _attribute
from smpy.emulate.run.returned_values import keep_returned as _keep_returned
for _name, _module, _inside in {imports!r}:
    globals()[_name] = _attribute(_inside)(_import_module(_module)) if _inside else _import_module(_module)
for _file, _line, _text in {sources!r}:
    exec(compile("\\n" * (_line - 1) + _text, _file, "exec", {flags}, dont_inherit=True), globals())
with open({values!r}, "rb") as _opened:
    _values = _pickle.load(_opened)
globals().update(_values["named"])
_keep_returned({function}(*_values["args"]))
"""


@contextmanager
def function_program(function: Callable[..., object], args: tuple[object, ...]) -> Iterator[MadeProgram]:
    """The program that calls a function with these arguments; its file exists until the context ends.

    Raises
    ------
    UsageError
        If the function, or something that it needs, cannot be sent to another process.
    """
    with TemporaryDirectory(prefix="smpy-") as folder:
        if is_importable(function):
            yield _importing(function, args, folder)
        else:
            yield _making(function, args, folder)


def is_importable(function: Any) -> bool:
    """Whether another process can import a function by its module and name."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is None or module.__name__ == _MAIN:
        return False
    try:
        return attrgetter(function.__qualname__)(module) is function
    except AttributeError:
        return False


def _importing(function: Any, args: tuple[object, ...], folder: str) -> MadeProgram:
    top = function.__module__.partition(".")[0]
    origin = getattr(sys.modules[function.__module__], "__file__", None)
    parts = function.__module__.count(".") + (os.path.basename(origin or "") == "__init__.py")
    home = os.getcwd() if origin is None else str(Path(os.path.realpath(origin)).parents[parts])
    if Path(home).name in _SITE:
        home = os.getcwd()
    is_ours = top not in sys.stdlib_module_names and top != "smpy" and origin is not None
    if in_main := _check(function.__qualname__, {}, args):
        raise UsageError(
            f"function {function.__qualname__}: its arguments need {', '.join(sorted(in_main))} of the main module: "
            "define it in a module"
        )
    values = _write_values(folder, {}, args)
    text = _IMPORTED.format(values=values, function=function.__qualname__, module=function.__module__)
    return MadeProgram(
        _write(folder, function.__name__, text),
        f"{function.__module__}.{function.__qualname__}",
        home,
        (top,) if is_ours else (),
        _path(),
        tuple(map(reprlib.repr, args)),
        is_function=True,
    )


def _path() -> tuple[str, ...]:
    """Folders, as absolute paths, where this process finds modules."""
    return tuple(os.path.abspath(entry) for entry in sys.path)


# ---- what cannot be imported ----


def _making(function: Any, args: tuple[object, ...], folder: str) -> MadeProgram:
    if not isinstance(function, FunctionType):
        raise UsageError(f"{function!r} cannot be a program: a file, a function with a name, or one of a module can be")
    search = _Search(function.__globals__, folder)
    search.add(function, function.__name__)
    while missing := _check(function.__name__, search.values, args) - search.found:  # classes of pickled values
        for name in sorted(missing):
            search.add_named(name)
            search.found.add(name)
    values = _write_values(folder, search.values, args)
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    text = _PROGRAM.format(
        flags=flags, imports=search.imports, sources=search.sources, values=values, function=function.__name__
    )
    file = getattr(sys.modules[_MAIN], "__file__", None)
    home = os.getcwd() if file is None else os.path.dirname(os.path.realpath(file))
    args_told = tuple(map(reprlib.repr, args))
    file = _write(folder, function.__name__, text)
    return MadeProgram(file, function.__name__, home, (), _path(), args_told, is_function=True)


class _Search:
    """Collects all that a function of the main module needs: imports, sources in execution order, and values.

    Parameters
    ----------
    namespace : dict
        Names of the main module.
    folder : str
        Folder to write cells to, so that tracebacks find their lines.
    """

    def __init__(self, namespace: Mapping[str, Any], folder: str) -> None:
        self._namespace = namespace
        self._folder = folder
        self.imports: list[tuple[str, str, str]] = []
        self.sources: list[tuple[str, int, str]] = []
        self.values: dict[str, Any] = {}
        self.found: set[str] = set()

    def add(self, thing: Any, name: str) -> None:
        """Add a function or class, and before it the objects that its source names."""
        self.found.add(name)
        file, line, text = self._source(thing, name)
        if isinstance(thing, FunctionType) and thing.__closure__:
            inner = ", ".join(thing.__code__.co_freevars)
            raise UsageError(f"function {name} uses {inner} of the function around it: give it as an argument")
        for used in _names_in(text):
            self.add_named(used)
        self.sources.append((file, line, text))

    def add_named(self, name: str) -> None:
        """Add the object that a name stands for."""
        if name in self.found or name not in self._namespace:
            return
        thing = self._namespace[name]
        if isinstance(thing, ModuleType):
            self.found.add(name)
            self.imports.append((name, thing.__name__, ""))
        elif isinstance(thing, (type, FunctionType)) and thing.__module__ == _MAIN:
            self.found.add(name)
            if thing.__name__ != name:
                self.add_named(thing.__name__)
                self.sources.append((name, 1, f"{name} = {thing.__name__}"))
            else:
                self.add(thing, name)
        elif is_importable(thing):
            self.found.add(name)
            self.imports.append((name, thing.__module__, thing.__qualname__))
        elif type(thing).__module__.partition(".")[0] == "mpi4py":
            self.found.add(name)
            self.imports.append((name, "mpi4py.MPI", _name_in_mpi(thing, name)))
        elif not hasattr(builtins, name) or vars(builtins)[name] is not thing:
            self.found.add(name)
            self.values[name] = thing

    def _source(self, thing: Any, name: str) -> tuple[str, int, str]:
        if name == "<lambda>":
            raise UsageError("a lambda cannot be a program: its source has no lines of its own; use def")
        try:
            lines, first = inspect.getsourcelines(thing)
            file = inspect.getsourcefile(thing) or inspect.getfile(thing)
        except (OSError, TypeError):
            file, lines, first = _in_a_cell(name)
        if not os.path.exists(file):
            file = _write(self._folder, _cell_name(file), "".join(linecache.getlines(file)))
        return file, first, textwrap.dedent("".join(lines))


def _in_a_cell(name: str) -> tuple[str, list[str], int]:
    """File, lines and first line of a class that Python does not find because the notebook is no file."""
    for file in reversed(linecache.cache):
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            continue
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                first = min(one.lineno for one in (node, *node.decorator_list))
                return file, lines[first - 1 : node.end_lineno], first
    raise UsageError(f"the source of {name} cannot be found: write it into a module, or into a cell of a notebook")


def _names_in(text: str) -> list[str]:
    """Names that a source uses, in order of use."""
    nodes = ast.walk(ast.parse(text))
    return list(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name)))


def _name_in_mpi(thing: object, name: str) -> str:
    """Name of an mpi4py object in `mpi4py.MPI`."""
    mpi = sys.modules.get("mpi4py.MPI")
    for known, value in vars(mpi).items() if mpi is not None else ():
        if value is thing or (type(value) is type(thing) and value == thing):
            return known
    raise UsageError(f"{name} is an object of MPI's that the ranks do not have: make it in the function")


def _cell_name(file: str) -> str:
    """Name for code without a file: IPython's name of the cell."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    words = None if shell is None else shell.compile.format_code_name(file)
    name = " ".join(words) if words else Path(file).name  # such as Cell In[3]
    return "_".join(re.findall(r"\w+", name)) or "cell"


class _Pickler(pickle.Pickler):
    """Pickles values, and records the classes and functions of the main module that they need."""

    def __init__(self, file: io.BytesIO, main_names: set[str]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._main_names = main_names

    def persistent_id(self, thing: Any) -> None:
        """Record the name; return None, so that everything is pickled as usual."""
        if isinstance(thing, (type, FunctionType)) and thing.__module__ == _MAIN:
            self._main_names.add(thing.__qualname__.partition(".")[0])


def _check(function: str, named: Mapping[str, object], args: tuple[object, ...]) -> set[str]:
    """Pickle all values, or raise; return the names of the main module that they need."""
    main_names: set[str] = set()
    for name, value in (*named.items(), *((f"argument {reprlib.repr(arg)}", arg) for arg in args)):
        try:
            _Pickler(io.BytesIO(), main_names).dump(value)
        except Exception as error:  # noqa: BLE001  # classes raise what they like
            raise UsageError(f"function {function}: {name} cannot be sent to another process: {error}") from None
    return main_names


def _write_values(folder: str, named: Mapping[str, object], args: tuple[object, ...]) -> str:
    path = os.path.join(folder, "values.pickle")
    Path(path).write_bytes(pickle.dumps({"named": named, "args": args}, pickle.HIGHEST_PROTOCOL))
    return path


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, f"{name}.py")
    Path(path).write_text(text, encoding="utf-8")
    return path
