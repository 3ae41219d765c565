"""The exchange of neighbourhood collectives: a block from every source and to every target."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm("ineighbour", "linear", source="MPI 4.1, 8.6, says what moves")
def start(call: Call) -> Schedule:
    """Receive a block from every source, then send one to every target, each in the order of its list."""
    targets, sources = call.targets, call.sources
    steps = Schedule(call)
    for i in steps.loop(0, sources[0]):
        with steps.when(sources[i + 1] >= 0):
            steps.irecv(sources[i + 1], block_bytes(call.into, i))
    for i in steps.loop(0, targets[0]):
        with steps.when(targets[i + 1] >= 0):
            steps.isend(targets[i + 1], block_bytes(call.out, i))
    return steps


algorithm("neighbour", "exchange", source="MPI 4.1, 8.6, says what moves")(and_wait(start))
