"""Lists of the available algorithms and tables, for people and as records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from smpy.collectives import tables
from smpy.collectives.algorithm_names import choosable
from smpy.collectives.mpi_numbers import numbers_of
from smpy.collectives.register import BLOCKING, GROUP, OPERATIONS, Algorithm, algorithms_of
from smpy.collectives.tables import table_names
from smpy.errors import UsageError, meant
from smpy.installed_parts import import_installed

_WIDTH: Final = 100


def known_algorithms(operation: str | None = None) -> list[dict[str, Any]]:
    """Records of the algorithms of an operation, or of all operations with a choice; installed packages are included.

    Raises
    ------
    UsageError
        If there is no such operation.
    """
    import_installed(GROUP)
    if operation is not None and operation not in OPERATIONS:
        known = ", ".join(BLOCKING)
        raise UsageError(
            f"there is no operation {operation!r}: there are {known}, and with an i before the name those that do not "
            f"block{meant(operation, OPERATIONS)}"
        )
    return [
        _record(algorithm)
        for each in (choosable() if operation is None else (operation,))
        for algorithm in algorithms_of(each).values()
    ]


def _record(algorithm: Algorithm) -> dict[str, Any]:
    numbers = {
        library: [number for number, each in numbered.items() if each.name == algorithm.name]
        for library, numbered in numbers_of(algorithm.operation).items()
    }
    return {
        "operation": algorithm.operation,
        "name": algorithm.name,
        "simgrid_names": list(algorithm.simgrid_names),
        "numbers": {library: values for library, values in numbers.items() if values},
        "needs": _needs(algorithm),
        "source": algorithm.source,
    }


def _needs(algorithm: Algorithm) -> list[str]:
    needs = [] if algorithm.only_ranks is None else [f"{algorithm.only_ranks} ranks"]
    if algorithm.knows_hosts:
        needs.append("hosts")
    if algorithm.chooses:
        needs.append("hosts, a table for its parts")
    return needs


def known_tables() -> dict[str, str]:
    """The source of each table, by its name."""
    folder = Path(tables.__file__).parent
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["source"] for name in table_names()}


def listing_text(algorithms: Sequence[Mapping[str, Any]], table_sources: Mapping[str, str]) -> str:
    """The lists as text: two lines per algorithm, its names and numbers, and its needs and source."""
    lines: list[str] = []
    operation = ""
    for record in algorithms:
        if record["operation"] != operation:
            operation = record["operation"]
            lines += [*([""] if lines else []), operation]
        numbers = [f"{library} {', '.join(map(str, values))}" for library, values in record["numbers"].items()]
        theirs = [f"SimGrid {', '.join(record['simgrid_names'])}"] if record["simgrid_names"] else []
        lines.append(f"  {record['name']:<38} {'; '.join([*theirs, *numbers])}".rstrip())
        needs = [f"needs {', '.join(record['needs'])}"] if record["needs"] else []
        lines.append(f"      {'; '.join([*needs, 'source: ' + record['source']])}")
    if table_sources:
        lines += ["", "tables"]
        for name, source in table_sources.items():
            lines += [f"  {name}", *wrap(source, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return "\n".join(lines)
