"""Zones whose hosts have wires to a centre (SimGrid's routing "Cluster"), and the parts that stand only there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.cluster import NumberedNames
from smpy.platforms.declared_parts import Link, Router
from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.parts import Computer, Part
from smpy.platforms.parts_list import CableParts, HostParts, PartsList, SwitchParts, total
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder


@dataclass(frozen=True, slots=True)
class Backbone(Part):
    """The link at the inner end of all wires; of several, the last one.

    Parameters
    ----------
    link : Link
        The link.
    """

    link: Link

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        self.link.build(builder, zone)
        builder.backbone(zone or "", self.link.name)


@dataclass(frozen=True, slots=True)
class HostLink(Part):
    """The wires of a host: the names of the links from it to the centre, and back."""

    host: str
    up: str
    down: str

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.wires(zone or "", self.host, self.up, self.down)


@dataclass(frozen=True, slots=True)
class Cabinet(Computer):
    """Hosts that are all alike, each with a link up and a link down.

    Parameters
    ----------
    hosts : NumberedNames
        Their names.
    speed_flop_per_s : float
        Speed of their only core.
    bandwidth_bytes_per_s, latency_s : float
        Bandwidth and latency of each link.
    """

    hosts: NumberedNames
    speed_flop_per_s: float
    bandwidth_bytes_per_s: float
    latency_s: float

    @property
    def n_hosts(self) -> int:
        return self.hosts.n_names

    @property
    def parts_list(self) -> PartsList:
        return PartsList((HostParts(self.n_hosts, 1),), (), (CableParts(self.n_hosts, 1, self.bandwidth_bytes_per_s),))

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        wires = self.bandwidth_bytes_per_s, self.latency_s
        builder.cabinet(zone or "", self.hosts, self.speed_flop_per_s, *wires, self.memory)


@topology("CLUSTER", tag="zone")
@dataclass(frozen=True, slots=True)
class StarZone(DeclaredZone):
    """A zone whose hosts have wires to a centre: `HostLink`, `Cabinet` and `Backbone`, in any order.

    A route goes up the source's wire, over the backbone and down the target's wire, and crosses no link twice. Members
    without wires, such as routers, are at the centre. A `DeclaredRoute` can only lead from a host to itself.
    """

    @property
    def parts_list(self) -> PartsList | None:
        """The centre is one switch, whose routers are itself; a backbone is inside it."""
        n_wired = sum(part.n_hosts if isinstance(part, Cabinet) else isinstance(part, HostLink) for part in self.parts)
        centre = PartsList(switches=(SwitchParts(1, n_wired),) if n_wired else ())
        around = (part.parts_list for part in self.parts if not isinstance(part, Router | Backbone))
        return total([centre, *around])

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.star_zone(self.name, zone)

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        self.open(builder, zone)
        order = (Backbone,), (Part,), (HostLink,)  # each needs those before it
        kinds = [next(i for i in (0, 2, 1) if isinstance(part, order[i])) for part in self.parts]
        for kind in range(len(order)):
            for part, own in zip(self.parts, kinds, strict=True):
                if own == kind:
                    builder.add(part, self.name)
