"""Nodes that a link joins, for tables and pages: "leaf 3 to spine 1". Files and options use the names of links.

Hosts have their names. Switches are named by their place: "switch 3", "leaf 3", "spine 1", "group 2 router 5".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smpy.platforms.cluster import Cluster, JoinedNames, ListedNames, NumberedNames


class LinkEnds(NamedTuple):
    """Nodes of a link in the direction of its messages, if it has one.

    Parameters
    ----------
    label : str
        Text for people.
    hosts, switches : tuple of str
        Names of the nodes that it joins.
    """

    label: str
    hosts: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


class WireEnds(NamedTuple):
    """Nodes of a cable: a host's position in its cluster, or a switch's name.

    Parameters
    ----------
    lower, upper : int or str
        The node from which the cable goes up, and the other one.
    cable : int or None
        Number among parallel cables; None: there is one.
    """

    lower: int | str
    upper: int | str
    cable: int | None = None


LinkEndsOf = Callable[[int], LinkEnds | None]
"""Gives the nodes of the i-th link; None: they are not known."""


def cluster_link_ends(cluster: Cluster, n_wires: int, wire: Callable[[int], WireEnds]) -> LinkEndsOf:
    """Nodes of the i-th link of a cluster, given those of its cables."""
    n_halves = 2 if cluster.is_split else 1
    first_loopback = n_wires * n_halves
    first_memory = first_loopback + cluster.has_loopbacks * cluster.n_hosts
    first_limiter = first_memory + cluster.has_memory_links * cluster.n_hosts

    def ends(number: int) -> LinkEnds | None:
        if number < first_loopback:
            return _wire_ends(cluster, wire(number // n_halves), goes_down=number % n_halves == 1)
        if number < first_memory:
            host = host_name(cluster, number - first_loopback)
            return LinkEnds(f"inside {host}", (host,))
        if number < first_limiter:
            host = host_name(cluster, number - first_memory)
            return LinkEnds(f"memory of {host}", (host,))
        return None

    return ends


def host_name(cluster: Cluster, position: int) -> str:
    """Name of a host by its position in a cluster."""
    if position >= cluster.n_hosts:
        return "an empty place"
    names = cluster.hosts
    for part in names.parts if isinstance(names, JoinedNames) else (names,):
        if position < part.n_names:
            return _name_at(part, position)
        position -= part.n_names
    raise IndexError(position)


def _name_at(names: NumberedNames | ListedNames, position: int) -> str:
    if isinstance(names, ListedNames):
        return names.names[position]
    return f"{names.prefix}{names.numbers[position]}{names.suffix}"


def _wire_ends(cluster: Cluster, wire: WireEnds, *, goes_down: bool) -> LinkEnds:
    nodes = (wire.upper, wire.lower) if goes_down else (wire.lower, wire.upper)
    names = [host_name(cluster, node) if isinstance(node, int) else node for node in nodes]
    cable = "" if wire.cable is None else f", cable {wire.cable}"
    return LinkEnds(
        " to ".join(names) + cable,
        tuple(name for node, name in zip(nodes, names, strict=True) if isinstance(node, int)),
        tuple(node for node in nodes if isinstance(node, str)),
    )


def on_rail(rail: int, ends_of: LinkEndsOf) -> LinkEndsOf:
    """Nodes of the links of one of several rails: its switches are others than those of the next one."""

    def ends(number: int) -> LinkEnds | None:
        known = ends_of(number)
        if known is None:
            return None
        switches = tuple(f"rail {rail} {name}" for name in known.switches)
        return LinkEnds(f"{known.label}, rail {rail}", known.hosts, switches)

    return ends
