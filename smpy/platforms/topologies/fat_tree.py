"""Fat trees: hosts below levels of switches (Leiserson 1985)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

from smpy.engine.kernel import lib
from smpy.errors import PlatformError
from smpy.platforms.builder import PlatformBuilder
from smpy.platforms.cluster import Cluster
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.parts import ReadPart, Zone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.platforms.simgrid.elements import Element


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The shape of a fat tree, from the leaves upward: one number a level in each tuple.

    Parameters
    ----------
    children : tuple of int
        Nodes below each switch of levels 1, 2, ...
    parents : tuple of int
        Switches above each node of levels 0, 1, ...
    cables : tuple of int
        Parallel cables between a node of levels 0, 1, ... and each of its parents.

    Examples
    --------
    >>> TreeShape(children=(4, 4), parents=(1, 2), cables=(1, 2)).n_hosts
    16
    """

    children: tuple[int, ...]
    parents: tuple[int, ...]
    cables: tuple[int, ...]

    @property
    def n_levels(self) -> int:
        return len(self.children)

    @property
    def n_hosts(self) -> int:
        return prod(self.children)

    def nodes_of_level(self, level: int) -> int:
        """Hosts at level 0, switches above.

        Examples
        --------
        >>> TreeShape(children=(4, 4), parents=(1, 2), cables=(1, 2)).nodes_of_level(2)
        2
        """
        return prod(self.parents[:level]) * prod(self.children[level:])

    @property
    def n_switches(self) -> int:
        return sum(self.nodes_of_level(level) for level in range(1, self.n_levels + 1))

    @property
    def n_wires(self) -> int:
        return sum(
            self.nodes_of_level(level) * self.parents[level] * self.cables[level] for level in range(self.n_levels)
        )


@topology("FAT_TREE")
@dataclass(frozen=True, slots=True)
class FatTree(Zone):
    """Hosts below levels of switches; it has no router, one of its hosts can be the gateway.

    Parameters
    ----------
    cluster : Cluster
        Its hosts and wires; it has no backbone.
    shape : TreeShape
        How they are joined.
    """

    cluster: Cluster
    shape: TreeShape

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> FatTree:
        """The tree of a <cluster topology='FAT_TREE'>."""
        from smpy.platforms.simgrid.clusters import read_regular_cluster

        shape = _shape(element)
        return cls(read_regular_cluster(element, shape.n_hosts, "fat tree"), shape, origin=element.origin)

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        cluster, shape, counts = self.cluster, self.shape, builder.counts
        _check(cluster, shape)
        builder.check_room(f"fat tree {cluster.name!r}", 0, 2 * shape.n_wires + shape.n_switches)

        def add(handle: Any, at: int, hosts: Any) -> int:
            numbers = shape.n_levels, shape.children, shape.parents, shape.cables
            return int(lib.platform_add_fat_tree(handle, at, hosts, *numbers, counts["fat tree hosts"]))

        builder.cluster(cluster, zone, add, link_name=_link_name(cluster, shape, counts["fat tree cables"]))
        counts["fat tree hosts"] += shape.n_hosts
        counts["fat tree cables"] += shape.n_wires


def _check(cluster: Cluster, tree: TreeShape) -> None:
    n_hosts = cluster.n_hosts
    if len(tree.parents) != tree.n_levels or len(tree.cables) != tree.n_levels or tree.n_levels < 1:
        raise PlatformError(
            f"fat tree {cluster.name!r} has {len(tree.children)} numbers of children, {len(tree.parents)} of "
            f"parents and {len(tree.cables)} of cables: give one of each a level"
        )
    if min(tree.children + tree.parents + tree.cables) < 1:
        raise PlatformError(f"fat tree {cluster.name!r} has a level with a 0: every number is at least 1")
    if tree.n_hosts != n_hosts:
        product = " x ".join(map(str, tree.children))
        raise PlatformError(
            f"fat tree {cluster.name!r} has {n_hosts} hosts and its shape needs {product} = {tree.n_hosts}: "
            "change its hosts or its numbers of children"
        )


def _link_name(cluster: Cluster, tree: TreeShape, first_cable: int) -> LinkNamer:
    """The name of the i-th link; cables of all fat trees of a platform are numbered together.

    A cable is named after the nodes it joins: hosts count up from 0, switches down from twice the number of hosts.
    """
    levels = range(tree.n_levels)
    above = [1, *accumulate(tree.parents, mul)]
    first_node = [0, *accumulate(tree.nodes_of_level(level) for level in range(tree.n_levels + 1))]
    first_wire = [0, *accumulate(tree.nodes_of_level(i) * tree.parents[i] * tree.cables[i] for i in levels)]

    def node_id(level: int, node: int) -> int:
        number = first_node[level] + node
        return number if level == 0 else 3 * tree.n_hosts - 1 - number

    def wire(number: int, half: str) -> str:
        level = bisect_right(first_wire, number) - 1
        child, parent_digit = divmod((number - first_wire[level]) // tree.cables[level], tree.parents[level])
        high, low = divmod(child, above[level])
        parent = low + above[level] * parent_digit + above[level + 1] * (high // tree.children[level])
        return f"link_from_{node_id(level, child)}_{node_id(level + 1, parent)}_{first_cable + number}{half}"

    def limiter_label(number: int) -> int:
        level = bisect_right(first_node, number) - 1
        return node_id(level, number - first_node[level])

    return cluster_link_name(cluster, tree.n_wires, wire, first_node[-1], limiter_label)


def _shape(element: Element) -> TreeShape:
    """The shape that "levels;children,...;parents,...;cables,..." describes."""
    text = element.text("topo_parameters")
    try:
        levels, *numbers = ([int(number) for number in part.split(",")] for part in text.split(";"))
    except ValueError:
        levels, numbers = [], []
    if len(levels) != 1 or len(numbers) != 3 or any(len(part) != levels[0] for part in numbers):
        raise element.error(
            f"attribute 'topo_parameters': {text!r} is not 'levels;children,...;parents,...;cables,...', with a number "
            "for each level in each list, such as '2;4,4;1,2;1,2'"
        )
    children, parents, cables = (tuple(part) for part in numbers)
    return TreeShape(children, parents, cables)
