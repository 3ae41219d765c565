"""Zones that have their own parts or rules: stars, coordinates, bypass routes, ways through zones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import hypot
from pathlib import Path
from time import process_time

import pytest

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.errors import PlatformError, PlatformWarning
from smpy.platforms import read_simgrid_xml

Read = Callable[[str], Platform]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads what stands inside <platform>."""

    def reader(body: str) -> Platform:
        path = tmp_path / "machine.xml"
        path.write_text(f"<platform version='4.1'>\n{body}\n</platform>\n")
        return read_simgrid_xml(path).build()

    return reader


def hosts(*names: str) -> str:
    return "".join(f"<host id='{name}' speed='1Gf'/>" for name in names)


def links(*names: str) -> str:
    return "".join(f"<link id='{name}' bandwidth='1GBps' latency='1us'/>" for name in names)


def route(source: str, target: str, *names: str, tag: str = "route", more: str = "") -> str:
    hops = "".join(f"<link_ctn id='{name}'/>" for name in names)
    return f"<{tag} src='{source}' dst='{target}' {more}>{hops}</{tag}>"


def between(source: str, target: str, gateways: str, *names: str, tag: str = "zoneRoute") -> str:
    leaves, enters = gateways.split()
    return route(source, target, *names, tag=tag, more=f"gw_src='{leaves}' gw_dst='{enters}'")


def zone(name: str, routing: str, *parts: str) -> str:
    return f"<zone id='{name}' routing='{routing}'>{''.join(parts)}</zone>"


def names(platform: Platform, source: str, target: str) -> list[str]:
    return list(platform.route(platform.host_number(source), platform.host_number(target)).link_names)


def has_route(platform: Platform, source: str, target: str) -> bool:
    try:
        return bool(names(platform, source, target))
    except PlatformError:
        return False


# ---- stars ----

WIRES = "<host_link id='a' up='a_up' down='a_down'/><host_link id='b' up='b' down='b'/>"
STAR = hosts("a", "b", "c") + "<router id='r'/>" + links("a_up", "a_down", "b")
BACKBONE = "<backbone id='bone' bandwidth='1GBps' latency='1us'/>"


def test_a_route_of_a_star_goes_up_over_the_backbone_and_down_and_crosses_no_link_twice(read: Read) -> None:
    platform = read(zone("z", "Cluster", WIRES, STAR, BACKBONE))  # in any order
    assert names(platform, "a", "b") == ["a_up", "bone", "b"]
    assert names(platform, "b", "a") == ["b", "bone", "a_down"]
    assert names(platform, "a", "a") == ["a_up", "bone", "a_down"]
    assert names(platform, "b", "b") == ["b", "bone"]
    assert names(platform, "a", "c") == ["a_up", "bone"]  # c is at the centre
    assert not has_route(platform, "c", "c")


def test_a_host_of_a_star_may_have_a_way_to_itself(read: Read) -> None:
    platform = read(zone("z", "Cluster", STAR, WIRES, links("own"), route("a", "a", "own"), route("c", "c", "own")))
    assert names(platform, "a", "a") == ["own"]
    assert names(platform, "a", "b") == ["a_up", "b"]
    assert names(platform, "c", "c") == ["own"]
    assert not has_route(platform, "a", "c")  # same in SimGrid: a host with nothing but a way to itself


def test_a_cabinet_is_hosts_with_two_links_each(read: Read) -> None:
    cabinet = "<cabinet id='k' prefix='n' suffix='.k' radical='0-1,7' speed='2Gf' bw='1GBps' lat='3us'/>"
    inside, outside = zone("z", "Cluster", cabinet, BACKBONE, "<router id='r'/>"), zone("y", "None", hosts("h"))
    platform = read(zone("w", "Full", inside, outside, links("X"), between("z", "y", "r h", "X")))
    assert platform.host_names == ["n0.k", "n1.k", "n7.k", "h"]
    assert platform.speed_flop_per_s(2) == 2e9
    assert names(platform, "n0.k", "n7.k") == ["link_n0.k_UP", "bone", "link_n7.k_DOWN"]
    assert platform.route(0, 2).latency_s == pytest.approx(7e-6)
    assert names(platform, "n7.k", "h") == ["link_n7.k_UP", "bone", "X"]


def test_a_cabinet_of_100000_hosts_is_read_without_a_list_of_its_links(read: Read) -> None:
    cabinet = "<cabinet id='k' prefix='n' suffix='' radical='0-99999' speed='2Gf' bw='1GBps' lat='3us'/>"
    platform = read(zone("z", "Cluster", cabinet))
    assert platform.n_links == 200_000
    assert platform.route(99_999, 5).link_names == ("link_n99999_UP", "link_n5_DOWN")


# ---- coordinates ----


