"""Routes by the definition of each topology: nodes, ports and graph searches, no arithmetic on numbers of links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from smpy.platforms.cluster import Cluster
from smpy.platforms.topologies.fat_tree import TreeShape

Node = tuple[int, tuple[int, ...]]  # level, digits (digit 0 first)


@dataclass(frozen=True)
class Cable:
    """One of the parallel cables between two nodes of a fat tree."""

    child: Node
    parent: Node
    number: int  # among the parallel ones
    name: str


class FatTreeGraph:
    """A fat tree as nodes with ports that cables are plugged into."""

    def __init__(self, tree: TreeShape, first_position: int = 0, first_cable: int = 0) -> None:
        self.tree = tree
        self.first_position = first_position
        self.levels = [self._nodes(level) for level in range(tree.n_levels + 1)]
        self.hosts = self.levels[0]
        self.ids = {host: i for i, host in enumerate(self.hosts)}
        for i, switch in enumerate(node for level in self.levels[1:] for node in level):
            self.ids[switch] = 2 * len(self.hosts) - 1 - i
        self.up_port: dict[tuple[Node, int], Cable] = {}
        self.down_port: dict[tuple[Node, int], Cable] = {}
        self._plug_in(first_cable)

    def _nodes(self, level: int) -> list[Node]:
        """The nodes of a level, the first digit changing fastest."""
        tree = self.tree
        bases = [tree.parents[j] if j < level else tree.children[j] for j in range(tree.n_levels)]
        return [(level, digits[::-1]) for digits in product(*(range(base) for base in reversed(bases)))]

    def _plug_in(self, number: int) -> None:
        tree = self.tree
        for level in range(tree.n_levels):
            for child in self.levels[level]:
                for parent in self.levels[level + 1]:
                    if any(child[1][j] != parent[1][j] for j in range(tree.n_levels) if j != level):
                        continue
                    for k in range(tree.cables[level]):
                        name = f"link_from_{self.ids[child]}_{self.ids[parent]}_{number}"
                        number += 1
                        cable = Cable(child, parent, k, name)
                        self.up_port[child, parent[1][level] + k * tree.parents[level]] = cable
                        self.down_port[parent, child[1][level] + k * tree.children[level]] = cable
        self.n_cables = number

    def is_ancestor(self, node: Node, host: Node) -> bool:
        return node[0] > 0 and all(node[1][j] == host[1][j] for j in range(node[0], self.tree.n_levels))

    def route(self, source: int, target: int) -> Iterator[tuple[str, Cable | Node]]:
        """ "up" and "down" with a cable, "limiter" with the node whose limiter is crossed."""
        tree = self.tree
        node, goal = self.hosts[source], self.hosts[target]
        while not self.is_ancestor(node, goal):
            level = node[0]
            port = self.first_position + target
            for parents in tree.parents[:level]:
                port //= parents
            cable = self.up_port[node, port % (tree.parents[level] * tree.cables[level])]
            yield "limiter", node
            yield "up", cable
            node = cable.parent
        port = -1
        while node != goal:
            level = node[0] - 1
            n_children = tree.children[level]
            n_ports = n_children * tree.cables[level]
            start = (self.first_position + source) % tree.cables[level] * n_children
            later = (
                [port for port in range(port + 1, n_ports) if port % n_children == goal[1][level]] if port >= 0 else []
            )
            port = (later or [port for port in range(start, n_ports) if port % n_children == goal[1][level]])[0]
            cable = self.down_port[node, port]
            yield "down", cable
            yield "limiter", node
            node = cable.child
        yield "limiter", node

    def distance(self, source: int, target: int) -> int:
        """Cables on the shortest way between two hosts, by breadth-first search."""
        start, goal = self.hosts[source], self.hosts[target]
        neighbours: dict[Node, set[Node]] = {node: set() for level in self.levels for node in level}
        for cable in self.up_port.values():
            neighbours[cable.child].add(cable.parent)
            neighbours[cable.parent].add(cable.child)
        steps = {start: 0}
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for other in neighbours[node]:
                if other not in steps:
                    steps[other] = steps[node] + 1
                    waiting.append(other)
        return steps[goal]


def fat_tree_links(cluster: Cluster, graph: FatTreeGraph, source: int, target: int) -> list[str]:
    """The names of the links of a route, in order."""
    if source == target and cluster.loopback_bandwidth_bytes_per_s:
        return [f"{cluster.name}_link_{cluster.hosts.numbers[source]}_loopback"]
    names = []
    for step, what in graph.route(source, target):
        if isinstance(what, Cable):
            names.append(what.name + (f"_{step.upper()}" if cluster.is_split else ""))
        elif cluster.limiter_bandwidth_bytes_per_s:
            names.append(f"{cluster.name}_link_{graph.ids[what]}_limiter")
    return names


def flat_links(cluster: Cluster, source: int | None, target: int | None) -> list[str]:
    """The names of the links of a route, in order; None stands for the router."""
    if source == target and cluster.loopback_bandwidth_bytes_per_s and source is not None:
        return [f"{cluster.name}_link_{cluster.hosts.numbers[source]}_loopback"]
    names: list[str] = []
    if source is not None:
        private = f"{cluster.name}_link_{cluster.hosts.numbers[source]}"
        if cluster.limiter_bandwidth_bytes_per_s:
            names.append(f"{private}_limiter")
        names.append(f"{private}_UP" if cluster.is_split else private)
    if cluster.backbone_bandwidth_bytes_per_s:
        names.append(f"{cluster.name}_backbone")
    if target is not None:
        private = f"{cluster.name}_link_{cluster.hosts.numbers[target]}"
        names.append(f"{private}_DOWN" if cluster.is_split else private)
        if cluster.limiter_bandwidth_bytes_per_s:
            names.append(f"{private}_limiter")
    return list(dict.fromkeys(names))  # no link twice
