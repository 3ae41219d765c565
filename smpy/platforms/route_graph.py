"""Reconstructs the graph of a small machine from its routes: hosts, the switches between links, links.

A platform knows routes, and not what its links join. Here each link has two ends; the end by which a route leaves one
link is that by which it enters the next, the first begins at the source, the last ends at the target. Ends that are one
by these rules are a node: a host, or a switch. Links of no route are not in the graph; a link may join a node to
itself, such as the backbone inside the switch of a cluster.

The two halves of a split link, `<name>_UP` and `<name>_DOWN`, join the same nodes, there and back. Another link, which
routes cross both ways, is entered by the end that is known to be where the route is, or left by the one that is where
the route goes on. A route that tells neither waits until others have joined more ends. Nothing is guessed: a machine
whose routes do not tell what its links join is refused, and what no route tells to be one switch is two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

NODES_MAX: Final = 200

_Walk = tuple[int, int, list[int]]  # source, target, links


@dataclass(frozen=True, slots=True)
class ParallelLinks:
    """Links between two nodes, or from one to itself, by their numbers."""

    nodes: tuple[int, int]
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RouteGraph:
    """Nodes 0 to `n_hosts` - 1 are the hosts, by number; those up to `n_nodes` are switches."""

    n_hosts: int
    n_nodes: int
    edges: tuple[ParallelLinks, ...]


def route_graph(platform: Platform) -> RouteGraph:
    """The graph of a machine's routes.

    Raises
    ------
    PlatformError
        If it has more than `NODES_MAX` nodes, or its routes fit no graph: one link joins different pairs of nodes.
    """
    n_hosts = platform.n_hosts
    _check_size(platform, n_hosts)
    ends = _Ends(n_hosts, [platform.link_name(link) for link in range(platform.n_links)])
    open_routes = _routes(platform)
    while open_routes:
        n_joined = ends.n_joined
        still_open = [route for route in open_routes if not ends.walk(*route)]
        if still_open and ends.n_joined == n_joined and len(still_open) == len(open_routes):
            raise _cannot_be_drawn(platform, still_open[0])
        open_routes = still_open
    if ends.contradiction is not None:
        raise _cannot_be_drawn(platform, ends.contradiction)
    graph = ends.graph()
    _check_size(platform, graph.n_nodes)
    return graph


def _cannot_be_drawn(platform: Platform, route: _Walk) -> PlatformError:
    source, target = (platform.host_names[host] for host in route[:2])
    return PlatformError(
        f"{platform.name} cannot be drawn: its routes, such as that from {source!r} to {target!r}, do not tell which "
        "nodes each of its links joins, or say that a link joins several pairs"
    )


def _check_size(platform: Platform, n_nodes: int) -> None:
    if n_nodes > NODES_MAX:
        raise PlatformError(
            f"{platform.name} has {n_nodes:,} hosts and switches, or more: with more than {NODES_MAX} a drawing shows "
            "nothing; draw a smaller machine of the same kind"
        )


def _routes(platform: Platform) -> list[_Walk]:
    """All routes between different hosts, short ones first."""
    hosts = range(platform.n_hosts)
    routes = [
        (source, target, platform.route_links(source, target)[0])
        for source in hosts
        for target in hosts
        if source != target and platform.route_length(source, target)[0] > 0
    ]
    return sorted(routes, key=lambda route: len(route[2]))


class _Ends:
    """Hosts and both ends of every link, joined into nodes (union-find); no node has two hosts.

    Attributes
    ----------
    n_joined : int
        Number of times two ends turned out to be one node.
    contradiction : (int, int, list of int) or None
        The first route that does not fit the others.
    """

    def __init__(self, n_hosts: int, link_names: list[str]) -> None:
        self.n_joined = 0
        self.contradiction: _Walk | None = None
        self._n_hosts = n_hosts
        self._parent = list(range(n_hosts + 2 * len(link_names)))  # a host is the root of its node
        number = {name: link for link, name in enumerate(link_names)}
        self._up_half: dict[int, int] = {}  # of the other halves
        for link, name in enumerate(link_names):
            up = number.get(f"{name.removesuffix('_DOWN')}_UP")
            if up is not None and name.endswith("_DOWN"):
                self._up_half[link] = up
        self._is_half = {*self._up_half, *self._up_half.values()}
        self._seen: dict[int, None] = {}

    def walk(self, source: int, target: int, links: list[int]) -> bool:
        """Join the ends along a route, as far as they are known; return whether all are."""
        entries: list[int | None] = [None] * len(links)
        leaves: list[int | None] = [None] * len(links)
        for at in (*range(len(links)), *reversed(range(len(links)))):
            if entries[at] is None:
                before = leaves[at - 1] if at else source
                after = entries[at + 1] if at + 1 < len(links) else target
                entries[at], leaves[at] = self._direction(links[at], before, after)
        for leave, entry in zip([source, *leaves], [*entries, target], strict=True):
            if leave is not None and entry is not None and not self._join(leave, entry):
                self.contradiction = self.contradiction or (source, target, links)
        return None not in entries

    def graph(self) -> RouteGraph:
        numbers = {host: host for host in range(self._n_hosts)}
        edges: dict[tuple[int, int], list[int]] = {}
        for link in self._seen:
            tail, head = (numbers.setdefault(self._find(end), len(numbers)) for end in self._ends(link))
            edges.setdefault((min(tail, head), max(tail, head)), []).append(link)
        parallel = tuple(ParallelLinks(nodes, tuple(sorted(links))) for nodes, links in edges.items())
        return RouteGraph(self._n_hosts, len(numbers), parallel)

    def _ends(self, link: int) -> tuple[int, int]:
        if link in self._up_half:
            tail, head = self._ends(self._up_half[link])
            return head, tail
        tail = self._n_hosts + 2 * link
        return tail, tail + 1

    def _direction(self, link: int, before: int | None, after: int | None) -> tuple[int | None, int | None]:
        """End by which a route enters a link, and the other end, from the neighbouring ends; None if unknown."""
        ways = (self._ends(link), self._ends(link)[::-1])
        if link not in self._seen or link in self._is_half:
            self._seen[link] = None
            return ways[0]
        for entry, leave in ways:
            if before is not None and self._find(entry) == self._find(before):
                return entry, leave
            if after is not None and self._find(leave) == self._find(after):
                return entry, leave
        possible = [
            (entry, leave)
            for entry, leave in ways
            if (before is None or self._can_join(before, entry)) and (after is None or self._can_join(leave, after))
        ]
        if len(possible) == len(ways):
            return None, None
        return possible[0] if possible else ways[0]

    def _find(self, end: int) -> int:
        while self._parent[end] != end:
            self._parent[end] = end = self._parent[self._parent[end]]
        return end

    def _can_join(self, one: int, other: int) -> bool:
        one, other = self._find(one), self._find(other)
        return one == other or max(one, other) >= self._n_hosts

    def _join(self, one: int, other: int) -> bool:
        """Join two ends into one node if possible; return whether they are one."""
        low, high = sorted((self._find(one), self._find(other)))
        if low == high:
            return True
        self._parent[high] = low
        self.n_joined += 1
        return high >= self._n_hosts
