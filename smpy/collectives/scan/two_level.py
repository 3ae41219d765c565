"""Scan on each host and among the first ranks of hosts, by tables that a row names."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.scan.doubling import recursive_doubling
from smpy.collectives.schedule import Schedule

_FLAG_BYTES: Final = 4


@algorithm("scan", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Scan on each host, scan the hosts' results among first ranks, and broadcast the prefix of earlier hosts on each.

    The last rank of a host sends its result to the first one. The first rank sends the result of the scan among first
    ranks to that of the next host. A flag says on each host whether there are earlier ranks. Where the ranks of a
    host are not consecutive, recursive doubling among all ranks is used. Parts: the tables "leaders" and "local"; by
    default, the run's.
    """
    steps, nbytes, local, leaders = Schedule(call), call.nbytes, call.local, call.leaders
    assert isinstance(nbytes, int)  # a choosing algorithm
    if not call.known_hosts().is_blocked:
        return recursive_doubling(call)
    last = local.size - 1
    call.add_chosen(steps, "scan", nbytes, ranks=local, table=call.parts.get("local"))
    with steps.when((local.index == last) & (local.index > 0)):
        steps.send(local[0], nbytes)
    with steps.when(local.index == 0):
        with steps.when(last > 0):
            steps.recv(local[last], nbytes)
        call.add_chosen(steps, "scan", nbytes, ranks=leaders, table=call.parts.get("leaders"))
        with steps.when(leaders.index < leaders.size - 1):
            steps.send(leaders.ahead(1), nbytes)
        with steps.when(leaders.index > 0):
            steps.recv(leaders.behind(1), nbytes)
    call.add_chosen(steps, "bcast", _FLAG_BYTES, ranks=local, table=call.parts.get("local"))
    with steps.when(leaders.index > 0):
        call.add_chosen(steps, "bcast", nbytes, ranks=local, table=call.parts.get("local"))
        steps.combine(nbytes)
    return steps
