"""Hosts with one wire each to a centre, which may be a backbone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from smpy.platforms.cluster import Cluster
from smpy.platforms.link_ends import WireEnds, cluster_link_ends
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.parts import ReadPart, Zone
from smpy.platforms.parts_list import PartsList, SwitchParts, cluster_parts
from smpy.platforms.topologies import topology
from smpy.units import exact_bandwidth, exact_time, parse_bandwidth_bytes_per_s, parse_time_s

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.simgrid.elements import Element


@topology("flat", tag="machine")
@topology("FLAT")
@dataclass(frozen=True, slots=True)
class FlatCluster(Zone):
    """Hosts with one wire each to a backbone, or to each other where there is none.

    Parameters
    ----------
    cluster : Cluster
        Its hosts and wires.
    router_name : str
        Name of the router that is its way in and out.
    """

    cluster: Cluster
    router_name: str = "router"

    @classmethod
    def from_xml(cls, element: Element, read: ReadPart) -> FlatCluster:
        """The cluster of a <cluster topology='FLAT'>, or of one without a topology."""
        from smpy.platforms.simgrid.clusters import read_cluster

        router = f"{element.text('prefix')}{element.text('id')}_router{element.text('suffix')}"
        return cls(read_cluster(element), element.text("router_id", router), origin=element.origin)

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> FlatCluster:
        """The hosts of kind = "flat", perhaps with a backbone that all traffic crosses."""
        cluster = hosts.cluster_within(hosts.needed if hosts.count is None else hosts.count)
        bandwidth = settings.quantity("backbone_bandwidth", parse_bandwidth_bytes_per_s, "100Gb/s", 0.0)
        latency_s = settings.quantity("backbone_latency", parse_time_s, "1us", 0.0)
        if latency_s > 0 and not bandwidth > 0:
            raise settings.error("backbone_latency", "there is no backbone without backbone_bandwidth")
        is_fatpipe = settings.choice("backbone_sharing", ("shared", "fatpipe"), "shared") == "fatpipe"
        if is_fatpipe and not bandwidth > 0:
            raise settings.error("backbone_sharing", "there is no backbone without backbone_bandwidth")
        cluster = replace(
            cluster,
            backbone_bandwidth_bytes_per_s=bandwidth,
            backbone_latency_s=latency_s,
            backbone_is_fatpipe=is_fatpipe,
        )
        return cls(cluster, settings.text("router", "router"))

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def parts_list(self) -> PartsList:
        """The centre is one switch, and its backbone no cable."""
        return cluster_parts(self.cluster, [SwitchParts(1, self.n_hosts)], cables_per_host=1)

    @property
    def longest_route_links(self) -> int:
        if self.n_hosts < 2:
            return 0
        cluster = self.cluster
        return 2 + 2 * (cluster.limiter_bandwidth_bytes_per_s > 0) + (cluster.backbone_bandwidth_bytes_per_s > 0)

    @property
    def bisection_bandwidth_bytes_per_s(self) -> float | None:
        cluster = self.cluster
        if not cluster.has_equal_wires:
            return None
        host = min(cluster.bandwidth_bytes_per_s, cluster.limiter_bandwidth_bytes_per_s or inf)
        limits_all = cluster.backbone_bandwidth_bytes_per_s > 0 and not cluster.backbone_is_fatpipe
        backbone = cluster.backbone_bandwidth_bytes_per_s if limits_all else inf
        return cluster.rails * min(self.n_hosts // 2 * host, backbone)

    def to_settings(self) -> dict[str, object]:
        flat: dict[str, object] = {"kind": "flat"}
        if self.router_name != "router":
            flat["router"] = self.router_name
        if not self.cluster.backbone_bandwidth_bytes_per_s:
            return flat
        return flat | {
            "backbone_bandwidth": exact_bandwidth(self.cluster.backbone_bandwidth_bytes_per_s),
            "backbone_latency": exact_time(self.cluster.backbone_latency_s),
            **({"backbone_sharing": "fatpipe"} if self.cluster.backbone_is_fatpipe else {}),
        }

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.cluster(
            self.cluster,
            zone,
            builder.networks.flat(),
            link_name=_link_name(self.cluster),
            link_ends=cluster_link_ends(self.cluster, self.n_hosts, lambda host: WireEnds(host, "switch")),
            router_name=self.router_name,
            wires_per_host=1,
        )


def _link_name(cluster: Cluster) -> LinkNamer:
    """The name of the i-th link."""
    numbers = cluster.hosts.numbers

    def wire(number: int, half: str) -> str:
        return f"{cluster.name}_link_{numbers[number]}{half}"

    return cluster_link_name(cluster, cluster.n_hosts, wire, cluster.n_hosts, lambda number: numbers[number])
