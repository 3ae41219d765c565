"""A zone whose parts and routes are all declared (SimGrid's routing "Full")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.builder import PlatformBuilder
from smpy.platforms.parts import Part, ReadPart, Zone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.platforms.simgrid.elements import Element


@topology("FULL", tag="zone")
@dataclass(frozen=True, slots=True)
class FullZone(Zone):
    """A zone whose routes are all declared.

    Parameters
    ----------
    name : str
        What it is called.
    parts : tuple of Part
        What stands in it, hosts and links before the routes that name them: `Host`, `Router`, `Link`, `DeclaredRoute`
        and zones.
    """

    name: str
    parts: tuple[Part, ...] = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> FullZone:
        """The zone of a <zone routing='Full'>."""
        element.check_attributes(("id", "routing"))
        name = element.text("id")
        return cls(name, tuple(part for part in map(read, element.inner()) if part is not None), origin=element.origin)

    @property
    def n_hosts(self) -> int:
        return sum(part.n_hosts for part in self.parts)

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.full_zone(self.name, zone)
        for part in self.parts:
            builder.add(part, self.name)
