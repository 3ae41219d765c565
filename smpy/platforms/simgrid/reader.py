"""Reads SimGrid's XML platform files (versions 4.0 and 4.1).

Zones with the registered routings and clusters of the registered topologies, nested in any way. Other parts of the
format are refused by name, not skipped: the numbers would be those of another machine than the file's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError, meant
from smpy.input_files import read_input
from smpy.platforms.declared_parts import BypassRoute, DeclaredRoute, Host, Link, Router
from smpy.platforms.description import Description
from smpy.platforms.links import Coordinates, Direction, Hop, Sharing
from smpy.platforms.models.machine_models import CallCosts, Models
from smpy.platforms.models.power import link_power
from smpy.platforms.models.prices import LINK_POWER_PROPERTIES
from smpy.platforms.parts import Part, Zone
from smpy.platforms.profiles import Changing
from smpy.platforms.simgrid.clusters import CLUSTER_ATTRIBUTES, read_host_properties, read_names, read_speeds
from smpy.platforms.simgrid.disks import DiskReader
from smpy.platforms.simgrid.elements import Element, read_elements
from smpy.platforms.simgrid.options import OVERHEAD_PROPERTIES, parse_overheads, with_options
from smpy.platforms.simgrid.profiles import HOST_PROFILES, LINK_PROFILES, ProfileReader
from smpy.platforms.topologies import topology_named, topology_names
from smpy.units import parse_bandwidth_bytes_per_s, parse_number, parse_speed_flop_per_s, parse_time_s

if TYPE_CHECKING:
    from smpy.platforms.topologies.star import Backbone, Cabinet, HostLink
    from smpy.platforms.topologies.vivaldi import Peer

_REMOVED: Final = "was removed from the format with version 4: rewrite the file for 4.1"
_REFUSED_TAGS: Final = dict.fromkeys(
    ("storage", "storage_type", "mount", "mstorage", "include", "process"), _REMOVED
) | {"actor": "is not supported: ranks are placed by --hostfile"}
_REFUSED_ROUTINGS: Final = ("WIFI",)
_IGNORED_TAGS: Final = ("random", "model_prop")  # elements that affect neither messages nor computing
_DIRECTIONS: Final = [direction.value for direction in Direction]
_SHARINGS: Final = (*(policy.value for policy in Sharing), "FULLDUPLEX", "WIFI")
_ROUTE_ATTRIBUTES: Final = ("src", "dst", "symmetrical")


def read_simgrid_xml(
    path: str | Path,
    options: Iterable[tuple[str, str]] = (),
    data: bytes | None = None,
    *,
    network: str | None = None,
) -> Description:
    """The machine that a platform file describes.

    Parameters
    ----------
    path : str or path
        The file.
    options : iterable of (str, str)
        Names and values of options that stand above the file's.
    data : bytes, optional
        The content of the file, if it has been read.
    network : str, optional
        Name of a network model in place of SMPI's.

    Raises
    ------
    UsageError
        If an option cannot be applied.
    PlatformError
        If the file cannot be read, is wrong, or describes what smpy cannot simulate. The message names file, line and
        element.

    Warns
    -----
    PlatformWarning
        For options that are ignored and quantities without a unit.
    """
    if data is None:
        try:
            data = read_input(path, "platform file")
        except OSError as wrong:
            raise PlatformError(f"cannot read platform file {str(path)!r}: {wrong.strerror}") from None
    root = read_elements(path, data)
    if root.tag != "platform":
        raise root.error("a platform file begins with <platform version='4.1'>")
    root.check_attributes(("version",))
    if root.text("version") not in ("4", "4.0", "4.1"):
        raise root.error(f"version {root.text('version')!r} cannot be read: versions 4.0 and 4.1 can")
    configs = [element for element in root.children if element.tag == "config"]
    models = with_options(Models(), options, configs, network=network)
    zone, reader = None, _PartMaker()
    for element in root.children:
        if element.tag == "config" and zone is not None:
            raise element.error("options come before the first zone: move it up")
        if element.tag in ("trace", "trace_connect"):
            reader.part(element)
        elif element.tag not in ("config", *_IGNORED_TAGS):
            beside, zone = zone, reader.outermost(element)
            if beside is not None:
                raise element.error(f"zone {element.text('id')!r} stands beside another one: put both into one zone")
    if zone is None:
        raise root.error(f"{path} has no hosts: a platform needs at least one")
    connections = reader.profiles.connections()
    reader.disks.check_remote()
    return Description(
        str(path), zone, models, sha256=sha256(data).hexdigest(), origin=root.origin, connections=connections
    )


def _check_overhead(prop: Element) -> None:
    try:
        CallCosts(send_overhead=parse_overheads(prop.text("value")))
    except ValueError as wrong:
        raise prop.error(f"property {prop.text('id')}: {wrong}") from None


def _link_power(element: Element, *, is_split: bool) -> tuple[tuple[str, str], ...]:
    """Property that states the power of a link, checked; all others are notes for other tools."""
    for prop in element.children:
        if prop.tag == "prop" and prop.attributes.get("id") in LINK_POWER_PROPERTIES:
            noted = (prop.text("id"), prop.text("value"))
            try:
                link_power(dict([noted]))
            except PlatformError as wrong:
                raise prop.error(str(wrong)) from None
            if is_split:
                prop.warn("the halves of a split link draw no power, as in SimGrid: declare a link for each direction")
                return ()
            return (noted,)
    return ()


class _PartMaker:
    """Makes parts of elements, each by the method for its tag."""

    def __init__(self) -> None:
        self.profiles: Final = ProfileReader()
        self.disks: Final = DiskReader()
        self._methods: Final[dict[str, Callable[[Element], Part | None]]] = {
            "zone": self._zone,
            "AS": self._zone,
            "cluster": self._cluster,
            "host": self._host,
            "router": self._router,
            "link": self._link,
            "route": self._route,
            "zoneRoute": self._route,
            "ASroute": self._route,
            "bypassRoute": self._bypass,
            "bypassZoneRoute": self._bypass,
            "bypassASroute": self._bypass,
            "backbone": self._backbone,
            "host_link": self._host_link,
            "cabinet": self._cabinet,
            "peer": self._peer,
            "prop": self._prop,
            "trace": self.profiles.trace,
            "trace_connect": self.profiles.connect,
        }

    def outermost(self, element: Element) -> Zone:
        """Zone that is in no other zone."""
        zone = self.part(element)
        if not isinstance(zone, Zone):
            remedy = "put it into <zone id='...' routing='Full'>"
            raise element.error(f"<{element.tag}> stands outside of all zones: {remedy}")
        return zone

    def part(self, element: Element) -> Part | None:
        """Part that an element describes; None for a note for other tools."""
        tag = element.tag
        if tag == "random":
            raise element.error("<random> cannot stand in a zone: leave it out, nothing reads it")
        if tag in _IGNORED_TAGS:
            return None
        if tag in _REFUSED_TAGS:
            raise element.error(f"<{tag}> {_REFUSED_TAGS[tag]}")
        if tag not in self._methods:
            raise element.error(f"unknown element <{tag}>{meant(tag, self._methods)}")
        return self._methods[tag](element)

    def _zone(self, element: Element) -> Zone:
        named = element.text("routing").upper()
        others = () if named in _REFUSED_ROUTINGS else topology_names("zone", named)
        routing = element.choice("routing", (*others, *_REFUSED_ROUTINGS))
        if routing in _REFUSED_ROUTINGS:
            raise element.error(f"routing {element.text('routing')!r} is not supported: links are wires here")
        return topology_named("zone", routing).kind.from_xml(element, self.part)

    def _cluster(self, element: Element) -> Zone:
        names = topology_names("cluster", element.text("topology", "FLAT").upper())
        known = topology_named("cluster", element.choice("topology", names, "FLAT"))
        element.check_attributes((*CLUSTER_ATTRIBUTES, *known.attributes))
        self._parts_of_host(element)
        return known.kind.from_xml(element, self.part)

    def _host(self, element: Element) -> Host:
        element.check_attributes(("id", "speed", "core", "pstate", "coordinates", *HOST_PROFILES))
        speeds = read_speeds(element)
        profiles = self.profiles.of_element(element, HOST_PROFILES)
        self._parts_of_host(element)
        return Host(
            element.text("id"),
            speeds.first_flop_per_s,
            element.integer("core", "1"),
            properties=read_host_properties(element, speeds),
            state_speeds_flop_per_s=speeds.all_flop_per_s,
            first_state=speeds.first_state,
            coordinates=_coordinates(element),
            speed_profile=profiles.get(Changing.SPEED),
            state_profile=profiles.get(Changing.HOST_IS_ON),
            disks=self.disks.of_host(element),
            origin=element.origin,
        )

    def _parts_of_host(self, element: Element) -> None:
        """Properties and disks."""
        for child in element.children:
            if child.tag == "prop" and child.text("id") in OVERHEAD_PROPERTIES:
                _check_overhead(child)
            if child.tag != "disk":
                self._leaf(child, ("prop", "disk"))
            elif element.tag != "host":
                raise child.error("a disk stands in a <host>: of the hosts of a cluster none has a disk")

    def _leaf(self, child: Element, tags: tuple[str, ...]) -> None:
        if child.tag not in (*tags, *_IGNORED_TAGS, *_REFUSED_TAGS):
            raise child.error(f"<{child.tag}> cannot stand here{meant(child.tag, tags)}")
        self.part(child)

    def _router(self, element: Element) -> Router:
        element.check_attributes(("id", "coordinates"))
        return Router(element.text("id"), _coordinates(element), origin=element.origin)

    def _link(self, element: Element) -> Link:
        element.check_attributes(("id", "bandwidth", "latency", "sharing_policy", *LINK_PROFILES))
        for child in element.children:
            self._leaf(child, ("prop",))
        policy = element.choice("sharing_policy", _SHARINGS, "SHARED")
        if policy == "WIFI":
            raise element.error(
                "links with sharing_policy='WIFI' are not supported: use SHARED, FATPIPE or SPLITDUPLEX"
            )
        if "," in element.text("bandwidth"):
            raise element.error("a list of bandwidths is for WIFI links, which are not supported: give one")
        profiles = self.profiles.of_element(element, LINK_PROFILES)
        return Link(
            element.text("id"),
            element.quantity("bandwidth", parse_bandwidth_bytes_per_s),
            element.quantity("latency", parse_time_s, "0"),
            Sharing.SPLITDUPLEX if policy == "FULLDUPLEX" else Sharing(policy),
            properties=_link_power(element, is_split=policy in ("SPLITDUPLEX", "FULLDUPLEX")),
            bandwidth_profile=profiles.get(Changing.BANDWIDTH),
            latency_profile=profiles.get(Changing.LATENCY),
            state_profile=profiles.get(Changing.LINK_IS_ON),
            origin=element.origin,
        )

    def _route(self, element: Element) -> DeclaredRoute:
        gateways = self._gateways(element, "route", _ROUTE_ATTRIBUTES)
        return DeclaredRoute(
            element.text("src"),
            element.text("dst"),
            self._hops(element),
            gateways=gateways,
            is_symmetrical=element.choice("symmetrical", ("YES", "NO"), "YES") == "YES",
            origin=element.origin,
        )

    def _bypass(self, element: Element) -> BypassRoute:
        gateways = self._gateways(element, "bypassRoute", ("src", "dst"))
        return BypassRoute(
            element.text("src"), element.text("dst"), self._hops(element), gateways, origin=element.origin
        )

    @staticmethod
    def _gateways(element: Element, between_hosts: str, attributes: tuple[str, ...]) -> tuple[str, str] | None:
        """Gateways of a route between zones; None for a route between hosts, whose tag is `between_hosts`."""
        between_zones = element.tag != between_hosts
        element.check_attributes((*attributes, "gw_src", "gw_dst") if between_zones else attributes)
        return (element.text("gw_src"), element.text("gw_dst")) if between_zones else None

    @staticmethod
    def _hops(element: Element) -> tuple[Hop, ...]:
        hops = []
        for child in element.children:
            if child.tag != "link_ctn":
                raise child.error(f"<{element.tag}> holds <link_ctn id='...'/> only{meant(child.tag, ('link_ctn',))}")
            child.check_attributes(("id", "direction"))
            direction = child.choice("direction", _DIRECTIONS, "NONE")
            hops.append(Hop(child.text("id"), Direction(direction)))
        return tuple(hops)

    def _backbone(self, element: Element) -> Backbone:
        from smpy.platforms.topologies.star import Backbone

        element.check_attributes(("id", "bandwidth", "latency"))
        link = Link(
            element.text("id"),
            element.quantity("bandwidth", parse_bandwidth_bytes_per_s),
            element.quantity("latency", parse_time_s),
            origin=element.origin,
        )
        return Backbone(link, origin=element.origin)

    def _host_link(self, element: Element) -> HostLink:
        from smpy.platforms.topologies.star import HostLink

        element.check_attributes(("id", "up", "down"))
        return HostLink(element.text("id"), element.text("up"), element.text("down"), origin=element.origin)

    def _cabinet(self, element: Element) -> Cabinet:
        from smpy.platforms.topologies.star import Cabinet

        element.check_attributes(("id", "prefix", "suffix", "radical", "speed", "bw", "lat"))
        element.text("id")
        return Cabinet(
            read_names(element),
            element.quantity("speed", parse_speed_flop_per_s),
            element.quantity("bw", parse_bandwidth_bytes_per_s),
            element.quantity("lat", parse_time_s),
            origin=element.origin,
        )

    def _peer(self, element: Element) -> Peer:
        from smpy.platforms.topologies.vivaldi import Peer

        element.check_attributes(("id", "speed", "bw_in", "bw_out", "lat", "coordinates", *HOST_PROFILES))
        if element.text("lat", "0") != "0":
            element.warn("attribute 'lat' has no effect: put the latency into the third coordinate, in ms")
        coordinates = _coordinates(element)
        if coordinates is None:
            raise element.error("attribute 'coordinates' is missing: add coordinates='x y height', in ms")
        profiles = self.profiles.of_element(element, HOST_PROFILES)
        return Peer(
            element.text("id"),
            element.quantity("speed", parse_speed_flop_per_s),
            element.quantity("bw_in", parse_bandwidth_bytes_per_s),
            element.quantity("bw_out", parse_bandwidth_bytes_per_s),
            coordinates,
            speed_profile=profiles.get(Changing.SPEED),
            state_profile=profiles.get(Changing.HOST_IS_ON),
            origin=element.origin,
        )

    def _prop(self, element: Element) -> None:
        """Skip properties: they are notes for other tools."""
        element.check_attributes(("id", "value"))


def _coordinates(element: Element) -> Coordinates | None:
    """The three numbers of attribute `coordinates`, if it exists."""
    text = element.text("coordinates", "")
    if not text:
        return None
    try:
        x, y, height = map(parse_number, text.split())
    except ValueError:
        raise element.error(f"attribute 'coordinates': {text!r} is not three numbers, such as '1.5 -2 0.3'") from None
    return x, y, height
