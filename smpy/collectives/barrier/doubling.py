"""Barrier in rounds of growing distance."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to, powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "dissemination", simgrid="ompi_bruck", source="Hensgen, Finkel & Manber 1988")
def dissemination(call: Call) -> Schedule:
    """Send to the rank 1, 2, 4, ... ahead and receive from the one behind: ceil(log2 p) rounds for any p ranks."""
    rank, n_ranks = call.rank, call.n_ranks
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        steps.exchange((rank + reach) % n_ranks, 0, (rank - reach) % n_ranks, 0)
        reach *= 2
    return steps


@algorithm(
    "barrier",
    "recursive_doubling",
    simgrid=("ompi_recursivedoubling", "mvapich2_pair"),
    source="Open MPI, recursive doubling barrier; MVAPICH2, pairwise barrier",
)
def recursive_doubling(call: Call) -> Schedule:
    """Exchange among the first P ranks; a rank from P on exchanges with rank - P before and receives from it after."""
    rank, n_ranks = call.rank, call.n_ranks
    steps, power = Schedule(call), power_of_two_up_to(n_ranks)
    rest = n_ranks - power
    with steps.when(rank >= power):
        steps.exchange(rank - power, 0, rank - power, 0)
    with steps.when(rank < rest):
        steps.recv(rank + power, 0)
    with steps.when(rank < power):
        for mask in powers_of_two_below(power):
            steps.exchange(rank ^ mask, 0, rank ^ mask, 0)
    with steps.when(rank < rest):
        steps.send(rank + power, 0)
    return steps


@algorithm("barrier", "two_ranks", simgrid="ompi_two_procs", source="Open MPI, two_procs barrier", only_ranks=2)
def two_ranks(call: Call) -> Schedule:
    """Exchange of empty messages between two ranks."""
    steps = Schedule(call)
    steps.exchange(1 - call.rank, 0, 1 - call.rank, 0)
    return steps
