"""Allreduce on each host and between hosts, in segments: Open MPI 5's han, with libnbc between hosts."""

from __future__ import annotations

from smpy.collectives.bcast.han import nonblocking_bcast
from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, RootLevels
from smpy.collectives.reduce.han import add_segment, segments_of
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allreduce", "han", source="Open MPI 5.0, coll_han_allreduce.c, libnbc", chooses=True)
def han(call: Call) -> Schedule:
    """Segments of 64 KiB: reduce on each host, reduce and broadcast between the first ranks, broadcast on each host.

    A segment begins when the previous one is complete; Open MPI overlaps the four stages.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    segment, n_full, last = segments_of(nbytes, call.item_bytes)

    def add(segment_bytes: int) -> None:
        add_segment(steps, call, segment_bytes, RootLevels(0, call.leaders, 0))
        with steps.when(call.local.index == 0):
            call.add(steps, nonblocking_bcast, call.leaders, segment_bytes)
        call.add_chosen(steps, "bcast", segment_bytes, ranks=call.local, table=ON_HOSTS)

    for _ in steps.loop(0, n_full):
        add(segment)
    add(last)
    return steps
