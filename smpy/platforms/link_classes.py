"""Classes of a topology's links with their own bandwidth and latency, such as a level of a fat tree.

The wires of hosts are the cluster's. Wires between switches are, too, unless their class says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from smpy.errors import PlatformError
from smpy.units import exact_bandwidth, exact_time, parse_bandwidth_bytes_per_s, parse_time_s

if TYPE_CHECKING:
    from smpy.platforms.cluster import Cluster
    from smpy.platforms.own_format.settings import TomlTable


@dataclass(frozen=True, slots=True)
class LinkClass:
    """Wires between switches that differ from those of hosts.

    Parameters
    ----------
    name : str
        Name of the class, one of those of the topology.
    bandwidth_bytes_per_s, latency_s : float
        Bandwidth and latency of each of its wires; for a bundle, those of one wire in it.
    """

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float


class WireKind(NamedTuple):
    """Wires of a topology, in the order of their numbers: the class, the number of wires, and wires per bundle."""

    name: str
    n_wires: int
    bundle: int = 1


class WireBlock(NamedTuple):
    """Consecutively numbered wires with a bandwidth and latency of their own."""

    first: int
    n_wires: int
    bandwidth_bytes_per_s: float
    latency_s: float


def read_link_classes(settings: TomlTable, names: Sequence[str], cluster: Cluster) -> tuple[LinkClass, ...]:
    """The classes that the table [topology] speaks of: `level2_bandwidth`, `level2_latency`.

    Classes without their own keys take `switch_bandwidth` and `switch_latency`; without these, the cluster's.

    Parameters
    ----------
    settings : TomlTable
        The table [topology].
    names : sequence of str
        Names of the topology's classes.
    cluster : Cluster
        The hosts and their wires.
    """

    def numbers(name: str, bandwidth_bytes_per_s: float, latency_s: float) -> tuple[float, float]:
        bandwidth_key, latency_key = f"{name}_bandwidth", f"{name}_latency"
        return (
            settings.quantity(
                bandwidth_key, parse_bandwidth_bytes_per_s, "400Gb/s", bandwidth_bytes_per_s, is_positive=True
            ),
            settings.quantity(latency_key, parse_time_s, "1us", latency_s),
        )

    wires = cluster.bandwidth_bytes_per_s, cluster.latency_s
    between_switches = numbers("switch", *wires)
    classes = [LinkClass(name, *numbers(name, *between_switches)) for name in names]
    return tuple(each for each in classes if (each.bandwidth_bytes_per_s, each.latency_s) != wires)


def link_class_settings(classes: Sequence[LinkClass]) -> dict[str, object]:
    """Keys from which `read_link_classes` reads the classes."""
    settings: dict[str, object] = {}
    for each in classes:
        settings[f"{each.name}_bandwidth"] = exact_bandwidth(each.bandwidth_bytes_per_s)
        settings[f"{each.name}_latency"] = exact_time(each.latency_s)
    return settings


def class_bandwidth_bytes_per_s(classes: Sequence[LinkClass], name: str, cluster: Cluster) -> float:
    """Bandwidth of each wire of a class."""
    return next((each.bandwidth_bytes_per_s for each in classes if each.name == name), cluster.bandwidth_bytes_per_s)


def relative_bandwidth(classes: Sequence[LinkClass], name: str, cluster: Cluster) -> float:
    """Bandwidth of a wire of a class, as a multiple of that of a wire of a host."""
    return class_bandwidth_bytes_per_s(classes, name, cluster) / cluster.bandwidth_bytes_per_s


def wire_blocks(what: str, classes: Sequence[LinkClass], kinds: Sequence[WireKind]) -> tuple[WireBlock, ...]:
    """Wires with a bandwidth and latency of their own.

    Parameters
    ----------
    what : str
        Names the topology, for messages.
    classes : sequence of LinkClass
        Their numbers.
    kinds : sequence of WireKind
        All wires of the topology; those without a name are not of any class.

    Raises
    ------
    PlatformError
        If there is no such class, one is there twice, or has numbers that no wire has.
    """
    known = {kind.name for kind in kinds} - {""}
    own: dict[str, LinkClass] = {}
    for each in classes:
        if each.name not in known:
            among = ", ".join(sorted(known)) or "none"
            raise PlatformError(f"{what} has no class {each.name!r} of links: its classes are {among}")
        if each.name in own:
            raise PlatformError(f"{what} says twice what its links {each.name!r} are: keep one")
        if not (0 < each.bandwidth_bytes_per_s < inf and 0 <= each.latency_s < inf):
            raise PlatformError(
                f"{what}: its links {each.name!r} have a bandwidth of {each.bandwidth_bytes_per_s:g} bytes/s and a "
                f"latency of {each.latency_s:g} s: the former must be above 0, the latter at least 0"
            )
        own[each.name] = each
    return tuple(_blocks(own, kinds))


def wires_of_groups(cluster: Cluster, wires_per_host: int) -> Iterator[WireBlock]:
    """Wires of groups of hosts that differ from those of the cluster.

    Raises
    ------
    PlatformError
        If there are some, and hosts have no wires of their own.
    """
    first = 0
    for group in cluster.groups:
        if (group.bandwidth_bytes_per_s, group.latency_s) != (cluster.bandwidth_bytes_per_s, cluster.latency_s):
            if not wires_per_host:
                raise PlatformError(
                    f"cluster {cluster.name!r}: no wire of this topology is one host's, and a group has its own "
                    "bandwidth or latency: remove it"
                )
            wires = first * wires_per_host, group.n_hosts * wires_per_host
            yield WireBlock(*wires, group.bandwidth_bytes_per_s, group.latency_s)
        first += group.n_hosts


def _blocks(own: dict[str, LinkClass], kinds: Sequence[WireKind]) -> Iterator[WireBlock]:
    first = 0
    for kind in kinds:
        if kind.name in own:
            each = own[kind.name]
            yield WireBlock(first, kind.n_wires, kind.bundle * each.bandwidth_bytes_per_s, each.latency_s)
        first += kind.n_wires
