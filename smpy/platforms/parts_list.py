"""Parts of a machine, counted by formulas: hosts, switches, cables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from smpy.platforms.cluster import Cluster

K = TypeVar("K", "HostParts", "SwitchParts", "CableParts")


@dataclass(frozen=True, slots=True)
class HostParts:
    """Identical hosts.

    Parameters
    ----------
    count : int
        Number of hosts.
    cores : int
        Number of cores of each.
    properties : tuple of (str, str)
        Properties of each, such as its price and its power.
    """

    count: int
    cores: int
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SwitchParts:
    """Identical switches.

    Parameters
    ----------
    count : int
        Number of switches.
    ports : int or None
        Number of ports with a cable if all places for hosts are taken; None: the machine's file does not tell.
    """

    count: int
    ports: int | None = None


@dataclass(frozen=True, slots=True)
class CableParts:
    """Cables that are alike. One that both directions share counts as one, and so does one with a link for each.

    Parameters
    ----------
    count : int
        Number of cables; each of a bundle counts.
    switch_ends : int or None
        Number of the two ends of each that are at a switch: for cables to hosts 1, or 0 if hosts forward messages;
        None: the machine's file does not tell.
    bandwidth_bytes_per_s : float
        Bandwidth of each.
    """

    count: int
    switch_ends: int | None
    bandwidth_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class PartsList:
    """Parts of a machine, in the order of its description."""

    hosts: tuple[HostParts, ...] = ()
    switches: tuple[SwitchParts, ...] = ()
    cables: tuple[CableParts, ...] = ()

    @property
    def n_hosts(self) -> int:
        return sum(kind.count for kind in self.hosts)

    @property
    def n_cores(self) -> int:
        return sum(kind.count * kind.cores for kind in self.hosts)

    @property
    def n_switches(self) -> int:
        return sum(kind.count for kind in self.switches)

    @property
    def n_cables(self) -> int:
        return sum(kind.count for kind in self.cables)

    @property
    def property_names(self) -> frozenset[str]:
        """Names of all properties of hosts."""
        return frozenset(name for kind in self.hosts for name, _ in kind.properties)

    @property
    def n_ports(self) -> int | None:
        """Ports of switches with a cable; None if the machine's file does not have them."""
        ends = [None if kind.switch_ends is None else kind.count * kind.switch_ends for kind in self.cables]
        return None if None in ends else sum(end or 0 for end in ends)


def total(lists: Iterable[PartsList | None]) -> PartsList | None:
    """Parts of several lists, equal ones merged; None if one list is unknown.

    Examples
    --------
    >>> total([PartsList(switches=(SwitchParts(2, 40),)), PartsList(switches=(SwitchParts(1, 40), SwitchParts(1, 36)))])
    PartsList(hosts=(), switches=(SwitchParts(count=3, ports=40), SwitchParts(count=1, ports=36)), cables=())
    """
    hosts: list[HostParts] = []
    switches: list[SwitchParts] = []
    cables: list[CableParts] = []
    for each in lists:
        if each is None:
            return None
        hosts += each.hosts
        switches += each.switches
        cables += each.cables
    return PartsList(_merged(hosts), _merged(switches), _merged(cables))


def cluster_parts(
    cluster: Cluster, switches: Iterable[SwitchParts] = (), cables: Iterable[CableParts] = (), cables_per_host: int = 0
) -> PartsList:
    """Parts of a cluster: its hosts, and for each rail the switches and cables of its topology.

    Parameters
    ----------
    cluster : Cluster
        Its hosts.
    switches, cables : iterable of SwitchParts and of CableParts
        Switches and cables of one rail, without the cables from hosts to switches.
    cables_per_host : int
        Number of cables from each host to switches.
    """
    to_hosts = [
        CableParts(group.n_hosts * cables_per_host, 1, group.bandwidth_bytes_per_s) for group in cluster.host_groups
    ]
    return PartsList(
        _merged(HostParts(group.n_hosts, group.cores, group.properties) for group in cluster.host_groups),
        _merged(replace(kind, count=cluster.rails * kind.count) for kind in switches),
        _merged(replace(kind, count=cluster.rails * kind.count) for kind in (*to_hosts, *cables)),
    )


def _merged(kinds: Iterable[K]) -> tuple[K, ...]:
    """Kinds merged if only their counts differ, without kinds of count 0."""
    counts: dict[K, int] = {}
    for kind in kinds:
        alike = replace(kind, count=0)
        counts[alike] = counts.get(alike, 0) + kind.count
    return tuple(replace(kind, count=count) for kind, count in counts.items() if count)
