"""Wrong arguments: integers as C reads them, and words for a call that an argument made fail.

Calls do not look at the types of their arguments before they need them. When one has failed, its signature tells
whether an argument was to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from operator import index
from typing import Any, Final

from smpy.engine.running import explain_failures

__all__ = ["exact_integer", "integer"]

_EXPECTED: Final = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "Comm": "a Comm",
    "CommCore": "a Comm",
    "Intracomm": "an Intracomm",
    "Datatype": "a Datatype",
    "DatatypeCore": "a Datatype",
    "Group": "a Group",
    "Info": "an Info",
    "Op": "an Op",
    "Status": "a Status",
    "Errhandler": "an Errhandler",
}
"""Annotations of arguments that can be checked, and their names in errors."""


def integer(call: str, name: str, value: Any) -> int:
    """The argument converted to int as mpi4py does for one number: programs pass floats, and booleans of numpy.

    For items of sequences and counts of buffers it takes neither: `exact_integer`.
    """
    if _is_integer(value):
        return int(value)
    raise _not_an_integer(call, name, value)


def exact_integer(call: str, name: str, value: Any) -> int:
    """The argument as `operator.index` converts it."""
    if hasattr(value, "__index__"):
        return index(value)
    raise _not_an_integer(call, name, value)


def _not_an_integer(call: str, name: str, value: object) -> TypeError:
    return TypeError(f"{call}: {name} is of type {type(value).__name__}, not an integer")


def _is_integer(value: object) -> bool:
    return hasattr(value, "__int__") or hasattr(value, "__index__")


def _explain(
    method: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any], error: BaseException, has_begun: bool
) -> None:
    """Raise ``TypeError`` in the program's words, when an argument made a call fail."""
    call = method.__name__.removeprefix("_")
    if isinstance(error, OverflowError):
        raise OverflowError(f"{call}: {error}") from None
    if not has_begun:
        raise TypeError(str(error).replace(f"{method.__qualname__}()", f"{call}()")) from None
    for name, value, annotation in _passed(method, args, named):
        kinds = [kind for kind in annotation.split(" | ") if kind != "None"]
        if (value is None and "None" in annotation) or not all(kind in _EXPECTED for kind in kinds):
            continue
        if not any(_is_of(kind, value) for kind in kinds):
            expected = " or ".join(_EXPECTED[kind] for kind in kinds)
            raise TypeError(f"{call}: {name} is of type {type(value).__name__}, not {expected}") from None


def _passed(
    method: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[tuple[str, Any, str]]:
    """Name, value and annotation of each argument that has one."""
    code, annotations = method.__code__, method.__annotations__
    for name, value in chain(zip(code.co_varnames[: code.co_argcount], args, strict=False), named.items()):
        if name in annotations:
            yield name, value, annotations[name]


def _is_of(kind: str, value: object) -> bool:
    if kind == "int":
        return _is_integer(value)
    if kind == "float":
        return hasattr(value, "__float__") or hasattr(value, "__index__")
    return any(base.__name__ == kind for base in type(value).__mro__)


explain_failures(_explain)
