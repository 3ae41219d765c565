"""Allreduce on each host and between hosts, in segments: Open MPI 5's han, with libnbc between hosts."""

from __future__ import annotations

from typing import Final

from smpy.collectives.bcast.han import nonblocking_bcast
from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS
from smpy.collectives.reduce.han import nonblocking_reduce, segments_of
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

_N_BEHIND: Final = 3
"""Number of segments by which the last stage is behind the first one."""


@algorithm("allreduce", "han", source="Open MPI 5.0, coll_han_allreduce.c, libnbc", chooses=True)
def han(call: Call) -> Schedule:
    """Segments of 64 KiB: reduce on each host, reduce and broadcast between the first ranks, broadcast on each host.

    Each of the four stages is one segment behind the stage before it, and all are performed at once.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    segment, n_full, last = segments_of(nbytes, call.item_bytes)

    def overlap(ahead: int) -> None:
        """Add the step in which the segment `ahead` is in the first stage."""
        reduced, between, back, known = (_size(ahead - stage, segment, n_full, last) for stage in range(4))
        with steps.when(call.local.index == 0):
            if back is not None:
                with steps.fork(1):
                    call.add(steps, nonblocking_bcast, call.leaders, back)
            if between is not None:
                with steps.fork(2):
                    call.add(steps, nonblocking_reduce, call.leaders, between)
        if reduced is not None:
            call.add_chosen(steps, "reduce", reduced, ranks=call.local, table=ON_HOSTS)
        if known is not None:
            call.add_chosen(steps, "bcast", known, ranks=call.local, table=ON_HOSTS)
        steps.join()

    for ahead in range(_N_BEHIND):
        overlap(ahead)
    if n_full > _N_BEHIND:
        for _ in steps.loop(_N_BEHIND, n_full):
            overlap(_N_BEHIND)
    for ahead in range(max(_N_BEHIND, n_full), n_full + _N_BEHIND + 1):
        overlap(ahead)
    return steps


def _size(number: int, segment: int, n_full: int, last: int) -> int | None:
    """Bytes of the segment with a number; None if there is none."""
    if number == n_full:
        return last
    return segment if 0 <= number < n_full else None
