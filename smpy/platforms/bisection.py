"""The bisection bandwidth of a machine: what half of its hosts can send to the other half at once, one way.

Topologies that have a formula for it say so (`Zone.bisection_bandwidth_bytes_per_s`); it is what their links carry,
if routes use all of them. Of other machines, small ones are measured: the hosts are halved in several ways, every host
of one half sends to every host of the other one over the machine's own routes, and the links are shared with max-min
fairness. The least sum is the answer; a way to halve the hosts that nobody tried may have less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from smpy.engine.kernel import ffi, lib
from smpy.platforms.description import Description
from smpy.platforms.platform import Platform

MEASURED_HOSTS_MAX: Final = 128


@dataclass(frozen=True, slots=True)
class Bisection:
    """A bisection bandwidth.

    Attributes
    ----------
    bandwidth_bytes_per_s : float
        One way.
    source : {"formula", "measured"}
        Where it is from.
    """

    bandwidth_bytes_per_s: float
    source: Literal["formula", "measured"]


def bisection_of(description: Description, platform: Platform) -> Bisection | None:
    """The bisection bandwidth of a machine; None: no formula is known and it is too large to measure, or has one host.

    Parameters
    ----------
    description : Description
        The machine.
    platform : Platform
        The same, built.
    """
    n_hosts = platform.n_hosts
    if n_hosts < 2:
        return None
    formula = description.zone.bisection_bandwidth_bytes_per_s
    if formula is not None:
        return Bisection(formula, "formula")
    if n_hosts > MEASURED_HOSTS_MAX:
        return None
    routes = _Routes(platform)
    return Bisection(min(routes.throughput(*halves) for halves in _halves(n_hosts)), "measured")


def _halves(n_hosts: int) -> Iterator[tuple[list[int], list[int]]]:
    """Ways to halve hosts: of each block of so many, the first half and the second; the middle one, if odd, in turn."""
    lengths = [n_hosts, *(length for length in range(n_hosts // 2, 1, -1) if n_hosts % length == 0)]
    for length in lengths:
        if length % 2 == 0 or length == n_hosts:
            half = length // 2
            at = [(host, host % length) for host in range(n_hosts)]
            yield [host for host, i in at if i < half], [host for host, i in at if length - half <= i]


class _Routes:
    """The routes of a small machine, and the flows over them."""

    def __init__(self, platform: Platform) -> None:
        self._links = [platform.link(link) for link in range(platform.n_links)]
        hosts = range(platform.n_hosts)
        self._between = [[self._route(platform, source, target) for target in hosts] for source in hosts]

    def throughput(self, sources: Sequence[int], targets: Sequence[int]) -> float:
        """The sum of all flows from each source to each target that has a route, in bytes/s."""
        capacity = [bandwidth for bandwidth, _, _ in self._links]
        policy = bytes(_POLICY[sharing.value] for _, _, sharing in self._links)
        fair = ffi.gc(lib.fair_new(len(capacity), capacity, policy), lib.fair_free)
        if fair == ffi.NULL:
            raise MemoryError
        flows = []
        for source in sources:
            for target in targets:
                links = self._between[source][target]
                if links:
                    flows.append(lib.fair_add(fair, 1.0, -1.0, len(links), links, [1.0] * len(links), 0))
        while (changed := lib.fair_solve(fair)) == lib.FAIR_NOT_YET:
            pass
        if changed < 0 or min(flows, default=0) < 0:
            raise MemoryError
        return float(sum(lib.fair_share_bytes_per_s(fair, flow) for flow in flows))

    @staticmethod
    def _route(platform: Platform, source: int, target: int) -> list[int]:
        """Its links, none twice; empty if there is no route."""
        if source == target or platform.route_length(source, target)[0] < 0:
            return []
        return list(dict.fromkeys(platform.route_links(source, target)[0]))


_POLICY: Final = {"SHARED": lib.LINK_SHARED, "FATPIPE": lib.LINK_FATPIPE}
