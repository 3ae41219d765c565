"""Tables of the user: our own format, Open MPI's dynamic rules, MPICH's tuning files, told apart by their content."""

from __future__ import annotations

from types import MappingProxyType

from smpy.collectives.selection import Selection
from smpy.collectives.table_files.located_json import LocatedObject, read_located
from smpy.collectives.table_files.mpich_tuning import is_mpich, read_mpich
from smpy.collectives.table_files.open_mpi_rules import read_open_mpi
from smpy.collectives.table_files.own_tables import read_own
from smpy.collectives.table_files.rows import FileTable, say_unreached
from smpy.collectives.tables import _parsed
from smpy.errors import UsageError


def with_file(selection: Selection, path: str, content: str) -> Selection:
    """Return a selection in which the rules of a user's file override those of the table.

    Parameters
    ----------
    selection : Selection
        The selection; its forced algorithms stay above the file.
    path : str
        Name of the file, for messages.
    content : str
        Its text.

    Raises
    ------
    UsageError
        If it is no table: file, line and row.
    """
    table = _read(path, content)
    for operation, rows in table.rows.items():
        say_unreached(path, operation, rows)
    rules = {operation: _parsed(operation, table.contents(operation)) for operation in table.rows}
    return selection._replace(table=table.base or selection.table, own=MappingProxyType(rules))


def _read(path: str, content: str) -> FileTable:
    if not content.strip():
        raise UsageError(f'{path} is empty: a table of collectives has rows: {{"alltoall": [{{"use": "ring"}}]}}')
    if not content.lstrip().startswith(("{", "[")):
        return read_open_mpi(path, content)
    root = read_located(path, content)
    if not isinstance(root, LocatedObject):
        raise UsageError(f"{path} is no table of collectives: it is no object with a list of rows for each operation")
    if is_mpich(root):
        return read_mpich(path, root)
    if "rule_file_version" in root:
        raise UsageError(f"{path}: rules of Open MPI 6 in JSON are not read: write them in the form of 4.1 and 5.0")
    return read_own(path, root)
