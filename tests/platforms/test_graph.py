"""Networks from an edge list: routes against a graph search, and what is refused."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.platform import Platform
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Description, Edge, Graph, ListedNames, hosts_among, read_edges

Length = tuple[int, int]  # latency in ns, hops
SOME = settings(max_examples=150)


def graph(n_hosts: int, edges: tuple[Edge, ...], routing: str = "fewest_hops", **more: object) -> Graph:
    hosts = ListedNames(tuple(f"n{i}" for i in range(n_hosts)))
    return Graph(Cluster("g", hosts, 1e9, 1.25e9, 3e-6, **more), edges, routing)  # type: ignore[arg-type]


def built(net: Graph) -> Platform:
    return Description("a graph", net).build()


@dataclass
class Search:
    """Shortest paths by their definition: edges are relaxed until no distance to the target changes."""

    net: Graph

    def __post_init__(self) -> None:
        names = list(self.net.cluster.hosts)
        names += dict.fromkeys(name for edge in self.net.edges for name in (edge.a, edge.b) if name not in names)
        self.names = names
        n_hosts = self.net.n_hosts
        self.forwards = [node >= n_hosts or n_hosts == len(names) for node in range(len(names))]
        self.cables: dict[tuple[int, int], tuple[Edge, str]] = {}
        for edge in self.net.edges:
            a, b = names.index(edge.a), names.index(edge.b)
            self.cables[a, b], self.cables[b, a] = (edge, "_UP"), (edge, "_DOWN")

    def length(self, a: int, b: int) -> Length:
        edge, _ = self.cables[a, b]
        latency_s = 3e-6 if edge.latency_s is None else edge.latency_s
        return (round(latency_s * 1e9), 1) if self.net.routing == "least_latency" else (1, 0)

    def distances(self, target: int) -> dict[int, Length]:
        found: dict[int, Length] = {target: (0, 0)}
        before: dict[int, Length] = {}
        while before != found:
            before = dict(found)
            for a, b in self.cables:
                if b in found and (b == target or self.forwards[b]):
                    found[a] = min(found.get(a, (10**9, 0)), self.over(found, a, b))
        return found

    def over(self, found: dict[int, Length], a: int, b: int) -> Length:
        """The length of the way from a over b."""
        latency, hops = self.length(a, b)
        return found[b][0] + latency, found[b][1] + hops

    def is_connected(self) -> bool:
        hosts = set(range(self.net.n_hosts))
        found = {host: self.distances(host).keys() for host in hosts}
        return all(hosts <= nodes for nodes in found.values()) and len(set().union(*found.values())) == len(self.names)

    def route(self, source: int, target: int) -> list[str]:
        cluster, found = self.net.cluster, self.distances(target)
        if source == target and cluster.loopback_bandwidth_bytes_per_s:
            return [f"g_link_{source}_loopback"]
        limiter = [f"g_link_{source}_limiter"] if cluster.limiter_bandwidth_bytes_per_s else []
        names, node = list(limiter), source
        if source == target:
            node = next(b for a, b in self.cables if a == source)
            away, back = self.cable(source, node, source, source), self.cable(node, source, source, source)
            return [*limiter, *dict.fromkeys([away, back])]
        while node != target:
            following = min(
                b for a, b in self.cables
                if a == node and b in found and (b == target or self.forwards[b])
                and self.over(found, a, b) == found[a]
            )  # fmt: skip
            names.append(self.cable(node, following, source, target))
            node = following
            if limiter and node < self.net.n_hosts:
                names.append(f"g_link_{node}_limiter")
        return names

    def cable(self, a: int, b: int, source: int, target: int) -> str:
        edge, half = self.cables[a, b]
        number = (source + target // edge.cables) % edge.cables
        return f"g_{edge.a}_{edge.b}_cable_{number}" + half * self.net.cluster.is_split


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n_hosts, n_switches = draw(st.integers(2, 5)), draw(st.sampled_from([0, 1, 2, 4, 6]))
    names = [f"n{i}" for i in range(n_hosts)] + [f"s{i}" for i in range(n_switches)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    if draw(st.booleans()):  # enough of them for all to be connected
        centre = names[n_hosts:] or names
        chosen += [(name, centre[i % len(centre)]) for i, name in enumerate(names)] + [*pairwise(centre)]
    chosen = [*{frozenset(pair): pair for pair in chosen if pair[0] != pair[1]}.values()]
    latency = st.sampled_from([None, 0.0, 1e-6, 2e-6, 5e-6, 20e-6])
    edges = tuple(
        Edge(*draw(st.permutations(pair)), draw(st.integers(1, 3)), 1e9, draw(latency))
        for pair in draw(st.permutations(chosen))
    )
    return graph(
        n_hosts,
        edges,
        draw(st.sampled_from(["fewest_hops", "least_latency"])),
        is_split=draw(st.booleans()),
        limiter_bandwidth_bytes_per_s=draw(st.sampled_from([0.0, 2e9])),
        loopback_bandwidth_bytes_per_s=draw(st.sampled_from([0.0, 4e9])),
    )


@pytest.mark.slow
@SOME
@given(graphs())
def test_routes_are_the_shortest_paths_whose_next_nodes_are_lowest_or_the_graph_is_refused(net: Graph) -> None:
    search = Search(net)
    if not search.is_connected():
        with pytest.raises(PlatformError, match=r"graph 'g' has no way from '[ns]\d' to '[ns]\d'"):
            built(net)
        return
    platform = built(net)
    for source, target in product(range(net.n_hosts), repeat=2):
        assert list(platform.route(source, target).link_names) == search.route(source, target)


@given(st.permutations(range(5)), st.sampled_from([9.5, 1e3, 1e9]))
def test_ways_lead_to_their_target_where_latencies_are_so_large_that_others_are_lost_in_rounding(
    numbers: list[int], latency_s: float
) -> None:
    pairs = [(0, 1, latency_s), (1, 2, 0.0), (2, 3, 0.0), (3, 4, latency_s), (4, 0, latency_s)]
    edges = tuple(Edge(f"n{numbers[a]}", f"n{numbers[b]}", 1, 1e9, length_s) for a, b, length_s in pairs)
    platform = built(graph(5, edges, "least_latency"))
    for source, target in product(range(5), repeat=2):
        assert len(platform.route(source, target).link_names) <= 4


def test_a_way_that_is_found_to_be_shorter_after_others_were_begun_is_taken() -> None:
    """Dijkstra's algorithm comes to x over t first (10 us), and finds y (3 us) before it leaves x."""
    lengths = {"t x": 10, "t y": 1, "y x": 2, "t z": 5, "z w": 2, "x w": 1, "w s": 1, "z s": 2.5, "n0 s": 1, "t n1": 1}
    edges = tuple(Edge(*names.split(), latency_s=us * 1e-6) for names, us in lengths.items())
    platform = built(graph(2, edges, "least_latency"))
    assert [name.partition("_cable")[0] for name in platform.route(0, 1).link_names] == [
        "g_n0_s", "g_w_s", "g_x_w", "g_y_x", "g_t_y", "g_t_n1",
    ]  # fmt: skip


