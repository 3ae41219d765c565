"""The choice of a collective's algorithm: by a table, unless the run forces one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from smpy.collectives.call import symbolic_call
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import GROUP, OPERATIONS, Algorithm, algorithms_of
from smpy.collectives.tables import Rules, only_use, table, table_names
from smpy.engine.engine import Engine
from smpy.errors import UsageError
from smpy.installed_parts import import_installed

_CHOSEN_MAX: Final = 4096


class Selection(NamedTuple):
    """A table, and the algorithms that override it.

    Attributes
    ----------
    table : str
        Name of the table.
    forced : mapping of str to str
        Algorithm of each operation that does not use the table.
    """

    table: str = "smpi"
    forced: Mapping[str, str] = MappingProxyType({})

    def rules(self, operation: str) -> Rules:
        """The rules for an operation; where the table has no rows for it, they use its first algorithm."""
        name = self.forced.get(operation)
        if name is not None:
            return only_use(operation, name)
        return table(self.table).get(operation) or only_use(operation, next(iter(algorithms_of(operation))))


DEFAULT: Final = Selection()


def selection_with(choices: Iterable[tuple[str, str]], table: str = DEFAULT.table) -> Selection:
    """A table's selection with some algorithms forced.

    Parameters
    ----------
    choices : iterable of (str, str)
        Operation and algorithm, under our names or SimGrid's; the last one of an operation holds. "default" leaves the
        choice to the table.
    table : str
        Name of the table.

    Raises
    ------
    UsageError
        If there is no such table, operation or algorithm, also in installed packages; the message lists what there is.
    """
    if table not in table_names():
        raise UsageError(f"there is no table of collectives {table!r}: there are {', '.join(table_names())}")
    forced: dict[str, str] = {}
    for operation, name in choices:
        if operation in OPERATIONS and name != "default" and _found(operation, name) is None:
            import_installed(GROUP)
        if not _has_choice(operation):
            known = ", ".join(choosable())
            raise UsageError(f"there is no choice of algorithms for {operation!r}: there is for {known}")
        if name == "default":
            forced.pop(operation, None)
            continue
        forced[operation] = _named(operation, name).name
    if "reduce_scatter" in forced:
        forced["reduce_scatter_block"] = forced["reduce_scatter"]
    return Selection(table, MappingProxyType(forced))


def choosable() -> tuple[str, ...]:
    """The operations that have several algorithms."""
    return tuple(filter(_has_choice, OPERATIONS))


def _has_choice(operation: str) -> bool:
    follows = operation == "reduce_scatter_block"  # it uses what reduce_scatter does
    return operation in OPERATIONS and not follows and len(algorithms_of(operation)) > 1


def _named(operation: str, name: str) -> Algorithm:
    """The algorithm with a name of ours or of SimGrid's."""
    found = _found(operation, name)
    if found is None:
        shown = [_shown(each) for _, each in sorted(algorithms_of(operation).items())]
        raise UsageError(f"{operation} has no algorithm {name!r}: it has {', '.join(shown)}")
    return found


def _found(operation: str, name: str) -> Algorithm | None:
    known = algorithms_of(operation)
    theirs = (algorithm for algorithm in known.values() if name in algorithm.simgrid_names)
    return next(theirs, known.get(name))


def _shown(algorithm: Algorithm) -> str:
    theirs = [name for name in algorithm.simgrid_names if name != algorithm.name]
    return algorithm.name + (f" ({', '.join(theirs)})" if theirs else "")


