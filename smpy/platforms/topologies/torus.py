"""Tori: hosts on a lattice whose rows are rings; messages are passed on by the hosts on their way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.lattice_cuts import halving_cut
from smpy.platforms.link_ends import WireEnds, cluster_link_ends
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.parts import ReadPart, Zone
from smpy.platforms.parts_list import CableParts, PartsList, cluster_parts
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.simgrid.elements import Element

_DIMENSIONS_MAX = 32


@topology("torus", tag="machine", word="dimensions")
@topology("TORUS")
@dataclass(frozen=True, slots=True)
class Torus(Zone):
    """Hosts on a lattice whose rows are rings; it has no router, one of its hosts can be the gateway.

    A message goes the shorter way around the ring of dimension 0, then around that of dimension 1, and so on. Without
    a loopback no message from a host to itself can be sent.

    Parameters
    ----------
    cluster : Cluster
        Its hosts, those along dimension 0 first, and the wires between neighbours; it has no backbone.
    dimensions : tuple of int
        Hosts on a ring of each dimension.

    Examples
    --------
    >>> from smpy.platforms import Cluster, Description, NumberedNames
    >>> hosts = NumberedNames("h", (range(24),))
    >>> machine = Description("a torus", Torus(Cluster("t", hosts, 1e9, 1e9, 1e-6), (4, 3, 2))).build()
    >>> machine.route(0, 5).link_names
    ('t_link_from_0_to_1_UP', 't_link_from_1_to_5_UP')
    """

    cluster: Cluster
    dimensions: tuple[int, ...]

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Torus:
        """The torus of a <cluster topology='TORUS'>."""
        from smpy.platforms.simgrid.clusters import read_regular_cluster

        dimensions = _dimensions(element)
        return cls(read_regular_cluster(element, prod(dimensions), "torus"), dimensions, origin=element.origin)

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> Torus:
        """The torus of kind = "torus", with the hosts on a ring of each of its `dimensions`."""
        dimensions = settings.integers("dimensions")
        return cls(hosts.cluster(prod(dimensions)), dimensions)

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def parts_list(self) -> PartsList:
        """No switch: hosts pass on messages. Two hosts on a ring have one cable, as routes only use one."""
        cluster = self.cluster
        n_cables = sum(cluster.n_hosts // size * (size if size > 2 else size - 1) for size in self.dimensions)
        return cluster_parts(cluster, cables=[CableParts(n_cables, 0, cluster.bandwidth_bytes_per_s)])

    @property
    def longest_route_links(self) -> int:
        n_wires = sum(size // 2 for size in self.dimensions)
        return n_wires + (n_wires + 1) * (n_wires > 0 and self.cluster.limiter_bandwidth_bytes_per_s > 0)

    @property
    def bisection_bandwidth_bytes_per_s(self) -> float | None:
        """Bisection bandwidth of the rings; all hosts forward messages, so all wires between halves can be filled."""
        if self.cluster.limiter_bandwidth_bytes_per_s:
            return None
        rings = [min(2, size - 1) for size in self.dimensions]
        return self.cluster.rails * self.cluster.bandwidth_bytes_per_s * halving_cut(self.dimensions, rings)

    def to_settings(self) -> dict[str, object]:
        return {"kind": "torus", "dimensions": self.dimensions}

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        cluster, dimensions = self.cluster, self.dimensions
        _check(cluster, dimensions)
        builder.check_room(f"torus {cluster.name!r}", 0, 2 * cluster.n_hosts * len(dimensions))
        n_wires = cluster.n_hosts * len(dimensions)
        builder.cluster(
            *(cluster, zone, builder.networks.torus(dimensions)),
            link_name=_link_name(cluster, dimensions),
            link_ends=cluster_link_ends(cluster, n_wires, lambda wire: WireEnds(*_neighbours(wire, dimensions)[:2])),
        )


def _check(cluster: Cluster, dimensions: tuple[int, ...]) -> None:
    if not 1 <= len(dimensions) <= _DIMENSIONS_MAX:
        raise PlatformError(
            f"torus {cluster.name!r} has {len(dimensions)} dimensions: it needs at least 1, "
            f"and can have {_DIMENSIONS_MAX}"
        )
    if min(dimensions) < 1:
        raise PlatformError(f"torus {cluster.name!r} has a dimension of {min(dimensions)}: each is at least 1")
    if prod(dimensions) != cluster.n_hosts:
        product = " x ".join(map(str, dimensions))
        raise PlatformError(
            f"torus {cluster.name!r} has {cluster.n_hosts} hosts and its shape needs {product} = {prod(dimensions)}: "
            "change its hosts or its dimensions"
        )


def _link_name(cluster: Cluster, dimensions: tuple[int, ...]) -> LinkNamer:
    """The name of the i-th link: after the positions of the two hosts that a wire joins.

    On rings of one host that says too little: from the second such dimension on, where SimGrid stops, it is named too.
    """

    def wire(number: int, half: str) -> str:
        host, neighbour, dimension = _neighbours(number, dimensions)
        place = "" if dimensions[dimension] > 1 or dimension == dimensions.index(1) else f"_in_dimension_{dimension}"
        return f"{cluster.name}_link_from_{host}_to_{neighbour}{place}{half}"

    n_wires = cluster.n_hosts * len(dimensions)
    return cluster_link_name(cluster, n_wires, wire, cluster.n_hosts, lambda position: position)


def _neighbours(wire: int, dimensions: tuple[int, ...]) -> tuple[int, int, int]:
    """Positions of the hosts that a wire joins, and its dimension."""
    host, dimension = divmod(wire, len(dimensions))
    size, stride = dimensions[dimension], prod(dimensions[:dimension])
    at = host // stride % size
    return host, host + ((at + 1) % size - at) * stride, dimension


def _dimensions(element: Element) -> tuple[int, ...]:
    """The numbers of "4,3,2"."""
    text = element.text("topo_parameters")
    if re.fullmatch(r"\s*\d{1,9}\s*(,\s*\d{1,9}\s*)*", text, re.ASCII) is None:
        raise element.error(f"attribute 'topo_parameters': {text!r} is not a list of dimensions such as '4,3,2'")
    return tuple(map(int, text.split(",")))
