"""Upper bound of the bisection bandwidth: bandwidth of the cables between two halves of a network.

With any routes, two halves of the hosts cannot send more to each other than the cables that join a set of nodes
with one half to the rest with the other. Any halves and any such set give a bound; here a few halves are tried, and for
each the switches change sides as long as that leaves less to cross. Halves that nobody tried may have less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

EDGES_MAX = 500_000  # largest network that is examined
_HALVES_MAX = 4
_SWEEPS_MAX = 20


class Cable(NamedTuple):
    """One-way bandwidth between two nodes."""

    a: int
    b: int
    bandwidth_bytes_per_s: float


def halves(n_hosts: int) -> Iterator[tuple[list[int], list[int]]]:
    """Ways to halve hosts: first and second half of each block of a size; of an odd one, the middle host by turns."""
    lengths = [n_hosts, *(length for length in range(n_hosts // 2, 1, -1) if n_hosts % length == 0)]
    for length in lengths:
        if length % 2 == 0 or length == n_hosts:
            half = length // 2
            at = [(host, host % length) for host in range(n_hosts)]
            yield [host for host, i in at if i < half], [host for host, i in at if length - half <= i]


def cut_bound_bytes_per_s(n_hosts: int, n_nodes: int, cables: Sequence[Cable]) -> float | None:
    """Upper bound of the bandwidth between two halves of the hosts, one way.

    None for fewer than two hosts, or a network of more than `EDGES_MAX` cables.

    Parameters
    ----------
    n_hosts : int
        Number of hosts, which are the first nodes.
    n_nodes : int
        Number of hosts and switches.
    cables : sequence of Cable
        Cables between the nodes.

    Examples
    --------
    >>> cut_bound_bytes_per_s(4, 6, [Cable(0, 4, 1), Cable(1, 4, 1), Cable(2, 5, 1), Cable(3, 5, 1), Cable(4, 5, 0.5)])
    0.5
    """
    if len(cables) > EDGES_MAX or n_hosts < 2:
        return None
    beside: list[list[tuple[int, float]]] = [[] for _ in range(n_nodes)]
    for a, b, bandwidth in cables:
        beside[a].append((b, bandwidth))
        beside[b].append((a, bandwidth))
    return min(_cut(n_hosts, beside, *both) for both in islice(halves(n_hosts), _HALVES_MAX))


def _cut(n_hosts: int, beside: list[list[tuple[int, float]]], one: list[int], other: list[int]) -> float:
    """Smallest bandwidth found between two halves; the middle host may be on either side."""
    cuts = []
    for others_side in (-1, 0, 1):  # other nodes join the second half, none, or the first
        side = [others_side] * len(beside)
        for host in one:
            side[host] = 1
        for host in other:
            side[host] = -1
        free = sorted(set(range(len(beside))) - {*one, *other}) if n_hosts % 2 else range(n_hosts, len(beside))
        for _ in range(_SWEEPS_MAX):
            changed = False
            for node in free:
                pull = 0.0
                for neighbour, bandwidth in beside[node]:
                    pull += bandwidth * side[neighbour]
                better_side = 1 if pull > 0 else -1 if pull < 0 else side[node]
                changed |= better_side != side[node]
                side[node] = better_side
            if not changed:
                break
        crossing = (
            bandwidth
            for node, near in enumerate(beside)
            for neighbour, bandwidth in near
            if node < neighbour and (side[node] >= 0) != (side[neighbour] >= 0)
        )
        cuts.append(sum(crossing))
    return min(cuts)
