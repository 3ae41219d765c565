"""Reduce-scatter as a reduction to rank 0, which then sends all others their blocks."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import reduce_to_first, reduce_to_root_in_order
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"), "reduce_then_scatterv", source="SimGrid 3.32, smpi_default_selector.cpp"
)
def reduce_then_scatterv(call: Call) -> Schedule:
    """Send all vectors to rank 0 at once, which then sends all others their blocks."""
    steps = Schedule(call)
    reduce_to_first(steps, call.everyone, call.out[call.n_ranks])
    _scatterv(steps, call)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "basic_reduce_then_scatterv",
    source="SimGrid 3.32, smpi_default_selector.cpp",
)
def basic_reduce_then_scatterv(call: Call) -> Schedule:
    """`reduce_then_scatterv` with a reduction in rank order."""
    steps = Schedule(call)
    reduce_to_root_in_order(steps, call, 0, call.out[call.n_ranks])
    _scatterv(steps, call)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "chosen_reduce_then_scatterv",
    source="Open MPI 4 and 5, non-overlapping reduce_scatter and basic linear reduce_scatter_block",
    chooses=True,
)
def chosen_reduce_then_scatterv(call: Call) -> Schedule:
    """Reduce to rank 0 by the run's algorithm, then send all others their blocks."""
    steps, whole = Schedule(call), call.out[call.n_ranks]
    call.add_chosen(steps, "reduce", whole if isinstance(whole, int) else call.total_bytes)
    _scatterv(steps, call)
    return steps


def _scatterv(steps: Schedule, call: Call) -> None:
    with steps.when(call.rank != 0):
        steps.irecv(0, call.nbytes)
    with steps.when(call.rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.isend(peer, block_bytes(call.out, peer))
    steps.wait_all()
