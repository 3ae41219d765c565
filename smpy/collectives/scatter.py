"""Algorithms of MPI_Scatter and MPI_Scatterv."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.patterns.linear import and_wait, from_root, hand_over
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.patterns.two_levels import on_hosts
from smpy.collectives.register import Maker, algorithm
from smpy.collectives.schedule import Schedule, smaller

# ---- the root itself sends to all ranks ----


algorithm(("iscatter", "iscatterv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(from_root)
algorithm("scatter", "linear", simgrid="ompi_linear_nb", source="SimGrid 3.32, smpi_default_selector.cpp; Open MPI")(
    and_wait(from_root)
)
algorithm("scatterv", "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(and_wait(from_root))


@algorithm("scatter", "basic_linear", simgrid="ompi_basic_linear", source="Open MPI, basic linear scatter")
def basic_linear(call: Call) -> Schedule:
    """Send from the root to the first rank, ..., to the last, one by one."""
    rank, root, nbytes = call.rank, call.root, call.nbytes
    steps = Schedule(call)
    with steps.when(rank != root):
        steps.recv(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                steps.send(peer, nbytes)
    return steps


# ---- along trees ----


@algorithm("scatter", "binomial_tree", simgrid="ompi_binomial", source="Open MPI, binomial scatter; MPICH")
def down(call: Call) -> Schedule:
    """Receive the blocks of the own subtree, then send on those of the subtrees 1, 2, 4, ... numbers ahead."""
    steps, ranks, nbytes = Schedule(call), call.from_root, call.nbytes
    index, size = ranks.index, ranks.size
    for mask in powers_of_two_below(call.n_ranks):
        with steps.when((index & mask != 0) & (index % mask == 0)):
            steps.recv(ranks.behind(mask), smaller(mask, size - index) * nbytes)
    for mask in powers_of_two_below(call.n_ranks):
        with steps.when((index % (2 * mask) == 0) & (index + mask < size)):
            steps.send(ranks.ahead(mask), smaller(mask, size - index - mask) * nbytes)
    return steps


# ---- among hosts, then on each host ----


@algorithm(
    "scatter",
    "two_level_linear",
    simgrid="mvapich2_two_level_direct",
    source="MVAPICH2, two-level direct scatter",
    chooses=True,
)
def two_level_linear(call: Call) -> Schedule:
    """Send all blocks to the first rank of the root's host, then to first ranks one by one, then along trees on hosts.

    Where hosts have different numbers of ranks, the first ranks get their blocks all at once. If there is only one
    host, the root itself sends to all. Part: "local", instead of the trees.
    """
    return _two_level(call, basic_linear)


@algorithm(
    "scatter",
    "two_level_tree",
    simgrid="mvapich2_two_level_binomial",
    source="MVAPICH2, two-level binomial scatter",
    chooses=True,
)
def two_level_tree(call: Call) -> Schedule:
    """`two_level_linear` with a binomial tree among hosts of equal numbers of ranks."""
    return _two_level(call, down)


def _two_level(call: Call, among_hosts: Maker) -> Schedule:
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    search_hosts(steps, call)
    with steps.when(nbytes != 0):
        if hosts.n_hosts == 1:
            call.add(steps, basic_linear, call.everyone, nbytes, call.root)
            return steps
        root_host = call.leaders_of_root.index
        leader = call.leaders[root_host]
        hand_over(steps, call, call.root, leader, call.n_ranks * nbytes)
        with steps.when(call.local.index == 0):
            host_bytes = call.local.size * nbytes
            if hosts.is_uniform:
                call.add(steps, among_hosts, call.leaders, host_bytes, root_host)
            else:
                blocks = call.blocks_of_hosts(nbytes)
                call.add(steps, and_wait(from_root), call.leaders, host_bytes, root_host, blocks)
        on_hosts(steps, call, "scatter", nbytes, default="binomial_tree")
    return steps


@algorithm("scatter", "han", source="Open MPI 5.0, coll_han_scatter.c", chooses=True)
def han(call: Call) -> Schedule:
    """Send each host's blocks at once from the root to the rank with its number there, then scatter on each host.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, local, nbytes = Schedule(call), call.local, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "scatter", nbytes)
    if levels is None:
        return steps
    with steps.when(local.index == levels.root):
        host_bytes = local.size_max * nbytes
        call.add_chosen(steps, "scatter", host_bytes, ranks=levels.beside, root=levels.host, table=ON_HOSTS)
    call.add_chosen(steps, "scatter", nbytes, ranks=local, root=levels.root, table=ON_HOSTS)
    return steps
