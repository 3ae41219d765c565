"""Reads the attributes that <cluster> elements of all topologies share; <host> elements have some of them too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster, NumberedNames
from smpy.platforms.links import Sharing
from smpy.platforms.models.power import read_off_w, read_states_w
from smpy.platforms.models.prices import OFF_PROPERTY, POWER_PROPERTY
from smpy.platforms.simgrid.elements import Element
from smpy.units import parse_bandwidth_bytes_per_s, parse_speed_flop_per_s, parse_time_s

CLUSTER_ATTRIBUTES: Final = (
    "id", "prefix", "suffix", "radical", "speed", "bw", "lat", "core", "sharing_policy", "topology", "topo_parameters",
    "bb_bw", "bb_lat", "bb_sharing_policy", "limiter_link", "loopback_bw", "loopback_lat", "router_id",
)  # fmt: skip


def read_cluster(element: Element) -> Cluster:
    """Hosts and wires of a <cluster> of any topology."""
    speeds = read_speeds(element)
    policy = element.choice("sharing_policy", (*(policy.value for policy in Sharing), "FULLDUPLEX"), "SPLITDUPLEX")
    if policy == "FATPIPE":
        element.warn("the links of a cluster cannot be FATPIPE: they are SHARED, as SimGrid makes them")
    return Cluster(
        name=element.text("id"),
        hosts=read_names(element),
        speed_flop_per_s=speeds.first_flop_per_s,
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
        properties=read_host_properties(element, speeds),
        state_speeds_flop_per_s=speeds.all_flop_per_s,
        first_state=speeds.first_state,
    )


def read_regular_cluster(element: Element, n_hosts: int, what: str) -> Cluster:
    """The hosts and wires of a <cluster> whose topology has that many hosts, and neither backbone nor router.

    SimGrid ignores further attributes; here a warning says so.
    """
    for name in ("bb_bw", "bb_lat", "bb_sharing_policy", "router_id"):
        if element.has(name):
            element.warn(f"attribute {name!r} has no effect: a {what} has no backbone and no router")
    cluster = replace(
        read_cluster(element),
        backbone_bandwidth_bytes_per_s=0.0,
        backbone_latency_s=0.0,
        backbone_is_fatpipe=False,
    )
    if not 0 < n_hosts < cluster.n_hosts:
        return cluster
    element.warn(f"the {what} needs {n_hosts} of its {cluster.n_hosts} hosts: the others are left out")
    return replace(cluster, hosts=cluster.hosts.first(n_hosts))


def read_names(element: Element) -> NumberedNames:
    """Host names built from the attributes prefix, radical and suffix."""
    return NumberedNames(element.text("prefix"), _radical(element), element.text("suffix"))


class Speeds(NamedTuple):
    """Speeds of a core in each state of a host, and the initial state; a host with one state has no list."""

    first_flop_per_s: float
    all_flop_per_s: tuple[float, ...] = ()
    first_state: int = 0


def read_speeds(element: Element) -> Speeds:
    """Speeds in all listed states; the powers in properties are checked against them."""
    texts = element.text("speed").split(",")
    state = element.integer("pstate", "0")
    if not 0 <= state < len(texts):
        raise element.error(f"attribute 'pstate': there is no state {state} among {len(texts)} speeds, counted from 0")
    speeds = tuple(element.parsed("speed", text.strip(), parse_speed_flop_per_s) for text in texts)
    _check_power(element, len(speeds))
    if len(speeds) == 1:
        return Speeds(speeds[0])
    if not min(speeds) > 0:
        raise element.error(f"attribute 'speed': a state has a speed of {min(speeds):g} flop/s: it must be above 0")
    return Speeds(speeds[state], speeds, state)


def read_host_properties(element: Element, speeds: Speeds) -> tuple[tuple[str, str], ...]:
    """The properties of hosts; powers of several states are written as our TOML's, so that it can say them."""
    properties = element.properties()
    if not speeds.all_flop_per_s:
        return properties
    return tuple((name, _states_text(text) if name == POWER_PROPERTY else text) for name, text in properties)


def _states_text(text: str) -> str:
    return ",".join(":".join(map(repr, state)) for state in read_states_w(text, text.count(",") + 1))


def _check_power(element: Element, n_states: int) -> None:
    checks: dict[str, Callable[[str], object]] = {
        POWER_PROPERTY: lambda text: read_states_w(text, n_states),
        OFF_PROPERTY: read_off_w,
    }
    for prop in element.children:
        if prop.tag == "prop" and prop.attributes.get("id") in checks:
            try:
                checks[prop.text("id")](prop.text("value"))
            except PlatformError as wrong:
                raise prop.error(str(wrong)) from None


def _radical(element: Element) -> tuple[range, ...]:
    """Numbers of the radical "0-3,7,10-12"."""
    ranges = []
    for part in element.text("radical").split(","):
        bounds = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part, re.ASCII)
        if bounds is None:
            raise element.error(f"attribute 'radical': {part!r} is neither a number nor a range such as '0-15'")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last < first:
            raise element.error(f"attribute 'radical': the range {part.strip()!r} runs backwards")
        ranges.append(range(first, last + 1))
    return tuple(ranges)
