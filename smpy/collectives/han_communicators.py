"""Messages by which Open MPI 5's component han makes communicators of hosts, in the first calls of its collectives.

Open MPI 5.0: coll_han_subcomms.c, coll_han_topo.c, communicator/comm.c and comm_cid.c. Its parts are those of the table
`ON_HOSTS`, because han lets the component tuned perform them. A number for a communicator is found in the first round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.hosts import Hosts
from smpy.collectives.patterns.han import ON_HOSTS
from smpy.collectives.schedule import Schedule

_INT_BYTES: Final = 4
_SIMPLE: Final = frozenset({"barrier", "gather", "allgather"})
"""Operations for which han makes one communicator of each host and one between hosts; for others, two of each."""
_IN_HOST_ORDER: Final = frozenset({"bcast", "reduce", "gather", "scatter", "allgather"})
"""Operations that take the ranks in the order of their hosts."""


def communicators_of(operation: str, hosts: Hosts) -> frozenset[str]:
    """Names, among those of `comm_hosts.SENT_ONCE`, of the messages without which han cannot perform an operation."""
    if hosts.n_hosts == hosts.n_ranks:
        return frozenset({"han"})
    split = "han_simple" if operation in _SIMPLE else "han"
    # Ranks learn their order once, but each operation asks again where hosts have unequal numbers of ranks.
    order = "han_order" if hosts.is_uniform else f"han_order_{operation}"
    return frozenset({split, order} if operation in _IN_HOST_ORDER else {split})


def make_communicators(steps: Schedule, call: Call, operation: str) -> None:
    """Add the messages that han sends before it performs an operation, as far as they are due in the communicator."""
    search, hosts = call.search, call.known_hosts()
    if search is None:
        return
    of_ints = replace(call, item_bytes=_INT_BYTES, commutative=True, is_predefined=True, is_derived=False, parts={})
    for name in sorted(communicators_of(operation, hosts)):
        if not search.take(name):
            continue
        if name.startswith("han_order"):
            _learn_order(steps, of_ints)
        elif hosts.n_hosts == hosts.n_ranks:
            of_ints.add_chosen(steps, "allreduce", _INT_BYTES, table=ON_HOSTS)  # han learns that it has to stand back
        else:
            _make(steps, of_ints, 1 if operation in _SIMPLE else 2)


def _make(steps: Schedule, call: Call, n_each: int) -> None:
    """Make communicators of each host's ranks, as many between hosts, and tell all ranks their numbers there."""
    call.add_chosen(steps, "allreduce", _INT_BYTES, table=ON_HOSTS)
    for operation, n_ints in [("allreduce", 6)] * n_each + [("allgather", 2)] * n_each:
        call.add_chosen(steps, operation, n_ints * _INT_BYTES, table=ON_HOSTS)
        for _ in steps.loop(0, 3):  # agree on a number, check it, and wait for all ranks
            call.add_chosen(steps, "reduce", _INT_BYTES, ranks=call.everyone, table="binomial_tree")
            call.add_chosen(steps, "bcast", _INT_BYTES, ranks=call.everyone, table="binomial_tree")
    call.add_chosen(steps, "allgather", _INT_BYTES, table=ON_HOSTS)


def _learn_order(steps: Schedule, call: Call) -> None:
    """Tell all ranks whether hosts have as many ranks, one behind the other; if as many, the order of all ranks."""
    hosts, local, leaders = call.known_hosts(), call.local, call.leaders
    with steps.when(local.index == 0):
        call.add_chosen(steps, "allreduce", 3 * _INT_BYTES, ranks=leaders, table=ON_HOSTS)
        if hosts.is_uniform and not hosts.is_blocked:
            with steps.fork(1):
                call.add_chosen(steps, "allgather", hosts.n_local_max * _INT_BYTES, ranks=leaders, table="linear")
    call.add_chosen(steps, "bcast", 2 * _INT_BYTES, ranks=local, table=ON_HOSTS)
    steps.join()
    if hosts.is_uniform:
        call.add_chosen(steps, "bcast", 2 * _INT_BYTES * hosts.n_ranks, ranks=local, table=ON_HOSTS)
