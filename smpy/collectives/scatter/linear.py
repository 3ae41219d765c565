"""Scatter in which the root itself sends to all ranks."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, from_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

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
