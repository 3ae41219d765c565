"""Calibrations as TOML files that a machine file includes."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smpy.errors import UsageError
from smpy.input_files import read_input
from smpy.records.files import write_whole
from smpy.units import parse_speed_flop_per_s

Table = Mapping[str, object]


def toml_text(tables: Mapping[str, Table], comment: str = "") -> str:
    """TOML of tables, a dictionary in one being an inline table.

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
        if value and isinstance(value[0], Mapping):  # a line each
            return "[\n" + "".join(f"  {row},\n" for row in rows) + "]"
        return f"[{', '.join(rows)}]"
    return json.dumps(value, ensure_ascii=False)


def write_result(path: Path, tables: Mapping[str, Table], comment: str = "") -> None:
    """Write a calibration; an existing file is replaced as a whole.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    write_whole(path, toml_text(tables, comment))


def read_result(path: Path) -> dict[str, Any]:
    """The tables of a calibration.

    Raises
    ------
    UsageError
        If the file cannot be read, or is no calibration.
    """
    try:
        tables = tomllib.loads(read_input(path, "calibration").decode())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # errors of TOML or UTF-8
        raise UsageError(f"{path} is no calibration: {error}") from error
    about = tables.get("calibration")
    if not isinstance(about, dict):
        raise UsageError(f"{path} is no calibration: it has no table [calibration]; `smpy calibrate` writes such files")
    return tables


def core_speed_flop_per_s(path: Path) -> float:
    """The speed of a core of the machine that a calibration has measured.

    Raises
    ------
    UsageError
        If the file cannot be read, is no calibration, or says no speed.
    """
    host = read_result(path).get("host")
    text = host.get("speed") if isinstance(host, dict) else None
    if not isinstance(text, str):
        raise UsageError(f"{path}: it says no host.speed; `smpy calibrate host` writes a file that does")
    try:
        speed_flop_per_s = parse_speed_flop_per_s(text)
    except ValueError as error:
        raise UsageError(f"{path}: host.speed: {error}") from error
    if not 0 < speed_flop_per_s < math.inf:
        raise UsageError(f"{path}: host.speed is {text!r}, which is no speed of a machine")
    return speed_flop_per_s
