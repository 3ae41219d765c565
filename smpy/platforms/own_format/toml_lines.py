"""Finds the line of each key of a TOML document; Python's reader does not report lines."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Any, Final

KeyPath = tuple[str | int, ...]  # path of tables and keys; a number is an index in an array

_PART: Final = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_KEY: Final = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")
_BLANK: Final = re.compile(r"(?:\s|#[^\n]*)*")
_SCALAR: Final = re.compile(
    r"""
    \"{3} (?:\\.|[^\\])*? "{3,5}    # a basic string of several lines
    | \'{3} .*? '{3,5}               # a literal one
    | " (?:[^"\\\n]|\\.)* "
    | ' [^'\n]* '
    | [^\n,\]}#]+                  # a number, a truth, a date
    """,
    re.DOTALL | re.VERBOSE,
)


def lines_of_keys(text: str) -> dict[KeyPath, int]:
    r"""Line on which each key and each table of a document begins.

    Parameters
    ----------
    text : str
        TOML that `tomllib` has read without an error: only then is what comes out right.

    Examples
    --------
    >>> lines_of_keys('a = 1\n[b]\nc.d = [{e = 2}]')
    {('a',): 1, ('b',): 2, ('b', 'c', 'd'): 3, ('b', 'c', 'd', 0, 'e'): 3}
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.document()
    return scanner.lines


class _Scanner:
    """Walks over a document statement by statement."""

    def __init__(self, text: str) -> None:
        self.lines: Final[dict[KeyPath, int]] = {}
        self._text: Final = text
        self._at = 0
        self._starts: Final = [0, *(match.end() for match in re.finditer("\n", text))]
        self._n_tables: Final[dict[KeyPath, int]] = {}  # number of tables so far in each array of tables

    def document(self) -> None:
        table: KeyPath = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _skip(self) -> None:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, bisect_right(self._starts, self._at))

    def _key(self) -> tuple[str, ...]:
        """Parts of a dotted key, with quotes and escapes resolved."""
        match = _KEY.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no key at {self._at}")
        self._at = match.end()
        if re.fullmatch(r"[A-Za-z0-9_-]+", match[0]):
            return (match[0],)
        inner: Any = tomllib.loads(f"{match[0]} = 0")
        parts = []
        while isinstance(inner, dict):
            ((part, inner),) = inner.items()
            parts.append(part)
        return tuple(parts)

    def _header(self) -> KeyPath:
        """Table that the header [a.b] or [[a.b]] opens."""
        is_array = self._text.startswith("[[", self._at)
        start, self._at = self._at, self._at + 1 + is_array
        self._skip()
        parts = self._key()
        path: KeyPath = ()
        for i, part in enumerate(parts):
            path += (part,)
            if is_array and i == len(parts) - 1:
                self._n_tables[path] = self._n_tables.get(path, 0) + 1
            if path in self._n_tables:
                path += (self._n_tables[path] - 1,)
        self._skip()
        end, self._at = self._at + 1 + is_array, start
        self._note(path)
        self._at = end
        return path

    def _pair(self, table: KeyPath) -> None:
        start = self._at
        path = table + self._key()
        end, self._at = self._at, start
        self._note(path)
        self._at = end
        self._skip()
        self._at += 1  # the equals sign
        self._skip()
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        opening = self._text[self._at]
        if opening not in "[{":
            match = _SCALAR.match(self._text, self._at)
            if match is None:
                raise ValueError(f"no value at {self._at}")
            self._at = match.end()
            return
        self._at += 1
        self._skip()
        n_items = 0
        while self._text[self._at] not in "]}":
            if opening == "{":
                self._pair(path)
            else:
                self._value((*path, n_items))
            n_items += 1
            self._skip()
            if self._text[self._at] == ",":
                self._at += 1
                self._skip()
        self._at += 1
