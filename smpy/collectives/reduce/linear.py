"""Reduce in which all ranks send to the root itself."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import reduce_to_root_in_order, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm("ireduce", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_root)


@algorithm("reduce", "linear", source="SimGrid 3.32, smpi_default_selector.cpp")
def linear(call: Call) -> Schedule:
    """Send all vectors at once to the root, which reduces them."""
    steps = to_root(call)
    steps.wait_all()
    with steps.when(call.rank == call.root):
        steps.combine((call.n_ranks - 1) * call.nbytes)
    return steps


@algorithm("reduce", "basic_linear", simgrid=("ompi_basic_linear", "flat_tree"), source="Open MPI, basic linear reduce")
def basic_linear(call: Call) -> Schedule:
    """Receive at the root from the last rank to the first, one by one: the order for non-commutative operations."""
    steps = Schedule(call)
    reduce_to_root_in_order(steps, call, call.root, call.nbytes)
    return steps
