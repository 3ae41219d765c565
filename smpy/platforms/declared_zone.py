"""The base class of zones whose parts are declared one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from smpy.platforms.parts import Part, ReadPart, Zone
from smpy.platforms.parts_list import PartsList, total

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.simgrid.elements import Element


@dataclass(frozen=True, slots=True)
class DeclaredZone(Zone):
    """Zone with declared parts.

    Parameters
    ----------
    name : str
        Its name.
    parts : tuple of Part
        Its parts, hosts and links before the routes that name them.
    """

    name: str
    parts: tuple[Part, ...] = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Self:
        """The zone of a <zone> element."""
        element.check_attributes(("id", "routing"))
        name = element.text("id")
        return cls(name, tuple(part for part in map(read, element.inner()) if part is not None), origin=element.origin)

    @property
    def n_hosts(self) -> int:
        return sum(part.n_hosts for part in self.parts)

    @property
    def parts_list(self) -> PartsList | None:
        """Declared parts: hosts, routers as switches, links as cables."""
        return total(part.parts_list for part in self.parts)

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        self.open(builder, zone)
        for part in self.parts:
            builder.add(part, self.name)

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        """Add the zone itself to a platform, without its parts."""
        raise NotImplementedError
