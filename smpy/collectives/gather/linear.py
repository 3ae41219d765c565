"""Gather in which all ranks send to the root itself."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("igather", "igatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_root)
algorithm(("gather", "gatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(and_wait(to_root))


@algorithm("gather", "basic_linear", simgrid="ompi_basic_linear", source="Open MPI, basic linear gather")
def basic_linear(call: Call) -> Schedule:
    """The root receives from the first rank to the last, one by one."""
    rank, root, nbytes = call.rank, call.root, call.nbytes
    steps = Schedule(call)
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                steps.recv(peer, nbytes)
    return steps
