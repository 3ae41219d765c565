"""Schedules of one world's collectives: a selection names a call's algorithm, and the kernel numbers its program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

from smpy.collectives.call import Call
from smpy.collectives.comm_hosts import HostSearch, HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.han_communicators import communicators_of, make_communicators
from smpy.collectives.host_search import search_hosts
from smpy.collectives.hosts import Hosts
from smpy.collectives.network_timed import timed_by_network
from smpy.collectives.register import Algorithm, algorithm_for
from smpy.collectives.schedule import Schedule
from smpy.collectives.selection import DEFAULT, Selection
from smpy.collectives.symbolic_call import symbolic_call
from smpy.collectives.tables import Rules, SelectorRow, only_use, table, table_names
from smpy.engine.engine import Engine

_CHOSEN_MAX: Final = 4096


class ScheduleMaker(Protocol):
    """Keeper of programs of schedules, such as an engine."""

    def new_schedule(self, words: Iterable[int]) -> int:
        """Store a program and return its number."""


class _Variant(NamedTuple):
    """All that determines the program of a schedule.

    Attributes
    ----------
    query : Query or None
        The call, for an algorithm that leaves parts to a table.
    due : frozenset of str
        Searches for hosts not yet made in the communicator, as far as the schedule may make them.
    searches_first : bool
        Whether the schedule begins with such a search.
    makes_communicators : bool
        Whether the schedule begins with messages that Open MPI's han sends once.
    parts : tuple of (str, str)
        Algorithm or table for each part of the algorithm.
    """

    algorithm: Algorithm
    n_ranks: int
    n_remote: int
    item_bytes: int
    hosts: Hosts | None = None
    query: Query | None = None
    due: frozenset[str] = frozenset()
    searches_first: bool = False
    makes_communicators: bool = False
    parts: tuple[tuple[str, str], ...] = ()


def _variant(algorithm: Algorithm, row: SelectorRow, query: Query, hosts: HostsOfComm) -> _Variant:
    """Return the variant of an algorithm for a call; a table's row has chosen the algorithm."""
    algorithm.check_ranks(query.n_ranks)
    due = frozenset() if query.n_remote else frozenset(hosts.search.due)
    makes_communicators = row.makes_communicators and not due.isdisjoint(
        communicators_of(algorithm.operation, hosts.known())
    )
    searches_first = row.searches_hosts and hosts.search.is_due and not query.n_remote
    has_parts = algorithm.chooses or makes_communicators
    needs_hosts = algorithm.knows_hosts or has_parts or searches_first
    return _Variant(
        algorithm,
        query.n_ranks,
        query.n_remote,
        query.item_bytes,
        hosts.known() if needs_hosts else None,
        query if has_parts else None,
        due if has_parts else due & {""} if searches_first else frozenset(),
        searches_first,
        makes_communicators,
        row.parts,
    )


def _search_of(variant: _Variant) -> HostSearch:
    """The state of host searches at the begin of a variant."""
    search = HostSearch(is_due=False)
    search.due |= variant.due
    return search


