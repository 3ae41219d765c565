"""The parameters of the regular parts of a platform; the kernel (kernels/event/route_*.c) does the arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts that are all alike; a bandwidth of 0 says that there is no such link.

    Parameters
    ----------
    name : str
        Starts the names of the links.
    host_names : sequence of str
        In order of position.
    labels : sequence of int
        What tells the hosts' links apart in their names.
    speed_flop_per_s : float
        Of one core.
    bandwidth_bytes_per_s, latency_s : float
        Of every wire: between a host and the centre, or between a node of a fat tree and its parent.
    is_split : bool
        Whether a wire is two links, one each way, rather than one that both ways share.
    cores : int
        Cores a host has.
    loopback_bandwidth_bytes_per_s, loopback_latency_s : float
        From a host to itself, without contention.
    limiter_bandwidth_bytes_per_s : float
        What a host carries in both directions together.
    backbone_bandwidth_bytes_per_s, backbone_latency_s : float
        Of the one link that all traffic of a flat cluster crosses.
    backbone_is_fatpipe : bool
        Whether the backbone limits each flow alone rather than all of them together.
    """

    name: str
    host_names: Sequence[str]
    labels: Sequence[int]
    speed_flop_per_s: float
    bandwidth_bytes_per_s: float
    latency_s: float
    is_split: bool = True
    cores: int = 1
    loopback_bandwidth_bytes_per_s: float = 0.0
    loopback_latency_s: float = 0.0
    limiter_bandwidth_bytes_per_s: float = 0.0
    backbone_bandwidth_bytes_per_s: float = 0.0
    backbone_latency_s: float = 0.0
    backbone_is_fatpipe: bool = False


@dataclass(frozen=True, slots=True)
class FatTree:
    """The shape of a fat tree, from the leaves upward: one number a level in each tuple.

    Parameters
    ----------
    children : tuple of int
        Nodes below each switch of levels 1, 2, ...
    parents : tuple of int
        Switches above each node of levels 0, 1, ...
    cables : tuple of int
        Parallel cables between a node of levels 0, 1, ... and each of its parents.

    Examples
    --------
    >>> FatTree(children=(4, 4), parents=(1, 2), cables=(1, 2)).n_hosts
    16
    """

    children: tuple[int, ...]
    parents: tuple[int, ...]
    cables: tuple[int, ...]

    @property
    def n_levels(self) -> int:
        return len(self.children)

    @property
    def n_hosts(self) -> int:
        return prod(self.children)

    def nodes_of_level(self, level: int) -> int:
        """Hosts at level 0, switches above.

        Examples
        --------
        >>> FatTree(children=(4, 4), parents=(1, 2), cables=(1, 2)).nodes_of_level(2)
        2
        """
        return prod(self.parents[:level]) * prod(self.children[level:])

    @property
    def n_switches(self) -> int:
        return sum(self.nodes_of_level(level) for level in range(1, self.n_levels + 1))

    @property
    def n_wires(self) -> int:
        return sum(
            self.nodes_of_level(level) * self.parents[level] * self.cables[level] for level in range(self.n_levels)
        )
