"""Reads SimGrid's XML platform files (versions 4.0 and 4.1).

Zones with Full routing, flat clusters and fat trees, nested in any way. What else the format has is refused by name,
not skipped: the numbers would be those of another machine than the file's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError
from smpy.input_files import read_input
from smpy.platforms.build import Direction, Hop, PlatformBuilder, Sharing
from smpy.platforms.cluster import Cluster, FatTree
from smpy.platforms.models import Models
from smpy.platforms.platform import Platform
from smpy.platforms.simgrid_config import read_config, with_options
from smpy.platforms.xml_tree import Element, meant, read_elements
from smpy.units import parse_bandwidth_bytes_per_s, parse_speed_flop_per_s, parse_time_s

_LATER: Final = "is not supported yet: smpy reads zones with Full routing, flat clusters and fat trees"
_REMOVED: Final = "was removed from the format with version 4: rewrite the file for 4.1"
_REFUSED_TAGS: Final = (
    dict.fromkeys(("storage", "storage_type", "mount", "mstorage", "include", "process"), _REMOVED)
    | dict.fromkeys(("peer", "cabinet", "host_link", "backbone", "bypassRoute", "bypassZoneRoute"), _LATER)
    | dict.fromkeys(("bypassASroute",), _LATER)
    | dict.fromkeys(
        ("trace", "trace_connect"), "is not supported yet: speeds and bandwidths do not change during a run"
    )
    | {"actor": "is not supported: ranks are placed by --hostfile"}
)
_REFUSED_ATTRIBUTES: Final = dict.fromkeys(
    ("speed_file", "state_file", "bandwidth_file", "latency_file", "availability_file"),
    "profiles are not supported yet: speeds and bandwidths do not change during a run",
)
_REFUSED_ROUTINGS: Final = ("FLOYD", "DIJKSTRA", "DIJKSTRACACHE", "CLUSTER", "VIVALDI", "NONE", "WIFI")
_IGNORED_TAGS: Final = ("random", "model_prop", "disk")  # nothing that a message or a computation meets
_OVERHEAD_PROPS: Final = ("smpi/os", "smpi/ois", "smpi/or")
_CLUSTER_ATTRIBUTES: Final = (
    "id", "prefix", "suffix", "radical", "speed", "bw", "lat", "core", "sharing_policy", "topology", "topo_parameters",
    "bb_bw", "bb_lat", "bb_sharing_policy", "limiter_link", "loopback_bw", "loopback_lat", "router_id",
)  # fmt: skip


def read_simgrid_xml(path: str | Path, options: Iterable[tuple[str, str]] = ()) -> Platform:
    """The machine that a platform file describes.

    Parameters
    ----------
    path : str or path
        The file.
    options : iterable of (str, str)
        Names and values of options that stand above the file's.

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
    models = Models()
    for element in root.children:
        if element.tag == "config":
            element.check_attributes(("id",))
            models = read_config(element, models)
    reader = _Reader(PlatformBuilder(str(path), with_options(models, options)))
    with _located(root):
        n_hosts = _n_hosts_of_clusters(root)
        reader.builder.check_room("the platform", n_hosts, 2 * n_hosts)
    for element in root.children:
        if element.tag != "config":
            reader.read(element, None)
    try:
        return reader.builder.finish(sha256=sha256(data).hexdigest())
    except PlatformError as wrong:
        raise root.error(str(wrong)) from None


