"""Evaluates arithmetic expressions, written as text, over the arguments of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from math import log2
from typing import Any, Final

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {"len": len, "log2": log2, "max": max, "min": min}
"""Functions allowed in expressions."""

_ARITHMETIC: Final = (
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Subscript, ast.Load),
)


def over_arguments(
    function: Callable[..., Any], expressions: Mapping[str, str | float]
) -> Callable[..., tuple[Any, ...]]:
    """Function of the same arguments that returns the values of expressions.

    Parameters
    ----------
    function : callable
        Function with the parameters that the expressions name.
    expressions : mapping of str to str or float
        Arithmetic by name of value: numbers, parameters, their attributes and items (`a.shape[0]`), and the functions
        of `FUNCTIONS`.

    Raises
    ------
    ValueError
        If an expression has anything else, or a name that is no parameter.

    Examples
    --------
    >>> values = over_arguments(lambda a, k=2: None, {"flop": "2*len(a)*k", "bytes": 8})
    >>> values([1, 2, 3])
    (12, 8.0)
    """
    whole = signature(function)
    for what, text in expressions.items():
        if isinstance(text, str):
            _check(what, text, list(whole.parameters))
    bare = [_bare(parameter) for parameter in whole.parameters.values()]
    parameters = str(whole.replace(parameters=bare, return_annotation=Signature.empty))[1:-1]
    body = ", ".join(f"({text})" if isinstance(text, str) else repr(float(text)) for text in expressions.values())
    values: Any = eval(f"lambda {parameters}: ({body},)", {"__builtins__": {}, **FUNCTIONS})  # noqa: S307  # checked
    with_default = [parameter for parameter in whole.parameters.values() if parameter.default is not Parameter.empty]
    values.__defaults__ = tuple(each.default for each in with_default if each.kind is not Parameter.KEYWORD_ONLY)
    values.__kwdefaults__ = {each.name: each.default for each in with_default if each.kind is Parameter.KEYWORD_ONLY}
    evaluate: Callable[..., tuple[Any, ...]] = values
    return evaluate


def _check(what: str, text: str, names: list[str]) -> None:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{what} = {text!r} is no expression: write it such as 2*m*n*k") from None
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree.body):
        if isinstance(node, ast.Name) and node not in called and node.id not in names:
            raise ValueError(f"{what} = {text!r}: {node.id!r} is none of the arguments {', '.join(names) or '(none)'}")
        if not _is_arithmetic(node, called):
            raise ValueError(
                f"{what} = {text!r}: {ast.unparse(node)!r} is not arithmetic over arguments; it may have numbers, "
                f"+ - * / // % **, arguments such as a.shape[0], and {', '.join(FUNCTIONS)}"
            )


def _is_arithmetic(node: ast.AST, called: set[ast.expr]) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Attribute(attr=name):
            return not name.startswith("_")
        case ast.Name(id=name):
            return node not in called or name in FUNCTIONS
        case ast.Call(func=ast.Name(), keywords=[]):
            return True
    return isinstance(node, _ARITHMETIC)


def _bare(parameter: Parameter) -> Parameter:
    """Parameter as a lambda writes it, with a placeholder for its default."""
    default = Parameter.empty if parameter.default is Parameter.empty else None
    return parameter.replace(annotation=Parameter.empty, default=default)
