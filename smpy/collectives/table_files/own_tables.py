"""Reads a table of the user in our own JSON, the format of `smpy.collectives.tables`."""

from __future__ import annotations

from typing import Any

from smpy.collectives.register import OPERATIONS
from smpy.collectives.table_files.located_json import LocatedObject
from smpy.collectives.table_files.rows import NO_CONDITIONS, FileRow, FileTable, checked_row
from smpy.errors import UsageError, meant


def read_own(path: str, content: LocatedObject) -> FileTable:
    """The rows of each operation in a file.

    Parameters
    ----------
    path : str
        Name of the file, for messages.
    content : LocatedObject
        Its content: "source", and a list of rows for each operation.

    Raises
    ------
    UsageError
        If a key is unknown, a value has another type, or rows do not fit every call.
    """
    rows: dict[str, list[FileRow]] = {}
    for operation, listed in content.items():
        if operation == "source":
            if not isinstance(listed, str):
                raise UsageError(f"{path}: source is {listed!r}: say where the table is from, as text")
            continue
        if operation not in OPERATIONS:
            advice = meant(operation, [*OPERATIONS, "source"])
            raise UsageError(f"{path}: there is no operation {operation!r}{advice or ': say one such as allreduce'}")
        if not isinstance(listed, list) or not listed:
            raise UsageError(f'{path}: {operation} is no list of rows, such as [{{"use": "..."}}]')
        rows[operation] = [_row(path, operation, number, row) for number, row in enumerate(listed, start=1)]
        last = rows[operation][-1]
        if not set(last.content) <= set(NO_CONDITIONS):
            raise UsageError(
                f"{path}, line {last.line}: {operation}, row {len(listed)}: the last row must fit every call: add one "
                'that has "use" alone'
            )
    if not rows:
        raise UsageError(f'{path} chooses for no operation: write such as "alltoall": [{{"use": "ring"}}]')
    return FileTable(rows)


def _row(path: str, operation: str, number: int, row: Any) -> FileRow:
    if not isinstance(row, LocatedObject):
        raise UsageError(f'{path}: {operation}, row {number} is {row!r}: write an object, such as {{"use": "..."}}')
    where = f"{path}, line {row.line}: {operation}, row {number}"
    return FileRow(checked_row(where, operation, row), row.line)
