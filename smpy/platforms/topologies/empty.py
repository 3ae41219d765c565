"""A zone without routes of its own (SimGrid's routing "None")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder


@topology("NONE", tag="zone")
@dataclass(frozen=True, slots=True)
class EmptyZone(DeclaredZone):
    """Zone whose hosts are reached only as gateways of routes around it, or by bypass routes."""

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.empty_zone(self.name, zone)
