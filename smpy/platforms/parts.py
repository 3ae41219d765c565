"""The base classes of a machine's parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smpy.platforms.models.memory import Cache, CacheLevel, Memory, RandomAccess

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.parts_list import PartsList
    from smpy.platforms.simgrid.elements import Element

ReadPart = Callable[["Element"], "Part | None"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a machine.

    Attributes
    ----------
    origin : str
        Place in the file that describes it, for messages; two parts that differ in nothing else are equal.
    """

    origin: str = field(default="", kw_only=True, compare=False, repr=False)

    @property
    def n_hosts(self) -> int:
        """Number of hosts in this part."""
        return 0

    @property
    def parts_list(self) -> PartsList | None:
        """Hosts, switches and cables of the part; None if unknown."""
        from smpy.platforms.parts_list import PartsList  # runs need not import it

        return PartsList()

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        """Add the part to a platform, inside a zone; None: the part is the outermost zone itself.

        Raises
        ------
        PlatformError
            If it does not fit the parts that are there.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Computer(Part):
    """A host, or several that are alike, with their memory.

    Attributes
    ----------
    memory_bandwidth_bytes_per_s, core_memory_bandwidth_bytes_per_s : float
        Bandwidths of main memory: for all cores of a host together, and for one core at most; 0: not known.
    caches : tuple of Cache
        Caches of a core, by rising size.
    random_access : tuple of RandomAccess
        Rates of a core at random addresses, by rising working set.
    cache_levels : tuple of CacheLevel
        Caches of the hardware, and how many cores share each, by rising size.
    """

    memory_bandwidth_bytes_per_s: float = field(default=0.0, kw_only=True)
    core_memory_bandwidth_bytes_per_s: float = field(default=0.0, kw_only=True)
    caches: tuple[Cache, ...] = field(default=(), kw_only=True)
    random_access: tuple[RandomAccess, ...] = field(default=(), kw_only=True)
    cache_levels: tuple[CacheLevel, ...] = field(default=(), kw_only=True)

    @property
    def memory(self) -> Memory:
        """Memory of each host."""
        return Memory(
            self.memory_bandwidth_bytes_per_s,
            self.core_memory_bandwidth_bytes_per_s,
            self.caches,
            random_access=self.random_access,
            cache_levels=self.cache_levels,
        )


class Zone(Part):
    """Part that may be a whole machine, or stand in another zone: a topology."""

    __slots__ = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Zone:
        """Topology that an XML element describes, for those that files can name (`topology`).

        Parameters
        ----------
        element : Element
            Its element.
        read : callable
            Gives the part that an element inside it stands for, or None for a note.
        """
        raise element.error(f"no file can describe a {cls.__name__}")

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> Zone:
        """Topology that the table [topology] of a machine describes, for registered ones.

        Parameters
        ----------
        settings : TomlTable
            The table [topology]; the keys that are read are those it takes.
        hosts : WantedHosts
            Makes the cluster for a number of places, and says how many are wanted.
        """
        raise settings.error("kind", f"no machine can have a {cls.__name__}")

    def to_settings(self) -> dict[str, object] | None:
        """Table [topology] from which `from_settings` makes it, with its cluster; None if no table does."""
        return None

    @property
    def parts_list(self) -> PartsList | None:
        """Hosts, switches and cables of the topology; None if no formula is known."""
        return None

    @property
    def longest_route_links(self) -> int | None:
        """Number of links of the longest route between two hosts; None if no formula is known."""
        return None

    @property
    def bundles_cables(self) -> tuple[int, ...]:
        """Number of cables in each link that is a bundle."""
        return ()

    @property
    def bisection_bandwidth_bytes_per_s(self) -> float | None:
        """Bandwidth from half of its hosts to the others if routes use all links; None: no formula is known.

        The halves are those with the least bandwidth between them.
        """
        return None

    @property
    def bisection_bound_bytes_per_s(self) -> float | None:
        """Upper bound of the bisection bandwidth, or None if none is known. It takes time linear in the cables."""
        return None
