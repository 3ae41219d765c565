"""Fat trees: hosts below levels of switches (Leiserson 1985)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, prod
from operator import mul
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.link_classes import (
    LinkClass,
    WireKind,
    class_bandwidth_bytes_per_s,
    link_class_settings,
    read_link_classes,
    relative_bandwidth,
    wire_blocks,
)
from smpy.platforms.link_ends import LinkEndsOf, WireEnds, cluster_link_ends
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.parts import ReadPart, Zone
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.parts_list import PartsList
    from smpy.platforms.simgrid.elements import Element


PORTS: Final = 40  # of a switch whose ports the machine does not state
PORTS_MAX: Final = 1_000_000
USUAL_LEVELS: Final = 4  # a machine may describe the cables of this many, although the hosts of a run fill fewer


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
    def wires_of_levels(self) -> tuple[int, ...]:
        """Numbers of wires up from the nodes of levels 0, 1, ..."""
        levels = range(self.n_levels)
        return tuple(self.nodes_of_level(level) * self.parents[level] * self.cables[level] for level in levels)

    @property
    def n_wires(self) -> int:
        return sum(self.wires_of_levels)


def switched_tree(n_hosts: int, ports: int, oversubscription: float = 1.0) -> TreeShape:
    """The smallest tree of switches with so many ports each that holds the hosts; its levels are filled evenly.

    Parameters
    ----------
    n_hosts : int
        Least number of places for hosts.
    ports : int
        Number of ports of a switch, at least 2.
    oversubscription : float
        Hosts below a switch of the lowest level for each cable up from it, at least 1; further up there are as many
        cables up as down.

    Examples
    --------
    >>> switched_tree(32, 40)
    TreeShape(children=(16, 2), parents=(1, 1), cables=(1, 16))
    >>> switched_tree(32, 40, oversubscription=2)
    TreeShape(children=(16, 2), parents=(1, 1), cables=(1, 8))
    """
    half = ports // 2
    up = max(1, int(ports / (1 + oversubscription)))  # up ports of a switch of the lowest level
    leaf = max(1, min(ports - up, int(up * oversubscription)))  # hosts below it
    if n_hosts <= leaf:
        return TreeShape((n_hosts,), (1,), (1,))
    full_levels = 0  # below the two that are fitted
    while n_hosts > leaf * half**full_levels * ports:
        if half < 2:
            raise ValueError(f"switches of {ports} ports join {leaf * ports} hosts at most, and there are {n_hosts}")
        full_levels += 1
    subtrees = _ceil(n_hosts, leaf * half**full_levels)  # below each switch of the top level
    below_port = leaf * half ** (full_levels - 1) if full_levels else 1  # hosts, of the switches under it
    width = _ceil(n_hosts, below_port * subtrees)  # their ports down
    cables_up = width if full_levels else ceil(round(width / oversubscription, 9))
    divisors = (count for count in range(1, cables_up + 1) if cables_up % count == 0)
    uplinks = next(count for count in divisors if subtrees * (cables_up // count) <= ports)
    lower = [half] * (full_levels - 1)
    return TreeShape(
        children=(leaf, *lower, width, subtrees) if full_levels else (width, subtrees),
        parents=(1, up, *lower, uplinks) if full_levels else (1, uplinks),
        cables=(*[1] * (full_levels + 1), cables_up // uplinks),
    )


def _ceil(amount: int, per: int) -> int:
    """Division, rounded up."""
    return -(-amount // per)


@topology("fat-tree", tag="machine", word="children")
@topology("FAT_TREE")
@dataclass(frozen=True, slots=True)
class FatTree(Zone):
    """Hosts below levels of switches; it has no router, one of its hosts can be the gateway.

    Parameters
    ----------
    cluster : Cluster
        Its hosts and wires; it has no backbone.
    shape : TreeShape
        Levels of the tree and their cables; its last places may be empty.
    link_classes : tuple of LinkClass
        Wires that are unlike those of hosts: ``level2`` are those from switches of level 1 up, and so on.
    """

    cluster: Cluster
    shape: TreeShape
    link_classes: tuple[LinkClass, ...] = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> FatTree:
        """The tree of a <cluster topology='FAT_TREE'>."""
        from smpy.platforms.simgrid.clusters import read_regular_cluster

        shape = _shape(element)
        cluster = read_regular_cluster(element, shape.n_hosts, "fat tree")
        if min(shape.children) >= 1 and shape.n_hosts != cluster.n_hosts:
            raise element.error(_misfit(cluster, shape))
        return cls(cluster, shape, origin=element.origin)

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> FatTree:
        """The tree of kind = "fat-tree": of switches with so many `ports`, or with the numbers that are written."""
        if settings.is_written("children"):
            children = settings.integers("children")
            ones = [1] * len(children)
            shape = TreeShape(children, settings.integers("parents", ones), settings.integers("cables", ones))
            for key in ("ports", "oversubscription"):
                if settings.is_written(key):
                    raise settings.error(
                        key, "the numbers of children, parents and cables say it: keep one or the other"
                    )
            for key in ("parents", "cables"):
                if len(settings.integers(key, ones)) != shape.n_levels:
                    raise settings.error(key, f"it needs {shape.n_levels} numbers, as children has: one a level")
        else:
            ports = settings.integer("ports", PORTS, least=2, most=PORTS_MAX)
            oversubscription = settings.number("oversubscription", 1.0)
            if not 1 <= oversubscription <= ports - 1:
                raise settings.error(
                    "oversubscription", f"it is {oversubscription:g}, and is from 1 to {ports - 1} here"
                )
            try:
                shape = switched_tree(hosts.needed if hosts.count is None else hosts.count, ports, oversubscription)
            except ValueError as wrong:
                raise settings.error("ports", str(wrong)) from None
        cluster = hosts.cluster_within(shape.n_hosts)
        highest = max(shape.n_levels, 0 if settings.is_written("children") else USUAL_LEVELS)
        levels = [f"level{level}" for level in range(2, highest + 1)]
        classes = read_link_classes(settings, levels, cluster)
        return cls(cluster, shape, tuple(each for each in classes if each.name in levels[: shape.n_levels - 1]))

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def parts_list(self) -> PartsList:
        from smpy.platforms.parts_list import CableParts, SwitchParts, cluster_parts  # runs need not import it

        shape, top = self.shape, self.shape.n_levels
        ups = [parents * cables for parents, cables in zip(shape.parents, shape.cables, strict=True)]
        return cluster_parts(
            self.cluster,
            [
                SwitchParts(
                    shape.nodes_of_level(level),
                    shape.children[level - 1] * shape.cables[level - 1] + (ups[level] if level < top else 0),
                )
                for level in range(1, top + 1)
            ],
            [
                CableParts(
                    shape.wires_of_levels[level],
                    2,
                    class_bandwidth_bytes_per_s(self.link_classes, f"level{level + 1}", self.cluster),
                )
                for level in range(1, top)
            ],
            cables_per_host=ups[0],
        )

    @property
    def longest_route_links(self) -> int:
        if self.n_hosts < 2:
            return 0
        places = accumulate(self.shape.children, mul)
        height = 1 + next(level for level, n_places in enumerate(places) if n_places >= self.n_hosts)
        return 2 * height + (2 * height + 1) * (self.cluster.limiter_bandwidth_bytes_per_s > 0)

    @property
    def bisection_bandwidth_bytes_per_s(self) -> float | None:
        """Bandwidth from the first half of the hosts to the second.

        Flows that meet at the lowest switch above both ends go no further up. None with limiters or unequal wires.
        """
        if self.cluster.limiter_bandwidth_bytes_per_s or not self.cluster.has_equal_wires:
            return None
        relative = [
            relative_bandwidth(self.link_classes, f"level{level}", self.cluster)
            for level in range(1, self.shape.n_levels + 1)
        ]
        n_wires = _halves_wires(self.shape, self.n_hosts, relative)
        return self.cluster.rails * self.cluster.bandwidth_bytes_per_s * n_wires

    def to_settings(self) -> dict[str, object]:
        shape = self.shape
        return {"kind": "fat-tree", "children": shape.children, "parents": shape.parents, "cables": shape.cables} | (
            link_class_settings(self.link_classes)
        )

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        cluster, shape, counts = self.cluster, self.shape, builder.counts
        _check(cluster, shape)
        builder.check_room(f"fat tree {cluster.name!r}", 0, 2 * shape.n_wires + shape.n_switches)
        builder.cluster(
            cluster,
            zone,
            builder.networks.fat_tree(shape.children, shape.parents, shape.cables, counts["fat tree hosts"]),
            link_name=_link_name(cluster, shape, counts["fat tree cables"]),
            link_ends=_link_ends(cluster, shape),
            wires_per_host=shape.parents[0] * shape.cables[0],
            own_wires=wire_blocks(
                f"fat tree {cluster.name!r}",
                self.link_classes,
                [
                    WireKind(f"level{level + 1}" if level else "", n_wires)
                    for level, n_wires in enumerate(shape.wires_of_levels)
                ],
            ),
        )
        counts["fat tree hosts"] += shape.n_hosts
        counts["fat tree cables"] += shape.n_wires


def _halves_wires(tree: TreeShape, n_hosts: int, relative: Sequence[float]) -> float:
    """Wires of hosts that can be filled from the first half of the hosts to the second.

    A wire of a level is worth `relative` of them.

    The switches above a node are copies of each other, which take equal parts of what leaves it: as if it had one way
    up, as wide as all its cables.
    """
    half, sizes = n_hosts // 2, [1, *accumulate(tree.children, mul)]
    above = [1, *accumulate(tree.parents, mul)]
    ups = zip(above, tree.parents, tree.cables, relative, strict=False)
    width = [nodes * parents * cables * worth for nodes, parents, cables, worth in ups]
    full = [width[0]]  # what leaves a subtree whose hosts are all of one half: the thinnest of its levels
    for level in range(1, tree.n_levels):
        full.append(min(width[level], tree.children[level - 1] * full[-1]))

    def flow(level: int, first: int) -> tuple[float, float, float]:
        """Flow from the first half of the hosts to the second in a subtree, in wires of hosts.

        Three numbers: the flow inside the subtree, the most that can leave it, and the most that can enter it.
        """
        end = min(first + sizes[level], n_hosts)
        if level < tree.n_levels and end - first == sizes[level] and (end <= half or first >= n_hosts - half):
            return (0, full[level], 0) if end <= half else (0, 0, full[level])
        if level == 0:
            return 0, 0, 0  # the one in the middle
        below = [flow(level - 1, child) for child in range(first, end, sizes[level - 1])]
        met, leaving, entering = (sum(part) for part in zip(*below, strict=True))
        meeting = min(leaving, entering)
        way_up = width[level] if level < tree.n_levels else 0
        return met + meeting, min(leaving - meeting, way_up), min(entering - meeting, way_up)

    return flow(tree.n_levels, 0)[0]


def _check(cluster: Cluster, tree: TreeShape) -> None:
    n_hosts = cluster.n_hosts
    if len(tree.parents) != tree.n_levels or len(tree.cables) != tree.n_levels or tree.n_levels < 1:
        raise PlatformError(
            f"fat tree {cluster.name!r} has {len(tree.children)} numbers of children, {len(tree.parents)} of "
            f"parents and {len(tree.cables)} of cables: give one of each a level"
        )
    if min(tree.children + tree.parents + tree.cables) < 1:
        raise PlatformError(f"fat tree {cluster.name!r} has a level with a 0: every number is at least 1")
    if tree.n_hosts < n_hosts:
        raise PlatformError(_misfit(cluster, tree))


def _misfit(cluster: Cluster, tree: TreeShape) -> str:
    product = " x ".join(map(str, tree.children))
    return (
        f"fat tree {cluster.name!r} has {cluster.n_hosts} hosts and its shape needs {product} = {tree.n_hosts}: "
        "change its hosts or its numbers of children"
    )


def _link_name(cluster: Cluster, tree: TreeShape, first_cable: int) -> LinkNamer:
    """The name of the i-th link; cables of all fat trees of a platform are numbered together.

    A cable is named after the nodes it joins: hosts count up from 0, switches down from twice the number of hosts.
    """
    first_node = [0, *accumulate(tree.nodes_of_level(level) for level in range(tree.n_levels + 1))]
    ends = _nodes_of_wires(tree)

    def node_id(level: int, node: int) -> int:
        number = first_node[level] + node
        return number if level == 0 else 3 * tree.n_hosts - 1 - number

    def wire(number: int, half: str) -> str:
        level, child, parent, _ = ends(number)
        return f"link_from_{node_id(level, child)}_{node_id(level + 1, parent)}_{first_cable + number}{half}"

    def limiter_label(number: int) -> int:
        level = bisect_right(first_node, number) - 1
        return node_id(level, number - first_node[level])

    return cluster_link_name(cluster, tree.n_wires, wire, first_node[-1], limiter_label)


def _nodes_of_wires(tree: TreeShape) -> Callable[[int], tuple[int, int, int, int]]:
    """Level and number of the node from which a cable goes up, number of its parent, and of the parallel cable."""
    above = [1, *accumulate(tree.parents, mul)]
    first_wire = [0, *accumulate(tree.wires_of_levels)]

    def ends(number: int) -> tuple[int, int, int, int]:
        level = bisect_right(first_wire, number) - 1
        pair, cable = divmod(number - first_wire[level], tree.cables[level])
        child, parent_digit = divmod(pair, tree.parents[level])
        high, low = divmod(child, above[level])
        parent = low + above[level] * parent_digit + above[level + 1] * (high // tree.children[level])
        return level, child, parent, cable

    return ends


def _link_ends(cluster: Cluster, tree: TreeShape) -> LinkEndsOf:
    wires = _nodes_of_wires(tree)

    def wire(number: int) -> WireEnds:
        level, child, parent, cable = wires(number)
        lower = child if level == 0 else _switch_name(tree, level, child)
        return WireEnds(lower, _switch_name(tree, level + 1, parent), cable if tree.cables[level] > 1 else None)

    return cluster_link_ends(cluster, tree.n_wires, wire)


def _switch_name(tree: TreeShape, level: int, number: int) -> str:
    """Name of a switch of a level: leaf, spine and core, or by the level of a tree of four or more."""
    usual = {1: ("switch",), 2: ("leaf", "spine"), 3: ("leaf", "spine", "core")}.get(tree.n_levels)
    return f"{usual[level - 1] if usual else f'level {level} switch'} {number}"


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
