"""Machines: hosts, links, topologies, and which rank runs on which host."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from smpy.platforms.default_cluster import default_cluster

if TYPE_CHECKING:
    from smpy.platforms.cluster import Cluster, HostGroup, JoinedNames, ListedNames, NumberedNames
    from smpy.platforms.declared_parts import BypassRoute, DeclaredRoute, Host, Link, ProfileConnection, Router
    from smpy.platforms.declared_zone import DeclaredZone
    from smpy.platforms.description import Description
    from smpy.platforms.edge_list import Edge, hosts_among, read_edges
    from smpy.platforms.link_classes import LinkClass
    from smpy.platforms.links import Coordinates, Direction, Hop, Sharing
    from smpy.platforms.machine import read_machine
    from smpy.platforms.models.kernel_costs import EmpiricalNoise, HalfNormalNoise, KernelCost, KernelCosts
    from smpy.platforms.models.machine_models import (
        CallCosts,
        CollectiveChoice,
        Models,
        NetworkModel,
        Overhead,
        Polling,
        Step,
    )
    from smpy.platforms.models.memory import Cache, CacheLevel, Memory, RandomAccess
    from smpy.platforms.models.network_models import Network, network_model
    from smpy.platforms.models.prices import Prices
    from smpy.platforms.models.storage import Disk, Storage
    from smpy.platforms.models.thread_efficiency import ThreadEfficiency
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts
    from smpy.platforms.part_changes import PartChange
    from smpy.platforms.parts import Computer, Part, ReadPart, Zone
    from smpy.platforms.parts_list import CableParts, HostParts, PartsList, SwitchParts
    from smpy.platforms.placement.hostfile import read_hostfile
    from smpy.platforms.placement.placement import place
    from smpy.platforms.profiles import Changing, Profile, read_profile
    from smpy.platforms.simgrid.clusters import read_cluster
    from smpy.platforms.simgrid.elements import Element
    from smpy.platforms.simgrid.reader import read_simgrid_xml
    from smpy.platforms.topologies import topology
    from smpy.platforms.topologies.dijkstra import DijkstraZone
    from smpy.platforms.topologies.dragonfly import Dragonfly, DragonflyShape
    from smpy.platforms.topologies.empty import EmptyZone
    from smpy.platforms.topologies.fat_tree import FatTree, TreeShape
    from smpy.platforms.topologies.flat_cluster import FlatCluster
    from smpy.platforms.topologies.floyd import FloydZone
    from smpy.platforms.topologies.full import FullZone
    from smpy.platforms.topologies.graph import Graph
    from smpy.platforms.topologies.hyperx import HyperX
    from smpy.platforms.topologies.star import Backbone, Cabinet, HostLink, StarZone
    from smpy.platforms.topologies.torus import Torus
    from smpy.platforms.topologies.vivaldi import Peer, VivaldiZone

__all__ = [
    "Backbone",
    "BypassRoute",
    "Cabinet",
    "CableParts",
    "Cache",
    "CacheLevel",
    "CallCosts",
    "Changing",
    "Cluster",
    "CollectiveChoice",
    "Computer",
    "Coordinates",
    "DeclaredRoute",
    "DeclaredZone",
    "Description",
    "DijkstraZone",
    "Direction",
    "Disk",
    "Dragonfly",
    "DragonflyShape",
    "Edge",
    "Element",
    "EmpiricalNoise",
    "EmptyZone",
    "FatTree",
    "FlatCluster",
    "FloydZone",
    "FullZone",
    "Graph",
    "HalfNormalNoise",
    "Hop",
    "Host",
    "HostGroup",
    "HostLink",
    "HostParts",
    "HyperX",
    "JoinedNames",
    "KernelCost",
    "KernelCosts",
    "Link",
    "LinkClass",
    "ListedNames",
    "Memory",
    "Models",
    "Network",
    "NetworkModel",
    "NumberedNames",
    "Overhead",
    "Part",
    "PartChange",
    "PartsList",
    "Peer",
    "Polling",
    "Prices",
    "Profile",
    "ProfileConnection",
    "RandomAccess",
    "ReadPart",
    "Router",
    "Sharing",
    "StarZone",
    "Step",
    "Storage",
    "SwitchParts",
    "ThreadEfficiency",
    "TomlTable",
    "Torus",
    "TreeShape",
    "VivaldiZone",
    "WantedHosts",
    "Zone",
    "default_cluster",
    "hosts_among",
    "network_model",
    "place",
    "read_cluster",
    "read_edges",
    "read_hostfile",
    "read_machine",
    "read_profile",
    "read_simgrid_xml",
    "topology",
]

_NAMES: Final = {
    "cluster": ("Cluster", "HostGroup", "JoinedNames", "ListedNames", "NumberedNames"),
    "declared_parts": ("BypassRoute", "DeclaredRoute", "Host", "Link", "ProfileConnection", "Router"),
    "declared_zone": ("DeclaredZone",),
    "description": ("Description",),
    "edge_list": ("Edge", "hosts_among", "read_edges"),
    "placement.hostfile": ("read_hostfile",),
    "models.kernel_costs": ("EmpiricalNoise", "HalfNormalNoise", "KernelCost", "KernelCosts"),
    "models.machine_models": ("CallCosts", "CollectiveChoice", "Models", "NetworkModel", "Overhead", "Polling", "Step"),
    "link_classes": ("LinkClass",),
    "links": ("Coordinates", "Direction", "Hop", "Sharing"),
    "machine": ("read_machine",),
    "models.memory": ("Cache", "CacheLevel", "Memory", "RandomAccess"),
    "models.network_models": ("Network", "network_model"),
    "own_format.settings": ("TomlTable",),
    "own_format.wanted_hosts": ("WantedHosts",),
    "part_changes": ("PartChange",),
    "parts": ("Computer", "Part", "ReadPart", "Zone"),
    "parts_list": ("CableParts", "HostParts", "PartsList", "SwitchParts"),
    "placement.placement": ("place",),
    "models.prices": ("Prices",),
    "models.storage": ("Disk", "Storage"),
    "profiles": ("Changing", "Profile", "read_profile"),
    "simgrid.clusters": ("read_cluster",),
    "simgrid.elements": ("Element",),
    "simgrid.reader": ("read_simgrid_xml",),
    "models.thread_efficiency": ("ThreadEfficiency",),
    "topologies": ("topology",),
    "topologies.dragonfly": ("Dragonfly", "DragonflyShape"),
    "topologies.dijkstra": ("DijkstraZone",),
    "topologies.empty": ("EmptyZone",),
    "topologies.fat_tree": ("FatTree", "TreeShape"),
    "topologies.flat_cluster": ("FlatCluster",),
    "topologies.floyd": ("FloydZone",),
    "topologies.full": ("FullZone",),
    "topologies.torus": ("Torus",),
    "topologies.graph": ("Graph",),
    "topologies.hyperx": ("HyperX",),
    "topologies.star": ("Backbone", "Cabinet", "HostLink", "StarZone"),
    "topologies.vivaldi": ("Peer", "VivaldiZone"),
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:  # a run on the default cluster reads no files
    if name not in _HOMES:
        raise AttributeError(f"module 'smpy.platforms' has no attribute {name!r}")
    return getattr(import_module(f"smpy.platforms.{_HOMES[name]}"), name)
