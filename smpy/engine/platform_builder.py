"""Builds a platform part by part, from the outside in, and refuses parts that do not fit together.

Every refusal is a `PlatformError` that names the part, and where its file describes it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from smpy.engine import cluster_networks
from smpy.engine.cluster_networks import Network, kernel_cluster, set_groups_inside
from smpy.engine.file_places import FilePlaces
from smpy.engine.host_runs import HostRuns
from smpy.engine.kernel import ffi, lib
from smpy.engine.memory import check_fits
from smpy.engine.platform import QUANTITIES, Platform
from smpy.engine.platform_links import PlatformLinks
from smpy.engine.platform_points import PlatformPoints
from smpy.engine.platform_power import PlatformPower
from smpy.engine.platform_refusals import checked_number, checked_pointer, located, unknown
from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster, NumberedNames
from smpy.platforms.link_classes import WireBlock, wires_of_groups
from smpy.platforms.link_ends import LinkEndsOf, on_rail
from smpy.platforms.link_names import LinkNamer
from smpy.platforms.links import Coordinates, Hop, Sharing
from smpy.platforms.models.devices import DEVICES_PROPERTY
from smpy.platforms.models.machine_models import Models
from smpy.platforms.models.memory import Memory
from smpy.platforms.models.storage import Disk, Storage
from smpy.platforms.part_changes import CHANGING, PartChange
from smpy.platforms.part_checks import COUNT_MAX, check_cluster, check_host, check_link
from smpy.platforms.profiles import Changing, Profile
from smpy.units import format_bytes

LOOPBACK_NAME: Final = "__loopback__"
HOST_BYTES: Final = 300  # measured
LINK_BYTES: Final = 24
NO_MEMORY: Final = Memory()

ShortestRule: TypeAlias = Literal["floyd", "dijkstra"]
_States: TypeAlias = tuple[tuple[tuple[str, str], ...], tuple[float, ...], int]  # properties, speeds, first state
_SHORTEST_RULES: Final = {"floyd": lib.SHORTEST_FLOYD, "dijkstra": lib.SHORTEST_DIJKSTRA}


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
    power : PlatformPower
        The power of its hosts and links.
    """

    networks = cluster_networks

    def __init__(self, name: str, models: Models | None = None) -> None:
        self._name = name
        self._models = models or Models()
        self._handle = ffi.gc(checked_pointer(lib.platform_new()), lib.platform_free)
        self._points = PlatformPoints(self._handle)
        self._host_names: list[str] = []
        self._properties = HostRuns[tuple[tuple[str, str], ...]](())
        self._memory = HostRuns(NO_MEMORY)
        self._states = HostRuns[_States](((), (), 0))
        self._changed_states: dict[int, _States] = {}
        self._disks: dict[int, tuple[Disk, ...]] = {}
        self._sockets = array("i")
        self._links = PlatformLinks(self._handle)
        self._loopback = -1
        self._backbones: dict[str, str | None] = {}  # of stars
        self._vivaldi: set[str] = set()
        self._need_bytes = 0
        self._host_numbers: dict[str, int] = {}
        self._series: dict[Profile, int] = {}
        self._followers: set[tuple[Changing, int]] = set()
        self.counts: Final[Counter[str]] = Counter()
        self.power: Final = PlatformPower(self._handle)

    def add(self, part: Buildable, zone: str | None = None) -> None:
        """Add a part with all parts inside it; a refusal names the origin of the part."""
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
        self._points.check_new(name)
        check_host(name, speed_flop_per_s, cores, sockets, memory)
        self._points[name] = checked_number(
            lib.platform_add_host(self._handle, self._points.point(zone, "zone"), speed_flop_per_s, cores),
            f"host {name!r} in zone {zone!r}",
        )
        self._place_at(name, zone, coordinates)
        self._properties.add(len(self._host_names), properties)
        self._memory.add(len(self._host_names), memory)
        states = properties, tuple(state_speeds_flop_per_s), first_state
        self._states.add(len(self._host_names), states)
        self._set_states(len(self._host_names), 1, name, speed_flop_per_s, states)
        if disks:
            self._disks[len(self._host_names)] = disks
        self._host_names.append(name)
        self._sockets.append(sockets)

    def router(self, name: str, zone: str, coordinates: Coordinates | None = None) -> None:
        """Junction of routes, without computing power."""
        self._points.check_new(name)
        self._points[name] = checked_number(
            lib.platform_add_router(self._handle, self._points.point(zone, "zone")), f"router {name!r} in zone {zone!r}"
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
                self._points.check_new(name)
            raise PlatformError("a cabinet declares a host twice")
        check_host(names[0], speed_flop_per_s, 1, 1, memory)
        check_link(f"link_{names[0]}_UP", bandwidth_bytes_per_s, latency_s)
        what = f"the cabinet of host {names[0]!r}"
        first = checked_number(lib.platform_add_hosts(self._handle, self._points[zone], n, speed_flop_per_s, 1), what)
        link = checked_number(
            lib.platform_add_links(self._handle, 2 * n, bandwidth_bytes_per_s, latency_s, lib.LINK_SHARED), what
        )
        self._links.names.add_block(
            2 * n, lambda i: f"link_{hosts.prefix}{numbers[i // 2]}{hosts.suffix}_{('UP', 'DOWN')[i % 2]}"
        )
        wires = first, n, link, link + 1, 2, backbone
        checked_number(lib.platform_set_wires(self._handle, self._points[zone], *wires), what)
        self._points.update(zip(names, range(first, first + n), strict=True))
        self._properties.add(len(self._host_names), ())
        self._memory.add(len(self._host_names), memory)
        self._host_names.extend(names)
        self._sockets.extend(array("i", [1]) * n)

    def wires(self, zone: str, host: str, up: str, down: str) -> None:
        """Links from a host of a star to the centre, and back; they replace those of an earlier call."""
        backbone = -1 if zone in self._vivaldi else self._backbone_of(zone, "the wires of a host")
        links = [self._links.half_number(name) for name in (up, down)]
        member = self._points.member(zone, host, "host or router")
        checked_number(
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
        link_ends: LinkEndsOf,
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
        link_ends : callable
            Gives the nodes that it joins.
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
        zone = self._planes(cluster, at, network, link_name, link_ends, own_wires)
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
                checked_number(
                    lib.platform_set_hosts(self._handle, first, group.n_hosts, *numbers), f"a group of {cluster.name!r}"
                )
            states = group.properties, tuple(group.state_speeds_flop_per_s), group.first_state
            first_name = host_names[first - len(self._host_names)]
            self._states.add(first, states)
            self._set_states(first, group.n_hosts, first_name, group.speed_flop_per_s, states)
            first += group.n_hosts
        self._host_names.extend(host_names)

    def _planes(
        self,
        cluster: Cluster,
        at: int,
        network: Network,
        link_name: LinkNamer,
        link_ends: LinkEndsOf,
        own_wires: Sequence[WireBlock],
    ) -> int:
        """Add a cluster's network, once for each rail; return the point of its zone."""
        what = f"cluster {cluster.name!r}"
        if cluster.rails > 1:
            at = checked_number(lib.platform_add_rails(self._handle, at, cluster.rails), what)
        zone, first_link = at, len(self._links.names)
        for rail in range(cluster.rails):
            zone = checked_number(network(self._handle, at, kernel_cluster(cluster, self.power.wire_w)), what)
            n_links = lib.platform_n_links(self._handle) - len(self._links.names)
            halves = 2 if cluster.is_split else 1
            for block in own_wires:
                links = len(self._links.names) + halves * block.first, halves * block.n_wires
                numbers = block.bandwidth_bytes_per_s, block.latency_s
                checked_number(lib.platform_set_links(self._handle, *links, *numbers), f"the links of {what}")
            if cluster.rails == 1:
                self._links.names.add_block(n_links, link_name, link_ends)
            else:
                self._links.names.add_block(n_links, _on_rail(rail, link_name), on_rail(rail, link_ends))
            if rail == 0:
                self.check_room(f"{what} on {cluster.rails} rails", 0, (cluster.rails - 1) * n_links)
        if cluster.groups and cluster.has_loopbacks:
            set_groups_inside(self._handle, cluster, len(self._host_names), range(first_link, len(self._links.names)))
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
        if name in self._links.split or any(map(self._links.names.has, [name, *halves])):
            raise PlatformError(f"link {name!r} is declared twice: give each link a name of its own")
        check_link(name, bandwidth_bytes_per_s, latency_s)
        policy = lib.LINK_FATPIPE if sharing is Sharing.FATPIPE else lib.LINK_SHARED
        power_w = self.power.read_link(name, properties)
        for half in halves:
            self.power.set_link(self._links.add(half, bandwidth_bytes_per_s, latency_s, policy), name, power_w)
        if sharing is Sharing.SPLITDUPLEX:
            self._links.split.add(name)

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
        ends = [self._points.member(zone, name, what) for name in (source, target)]
        gates = (
            [self._points.gateway(*pair) for pair in zip(gateways, (source, target), strict=True)]
            if gateways
            else [-1, -1]
        )
        self._one_way(zone, (source, target), ends, gates, hops)
        if is_symmetrical and source != target:
            back = [Hop(hop.link_name, hop.direction.reverse) for hop in reversed(hops)]
            self._one_way(zone, (target, source), ends[::-1], gates[::-1], back)

    def profile(self, what: Changing, name: str, profile: Profile) -> None:
        """Make a host or link of this name follow a profile from its dates on; both halves of a split link follow."""
        profile.check(what)
        numbers = [self._host_number(name)] if what.is_of_host else self._links.numbers(name)
        for part in numbers if profile.values else ():
            if (what, part) in self._followers:
                raise PlatformError(f"{name!r} follows two profiles of the same: keep one")
            self._followers.add((what, part))
            if profile not in self._series:
                dates_s, values = ([*column] for column in zip(*profile.values, strict=True))
                series = lib.platform_add_series(self._handle, len(values), dates_s, values, profile.period_s or 0.0)
                self._series[profile] = checked_number(series, f"a profile of {name!r}")
            added = lib.platform_add_profile(self._handle, QUANTITIES[what], part, self._series[profile])
            checked_number(added, f"a profile of {name!r}")

    def bypass(
        self, zone: str, source: str, target: str, hops: Sequence[Hop], gateways: tuple[str, str] | None = None
    ) -> None:
        """Replace a route in one direction, between hosts of a zone or zones inside it, by these links."""
        names = f"the bypass route from {source!r} to {target!r}"
        if not hops:
            raise PlatformError(f"{names} has no links: name at least one")
        if gateways:
            ends = [self._points.point(name, "zone") for name in (source, target)]
            gates = [self._points.gateway(*pair) for pair in zip(gateways, (source, target), strict=True)]
        else:
            ends = [self._points.member(zone, name, "host or router") for name in (source, target)]
            gates = [-1, -1]
        links = [self._links.number(hop) for hop in hops]
        answer = lib.platform_add_bypass(self._handle, self._points[zone], *ends, *gates, len(links), links)
        if answer == lib.PLATFORM_ROUTE_EXISTS:
            raise PlatformError(f"{names} is declared twice")
        if answer == lib.PLATFORM_BAD_ARGUMENT:
            raise PlatformError(f"{names} joins zones that are not both inside zone {zone!r}: declare it around them")
        checked_number(answer, names)

    def change(self, change: PartChange) -> None:
        """Change a number of all links or hosts whose names match a pattern; called once all parts are added."""
        if change.quantity not in CHANGING:
            self._change_devices(change)
            return
        names = self._host_names if change.kind == "host" else self._links.names.all_names()
        for part in self._links_at_switches(change) if change.kind == "switch" else change.matches(names):
            if (CHANGING[change.quantity], part) in self._followers:
                raise PlatformError(f"--set {change}: {names[part]!r} follows a profile: change the profile")
            if change.kind == "host":
                self._change_host(change, part)
            else:
                self._change_link(change, part, names[part])

    def _change_devices(self, change: PartChange) -> None:
        """Change a number of the devices of all hosts that a pattern meets."""
        hosts = set(change.matches(self._host_names))
        noted = [dict(self._properties.of(host)) for host in hosts]
        after = change.changed_properties({each[DEVICES_PROPERTY] for each in noted if DEVICES_PROPERTY in each})
        self._properties = self._properties.changed(
            *(hosts, len(self._host_names)),
            lambda before: tuple((name, after[text] if name == DEVICES_PROPERTY else text) for name, text in before),
        )

    def _links_at_switches(self, change: PartChange) -> list[int]:
        """Links at switches that a pattern meets, each once."""
        links_of: dict[str, list[int]] = {}
        for link in range(len(self._links.names)):
            ends = self._links.names.ends(link)
            for switch in ends.switches if ends else ():
                links_of.setdefault(switch, []).append(link)
        switches = list(links_of)
        return sorted({link for place in change.matches(switches) for link in links_of[switches[place]]})

    def _change_link(self, change: PartChange, link: int, name: str) -> None:
        bandwidth = float(lib.platform_link_bandwidth_bytes_per_s(self._handle, link))
        latency_s = float(lib.platform_link_latency_s(self._handle, link))
        if change.quantity == "bandwidth":
            bandwidth = change.changed_number(bandwidth, name)
        else:
            latency_s = change.changed_number(latency_s, name)
        checked_number(lib.platform_set_links(self._handle, link, 1, bandwidth, latency_s), f"link {name!r}")

    def _change_host(self, change: PartChange, host: int) -> None:
        name, before = self._host_names[host], self._changed_states.get(host) or self._states.of(host)
        properties, speeds, first_state = before
        if len(speeds) > 1 and not change.is_factor:
            raise PlatformError(f"--set {change}: {name!r} has several speeds: multiply them, as in x2")
        speed = change.changed_number(float(lib.platform_speed_flop_per_s(self._handle, host)), name)
        cores = lib.platform_cores(self._handle, host)
        checked_number(lib.platform_set_hosts(self._handle, host, 1, speed, cores), f"host {name!r}")
        states = properties, tuple(change.changed_number(each, name) for each in speeds), first_state
        self._changed_states[host] = states
        self._set_states(host, 1, name, speed, states)

    def _set_states(self, first: int, n_hosts: int, name: str, speed_flop_per_s: float, states: _States) -> None:
        properties, speeds, first_state = states
        self.power.set_hosts(first, n_hosts, name, properties, speed_flop_per_s, speeds, first_state)

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
            self._links.names,
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
        links = [self._links.number(hop) for hop in hops]
        answer = lib.platform_add_route(self._handle, self._points[zone], *ends, *gates, len(links), links)
        if answer == lib.PLATFORM_ROUTE_EXISTS:
            raise PlatformError(
                f"the route from {names[0]!r} to {names[1]!r} is declared twice: routes are symmetrical "
                "unless they say symmetrical='NO'"
            )
        if answer == lib.PLATFORM_BAD_ARGUMENT:
            takes = "a route from a host to itself only" if zone in {*self._backbones, *self._vivaldi} else "no routes"
            raise PlatformError(f"zone {zone!r} takes {takes}: its routing is not one of declared routes")
        checked_number(answer, f"the route from {names[0]!r} to {names[1]!r}")

    def _host_number(self, name: str) -> int:
        known = len(self._host_numbers)  # hosts may have been added since the last call
        self._host_numbers.update(zip(self._host_names[known:], range(known, len(self._host_names)), strict=True))
        if name not in self._host_numbers:
            raise unknown("host", name, self._host_names)
        return self._host_numbers[name]

    def _backbone_of(self, zone: str, what: str) -> int:
        """Number of the backbone of a star, or -1 for none; a zone that is no star is refused."""
        if zone not in self._backbones:
            raise PlatformError(f"zone {zone!r} cannot hold {what}: only one with routing='Cluster' can")
        backbone = self._backbones[zone]
        return -1 if backbone is None else self._links.number(Hop(backbone))

    def _place_at(self, name: str, zone: str, coordinates: Coordinates | None) -> None:
        """Coordinates matter in Vivaldi zones only."""
        if zone not in self._vivaldi:
            return
        if coordinates is None:
            raise PlatformError(f"{name!r} stands in a Vivaldi zone without coordinates: give it some, such as '1 2 3'")
        checked_number(
            lib.platform_set_coordinates(self._handle, self._points[zone], self._points[name], *coordinates),
            f"{name!r} with its coordinates",
        )

    def _new_zone(self, name: str, parent: str | None, add: Callable[[int], int]) -> None:
        """A zone that the kernel adds at the parent's point."""
        self._points.check_new(name)
        self._points[name] = checked_number(add(self._points.zone_or_root(parent, name)), f"zone {name!r}")

    def _loopback_link(self) -> int:
        """Routes from each host to itself, in zones that declare no other way."""
        if self._loopback < 0:
            self._loopback = self._links.add(
                LOOPBACK_NAME,
                self._models.network.loopback_bandwidth_bytes_per_s,
                self._models.network.loopback_latency_s,
                lib.LINK_FATPIPE,
            )
        return self._loopback

    def _open_cluster(
        self, cluster: Cluster, host_names: list[str], parent: str | None, routers: tuple[str, ...]
    ) -> int:
        """Point around a new cluster, after checks of names and numbers whose reason the kernel would not name."""
        if not host_names:
            raise PlatformError(f"cluster {cluster.name!r} has no hosts: it needs at least one")
        names = {cluster.name, *host_names, *routers}
        if len(names) < 1 + len(host_names) + len(routers) or not self._points.keys().isdisjoint(names):
            for name in (cluster.name, *routers, *host_names):
                self._points.check_new(name)
            raise PlatformError(
                f"cluster {cluster.name!r} declares a host twice, or gives one its own or its router's name"
            )
        check_cluster(cluster, host_names)
        return self._points.zone_or_root(parent, cluster.name)


def _on_rail(rail: int, link_name: LinkNamer) -> LinkNamer:
    return lambda link: f"rail{rail}_{link_name(link)}"