@pytest.mark.slow
def test_many_trees_of_shortest_paths_are_kept_and_the_oldest_give_way() -> None:
    """A binary tree of 16,383 hosts, whose parents are (node - 1) // 2; there is room for 1,024 trees of paths."""
    n = (1 << 14) - 1
    platform = built(graph(n, tuple(Edge(f"n{node}", f"n{(node - 1) // 2}") for node in range(1, n))))

    def expected(source: int, target: int) -> list[str]:
        climbs, falls = [], []
        while source != target:
            low = max(source, target)
            above = (low - 1) // 2
            (climbs if low == source else falls).append(
                f"g_n{low}_n{above}_cable_0_{'UP' if low == source else 'DOWN'}"
            )
            source, target = (above, target) if low == source else (source, above)
        return climbs + falls[::-1]

    wrong: list[tuple[int, int]] = []

    def ask(targets: range) -> None:
        pairs = [(target * 31 % n, target) for target in targets]
        wrong.extend(pair for pair in pairs if list(platform.route(*pair).link_names) != expected(*pair))

    threads = [threading.Thread(target=ask, args=[targets]) for targets in (range(1, 1200), range(2400, 1100, -1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(range(1, 2400, 100))
    assert not wrong


@pytest.mark.parametrize(
    ("n_hosts", "edges", "complaint"),
    [
        (2, [Edge("n0", "n0")], "edge between 'n0' and 'n0' joins a node with itself"),
        (2, [Edge("n0", "n1"), Edge("n1", "n0")], "edge between 'n1' and 'n0' is declared twice"),
        (2, [Edge("n0", "n1", cables=0)], "has 0 cables"),
        (2, [Edge("n0", "n1", cables=2**40)], "cables: it needs at least 1"),
        (2, [Edge("n0", "n1", 1, 0.0)], "has a bandwidth of 0 bytes/s"),
        (2, [Edge("n0", "n1", 1, float("nan"))], "has a bandwidth of nan"),
        (2, [Edge("n0", "n1", 1, 1e9, -1.0)], "has a latency of -1 s"),
        (3, [Edge("n0", "n1")], "no way from 'n2' to 'n0': no edges lead there"),
        (3, [Edge("n0", "s"), Edge("n1", "s"), Edge("n2", "n1")], "there, and hosts forward nothing where there are"),
        (3, [Edge("n0", "s"), Edge("n0", "t"), Edge("n1", "s"), Edge("n2", "t")], "no way from 'n1' to 'n2'"),
        (2, [Edge("n0", "n1"), Edge("n0", "s"), Edge("n1", "s"), Edge("t", "u")], "no way from 'n0' to 't'"),
    ],
)  # fmt: skip
def test_edges_that_cannot_be_are_refused_by_name(n_hosts: int, edges: list[Edge], complaint: str) -> None:
    with pytest.raises(PlatformError, match=re.escape(complaint)):
        built(graph(n_hosts, tuple(edges)))


def test_a_routing_that_there_is_not_is_refused() -> None:
    with pytest.raises(PlatformError, match="routing 'random': give one of fewest_hops, least_latency"):
        built(graph(2, (Edge("n0", "n1"),), "random"))


# ---- edge lists ----


def listed(folder: Path, text: str) -> tuple[Edge, ...]:
    path = folder / "edges.csv"
    path.write_text(text)
    return read_edges(path)


def test_an_edge_list_says_cables_bandwidth_and_latency_where_they_differ(tmp_path: Path) -> None:
    text = '# a lab\nlatency,a,b,cables,bandwidth\n1us,h1,"s, left",,\n\n,h2,"s, left",3,100Gbps\n'
    assert listed(tmp_path, text) == (Edge("h1", "s, left", 1, None, 1e-6), Edge("h2", "s, left", 3, 12.5e9, None))
    assert listed(tmp_path, "A,B\r\nh1,h2\r\n") == (Edge("h1", "h2"),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "lists no edges"),
        ("a,b\n", "lists no edges"),
        ("a,c\nx,y\n", "edges.csv:1: unknown column 'c'"),
        ("a,b,bandwith\n", "edges.csv:1: unknown column 'bandwith': did you mean 'bandwidth'?"),
        ("a,latency\n", "edges.csv:1: there is no column 'b'"),
        ("a,b,a\n", "edges.csv:1: a column is named twice"),
        ("a,b\n# so\nx\n", "edges.csv:3: there are 1 cells, and 2 columns: a,b"),
        ("a,b\nx,\n", "edges.csv:2: column 'b' is empty"),
        ("a,b,cables\nx,y,two\n", "edges.csv:2: column 'cables': 'two' is no number"),
        ("a,b,cables\nx,y,0\n", "edges.csv:2: column 'cables': '0' is no number"),
        ("a,b,bandwidth\nx,y,100\n", "edges.csv:2: column 'bandwidth': '100' has no unit: write it such as 100Gb/s"),
        ("a,b,latency\nx,y,1 parsec\n", "edges.csv:2: column 'latency': '1 parsec' is not a time"),
        ('a,b\n"x,y\n', "edges.csv:2: unexpected end of data"),
    ],
)
def test_a_line_that_is_no_edge_is_refused_with_its_number(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(PlatformError, match=re.escape(complaint)):
        listed(tmp_path, text)


def test_an_edge_list_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"a,b\n\xff\n")
    for name, complaint in (
        ("none", "No such file"),
        (".", "it is a directory"),
        ("binary", "not a text file in UTF-8"),
    ):
        with pytest.raises(PlatformError, match=f"cannot read edge list .*{complaint}"):
            read_edges(tmp_path / name)


def test_hosts_are_the_nodes_with_one_neighbour_or_those_of_a_name() -> None:
    edges = [Edge("h10", "s"), Edge("s", "t"), Edge("t", "h9"), Edge("s", "h2", cables=2)]
    assert hosts_among(edges) == ("h2", "h9", "h10")
    assert hosts_among(edges, "[st]") == ("s", "t")
    with pytest.raises(PlatformError, match=r"no node has a name like 'x\*': there are h10, s, t, h9, \.\.\."):
        hosts_among(edges, "x*")
    with pytest.raises(PlatformError, match="no node has a single neighbour: say which nodes are hosts"):
        hosts_among([Edge("a", "b"), Edge("b", "c"), Edge("c", "a")])