class _Reader:
    """Hands the elements of a file to a builder, each by the method for its tag."""

    def __init__(self, builder: PlatformBuilder) -> None:
        self.builder: Final = builder
        self._methods: Final[dict[str, Callable[[Element, str], None]]] = {
            "zone": self._zone,
            "AS": self._zone,
            "cluster": self._cluster,
            "host": self._host,
            "router": self._router,
            "link": self._link,
            "route": self._route,
            "zoneRoute": self._route,
            "ASroute": self._route,
            "prop": self._prop,
        }

    def read(self, element: Element, zone: str | None) -> None:
        """One element of a zone; `zone` is None outside the outermost."""
        tag = element.tag
        if tag in _IGNORED_TAGS:
            return
        if tag in _REFUSED_TAGS:
            raise element.error(f"<{tag}> {_REFUSED_TAGS[tag]}")
        if tag not in self._methods:
            raise element.error(f"unknown element <{tag}>{meant(tag, self._methods)}")
        for name in element.attributes:
            if name in _REFUSED_ATTRIBUTES:
                raise element.error(f"attribute {name!r}: {_REFUSED_ATTRIBUTES[name]}")
        if zone is None and tag not in ("zone", "AS", "cluster"):
            raise element.error(f"<{tag}> stands outside of all zones: put it into <zone id='...' routing='Full'>")
        with _located(element):
            self._methods[tag](element, zone or "")

    def _zone(self, element: Element, zone: str) -> None:
        element.check_attributes(("id", "routing"))
        routing = element.choice("routing", ("FULL", *_REFUSED_ROUTINGS))
        if routing != "FULL":
            raise element.error(f"routing {element.text('routing')!r} {_LATER}")
        self.builder.full_zone(element.text("id"), zone or None)
        for child in element.children:
            self.read(child, element.text("id"))

    def _host(self, element: Element, zone: str) -> None:
        element.check_attributes(("id", "speed", "core", "pstate", "coordinates"))
        self.builder.host(element.text("id"), zone, _speed_flop_per_s(element), element.integer("core", "1"))
        self._parts_of_host(element, zone)

    def _parts_of_host(self, element: Element, zone: str) -> None:
        """Properties and disks."""
        for child in element.children:
            if child.tag == "prop" and child.text("id") in _OVERHEAD_PROPS:
                raise child.error(
                    f"{child.text('id')} of single hosts is not supported yet: set it in <config>, for all"
                )
            self._leaf(child, zone, ("prop", "disk"))

    def _leaf(self, child: Element, zone: str, tags: tuple[str, ...]) -> None:
        if child.tag not in (*tags, *_IGNORED_TAGS, *_REFUSED_TAGS):
            raise child.error(f"<{child.tag}> cannot stand here{meant(child.tag, tags)}")
        self.read(child, zone)

    def _router(self, element: Element, zone: str) -> None:
        element.check_attributes(("id", "coordinates"))
        self.builder.router(element.text("id"), zone)

    def _link(self, element: Element, zone: str) -> None:
        element.check_attributes(("id", "bandwidth", "latency", "sharing_policy"))
        for child in element.children:
            self._leaf(child, zone, ("prop",))
        policy = element.choice(
            "sharing_policy", (*(policy.value for policy in Sharing), "FULLDUPLEX", "WIFI"), "SHARED"
        )
        if policy == "WIFI":
            raise element.error(
                "links with sharing_policy='WIFI' are not supported: use SHARED, FATPIPE or SPLITDUPLEX"
            )
        if "," in element.text("bandwidth"):
            raise element.error("a list of bandwidths is for WIFI links, which are not supported: give one")
        self.builder.link(
            element.text("id"),
            element.quantity("bandwidth", parse_bandwidth_bytes_per_s),
            element.quantity("latency", parse_time_s, "0"),
            Sharing.SPLITDUPLEX if policy == "FULLDUPLEX" else Sharing(policy),
        )

    def _route(self, element: Element, zone: str) -> None:
        between_zones = element.tag != "route"
        element.check_attributes(("src", "dst", "symmetrical", *(("gw_src", "gw_dst") if between_zones else ())))
        hops = []
        for child in element.children:
            if child.tag != "link_ctn":
                raise child.error(f"<{element.tag}> holds <link_ctn id='...'/> only{meant(child.tag, ('link_ctn',))}")
            child.check_attributes(("id", "direction"))
            direction = child.choice("direction", [direction.value for direction in Direction], "NONE")
            hops.append(Hop(child.text("id"), Direction(direction)))
        self.builder.route(
            zone,
            element.text("src"),
            element.text("dst"),
            hops,
            gateways=(element.text("gw_src"), element.text("gw_dst")) if between_zones else None,
            is_symmetrical=element.choice("symmetrical", ("YES", "NO"), "YES") == "YES",
        )

    def _cluster(self, element: Element, zone: str) -> None:
        element.check_attributes(_CLUSTER_ATTRIBUTES)
        self._parts_of_host(element, zone)
        topology = element.choice("topology", ("FLAT", "FAT_TREE", "TORUS", "DRAGONFLY"), "FLAT")
        if topology == "FLAT":
            router = f"{element.text('prefix')}{element.text('id')}_router{element.text('suffix')}"
            self.builder.flat_cluster(_cluster(element), element.text("router_id", router), zone or None)
        elif topology == "FAT_TREE":
            for name in ("bb_bw", "bb_lat", "bb_sharing_policy", "router_id"):
                if element.has(name):
                    raise element.error(f"attribute {name!r}: a fat tree has no backbone and no router: remove it")
            self.builder.fat_tree(_cluster(element), _fat_tree(element), zone or None)
        else:
            raise element.error(f"topology {topology!r} {_LATER}")

    def _prop(self, element: Element, zone: str) -> None:
        """Properties are notes to other tools."""
        element.check_attributes(("id", "value"))


