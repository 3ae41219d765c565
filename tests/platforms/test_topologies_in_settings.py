"""Tori and dragonflies in our own formats: the keys they take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smpy.errors import PlatformError
from smpy.platforms import Cluster, Dragonfly, DragonflyShape, NumberedNames, Torus, Zone
from smpy.platforms.own_format.settings import TomlTable, TomlValue
from smpy.platforms.own_format.wanted_hosts import WantedHosts
from smpy.platforms.topologies import topology_named

LIKE = Cluster("c", NumberedNames("n", ()), 1e9, 1e9, 1e-6)


def zone(kind: str, count: int | None = None, **values: object) -> Zone:
    settings = TomlTable("topology", {key: TomlValue(value, "here", key) for key, value in values.items()}, "here")
    made = topology_named("machine", kind).kind.from_settings(
        settings, WantedHosts(TomlTable("host", {}, ""), LIKE, NumberedNames("n", ()), count, 1)
    )
    settings.check_keys()
    return made


def hosts(n: int) -> Cluster:
    return replace(LIKE, hosts=NumberedNames("n", (range(n),)))


def test_a_torus_takes_its_dimensions() -> None:
    assert zone("torus", dimensions="4x3x2") == zone("torus", 24, dimensions=[4, 3, 2]) == Torus(hosts(24), (4, 3, 2))
    assert topology_named("machine", "torus").word == "dimensions"


def test_a_dragonfly_takes_its_shape_and_its_routing() -> None:
    shape = {"groups": 4, "routers_per_chassis": 4, "hosts_per_router": 2}
    assert zone("dragonfly", **shape) == Dragonfly(hosts(32), DragonflyShape(4, 1, 4, 2))
    more = {"chassis_per_group": 3, "blue": 5, "black": 6, "green": 7, "routing": "valiant", "seed": 8}
    assert zone("dragonfly", **shape, **more) == Dragonfly(hosts(96), DragonflyShape(4, 3, 4, 2, 5, 6, 7), "valiant", 8)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("torus", {}, "dimensions: .*missing"),
        ("torus", {"dimensions": "4x0"}, "here: dimensions: '4x0' is no list of numbers"),
        ("torus", {"dimensions": "4x4"}, "24 hosts are wanted, and the topology has 16 places"),
        ("torus", {"dimensions": "4x6", "groups": 4}, "groups"),
        ("dragonfly", {"groups": 4, "routers_per_chassis": 6}, "hosts_per_router: .*missing"),
        ("dragonfly", {"groups": 4, "routers_per_chassis": 6, "hosts_per_router": 0}, "hosts_per_router: it is 0"),
        (
            "dragonfly",
            {"groups": 4, "routers_per_chassis": 6, "hosts_per_router": 1, "routing": "valliant"},
            "routing: 'valliant' is none of minimal, valiant, adaptive: did you mean 'valiant'",
        ),
    ],
)
def test_a_key_that_is_missing_wrong_or_unknown_is_named(kind: str, values: dict[str, object], message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        zone(kind, 24, **values)
