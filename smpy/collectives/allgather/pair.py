"""With each rank in turn, by exclusive or."""

from __future__ import annotations

from smpy.collectives.allgather.ring import ring
from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(
    ("allgather", "allgatherv"), "pair", simgrid="pair", source="SimGrid 3.32, allgather-pair.cpp, allgatherv-pair.cpp"
)
def pair(call: Call) -> Schedule:
    """In round i with rank XOR i; a ring when the number of ranks is no power of two, where SimGrid gives up."""
    if not is_power_of_two(call.n_ranks):
        return ring(call)
    rank = call.rank
    steps = Schedule(rank)
    for i in steps.loop(1, call.n_ranks):
        steps.exchange(rank ^ i, call.nbytes, rank ^ i, block_bytes(call.into, rank ^ i))
    return steps
