"""Facts of a collective call that rows of a table may test.

A fact is a decorated function, and rows test it by its name: a new fact is a new function. A row may bound a numeric
fact with "_max" or "_min" after its name. A fact is computed only when a row tests it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from smpy.collectives.hosts import Hosts
from smpy.collectives.patterns.powers_of_two import is_power_of_two as _is_power_of_two


class Query(NamedTuple):
    """A collective call for which an algorithm is to be chosen; all its ranks agree on it.

    Attributes
    ----------
    n_ranks : int
        Size of the communicator, or of the caller's group.
    nbytes : int
        See `Call`.
    n_remote : int
        Size of the other group; 0 when there is none.
    commutative : bool
        Whether a reduction may reorder its operands.
    item_bytes : int
        Size of an entry of a reduction.
    n_entries : int
        Entries of the whole vector of a reduction, or of all blocks of an allgatherv.
    total_bytes : int or None
        All ranks' blocks together; None when they are equal.
    is_predefined : bool
        Whether a reduction's operation is MPI's own, and not the program's.
    is_derived : bool
        Whether its datatype is not a basic one.
    are_equal : bool
        Whether the blocks of a reduce_scatter are equal.
    in_parts : bool
        Whether an allgatherv passes the parts of its blocks (`parts.ring_parts`).
    is_part : bool
        Whether the ranks are a part of a call of another algorithm: the ranks of a host, or one rank per host.
    has_searched : bool
        Whether SMPI's search for hosts has been made among the ranks.
    """

    n_ranks: int
    nbytes: int
    n_remote: int = 0
    commutative: bool = True
    item_bytes: int = 1
    n_entries: int = 0
    total_bytes: int | None = None
    is_predefined: bool = True
    is_derived: bool = False
    are_equal: bool = True
    in_parts: bool = False
    is_part: bool = False
    has_searched: bool = False


Value = int | float | bool | str
Fact = Callable[[Query], Value]
HostFact = Callable[[Hosts], Value]
F = TypeVar("F", bound=Fact)
H = TypeVar("H", bound=HostFact)

FACTS: Final[dict[str, Fact]] = {}
HOST_FACTS: Final[dict[str, HostFact]] = {}


def fact(function: F) -> F:
    """Register a function of a `Query` as a fact that rows of tables may test by its name."""
    _check_new(function.__name__)
    FACTS[function.__name__] = function
    return function


def fact_of_hosts(function: H) -> H:
    """Register a function of the ranks' `Hosts` as a fact that rows of tables may test by its name."""
    _check_new(function.__name__)
    HOST_FACTS[function.__name__] = function
    return function


def _check_new(name: str) -> None:
    if name in FACTS or name in HOST_FACTS:
        raise ValueError(f"there is a fact {name!r} already: give this one another name")


@fact
def ranks(query: Query) -> int:
    """Size of the communicator."""
    return query.n_ranks


@fact
def bytes(query: Query) -> int:  # noqa: A001  # the name in tables
    """The message, or one block."""
    return query.nbytes


@fact
def total_bytes(query: Query) -> int:
    """All ranks' blocks together."""
    return query.n_ranks * query.nbytes if query.total_bytes is None else query.total_bytes


@fact
def mean_bytes(query: Query) -> int:
    """All ranks' blocks together, divided by the number of ranks and rounded down."""
    return total_bytes(query) // query.n_ranks


@fact
def mean_bytes_up(query: Query) -> int:
    """All ranks' blocks together, divided by the number of ranks and rounded up."""
    return -(-total_bytes(query) // query.n_ranks)


@fact
def entries(query: Query) -> int:
    """Entries of the whole vector of a reduction, or of all blocks of an allgatherv."""
    return query.n_entries


@fact
def commutative(query: Query) -> bool:
    """Whether a reduction may reorder its operands."""
    return query.commutative


@fact
def is_predefined(query: Query) -> bool:
    """Whether a reduction's operation is MPI's own."""
    return query.is_predefined


@fact
def is_derived(query: Query) -> bool:
    """Whether the datatype of a reduction is not a basic one."""
    return query.is_derived


@fact
def are_equal(query: Query) -> bool:
    """Whether the blocks of a reduce_scatter are equal."""
    return query.are_equal


@fact
def is_part(query: Query) -> bool:
    """Whether the ranks are a part of a call of another algorithm."""
    return query.is_part


@fact
def has_searched(query: Query) -> bool:
    """Whether SMPI's search for hosts has been made among the ranks."""
    return query.has_searched


@fact
def is_power_of_two(query: Query) -> bool:
    """Whether there are 1, 2, 4, ... ranks."""
    return _is_power_of_two(query.n_ranks)


@fact
def is_even(query: Query) -> bool:
    """Whether the number of ranks is even."""
    return query.n_ranks % 2 == 0


@fact
def has_entry_each(query: Query) -> bool:
    """Whether a reduction has at least as many entries as the largest power of two up to the number of ranks."""
    return 2 * query.n_entries >= 1 << query.n_ranks.bit_length()


@fact_of_hosts
def is_hierarchical(hosts: Hosts) -> bool:
    """Whether the ranks are on several hosts, and some host has several of them."""
    return 1 < hosts.n_hosts < hosts.n_ranks


@fact_of_hosts
def are_on_several_hosts(hosts: Hosts) -> bool:
    """Whether the ranks are on several hosts."""
    return hosts.n_hosts > 1


@fact_of_hosts
def shares_hosts(hosts: Hosts) -> bool:
    """Whether some host has several of the ranks, even if there is only one host."""
    return hosts.n_hosts < hosts.n_ranks


@fact_of_hosts
def is_uniform(hosts: Hosts) -> bool:
    """Whether the same number of ranks is on each host."""
    return hosts.is_uniform


@fact_of_hosts
def is_blocked(hosts: Hosts) -> bool:
    """Whether the ranks of each host are consecutive."""
    return hosts.is_blocked


@fact_of_hosts
def ranks_per_host(hosts: Hosts) -> int:
    """Ranks on each host; 1 if hosts have different numbers."""
    return hosts.n_local_max if hosts.is_uniform else 1