def test_a_route_between_coordinates_has_their_distance_and_both_heights_in_milliseconds(read: Read) -> None:
    peer = "<peer id='{}' speed='1Gf' bw_in='1GBps' bw_out='2GBps' coordinates='{}'/>".format
    platform = read(zone("z", "Vivaldi", peer("a", "1 2 3"), peer("b", "-4.5 6 -7")))
    assert names(platform, "a", "b") == ["link_a_UP", "link_b_DOWN"]
    assert platform.route(0, 1).latency_s == pytest.approx((hypot(5.5, 4) + 3 + 7) / 1000)
    assert platform.route(0, 0).latency_s == pytest.approx(6e-3)


def test_hosts_with_coordinates_alone_have_routes_without_links(read: Read) -> None:
    at = "<host id='{}' speed='1Gf' coordinates='{}'/>".format
    with pytest.warns(PlatformWarning, match="wires have no effect in a Vivaldi zone"):
        platform = read(
            zone("z", "Vivaldi", at("a", "0 0 0"), at("b", "3 4 0"), links("l"), "<host_link id='a' up='l' down='l'/>")
        )
    assert platform.route(0, 1).link_names == ()
    assert platform.route(0, 1).latency_s == pytest.approx(5e-3)
    assert not has_route(platform, "a", "a")


# ---- ways through zones ----


def side(name: str) -> str:
    """A zone of host `x` with two doors, `x-in` and `x-out`, a link each away from it and from each other."""
    doors = f"<router id='{name}-in'/><router id='{name}-out'/>"
    wires = links(f"{name}1", f"{name}2", f"{name}3")
    routes = (
        route(name, f"{name}-in", f"{name}1")
        + route(name, f"{name}-out", f"{name}2")
        + route(f"{name}-in", f"{name}-out", f"{name}3")
    )
    return zone(f"Z{name}", "Full", hosts(name), doors, wires, routes)


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra", "DijkstraCache"])
def test_a_shortest_way_through_a_zone_goes_from_one_gateway_to_the_other(read: Read, routing: str) -> None:
    inner = side("a") + side("b") + side("c") + links("X", "Y")
    ways = between("Za", "Zb", "a-out b-in", "X") + between("Zb", "Zc", "b-out c-in", "Y")
    platform = read(zone("w", routing, inner, ways))
    assert names(platform, "a", "c") == ["a2", "X", "b3", "Y", "c1"]
    assert names(platform, "c", "a") == ["c1", "Y", "b3", "X", "a2"]
    assert names(platform, "a", "b") == ["a2", "X", "b1"]


@pytest.mark.parametrize("routing", ["None", "Cluster", "Vivaldi"])
def test_zones_inside_one_that_joins_no_zones_cannot_reach_each_other(read: Read, routing: str) -> None:
    platform = read(zone("w", routing, side("a"), side("b")))
    assert has_route(platform, "a", "a")
    assert not has_route(platform, "a", "b")


# ---- bypass routes ----


def test_a_bypass_route_between_hosts_holds_in_its_direction(read: Read) -> None:
    platform = read(
        zone(
            "z",
            "Floyd",
            hosts("a", "b"),
            links("l", "m"),
            route("a", "b", "l"),
            route("a", "b", "m", "m", tag="bypassRoute"),
        )
    )
    assert names(platform, "a", "b") == ["m", "m"]
    assert names(platform, "b", "a") == ["l"]


def test_the_innermost_zones_that_a_bypass_route_joins_come_first(read: Read) -> None:
    left, right = zone("L", "Full", side("a"), side("b")), zone("R", "Full", side("c"), side("d"))
    ways = links("far", "p", "q", "s", "t") + between("L", "R", "a-in c-in", "far")
    bypasses = [("L", "R", "b-in d-in", "p"), ("L", "Zc", "a-in c-out", "q"), ("Za", "R", "a-out c-in", "s")]
    platform = read(zone("w", "Full", left, right, ways, *(between(*way, tag="bypassZoneRoute") for way in bypasses)))
    assert names(platform, "a", "c") == ["a2", "s", "c1"]  # (0, 1) before (1, 0)
    assert names(platform, "c", "a") == ["c1", "far", "a1"]
    deeper = between("Za", "Zc", "a-in c-in", "t", tag="bypassASroute")
    platform = read(zone("w", "Full", left, right, ways, deeper, between(*bypasses[0], tag="bypassZoneRoute")))
    assert names(platform, "a", "c") == ["a1", "t", "c1"]


def test_a_host_that_is_the_gateway_of_a_bypass_route_first_sends_to_itself(read: Read) -> None:
    bypass = between("Za", "Zb", "a b-in", "X", tag="bypassZoneRoute")
    platform = read(zone("w", "Full", side("a"), side("b"), links("X"), between("Za", "Zb", "a b", "X"), bypass))
    assert names(platform, "a", "b") == ["__loopback__", "X", "b1"]  # same in SimGrid
    assert names(platform, "b", "a") == ["X"]


