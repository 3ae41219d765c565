"""Register of algorithms: a decorator adds them, and the modules of an operation are imported on first use.

An installed package names the modules of its algorithms as entry points of the group `smpy.algorithms`. They are
imported when a run names an algorithm that smpy lacks.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule
from smpy.errors import UsageError

Maker = Callable[[Call], Schedule]
GROUP: Final = "smpy.algorithms"

_MODULES: Final = {
    "gatherv": "gather",
    "scatterv": "scatter",
    "allgatherv": "allgather",
    "alltoallv": "alltoall",
    "alltoallw": "alltoall",
    "reduce_scatter_block": "reduce_scatter",
    "split": "gather",
    "exscan": "scan",
}
"""The module of each operation that shares the one of another operation."""
BLOCKING: Final = (
    *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
    *("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"),
    *("scan", "exscan", "neighbour"),
)
_WITHIN_A_GROUP: Final = ("scan", "exscan", "neighbour")
NON_BLOCKING: Final = tuple(f"i{operation}" for operation in BLOCKING)
BETWEEN_GROUPS: Final = tuple(
    f"inter_{form}{operation}" for form in ("", "i") for operation in BLOCKING if operation not in _WITHIN_A_GROUP
)
SPLIT: Final = "split"
"""The gather that collects the colors of a communicator's split; a table chooses it, never a forced gather."""
OPERATIONS: Final = (*BLOCKING, SPLIT, *NON_BLOCKING, *BETWEEN_GROUPS)
"""
Operations that have algorithms. Non-blocking ones begin with an "i", and their schedules only start things; those
between two groups begin with "inter_", and each side has a schedule of its own. The messages of an ibarrier do not hold
ranks back: its caller adds a latch that does.
"""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to perform an operation.

    Attributes
    ----------
    operation, name : str
        The operation that it performs, and its name in tables, options and records.
    make : callable
        Returns its schedule for a call.
    source : str
        The paper or the code it is known from.
    simgrid_names : tuple of str
        SimGrid's names for it.
    knows_hosts : bool
        Whether it depends on which ranks share a host.
    chooses : bool
        Whether it leaves parts to a table, or searches for hosts; each schedule then holds for one size only.
    only_ranks : int or None
        The only number of ranks that it works for; None for any.
    in_order : str
        The algorithm that replaces it for operations that are not commutative; "" if it keeps their order, or has no
        replacement.
    """

    operation: str
    name: str
    make: Maker
    source: str
    simgrid_names: tuple[str, ...] = ()
    knows_hosts: bool = False
    chooses: bool = False
    only_ranks: int | None = None
    in_order: str = ""

    def __str__(self) -> str:
        return f"{self.operation}:{self.name}"

    def check_ranks(self, n_ranks: int) -> None:
        """Refuse a number of ranks that the algorithm does not support.

        Raises
        ------
        UsageError
            If it works for another number alone.
        """
        if self.only_ranks not in (None, n_ranks):
            raise UsageError(
                f"{self.operation}: the algorithm {self.name!r} wants {self.only_ranks} ranks; this communicator has "
                f"{n_ranks}: choose another one, such as with --algorithm {self.operation}=NAME"
            )


_algorithms: Final[dict[str, dict[str, Algorithm]]] = {operation: {} for operation in OPERATIONS}


def algorithm(
    operation: str | Iterable[str],
    name: str,
    *,
    source: str,
    simgrid: str | Iterable[str] = (),
    knows_hosts: bool = False,
    chooses: bool = False,
    only_ranks: int | None = None,
    in_order: str = "",
) -> Callable[[Maker], Maker]:
    """Register a function of a `Call` as an algorithm.

    Parameters
    ----------
    operation : str or iterable of str
        The operations that it performs, one or several of `OPERATIONS`.
    name : str
        Name in tables and options: the field's full name for it.
    source : str
        The paper or the code it is known from.
    simgrid : str or iterable of str
        SimGrid's name for it, if SimGrid has it: `tests/peer` then compares the two.
    knows_hosts : bool
        Whether it uses `Call.local` or `Call.leaders`: every placement of the ranks then has its own schedule.
    chooses : bool
        Whether it leaves parts to a table (`Call.add_chosen`) or searches for hosts (`Call.search`): it knows the
        hosts, `Call.nbytes` is a number where blocks are equal, and it has a schedule for every query.
    only_ranks : int
        The only number of ranks that it works for; a communicator of another size is refused.
    in_order : str
        The algorithm of the operation that takes its place where a reduction must keep the order of the ranks.

    Raises
    ------
    ValueError
        If there is no such operation, or if it has another algorithm of that name.
    """
    operations = (operation,) if isinstance(operation, str) else tuple(operation)
    names = (simgrid,) if isinstance(simgrid, str) else tuple(simgrid)

    def register(make: Maker) -> Maker:
        is_ours = make.__module__.startswith(f"{__package__}.")
        for each in operations:
            known = _known(each) if is_ours else algorithms_of(each)  # smpy's own come first
            if name in known:
                theirs, ours = known[name].make.__module__, make.__module__
                raise ValueError(f"{each} has an algorithm {name!r} in {theirs}: give the one in {ours} another name")
            known[name] = Algorithm(each, name, make, source, names, knows_hosts, chooses, only_ranks, in_order)
        return make

    return register


def algorithms_of(operation: str) -> dict[str, Algorithm]:
    """The algorithms of an operation by their names.

    Raises
    ------
    ValueError
        If there is no such operation.
    """
    known = _known(operation)
    if operation.startswith("inter_"):
        _find("between_groups")
    else:
        blocking = operation if operation in BLOCKING else operation.removeprefix("i")
        _find(_MODULES.get(blocking, blocking))
    return known


def algorithm_of(operation: str, name: str) -> Algorithm:
    """The algorithm of an operation by our name, or else by SimGrid's.

    Raises
    ------
    UsageError
        If it has none.
    """
    named = find_algorithm(operation, name)
    if named is None:
        raise UsageError(f"{operation} has no algorithm {name!r}")
    return named


def find_algorithm(operation: str, name: str) -> Algorithm | None:
    """The algorithm of an operation by our name or SimGrid's; None if there is none."""
    known = algorithms_of(operation)
    theirs = (algorithm for algorithm in known.values() if name in algorithm.simgrid_names)
    return known.get(name) or next(theirs, None)


def _known(operation: str) -> dict[str, Algorithm]:
    """The algorithms of an operation registered so far."""
    if operation not in _algorithms:
        raise ValueError(f"there is no operation {operation!r}: there are {', '.join(OPERATIONS)}")
    return _algorithms[operation]


def algorithm_for(operation: str, name: str, *, commutative: bool) -> Algorithm:
    """The algorithm with a name, or its replacement for operations that are not commutative."""
    named = algorithm_of(operation, name)
    return named if commutative or not named.in_order else algorithm_of(operation, named.in_order)


@functools.cache
def _find(name: str) -> None:
    """Import the module of an operation, or the modules of its folder, once."""
    imported = importlib.import_module(f"{__package__}.{name}")
    for module in pkgutil.iter_modules(getattr(imported, "__path__", ()), f"{imported.__name__}."):
        importlib.import_module(module.name)
