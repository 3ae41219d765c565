"""Inspects a machine: numbers of hosts and links by kind, lengths of routes, ranks of each host."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError
from smpy.platforms.description import Description
from smpy.platforms.host_names import merge_names
from smpy.platforms.inspection.bisection import Bisection, bisection_of
from smpy.platforms.links import Sharing
from smpy.platforms.models.devices import Device
from smpy.platforms.models.memory import Memory

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

ALL_PAIRS_MAX: Final = 100_000  # number of hosts whose routes are examined
_SAMPLED_PAIRS: Final = 20_000
_SAMPLED_LOOPBACKS: Final = 2000


@dataclass(frozen=True, slots=True)
class HostKind:
    """Identical hosts.

    Attributes
    ----------
    names : tuple of str
        Names of all of them; consecutive numbers are folded into one: `node-[0-31]`.
    """

    names: tuple[str, ...]
    n_hosts: int
    sockets: int
    cores: int
    speed_flop_per_s: float
    memory: Memory


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """Identical devices, and the number of hosts that have them."""

    n_hosts: int
    device: Device


@dataclass(frozen=True, slots=True)
class LinkKind:
    """Identical links; the two halves of a split link count as two.

    Attributes
    ----------
    example : str
        The name of the first.
    """

    example: str
    n_links: int
    bandwidth_bytes_per_s: float
    latency_s: float
    sharing: str


@dataclass(frozen=True, slots=True)
class LoopbackKind:
    """Hosts with equal bandwidths of their loopbacks and of their routes to the next host.

    Attributes
    ----------
    host, next_host : str
        First of the hosts, and the other end of its route; the same in a machine of one host.
    bandwidth_bytes_per_s : float
        Bandwidth of a message from the host to itself, alone: the least of the loopback and the memory.
    network_bandwidth_bytes_per_s : float
        Bandwidth of a message to the next host.
    shared_bandwidth_bytes_per_s : float
        Bandwidth of all messages inside the host together; 0: they share nothing.
    """

    host: str
    next_host: str
    n_hosts: int
    bandwidth_bytes_per_s: float
    network_bandwidth_bytes_per_s: float
    shared_bandwidth_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Reach:
    """The routes between different hosts.

    Attributes
    ----------
    n_pairs : int
        Pairs of hosts that were looked at, there and back counted as two.
    are_all : bool
        Whether these are all.
    n_without_route : int
        Number of these pairs that no route joins; the first such pair is `without_route`.
    longest_links : int
        Links of the longest route.
    is_longest_certain : bool
        Whether no pair can have a longer one.
    latency_min_s, latency_max_s : float
        Smallest and largest latency of the routes that were looked at.
    """

    n_pairs: int
    are_all: bool
    n_without_route: int
    without_route: tuple[str, str] | None
    longest_links: int
    is_longest_certain: bool
    latency_min_s: float
    latency_max_s: float


@dataclass(frozen=True, slots=True)
class Overview:
    """A machine in numbers; `reach` is None where there is but one host.

    `shape` has the whole numbers of the topology, as a line describes it. `loopbacks` are those of hosts that do not
    reach themselves over the network. `kernels` are the names of those whose costs it says, measured on a core of
    `kernels_reference_flop_per_s`. `bundles_cables` says how many cables there are in those links that are bundles.
    `calibrated_cores` is how many the host had on which its numbers were measured; 0:
    not known.
    """

    name: str
    topology: str
    shape: str
    n_hosts: int
    n_cores: int
    speed_flop_per_s: float
    n_links: int
    hosts: tuple[HostKind, ...]
    links: tuple[LinkKind, ...]
    loopbacks: tuple[LoopbackKind, ...]
    bundles_cables: tuple[int, ...]
    reach: Reach | None
    bisection: Bisection | None
    kernels: tuple[str, ...]
    kernels_reference_flop_per_s: float
    calibrated_cores: int
    devices: tuple[DeviceKind, ...]


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A link of a route, and the nodes that it joins, for people; its name if they are not known."""

    link: str
    joins: str
    bandwidth_bytes_per_s: float
    latency_s: float
    sharing: str


