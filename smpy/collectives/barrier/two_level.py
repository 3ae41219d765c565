"""Barrier on each host, among the first ranks of hosts, and on each host again, by tables that a row names."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and a byte from each first rank to the ranks of its host.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    return _ended(call, "bcast", 1)


@algorithm("barrier", "han", source="Open MPI 5.0, coll_han_barrier.c", chooses=True)
def han(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and one on each host again.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    return _ended(call, "barrier", 0)


def _ended(call: Call, operation: str, nbytes: int) -> Schedule:
    """A barrier on each host and one among first ranks, of which another operation on each host tells the others."""
    steps = Schedule(call)
    on_hosts(steps, call, "barrier", 0)
    among_leaders(steps, call, "barrier", 0)
    on_hosts(steps, call, operation, nbytes)
    return steps
