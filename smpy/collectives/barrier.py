"""Algorithms of MPI_Barrier."""

from __future__ import annotations

from smpy.collectives.bcast.one_level import down
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to, powers_of_two_below
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

# ---- rounds of growing distance ----


@algorithm("barrier", "dissemination", simgrid="ompi_bruck", source="Hensgen, Finkel & Manber 1988")
def dissemination(call: Call) -> Schedule:
    """Send to the rank 1, 2, 4, ... ahead and receive from the one behind: ceil(log2 p) rounds for any p ranks."""
    rank, n_ranks = call.rank, call.n_ranks
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        steps.exchange((rank + reach) % n_ranks, 0, (rank - reach) % n_ranks, 0)
        reach *= 2
    return steps


@algorithm(
    "barrier",
    "recursive_doubling",
    simgrid=("ompi_recursivedoubling", "mvapich2_pair"),
    source="Open MPI, recursive doubling barrier; MVAPICH2, pairwise barrier",
)
def recursive_doubling(call: Call) -> Schedule:
    """Exchange among the first P ranks; a rank from P on exchanges with rank - P before and receives from it after."""
    rank, n_ranks = call.rank, call.n_ranks
    steps, power = Schedule(call), power_of_two_up_to(n_ranks)
    rest = n_ranks - power
    with steps.when(rank >= power):
        steps.exchange(rank - power, 0, rank - power, 0)
    with steps.when(rank < rest):
        steps.recv(rank + power, 0)
    with steps.when(rank < power):
        for mask in powers_of_two_below(power):
            steps.exchange(rank ^ mask, 0, rank ^ mask, 0)
    with steps.when(rank < rest):
        steps.send(rank + power, 0)
    return steps


@algorithm("barrier", "two_ranks", simgrid="ompi_two_procs", source="Open MPI, two_procs barrier", only_ranks=2)
def two_ranks(call: Call) -> Schedule:
    """Exchange of empty messages between two ranks."""
    steps = Schedule(call)
    steps.exchange(1 - call.rank, 0, 1 - call.rank, 0)
    return steps


# ---- rank 0 answers all ----


@algorithm("barrier", "linear", simgrid="ompi_basic_linear", source="Open MPI, basic linear barrier")
def linear(call: Call) -> Schedule:
    """Send from all ranks to rank 0, then from rank 0 to all."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    with steps.when(rank != 0):
        steps.send(0, 0)
        steps.recv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, n_ranks):
            steps.irecv(peer, 0)
        steps.wait_all()
        for peer in steps.loop(1, n_ranks):
            steps.isend(peer, 0)
        steps.wait_all()
    return steps


@algorithm("ibarrier", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Send from all ranks to rank 0, which answers all without waiting for their messages.

    SMPI's rank 0 receives the messages in order of arrival; here it receives them in rank order.
    """
    rank = call.rank
    steps = Schedule(call)
    with steps.when(rank != 0):
        steps.isend(0, 0)
        steps.irecv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps


# ---- a ring and a tree ----


@algorithm("barrier", "double_ring", simgrid="ompi_doublering", source="Open MPI, double ring barrier")
def double_ring(call: Call) -> Schedule:
    """Pass a token twice round all ranks, from rank 0."""
    rank, ranks = call.rank, call.everyone
    steps = Schedule(call)
    for _ in steps.loop(0, 2 if call.n_ranks > 1 else 0):
        with steps.when(rank != 0):
            steps.recv(ranks.behind(1), 0)
        steps.send(ranks.ahead(1), 0)
        with steps.when(rank == 0):
            steps.recv(ranks.behind(1), 0)
    return steps


@algorithm("barrier", "binomial_tree", simgrid="ompi_tree", source="Open MPI, tree barrier")
def up_and_down(call: Call) -> Schedule:
    """Go up a binomial tree to rank 0 and down again."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.everyone, 0)
    binomial_tree.broadcast(steps, call.everyone, 0)
    return steps


# ---- hosts first ----


@algorithm("barrier", "hosts_first", simgrid="mpich_smp", source="MPICH 3, SMP barrier", chooses=True)
def hosts_first(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and a byte from each first rank to the ranks of its host."""
    steps = Schedule(call)
    search_hosts(steps, call)
    call.add(steps, dissemination, call.local, 0)
    with steps.when(call.local.index == 0):
        call.add(steps, dissemination, call.leaders, 0)
    call.add(steps, down, call.local, 1)
    return steps


@algorithm("barrier", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and a byte from each first rank to the ranks of its host.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    return _ended(call, "bcast", 1)


@algorithm("barrier", "han", source="Open MPI 5.0, coll_han_barrier.c", chooses=True)
def han(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and one on each host again.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    return _ended(call, "barrier", 0)


def _ended(call: Call, operation: str, nbytes: int) -> Schedule:
    """A barrier on each host and one among first ranks, of which another operation on each host tells the others."""
    steps = Schedule(call)
    on_hosts(steps, call, "barrier", 0)
    among_leaders(steps, call, "barrier", 0)
    on_hosts(steps, call, operation, nbytes)
    return steps
