"""The links of a platform in the making, by their names; a split one is two."""

from __future__ import annotations

from typing import Any

from smpy.engine.kernel import lib
from smpy.engine.platform_refusals import checked_number, unknown
from smpy.errors import PlatformError
from smpy.platforms.link_names import LinkNames
from smpy.platforms.links import Direction, Hop


class PlatformLinks:
    """The kernel's number of each link, by its name.

    Parameters
    ----------
    handle : pointer
        The kernel's platform.

    Attributes
    ----------
    names : LinkNames
        Names of all links, in the order of their numbers.
    split : set of str
        Names of links that are two halves, `<name>_UP` and `<name>_DOWN`.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.names = LinkNames()
        self.split: set[str] = set()

    def numbers(self, name: str) -> list[int]:
        """The numbers of a link, or of both its halves."""
        directions = (Direction.UP, Direction.DOWN) if name in self.split else (Direction.NONE,)
        return [self.number(Hop(name, direction)) for direction in directions]

    def number(self, hop: Hop) -> int:
        """The number of the link that a hop takes."""
        name = hop.link_name
        if name in self.split:
            if hop.direction is Direction.NONE:
                raise PlatformError(f"link {name!r} is SPLITDUPLEX: say direction='UP' or direction='DOWN'")
            name = f"{name}_{hop.direction.value}"
        number = self.names.number(name)
        if number is None:
            raise unknown("link", name, [*self.names.all_names(), *self.split])
        return number

    def half_number(self, name: str) -> int:
        """The number of a link that is named without a direction."""
        if name in self.split:
            raise PlatformError(f"link {name!r} is SPLITDUPLEX: name a half of it, {name}_UP or {name}_DOWN")
        return self.number(Hop(name))

    def add(self, name: str, bandwidth_bytes_per_s: float, latency_s: float, policy: int) -> int:
        """A link more: its number."""
        added = lib.platform_add_link(self._handle, bandwidth_bytes_per_s, latency_s, policy)
        number = checked_number(added, f"link {name!r}")
        self.names.add(name)
        return number
