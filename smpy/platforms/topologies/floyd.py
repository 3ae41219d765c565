"""A zone whose routes are the shortest sequences of declared ones, by Floyd's search (SimGrid's routing "Floyd")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder


@topology("FLOYD", tag="zone")
@dataclass(frozen=True, slots=True)
class FloydZone(DeclaredZone):
    """A zone where a route with the fewest links is put together from declared ones.

    Among several, the route is the one that Floyd's search [1]_ finds first: it allows the members as intermediate
    ones in the order of their declaration, and keeps a route until there is one with fewer links.

    References
    ----------
    .. [1] R. W. Floyd, "Algorithm 97: Shortest path", CACM 5 (6), 1962.
    """

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.shortest_zone(self.name, zone, "floyd")