@dataclass(frozen=True, slots=True)
class RouteView:
    """A route, link by link."""

    source: str
    target: str
    latency_s: float
    steps: tuple[RouteStep, ...]


@dataclass(frozen=True, slots=True)
class HostRanks:
    """Ranks of a host, ascending."""

    host: str
    ranks: tuple[int, ...]


def overview(description: Description, platform: Platform) -> Overview:
    """A machine in numbers.

    Parameters
    ----------
    description : Description
        The machine.
    platform : Platform
        The same, built.
    """
    hosts = host_kinds(platform)
    kernels = description.kernels
    has_other_links = any(change.kind != "host" for change in description.part_changes)
    return Overview(
        name=description.name,
        topology=re.sub("(?<=[a-z])(?=[A-Z][a-z])", " ", type(description.zone).__name__).lower(),
        shape=_shape_text(description.zone.to_settings() or {}),
        n_hosts=platform.n_hosts,
        n_cores=sum(kind.n_hosts * kind.cores for kind in hosts),
        speed_flop_per_s=sum(kind.n_hosts * kind.cores * kind.speed_flop_per_s for kind in hosts),
        n_links=platform.n_links,
        hosts=hosts,
        links=link_kinds(platform),
        loopbacks=loopback_kinds(platform),
        bundles_cables=description.zone.bundles_cables,
        reach=reach(description, platform) if platform.n_hosts > 1 else None,
        bisection=None if has_other_links else bisection_of(description),
        kernels=tuple(cost.name for cost in kernels.costs) if kernels else (),
        kernels_reference_flop_per_s=kernels.reference_flop_per_s if kernels else 0.0,
        calibrated_cores=cores if type(cores := description.calibration.get("cores")) is int else 0,
        devices=device_kinds(platform),
    )


def _shape_text(settings: Mapping[str, object]) -> str:
    """Whole numbers of a topology as keys of one line: "dimensions=8x8 hosts_per_switch=4"."""
    texts = []
    for key, value in settings.items():
        if isinstance(value, tuple) and all(type(number) is int for number in value):
            texts.append(f"{key}={('x' if key == 'dimensions' else ',').join(map(str, value))}")
        elif type(value) is int and key != "seed":
            texts.append(f"{key}={value}")
    return " ".join(texts)


def host_kinds(platform: Platform) -> tuple[HostKind, ...]:
    """Kinds of hosts, in the order of their first host."""
    names: dict[tuple[int, int, float, Memory], list[str]] = {}
    for kind, name in zip(platform.all_hosts(), platform.host_names, strict=True):
        names.setdefault(kind, []).append(name)
    return tuple(HostKind(tuple(merge_names(alike)), len(alike), *kind) for kind, alike in names.items())


def device_kinds(platform: Platform) -> tuple[DeviceKind, ...]:
    """Kinds of devices, in the order of their first host."""
    n_hosts: dict[Device, int] = {}
    for hosts, kinds in platform.devices():
        for device in kinds:
            n_hosts[device] = n_hosts.get(device, 0) + len(hosts)
    return tuple(DeviceKind(n, device) for device, n in n_hosts.items())


def link_kinds(platform: Platform) -> tuple[LinkKind, ...]:
    """Kinds of links, in the order of their first link."""
    first: dict[tuple[float, float, bool], int] = {}
    counts: Counter[tuple[float, float, bool]] = Counter()
    for link, kind in enumerate(platform.all_links()):
        first.setdefault(kind, link)
        counts[kind] += 1
    return tuple(
        LinkKind(platform.link_name(first[kind]), n_links, *kind[:2], "FATPIPE" if kind[2] else "SHARED")
        for kind, n_links in counts.items()
    )


