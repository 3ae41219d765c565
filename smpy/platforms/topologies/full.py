"""A zone whose parts and routes are all declared (SimGrid's routing "Full")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder


@topology("FULL", tag="zone")
@dataclass(frozen=True, slots=True)
class FullZone(DeclaredZone):
    """A zone whose routes are all declared: `Host`, `Router`, `Link`, `DeclaredRoute`, `BypassRoute` and zones."""

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.full_zone(self.name, zone)
