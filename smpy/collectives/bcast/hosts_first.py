"""Broadcast between hosts, and then within them.

SimGrid's own algorithms assume that consecutive ranks share a host (`patterns.consecutive_hosts`). Where hosts have
unequal numbers of ranks, they follow MPICH's rule for ranks on one level.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.bcast.first_rank import relay_from_first
from smpy.collectives.bcast.scattered import scatter_recursive_doubling_allgather, scatter_ring_allgather
from smpy.collectives.bcast.trees import down
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts, search_on_hosts
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.consecutive_hosts import consecutive_hosts, n_local_if_uniform
from smpy.collectives.patterns.linear import hand_over
from smpy.collectives.patterns.segments import End
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

_SHORT_BYTES: Final = 16_384
_LARGE_BYTES: Final = 512 << 10
_TWO_LEVEL_RANKS: Final = 64
_KNOMIAL_BYTES: Final = 131_072


def one_level(call: Call) -> Schedule:
    """MPICH's rule for ranks on one level: a binomial tree, or a scatter and an allgather (SimGrid 3.32, mpich)."""
    nbytes, n_ranks = call.nbytes, call.n_ranks
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    if nbytes < 12_288 or n_ranks <= 8:
        return down(call)
    if nbytes < _LARGE_BYTES and n_ranks % 2 == 0:
        return scatter_recursive_doubling_allgather(call)
    return scatter_ring_allgather(call)


@algorithm(
    "bcast",
    "hosts_first_binary_tree",
    simgrid="SMP_binary",
    source="SimGrid 3.32, bcast-SMP-binary.cpp",
    chooses=True,
)
def hosts_first_binary_tree(call: Call) -> Schedule:
    """Send segments of 8 KiB along a binary tree of first ranks, and along another on each host."""
    steps, rank, n_ranks = Schedule(call), call.rank, call.n_ranks
    search_hosts(steps, call)
    n_local = n_local_if_uniform(call)
    if n_local == 0:
        call.add(steps, one_level, call.everyone, call.nbytes, call.root)
        return steps
    host, index = rank // n_local, rank % n_local
    first = host * n_local
    is_leader = index == 0
    source = (host - 1) // 2 * n_local * is_leader + (first + (index - 1) // 2) * (is_leader == 0)
    targets = [End(is_leader & (n_local * child < n_ranks), n_local * child) for child in (2 * host + 1, 2 * host + 2)]
    targets += [End(child < n_local, first + child) for child in (2 * index + 1, 2 * index + 2)]
    relay_from_first(steps, call, End(rank > 0, source), targets, is_started=False)
    return steps


@algorithm(
    "bcast",
    "hosts_first_binomial_tree",
    simgrid="SMP_binomial",
    source="SimGrid 3.32, bcast-SMP-binomial.cpp",
    chooses=True,
)
def hosts_first_binomial_tree(call: Call) -> Schedule:
    """Send through rank 0 along a binomial tree of first ranks, and along another on each host."""
    steps = Schedule(call)
    search_hosts(steps, call)
    if n_local_if_uniform(call) == 0:
        call.add(steps, one_level, call.everyone, call.nbytes, call.root)
        return steps
    local, leaders = consecutive_hosts(call)
    hand_over(steps, call, call.root, 0, call.nbytes)
    with steps.when(local.index == 0):
        binomial_tree.broadcast(steps, leaders, call.nbytes)
    binomial_tree.broadcast(steps, local, call.nbytes)
    return steps


@algorithm(
    "bcast", "hosts_first_chain", simgrid="SMP_linear", source="SimGrid 3.32, bcast-SMP-linear.cpp", chooses=True
)
def hosts_first_chain(call: Call) -> Schedule:
    """Send segments of 8 KiB along a chain of first ranks, and along another on each host.

    If there is only one host, a binomial tree is used.
    """
    steps, rank, n_ranks = Schedule(call), call.rank, call.n_ranks
    search_hosts(steps, call)
    n_local = n_local_if_uniform(call)
    if n_local in (0, n_ranks):
        call.add(steps, down if n_local else one_level, call.everyone, call.nbytes, call.root)
        return steps
    index = rank % n_local
    is_leader = index == 0
    source = rank - is_leader * n_local - (is_leader == 0)
    targets = [
        End(is_leader & (rank + n_local < n_ranks), rank + n_local),
        End(index < n_local - 1, rank + 1),
    ]
    relay_from_first(steps, call, End(rank > 0, source), targets, is_started=False)
    return steps


@algorithm(
    "bcast",
    "knomial_tree",
    simgrid="mvapich2_knomial_intra_node",
    source="MVAPICH2, k-nomial broadcast; SimGrid 3.32, bcast-mvapich-smp.cpp",
    chooses=True,
)
def knomial_tree(call: Call) -> Schedule:
    """A binomial-like tree to base 4: the ranks 1, 2 and 3 times a power of 4 ahead are children."""
    steps = Schedule(call)
    search_hosts(steps, call)
    knomial.broadcast(steps, call.from_root, call.nbytes)
    return steps


def _knomial(call: Call) -> Schedule:
    steps = Schedule(call)
    knomial.broadcast(steps, call.from_root, call.nbytes)
    return steps


@algorithm(
    "bcast",
    "mvapich2_between_hosts",
    simgrid="mvapich2_inter_node",
    source="MVAPICH2, inter-node broadcast; SimGrid 3.32, bcast-mvapich-smp.cpp",
    chooses=True,
)
def mvapich2_between_hosts(call: Call) -> Schedule:
    """Send from the root to the first rank of its host, among first ranks by MPICH's rule, then on each host.

    SimGrid does not send to the other ranks of hosts, which then have no data.
    """
    steps = Schedule(call)
    search_hosts(steps, call)
    _between_hosts(steps, call)
    call.add(steps, one_level, call.local, call.nbytes)
    return steps


def _between_hosts(steps: Schedule, call: Call) -> None:
    host_of_root = call.leaders_of_root.index
    hand_over(steps, call, call.root, call.leaders[host_of_root], call.nbytes)
    with steps.when(call.local.index == 0):
        call.add(steps, one_level, call.leaders, call.nbytes, host_of_root)


@algorithm(
    "bcast",
    "mvapich2_two_level",
    simgrid="mvapich2_intra_node",
    source="MVAPICH2, two-level broadcast; SimGrid 3.32, bcast-mvapich-smp.cpp",
    chooses=True,
)
def mvapich2_two_level(call: Call) -> Schedule:
    """Use two levels from 16 to 512 KiB and on more than 64 ranks; else a binomial tree, or a scatter and a ring."""
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if nbytes == 0:
        return steps
    search_hosts(steps, call)
    if call.hosts is not None and (_SHORT_BYTES < nbytes < _LARGE_BYTES or call.n_ranks > _TWO_LEVEL_RANKS):
        _between_hosts(steps, call)
        is_small = nbytes <= _KNOMIAL_BYTES
        root = call.root if is_small and call.hosts.n_hosts == 1 else 0  # SimGrid means the root, whatever its number
        if not is_small:
            search_on_hosts(steps, call)
        call.add(steps, one_level if is_small else _knomial, call.local, nbytes, root)
    else:
        make = down if nbytes <= _SHORT_BYTES else scatter_ring_allgather
        call.add(steps, make, call.everyone, nbytes, call.root)
    return steps
