"""Links of routes: sharing between flows, and the direction in which a route crosses a link."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Sharing(Enum):
    """Manner in which flows share a link."""

    SHARED = "SHARED"  # both directions share one capacity
    FATPIPE = "FATPIPE"  # each flow alone is limited
    SPLITDUPLEX = "SPLITDUPLEX"  # each direction has a capacity of its own


class Direction(Enum):
    """Half of a split link that a route crosses."""

    NONE = "NONE"
    UP = "UP"
    DOWN = "DOWN"

    @property
    def reverse(self) -> Direction:
        if self is Direction.NONE:
            return self
        return Direction.DOWN if self is Direction.UP else Direction.UP


Coordinates = tuple[float, float, float]
"""Place of a host, in ms: x and y in the plane, and the height, which adds to every latency (Dabek et al. 2004)."""


class Hop(NamedTuple):
    """One link of a declared route."""

    link_name: str
    direction: Direction = Direction.NONE
