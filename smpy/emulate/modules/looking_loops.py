"""Loops that only look, such as `while not done: pass`: they give way to others between two looks.

Nothing in such a loop can end it: it waits for what another thread assigns, or another rank in shared memory. Neither
would ever run, for all of them share one thread of the operating system. So a call is put into the loop, which takes
simulated time. A loop with any other statement, or a call in its condition, is left as it is.
"""

from __future__ import annotations

import ast
import re
from types import CodeType
from typing import Final

GIVE_WAY: Final = "__smpy_give_way__"
"""Name of the builtin function that loops call."""
_MAY_LOOK: Final = re.compile(rb"\bwhile\b[^\n]*:\s*(?:#[^\n]*\s*)?(?:pass\b|continue\b|\.\.\.|\w+\s*[-+]=)")
_HARMLESS: Final = frozenset({"all", "any", "bool", "int", "len", "max", "min", "not", "sum"})


def code_with_giving_way(source: bytes, path: str) -> CodeType | None:
    """The code of a source that has such loops, with the calls; None if it has none."""
    if _MAY_LOOK.search(source) is None:
        return None
    tree = ast.parse(source, path)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While) and _only_looks(node)]
    for loop in loops:
        call = ast.Expr(ast.Call(ast.Name(GIVE_WAY, ast.Load()), [], []))
        for node in ast.walk(call):
            ast.copy_location(node, loop.body[0])
        loop.body.insert(0, call)
    return compile(tree, path, "exec", dont_inherit=True) if loops else None


def _only_looks(loop: ast.While) -> bool:
    read = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    return all(map(_is_look, ast.walk(loop.test))) and all(_changes_nothing(each, read) for each in loop.body)


def _is_look(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _HARMLESS
    return not isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _changes_nothing(statement: ast.stmt, read: set[str]) -> bool:
    """Whether a statement does nothing, or counts in a variable that the condition does not read."""
    match statement:
        case ast.Pass() | ast.Continue() | ast.Expr(ast.Constant()):
            return True
        case ast.AugAssign(ast.Name(name), _, ast.Constant()):
            return name not in read
    return False
