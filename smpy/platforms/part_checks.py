"""Checks of the numbers of hosts, links and clusters; a wrong one raises a `PlatformError` that names the part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.models.memory import Memory
from smpy.units import LARGEST, SMALLEST

COUNT_MAX: Final = 2**31 - 1  # maximum number of hosts, cores per host, and links
_TOO_SMALL: Final = f"it must be at least {SMALLEST:g}"


def check_host(name: str, speed_flop_per_s: float, cores: int, sockets: int, memory: Memory) -> None:
    """Refuse an impossible host."""
    if not speed_flop_per_s > 0:
        raise PlatformError(f"host {name!r} has a speed of {speed_flop_per_s:g} flop/s: it must be above 0")
    if speed_flop_per_s < SMALLEST:
        raise PlatformError(f"host {name!r} has a speed of {speed_flop_per_s:g} flop/s: {_TOO_SMALL}")
    if not 1 <= cores <= COUNT_MAX:
        raise PlatformError(f"host {name!r} has {cores} cores: it needs at least 1, and has room for {COUNT_MAX:,}")
    if not 1 <= sockets <= cores or cores % sockets:
        raise PlatformError(f"host {name!r} has {cores} cores on {sockets} sockets: each has the same number")
    try:
        memory.check()
    except PlatformError as wrong:
        raise PlatformError(f"host {name!r}: {wrong}") from None


def check_link(name: str, bandwidth_bytes_per_s: float, latency_s: float) -> None:
    """Refuse an impossible link."""
    if not bandwidth_bytes_per_s > 0:
        raise PlatformError(f"link {name!r} has a bandwidth of {bandwidth_bytes_per_s:g} bytes/s: it must be above 0")
    if bandwidth_bytes_per_s < SMALLEST:
        raise PlatformError(f"link {name!r} has a bandwidth of {bandwidth_bytes_per_s:g} bytes/s: {_TOO_SMALL}")
    if not latency_s >= 0:
        raise PlatformError(f"link {name!r} has a latency of {latency_s:g} s: it cannot be negative")
    if latency_s > LARGEST:
        raise PlatformError(f"link {name!r} has a latency of {latency_s:g} s: it can be {LARGEST:g} s")


def check_cluster(cluster: Cluster, host_names: Sequence[str]) -> None:
    """Refuse a cluster with impossible numbers; `host_names` are the names of its hosts."""
    _check_groups(cluster, host_names)
    if not 1 <= cluster.rails <= COUNT_MAX:
        raise PlatformError(f"cluster {cluster.name!r} has {cluster.rails} rails: a host needs at least 1")
    if not cluster.bandwidth_bytes_per_s > 0:
        raise PlatformError(f"the links of cluster {cluster.name!r} have no bandwidth: it must be above 0")
    check_link(f"{cluster.name}_link", cluster.bandwidth_bytes_per_s, cluster.latency_s)
    for what, bandwidth, latency in (
        *(("loopback", cluster.loopback_of(group), cluster.loopback_latency_s) for group in cluster.host_groups),
        *(("memory", group.memory.messages_bytes_per_s, 0.0) for group in cluster.host_groups),
        ("backbone", cluster.backbone_bandwidth_bytes_per_s, cluster.backbone_latency_s),
        ("limiter", cluster.limiter_bandwidth_bytes_per_s, 0.0),
    ):
        if latency > 0 and not bandwidth > 0:
            raise PlatformError(f"the {what} of cluster {cluster.name!r} has a latency and no bandwidth: give it one")
        if bandwidth != 0 or latency != 0:
            check_link(f"{cluster.name}_{what}", bandwidth, latency)


def _check_groups(cluster: Cluster, host_names: Sequence[str]) -> None:
    groups, first = cluster.host_groups, 0
    if min(group.n_hosts for group in groups) < 1 or sum(group.n_hosts for group in groups) != len(host_names):
        numbers = ", ".join(str(group.n_hosts) for group in groups)
        raise PlatformError(
            f"cluster {cluster.name!r} has {len(host_names)} hosts, and groups of {numbers}: they have to add up"
        )
    for group in groups:
        some_host = f"{host_names[first]} of cluster {cluster.name}"
        check_host(some_host, group.speed_flop_per_s, group.cores, group.sockets, group.memory)
        if cluster.groups:
            check_link(f"of {some_host}", group.bandwidth_bytes_per_s, group.latency_s)
        first += group.n_hosts