def loopback_kinds(platform: Platform) -> tuple[LoopbackKind, ...]:
    """Kinds of loopbacks, in order of their first host; a sample of the hosts on a large machine."""
    n_hosts, names = platform.n_hosts, platform.host_names
    kinds: dict[tuple[float, float, float], LoopbackKind] = {}
    for host in range(0, n_hosts, -(-n_hosts // _SAMPLED_LOOPBACKS)):
        neighbour = host + 1 if host + 1 < n_hosts else max(host - 1, 0)
        try:
            inside, outside = (platform.route_links(host, target)[0] for target in (host, neighbour))
        except PlatformError:  # no route
            continue
        if not inside or not outside or (host != neighbour and set(inside) & set(outside)):
            continue
        bandwidth, network = (min(platform.link(link)[0] for link in links) for links in (inside, outside))
        loopback, *memories = map(platform.link, inside)
        is_own = loopback[2] is Sharing.FATPIPE  # a loopback; otherwise wires of the network
        key = bandwidth, network, min((memory[0] for memory in memories if is_own), default=0.0)
        before = kinds.get(key, LoopbackKind(names[host], names[neighbour], 0, *key))
        kinds[key] = replace(before, n_hosts=before.n_hosts + 1)
    return tuple(kinds.values())


def reach(description: Description, platform: Platform) -> Reach:
    """Lengths of routes: of all, or on a large machine of those from the first host and of random pairs."""
    n_hosts, names = platform.n_hosts, platform.host_names
    are_all = n_hosts * (n_hosts - 1) <= ALL_PAIRS_MAX
    n_pairs = n_without = longest = 0
    without: tuple[str, str] | None = None
    latency_min_s, latency_max_s = float("inf"), 0.0
    for source, target in pairs_of(n_hosts):
        n_links, latency_s = platform.route_length(source, target)
        n_pairs += 1
        if n_links < 0:
            n_without += 1
            without = without or (names[source], names[target])
            continue
        longest = max(longest, n_links)
        latency_min_s, latency_max_s = min(latency_min_s, latency_s), max(latency_max_s, latency_s)
    formula = description.zone.longest_route_links
    return Reach(
        n_pairs=n_pairs,
        are_all=are_all,
        n_without_route=n_without,
        without_route=without,
        longest_links=longest if formula is None else formula,
        is_longest_certain=are_all or formula is not None,
        latency_min_s=min(latency_min_s, latency_max_s),
        latency_max_s=latency_max_s,
    )


def pairs_of(n_hosts: int) -> Iterator[tuple[int, int]]:
    """Pairs of different hosts: all, or on a large machine a fixed random sample."""
    if n_hosts * (n_hosts - 1) <= ALL_PAIRS_MAX:
        yield from ((source, target) for source in range(n_hosts) for target in range(n_hosts) if source != target)
        return
    step = -(-n_hosts // _SAMPLED_PAIRS)
    yield from ((0, target) for target in range(step, n_hosts, step))
    draw = random.Random(0).random
    for _ in range(_SAMPLED_PAIRS):
        source = int(draw() * n_hosts)
        yield source, (source + 1 + int(draw() * (n_hosts - 1))) % n_hosts


def route_view(platform: Platform, source: str, target: str) -> RouteView:
    """Route between two named hosts.

    Raises
    ------
    PlatformError
        If there is no such host, or no route between them.
    """
    links, latency_s = platform.route_links(platform.host_number(source), platform.host_number(target))
    steps = []
    for link in links:
        bandwidth, link_latency_s, sharing = platform.link(link)
        steps.append(
            RouteStep(platform.link_name(link), platform.link_label(link), bandwidth, link_latency_s, sharing.value)
        )
    return RouteView(source, target, latency_s, tuple(steps))


def ranks_by_host(platform: Platform, host_of_rank: Sequence[int]) -> tuple[HostRanks, ...]:
    """Ranks of each host; hosts in the order of their first rank."""
    ranks: dict[int, list[int]] = {}
    for rank, host in enumerate(host_of_rank):
        ranks.setdefault(host, []).append(rank)
    return tuple(HostRanks(platform.host_names[host], tuple(numbers)) for host, numbers in ranks.items())
