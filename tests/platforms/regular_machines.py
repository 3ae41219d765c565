"""Machines whose hosts are alike, for tests of what is told of machines."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from smpy.platforms import Cluster, Description, FullZone, NumberedNames, TreeShape, Zone

SPEED, BANDWIDTH, LATENCY = 1e9, 1e9, 1e-6


def hosts_alike(n_hosts: int, **more: Any) -> Cluster:
    return Cluster("c", NumberedNames("h", (range(n_hosts),)), SPEED, BANDWIDTH, LATENCY, **more)


def machine(zone: Zone) -> Description:
    return Description("machine", zone)


def without_formula(zone: Zone) -> Description:
    """The same inside a zone that knows no formula."""
    return machine(FullZone("around", (zone,)))


def tree(draw_from: st.SearchStrategy[int], levels_max: int = 3) -> st.SearchStrategy[TreeShape]:
    level = st.tuples(draw_from, st.integers(1, 2), st.integers(1, 2))
    return st.lists(level, min_size=1, max_size=levels_max).map(
        lambda levels: TreeShape(*(tuple(numbers) for numbers in zip(*levels, strict=True)))
    )
