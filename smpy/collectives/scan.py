"""Algorithms of MPI_Scan and MPI_Exscan."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, larger

# ---- recursive doubling ----


_DOUBLING: Final = "MPICH, recursive doubling"


@algorithm("scan", "recursive_doubling", source=_DOUBLING)
def recursive_doubling(call: Call) -> Schedule:
    """Exchange the reduction of the own subtree with each partner; a rank without a partner needs nothing.

    The partner's operand is reduced with that of the own subtree, and if its ranks are before this one with the result.
    """
    return _doubling(call, is_exclusive=False)


@algorithm("exscan", "recursive_doubling", source=_DOUBLING)
def exclusive_doubling(call: Call) -> Schedule:
    """`recursive_doubling` in which the first operand of ranks before this one becomes the result."""
    return _doubling(call, is_exclusive=True)


def _doubling(call: Call, *, is_exclusive: bool) -> Schedule:
    rank, nbytes = call.rank, call.nbytes
    steps = Schedule(call)
    for mask in powers_of_two_below(call.n_ranks):
        has_operand_before = (rank & (mask - 1) != 0) if is_exclusive else True
        with steps.when(rank ^ mask < call.n_ranks):
            steps.exchange(rank ^ mask, nbytes, rank ^ mask, nbytes)
            steps.combine(nbytes)
            with steps.when((rank & mask != 0) & has_operand_before):
                steps.combine(nbytes)
    return steps


# ---- every rank sends to all ranks after it ----


_LINEAR: Final = "SimGrid 3.32, smpi_default_selector.cpp"


@algorithm(("iscan", "iexscan"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Receive from all ranks before this one and send to all after it."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.rank):
        steps.irecv(peer, call.nbytes)
    for peer in steps.loop(call.rank + 1, call.n_ranks):
        steps.isend(peer, call.nbytes)
    return steps


@algorithm("scan", "linear", source=_LINEAR)
def linear(call: Call) -> Schedule:
    """Receive from all ranks before this one and reduce their vectors with the own one."""
    steps = start(call)
    steps.wait_all()
    steps.combine(call.rank * call.nbytes)
    return steps


@algorithm("exscan", "linear", source=_LINEAR)
def exclusive_linear(call: Call) -> Schedule:
    """Receive from all ranks before this one and reduce their vectors."""
    steps = start(call)
    steps.wait_all()
    steps.combine(larger(0, call.rank - 1) * call.nbytes)
    return steps


# ---- on each host and among the first ranks of hosts, by tables that a row names ----


_FLAG_BYTES: Final = 4


@algorithm("scan", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Scan on each host, scan the hosts' results among first ranks, and broadcast the prefix of earlier hosts on each.

    The last rank of a host sends its result to the first one. The first rank sends the result of the scan among first
    ranks to that of the next host. A flag says on each host whether there are earlier ranks. Where the ranks of a
    host are not consecutive, recursive doubling among all ranks is used. Parts: the tables "leaders" and "local"; by
    default, the run's.
    """
    steps, nbytes, local, leaders = Schedule(call), call.nbytes, call.local, call.leaders
    assert isinstance(nbytes, int)  # a choosing algorithm
    if not call.known_hosts().is_blocked:
        return recursive_doubling(call)
    last = local.size - 1
    call.add_chosen(steps, "scan", nbytes, ranks=local, table=call.parts.get("local"))
    with steps.when((local.index == last) & (local.index > 0)):
        steps.send(local[0], nbytes)
    with steps.when(local.index == 0):
        with steps.when(last > 0):
            steps.recv(local[last], nbytes)
        call.add_chosen(steps, "scan", nbytes, ranks=leaders, table=call.parts.get("leaders"))
        with steps.when(leaders.index < leaders.size - 1):
            steps.send(leaders.ahead(1), nbytes)
        with steps.when(leaders.index > 0):
            steps.recv(leaders.behind(1), nbytes)
    call.add_chosen(steps, "bcast", _FLAG_BYTES, ranks=local, table=call.parts.get("local"))
    with steps.when(leaders.index > 0):
        call.add_chosen(steps, "bcast", nbytes, ranks=local, table=call.parts.get("local"))
        steps.combine(nbytes)
    return steps
