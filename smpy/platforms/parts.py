"""The base classes of a machine's parts, and the words that parts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from smpy.platforms.builder import PlatformBuilder
    from smpy.platforms.simgrid.elements import Element

ReadPart = Callable[["Element"], "Part | None"]


class Sharing(Enum):
    """The way in which flows share a link."""

    SHARED = "SHARED"  # both directions share one capacity
    FATPIPE = "FATPIPE"  # each flow alone is limited
    SPLITDUPLEX = "SPLITDUPLEX"  # each direction has a capacity of its own


class Direction(Enum):
    """Which half of a split link a route crosses."""

    NONE = "NONE"
    UP = "UP"
    DOWN = "DOWN"

    @property
    def reverse(self) -> Direction:
        if self is Direction.NONE:
            return self
        return Direction.DOWN if self is Direction.UP else Direction.UP


class Hop(NamedTuple):
    """One link of a declared route."""

    link_name: str
    direction: Direction = Direction.NONE


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a machine.

    Attributes
    ----------
    origin : str
        Where its file describes it, for messages; two parts that differ in nothing else are equal.
    """

    origin: str = field(default="", kw_only=True, compare=False, repr=False)

    @property
    def n_hosts(self) -> int:
        """How many hosts it brings along."""
        return 0

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        """Add it to a platform, inside a zone; None: it is the outermost zone itself.

        Raises
        ------
        PlatformError
            If it does not fit what is there.
        """
        raise NotImplementedError


class Zone(Part):
    """A part that may be a whole machine, or stand in another zone: a topology."""

    __slots__ = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Zone:
        """The topology that an element describes, for those that files can name (`topology`).

        Parameters
        ----------
        element : Element
            Its element.
        read : callable
            Gives the part that an element inside it stands for, or None for a mere note.
        """
        raise element.error(f"no file can describe a {cls.__name__}")
