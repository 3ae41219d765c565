"""Builds a platform part by part, from the outside in, and refuses parts that do not fit together.

Every refusal is a `PlatformError` that names the part, and where its file describes it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from typing import Any, Final, Literal, Protocol, TypeAlias

from smpy.engine import cluster_networks
from smpy.engine.cluster_networks import Network, kernel_cluster, set_groups_inside
from smpy.engine.file_places import FilePlaces
from smpy.engine.host_runs import HostRuns
from smpy.engine.kernel import ffi, lib
from smpy.engine.memory import check_fits
from smpy.engine.platform import QUANTITIES, Platform
from smpy.errors import PlatformError, meant
from smpy.platforms.cluster import Cluster, NumberedNames
from smpy.platforms.link_classes import WireBlock, wires_of_groups
from smpy.platforms.link_names import LinkNamer, LinkNames
from smpy.platforms.links import Coordinates, Direction, Hop, Sharing
from smpy.platforms.models.machine_models import Models
from smpy.platforms.models.memory import Memory
from smpy.platforms.models.power import HostPower, host_power, link_power
from smpy.platforms.models.storage import Disk, Storage
from smpy.platforms.part_checks import COUNT_MAX, check_cluster, check_host, check_link
from smpy.platforms.profiles import Changing, Profile
from smpy.units import format_bytes

LOOPBACK_NAME: Final = "__loopback__"
HOST_BYTES: Final = 300  # measured
LINK_BYTES: Final = 24
NO_MEMORY: Final = Memory()

ShortestRule: TypeAlias = Literal["floyd", "dijkstra"]
_SHORTEST_RULES: Final = {"floyd": lib.SHORTEST_FLOYD, "dijkstra": lib.SHORTEST_DIJKSTRA}


def located(wrong: PlatformError, origin: str) -> PlatformError:
    """The error, with the origin of the part that is refused, unless that of a part inside stands there."""
    if wrong.is_located or not origin:
        return wrong
    error = PlatformError(f"{origin}: {wrong}")
    error.is_located = True
    return error


def _power_of(
    host: str,
    properties: tuple[tuple[str, str], ...],
    speed_flop_per_s: float,
    state_speeds_flop_per_s: Sequence[float],
    first_state: int,
    of_others: tuple[tuple[str, str], ...],
) -> HostPower | None:
    """States and power of a host; `of_others`: properties for hosts with one state that have no power of their own."""
    if not 0 <= first_state < max(1, len(state_speeds_flop_per_s)):
        raise PlatformError(f"host {host!r} begins in state {first_state}, and has {len(state_speeds_flop_per_s)}")
    for speed in state_speeds_flop_per_s:
        if not speed > 0:
            raise PlatformError(f"host {host!r} has a speed of {speed:g} flop/s in a state: it must be above 0")
    try:
        known = dict(properties) if len(state_speeds_flop_per_s) > 1 else {**dict(of_others), **dict(properties)}
        return host_power(known, speed_flop_per_s, state_speeds_flop_per_s, first_state)
    except PlatformError as wrong:
        raise PlatformError(f"host {host!r}: {wrong}") from None


class Buildable(Protocol):
    """Part of a description that adds itself to a platform."""

    @property
    def origin(self) -> str:
        """Position in the file that describes the part, for messages."""

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        """Add the part to a platform, inside a zone."""


class PlatformBuilder:
    """Collects zones, hosts, routers, links and routes; zones are referred to by their names.

    Parameters
    ----------
    name : str
        Name of the platform in messages.
    models : Models
        The loopback of its network is what Full zones without sub-zones use from a host to itself.

    Attributes
    ----------
    counts : Counter
        Counters that topologies keep over the whole platform, such as the number of the next cable.
    networks : module
        Networks of clusters, a function a topology (`smpy.engine.cluster_networks`).
    host_power : tuple of (str, str)
        Properties that say the power of hosts that are added from now on, if their own do not and they have one state.
    wire_power_w : tuple of float or None
        Idle and busy power of each link of the wires of clusters that are added from now on; None: not known.
    """

    networks = cluster_networks

    def __init__(self, name: str, models: Models | None = None) -> None:
        self._name = name
        self._models = models or Models()
        self._handle = ffi.gc(_checked(lib.platform_new()), lib.platform_free)
        self._points: dict[str, int] = {}
        self._host_names: list[str] = []
        self._properties = HostRuns[tuple[tuple[str, str], ...]](())
        self._memory = HostRuns(NO_MEMORY)
        self._disks: dict[int, tuple[Disk, ...]] = {}
        self._sockets = array("i")
        self._links = LinkNames()
        self._split: set[str] = set()
        self._loopback = -1
        self._backbones: dict[str, str | None] = {}  # of stars
        self._vivaldi: set[str] = set()
        self._need_bytes = 0
        self._host_numbers: dict[str, int] = {}
        self._series: dict[Profile, int] = {}
        self._followers: set[tuple[Changing, int]] = set()
        self._power_sets: dict[HostPower, int] = {}
        self.counts: Final[Counter[str]] = Counter()
        self.wire_power_w: tuple[float, float] | None = None
        self.host_power: tuple[tuple[str, str], ...] = ()

    def add(self, part: Buildable, zone: str | None = None) -> None:
        """A part and all that stands in it; what is refused is told with its origin."""
        try:
            part.build(self, zone)
        except PlatformError as wrong:
            raise located(wrong, part.origin) from None

    # ---- zones and what is in them ----

    def full_zone(self, name: str, parent: str | None = None) -> None:
        """Zone whose routes are all declared."""
        self._new_zone(name, parent, lambda at: lib.platform_add_full_zone(self._handle, at, self._loopback_link()))

    def shortest_zone(self, name: str, parent: str | None, rule: ShortestRule) -> None:
        """Zone whose routes are the shortest sequences of declared ones, by the search that resolves ties."""
        self._new_zone(
            name,
            parent,
            lambda at: lib.platform_add_shortest_zone(self._handle, at, _SHORTEST_RULES[rule], self._loopback_link()),
        )

    def star_zone(self, name: str, parent: str | None = None) -> None:
        """Zone whose hosts have wires to a centre."""
        self._new_zone(name, parent, lambda at: lib.platform_add_star_zone(self._handle, at, False))
        self._backbones[name] = None

    def vivaldi_zone(self, name: str, parent: str | None = None) -> None:
        """Zone whose latencies follow from coordinates."""
        self._new_zone(name, parent, lambda at: lib.platform_add_star_zone(self._handle, at, True))
        self._vivaldi.add(name)

    def empty_zone(self, name: str, parent: str | None = None) -> None:
        """Zone without routes."""
        self._new_zone(name, parent, lambda at: lib.platform_add_empty_zone(self._handle, at))

    def host(
        self,
        name: str,
        zone: str,
        speed_flop_per_s: float,
        cores: int = 1,
        properties: tuple[tuple[str, str], ...] = (),
        sockets: int = 1,
        coordinates: Coordinates | None = None,
        memory: Memory = NO_MEMORY,
        disks: tuple[Disk, ...] = (),
        state_speeds_flop_per_s: Sequence[float] = (),
        first_state: int = 0,
    ) -> None:
        """A computer; coordinates are for Vivaldi zones, which need them."""
        self._check_new(name)
        check_host(name, speed_flop_per_s, cores, sockets, memory)
        self._points[name] = _number(
            lib.platform_add_host(self._handle, self._point(zone, "zone"), speed_flop_per_s, cores),
            f"host {name!r} in zone {zone!r}",
        )
        self._place_at(name, zone, coordinates)
        self._properties.add(len(self._host_names), properties)
        self._memory.add(len(self._host_names), memory)
        states = speed_flop_per_s, state_speeds_flop_per_s, first_state
        power = _power_of(name, properties, *states, self.host_power)
        self._set_power(len(self._host_names), 1, power)
        if disks:
            self._disks[len(self._host_names)] = disks
        self._host_names.append(name)
        self._sockets.append(sockets)

    def router(self, name: str, zone: str, coordinates: Coordinates | None = None) -> None:
        """Junction of routes, without computing power."""
        self._check_new(name)
        self._points[name] = _number(
            lib.platform_add_router(self._handle, self._point(zone, "zone")), f"router {name!r} in zone {zone!r}"
        )
        self._place_at(name, zone, coordinates)

    def cabinet(
        self,
        zone: str,
        hosts: NumberedNames,
        speed_flop_per_s: float,
        bandwidth_bytes_per_s: float,
        latency_s: float,
        memory: Memory = NO_MEMORY,
    ) -> None:
        """Identical hosts of a star, with their wires."""
        backbone = self._backbone_of(zone, "a cabinet")
        n, numbers, names = hosts.n_names, hosts.numbers, list(hosts)
        if len(set(names)) < n or not self._points.keys().isdisjoint(names):
            for name in names:
                self._check_new(name)
            raise PlatformError("a cabinet declares a host twice")
        check_host(names[0], speed_flop_per_s, 1, 1, memory)
        check_link(f"link_{names[0]}_UP", bandwidth_bytes_per_s, latency_s)
        what = f"the cabinet of host {names[0]!r}"
        first = _number(lib.platform_add_hosts(self._handle, self._points[zone], n, speed_flop_per_s, 1), what)
        link = _number(
            lib.platform_add_links(self._handle, 2 * n, bandwidth_bytes_per_s, latency_s, lib.LINK_SHARED), what
        )
        self._links.add_block(
            2 * n, lambda i: f"link_{hosts.prefix}{numbers[i // 2]}{hosts.suffix}_{('UP', 'DOWN')[i % 2]}"
        )
        wires = first, n, link, link + 1, 2, backbone
        _number(lib.platform_set_wires(self._handle, self._points[zone], *wires), what)
        self._points.update(zip(names, range(first, first + n), strict=True))
        self._properties.add(len(self._host_names), ())
        self._memory.add(len(self._host_names), memory)
        self._host_names.extend(names)
        self._sockets.extend(array("i", [1]) * n)

    def wires(self, zone: str, host: str, up: str, down: str) -> None:
        """Links from a host of a star to the centre, and back; they replace those of an earlier call."""
        backbone = -1 if zone in self._vivaldi else self._backbone_of(zone, "the wires of a host")
        links = [self._half_number(name) for name in (up, down)]
        member = self._member(zone, host, "host or router")
        _number(
            lib.platform_set_wires(self._handle, self._points[zone], member, 1, *links, 0, backbone),
            f"the wires of host {host!r}",
        )

    def backbone(self, zone: str, link: str) -> None:
        """The link at the inner end of the wires of a star that are added after it."""
        self._backbone_of(zone, "a backbone")
        self._backbones[zone] = link

    def check_vivaldi(self, zone: str, what: str) -> None:
        """Refuse parts that need a zone with coordinates, outside one."""
        if zone not in self._vivaldi:
            raise PlatformError(f"zone {zone!r} cannot hold {what}: only one with routing='Vivaldi' can")

    def check_room(self, what: str, n_hosts: int, n_links: int) -> None:
        """Refuse a part that this machine has no memory for, with those before it: it has not been made yet.

        Raises
        ------
        PlatformError
            With an estimate of what it would take.
        """
        self._need_bytes += n_hosts * HOST_BYTES + n_links * LINK_BYTES
        remedy = "describe a smaller machine"
        if n_hosts > COUNT_MAX or n_links > COUNT_MAX:
            raise PlatformError(
                f"{what} with its {n_hosts:,} hosts and {n_links:,} links would take "
                f"{format_bytes(self._need_bytes)} of memory; there can be {COUNT_MAX:,} of each: {remedy}"
            )
        check_fits(self._need_bytes, f"{what} with its {n_hosts:,} hosts and {n_links:,} links", remedy, PlatformError)

    def cluster(
        self,
        cluster: Cluster,
        parent: str | None,
        network: Network,
        *,
        link_name: LinkNamer,
        router_name: str | None = None,
        own_wires: Sequence[WireBlock] = (),
        wires_per_host: int = 0,
    ) -> None:
        """Zone of identical hosts.

        Parameters
        ----------
        cluster : Cluster
            Its hosts and wires.
        parent : str or None
            Name of the zone it stands in.
        network : Network
            Its network, made by one of `networks`.
        link_name : callable
            Makes the name of the i-th link.
        router_name : str, optional
            Name of its router, if it has one.
        own_wires : sequence of WireBlock
            Wires whose bandwidth and latency are not the cluster's.
        wires_per_host : int
            The wires of each host: they are the first ones, in the order of the hosts. 0: no wire is one host's.
        """
        routers = () if router_name is None else (router_name,)
        host_names = list(cluster.hosts)
        at = self._open_cluster(cluster, host_names, parent, routers)
        own_wires = (*own_wires, *wires_of_groups(cluster, wires_per_host))
        zone = self._planes(cluster, at, network, link_name, own_wires)
        self._points[cluster.name] = zone
        self._points.update(zip(host_names, range(zone + 1, zone + 1 + len(host_names)), strict=True))
        if router_name is not None:
            self._points[router_name] = zone + 1 + len(host_names)
        first = len(self._host_names)
        for group in cluster.host_groups:
            self._properties.add(first, group.properties)
            self._memory.add(first, group.memory)
            self._sockets.extend(array("i", [group.sockets]) * group.n_hosts)
            if cluster.groups:
                numbers = group.speed_flop_per_s, group.cores
                _number(
                    lib.platform_set_hosts(self._handle, first, group.n_hosts, *numbers), f"a group of {cluster.name!r}"
                )
            states = group.speed_flop_per_s, group.state_speeds_flop_per_s, group.first_state
            power = _power_of(host_names[first - len(self._host_names)], group.properties, *states, self.host_power)
            self._set_power(first, group.n_hosts, power)
            first += group.n_hosts
        self._host_names.extend(host_names)

    def _planes(
        self,
        cluster: Cluster,
        at: int,
        network: Network,
        link_name: LinkNamer,
        own_wires: Sequence[WireBlock],
    ) -> int:
        """Add a cluster's network, once for each rail; return the point of its zone."""
        what = f"cluster {cluster.name!r}"
        if cluster.rails > 1:
            at = _number(lib.platform_add_rails(self._handle, at, cluster.rails), what)
        zone, first_link = at, len(self._links)
        for rail in range(cluster.rails):
            zone = _number(network(self._handle, at, kernel_cluster(cluster, self.wire_power_w)), what)
            n_links = lib.platform_n_links(self._handle) - len(self._links)
            halves = 2 if cluster.is_split else 1
            for block in own_wires:
                links = len(self._links) + halves * block.first, halves * block.n_wires
                numbers = block.bandwidth_bytes_per_s, block.latency_s
                _number(lib.platform_set_links(self._handle, *links, *numbers), f"the links of {what}")
            self._links.add_block(n_links, link_name if cluster.rails == 1 else _on_rail(rail, link_name))
            if rail == 0:
                self.check_room(f"{what} on {cluster.rails} rails", 0, (cluster.rails - 1) * n_links)
        if cluster.groups and cluster.has_loopbacks:
            set_groups_inside(self._handle, cluster, len(self._host_names), range(first_link, len(self._links)))
        return zone

    # ---- links and routes ----

    def link(
        self,
        name: str,
        bandwidth_bytes_per_s: float,
        latency_s: float,
        sharing: Sharing = Sharing.SHARED,
        properties: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """A link, or the two halves of one, called `<name>_UP` and `<name>_DOWN`."""
        halves = [f"{name}_UP", f"{name}_DOWN"] if sharing is Sharing.SPLITDUPLEX else [name]
        if name in self._split or any(map(self._links.has, [name, *halves])):
            raise PlatformError(f"link {name!r} is declared twice: give each link a name of its own")
        check_link(name, bandwidth_bytes_per_s, latency_s)
        policy = lib.LINK_FATPIPE if sharing is Sharing.FATPIPE else lib.LINK_SHARED
        try:
            power_w = link_power(dict(properties))
        except PlatformError as wrong:
            raise PlatformError(f"link {name!r}: {wrong}") from None
        for half in halves:
            number = self._new_link(half, bandwidth_bytes_per_s, latency_s, policy)
            if power_w is not None:
                _number(lib.platform_set_link_power(self._handle, number, 1, *power_w), f"the power of link {name!r}")
        if sharing is Sharing.SPLITDUPLEX:
            self._split.add(name)

    def route(
        self,
        zone: str,
        source: str,
        target: str,
        hops: Sequence[Hop],
        *,
        gateways: tuple[str, str] | None = None,
        is_symmetrical: bool = True,
    ) -> None:
        """A route between two hosts or routers of a zone, or between two zones in it by way of their gateways.

        A symmetrical one also declares the reverse: the links backwards, the other half of split ones.
        """
        if not hops:
            raise PlatformError(f"the route from {source!r} to {target!r} has no links: name at least one")
        what = "zone" if gateways else "host or router"
        ends = [self._member(zone, name, what) for name in (source, target)]
        gates = (
            [self._gateway(*pair) for pair in zip(gateways, (source, target), strict=True)] if gateways else [-1, -1]
        )
        self._one_way(zone, (source, target), ends, gates, hops)
        if is_symmetrical and source != target:
            back = [Hop(hop.link_name, hop.direction.reverse) for hop in reversed(hops)]
            self._one_way(zone, (target, source), ends[::-1], gates[::-1], back)

    def profile(self, what: Changing, name: str, profile: Profile) -> None:
        """Make a host or link of this name follow a profile from its dates on; both halves of a split link follow."""
        profile.check(what)
        numbers = [self._host_number(name)] if what.is_of_host else self._link_numbers(name)
        for number in numbers if profile.values else ():
            if (what, number) in self._followers:
                raise PlatformError(f"{name!r} follows two profiles of the same: keep one")
            self._followers.add((what, number))
            if profile not in self._series:
                dates_s, values = ([*column] for column in zip(*profile.values, strict=True))
                series = lib.platform_add_series(self._handle, len(values), dates_s, values, profile.period_s or 0.0)
                self._series[profile] = _number(series, f"a profile of {name!r}")
            added = lib.platform_add_profile(self._handle, QUANTITIES[what], number, self._series[profile])
            _number(added, f"a profile of {name!r}")

    def bypass(
        self, zone: str, source: str, target: str, hops: Sequence[Hop], gateways: tuple[str, str] | None = None
    ) -> None:
        """Links that replace a route, in this direction: between hosts of a zone, or zones inside it."""
        names = f"the bypass route from {source!r} to {target!r}"
        if not hops:
            raise PlatformError(f"{names} has no links: name at least one")
        if gateways:
            ends = [self._point(name, "zone") for name in (source, target)]
            gates = [self._gateway(*pair) for pair in zip(gateways, (source, target), strict=True)]
        else:
            ends = [self._member(zone, name, "host or router") for name in (source, target)]
            gates = [-1, -1]
        links = [self._link_number(hop) for hop in hops]
        answer = lib.platform_add_bypass(self._handle, self._points[zone], *ends, *gates, len(links), links)
        if answer == lib.PLATFORM_ROUTE_EXISTS:
            raise PlatformError(f"{names} is declared twice")
        if answer == lib.PLATFORM_BAD_ARGUMENT:
            raise PlatformError(f"{names} joins zones that are not both inside zone {zone!r}: declare it around them")
        _number(answer, names)

    def finish(
        self, *, fills_hosts: bool = False, sha256: str | None = None, storage: Storage | None = None
    ) -> Platform:
        """The platform; this builder cannot be used afterwards."""
        if not self._host_names:
            raise PlatformError(f"{self._name} has no hosts: a platform needs at least one")
        return Platform(
            self._name,
            self._handle,
            self._host_names,
            self._links,
            self._models,
            properties=self._properties,
            memory=self._memory,
            file_places=FilePlaces(self._disks, storage, self._properties, self._host_names),
            sockets=self._sockets,
            fills_hosts=fills_hosts,
            sha256=sha256,
        )

    # ---- checks ----

    def _one_way(
        self, zone: str, names: tuple[str, str], ends: list[int], gates: list[int], hops: Sequence[Hop]
    ) -> None:
        links = [self._link_number(hop) for hop in hops]
        answer = lib.platform_add_route(self._handle, self._points[zone], *ends, *gates, len(links), links)
        if answer == lib.PLATFORM_ROUTE_EXISTS:
            raise PlatformError(
                f"the route from {names[0]!r} to {names[1]!r} is declared twice: routes are symmetrical "
                "unless they say symmetrical='NO'"
            )
        if answer == lib.PLATFORM_BAD_ARGUMENT:
            takes = "a route from a host to itself only" if zone in {*self._backbones, *self._vivaldi} else "no routes"
            raise PlatformError(f"zone {zone!r} takes {takes}: its routing is not one of declared routes")
        _number(answer, f"the route from {names[0]!r} to {names[1]!r}")

    def _set_power(self, first_host: int, n_hosts: int, power: HostPower | None) -> None:
        """Give hosts their states, if they have several or state their power."""
        if power is None:
            return
        if power not in self._power_sets:
            rows = ffi.new("power_state[]", [astuple(state) for state in power.states])
            numbers = len(rows), rows, power.first_state, power.has_power, power.off_w
            added = lib.platform_add_power_states(self._handle, *numbers)
            self._power_sets[power] = _number(added, "the power of hosts")
        at = first_host, n_hosts, self._power_sets[power]
        _number(lib.platform_set_power_states(self._handle, *at), "the power of hosts")

    def _host_number(self, name: str) -> int:
        known = len(self._host_numbers)  # it is asked for after some hosts, and after others again
        self._host_numbers.update(zip(self._host_names[known:], range(known, len(self._host_names)), strict=True))
        if name not in self._host_numbers:
            raise PlatformError(f"unknown host {name!r}{self._meant(name, self._host_names)}")
        return self._host_numbers[name]

    def _link_numbers(self, name: str) -> list[int]:
        directions = (Direction.UP, Direction.DOWN) if name in self._split else (Direction.NONE,)
        return [self._link_number(Hop(name, direction)) for direction in directions]

    def _link_number(self, hop: Hop) -> int:
        name = hop.link_name
        if name in self._split:
            if hop.direction is Direction.NONE:
                raise PlatformError(f"link {name!r} is SPLITDUPLEX: say direction='UP' or direction='DOWN'")
            name = f"{name}_{hop.direction.value}"
        number = self._links.number(name)
        if number is None:
            raise PlatformError(f"unknown link {name!r}{self._meant(name, [*self._links.all_names(), *self._split])}")
        return number

    def _half_number(self, name: str) -> int:
        """Number of a link named without a direction."""
        if name in self._split:
            raise PlatformError(f"link {name!r} is SPLITDUPLEX: name a half of it, {name}_UP or {name}_DOWN")
        return self._link_number(Hop(name))

    def _backbone_of(self, zone: str, what: str) -> int:
        """The number of a star's backbone, or -1; refuses what only stands in stars elsewhere."""
        if zone not in self._backbones:
            raise PlatformError(f"zone {zone!r} cannot hold {what}: only one with routing='Cluster' can")
        backbone = self._backbones[zone]
        return -1 if backbone is None else self._link_number(Hop(backbone))

    def _place_at(self, name: str, zone: str, coordinates: Coordinates | None) -> None:
        """Coordinates matter in Vivaldi zones only."""
        if zone not in self._vivaldi:
            return
        if coordinates is None:
            raise PlatformError(f"{name!r} stands in a Vivaldi zone without coordinates: give it some, such as '1 2 3'")
        _number(
            lib.platform_set_coordinates(self._handle, self._points[zone], self._points[name], *coordinates),
            f"{name!r} with its coordinates",
        )

    def _new_zone(self, name: str, parent: str | None, add: Callable[[int], int]) -> None:
        """A zone that the kernel adds at the parent's point."""
        self._check_new(name)
        self._points[name] = _number(add(self._zone_or_root(parent, name)), f"zone {name!r}")

    def _loopback_link(self) -> int:
        """From each host to itself, in zones that declare no other way."""
        if self._loopback < 0:
            self._loopback = self._new_link(
                LOOPBACK_NAME,
                self._models.network.loopback_bandwidth_bytes_per_s,
                self._models.network.loopback_latency_s,
                lib.LINK_FATPIPE,
            )
        return self._loopback

    def _check_new(self, name: str) -> None:
        if name in self._points:
            raise PlatformError(f"{name!r} is declared twice: hosts, routers and zones need names of their own")

    def _open_cluster(
        self, cluster: Cluster, host_names: list[str], parent: str | None, routers: tuple[str, ...]
    ) -> int:
        """Checks what the kernel would refuse without saying why; the parent's point."""
        if not host_names:
            raise PlatformError(f"cluster {cluster.name!r} has no hosts: it needs at least one")
        names = {cluster.name, *host_names, *routers}
        if len(names) < 1 + len(host_names) + len(routers) or not self._points.keys().isdisjoint(names):
            for name in (cluster.name, *routers, *host_names):
                self._check_new(name)
            raise PlatformError(
                f"cluster {cluster.name!r} declares a host twice, or gives one its own or its router's name"
            )
        check_cluster(cluster, host_names)
        return self._zone_or_root(parent, cluster.name)

    def _zone_or_root(self, parent: str | None, name: str) -> int:
        if parent is None and self._points:
            raise PlatformError(f"zone {name!r} stands beside another one: put both into one zone")
        return -1 if parent is None else self._point(parent, "zone")

    def _point(self, name: str, what: str) -> int:
        """The point of that name, which must be of that kind."""
        if name not in self._points:
            raise PlatformError(f"unknown {what} {name!r}{self._meant(name, self._points)}")
        point = self._points[name]
        if (lib.platform_point_kind(self._handle, point) == lib.POINT_ZONE) != (what == "zone"):
            raise PlatformError(
                f"{name!r} is a {'host or router' if what == 'zone' else 'zone'}, where a {what} is needed: "
                "<route> joins hosts and routers, <zoneRoute> joins zones"
            )
        return point

    def _member(self, zone: str, name: str, what: str) -> int:
        point = self._point(name, what)
        inside = lib.platform_point_zone(self._handle, point)
        if inside != self._points[zone]:
            other = next((known for known, number in self._points.items() if number == inside), None)
            where = f"zone {other!r}" if other else "no zone"
            raise PlatformError(f"{what} {name!r} is in {where}, not in {zone!r}: a zone's routes join its own members")
        return point

    def _gateway(self, name: str, zone: str) -> int:
        point = self._point(name, "host or router")
        at = point
        while at >= 0 and at != self._points[zone]:
            at = lib.platform_point_zone(self._handle, at)
        if at < 0:
            raise PlatformError(f"gateway {name!r} is not inside zone {zone!r}: name a host or router of that zone")
        return point

    @staticmethod
    def _meant(name: str, known: Iterable[str]) -> str:
        return meant(name, known) or ": it is declared nowhere before"

    def _new_link(self, name: str, bandwidth_bytes_per_s: float, latency_s: float, policy: int) -> int:
        number = _number(
            lib.platform_add_link(self._handle, bandwidth_bytes_per_s, latency_s, policy), f"link {name!r}"
        )
        self._links.add(name)
        return number


def _on_rail(rail: int, link_name: LinkNamer) -> LinkNamer:
    return lambda link: f"rail{rail}_{link_name(link)}"


def _checked(pointer: Any) -> Any:
    if pointer == ffi.NULL:
        raise MemoryError("no memory for a platform")
    return pointer


def _number(answer: int, what: str) -> int:
    """The kernel's answer, which is a number unless it is an error."""
    if answer == lib.PLATFORM_NO_MEMORY:
        raise MemoryError(f"no memory for {what}")
    if answer == lib.PLATFORM_TOO_LARGE:
        raise PlatformError(f"{what} is too large: there can be {COUNT_MAX:,} hosts, switches and links of each")
    if answer == lib.PLATFORM_TOO_DEEP:
        raise PlatformError(f"{what} is too deep: there can be {lib.PLATFORM_DEPTH} zones within one another")
    if answer < 0:
        raise PlatformError(f"{what} cannot be part of the platform: one of its numbers is out of range")
    return answer
