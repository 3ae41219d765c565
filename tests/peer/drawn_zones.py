"""Draws machines of nested zones, as the text of a platform file: every routing, gateways anywhere, bypass routes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final, NamedTuple

LEAVES: Final = ("Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "Vivaldi", "cluster")
BRANCHES: Final = ("Full", "Floyd", "Dijkstra", "DijkstraCache")
HEAD: Final = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
SPEED: Final = "speed='1Gf'"
PEER_LINKS: Final = "bw_in='1GBps' bw_out='2GBps'"


class DrawnZone(NamedTuple):
    """A zone, and what routes from outside can name."""

    text: str
    name: str
    inside: dict[str, list[str]]  # gateways of each zone in it, itself included

    @property
    def gateways(self) -> list[str]:
        return self.inside[self.name]


def drawn_platform(seed: int, depth: int = 2) -> tuple[str, int]:
    """The text of a platform file, and how many hosts it has."""
    drawing = _Drawing(seed)
    zone = drawing.zone(depth)
    return f'{HEAD}<platform version="4.1">{zone.text}</platform>\n', drawing.n_hosts


class _Drawing:
    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._n_names = 0
        self.n_hosts = 0

    def _name(self, kind: str) -> str:
        self._n_names += 1
        return f"{kind}{self._n_names}"

    def _links(self, n: int) -> tuple[str, list[str]]:
        """Elements of links, and the <link_ctn> elements that cross them."""
        text, hops = "", []
        for name in (self._name("l") for _ in range(n)):
            policy = self._draw.choice(("SHARED", "SHARED", "FATPIPE", "SPLITDUPLEX"))
            size = f"bandwidth='{self._draw.randint(1, 9)}GBps' latency='{self._draw.randint(1, 99)}us'"
            text += f"<link id='{name}' {size} sharing_policy='{policy}'/>"
            halves = ("UP", "DOWN") if policy == "SPLITDUPLEX" else ("NONE",)
            hops += [f"<link_ctn id='{name}' direction='{half}'/>" for half in halves]
        return text, hops

    def _route(self, tag: str, ends: str, hops: list[str], lengths: tuple[int, ...]) -> str:
        return f"<{tag} {ends}>{''.join(self._draw.choices(hops, k=self._draw.choice(lengths)))}</{tag}>"

    def _pairs(self, members: list[str], is_full: bool) -> Iterable[tuple[str, str]]:
        """Pairs that join all members; all of them, or a tree and some more."""
        if is_full:
            return [(a, b) for i, a in enumerate(members) for b in members[:i]]
        pairs = {frozenset((a, self._draw.choice(members[:i]))): None for i, a in enumerate(members) if i}
        more = (self._draw.sample(members, 2) for _ in range(len(members) // 2 if len(members) > 1 else 0))
        pairs |= dict.fromkeys(map(frozenset, more))
        return [(ends[0], ends[-1]) for ends in (sorted(pair) for pair in pairs)]

    def zone(self, depth: int) -> DrawnZone:
        return self._branch(depth) if depth else self._leaf()

    def _leaf(self) -> DrawnZone:
        draw, routing, name = self._draw, self._draw.choice(LEAVES), self._name("z")
        n_hosts = draw.randint(1, 4)
        self.n_hosts += n_hosts
        if routing == "cluster":
            more = draw.choice(("", "bb_bw='5GBps' bb_lat='3us'", "loopback_bw='4GBps'", "limiter_link='1GBps'"))
            names = f"prefix='{name}-' suffix='' radical='0-{n_hosts - 1}' router_id='{name}-r'"
            text = f"<cluster id='{name}' {names} {SPEED} bw='1GBps' lat='7us' {more}/>"
            return DrawnZone(text, name, {name: [f"{name}-r"]})
        hosts = [self._name("h") for _ in range(n_hosts)]
        routers = [self._name("r") for _ in range(draw.randint(1, 2))]
        inside = {name: [*hosts, *routers]}
        if routing == "Vivaldi":
            peers = "".join(
                f"<peer id='{host}' {SPEED} {PEER_LINKS} coordinates='{draw.random()} {draw.random()} 1'/>"
                for host in hosts
            )
            return DrawnZone(f"<zone id='{name}' routing='Vivaldi'>{peers}</zone>", name, {name: hosts})
        text, hops = self._links(draw.randint(2, 5))
        members = [f"<host id='{host}' {SPEED}/>" for host in hosts] + [
            f"<router id='{router}'/>" for router in routers
        ]
        draw.shuffle(members)
        text = "".join(members) + text
        if routing == "Cluster":
            links = [self._name("w") for _ in hosts]
            text += "".join(f"<link id='{link}' bandwidth='2GBps' latency='5us'/>" for link in links)
            text += draw.choice(("", f"<backbone id='{self._name('b')}' bandwidth='3GBps' latency='2us'/>"))
            wires = zip(hosts, links, draw.sample(links, len(links)), strict=True)
            text += "".join(f"<host_link id='{host}' up='{up}' down='{down}'/>" for host, up, down in wires)
        else:
            points = draw.sample(inside[name], len(inside[name]))
            routes = self._pairs(points, routing == "Full")
            text += "".join(self._route("route", f"src='{a}' dst='{b}'", hops, (1, 1, 2, 3)) for a, b in routes)
            a, b = draw.choice(points), draw.choice(points)
            text += draw.choice(("", self._route("bypassRoute", f"src='{a}' dst='{b}'", hops, (2,))))
        return DrawnZone(f"<zone id='{name}' routing='{routing}'>{text}</zone>", name, inside)

    def _branch(self, depth: int) -> DrawnZone:
        draw, routing, name = self._draw, self._draw.choice(BRANCHES), self._name("Z")
        zones = {zone.name: zone for zone in (self.zone(depth - 1) for _ in range(draw.randint(2, 3)))}
        text, hops = self._links(draw.randint(2, 4))
        text = "".join(zone.text for zone in zones.values()) + text
        door = {zone.name: draw.choice(zone.gateways) for zone in zones.values()}
        for a, b in self._pairs(list(zones), routing == "Full"):
            doors = door[a], door[b]  # with Dijkstra's search SimGrid fails on zones that have several
            if not routing.startswith("Dijkstra"):
                doors = draw.choice(zones[a].gateways), draw.choice(zones[b].gateways)
            ends = f"src='{a}' dst='{b}' gw_src='{doors[0]}' gw_dst='{doors[1]}'"
            text += self._route("zoneRoute", ends, hops, (1, 1, 2))
        bypassed = set()
        for _ in range(draw.choice((0, 1, 2))):
            (a, doors_a), (b, doors_b) = (
                draw.choice(list(zone.inside.items())) for zone in draw.sample(list(zones.values()), 2)
            )
            if (a, b) not in bypassed:
                bypassed.add((a, b))
                ends = f"src='{a}' dst='{b}' gw_src='{draw.choice(doors_a)}' gw_dst='{draw.choice(doors_b)}'"
                text += self._route("bypassZoneRoute", ends, hops, (1, 2))
        inside = {key: doors for zone in zones.values() for key, doors in zone.inside.items()}
        inside[name] = [gateway for zone in zones.values() for gateway in zone.gateways]
        return DrawnZone(f"<zone id='{name}' routing='{routing}'>{text}</zone>", name, inside)
