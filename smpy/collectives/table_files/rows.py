"""Rows of a user's table, each with its line, and the checks that all formats share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, inf
from typing import Any, Final, NamedTuple

from smpy.collectives.algorithm_names import named_algorithm
from smpy.collectives.facts import FACTS, HOST_FACTS
from smpy.collectives.tables import table, table_names
from smpy.errors import PlatformWarning, UsageError, closest, meant

_YES_OR_NO: Final = ("searches_hosts", "makes_communicators")
NO_CONDITIONS: Final = ("use", "use_table", *_YES_OR_NO, "parts")
"""Keys of a row that are not conditions."""
_PARTS_MAX: Final = 1000


OUTSIDE: Final = 0
"""Line number of a row that precedes those of a file, and is not in the file."""


class FileRow(NamedTuple):
    """A row of a file.

    Attributes
    ----------
    content : mapping
        Its keys and values, as a table of `smpy.collectives.tables` has them.
    line : int
        Its line in the file, or `OUTSIDE`.
    """

    content: Mapping[str, Any]
    line: int


class FileTable(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    rows : mapping of str to sequence of FileRow
        Rows of each operation in the file.
    base : str
        Name of the table that chooses for all other operations; empty: the machine's.
    """

    rows: Mapping[str, Sequence[FileRow]]
    base: str = ""

    def contents(self, operation: str) -> list[Mapping[str, Any]]:
        """Contents of an operation's rows, with a last row that uses `base` unless the last one fits all calls."""
        contents = [row.content for row in self.rows[operation]]
        return contents if set(contents[-1]) <= set(NO_CONDITIONS) else [*contents, {"use_table": self.base}]


def checked_row(where: str, operation: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with checked keys and values, as in a table, and our name of its algorithm.

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
        elif not isinstance(value, bool if key in _YES_OR_NO else str):
            raise UsageError(f"{where}: {key} is {value!r}: say {'true' if key in _YES_OR_NO else 'a name'}")
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


def _is_yes_or_no(name: str) -> bool:
    return {**FACTS, **HOST_FACTS}[name].__annotations__.get("return") in (bool, "bool")


def _check_condition(where: str, key: str, value: Any) -> None:
    facts = {**FACTS, **HOST_FACTS}
    name = key[:-4] if key[-4:] in ("_max", "_min") and key not in facts else key
    if name not in facts:
        near = closest(key, [*facts, *NO_CONDITIONS])
        advice = "" if near is None else f"; did you mean {near!r}?"
        raise UsageError(f"{where}: no row can ask for {key!r}: there are the facts {', '.join(facts)}{advice}")
    is_yes_or_no = _is_yes_or_no(name)
    if is_yes_or_no and name != key:
        raise UsageError(f"{where}: {key}: {name!r} is true or false, and has no bound: say {name!r} alone")
    if is_yes_or_no != isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UsageError(f"{where}: {key} is {value!r}: say {'true or false' if is_yes_or_no else 'a number'}")
    if not is_yes_or_no and (isinstance(value, str) or not 0 <= value < inf):
        raise UsageError(f"{where}: {key} is {value!r}: say a number of 0 or more")
    if not is_yes_or_no and name == key and value != int(value):
        raise UsageError(f"{where}: {key} is {value!r}, and fits no call: say a whole number")


def say_unreached(path: str, operation: str, rows: Sequence[FileRow]) -> None:
    """Warn of rows that are never reached: rows above fit all their calls, or their conditions exclude each other."""
    rows = [row for row in rows if row.line != OUTSIDE]
    boxes = [_box(row.content) for row in rows]
    for number, row in enumerate(rows):
        mine, above = boxes[number], boxes[:number]
        if any(low > high for low, high in mine.values()):
            _say(path, row.line, operation, number, "its conditions exclude each other")
            continue
        alone = next((place for place, other in enumerate(above) if _are_covered(mine, [other])), None)
        if alone is not None:
            _say(path, row.line, operation, number, f"row {alone + 1}, line {rows[alone].line}, fits all its calls")
        elif mine and _are_covered(mine, above):  # a file ends with a row without conditions, whatever is above it
            _say(path, row.line, operation, number, "the rows above it together fit all its calls")


def say(path: str, line: int, message: str) -> None:
    """Warn of something in a line that has another effect than its author may expect."""
    warnings.warn_explicit(message, PlatformWarning, path, line)


def _say(path: str, line: int, operation: str, number: int, why: str) -> None:
    say(path, line, f"{operation}, row {number + 1} is never reached: {why}")


_Box = dict[str, tuple[float, float]]
"""Facts that a row tests, each with the least and the largest value that fits; true is 1."""


def _box(row: Mapping[str, Any]) -> _Box:
    box: _Box = {}
    for key, value in row.items():
        if key in NO_CONDITIONS:
            continue
        name = key if key in FACTS or key in HOST_FACTS else key[:-4]
        low, high = box.get(name, _all_values(name))
        if name == key or key.endswith("_min"):
            low = max(low, ceil(value))
        if name == key or key.endswith("_max"):
            high = min(high, floor(value))
        box[name] = low, high
    return box


def _all_values(name: str) -> tuple[float, float]:
    return 0, 1 if _is_yes_or_no(name) else inf


def _are_covered(box: _Box, others: Sequence[_Box]) -> bool:
    """Whether others together fit all calls of a box; False if the remainder has too many parts to decide."""
    left = [box]
    for other in others:
        left = [part for each in left for part in _without(each, other)]
        if not left or len(left) > _PARTS_MAX:
            break
    return not left


def _without(box: _Box, other: _Box) -> Iterator[_Box]:
    """Parts of a box that are outside another one; no two of them overlap."""
    common = {}
    for name, (low, high) in other.items():
        least, most = box.get(name, _all_values(name))
        common[name] = max(least, low), min(most, high)
    if any(low > high for low, high in common.values()):
        yield box
        return
    rest = dict(box)
    for name, (low, high) in common.items():
        least, most = rest.get(name, _all_values(name))
        if least < low:
            yield {**rest, name: (least, low - 1)}
        if high < most:
            yield {**rest, name: (high + 1, most)}
        rest[name] = low, high
