"""Machines: hosts, links, topologies, and which rank runs on which host."""

from smpy.platforms.default_cluster import default_cluster
from smpy.platforms.hostfile import read_hostfile
from smpy.platforms.models import CallCosts, CollectiveChoice, Models, NetworkModel, Polling
from smpy.platforms.placement import place
from smpy.platforms.platform import Platform, Route
from smpy.platforms.simgrid_xml import read_simgrid_xml

__all__ = [
    "CallCosts",
    "CollectiveChoice",
    "Models",
    "NetworkModel",
    "Platform",
    "Polling",
    "Route",
    "default_cluster",
    "place",
    "read_hostfile",
    "read_simgrid_xml",
]
