"""Dragonflies: groups of routers, each joined to every other group by one wire (Kim, Dally, Scott, Abts 2008)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import accumulate, combinations, count
from math import comb
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.cut_bound import EDGES_MAX, Cable, cut_bound_bytes_per_s
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
from smpy.platforms.part_checks import COUNT_MAX
from smpy.platforms.parts import ReadPart, Zone
from smpy.platforms.parts_list import CableParts, PartsList, SwitchParts, cluster_parts
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.simgrid.elements import Element

PORTS_MAX: Final = 100_000
_ROUTINGS: Final = ("minimal", "valiant", "adaptive")
_COLOURS: Final = ("green", "black", "blue")
_SHAPE_KEYS: Final = ("groups", "chassis_per_group", "routers_per_chassis", "hosts_per_router")


@dataclass(frozen=True, slots=True)
class DragonflyShape:
    """The shape of a dragonfly; the colours are those that Cray gave its wires [1]_.

    Parameters
    ----------
    groups : int
        Every two of them are joined by a blue wire. Where there are more of them than routers in one, a router has
        several blue wires.
    chassis_per_group, routers_per_chassis, hosts_per_router : int
        Numbers of chassis in a group, routers in a chassis and hosts at a router. All routers of a chassis are joined
        by green wires; in a group, all that have the same place in their chassis by black ones.
    blue, black, green : int
        Wires of a bundle: the bandwidth of a wire of that colour is so many times that of a host's.

    References
    ----------
    .. [1] Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012.

    Examples
    --------
    >>> DragonflyShape(groups=2, chassis_per_group=2, routers_per_chassis=3, hosts_per_router=2).n_hosts
    24
    """

    groups: int
    chassis_per_group: int
    routers_per_chassis: int
    hosts_per_router: int
    blue: int = 1
    black: int = 1
    green: int = 1

    @property
    def n_routers(self) -> int:
        return self.groups * self.chassis_per_group * self.routers_per_chassis

    @property
    def n_hosts(self) -> int:
        return self.n_routers * self.hosts_per_router

    @property
    def blue_per_router(self) -> int:
        """Number of blue wires of a router, at most."""
        return max(1, -(-(self.groups - 1) // self.routers_per_group))

    @property
    def routers_per_group(self) -> int:
        return self.chassis_per_group * self.routers_per_chassis

    @property
    def router_ports(self) -> int:
        """Ports in use of a router with wires to another group, if there is one."""
        inner = self.hosts_per_router + (self.routers_per_chassis - 1) * self.green
        inner += (self.chassis_per_group - 1) * self.black
        return inner + (self.blue * self.blue_per_router if self.groups > 1 else 0)

    @property
    def wires(self) -> tuple[int, int, int, int]:
        """Numbers of wires: to hosts, green, black, blue."""
        chassis = self.groups * self.chassis_per_group
        return (
            self.n_hosts,
            chassis * comb(self.routers_per_chassis, 2),
            self.groups * comb(self.chassis_per_group, 2) * self.routers_per_chassis,
            comb(self.groups, 2),
        )


def balanced_shape(n_hosts: int) -> DragonflyShape:
    """The smallest balanced dragonfly for so many hosts, of which the last group may not be full.

    Balanced is one with p hosts a router, 2p routers a group and about p wires between groups a router [1]_: minimal
    routes then carry about what all hosts send to all. Here it has up to 2p groups of one chassis, and as many wires in
    a bundle as the hosts of a group need to send equal parts to all groups: 2p * p / groups in a blue one, 2p / groups
    in a green one.

    References
    ----------
    .. [1] Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.1.

    Examples
    --------
    >>> balanced_shape(256)
    DragonflyShape(groups=8, chassis_per_group=1, routers_per_chassis=8, hosts_per_router=4, blue=4, black=1, green=1)
    """
    return _balanced(next(p for p in count(1) if 4 * p**3 >= n_hosts), n_hosts)


def _balanced(p: int, n_hosts: int) -> DragonflyShape:
    groups = -(-n_hosts // (2 * p * p))
    if groups == 1:
        return DragonflyShape(groups, 1, 2 * p, p)
    return DragonflyShape(groups, 1, 2 * p, p, blue=-(-2 * p * p // groups), green=-(-2 * p // groups))


def switched_dragonfly(n_hosts: int, ports: int) -> DragonflyShape:
    """The balanced dragonfly of the most hosts a router for so many hosts, whose routers have at most so many ports.

    Routers of 4p - 1 ports make a balanced one of p hosts a router [1]_, of up to 2p p + 1 groups. Fewer groups have
    wider bundles, which may need more ports than there are: then p is smaller. Hosts of one group have as many routers
    as they need.

    Raises
    ------
    ValueError
        If no balanced dragonfly of such routers has places for the hosts.

    References
    ----------
    .. [1] Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.1.

    Examples
    --------
    >>> switched_dragonfly(96, 40)
    DragonflyShape(groups=1, chassis_per_group=1, routers_per_chassis=10, hosts_per_router=10, blue=1, black=1, green=1)
    >>> switched_dragonfly(1056, 15)
    DragonflyShape(groups=33, chassis_per_group=1, routers_per_chassis=8, hosts_per_router=4, blue=1, black=1, green=1)
    >>> switched_dragonfly(4000, 40).router_ports
    39
    """
    most = (ports + 1) // 4
    for p in range(most, 0, -1):
        shape = _balanced(p, n_hosts)
        if shape.groups == 1:
            n_routers = -(-n_hosts // p)
            return DragonflyShape(1, 1, n_routers, p, green=-(-p // n_routers))
        if shape.router_ports <= ports:
            return shape
    most_groups = 2 * most * (ports + 1 - 3 * most) + 1  # one blue wire in each port that hosts and green wires leave
    raise ValueError(
        f"routers of {ports} ports make no balanced dragonfly of {n_hosts:,} hosts, and none of more than "
        f"{2 * most**2 * most_groups:,}: take other routers, or give the numbers of its shape"
    )


def _usual_shape(settings: TomlTable, n_hosts: int) -> DragonflyShape:
    if not settings.is_written("ports"):
        return balanced_shape(n_hosts)
    try:
        return switched_dragonfly(n_hosts, settings.integer("ports", least=3, most=PORTS_MAX))
    except ValueError as wrong:
        raise settings.error("ports", str(wrong)) from None


@topology("dragonfly", tag="machine")
@topology("DRAGONFLY")
@dataclass(frozen=True, slots=True)
class Dragonfly(Zone):
    """Groups of routers with hosts below them; it has no router of its own, one of its hosts can be the gateway.

    Inside a group a message goes to the target's place in a chassis first, by a green wire, then to the chassis, by a
    black one. Minimal routes cross one blue wire between two groups. Valiant's first go to another group, drawn for
    each pair of hosts [1]_: twice the way, and no two groups have a wire to themselves.

    Adaptive routes are UGAL's, with the loads of the whole network [2]_. A message between groups that sets out has
    the minimal route and two by way of groups that are drawn for it. It takes the detour with the least load if
    twice that is below the minimal route's, as a detour is twice the way, and keeps its route. The load of a route is
    that of its most loaded wire between routers: messages under way on it, this one included, over its bandwidth.
    Models that know no links, such as LogGP, know no load.

    Minimal routes are SimGrid's, with its error inside a group: a green wire counts as if it led to the first chassis.
    A black wire is then missing, or too many. Other routes are free of it.

    Parameters
    ----------
    cluster : Cluster
        Its hosts, those of a router together, and the wires; it has no backbone.
    shape : DragonflyShape
        Numbers of groups, chassis, routers and wires; its last places may be empty.
    routing : {"minimal", "valiant", "adaptive"}
        Kind of routes between groups.
    seed : int
        Seed of the groups by way of which routes go that are not minimal.
    link_classes : tuple of LinkClass
        Wires that are unlike those of hosts: ``green``, ``black``, ``blue``; of a bundle, each wire in it.

    References
    ----------
    .. [1] Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.
    .. [2] A. Singh, "Load-balanced routing in interconnection networks", thesis, Stanford 2005: UGAL-G.
    """

    cluster: Cluster
    shape: DragonflyShape
    routing: str = "minimal"
    seed: int = 0
    link_classes: tuple[LinkClass, ...] = ()

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> Dragonfly:
        """The dragonfly of a <cluster topology='DRAGONFLY'>."""
        from smpy.platforms.simgrid.clusters import read_regular_cluster

        shape = _shape(element)
        cluster = read_regular_cluster(element, shape.n_hosts, "dragonfly")
        if 0 < cluster.n_hosts < shape.n_hosts:
            raise element.error(_misfit(cluster, shape))
        if shape.groups > shape.routers_per_group:
            raise element.error(
                f"dragonfly {cluster.name!r} has {shape.groups} groups of {shape.chassis_per_group} x "
                f"{shape.routers_per_chassis} routers: SimGrid has no routes where there are more groups than routers "
                'in a group; a TOML file can have them: [topology] kind = "dragonfly"'
            )
        return cls(cluster, shape, origin=element.origin)

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> Dragonfly:
        """The dragonfly of kind = "dragonfly": the numbers of its shape, the wires of bundles, its routing.

        Without any of the former it is a balanced one, of routers with so many `ports` if they are written
        (`balanced_shape`, `switched_dragonfly`).
        """
        is_shaped = any(map(settings.is_written, _SHAPE_KEYS))
        if is_shaped and settings.is_written("ports"):
            raise settings.error("ports", f"the numbers of {', '.join(_SHAPE_KEYS)} say it: keep one or the other")
        usual = None if is_shaped else _usual_shape(settings, hosts.needed if hosts.count is None else hosts.count)
        groups = settings.integer("groups", usual.groups if usual else None)
        chassis = settings.integer("chassis_per_group", 1)
        shape = DragonflyShape(
            groups=groups,
            chassis_per_group=chassis,
            routers_per_chassis=settings.integer(
                "routers_per_chassis", usual.routers_per_chassis if usual else None, example=-(-groups // chassis)
            ),
            hosts_per_router=settings.integer("hosts_per_router", usual.hosts_per_router if usual else None),
            blue=settings.integer("blue", usual.blue if usual else 1, most=COUNT_MAX),
            black=settings.integer("black", 1, most=COUNT_MAX),
            green=settings.integer("green", usual.green if usual else 1, most=COUNT_MAX),
        )
        routing = settings.choice("routing", _ROUTINGS, "minimal")
        cluster = hosts.cluster_within(shape.n_hosts)
        classes = read_link_classes(settings, _COLOURS, cluster)
        return cls(cluster, shape, routing, settings.integer("seed", 0, least=0), classes)

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def parts_list(self) -> PartsList:
        """Routers count as switches; routers with wires to other groups have more ports."""
        shape, bundles = self.shape, (self.shape.green, self.shape.black, self.shape.blue)
        inner = shape.hosts_per_router + (shape.routers_per_chassis - 1) * shape.green
        inner += (shape.chassis_per_group - 1) * shape.black
        full, rest = divmod(shape.groups - 1, shape.blue_per_router)  # routers of a group, by their blue wires
        outer = [(full, shape.blue_per_router), *([(1, rest)] if rest else [])]
        n_inner = shape.n_routers - shape.groups * sum(n for n, _ in outer)
        return cluster_parts(
            self.cluster,
            [
                *(SwitchParts(shape.groups * n, inner + n_blue * shape.blue) for n, n_blue in outer),
                SwitchParts(n_inner, inner),
            ],
            [
                CableParts(n_wires * bundle, 2, class_bandwidth_bytes_per_s(self.link_classes, colour, self.cluster))
                for colour, n_wires, bundle in zip(_COLOURS, shape.wires[1:], bundles, strict=True)
            ],
            cables_per_host=1,
        )

    @property
    def longest_route_links(self) -> int | None:
        """Number of links of the longest route; None if routes are drawn, or places empty."""
        if self.n_hosts < 2:
            return 0
        if self.routing != "minimal" or self.n_hosts < self.shape.n_hosts:
            return None
        in_group = (self.shape.routers_per_chassis > 1) + (self.shape.chassis_per_group > 1)
        wires = 2 + in_group if self.shape.groups == 1 else 3 + 2 * in_group
        return 2 * wires + 1 if self.cluster.limiter_bandwidth_bytes_per_s else wires

    @property
    def bundles_cables(self) -> tuple[int, ...]:
        return tuple(sorted({self.shape.green, self.shape.black, self.shape.blue} - {1}))

    @property
    def bisection_bound_bytes_per_s(self) -> float | None:
        cluster, shape, n_hosts = self.cluster, self.shape, self.n_hosts
        if sum(self._wires) > EDGES_MAX:
            return None
        worths = (
            bundle * relative_bandwidth(self.link_classes, colour, cluster) * cluster.bandwidth_bytes_per_s
            for colour, bundle in zip(_COLOURS, (shape.green, shape.black, shape.blue), strict=True)
        )
        green, black, blue = worths
        blades, chassis, group = shape.routers_per_chassis, shape.chassis_per_group, shape.n_routers // shape.groups
        wires = (group.bandwidth_bytes_per_s for group in cluster.host_groups for _ in range(group.n_hosts))
        first = n_hosts  # the node of the first router
        cables = [Cable(host, first + host // shape.hosts_per_router, wire) for host, wire in enumerate(wires)]
        for at in range(first, first + shape.n_routers, blades):
            cables += (Cable(at + i, at + j, green) for i, j in combinations(range(blades), 2))
        for at in range(first, first + shape.n_routers, group):
            pairs = combinations(range(chassis), 2)
            cables += (Cable(at + i * blades + k, at + j * blades + k, black) for i, j in pairs for k in range(blades))
        cables += (
            Cable(first + i * group + _blue_end(shape, i, j), first + j * group + _blue_end(shape, j, i), blue)
            for i, j in combinations(range(shape.groups), 2)
        )
        bound = cut_bound_bytes_per_s(n_hosts, n_hosts + shape.n_routers, cables)
        return None if bound is None else cluster.rails * bound

    @property
    def _wires(self) -> tuple[int, int, int, int]:
        """Numbers of wires: to hosts, green, black, blue."""
        return (self.n_hosts, *self.shape.wires[1:])

    def to_settings(self) -> dict[str, object]:
        return {"kind": "dragonfly", **asdict(self.shape), "routing": self.routing, "seed": self.seed} | (
            link_class_settings(self.link_classes)
        )

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        cluster, shape, counts = self.cluster, self.shape, builder.counts
        _check(cluster, shape)
        if self.routing not in _ROUTINGS:
            raise PlatformError(
                f"dragonfly {cluster.name!r} has routing {self.routing!r}: give one of {', '.join(_ROUTINGS)}"
            )
        if not 0 <= self.seed < 2**64:
            raise PlatformError(f"dragonfly {cluster.name!r} has a seed of {self.seed}: it is from 0 to 2**64 - 1")
        n_wires = sum(self._wires)
        builder.check_room(f"dragonfly {cluster.name!r}", 0, 2 * n_wires + shape.n_routers)
        numbers = {
            "n_groups": shape.groups,
            "n_chassis": shape.chassis_per_group,
            "n_routers": shape.routers_per_chassis,
            "n_hosts": shape.hosts_per_router,
            "n_blue": shape.blue,
            "n_black": shape.black,
            "n_green": shape.green,
        }
        bundles = 1, shape.green, shape.black, shape.blue
        wires = [WireKind(*kind) for kind in zip(("", *_COLOURS), self._wires, bundles, strict=True)]
        builder.cluster(
            *(cluster, zone, builder.networks.dragonfly(numbers, self.routing, self.seed)),
            link_name=_link_name(cluster, shape, self._wires, counts["dragonfly wires"]),
            link_ends=_link_ends(cluster, shape, self._wires),
            own_wires=wire_blocks(f"dragonfly {cluster.name!r}", self.link_classes, wires),
            wires_per_host=1,
        )
        counts["dragonfly wires"] += n_wires


def _check(cluster: Cluster, shape: DragonflyShape) -> None:
    numbers = (shape.groups, shape.chassis_per_group, shape.routers_per_chassis, shape.hosts_per_router)
    bundles = (shape.blue, shape.black, shape.green)
    if min(numbers + bundles) < 1:
        raise PlatformError(f"dragonfly {cluster.name!r} has a 0 in its shape: every number is at least 1")
    if shape.hosts_per_router > COUNT_MAX:
        raise PlatformError(
            f"dragonfly {cluster.name!r} has {shape.hosts_per_router} hosts at a router: there can be {COUNT_MAX}"
        )
    if max(bundles) > COUNT_MAX:
        raise PlatformError(f"dragonfly {cluster.name!r} has bundles of {max(bundles)} wires: there can be {COUNT_MAX}")
    if shape.n_hosts < cluster.n_hosts:
        raise PlatformError(_misfit(cluster, shape))


def _blue_end(shape: DragonflyShape, group: int, other: int) -> int:
    """Router of a group, counted from its first one, where the wire to another group ends."""
    if shape.groups <= shape.routers_per_group:
        return other
    return (other - (other > group)) // shape.blue_per_router


def _misfit(cluster: Cluster, shape: DragonflyShape) -> str:
    numbers = (shape.groups, shape.chassis_per_group, shape.routers_per_chassis, shape.hosts_per_router)
    product = " x ".join(map(str, numbers))
    return (
        f"dragonfly {cluster.name!r} has {cluster.n_hosts} hosts and its shape needs {product} = {shape.n_hosts}: "
        "change its hosts or its shape"
    )


def _link_name(cluster: Cluster, shape: DragonflyShape, wires: tuple[int, int, int, int], first_wire: int) -> LinkNamer:
    """Name of the i-th link; wires of all dragonflies of a platform are numbered together."""
    n_hosts, first_of_kind = cluster.n_hosts, [0, *accumulate(wires)]
    kinds: tuple[Callable[[int, DragonflyShape], str], ...] = (_host_wire, _green_wire, _black_wire, _blue_wire)

    def wire(number: int, half: str) -> str:
        kind = bisect_right(first_of_kind, number, hi=4) - 1
        return f"{kinds[kind](number - first_of_kind[kind], shape)}_{first_wire + number}{half}"

    def limiter_label(number: int) -> int:  # hosts count up from 0, routers down
        return number if number < n_hosts else 2 * shape.n_hosts - 1 - (number - n_hosts)

    return cluster_link_name(cluster, first_of_kind[-1], wire, n_hosts + shape.n_routers, limiter_label)


def _pair(n: int, number: int) -> tuple[int, int]:
    """The pair i < j of n with this number, counted by i, then j."""
    i = bisect_right(range(n - 1), number, key=lambda i: i * (2 * n - i - 1) // 2) - 1
    return i, number - i * (2 * n - i - 1) // 2 + i + 1


def _host_wire(number: int, shape: DragonflyShape) -> str:
    router, host = divmod(number, shape.hosts_per_router)
    return f"local_link_from_router_{router}_to_node_{host}"


def _green_wire(number: int, shape: DragonflyShape) -> str:
    chassis, pair = divmod(number, comb(shape.routers_per_chassis, 2))
    i, j = _pair(shape.routers_per_chassis, pair)
    return f"green_link_in_chassis_{chassis % shape.chassis_per_group}_between_routers_{i}_and_{j}"


def _black_wire(number: int, shape: DragonflyShape) -> str:
    pair_of_group, blade = divmod(number, shape.routers_per_chassis)
    group, pair = divmod(pair_of_group, comb(shape.chassis_per_group, 2))
    i, j = _pair(shape.chassis_per_group, pair)
    return f"black_link_in_group_{group}_between_chassis_{i}_and_{j}_blade_{blade}"


def _blue_wire(number: int, shape: DragonflyShape) -> str:
    i, j = _pair(shape.groups, number)
    per_group = shape.chassis_per_group * shape.routers_per_chassis
    ends = i * per_group + _blue_end(shape, i, j), j * per_group + _blue_end(shape, j, i)
    return f"blue_link_between_group_{i}_and_{j}_routers_{ends[0]}_and_{ends[1]}"


def _link_ends(cluster: Cluster, shape: DragonflyShape, wires: tuple[int, int, int, int]) -> LinkEndsOf:
    first_of_kind = [0, *accumulate(wires)]
    blades, chassis = shape.routers_per_chassis, shape.chassis_per_group

    def router(number: int) -> str:
        group, place = divmod(number, shape.routers_per_group)
        return f"group {group} router {place}"

    def wire(number: int) -> WireEnds:
        kind = bisect_right(first_of_kind, number, hi=4) - 1
        number -= first_of_kind[kind]
        if kind == 0:
            return WireEnds(number, router(number // shape.hosts_per_router))
        if kind == 1:
            at, pair = divmod(number, comb(blades, 2))
            i, j = (at * blades + end for end in _pair(blades, pair))
        elif kind == 2:
            pair_of_group, blade = divmod(number, blades)
            group, pair = divmod(pair_of_group, comb(chassis, 2))
            i, j = ((group * chassis + end) * blades + blade for end in _pair(chassis, pair))
        else:
            a, b = _pair(shape.groups, number)
            i = a * shape.routers_per_group + _blue_end(shape, a, b)
            j = b * shape.routers_per_group + _blue_end(shape, b, a)
        return WireEnds(router(i), router(j))

    return cluster_link_ends(cluster, sum(wires), wire)


def _shape(element: Element) -> DragonflyShape:
    """Shape that "groups,blue;chassis,black;routers,green;hosts" describes."""
    text = element.text("topo_parameters")
    number = r"\s*(\d{1,9})\s*"
    numbers = re.fullmatch(";".join([f"{number},{number}"] * 3 + [number]), text, re.ASCII)
    if numbers is None:
        raise element.error(
            f"attribute 'topo_parameters': {text!r} is not 'groups,blue;chassis,black;routers,green;hosts', such as "
            "'4,3;3,2;4,1;2'"
        )
    groups, blue, chassis, black, routers, green, hosts = map(int, numbers.groups())
    return DragonflyShape(groups, chassis, routers, hosts, blue=blue, black=black, green=green)
