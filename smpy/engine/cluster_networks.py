"""Networks of clusters: each function returns a function that adds a network of one shape to a platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from smpy.engine.kernel import ffi, lib
from smpy.platforms.cluster import Cluster

Network: TypeAlias = Callable[[Any, int, Any], int]
"""Adds a network of a platform, the parent's point and the kernel's `cluster`: the zone's point, or an error.

After it come the points of the hosts and of the router.
"""

_ROUTES: Final = {
    "minimal": lib.ROUTES_MINIMAL,
    "dimension_order": lib.ROUTES_MINIMAL,
    "valiant": lib.ROUTES_VALIANT,
    "adaptive": lib.ROUTES_ADAPTIVE,
}


def flat() -> Network:
    """A wire from each host to a centre."""
    return lib.platform_add_flat_cluster  # type: ignore[no-any-return]


def torus(dimensions: Sequence[int]) -> Network:
    """Rings of hosts in each dimension."""
    return lambda platform, at, hosts: lib.platform_add_torus(platform, at, hosts, len(dimensions), dimensions)


def fat_tree(children: Sequence[int], parents: Sequence[int], cables: Sequence[int], n_hosts_before: int) -> Network:
    """Levels of switches, from the leaves upward; `n_hosts_before`: number of hosts of earlier fat trees."""
    levels = len(children), children, parents, cables
    return lambda platform, at, hosts: lib.platform_add_fat_tree(platform, at, hosts, *levels, n_hosts_before)


def dragonfly(shape: Mapping[str, int], routing: str, seed: int) -> Network:
    """Groups of routers; `shape` has the members of the kernel's `dragonfly_shape`."""
    numbers = ffi.new("dragonfly_shape *", dict(shape)), _ROUTES[routing], seed
    return lambda platform, at, hosts: lib.platform_add_dragonfly(platform, at, hosts, *numbers)


def hyperx(dimensions: Sequence[int], cables: Sequence[int], hosts_per_switch: int, routing: str, seed: int) -> Network:
    """Switches on a lattice, with cables between all that differ in one dimension."""
    shape = len(dimensions), dimensions, cables, hosts_per_switch, _ROUTES[routing], seed
    return lambda platform, at, hosts: lib.platform_add_hyperx(platform, at, hosts, *shape)


class Edges(NamedTuple):
    """Columns of the edges of a graph, by the numbers of their ends."""

    a: Sequence[int]
    b: Sequence[int]
    cables: Sequence[int]
    bandwidth_bytes_per_s: Sequence[float]
    latency_s: Sequence[float]


def graph(n_switches: int, edges: Edges, *, by_latency: bool) -> Network:
    """Any network, with shortest paths by number of edges or by latency."""
    types = ("int[]", "int[]", "int[]", "double[]", "double[]")
    columns = [ffi.new(kind, column) for kind, column in zip(types, edges, strict=True)]

    def add(platform: Any, at: int, hosts: Any) -> int:
        kernels = ffi.new("graph_edges *", (len(edges.a), *columns))
        return int(lib.platform_add_graph(platform, at, hosts, n_switches, kernels, by_latency))

    return add


def kernel_cluster(cluster: Cluster, wire_power_w: tuple[float, float] | None = None) -> Any:
    """The kernel's `cluster`, owned by the returned cffi object; idle and busy power of a wire's links."""
    return ffi.new(
        "cluster *",
        {
            "n_hosts": cluster.n_hosts,
            "cores": cluster.cores,
            "speed_flop_per_s": cluster.speed_flop_per_s,
            "bandwidth_bytes_per_s": cluster.bandwidth_bytes_per_s,
            "latency_s": cluster.latency_s,
            "is_split": cluster.is_split,
            "loopback_bandwidth_bytes_per_s": cluster.loopback_of(cluster.host_groups[0]),
            "loopback_latency_s": cluster.loopback_latency_s,
            "memory_bandwidth_bytes_per_s": cluster.memory.messages_bytes_per_s if cluster.has_memory_links else 0.0,
            "limiter_bandwidth_bytes_per_s": cluster.limiter_bandwidth_bytes_per_s,
            "backbone_bandwidth_bytes_per_s": cluster.backbone_bandwidth_bytes_per_s,
            "backbone_latency_s": cluster.backbone_latency_s,
            "backbone_policy": lib.LINK_FATPIPE if cluster.backbone_is_fatpipe else lib.LINK_SHARED,
            "wires_have_power": wire_power_w is not None,
            **dict(zip(("wire_idle_w", "wire_busy_w"), wire_power_w or (0.0, 0.0), strict=True)),
        },
    )


def set_groups_inside(platform: Any, cluster: Cluster, first_host: int, links: range) -> None:
    """Set loopbacks and memories of a cluster's hosts to those of their groups.

    Parameters
    ----------
    platform : cdata
        The kernel's `platform`, which has the cluster already.
    cluster : Cluster
        The cluster, with loopbacks.
    first_host : int
        Number of its first host.
    links : range
        Numbers of its links, on one rail after the other.
    """
    route, latency_s = ffi.new("int *"), ffi.new("double *")
    lib.platform_route_links(platform, first_host, first_host, 1, route, latency_s)
    n_links = len(links) // cluster.rails
    offset = (route[0] - links.start) % n_links  # the route may be on any rail
    for rail in links[::n_links]:
        link = rail + offset
        for group in cluster.groups:
            inside = cluster.loopback_of(group), cluster.loopback_latency_s
            lib.platform_set_links(platform, link, group.n_hosts, *inside)
            if cluster.has_memory_links:
                shared = group.memory.messages_bytes_per_s, 0.0
                lib.platform_set_links(platform, link + cluster.n_hosts, group.n_hosts, *shared)
            link += group.n_hosts
