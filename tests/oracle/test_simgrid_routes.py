"""The routes and links of a platform with every kind of zone, against those that SimGrid finds in the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smpy.engine.kernel import lib
from smpy.platforms import read_simgrid_xml

HERE = Path(__file__).parent
ORACLE = json.loads((HERE / "routes.json").read_text())


def test_every_route_is_that_of_simgrid() -> None:
    platform = read_simgrid_xml(HERE / "routes.xml").build()
    assert len(ORACLE["routes"]) == platform.n_hosts**2
    for source, target, latency_s, links in ORACLE["routes"]:
        route = platform.route(platform.host_number(source), platform.host_number(target))
        assert " ".join(route.link_names) == links
        assert route.latency_s == pytest.approx(latency_s, rel=ORACLE["relative_tolerance"], abs=0)


def test_every_link_is_that_of_simgrid() -> None:
    platform = read_simgrid_xml(HERE / "routes.xml").build()
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
    assert sorted(links) == sorted(ORACLE["links"])