class Algorithms:
    """The algorithms of one world: its selection, and the kernel's numbers of the schedules made so far.

    Parameters
    ----------
    selection : Selection
        Table and forced algorithms of the run.

    Attributes
    ----------
    asked : dict or None
        Operation, algorithm and query of calls by the kernel's number, in a run with a trace: each of them then has a
        number of its own, even where they share a schedule. None without a trace.
    chosen_by : dict
        Keys of the parts (see `part`) that have chosen the algorithms of such calls, by the kernel's number.
    """

    __slots__ = (
        "_chosen",
        "_key",
        "_numbers",
        "_parts",
        "_rules",
        "_traced_numbers",
        "_under_way",
        "asked",
        "chosen_by",
        "selection",
    )

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.asked: dict[int, tuple[str, str, Query]] | None = None
        self.chosen_by: dict[int, Any] = {}
        self._key: Any = None
        self._under_way: list[tuple[str, str, int, int]] = []
        self._parts: dict[Any, Algorithms] = {}
        self._traced_numbers: dict[tuple[Any, str, Query, _Variant], int] = {}
        self._rules: dict[str, Rules] = {}
        self._chosen: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[_Variant, tuple[int, frozenset[str]]] = {}

    def schedule(self, engine: ScheduleMaker, operation: str, query: Query, hosts: HostsOfComm) -> int:
        """The kernel's number for the schedule of a call.

        Parameters
        ----------
        engine : ScheduleMaker
            The world, or another keeper of programs.
        operation : str
            One of `OPERATIONS`.
        query : Query
            Size and properties of the call.
        hosts : HostsOfComm
            The hosts of the ranks; they are found only if a rule or the algorithm needs them.
        """
        rules = self._rules.get(operation)
        if rules is None:
            rules = self._rules[operation] = self.selection.rules(operation)
        if rules.may_search:
            query = query._replace(has_searched=not hosts.search.is_due)
        key: tuple[Any, ...] = (operation, query)
        if rules.makes_communicators:
            key = (*key, frozenset(hosts.search.due))
        if rules.host_facts:
            key = (*key, *(fact(hosts.known()) for fact in rules.host_facts))
        number = self._chosen.get(key)
        if number is None:
            if self.selection.is_timed(operation):
                variant = _Variant(timed_by_network(operation, self.selection.network_model), query.n_ranks, 0, 1)
            else:
                row = rules.row_for(query, hosts.known)
                algorithm = algorithm_for(operation, row.use, commutative=query.commutative)
                variant = _variant(algorithm, row, query, hosts)
            number = self._number(engine, variant, hosts.search)
            if self.asked is not None:
                number = self._traced_number(engine, operation, query, variant)
            if variant.hosts is None:
                if len(self._chosen) == _CHOSEN_MAX:
                    self._chosen.clear()
                self._chosen[key] = number
        return number

    def part(self, key: Hashable, new_selection: Callable[[], Selection]) -> Algorithms:
        """The algorithms of a part of the world's communicators, with a selection of its own.

        Parameters
        ----------
        key : hashable
            Name of the part; not None.
        new_selection : callable
            Returns the selection; called on the first use of the part.
        """
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = Algorithms(new_selection())
            part._key, part.asked, part.chosen_by = key, self.asked, self.chosen_by
            part._numbers, part._traced_numbers = self._numbers, self._traced_numbers
        return part

    def _traced_number(self, engine: ScheduleMaker, operation: str, query: Query, variant: _Variant) -> int:
        """The kernel's number used for only this operation, query and algorithm, so that a trace can name them."""
        assert self.asked is not None
        key = self._key, operation, query, variant
        number = self._traced_numbers.get(key)
        if number is None:
            words = self._words(variant, _search_of(variant))
            number = self._traced_numbers[key] = engine.new_schedule(words)
            self.asked[number] = operation, variant.algorithm.name, query
            if self._key is not None:
                self.chosen_by[number] = self._key
        return number

    def number(
        self,
        engine: ScheduleMaker,
        algorithm: Algorithm,
        n_ranks: int,
        *,
        n_remote: int = 0,
        item_bytes: int = 1,
        hosts: Hosts | None = None,
        query: Query | None = None,
    ) -> int:
        """The kernel's number for the schedule of an algorithm, made once."""
        variant = _Variant(algorithm, n_ranks, n_remote, item_bytes, hosts, query)
        return self._number(engine, variant, HostSearch(is_due=False))

    def _number(self, engine: ScheduleMaker, variant: _Variant, search: HostSearch) -> int:
        """The kernel's number of a variant; host searches that its schedule makes are no longer due."""
        known = self._numbers.get(variant)
        if known is None:
            own = _search_of(variant)
            number = engine.new_schedule(self._words(variant, own))
            known = self._numbers[variant] = number, frozenset(variant.due - own.due)
        search.due -= known[1]
        return known[0]

    def _words(self, variant: _Variant, search: HostSearch) -> list[int]:
        """The program of a variant, for any of its ranks."""
        algorithm, query = variant.algorithm, variant.query
        call = symbolic_call(
            algorithm.operation,
            variant.n_ranks,
            n_remote=variant.n_remote,
            item_bytes=variant.item_bytes,
            hosts=variant.hosts,
            nbytes=None if query is None else query.nbytes,
        )
        if query is not None:
            call = replace(
                call,
                search=search,
                choose=self.chosen_part,
                parts=dict(variant.parts),
                commutative=query.commutative,
                is_predefined=query.is_predefined,
                is_derived=query.is_derived,
                total_bytes=query.total_bytes or 0,
                in_parts=query.in_parts,
            )
        steps = Schedule(call)
        if variant.searches_first:
            search_hosts(steps, replace(call, search=search))
        if variant.makes_communicators:
            make_communicators(steps, call, algorithm.operation)
        steps.extend(self._schedule_of(algorithm, call))
        return steps.words()

    def _schedule_of(self, algorithm: Algorithm, call: Call) -> Schedule:
        """The schedule of an algorithm; the algorithms of its parts may be chosen."""
        nbytes = call.nbytes if isinstance(call.nbytes, int) else -1
        self._under_way.append((algorithm.operation, algorithm.name, call.n_ranks, nbytes))
        try:
            return algorithm.make(call)
        finally:
            self._under_way.pop()

    def chosen_part(self, operation: str, call: Call, by: str | None) -> Schedule:
        """The schedule of a part of a call, by the run's choice, a table or a named algorithm."""
        if not isinstance(call.nbytes, int):
            raise TypeError(f"a table chooses {operation} by a number of bytes, not by a formula")
        if by is None:
            rules = self.selection._replace(network_model="").rules(operation)
            if (operation, self.selection.forced.get(operation), call.n_ranks, call.nbytes) in self._under_way:
                # Leave the choice to the table: otherwise an algorithm would contain itself without end.
                rules = self.selection._replace(forced={}, network_model="").rules(operation)
        else:
            rules = table(by)[operation] if by in table_names() else only_use(operation, by)
        query = Query(
            call.n_ranks,
            call.nbytes,
            commutative=call.commutative,
            item_bytes=call.item_bytes,
            n_entries=call.nbytes // call.item_bytes,
            is_predefined=call.is_predefined,
            is_derived=call.is_derived,
            is_part=call.is_part,
            has_searched=call.search is not None and not call.search.is_due,
        )
        row = rules.row_for(query, lambda: call.hosts or Hosts(range(call.n_ranks)))
        steps = Schedule(call)
        if row.searches_hosts:
            search_hosts(steps, call)
        if row.makes_communicators:
            make_communicators(steps, call, operation)
        algorithm = algorithm_for(operation, row.use, commutative=call.commutative)
        algorithm.check_ranks(call.n_ranks)
        steps.extend(self._schedule_of(algorithm, replace(call, parts=dict(row.parts), n_loops=steps.n_loops)))
        return steps

    def used(self) -> dict[str, list[str]]:
        """The operations called so far, with the names of their algorithms."""
        used: dict[str, set[str]] = {}
        for variant in self._numbers:
            used.setdefault(variant.algorithm.operation, set()).add(variant.algorithm.name)
        return {operation: sorted(names) for operation, names in sorted(used.items())}


def algorithms_in(engine: Engine) -> Algorithms:
    """The algorithms of the world of `engine`."""
    if engine.algorithms is None:
        engine.algorithms = Algorithms(DEFAULT)
    algorithms: Algorithms = engine.algorithms
    return algorithms


def choose(engine: Engine, selection: Selection) -> None:
    """Make the world of `engine` choose its algorithms by `selection`."""
    engine.algorithms = Algorithms(selection)
