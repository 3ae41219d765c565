"""The routes and links of platforms with every kind of zone, against those that SimGrid finds in the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smpy.engine.kernel import lib
from smpy.engine.platform import Platform
from smpy.platforms import read_simgrid_xml

HERE = Path(__file__).parent
FILES = {
    "routes.json": HERE / "routes.xml",
    "topologies.json": HERE / "topologies.xml",
    "nested_zones.json": HERE.parent / "peer/platforms/nested_zones.xml",
}


@pytest.fixture(params=FILES)
def case(request: pytest.FixtureRequest) -> tuple[Platform, dict[str, Any]]:
    """A platform and what SimGrid says of it."""
    return read_simgrid_xml(FILES[request.param]).build(), json.loads((HERE / request.param).read_text())


def test_every_route_is_that_of_simgrid(case: tuple[Platform, dict[str, Any]]) -> None:
    platform, oracle = case
    assert len(oracle["routes"]) == platform.n_hosts**2
    for source, target, latency_s, links in oracle["routes"]:
        route = platform.route(platform.host_number(source), platform.host_number(target))
        names = links.split() if isinstance(links, str) else [oracle["links"][place][0] for place in links]
        if oracle.get("links_are_unordered"):
            assert sorted(route.link_names) == sorted(names)
        else:
            assert list(route.link_names) == names
        assert route.latency_s == pytest.approx(latency_s, rel=oracle["relative_tolerance"], abs=0)


def test_every_link_is_that_of_simgrid(case: tuple[Platform, dict[str, Any]]) -> None:
    platform, oracle = case
    policies = {lib.LINK_SHARED: "SHARED", lib.LINK_FATPIPE: "FATPIPE"}
    links = [
        [
            platform.link_name(link),
            lib.platform_link_bandwidth_bytes_per_s(platform.handle, link),
            lib.platform_link_latency_s(platform.handle, link),
            policies[lib.platform_link_policy(platform.handle, link)],
        ]
        for link in range(platform.n_links)
    ]
    assert sorted(links) == sorted(oracle["links"])
