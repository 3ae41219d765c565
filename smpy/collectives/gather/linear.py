"""Gather in which all ranks send to the root itself."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, smaller

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
