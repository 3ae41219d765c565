"""Docstrings begin with the call's signature, as mpi4py's do."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from smpy.mpi import MPI

METHODS = {
    f"{kind.__name__}.{name}": method
    for kind in vars(MPI).values()
    if isinstance(kind, type)
    for name, method in inspect.getmembers(kind, inspect.isroutine)
    if isinstance(getattr(method, "__func__", method), FunctionType) and method.__doc__ and not name.startswith("_")
}


def test_a_docstring_begins_with_the_signature_of_the_call():
    wrong = [name for name, method in METHODS.items() if not _begins_with_signature(method)]
    assert len(METHODS) > 400
    assert wrong == []


def _begins_with_signature(method: Callable[..., Any]) -> bool:
    function = inspect.unwrap(getattr(method, "__func__", method))
    signature, empty, summary, *_ = method.__doc__.split("\n")
    made = eval(f"lambda {', '.join(_names(signature))}: 0")  # our own docstring
    names = list(inspect.signature(made).parameters), list(inspect.signature(function).parameters)
    return signature.startswith(f"{function.__name__}(") and names[0] == names[1] and empty == "" and summary != ""


def _names(signature: str) -> list[str]:
    """The parameters of a signature without annotations and defaults."""
    inside, depth, parts = signature[signature.index("(") + 1 : signature.rindex(")")], 0, [""]
    for character in inside:
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.partition(":")[0].partition("=")[0].strip() for part in parts if part.strip()]
