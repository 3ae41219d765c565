"""Reduce on each host and then between hosts, in segments: Open MPI 5's han, with libnbc between hosts."""

from __future__ import annotations

from smpy.collectives.bcast.han import SEGMENT_BYTES
from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
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


@algorithm("reduce", "han", source="Open MPI 5.0, coll_han_reduce.c, libnbc/nbc_ireduce.c", chooses=True)
def han(call: Call) -> Schedule:
    """Reduce segments of 64 KiB on each host at the rank with the root's number there, then between these at the root.

    A segment goes between hosts while the next one is reduced on each host. Where hosts have unequal numbers of ranks,
    Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "reduce", nbytes)
    if levels is None:
        return steps
    local, (index, beside, root_host) = call.local, levels
    segment, n_full, last = segments_of(nbytes, call.item_bytes)

    def on_hosts(segment_bytes: int) -> None:
        call.add_chosen(steps, "reduce", segment_bytes, ranks=local, root=index, table=ON_HOSTS)

    def overlap(next_bytes: int) -> None:
        with steps.when(local.index == index), steps.fork(1):
            call.add(steps, nonblocking_reduce, beside, segment, root_host)
        on_hosts(next_bytes)
        steps.join()

    on_hosts(segment if n_full else last)
    for _ in steps.loop(1, n_full):
        overlap(segment)
    if n_full:
        overlap(last)
    with steps.when(local.index == index):
        call.add(steps, nonblocking_reduce, beside, last, root_host)
    return steps
