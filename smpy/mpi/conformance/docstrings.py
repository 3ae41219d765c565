"""Docstrings as mpi4py's: the first line is the call's signature, then comes an empty one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final

_METHODS: Final = (classmethod, staticmethod)
_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: the compiled classes
_STARRED: Final = ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**"))


def sign_docstrings(objects: Iterable[Any]) -> None:
    """Put its signature before the docstring of every function, and of the methods of every class of smpy's.

    A function that has been signed, because several classes inherit it, is left alone.
    """
    for thing in objects:
        if isinstance(thing, type):
            for kind in thing.__mro__:
                if kind.__module__.startswith("smpy."):
                    _sign_class(kind)
        else:
            _sign(thing)


def _sign_class(kind: type) -> None:
    if kind.__doc__ and not kind.__flags__ & _IMMUTABLE:
        kind.__doc__ = kind.__doc__.rstrip()
    for value in vars(kind).values():
        if isinstance(value, type):
            if value.__qualname__ == f"{kind.__qualname__}.{value.__name__}":
                sign_docstrings([value])
        else:
            _sign(value.__func__ if isinstance(value, _METHODS) else value)


def _sign(function: Any) -> None:
    doc = getattr(function, "__doc__", None)
    if isinstance(function, FunctionType) and doc and not doc.startswith(f"{function.__name__}("):
        function.__doc__ = f"{signature_of(function)}\n\n{doc}"


def signature_of(function: FunctionType) -> str:
    """The signature in one line, some ten times faster than `inspect` makes it: a start of smpy pays for all.

    Examples
    --------
    >>> def Isend(self, buf: BufSpec, dest: int, /, tag: int = 0, *, mode=None) -> Request: ...
    >>> signature_of(Isend)
    'Isend(self, buf: BufSpec, dest: int, /, tag: int = 0, *, mode = None) -> Request'
    """
    function = vars(function).get("__wrapped__", function)
    code, types = function.__code__, function.__annotations__
    n_positional, n_named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    values = function.__defaults__ or ()
    defaults = {
        **dict(zip(names[n_positional - len(values) : n_positional], values, strict=True)),
        **(function.__kwdefaults__ or {}),
    }

    def parameter(name: str, stars: str = "") -> str:
        type_, default = types.get(name), f" = {defaults[name]!r}" if name in defaults else ""
        return f"{stars}{name}{'' if type_ is None else f': {type_}'}{default}"

    positional = [parameter(name) for name in names[:n_positional]]
    if code.co_posonlyargcount:
        positional.insert(code.co_posonlyargcount, "/")
    named = [parameter(name) for name in names[n_positional:n_named]]
    starred = iter(names[n_named:])
    rest = [[parameter(next(starred), stars)] if code.co_flags & flag else [] for flag, stars in _STARRED]
    between = rest[0] or (["*"] if named else [])
    result = types.get("return")
    return f"{function.__name__}({', '.join(positional + between + named + rest[1])})" + (
        f" -> {result}" if result else ""
    )
