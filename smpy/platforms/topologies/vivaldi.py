"""Zones of hosts with coordinates (SimGrid's routing "Vivaldi"), and the parts that stand only there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.links import Coordinates
from smpy.platforms.parts import Computer, ReadPart
from smpy.platforms.parts_list import CableParts, HostParts, PartsList
from smpy.platforms.profiles import Changing, Profile
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.simgrid.elements import Element


@dataclass(frozen=True, slots=True)
class Peer(Computer):
    """A host with a link each way to the network.

    Parameters
    ----------
    name : str
        Its name.
    speed_flop_per_s : float
        Speed of its only core.
    bandwidth_in_bytes_per_s, bandwidth_out_bytes_per_s : float
        Bandwidths of the links to it and from it; their latency is 0.
    coordinates : tuple of float
        Its coordinates.
    speed_profile, state_profile : Profile, optional
        Profiles like those of a `Host`.
    """

    name: str
    speed_flop_per_s: float
    bandwidth_in_bytes_per_s: float
    bandwidth_out_bytes_per_s: float
    coordinates: Coordinates
    speed_profile: Profile | None = field(default=None, kw_only=True)
    state_profile: Profile | None = field(default=None, kw_only=True)

    @property
    def n_hosts(self) -> int:
        return 1

    @property
    def parts_list(self) -> PartsList:
        cable = CableParts(1, None, max(self.bandwidth_in_bytes_per_s, self.bandwidth_out_bytes_per_s))
        return PartsList((HostParts(1, 1),), (), (cable,))

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        up, down = (f"link_{self.name}_{half}" for half in ("UP", "DOWN"))
        builder.check_vivaldi(zone or "", "a peer")
        builder.host(self.name, zone or "", self.speed_flop_per_s, coordinates=self.coordinates, memory=self.memory)
        builder.link(up, self.bandwidth_out_bytes_per_s, 0.0)
        builder.link(down, self.bandwidth_in_bytes_per_s, 0.0)
        builder.wires(zone or "", self.name, up, down)
        for what, profile in ((Changing.SPEED, self.speed_profile), (Changing.HOST_IS_ON, self.state_profile)):
            if profile is not None:
                builder.profile(what, self.name, profile)


@topology("VIVALDI", tag="zone")
@dataclass(frozen=True, slots=True)
class VivaldiZone(DeclaredZone):
    """A zone where the latency between two hosts follows from their coordinates [1]_: `Peer`, `Host`, `Router`, `Link`.

    A route has the links of peers, if any, and a latency of the distance in the plane plus both heights, in ms.

    References
    ----------
    .. [1] F. Dabek, R. Cox, F. Kaashoek, R. Morris, "Vivaldi: a decentralized network coordinate system", SIGCOMM 2004.
    """

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Self:
        """The zone of a <zone routing='Vivaldi'>."""
        element.check_attributes(("id", "routing"))
        name, parts = element.text("id"), []
        for child in element.inner():
            part = read(child)
            if child.tag == "host_link":
                child.warn("wires have no effect in a Vivaldi zone, and are left out: use <peer>")
            elif part is not None:
                parts.append(part)
        return cls(name, tuple(parts), origin=element.origin)

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.vivaldi_zone(self.name, zone)
