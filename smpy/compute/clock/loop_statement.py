"""Refuses `for` statements over a marked loop that may leave it, or that take its items by position."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from smpy.engine.running import named_call
from smpy.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

_GENERATOR: Final = 0x20  # CO_GENERATOR of inspect, whose import takes time
_BY_POSITION: Final = ("enumerate", "zip", "zip_longest", "islice", "takewhile", "pairwise", "batched")


@named_call("")
def refuse_exits(name: str, frame: FrameType | None) -> None:
    """Refuse a loop whose `for` statement may leave it, or takes items by position; generators may stand between."""
    while frame is not None:
        loop = _for_statement(frame.f_code.co_filename, frame.f_lineno)
        if loop is not None and (exit_line := next(_exits(loop.body, is_inner=False), None)) is not None:
            raise UsageError(
                f"iterations {name!r}: line {exit_line} can leave this loop, so the number of its iterations is not "
                "known: mark a loop that makes all of them, or run without --iterations"
            )
        if loop is not None and (call := _iterator_name(loop.iter, frame)) in _BY_POSITION:
            raise UsageError(
                f"iterations {name!r}: {call} takes items by their position, and skipped ones are missing: put it "
                f"inside, as in iterations({name!r}, list({call}(...)))"
            )
        frame = frame.f_back if frame.f_code.co_flags & _GENERATOR else None


@cache
def _for_statement(path: str, line: int) -> ast.For | None:
    """The `for` statement whose iterable is at a line; None: none seen."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and node.lineno <= line <= (node.iter.end_lineno or line):
            return node
    return None


def _iterator_name(node: ast.expr, frame: FrameType) -> str:
    """Last part of the name of the function that an expression calls, or of the type of its variable; "": neither."""
    if isinstance(node, ast.Name):
        return type(frame.f_locals.get(node.id, frame.f_globals.get(node.id))).__name__
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _exits(body: Iterable[ast.AST], *, is_inner: bool) -> Iterator[int]:
    """Lines that leave a loop with this body; `is_inner`: of a loop inside, which only `return` leaves with it."""
    for node in body:
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not is_inner):
            yield node.lineno
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield from _exits(node.body, is_inner=True)
            yield from _exits(node.orelse, is_inner=is_inner)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _exits(ast.iter_child_nodes(node), is_inner=is_inner)