@contextmanager
def _located(element: Element) -> Iterator[None]:
    """Adds file, line and element to what the builder refuses."""
    try:
        yield
    except PlatformError as wrong:
        if str(wrong).startswith(f"{element.file}:"):
            raise
        raise element.error(str(wrong)) from None


def _speed_flop_per_s(element: Element) -> float:
    """The speed in the initial one of the states that are listed."""
    speeds = element.text("speed").split(",")
    state = element.integer("pstate", "0")
    if not 0 <= state < len(speeds):
        raise element.error(f"attribute 'pstate': there is no state {state} among {len(speeds)} speeds, counted from 0")
    return element.parsed("speed", speeds[state].strip(), parse_speed_flop_per_s)


def _cluster(element: Element) -> Cluster:
    policy = element.choice("sharing_policy", (*(policy.value for policy in Sharing), "FULLDUPLEX"), "SPLITDUPLEX")
    if policy == "FATPIPE":
        element.warn("the links of a cluster cannot be FATPIPE: they are SHARED, as SimGrid makes them")
    labels = _labels(element)
    prefix, suffix = element.text("prefix"), element.text("suffix")
    return Cluster(
        name=element.text("id"),
        host_names=[f"{prefix}{label}{suffix}" for label in labels],
        labels=labels,
        speed_flop_per_s=_speed_flop_per_s(element),
        bandwidth_bytes_per_s=element.quantity("bw", parse_bandwidth_bytes_per_s),
        latency_s=element.quantity("lat", parse_time_s),
        is_split=policy in ("SPLITDUPLEX", "FULLDUPLEX"),
        cores=element.integer("core", "1"),
        loopback_bandwidth_bytes_per_s=element.quantity("loopback_bw", parse_bandwidth_bytes_per_s, "0"),
        loopback_latency_s=element.quantity("loopback_lat", parse_time_s, "0"),
        limiter_bandwidth_bytes_per_s=element.quantity("limiter_link", parse_bandwidth_bytes_per_s, "0"),
        backbone_bandwidth_bytes_per_s=element.quantity("bb_bw", parse_bandwidth_bytes_per_s, "0"),
        backbone_latency_s=element.quantity("bb_lat", parse_time_s, "0"),
        backbone_is_fatpipe=element.choice("bb_sharing_policy", ("SHARED", "FATPIPE"), "SHARED") == "FATPIPE",
    )


def _labels(element: Element) -> list[int]:
    """The numbers of radical "0-3,7,10-12"."""
    return [label for labels in _radical(element) for label in labels]


def _radical(element: Element) -> list[range]:
    """Its ranges, however large."""
    ranges = []
    for part in element.text("radical").split(","):
        bounds = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part, re.ASCII)
        if bounds is None:
            raise element.error(f"attribute 'radical': {part!r} is neither a number nor a range such as '0-15'")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last < first:
            raise element.error(f"attribute 'radical': the range {part.strip()!r} runs backwards")
        ranges.append(range(first, last + 1))
    return ranges


def _n_hosts_of_clusters(element: Element) -> int:
    own = sum(part.stop - part.start for part in _radical(element)) if element.tag == "cluster" else 0
    return own + sum(map(_n_hosts_of_clusters, element.children))


def _fat_tree(element: Element) -> FatTree:
    """The shape that "levels;children,...;parents,...;cables,..." describes."""
    text = element.text("topo_parameters")
    try:
        levels, *numbers = ([int(number) for number in part.split(",")] for part in text.split(";"))
    except ValueError:
        levels, numbers = [], []
    if len(levels) != 1 or len(numbers) != 3 or any(len(part) != levels[0] for part in numbers):
        raise element.error(
            f"attribute 'topo_parameters': {text!r} is not 'levels;children,...;parents,...;cables,...', with a number "
            "for each level in each list, such as '2;4,4;1,2;1,2'"
        )
    children, parents, cables = (tuple(part) for part in numbers)
    return FatTree(children, parents, cables)
