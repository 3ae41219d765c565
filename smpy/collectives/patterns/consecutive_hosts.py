"""Two levels of ranks as SimGrid's own algorithms count them: equally many consecutive ranks per host.

They use only the number of ranks per host, wherever the ranks really are. If hosts have unequal numbers, each rank
counts as a host.
"""

from __future__ import annotations

from typing import NamedTuple

from smpy.collectives.call import Call
from smpy.collectives.ranks import ListedRanks, Ranks


class ConsecutiveHosts(NamedTuple):
    """Ranks of a host, and first ranks of hosts, as one rank sees them.

    Attributes
    ----------
    local : Ranks
        The ranks of the own host.
    leaders : Ranks
        The first rank of each host; `index` is the own host.
    """

    local: Ranks
    leaders: Ranks


def n_local_if_uniform(call: Call) -> int:
    """Number of ranks on each host; 0 if hosts are unequal. Each rank of a part counts as a host."""
    if call.hosts is None:
        return 1
    return call.hosts.n_local_max if call.hosts.is_uniform else 0


def consecutive_hosts(call: Call) -> ConsecutiveHosts:
    """The two levels of a call's ranks."""
    n_local = n_local_if_uniform(call) or 1
    host, n_hosts = call.rank // n_local, call.n_ranks // n_local
    local = ListedRanks(call.rank % n_local, n_local, n_local, lambda number: host * n_local + number)
    return ConsecutiveHosts(local, ListedRanks(host, n_hosts, n_hosts, lambda number: number * n_local))
