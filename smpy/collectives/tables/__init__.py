"""Tables that choose algorithms: rows of data, of which the first that fits wins.

A table is a JSON file that names its source and has a list of rows for each operation. A row names the algorithm to
"use", by our name or SimGrid's, and the conditions for that: a fact and its value, or a fact with "_max" or "_min"
after its name and a bound. With "searches_hosts" the choice takes SMPI's messages that find the ranks of a host, and
with "makes_communicators" those of Open MPI's han (`han_communicators`). A row with "use_table" instead leaves the
choice to the rows that another table has for the operation. With "parts" a row says what an algorithm that takes ranks
apart uses in each part: `Call.parts`. A reduce_scatter_block without rows has those of reduce_scatter.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, le
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpy.collectives.facts import FACTS, HOST_FACTS, HostFact, Query, Value, has_searched
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import OPERATIONS, Algorithm, algorithm_of

_Comparison = Callable[[Any, Any], bool]
_Test = tuple[_Comparison, Any, Value]  # comparison, fact, value in the row
_BOUNDS: Final[dict[str, _Comparison]] = {"_max": le, "_min": ge}
_EQUAL: Final[_Comparison] = eq
_SEARCHES: Final = "searches_hosts"
_USE: Final = "use"
_USE_TABLE: Final = "use_table"
_PARTS: Final = "parts"
_MAKES: Final = "makes_communicators"
_NO_CONDITIONS: Final = frozenset({_USE, _USE_TABLE, _SEARCHES, _MAKES, _PARTS})


class SelectorRow(NamedTuple):
    """One row: its conditions, and the algorithm to use if they hold.

    Attributes
    ----------
    searches_hosts : bool
        Whether choosing it sends SMPI's messages that find the ranks of a host, once per communicator.
    parts : tuple of (str, str)
        Algorithm or table for each part of the algorithm.
    makes_communicators : bool
        Whether choosing it sends the messages by which Open MPI's han makes communicators, as far as they are due.
    """

    operation: str
    tests: tuple[_Test, ...]
    host_tests: tuple[_Test, ...]
    use: str
    searches_hosts: bool = False
    parts: tuple[tuple[str, str], ...] = ()
    makes_communicators: bool = False

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm to use."""
        return algorithm_of(self.operation, self.use)

    def fits(self, query: Query, hosts: Callable[[], Hosts]) -> bool:
        """Whether all conditions of the row hold."""
        for holds, fact, value in self.tests:
            if not holds(fact(query), value):
                return False
        return all(holds(fact(hosts()), value) for holds, fact, value in self.host_tests)


class Rules(NamedTuple):
    """The rows of one operation, the last of which fits every call.

    Attributes
    ----------
    host_facts : tuple of callable
        Facts of the hosts that the rows ask for; these and the query decide the choice.
    may_search : bool
        Whether some row searches for hosts, or tests whether that has been done.
    makes_communicators : bool
        Whether some row makes communicators of hosts.
    """

    operation: str
    rows: tuple[SelectorRow, ...]
    host_facts: tuple[HostFact, ...] = ()
    may_search: bool = False
    makes_communicators: bool = False

    def row_for(self, query: Query, hosts: Callable[[], Hosts]) -> SelectorRow:
        """The first row that fits."""
        return next(row for row in self.rows if row.fits(query, hosts))

    def choose(self, query: Query, hosts: Callable[[], Hosts]) -> Algorithm:
        """The algorithm of the first row that fits."""
        return self.row_for(query, hosts).algorithm


def only_use(operation: str, name: str) -> Rules:
    """Rules that always use one algorithm."""
    return Rules(operation, (SelectorRow(operation, (), (), name),))


@functools.cache
def table_names() -> tuple[str, ...]:
    """The names of smpy's own tables."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.json")))


@functools.cache
def table_rows(name: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The rows of each operation in one of smpy's own tables, as in its file."""
    data = json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
    del data["source"]
    if "reduce_scatter" in data:
        data.setdefault("reduce_scatter_block", data["reduce_scatter"])
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = data
    return rows


@functools.cache
def table(name: str) -> Mapping[str, Rules]:
    """The rules of each operation in one of smpy's own tables.

    Facts are checked here. Names of algorithms are checked on first use, for short start-up.
    """
    return {operation: _parsed(operation, rows) for operation, rows in table_rows(name).items()}


def _parsed(operation: str, rows: Sequence[Mapping[str, Any]]) -> Rules:
    if operation not in OPERATIONS:
        raise ValueError(f"there is no operation {operation!r}: there are {', '.join(OPERATIONS)}")
    if not rows or not set(rows[-1]) <= _NO_CONDITIONS:
        raise ValueError(f"{operation}: the last row must fit everything")
    parsed = tuple(each for row in rows for each in _rows(operation, row))
    host_facts = {fact: None for row in parsed for _, fact, _ in row.host_tests}
    makes_communicators = any(row.makes_communicators for row in parsed)
    return Rules(operation, parsed, tuple(host_facts), any(map(_knows_search, parsed)), makes_communicators)


def _knows_search(row: SelectorRow) -> bool:
    return row.searches_hosts or any(fact is has_searched for _, fact, _ in row.tests)


def _rows(operation: str, row: Mapping[str, Any]) -> Sequence[SelectorRow]:
    """The row of a file, or the rows of the table to which it leaves the choice, each under the row's conditions."""
    if (_USE in row) == (_USE_TABLE in row):
        raise ValueError(f"{operation}: the row {dict(row)} does not say which algorithm, or which table, to use")
    tests: list[_Test] = []
    host_tests: list[_Test] = []
    for limit, value in row.items():
        if limit in _NO_CONDITIONS:
            continue
        name, holds = limit, _EQUAL
        if limit[-4:] in _BOUNDS:
            name, holds = limit[:-4], _BOUNDS[limit[-4:]]
        if name in FACTS:
            tests.append((holds, FACTS[name], value))
        elif name in HOST_FACTS:
            host_tests.append((holds, HOST_FACTS[name], value))
        else:
            raise ValueError(
                f"{operation}: no row can ask for {limit!r}: there are the facts {', '.join((*FACTS, *HOST_FACTS))}"
            )
    searches, makes = bool(row.get(_SEARCHES)), bool(row.get(_MAKES))
    if _USE in row:
        parts = tuple(row.get(_PARTS, {}).items())
        return [SelectorRow(operation, tuple(tests), tuple(host_tests), row[_USE], searches, parts, makes)]
    return [
        each._replace(
            tests=(*tests, *each.tests),
            host_tests=(*host_tests, *each.host_tests),
            searches_hosts=searches or each.searches_hosts,
            makes_communicators=makes or each.makes_communicators,
        )
        for each in table(row[_USE_TABLE])[operation].rows
        if not searches or (has_searched, False) not in ((fact, value) for _, fact, value in each.tests)
    ]
