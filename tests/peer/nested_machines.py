"""Kinds of machines of zones in zones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tests.peer.drawn_machines import cluster_zone, graph, peers
from tests.peer.machines import Draw, Machine, element, kind, names_of, route


@dataclass(frozen=True, slots=True)
class Inner:
    """A zone in another one: its text, its hosts, and the names that can be its gateways."""

    name: str
    body: str
    hosts: tuple[str, ...]
    gateways: tuple[str, ...]
    has_self_routes: bool = True


def _cluster(draw: Draw, name: str) -> Inner:
    n = draw.randint(2, 6)
    backbone = f'bb_bw="{draw.bandwidth()}" bb_lat="{draw.latency()}"'
    own_router = draw.maybe(f'router_id="{name}-door"', 0.3)
    cluster = draw.cluster(name, f"0-{n - 1}", " ".join(filter(None, (draw.maybe(backbone), own_router))))
    suffix = cluster.partition('suffix="')[2].partition('"')[0]
    door = f"{name}-door" if own_router else f"{name}-{name}_router{suffix}"
    return Inner(name, element("cluster", cluster), names_of(cluster, range(n)), (door,))


def _regular(draw: Draw, name: str) -> Inner:
    """A fat tree, a torus or a dragonfly: it has no router, so a host of it is the gateway."""
    topology, shape, n = draw.choice(
        (
            ("FAT_TREE", "2;2,3;1,2;1,2", 6),
            ("FAT_TREE", "1;5;1;2", 5),
            ("TORUS", "3,2", 6),
            ("DRAGONFLY", "2,2;1,1;2,1;2", 8),
        )
    )
    cluster = draw.cluster(name, f"0-{n - 1}", f'topology="{topology}" topo_parameters="{shape}"')
    hosts = names_of(cluster, range(n))
    return Inner(name, element("cluster", cluster), hosts, hosts[:2], topology != "TORUS" or "loopback" in cluster)


def _full(draw: Draw, name: str) -> Inner:
    hosts = [f"{name}-{i}" for i in range(draw.randint(1, 4))]
    body = "".join(draw.host(host) for host in hosts) + element("router", f'id="{name}-router"')
    links, names = draw.links(3)
    body += links
    for src, dst in combinations([*hosts, f"{name}-router"], 2):
        body += route("route", f'src="{src}" dst="{dst}"', draw.sample(names, draw.randint(1, 3)))
    return Inner(name, element("zone", f'id="{name}" routing="Full"', body), tuple(hosts), (f"{name}-router", hosts[0]))


def _graph(draw: Draw, name: str) -> Inner:
    routing = draw.choice(("Floyd", "Dijkstra", "DijkstraCache"))
    hosts = [f"{name}-{i}" for i in range(draw.randint(2, 5))]
    members = [*hosts, f"{name}-router"]
    body = "".join(draw.host(host) for host in hosts) + element("router", f'id="{name}-router"')
    body += graph(draw, members)
    gateways = (f"{name}-router", hosts[-1])
    return Inner(name, element("zone", f'id="{name}" routing="{routing}"', body), tuple(hosts), gateways)


def _cabinets(draw: Draw, name: str) -> Inner:
    body, hosts, router = cluster_zone(draw, name)
    return Inner(name, body, tuple(hosts), (router,))


def _single(draw: Draw, name: str) -> Inner:
    """One host in a zone of its own, as grids are written."""
    body = draw.host(f"{name}-0")
    return Inner(name, element("zone", f'id="{name}" routing="Full"', body), (f"{name}-0",), (f"{name}-0",))


LEAVES = (_cluster, _cluster, _regular, _full, _graph, _cabinets, _single)


def _inner(draw: Draw, name: str, depth: int, leaves: Sequence[object] = LEAVES) -> Inner:
    if depth == 0:
        return draw.choice(leaves)(draw, name)  # type: ignore[operator]
    deeper = [draw.choice((depth - 1, depth - 1, 0)) for _ in range(draw.randint(2, 4))]
    children = [_inner(draw, f"{name}{letter}", below) for letter, below in zip("abcd", deeper, strict=False)]
    return _around(draw, name, draw.choice(("Full", "Full", "Floyd", "Dijkstra")), children)


def _around(
    draw: Draw, name: str, routing: str, children: Sequence[Inner], more_links: str = "", bypasses: str = ""
) -> Inner:
    """A zone around others, with routes between them."""
    tag, between = draw.choice((("zone", "zoneRoute"), ("zone", "zoneRoute"), ("AS", "ASroute")))
    body, all_links, routes = "".join(child.body for child in children), "", ""
    # a zone on the way is entered and left by one gateway, as the peer's Dijkstra requires
    doors = {child.name: child.gateways for child in children}
    if routing == "Dijkstra":
        doors = {name: (draw.choice(gateways),) for name, gateways in doors.items()}
    pairs = list(combinations(children, 2))
    if routing != "Full":
        pairs = [
            pair for pair in pairs if children.index(pair[1]) - children.index(pair[0]) == 1 or draw.random() < 0.3
        ]
    for one, other in pairs:
        links, names = draw.links(draw.randint(1, 2))
        all_links += links
        ways = ((one, other), (other, one)) if draw.random() < 0.2 else ((one, other),)
        for src, dst in ways:
            gateways = f'gw_src="{draw.choice(doors[src.name])}" gw_dst="{draw.choice(doors[dst.name])}"'
            ends = f'src="{src.name}" dst="{dst.name}" {gateways}'
            routes += route(between, ends, draw.sample(names, len(names)), symmetrical=len(ways) == 1)
    hosts = tuple(host for child in children for host in child.hosts)
    gateways = tuple(child.gateways[0] for child in children)
    self_routes = all(child.has_self_routes for child in children)
    body += all_links + more_links + routes + bypasses
    return Inner(name, element(tag, f'id="{name}" routing="{routing}"', body), hosts, gateways, self_routes)


def _machine(inner: Inner) -> Machine:
    return Machine(inner.body, inner.hosts, has_self_routes=inner.has_self_routes)


@kind
def clusters(draw: Draw) -> Machine:
    """Clusters of several topologies, each joined to each."""
    children = [_inner(draw, f"c{i}", 0, (_cluster, _cluster, _regular)) for i in range(draw.randint(2, 4))]
    return _machine(_around(draw, "z", "Full", children))


@kind
def zones(draw: Draw) -> Machine:
    """Zones of any kind in one of any routing."""
    return _machine(_inner(draw, "z", 1))


@kind
def deep_zones(draw: Draw) -> Machine:
    """Zones in zones in zones."""
    return _machine(_inner(draw, "z", draw.randint(2, 3)))


@kind
def zone_bypasses(draw: Draw) -> Machine:
    """Zones in zones where some pairs of zones, one way, do not take their route."""
    one, other, *children = (_inner(draw, name, 0, (_cluster, _full)) for name in ("ya", "yb", "zb", "zc"))
    inner = _around(draw, "y", "Full", [one, other])
    (links, names), bypasses = draw.links(2), ""
    ends = [(near, far) for near in (inner, one, other, *children) for far in children if near is not far]
    for one, other in draw.sample(list(dict.fromkeys([*ends, *(pair[::-1] for pair in ends)])), 3):
        tag = draw.choice(("bypassZoneRoute", "bypassASroute"))
        ends = f'src="{one.name}" dst="{other.name}" gw_src="{one.gateways[0]}" gw_dst="{other.gateways[0]}"'
        bypasses += route(tag, ends, draw.sample(names, draw.randint(1, 2)))
    return _machine(_around(draw, "z", "Full", [inner, *children], links, bypasses))


def _coordinates(draw: Draw, name: str) -> Inner:
    """Peers with one as the gateway, or hosts without links of their own round a router."""
    if draw.random() < 0.5:
        body, hosts = peers(draw, f"{name}-", draw.randint(2, 4))
        gateway = hosts[0]
    else:
        hosts, gateway, body = [f"{name}-{i}" for i in range(draw.randint(2, 4))], f"{name}-router", ""
        for member in (*hosts, gateway):
            at = f'coordinates="{draw.uniform(-30, 30):.3g} {draw.uniform(-30, 30):.3g} {draw.uniform(0, 3):.2g}"'
            body += element("router", f'id="{member}" {at}') if member == gateway else draw.host(member, more=f" {at}")
    return Inner(name, element("zone", f'id="{name}" routing="Vivaldi"', body), tuple(hosts), (gateway,), False)


@kind
def grid(draw: Draw) -> Machine:
    """Zones of coordinates beside a cluster: distances within a zone, links between zones."""
    return _machine(_around(draw, "z", "Full", [_coordinates(draw, "a"), _coordinates(draw, "b"), _cluster(draw, "c")]))
