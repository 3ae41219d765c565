"""All receives, then all sends."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm("ialltoall", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Start all receives, from the next rank on; then all sends, from the previous rank backwards."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        steps.irecv((rank + distance) % n_ranks, nbytes)
    for distance in steps.loop(1, n_ranks):
        steps.isend((rank - distance) % n_ranks, nbytes)
    return steps


algorithm("alltoall", "linear", simgrid="basic_linear", source="Open MPI, linear alltoall")(and_wait(start))


@algorithm(("ialltoallv", "ialltoallw"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start_blocks(call: Call) -> Schedule:
    """Start all receives, then all sends, from rank 0 on; empty blocks are sent, too."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.irecv(peer, block_bytes(call.into, peer))
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, block_bytes(call.out, peer))
    return steps


algorithm("alltoallw", "linear", source="SimGrid 3.32, smpi_coll.cpp")(and_wait(start_blocks))
algorithm("alltoallv", "linear", simgrid="ompi_basic_linear", source="Open MPI, linear alltoallv")(
    and_wait(start_blocks)
)
