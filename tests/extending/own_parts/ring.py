"""A topology from outside smpy: copy this to write your own.

A ring of hosts. It registers under a name, so that Python makes it and files name it. A package makes it known by an
entry point, in its pyproject.toml:

    [project.entry-points."smpy.topologies"]
    ring = "ring"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms import (
    Cluster,
    DeclaredRoute,
    Direction,
    Element,
    FullZone,
    Hop,
    Host,
    Link,
    ReadPart,
    Sharing,
    Zone,
    read_cluster,
    topology,
)

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.hosts import WantedHosts
    from smpy.platforms.own_format.settings import TomlTable


@topology("RING")
@topology("ring", tag="machine")
@dataclass(frozen=True, slots=True)
class Ring(Zone):
    """Hosts of which each is joined to the next by a cable, the last one to the first; routes go the shorter way."""

    cluster: Cluster

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Ring:
        """The ring of a <cluster topology='RING'>."""
        return cls(read_cluster(element), origin=element.origin)

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> Ring:
        """The ring of a machine of ours: kind = "ring"."""
        return cls(hosts.cluster_within(hosts.needed if hosts.count is None else hosts.count))

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        cluster, names = self.cluster, list(self.cluster.hosts)
        hosts = [Host(name, cluster.speed_flop_per_s, cluster.cores) for name in names]
        cables = [
            Link(f"cable-{i}", cluster.bandwidth_bytes_per_s, cluster.latency_s, Sharing.SPLITDUPLEX)
            for i in range(len(names))
        ]
        routes = [
            DeclaredRoute(names[i], names[j], tuple(self.hops(i, j)))  # its reverse is declared with it
            for i in range(len(names))
            for j in range(i + 1, len(names))
        ]
        builder.add(FullZone(cluster.name, (*hosts, *cables, *routes)), zone)

    def hops(self, source: int, target: int) -> list[Hop]:
        """The cables between two hosts; cable i joins host i, at its lower end, with the next one."""
        n = self.n_hosts
        ahead, behind = (target - source) % n, (source - target) % n
        if ahead <= behind:
            return [Hop(f"cable-{(source + i) % n}", Direction.UP) for i in range(ahead)]
        return [Hop(f"cable-{(source - 1 - i) % n}", Direction.DOWN) for i in range(behind)]
