"""The bisection bandwidth of a machine: what half of its hosts can send to the other half at once, one way.

Topologies that have a formula for it say so (`Zone.bisection_bandwidth_bytes_per_s`); it is what their links carry,
if routes use all of them. Of other machines, small ones are measured: the hosts are halved in several ways, every host
of one half sends to every host of the other one over the machine's own routes, and the links are shared with max-min
fairness. The least sum is the answer; a way to halve the hosts that nobody tried may have less. Of large ones whose
cables are known an upper bound is told (`smpy.platforms.cut_bound`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from smpy.engine.kernel import ffi, lib
from smpy.platforms.cut_bound import halves
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
    source : {"formula", "measured", "bound"}
        Origin of the number; a bound is an upper bound.
    """

    bandwidth_bytes_per_s: float
    source: Literal["formula", "measured", "bound"]


def bisection_of(description: Description, platform: Platform) -> Bisection | None:
    """The bisection bandwidth of a machine; None: nothing is known of it, or it has one host.

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
        bound = description.zone.bisection_bound_bytes_per_s
        return None if bound is None else Bisection(bound, "bound")
    routes = _Routes(platform)
    return Bisection(min(routes.throughput(*halves) for halves in halves(n_hosts)), "measured")


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
