"""Levels of Open MPI 5's component han where an operation has a root and all hosts have equally many ranks."""

from __future__ import annotations

from typing import Final, NamedTuple

from smpy.collectives.call import Call
from smpy.collectives.ranks import Ranks
from smpy.collectives.schedule import Schedule, Value

ON_HOSTS: Final = "openmpi-4"
"""The table for the ranks of a host: that of Open MPI's decisions for one level, which Open MPI 5 has kept."""


class RootLevels(NamedTuple):
    """Levels of a call with a root.

    Attributes
    ----------
    root : Value
        Number of the root among the ranks of its host.
    beside : Ranks
        The rank with that number on each host.
    host : Value
        Number of the root's host, and so of the root among those ranks.
    """

    root: Value
    beside: Ranks
    host: Value


def root_levels(steps: Schedule, call: Call, operation: str, nbytes: int) -> RootLevels | None:
    """The levels; None where hosts have unequal numbers of ranks: the decisions for one level are added instead."""
    hosts = call.known_hosts()
    if not hosts.is_uniform:
        call.add_chosen(steps, operation, nbytes, root=call.root, table=ON_HOSTS)
        return None
    root = call.local_of_root.index
    return RootLevels(root, hosts.beside(call.rank, root), call.leaders_of_root.index)
