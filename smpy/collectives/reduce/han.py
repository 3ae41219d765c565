"""Reduce on each host and then between hosts, in segments: Open MPI 5's han, with libnbc between hosts."""

from __future__ import annotations

from smpy.collectives.bcast.han import SEGMENT_BYTES
from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, RootLevels, root_levels
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to
from smpy.collectives.reduce.halving import balanced_rabenseifner
from smpy.collectives.reduce.trees import up
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


def nonblocking_reduce(call: Call) -> Schedule:
    """Libnbc's reduction of at most one segment: Rabenseifner's, or a binomial tree if there are few entries."""
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    has_entries = nbytes // call.item_bytes >= power_of_two_up_to(call.n_ranks)
    return balanced_rabenseifner(call) if call.n_ranks > 2 and has_entries else up(call)


def segments_of(nbytes: int, item_bytes: int) -> tuple[int, int, int]:
    """Bytes of a segment of whole entries, number of segments before the last one, and bytes of the last one."""
    segment = max(SEGMENT_BYTES // item_bytes, 1) * item_bytes
    n_full = max(nbytes - 1, 0) // segment
    return segment, n_full, nbytes - n_full * segment


def add_segment(steps: Schedule, call: Call, nbytes: int, levels: RootLevels) -> None:
    """Reduce a segment at the rank with the root's number on each host, and from these at the root."""
    call.add_chosen(steps, "reduce", nbytes, ranks=call.local, root=levels.root, table=ON_HOSTS)
    with steps.when(call.local.index == levels.root):
        call.add(steps, nonblocking_reduce, levels.beside, nbytes, levels.host)


@algorithm("reduce", "han", source="Open MPI 5.0, coll_han_reduce.c, libnbc/nbc_ireduce.c", chooses=True)
def han(call: Call) -> Schedule:
    """Reduce segments of 64 KiB on each host at the rank with the root's number there, then between these at the root.

    A segment begins when the previous one is complete; Open MPI overlaps the two stages. Where hosts have unequal
    numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "reduce", nbytes)
    if levels is None:
        return steps
    segment, n_full, last = segments_of(nbytes, call.item_bytes)
    for _ in steps.loop(0, n_full):
        add_segment(steps, call, segment, levels)
    add_segment(steps, call, last, levels)
    return steps
