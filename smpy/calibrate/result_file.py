"""Calibrations as TOML files that a machine file includes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from smpy.records.files import write_whole

Table = Mapping[str, object]


def toml_text(tables: Mapping[str, Table], comment: str = "") -> str:
    """TOML of tables; a dictionary within one becomes an inline table.

    Parameters
    ----------
    tables : mapping of str to mapping
        Name of each table and its keys.
    comment : str
        Lines for the head of the file.
    """
    lines = [f"# {line}" for line in comment.splitlines()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        rows = [_value(item) for item in value]
        if value and isinstance(value[0], Mapping):  # one per line
            return "[\n" + "".join(f"  {row},\n" for row in rows) + "]"
        return f"[{', '.join(rows)}]"
    return json.dumps(value, ensure_ascii=False)


def write_result(path: Path, tables: Mapping[str, Table], comment: str = "") -> None:
    """Write a calibration; replace an existing file as a whole.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    write_whole(path, toml_text(tables, comment))
