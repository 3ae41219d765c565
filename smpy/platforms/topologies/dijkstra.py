"""Zones whose routes are the shortest sequences of declared ones, by Dijkstra's search.

SimGrid's routings "Dijkstra" and "DijkstraCache" differ in whether a search is kept; here it always is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder


@topology("DIJKSTRACACHE", tag="zone")
@topology("DIJKSTRA", tag="zone")
@dataclass(frozen=True, slots=True)
class DijkstraZone(DeclaredZone):
    """A zone where a route with the fewest links is put together from declared ones.

    Among several, the route is the one that Dijkstra's search [1]_ finds first: it settles members by distance, then
    in the order in which routes mention them.

    References
    ----------
    .. [1] E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.
    """

    def open(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.shortest_zone(self.name, zone, "dijkstra")
