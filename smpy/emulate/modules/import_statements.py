"""Finds the imports of a module in its source, without importing it.

Most sources are searched for the word `import`. That is ten times faster than parsing, and finds too much rather than
too little (a line of a docstring that reads like a statement). Sources that mention mpi4py are parsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MPI4PY: Final = "mpi4py"

_CONTINUED: Final = re.compile(rb"\\\r?\n")
_WORD: Final = re.compile(rb"import(?=[\s(]|_module\()")
_BEFORE: Final = re.compile(rb"(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]*)?$", re.MULTILINE)
_NAMES: Final = re.compile(rb"[ \t]*(?:\(([^)]*)\)|([^\n;#]*))")
_LITERAL: Final = re.compile(rb"_module\(\s*[\"']([.\w]+)[\"']")
_COMMENT: Final = re.compile(rb"#[^\n]*")
_FUNCTION: Final = re.compile(rb"(?:async\s+)?def\b")
_TYPES_ONLY: Final = re.compile(rb"if\s+(?:\w+\.)?TYPE_CHECKING\b")
_IMPORTING: Final = frozenset({"import_module", "__import__", "importorskip"})


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports of one module.

    Attributes
    ----------
    at_once : frozenset of str
        Dotted names of modules, or of things in modules, that are imported while the module is.
    later : frozenset of str
        Dotted names that its functions import.
    uses_mpi : bool
        Whether mpi4py is among them. (An import in a function that makes nothing of it does not count.)
    """

    at_once: frozenset[str]
    later: frozenset[str]
    uses_mpi: bool


def imports_of(source: bytes, package: str) -> Imports:
    """Find the imports of a module in `package`, by its source."""
    return parsed_imports_of(source, package) if MPI4PY.encode() in source else _searched_imports_of(source, package)


def parsed_imports_of(source: bytes, package: str) -> Imports:
    """Find the imports of a module in `package` by its syntax tree: text that only looks like one is ignored."""
    try:
        return _Parsed(package).imports(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _searched_imports_of(source, package)  # the importer of this module will get the error


def _searched_imports_of(source: bytes, package: str) -> Imports:
    at_once: set[str] = set()
    later: set[str] = set()
    for names, is_later in _search(_CONTINUED.sub(b" ", source), package):
        (later if is_later else at_once).update(names)
    return Imports(frozenset(at_once), frozenset(later), uses_mpi=False)


def _search(source: bytes, package: str) -> Iterator[tuple[list[str], bool]]:
    """Names in each line that looks like an import, and whether the line is in a function."""
    for word in _WORD.finditer(source):
        begin = source.rfind(b"\n", 0, word.start()) + 1
        literal = _LITERAL.match(source, word.end())
        if literal is not None:
            names = [_absolute(literal[1].decode(), "", package)]
        else:
            before = _BEFORE.search(source, begin, word.start())
            listed = _NAMES.match(source, word.end())
            if before is None or listed is None:
                continue
            text = _COMMENT.sub(b"", listed[1]) if listed[1] is not None else listed[2]
            words = [part.split(None, 1)[0].decode(errors="replace") for part in text.split(b",") if part.strip()]
            module = (before[1] or b"").decode(errors="replace")
            names = [_absolute(module, word, package) for word in words]
        indent = 0
        while source[begin + indent] in b" \t":
            indent += 1
        opener = _opener(source, begin, indent) if indent else b""
        if not _TYPES_ONLY.match(opener):
            yield names, bool(opener)


def _opener(source: bytes, begin: int, indent: int) -> bytes:
    """The `def` or `if TYPE_CHECKING` that encloses an indented line, or ""."""
    while indent and begin:
        end = begin - 1
        begin = source.rfind(b"\n", 0, end) + 1
        line = source[begin:end]
        text = line.lstrip()
        if not text or text[0] in b"#)]}" or len(line) - len(text) >= indent:
            continue
        if _FUNCTION.match(text) or _TYPES_ONLY.match(text):
            return text
        indent = len(line) - len(text)
    return b""


def _absolute(module: str, name: str, package: str) -> str:
    """Dotted name of `from module import name`, or of `import name`, in a module of `package`."""
    rest = module.lstrip(".")
    level = len(module) - len(rest)
    if level:
        above = package.rsplit(".", level - 1)[0] if level > 1 else package
        rest = f"{above}.{rest}" if rest else above
    return f"{rest}.{name}" if rest and name and name != "*" else rest or name


class _Parsed:
    """Collects the imports of a parsed source."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._at_once: set[str] = set()
        self._later: set[str] = set()
        self._uses_mpi = False

    def imports(self, tree: ast.Module) -> Imports:
        self._visit(tree, None)
        return Imports(frozenset(self._at_once), frozenset(self._later), self._uses_mpi)

    def _visit(self, node: ast.AST, function: ast.AST | None) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                function = node
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for statement in node.orelse:
                    self._visit(statement, function)
                return
            case ast.Import():
                for alias in node.names:
                    self._add(alias.name, alias.asname or alias.name.partition(".")[0], function)
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    self._add(_absolute(module, alias.name, self._package), alias.asname or alias.name, function)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in _IMPORTING:
                self._add(_absolute(name, "", self._package), "", function)
        for child in ast.iter_child_nodes(node):
            self._visit(child, function)

    def _add(self, name: str, bound: str, function: ast.AST | None) -> None:
        # a package may re-export it in a way that cannot be seen here: `from .dependencies import mpi4py`
        if MPI4PY in (name.partition(".")[0], name.rpartition(".")[2]):
            self._uses_mpi |= function is None or not bound or _mentions(function, bound)
        (self._at_once if function is None else self._later).add(name)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _mentions(function: ast.AST, name: str) -> bool:
    """Whether a function uses a name that it binds by an import."""
    return any(
        (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Global) and name in node.names)
        for node in ast.walk(function)
    )
