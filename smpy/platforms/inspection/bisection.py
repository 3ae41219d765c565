"""The bisection bandwidth of a machine: what half of its hosts can send to the other half at once, one way.

Topologies that have a formula for it say so (`Zone.bisection_bandwidth_bytes_per_s`): what their links carry, if routes
use all of them. Of others whose cables are known an upper bound is told (`smpy.platforms.cut_bound`).
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
