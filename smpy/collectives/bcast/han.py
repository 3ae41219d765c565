"""Broadcast between hosts and then on each host, in segments: Open MPI 5's han, with libnbc between hosts."""

from __future__ import annotations

from typing import Final

from smpy.collectives.bcast.trees import down
from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.patterns.linear import and_wait, from_root
from smpy.collectives.patterns.segments import End, relay
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

SEGMENT_BYTES: Final = 65_536
_CHAIN_BYTES: Final = 8192
_FEW_RANKS: Final = 4


def nonblocking_bcast(call: Call) -> Schedule:
    """Libnbc's broadcast of at most one segment: linear for up to four ranks, else along a binomial tree or a chain."""
    nbytes, ranks = call.nbytes, call.from_root
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    if call.n_ranks <= _FEW_RANKS:
        return and_wait(from_root)(call)
    if nbytes < SEGMENT_BYTES:
        return down(call)
    steps = Schedule(call)
    source, target = End(ranks.index > 0, ranks.behind(1)), End(ranks.index < call.n_ranks - 1, ranks.ahead(1))
    relay(steps, source, [target], _CHAIN_BYTES, nbytes // _CHAIN_BYTES, is_started=True)
    return steps


@algorithm("bcast", "han", source="Open MPI 5.0, coll_han_bcast.c, libnbc/nbc_ibcast.c", chooses=True)
def han(call: Call) -> Schedule:
    """Send segments of 64 KiB from the root to the ranks at its position on other hosts, and then on each host.

    The first goes between hosts as the decisions on one level say. Each other one does so while the one before it is
    sent on each host. Where hosts have unequal numbers of ranks, these decisions alone choose.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "bcast", nbytes)
    if levels is None:
        return steps
    local, (index, beside, root_host) = call.local, levels
    n_more, last = divmod(max(nbytes - 1, 0), SEGMENT_BYTES)
    first = SEGMENT_BYTES if n_more else nbytes

    def on_hosts(segment_bytes: int) -> None:
        call.add_chosen(steps, "bcast", segment_bytes, ranks=local, root=index, table=ON_HOSTS)

    def overlap(next_bytes: int) -> None:
        with steps.when(local.index == index), steps.fork(1):
            call.add(steps, nonblocking_bcast, beside, next_bytes, root_host)
        on_hosts(SEGMENT_BYTES)
        steps.join()

    with steps.when(local.index == index):
        call.add_chosen(steps, "bcast", first, ranks=beside, root=root_host, table=ON_HOSTS)
    for _ in steps.loop(1, n_more):
        overlap(SEGMENT_BYTES)
    if n_more:
        overlap(last + 1)
    on_hosts(last + 1 if n_more else nbytes)
    return steps
