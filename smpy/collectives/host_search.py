"""SMPI's search for the ranks that share a host, which sends messages once per communicator (SimGrid 3.32, init_smp).

Selectors and algorithms that take hosts first cause the search. Its messages are part of the first such call.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule

_NUMBER_BYTES: Final = 4


def search_hosts(steps: Schedule, call: Call) -> None:
    """Add the messages of the search, if it is due in the communicator.

    All ranks exchange a number, the first ranks of hosts exchange one, each of these broadcasts one on its host, and
    all ranks reduce one.
    """
    # Import only when searching: these modules register algorithms, which import this module.
    from smpy.collectives.allgather.one_level import ring
    from smpy.collectives.allreduce.one_level import reduce_bcast
    from smpy.collectives.bcast.one_level import scatter_ring_allgather

    if call.search is None or not call.search.is_due:
        return
    call.search.finish()
    call.add(steps, ring, call.everyone, _NUMBER_BYTES)
    with steps.when(call.local.index == 0):
        call.add(steps, ring, call.leaders, _NUMBER_BYTES)
    call.add(steps, scatter_ring_allgather, call.local, _NUMBER_BYTES)
    call.add(steps, reduce_bcast, call.everyone, _NUMBER_BYTES)


def search_on_hosts(steps: Schedule, call: Call) -> None:
    """Add the messages of the search among the ranks of each host, if it is due in the communicator."""

    def search(part: Call) -> Schedule:
        own = Schedule(part)
        search_hosts(own, part)
        return own

    call.add(steps, search, call.local, _NUMBER_BYTES)
