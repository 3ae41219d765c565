"""The bisection bandwidth of a machine: that from half of its hosts to the other half, one way.

Some topologies have a formula (`Zone.bisection_bandwidth_bytes_per_s`): the bandwidth of their links, if routes use all
of them. Others whose cables are known have an upper bound (`smpy.platforms.cut_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from smpy.platforms.description import Description


@dataclass(frozen=True, slots=True)
class Bisection:
    """A bisection bandwidth.

    Attributes
    ----------
    bandwidth_bytes_per_s : float
        One way.
    source : {"formula", "bound"}
        Origin of the number; a bound is an upper bound.
    """

    bandwidth_bytes_per_s: float
    source: Literal["formula", "bound"]


def bisection_of(description: Description) -> Bisection | None:
    """Bisection bandwidth of a machine; None if unknown, or if it has one host."""
    zone = description.zone
    if description.n_hosts < 2:
        return None
    formula = zone.bisection_bandwidth_bytes_per_s
    if formula is not None:
        return Bisection(formula, "formula")
    bound = zone.bisection_bound_bytes_per_s
    return None if bound is None else Bisection(bound, "bound")
