"""JSON whose objects hold the number of the line on which they begin."""

from __future__ import annotations

import json
import json.decoder
import json.scanner
from typing import Any, NoReturn

from smpy.errors import UsageError


class LocatedObject(dict[str, Any]):
    """An object of a file.

    Attributes
    ----------
    line : int
        Line that it begins at, counted from 1.
    """

    line = 1


def read_located(path: str, text: str) -> Any:
    """Content of a JSON text, each object of which is a `LocatedObject`.

    Parameters
    ----------
    path : str
        Name of its file, for messages.
    text : str
        The text.

    Raises
    ------
    UsageError
        If it is no JSON, or an object has a key twice.
    """
    try:
        return _Decoder(path).decode(text)
    except json.JSONDecodeError as wrong:
        raise UsageError(f"{path}, line {wrong.lineno}: it is no JSON: {wrong.msg}") from None
    except RecursionError:
        raise UsageError(f"{path}: its tables are nested too deeply") from None
    except ValueError as wrong:
        raise UsageError(f"{path}: it is no JSON: {wrong}") from None


class _Decoder(json.JSONDecoder):
    """Decoder that notes each object's line, by Python's own scanner: the compiled one does not call `parse_object`."""

    def __init__(self, path: str) -> None:
        super().__init__(parse_constant=_refuse)
        self._path = path
        self.parse_object = self._located
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _located(self, where: tuple[str, int], strict: bool, scan_once: Any, *others: Any) -> tuple[Any, int]:
        text, start = where
        pairs, end = json.decoder.JSONObject(where, strict, scan_once, None, list, others[-1])  # type: ignore[attr-defined]
        located = LocatedObject(pairs)
        located.line = text.count("\n", 0, start) + 1
        if len(located) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"{self._path}, line {located.line}: an object has the key {twice!r} twice: keep one")
        return located, end


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
