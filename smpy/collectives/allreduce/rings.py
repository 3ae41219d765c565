"""Allreduce along rings."""

from __future__ import annotations

from typing import Final

from smpy.collectives.allreduce.trees import add_basic_reduce_bcast, chosen_reduce_bcast
from smpy.collectives.call import Call
from smpy.collectives.patterns.recursive_doubling import exchange_vectors
from smpy.collectives.patterns.segments import whole_entries
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value

_SEGMENT_BYTES: Final = 1 << 20


@algorithm(
    "allreduce",
    "ring",
    simgrid="lr",
    source="Patarasuk & Yuan 2009; SimGrid 3.32, allreduce-lr.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def ring(call: Call) -> Schedule:
    """Send the parts round twice, to be reduced and to be spread; the run's choice handles the entries left over.

    The parts have equal numbers of entries. With fewer entries than ranks: the run's reduction and broadcast.
    """
    steps = Schedule(call)
    part, rest = _parts(call)
    if part == 0:
        return chosen_reduce_bcast(call)
    _two_rounds(steps, call, part)
    if rest:
        assert isinstance(rest, int)  # a choosing algorithm
        call.add_chosen(steps, "allreduce", rest)
    return steps


@algorithm(
    "allreduce",
    "segmented_ring",
    simgrid="ompi_ring_segmented",
    source="Open MPI, segmented ring; SimGrid 3.32, allreduce-ompi-ring-segmented.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def segmented_ring(call: Call) -> Schedule:
    """Reduce parts round the ring in segments of about 1 MiB, one receive posted ahead; then spread them whole.

    If a part is smaller than a segment, a plain ring is used.
    """
    steps, n_ranks, item_bytes, nbytes = Schedule(call), call.n_ranks, call.item_bytes, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if n_ranks == 1 or nbytes == 0:
        return steps
    n_entries = nbytes // item_bytes
    n_in_segment = min(whole_entries(_SEGMENT_BYTES, item_bytes) // item_bytes, n_entries)
    if n_entries < n_ranks * n_in_segment:
        return ring(call)
    n_phases, rest = divmod(n_entries, n_ranks * n_in_segment)
    n_phases += rest >= n_ranks and rest > n_ranks * n_in_segment // 2
    n_in_part, n_longer = divmod(n_entries, n_ranks)

    def part(number: Value) -> Value:
        return n_in_part + (number % n_ranks < n_longer)

    def segment(number: Value, phase: Value) -> Value:
        n = part(number)
        return (n // n_phases + (phase < n % n_phases)) * item_bytes

    ahead, behind = (call.rank + 1) % n_ranks, (call.rank - 1) % n_ranks
    for phase in steps.loop(0, n_phases):
        steps.irecv(behind, segment(call.rank - 1, phase))
        steps.send(ahead, segment(call.rank, phase))
        for k in steps.loop(2, n_ranks):
            steps.irecv(behind, segment(call.rank - k, phase))
            steps.wait_oldest()
            steps.combine(segment(call.rank - k + 1, phase))
            steps.send(ahead, segment(call.rank - k + 1, phase))
        steps.wait_oldest()
        steps.combine(segment(call.rank + 1, phase))
    for k in steps.loop(0, n_ranks - 1):
        steps.exchange(ahead, part(call.rank + 1 - k) * item_bytes, behind, part(call.rank - k) * item_bytes)
    return steps


@algorithm(
    "allreduce", "open_mpi_ring", source="Open MPI, ring allreduce; SimGrid 3.32, allreduce-ompi-ring-segmented.cpp"
)
def open_mpi_ring(call: Call) -> Schedule:
    """A ring, for datatypes that must be reduced in rank order.

    Open MPI's table chooses again for the entries left over: recursive doubling for some sizes on fewer than 4 ranks,
    otherwise a ring. A ring with fewer entries than ranks is a reduction to rank 0 and a broadcast.
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
        for reduces in (True, False):
            for _ in steps.loop(0, n_ranks - 1):
                steps.exchange((rank + 1) % n_ranks, part, (rank - 1) % n_ranks, part)
                if reduces:
                    steps.combine(part)