class Algorithms:
    """The algorithms of one world: its selection, and the kernel's numbers for the schedules it has made.

    Parameters
    ----------
    selection : Selection
        Table and forced algorithms of the run.

    Attributes
    ----------
    asked : dict or None
        Operation, algorithm and query of calls by the kernel's number, in a run with a trace: each of them then has a
        number of its own, even where they share a schedule. None without a trace.
    """

    __slots__ = ("_chosen", "_numbers", "_rules", "_told_apart", "asked", "selection")

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.asked: dict[int, tuple[str, str, Query]] | None = None
        self._told_apart: dict[tuple[str, Query, Hosts | None], int] = {}
        self._rules: dict[str, Rules] = {}
        self._chosen: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[tuple[Algorithm, int, int, int, Hosts | None], int] = {}

    def schedule(self, engine: Engine, operation: str, query: Query, hosts: Callable[[], Hosts]) -> int:
        """The kernel's number for the schedule of a call.

        Parameters
        ----------
        engine : Engine
            The world.
        operation : str
            One of `OPERATIONS`.
        query : Query
            Size and properties of the call.
        hosts : callable
            Returns the hosts of the ranks; called only if a rule or the algorithm needs them.
        """
        rules = self._rules.get(operation)
        if rules is None:
            rules = self._rules[operation] = self.selection.rules(operation)
        key: tuple[Any, ...] = (operation, query)
        if rules.host_facts:
            key = (*key, *(fact(hosts()) for fact in rules.host_facts))
        number = self._chosen.get(key)
        if number is None:
            algorithm = rules.choose(query, hosts)
            known_hosts = hosts() if algorithm.knows_hosts else None
            number = self.number(
                engine,
                algorithm,
                query.n_ranks,
                n_remote=query.n_remote,
                item_bytes=query.item_bytes,
                hosts=known_hosts,
            )
            if self.asked is not None:
                number = self._apart(engine, operation, query, algorithm, known_hosts)
            if known_hosts is None:
                if len(self._chosen) == _CHOSEN_MAX:
                    self._chosen.clear()
                self._chosen[key] = number
        return number

    def _apart(self, engine: Engine, operation: str, query: Query, algorithm: Algorithm, hosts: Hosts | None) -> int:
        """A number for this operation, query and algorithm alone, so that a trace can name them."""
        assert self.asked is not None
        key = operation, query, hosts
        number = self._told_apart.get(key)
        if number is None:
            number = self._told_apart[key] = engine.new_schedule(
                _words(algorithm, query.n_ranks, query.n_remote, query.item_bytes, hosts)
            )
            self.asked[number] = operation, algorithm.name, query
        return number

    def number(
        self,
        engine: Engine,
        algorithm: Algorithm,
        n_ranks: int,
        *,
        n_remote: int = 0,
        item_bytes: int = 1,
        hosts: Hosts | None = None,
    ) -> int:
        """The kernel's number for the schedule of an algorithm, made once."""
        key = algorithm, n_ranks, n_remote, item_bytes, hosts
        number = self._numbers.get(key)
        if number is None:
            words = _words(algorithm, n_ranks, n_remote, item_bytes, hosts)
            number = self._numbers[key] = engine.new_schedule(words)
        return number

    def used(self) -> dict[str, list[str]]:
        """The collectives that ranks have called, and the algorithms that were chosen for each."""
        used: dict[str, set[str]] = {}
        for algorithm, *_ in self._numbers:
            used.setdefault(algorithm.operation, set()).add(algorithm.name)
        return {operation: sorted(names) for operation, names in sorted(used.items())}


def _words(algorithm: Algorithm, n_ranks: int, n_remote: int, item_bytes: int, hosts: Hosts | None) -> list[int]:
    """The program of an algorithm, for any of its ranks."""
    call = symbolic_call(algorithm.operation, n_ranks, n_remote=n_remote, item_bytes=item_bytes, hosts=hosts)
    return list(algorithm.make(call).words())


def algorithms_in(engine: Engine) -> Algorithms:
    """The algorithms of the world of `engine`."""
    if engine.algorithms is None:
        engine.algorithms = Algorithms(DEFAULT)
    found: Algorithms = engine.algorithms
    return found


def choose(engine: Engine, selection: Selection) -> None:
    """Have the world of `engine` choose its algorithms by `selection`."""
    engine.algorithms = Algorithms(selection)