def test_a_route_that_bypasses_nothing_takes_no_longer_where_other_routes_are_bypassed(read: Read) -> None:
    def cpu_s(platform: Platform) -> float:
        """Processor time of a thousand routes from `a` to `b`, the fastest of five times."""
        links, latency_s, dates_s = ffi.new("int[]", 9), ffi.new("double *"), [process_time()]
        for _ in range(5):
            for _ in range(1000):
                assert lib.platform_route_links(platform.handle, 0, 1, 9, links, latency_s) == 3
            dates_s.append(process_time())
        return min(after_s - before_s for before_s, after_s in pairwise(dates_s))

    parts = side("a"), side("b"), side("c"), links("X"), between("Za", "Zb", "a-in b-in", "X")
    bypass = between("Za", "Zc", "a-in c-in", "X", tag="bypassZoneRoute")
    assert cpu_s(read(zone("w", "Full", *parts, bypass))) < 5 * cpu_s(read(zone("w", "Full", *parts)))


@pytest.mark.parametrize("more", ["", "bb_bw='1GBps'", "loopback_bw='1GBps'"])
def test_the_router_of_a_cluster_takes_no_link_to_itself(read: Read, more: str) -> None:
    flat = f"<cluster id='f' prefix='f' suffix='' radical='0' speed='1Gf' bw='1GBps' lat='1us' router_id='r' {more}/>"
    bypass = between("Za", "f", "a-in r", "X", tag="bypassZoneRoute")  # from r on to r, which is the way out
    inner = zone("z", "Full", side("a"), flat, links("X"), bypass)
    platform = read(zone("w", "Full", inner, side("b"), links("Y"), between("z", "Zb", "r b", "Y")))
    assert names(platform, "a", "b") == ["a1", "X", "Y"]


# ---- what does not fit ----

INNER = between("Za", "Zb", "a b", "l", tag="bypassASroute")

MISTAKES = {
    zone("z", "Cluster", STAR, route("a", "b", "b")): "zone 'z' takes a route from a host to itself only",
    zone("z", "None", hosts("a", "b"), links("l"), route("a", "b", "l")): "zone 'z' takes no routes",
    zone("z", "Full", STAR, WIRES): r"<host_link id='a'>: zone 'z' cannot hold the wires of a host: .*'Cluster'",
    zone("z", "Full", BACKBONE): r"<backbone id='bone'>: zone 'z' cannot hold a backbone",
    zone("z", "Full", "<cabinet id='k' prefix='n' suffix='' radical='0' speed='1Gf' bw='1GBps' lat='0'/>"): (
        r"<cabinet id='k'>: zone 'z' cannot hold a cabinet"
    ),
    zone("z", "Cluster", "<cabinet id='k' prefix='n' suffix='' radical='0,0' speed='1Gf' bw='1GBps' lat='0'/>"): (
        r"<cabinet id='k'>: a cabinet declares a host twice"
    ),
    zone("z", "Full", "<peer id='p' speed='1Gf' bw_in='1GBps' bw_out='1GBps' coordinates='1 2 3'/>"): (
        r"<peer id='p'>: zone 'z' cannot hold a peer: only one with routing='Vivaldi' can"
    ),
    zone("z", "Vivaldi", "<peer id='p' speed='1Gf' bw_in='1GBps' bw_out='1GBps'/>"): "'coordinates' is missing",
    zone("z", "Vivaldi", hosts("a")): r"<host id='a'>: 'a' stands in a Vivaldi zone without coordinates",
    zone("z", "Full", "<host id='h' speed='1Gf' coordinates='1 2'/>"): r"'1 2' is not three numbers",
    zone("z", "Vivaldi", "<host id='h' speed='1Gf' coordinates='1 nan 2'/>"): "is not three numbers",
    zone("", "Cluster", STAR, "<host_link id='a' up='nowhere' down='b'/>"): "unknown link 'nowhere'",
    zone("", "Cluster", STAR, "<host_link id='aa' up='b' down='b'/>"): r"unknown host or router 'aa': did you mean 'a'",
    zone("z", "Full", hosts("a", "b"), route("a", "b", tag="bypassRoute")): "bypass route from 'a' to 'b' has no links",
    zone("z", "Full", hosts("a", "b"), links("l"), 2 * route("a", "b", "l", tag="bypassRoute")): "declared twice",
    zone("z", "Full", side("a"), side("b"), links("l"), between("Za", "Zb", "b b", "l", tag="bypassZoneRoute")): (
        "gateway 'b' is not inside zone 'Za'"
    ),
    zone("w", "Full", side("a"), zone("z", "Full", side("b"), links("l"), INNER)): (
        "joins zones that are not both inside zone 'z'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", MISTAKES, ids=range(len(MISTAKES)))
def test_a_part_that_does_not_fit_its_zone_is_refused_by_name(read: Read, body: str) -> None:
    with pytest.raises(PlatformError, match=r"machine.xml:2: .*" + MISTAKES[body]):
        read(body)
