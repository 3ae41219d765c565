"""Broadcasts between hosts, and then within them.

SimGrid's own algorithms assume that consecutive ranks share a host (`patterns.consecutive_hosts`). Where hosts have
unequal numbers of ranks, they follow MPICH's rule for ranks on one level.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.bcast.one_level import (
    down,
    relay_from_first,
    scatter_recursive_doubling_allgather,
    scatter_ring_allgather,
)
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts, search_on_hosts
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.consecutive_hosts import consecutive_hosts, n_local_if_uniform
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.patterns.linear import and_wait, from_root, hand_over
from smpy.collectives.patterns.segments import End, relay, split
from smpy.collectives.patterns.trees import binary_children, binary_parent
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
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


@algorithm(
    "bcast",
    "split_binary_tree",
    simgrid="ompi_split_bintree",
    source="Open MPI, split binary tree broadcast; SimGrid 3.32, bcast-ompi-split-bintree.cpp",
    chooses=True,
)
def split_binary_tree(call: Call) -> Schedule:
    """Send half of the message down each side of a binary tree, in segments of 1 or 8 KiB; then pairs swap halves.

    If a half is smaller than a segment, the message goes along a chain instead, host by host.
    """
    nbytes, item_bytes, n_ranks = call.nbytes, call.item_bytes, call.n_ranks
    assert isinstance(nbytes, int)  # a choosing algorithm
    if n_ranks == 1:
        return Schedule(call)
    segment = max(1024 if nbytes < 370_728 else 8192, item_bytes) // item_bytes * item_bytes
    first = (nbytes // item_bytes + 1) // 2 * item_bytes
    if nbytes - first < max(segment, 1):
        return hosts_first_chain(call)
    steps, ranks = Schedule(call), call.from_root
    _down(steps, call, (first, nbytes - first), segment)

    is_right = ranks.index % 2 == 0
    mine = first + is_right * (nbytes - 2 * first)
    its = nbytes - mine
    pair = ranks[(ranks.index + 1 - 2 * is_right) % n_ranks]
    has_pair = ranks.index > 0
    if n_ranks % 2 == 0:
        has_pair = has_pair & (ranks.index < n_ranks - 1)
        with steps.when(ranks.index == 0):
            steps.send(ranks[n_ranks - 1], nbytes - first)
        with steps.when(ranks.index == n_ranks - 1):
            steps.recv(ranks[0], nbytes - first)
    with steps.when(has_pair):
        steps.exchange(pair, mine, pair, its)
    return steps


def _down(steps: Schedule, call: Call, halves: tuple[int, int], segment: int) -> None:
    """Send the first half to odd numbers from the root, the left side of the tree, and the second half to even ones."""
    n_ranks, ranks = call.n_ranks, call.from_root
    index, parts = ranks.index, [split(half, segment) for half in halves]
    with steps.when(index == 0):
        for i in steps.loop(0, parts[0].n_segments):
            for side, part in enumerate(parts[: n_ranks - 1]):
                with steps.when(i < part.n_segments):
                    steps.send(ranks[side + 1], part.size(i))
    parent = ranks[binary_parent(index, n_ranks)]
    children = binary_children(index, n_ranks)
    for side, part in enumerate(parts):
        is_mine = (index > 0) & (index % 2 == 1 - side)
        is_leaf = children[0].rank >= n_ranks
        with steps.when(is_mine & is_leaf):
            for i in steps.loop(0, part.n_segments):
                steps.recv(parent, part.size(i))
        with steps.when(is_mine & (is_leaf == 0)):
            steps.irecv(parent, part.size(0))
            for i in steps.loop(1, part.n_segments + 1):
                with steps.when(i < part.n_segments):
                    steps.irecv(parent, part.size(i))
                steps.wait_oldest()
                for child in children:
                    with steps.when(child.exists):
                        steps.send(ranks[child.rank], part.size(i - 1))


# ---- Open MPI 5's han, with libnbc between hosts ----


SEGMENT_BYTES: Final = 65_536
_CHAIN_BYTES: Final = 8192
_FEW_RANKS: Final = 4


def nonblocking_bcast(call: Call) -> Schedule:
    """Libnbc's broadcast of at most one segment: linear for up to four ranks, else along a binomial tree or a chain."""
    nbytes, ranks = call.nbytes, call.from_root
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    if call.n_ranks <= _FEW_RANKS:
        return and_wait(from_root)(call)
    if nbytes < SEGMENT_BYTES:
        return down(call)
    steps = Schedule(call)
    source, target = End(ranks.index > 0, ranks.behind(1)), End(ranks.index < call.n_ranks - 1, ranks.ahead(1))
    relay(steps, source, [target], _CHAIN_BYTES, nbytes // _CHAIN_BYTES, is_started=True)
    return steps


@algorithm("bcast", "han", source="Open MPI 5.0, coll_han_bcast.c, libnbc/nbc_ibcast.c", chooses=True)
def han(call: Call) -> Schedule:
    """Send segments of 64 KiB from the root to the ranks at its position on other hosts, and then on each host.

    The first goes between hosts as the decisions on one level say. Each other one does so while the one before it is
    sent on each host. Where hosts have unequal numbers of ranks, these decisions alone choose.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "bcast", nbytes)
    if levels is None:
        return steps
    local, (index, beside, root_host) = call.local, levels
    n_more, last = divmod(max(nbytes - 1, 0), SEGMENT_BYTES)
    first = SEGMENT_BYTES if n_more else nbytes

    def on_hosts(segment_bytes: int) -> None:
        call.add_chosen(steps, "bcast", segment_bytes, ranks=local, root=index, table=ON_HOSTS)

    def overlap(next_bytes: int) -> None:
        with steps.when(local.index == index), steps.fork(1):
            call.add(steps, nonblocking_bcast, beside, next_bytes, root_host)
        on_hosts(SEGMENT_BYTES)
        steps.join()

    with steps.when(local.index == index):
        call.add_chosen(steps, "bcast", first, ranks=beside, root=root_host, table=ON_HOSTS)
    for _ in steps.loop(1, n_more):
        overlap(SEGMENT_BYTES)
    if n_more:
        overlap(last + 1)
    on_hosts(last + 1 if n_more else nbytes)
    return steps


# ---- by algorithms that a table's row names ----


@algorithm(
    "bcast",
    "two_level",
    source="SimGrid 3.32, smpi_mvapich2_selector.cpp; MPICH, ch4_coll_impl.h, composition alpha",
    chooses=True,
)
def two_level(call: Call) -> Schedule:
    """Send from the root to the first rank of its host, broadcast among first ranks, and then on each host.

    Parts: "leaders" and "local"; by default, MPICH's rule as in SimGrid.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    hand_over(steps, call, call.root, call.local_of_root[0], nbytes)
    among_leaders(steps, call, "bcast", nbytes, call.leaders_of_root.index, default="smpi-mpich")
    on_hosts(steps, call, "bcast", nbytes, default="smpi-mpich")
    return steps


@algorithm("bcast", "two_level_host_of_root_first", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_first(call: Call) -> Schedule:
    """Broadcast on the root's host, then among the first ranks of hosts, and then on each other host.

    A root that is the first rank of its host broadcasts there last. Parts: the tables "leaders" and "local"; by
    default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    host_of_root, index_of_root = call.leaders_of_root.index, call.local_of_root.index
    is_first = (call.leaders.index == host_of_root) & (index_of_root != 0)
    with steps.when(is_first):
        on_hosts(steps, call, "bcast", nbytes, index_of_root)
    among_leaders(steps, call, "bcast", nbytes, host_of_root)
    with steps.when(is_first == 0):
        on_hosts(steps, call, "bcast", nbytes)
    return steps
