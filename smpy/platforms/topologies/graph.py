"""Any network: hosts and switches, edges between them, shortest paths."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from glob import escape
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Final, Literal, cast

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.cut_bound import Cable, cut_bound_bytes_per_s
from smpy.platforms.edge_list import Edge, edges_of, hosts_among, read_edges
from smpy.platforms.link_ends import LinkEndsOf, WireEnds, cluster_link_ends
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.part_checks import COUNT_MAX
from smpy.platforms.parts import Zone
from smpy.platforms.parts_list import CableParts, PartsList, SwitchParts, cluster_parts
from smpy.platforms.topologies import topology
from smpy.units import LARGEST, SMALLEST, exact_bandwidth, exact_time

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts

ROUTINGS: Final = ("fewest_hops", "least_latency")


@topology("graph", tag="machine", word="edges")
@dataclass(frozen=True, slots=True)
class Graph(Zone):
    """Any network of hosts and switches; it has no router, one of its hosts can be the gateway.

    Nodes are numbered: hosts in their order, then switches in the order in which edges name them. Of several equally
    short paths, each node takes the one whose next node has the lowest number; all messages between two nodes go that
    way. Messages from one host to another take one of parallel cables: number (source + target // cables) mod cables,
    so that hosts in a row use all of them.

    Hosts forward nothing where there are switches; where all nodes are hosts, they do.

    Parameters
    ----------
    cluster : Cluster
        Its hosts; its bandwidth and latency are those of edges that say none. It has no backbone.
    edges : tuple of Edge
        Cables between hosts and switches: nodes that are no hosts are switches.
    routing : {"fewest_hops", "least_latency"}
        Criterion for the shortest path; among paths of equal latency, those of fewest hops.

    Examples
    --------
    >>> from smpy.platforms import Cluster, Description, ListedNames
    >>> hosts = Cluster("g", ListedNames(("x", "y")), 1e9, bandwidth_bytes_per_s=1e10, latency_s=1e-6)
    >>> machine = Description("a bridge", Graph(hosts, (Edge("x", "s"), Edge("s", "y")))).build()
    >>> machine.route(0, 1).link_names
    ('g_x_s_cable_0_UP', 'g_s_y_cable_0_UP')
    """

    cluster: Cluster
    edges: tuple[Edge, ...]
    routing: Literal["fewest_hops", "least_latency"] = "fewest_hops"

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> Graph:
        """The network of kind = "graph", whose `edges` are a CSV file (`read_edges`), or tables with its columns."""
        written = settings.value("edges")
        try:
            if written is not None and isinstance(written.value, list):
                edges = edges_of(written.value)
            else:
                edges = read_edges(settings.file("edges"))
        except PlatformError as wrong:
            raise settings.error("edges", str(wrong)) from None
        try:
            names = hosts_among(edges, settings.text_list("host_pattern"))
        except PlatformError as wrong:
            raise settings.error("host_pattern", str(wrong)) from None
        routing = cast("Literal['fewest_hops', 'least_latency']", settings.choice("routing", ROUTINGS, ROUTINGS[0]))
        return cls(hosts.cluster_of(names), edges, routing)

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def parts_list(self) -> PartsList:
        """Nodes that are no hosts are switches."""
        nodes, usual = _Nodes(self), self.cluster.bandwidth_bytes_per_s
        ports = Counter[str]()
        cables = []
        for edge in self.edges:
            at_switches = [node for node in (edge.a, edge.b) if nodes.numbers[node] >= nodes.n_hosts]
            ports.update(dict.fromkeys(at_switches, edge.cables))
            bandwidth = _or(edge.bandwidth_bytes_per_s, usual)
            cables.append(CableParts(edge.cables, len(at_switches), bandwidth))
        return cluster_parts(self.cluster, [SwitchParts(1, n_ports) for n_ports in ports.values()], cables)

    @property
    def bisection_bound_bytes_per_s(self) -> float | None:
        nodes, usual = _Nodes(self), self.cluster.bandwidth_bytes_per_s
        cables = [
            Cable(nodes.numbers[e.a], nodes.numbers[e.b], e.cables * _or(e.bandwidth_bytes_per_s, usual))
            for e in self.edges
        ]
        bound = cut_bound_bytes_per_s(nodes.n_hosts, len(nodes.numbers), cables)
        return None if bound is None else self.cluster.rails * bound

    def to_settings(self) -> dict[str, object]:
        names = tuple(self.cluster.hosts)
        try:
            are_ends = hosts_among(self.edges) == names
        except PlatformError:
            are_ends = False
        return {
            "kind": "graph",
            "edges": [_row(edge) for edge in self.edges],
            **({} if are_ends else {"host_pattern": [*map(escape, names)]}),
            "routing": self.routing,
        }

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        nodes = _Nodes(self)
        nodes.check()
        n_cables = sum(edge.cables for edge in self.edges)
        builder.check_room(nodes.what, 0, 2 * n_cables + 2 * len(self.edges))
        cluster = self.cluster
        columns = builder.networks.Edges(
            a=[nodes.numbers[edge.a] for edge in self.edges],
            b=[nodes.numbers[edge.b] for edge in self.edges],
            cables=[edge.cables for edge in self.edges],
            bandwidth_bytes_per_s=[
                _or(edge.bandwidth_bytes_per_s, cluster.bandwidth_bytes_per_s) for edge in self.edges
            ],
            latency_s=[_or(edge.latency_s, cluster.latency_s) for edge in self.edges],
        )
        network = builder.networks.graph(nodes.n_switches, columns, by_latency=self.routing == "least_latency")
        builder.cluster(
            cluster, zone, network, link_name=self._link_name(n_cables), link_ends=self._link_ends(n_cables, nodes)
        )

    def _link_name(self, n_cables: int) -> LinkNamer:
        """Name of the i-th link; a cable is named after the nodes that it joins."""
        cluster, edges = self.cluster, self.edges
        first_wire = [*accumulate((edge.cables for edge in edges), initial=0)]

        def wire(number: int, half: str) -> str:
            i = bisect_right(first_wire, number) - 1
            return f"{cluster.name}_{edges[i].a}_{edges[i].b}_cable_{number - first_wire[i]}{half}"

        return cluster_link_name(cluster, n_cables, wire, cluster.n_hosts, lambda number: cluster.hosts.numbers[number])

    def _link_ends(self, n_cables: int, nodes: _Nodes) -> LinkEndsOf:
        edges = self.edges
        first_wire = [*accumulate((edge.cables for edge in edges), initial=0)]

        def node(name: str) -> int | str:
            number = nodes.numbers[name]
            return number if number < nodes.n_hosts else name

        def wire(number: int) -> WireEnds:
            i = bisect_right(first_wire, number) - 1
            cable = number - first_wire[i] if edges[i].cables > 1 else None
            return WireEnds(node(edges[i].a), node(edges[i].b), cable)

        return cluster_link_ends(self.cluster, n_cables, wire)


def _row(edge: Edge) -> dict[str, object]:
    """An edge as a table."""
    row: dict[str, object] = {"a": edge.a, "b": edge.b}
    if edge.bandwidth_bytes_per_s is not None:
        row["bandwidth"] = exact_bandwidth(edge.bandwidth_bytes_per_s)
    if edge.latency_s is not None:
        row["latency"] = exact_time(edge.latency_s)
    return row if edge.cables == 1 else row | {"cables": edge.cables}


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


class _Nodes:
    """Nodes of a graph, by name and by number, and errors in them."""

    def __init__(self, graph: Graph) -> None:
        self.graph: Final = graph
        self.what: Final = f"graph {graph.cluster.name!r}"
        self.numbers: Final[dict[str, int]] = {}
        for name in graph.cluster.hosts:
            self.numbers.setdefault(name, len(self.numbers))
        self.n_hosts: Final = len(self.numbers)  # the builder refuses duplicate names
        for edge in graph.edges:
            self.numbers.setdefault(edge.a, len(self.numbers))
            self.numbers.setdefault(edge.b, len(self.numbers))

    @property
    def n_switches(self) -> int:
        return len(self.numbers) - self.n_hosts

    def check(self) -> None:
        """Refuse impossible edges, and nodes without a connection between them."""
        graph = self.graph
        if graph.routing not in ROUTINGS:
            raise PlatformError(f"{self.what} has routing {graph.routing!r}: give one of {', '.join(ROUTINGS)}")
        if graph.cluster.backbone_bandwidth_bytes_per_s:
            raise PlatformError(f"{self.what} has a backbone: only flat clusters have one, remove it")
        if len(graph.edges) > COUNT_MAX // 2 or len(self.numbers) > COUNT_MAX - 2:
            raise PlatformError(f"{self.what} is too large: there can be {COUNT_MAX // 2:,} edges")
        seen: set[tuple[str, str]] = set()
        for edge in graph.edges:
            self._check_edge(edge, seen)
        self._check_ways()

    def _check_edge(self, edge: Edge, seen: set[tuple[str, str]]) -> None:
        what = f"{self.what}: the edge between {edge.a!r} and {edge.b!r}"
        if edge.a == edge.b:
            raise PlatformError(f"{what} joins a node with itself: remove it")
        pair = min(edge.a, edge.b), max(edge.a, edge.b)
        if pair in seen:
            raise PlatformError(f"{what} is declared twice: give it once, with its number of cables")
        seen.add(pair)
        if not 1 <= edge.cables <= COUNT_MAX:
            raise PlatformError(f"{what} has {edge.cables} cables: it needs at least 1, and has room for {COUNT_MAX:,}")
        if edge.bandwidth_bytes_per_s is not None and not SMALLEST <= edge.bandwidth_bytes_per_s < float("inf"):
            raise PlatformError(
                f"{what} has a bandwidth of {edge.bandwidth_bytes_per_s:g} bytes/s: it must be above 0, and finite"
            )
        if edge.latency_s is not None and not 0 <= edge.latency_s <= LARGEST:
            raise PlatformError(
                f"{what} has a latency of {edge.latency_s:g} s: it cannot be negative, nor above {LARGEST:g}"
            )

    def _check_ways(self) -> None:
        """Refuse hosts without a way between them, and switches without one to any host.

        Two hosts have a way if one part of the network reaches both: nodes that forward and are joined, or an edge
        between these hosts.
        """
        if not self.n_hosts or self.n_hosts + self.n_switches < 2:
            return
        names = list(self.numbers)
        part = self._parts()
        reached: list[set[int]] = [set() for _ in range(self.n_hosts)]
        for i, edge in enumerate(self.graph.edges):
            a, b = self.numbers[edge.a], self.numbers[edge.b]
            for host, beside in ((a, b), (b, a)):
                if host < self.n_hosts:
                    reached[host].add(part[beside] if part[beside] >= 0 else -1 - i)
        alone = next((host for host, parts in enumerate(reached) if not parts), None)
        if alone is not None:
            raise self._no_way(names[alone], names[1 if alone == 0 else 0])
        alike: dict[frozenset[int], int] = {}  # the first host of each kind
        for host, parts in enumerate(reached):
            alike.setdefault(frozenset(parts), host)
        if not frozenset.intersection(*alike):
            for (one, first), (other, second) in combinations(alike.items(), 2):
                if one.isdisjoint(other):
                    raise self._no_way(names[first], names[second])
        for node in range(self.n_hosts, len(names)):
            if not any(part[node] in parts for parts in alike):
                raise self._no_way(names[0], names[node])

    def _parts(self) -> list[int]:
        """The part of the network that each node which forwards is in, by the lowest number in it; -1 for others."""
        forwards = range(self.n_hosts if self.n_switches else 0, len(self.numbers))
        beside: list[list[int]] = [[] for _ in self.numbers]
        for edge in self.graph.edges:
            a, b = self.numbers[edge.a], self.numbers[edge.b]
            if a in forwards and b in forwards:
                beside[a].append(b)
                beside[b].append(a)
        part = [-1] * len(self.numbers)
        for start in forwards:
            waiting = [start] if part[start] < 0 else []
            while waiting:
                node = waiting.pop()
                if part[node] < 0:
                    part[node] = start
                    waiting += beside[node]
        return part

    def _no_way(self, one: str, other: str) -> PlatformError:
        hint = ", and hosts forward nothing where there are switches" if self.n_switches else ""
        return PlatformError(f"{self.what} has no way from {one!r} to {other!r}: no edges lead there{hint}")
