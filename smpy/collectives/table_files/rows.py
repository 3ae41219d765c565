"""Rows of a user's table, which know the line they are from, and the checks of them that all formats share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from smpy.collectives.algorithm_names import named_algorithm
from smpy.collectives.facts import FACTS, HOST_FACTS
from smpy.collectives.tables import table, table_names
from smpy.errors import PlatformWarning, UsageError, closest, meant

NO_CONDITIONS: Final = ("use", "use_table", "searches_hosts", "parts")
"""Keys of a row that are no conditions."""


class FileRow(NamedTuple):
    """A row of a file.

    Attributes
    ----------
    content : mapping
        Its keys and values, as a table of `smpy.collectives.tables` has them.
    line : int
        Its line in the file.
    """

    content: Mapping[str, Any]
    line: int


class FileTable(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    rows : mapping of str to sequence of FileRow
        Rows of each operation that it speaks of.
    base : str
        Name of the table that chooses for all others; empty: the machine's.
    """

    rows: Mapping[str, Sequence[FileRow]]
    base: str = ""


def checked_row(where: str, operation: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose keys and values are those of a table; its algorithm has our name.

    Parameters
    ----------
    where : str
        File, line, operation and number of the row, as they begin an error.
    operation : str
        Its operation.
    row : mapping
        The row.

    Raises
    ------
    UsageError
        If a key is unknown, a value has another type, or there is no such algorithm or table.
    """
    checked = dict(row)
    for key, value in row.items():
        if key not in NO_CONDITIONS:
            _check_condition(where, key, value)
        elif key == "parts":
            if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
                raise UsageError(f"{where}: parts is {value!r}: say an object with a name for each part")
        elif not isinstance(value, bool if key == "searches_hosts" else str):
            raise UsageError(f"{where}: {key} is {value!r}: say {'true' if key == 'searches_hosts' else 'a name'}")
    if ("use" in row) == ("use_table" in row):
        raise UsageError(f'{where}: say "use" with an algorithm, or "use_table" with a table: one of them')
    if "use" in row:
        try:
            checked["use"] = named_algorithm(operation, row["use"]).name
        except UsageError as wrong:
            raise UsageError(f"{where}: {wrong}") from None
    elif row["use_table"] not in table_names():
        raise UsageError(
            f"{where}: there is no table {row['use_table']!r}: there are {', '.join(table_names())}"
            f"{meant(row['use_table'], table_names())}"
        )
    elif operation not in table(row["use_table"]):
        raise UsageError(f"{where}: the table {row['use_table']!r} has no rows for {operation}: name another one")
    return checked


def _check_condition(where: str, key: str, value: Any) -> None:
    facts = {**FACTS, **HOST_FACTS}
    name = key[:-4] if key[-4:] in ("_max", "_min") and key not in facts else key
    if name not in facts:
        near = closest(key, [*facts, *NO_CONDITIONS])
        advice = "" if near is None else f"; did you mean {near!r}?"
        raise UsageError(f"{where}: no row can ask for {key!r}: there are the facts {', '.join(facts)}{advice}")
    is_yes_or_no = facts[name].__annotations__.get("return") in (bool, "bool")
    if is_yes_or_no and name != key:
        raise UsageError(f"{where}: {key}: {name!r} is true or false, and has no bound: say {name!r} alone")
    if is_yes_or_no != isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UsageError(f"{where}: {key} is {value!r}: say {'true or false' if is_yes_or_no else 'a number'}")
    if not is_yes_or_no and (isinstance(value, str) or value < 0):
        raise UsageError(f"{where}: {key} is {value!r}: say a number of 0 or more")
    if not is_yes_or_no and name == key and value != int(value):
        raise UsageError(f"{where}: {key} is {value!r}, and fits no call: say a whole number")


def say_unreached(path: str, operation: str, rows: Sequence[FileRow]) -> None:
    """Warn of rows that are never reached: one above them fits all calls that they fit, or they fit none."""
    for number, row in enumerate(rows):
        mine = dict(_bounds(row.content))
        if any(low > high for low, high in mine.values()):
            _say(path, row.line, operation, number, "its conditions exclude each other")
            continue
        for earlier, other in enumerate(rows[:number]):
            if all(_is_within(mine.get(name), bounds) for name, bounds in _bounds(other.content)):
                _say(path, row.line, operation, number, f"row {earlier + 1}, line {other.line}, fits all its calls")
                break


def closed(rows: Sequence[FileRow], base: str, line: int) -> list[FileRow]:
    """Rows of which the last one fits every call: if it does not, one that leaves the choice to a table follows."""
    if rows and set(rows[-1].content) <= set(NO_CONDITIONS):
        return list(rows)
    return [*rows, FileRow({"use_table": base}, line)]


def say(path: str, line: int, message: str) -> None:
    """Warn of something in a line that is not taken as its author may expect."""
    warnings.warn_explicit(message, PlatformWarning, path, line)


def _say(path: str, line: int, operation: str, number: int, why: str) -> None:
    say(path, line, f"{operation}, row {number + 1} is never reached: {why}")


_Bounds = tuple[float, float]


def _bounds(row: Mapping[str, Any]) -> Iterator[tuple[str, _Bounds]]:
    """Facts that a row asks for, with the least and the largest value that it fits."""
    found: dict[str, _Bounds] = {}
    for key, value in row.items():
        if key in NO_CONDITIONS:
            continue
        name = key
        bounds = value, value
        if key not in FACTS and key not in HOST_FACTS:
            name = key[:-4]
            bounds = (float("-inf"), value) if key.endswith("_max") else (value, float("inf"))
        low, high = found.get(name, (float("-inf"), float("inf")))
        found[name] = max(low, bounds[0]), min(high, bounds[1])
    yield from found.items()


def _is_within(mine: _Bounds | None, other: _Bounds) -> bool:
    return mine is not None and other[0] <= mine[0] and mine[1] <= other[1]
