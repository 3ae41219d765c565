"""Allreduce along rings."""

from __future__ import annotations

from smpy.collectives.allreduce.trees import add_basic_reduce_bcast, add_reduce_bcast
from smpy.collectives.call import Call
from smpy.collectives.patterns.recursive_doubling import exchange_vectors
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


@algorithm("allreduce", "ring", simgrid="lr", source="Patarasuk & Yuan 2009; SimGrid 3.32, allreduce-lr.cpp")
def ring(call: Call) -> Schedule:
    """The parts of the vector go round twice, to be reduced and to be spread; a tree takes the entries left over.

    The parts have equal numbers of entries. With fewer entries than ranks, the tree takes all of them.
    """
    steps = Schedule(call)
    part, rest = _parts(call)
    _two_rounds(steps, call, part)
    with steps.when(rest > 0):
        add_reduce_bcast(steps, call, rest)
    return steps


@algorithm(
    "allreduce", "open_mpi_ring", source="Open MPI, ring allreduce; SimGrid 3.32, allreduce-ompi-ring-segmented.cpp"
)
def open_mpi_ring(call: Call) -> Schedule:
    """The same, for datatypes that must be reduced in rank order.

    Open MPI's table chooses again for the entries left over: recursive doubling for some sizes on fewer than 4 ranks,
    otherwise a ring, which with fewer entries than ranks is a reduction to rank 0 and a broadcast.
    """
    steps = Schedule(call)
    part, rest = _parts(call)
    _two_rounds(steps, call, part)
    doubles = (part > 0) & (call.n_ranks < 4) & (((rest >= 8) & (rest < 4096)) | ((rest >= 8192) & (rest < 16384)))
    with steps.when(doubles):
        exchange_vectors(steps, call.everyone, rest)
    with steps.when((rest > 0) & (doubles == 0)):
        add_basic_reduce_bcast(steps, call, rest)
    return steps


def _parts(call: Call) -> tuple[Value, Value]:
    """Bytes of each rank's part, in whole entries, and bytes left over."""
    part = call.nbytes // call.item_bytes // call.n_ranks * call.item_bytes
    return part, call.nbytes - call.n_ranks * part


def _two_rounds(steps: Schedule, call: Call, part: Value) -> None:
    rank, n_ranks = call.rank, call.n_ranks
    with steps.when(part > 0):
        for _ in steps.loop(0, 2 * (n_ranks - 1)):
            steps.exchange((rank + 1) % n_ranks, part, (rank - 1) % n_ranks, part)
