"""The zones, hosts and routers of a platform in the making, by their names."""

from __future__ import annotations

from typing import Any

from smpy.engine.kernel import lib
from smpy.engine.platform_refusals import unknown
from smpy.errors import PlatformError


class PlatformPoints(dict[str, int]):
    """The kernel's number of each zone, host and router, by its name.

    Parameters
    ----------
    handle : pointer
        The kernel's platform.
    """

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self._handle = handle

    def check_new(self, name: str) -> None:
        """Refuse a name that is declared already."""
        if name in self:
            raise PlatformError(f"{name!r} is declared twice: hosts, routers and zones need names of their own")

    def zone_or_root(self, parent: str | None, name: str) -> int:
        """The point of the zone around a new one; -1: that is the outermost."""
        if parent is None and self:
            raise PlatformError(f"zone {name!r} stands beside another one: put both into one zone")
        return -1 if parent is None else self.point(parent, "zone")

    def point(self, name: str, what: str) -> int:
        """The point of that name, which must be of that kind."""
        if name not in self:
            raise unknown(what, name, self)
        point = self[name]
        if (lib.platform_point_kind(self._handle, point) == lib.POINT_ZONE) != (what == "zone"):
            raise PlatformError(
                f"{name!r} is a {'host or router' if what == 'zone' else 'zone'}, where a {what} is needed: "
                "<route> joins hosts and routers, <zoneRoute> joins zones"
            )
        return point

    def member(self, zone: str, name: str, what: str) -> int:
        """The point of that name and kind, which must be in the zone itself."""
        point = self.point(name, what)
        inside = lib.platform_point_zone(self._handle, point)
        if inside != self[zone]:
            other = next((known for known, number in self.items() if number == inside), None)
            where = f"zone {other!r}" if other else "no zone"
            raise PlatformError(f"{what} {name!r} is in {where}, not in {zone!r}: a zone's routes join its own members")
        return point

    def gateway(self, name: str, zone: str) -> int:
        """The point of a host or router, which must be in the zone or in one inside."""
        point = self.point(name, "host or router")
        at = point
        while at >= 0 and at != self[zone]:
            at = lib.platform_point_zone(self._handle, at)
        if at < 0:
            raise PlatformError(f"gateway {name!r} is not inside zone {zone!r}: name a host or router of that zone")
        return point
