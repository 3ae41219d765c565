"""Algorithms of MPI_Gather and MPI_Gatherv."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.patterns.linear import and_wait, hand_over, to_root
from smpy.collectives.patterns.two_levels import on_hosts
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, smaller

# ---- all ranks send to the root itself ----


SMALL_PART_BYTES: Final = 1024
LARGE_PART_BYTES: Final = 32_768
LARGE_BLOCK_BYTES: Final = 92_160

algorithm(("igather", "igatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_root)
algorithm(("gather", "gatherv", "split"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(and_wait(to_root))


@algorithm("gather", "basic_linear", simgrid="ompi_basic_linear", source="Open MPI, basic linear gather")
def basic_linear(call: Call) -> Schedule:
    """Receive at the root from the first rank to the last, one by one."""
    rank, root, nbytes = call.rank, call.root, call.nbytes
    steps = Schedule(call)
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                steps.recv(peer, nbytes)
    return steps


@algorithm("gather", "linear_on_demand", simgrid="ompi_linear_sync", source="Open MPI, linear_sync gather")
def linear_on_demand(call: Call) -> Schedule:
    """Ask each rank in turn for a first part, and continue when it is there; the other parts arrive meanwhile.

    The first part has 32 KiB of a block above 92,160 B, and 1 KiB of others; the second one may be empty.
    """
    is_large = call.nbytes > LARGE_BLOCK_BYTES
    return _on_demand(call, smaller(call.nbytes, SMALL_PART_BYTES + is_large * (LARGE_PART_BYTES - SMALL_PART_BYTES)))


@algorithm(
    "gather", "linear_on_demand_whole", source="Open MPI 4 and 5, linear_sync gather as the fixed decision calls it"
)
def linear_on_demand_whole(call: Call) -> Schedule:
    """`linear_on_demand` with the whole block as the first part, and an empty second part."""
    return _on_demand(call, call.nbytes)


def _on_demand(call: Call, first: Value) -> Schedule:
    """Ask each rank for a first part of the given size, from the root."""
    rank, root, nbytes = call.rank, call.root, call.nbytes
    steps = Schedule(call)
    steps.wait_all()
    with steps.when(rank != root):
        steps.recv(root, 0)
        steps.send(root, first)
        steps.send(root, nbytes - first)
    with steps.when(rank == root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                steps.irecv(peer, first)
                steps.send(peer, 0)
                steps.irecv(peer, nbytes - first)
                steps.wait_for(2 * (peer - (peer > root)))
        steps.wait_all()
    return steps


# ---- along trees ----


@algorithm(("gather", "split"), "binomial_tree", simgrid="ompi_binomial", source="Open MPI, binomial gather; MPICH")
def up(call: Call) -> Schedule:
    """Receive the blocks of the subtrees 1, 2, 4, ... numbers ahead, then send them all on."""
    steps = Schedule(call)
    _gather(steps, call.from_root, call.nbytes)
    return steps


def _gather(steps: Schedule, ranks: Ranks, nbytes: Value, mask: int = 1) -> None:
    if mask >= ranks.size_max:
        return
    index, size = ranks.index, ranks.size
    with steps.when(index & mask != 0):
        steps.send(ranks.behind(mask), smaller(mask, size - index) * nbytes)
    with steps.when(index & mask == 0):
        with steps.when(index + mask < size):
            steps.recv(ranks.ahead(mask), smaller(mask, size - index - mask) * nbytes)
        _gather(steps, ranks, nbytes, 2 * mask)


# ---- on each host, then among hosts ----


@algorithm("gather", "two_level", simgrid="mvapich2_two_level", source="MVAPICH2, two-level gather", chooses=True)
def two_level(call: Call) -> Schedule:
    """Gather along trees to the first rank of each host, from these to that of the root's host, then to the root.

    Part: "local", instead of the trees. The first ranks of hosts send one by one, or all at once where hosts have
    different numbers of ranks. SimGrid gives up there, and where the root is not the first rank of its host.
    """
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    search_hosts(steps, call)
    root_host = call.leaders_of_root.index
    leader = call.leaders[root_host]
    with steps.when(nbytes != 0):
        on_hosts(steps, call, "gather", nbytes, default="binomial_tree")
        with steps.when(call.local.index == 0):
            host_bytes = call.local.size * nbytes
            if hosts.is_uniform:
                call.add(steps, basic_linear, call.leaders, host_bytes, root_host)
            else:
                blocks = call.blocks_of_hosts(nbytes)
                call.add(steps, and_wait(to_root), call.leaders, host_bytes, root_host, blocks)
        hand_over(steps, call, leader, call.root, call.n_ranks * nbytes)
    return steps


@algorithm("gather", "han", source="Open MPI 5.0, coll_han_gather.c", chooses=True)
def han(call: Call) -> Schedule:
    """Gather on each host at the rank with the root's number there, then send each host's blocks at once to the root.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, local, nbytes = Schedule(call), call.local, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "gather", nbytes)
    if levels is None:
        return steps
    call.add_chosen(steps, "gather", nbytes, ranks=local, root=levels.root, table=ON_HOSTS)
    with steps.when(local.index == levels.root):
        host_bytes = local.size_max * nbytes
        call.add_chosen(steps, "gather", host_bytes, ranks=levels.beside, root=levels.host, table=ON_HOSTS)
    return steps
