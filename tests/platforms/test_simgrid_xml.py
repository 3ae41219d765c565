"""SimGrid's XML platform files: what is read, and what is said about files that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.engine.kernel import lib
from smpy.engine.platform import Platform
from smpy.errors import PlatformError, PlatformWarning
from smpy.platforms import read_simgrid_xml
from smpy.platforms.models.machine_models import Models

Read = Callable[[str], Platform]

CLUSTER = "id='c' prefix='n' suffix='' radical='0-3' speed='1Gf' bw='1.25GBps' lat='20us'"
HOSTS = "<host id='h0' speed='1Gf'/>\n<host id='h1' speed='1Gf'/>\n<link id='wire' bandwidth='1GBps' latency='1us'/>"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads what stands inside <platform>, from the third line of a file."""

    def reader(body: str, version: str = "4.1") -> Platform:
        path = tmp_path / "machine.xml"
        path.write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
            f"<platform version='{version}'>\n{body}\n</platform>\n"
        )
        return read_simgrid_xml(path).build()

    return reader


def zone(body: str) -> str:
    return f"<zone id='z' routing='Full'>\n{body}\n</zone>"


# ---- what is read ----


def test_a_full_zone_with_hosts_routers_links_and_routes_is_read(read: Read) -> None:
    platform = read(
        zone(
            "<prop id='note' value='any'/>"
            "<host id='a' speed='1Gf' core='4'><prop id='wattage_per_state' value='1:2'/>"
            "<disk id='d' read_bw='2GBps' write_bw='1GBps'/></host>"
            "<host id='b' speed='2.5Gf, 1Gf' pstate='1' coordinates='0 0 0'/><router id='r'/>"
            "<link id='L' bandwidth='1Gbps' latency='50us'><prop id='wattage_range' value='1:2'/></link>"
            "<link id='D' bandwidth='1GBps' latency='1us' sharing_policy='FULLDUPLEX'/>"
            "<route src='a' dst='r'><link_ctn id='L'/></route>"
            "<route src='a' dst='b'><link_ctn id='L'/><link_ctn id='D' direction='up'/><link_ctn id='D_DOWN'/></route>"
            "<route src='a' dst='a'><link_ctn id='L'/></route>"
        )
    )
    assert platform.host_names == ["a", "b"]
    assert [platform.cores(host) for host in (0, 1)] == [4, 1]
    assert [platform.speed_flop_per_s(host) for host in (0, 1)] == [1e9, 1e9]
    assert platform.route(0, 1).link_names == ("L", "D_UP", "D_DOWN")
    assert platform.route(1, 0).link_names == ("D_DOWN", "D_DOWN", "L")
    assert platform.route(0, 1).latency_s == pytest.approx(52e-6)
    assert platform.route(0, 0).link_names == ("L",)
    assert platform.route(1, 1).link_names == ("__loopback__",)
    assert platform.models == Models()


def test_what_is_noted_of_hosts_and_clusters_is_kept(read: Read) -> None:
    prop = "<prop id='{}' value='{}'/>".format
    inside = zone(
        f"<host id='a' speed='1Gf'/><host id='b' speed='1Gf'>{prop('price', 1)}{prop('price', 2)}{prop('x', '')}</host>"
        f"<host id='e' speed='1Gf'/><cluster {CLUSTER}>{prop('wattage_per_state', '1:2')}</cluster>"
        "<host id='d' speed='1Gf'/>"
    )
    platform = read(inside)
    cluster = {"wattage_per_state": "1:2"}
    expected = [{}, {"price": "2", "x": ""}, {}, cluster, cluster, cluster, cluster, {}]
    assert [platform.properties(host) for host in range(platform.n_hosts)] == expected
    with pytest.raises(PlatformError, match=r"<prop id='x'>: attribute 'value' is missing"):
        read(zone("<host id='a' speed='1Gf'><prop id='x'/></host>"))


def test_a_half_of_a_split_link_keeps_its_direction_in_the_reverse_route(read: Read) -> None:
    platform = read(
        zone(
            f"{HOSTS}<link id='D' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/>"
            "<route src='h0' dst='h1'><link_ctn id='D_UP'/></route>"
        )
    )
    assert platform.route(1, 0).link_names == ("D_UP",)


def test_a_route_that_is_not_symmetrical_goes_one_way(read: Read) -> None:
    platform = read(zone(f"{HOSTS}<route src='h0' dst='h1' symmetrical='no'><link_ctn id='wire'/></route>"))
    assert platform.route(0, 1).link_names == ("wire",)
    with pytest.raises(PlatformError, match="no route from host 'h1' to 'h0'"):
        platform.route(1, 0)


def test_a_flat_cluster_is_read_with_all_its_parts(read: Read) -> None:
    platform = read(
        "<cluster id='c' prefix='node-' suffix='.org' radical='0-2,7, 10-11' speed='1Gf' bw='1.25GBps' lat='20us' "
        "core='4' bb_bw='5GBps' bb_lat='10us' bb_sharing_policy='FATPIPE' limiter_link='1GBps' loopback_bw='4GBps' "
        "loopback_lat='1us' router_id='door'/>"
    )
    assert platform.host_names == [f"node-{label}.org" for label in (0, 1, 2, 7, 10, 11)]
    assert platform.cores(3) == 4
    route = platform.route(0, 3)
    assert route.link_names == ("c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_7_DOWN", "c_link_7_limiter")
    assert route.latency_s == pytest.approx(50e-6)
    assert platform.route(3, 3).link_names == ("c_link_7_loopback",)
    assert lib.platform_link_policy(platform.handle, platform.n_links - 1) == lib.LINK_FATPIPE


def test_a_cluster_of_shared_links_uses_each_both_ways(read: Read) -> None:
    platform = read(f"<cluster {CLUSTER} sharing_policy='SHARED'/>")
    assert platform.route(0, 1).link_names == ("c_link_0", "c_link_1")
    assert platform.route(2, 2).link_names == ("c_link_2",)


def test_a_fat_tree_is_read(read: Read) -> None:
    platform = read(f"<cluster {CLUSTER} topology='fat_tree' topo_parameters='2;2,2;1,2;1,1'/>")
    assert platform.n_hosts == 4
    assert len(platform.route(0, 1).link_names) == 2
    assert len(platform.route(0, 3).link_names) == 4


def test_a_torus_is_read(read: Read) -> None:
    platform = read(f"<cluster {CLUSTER} topology='torus' topo_parameters='2, 2' limiter_link='1GBps'/>")
    assert platform.route(1, 2).link_names == (
        "c_link_1_limiter", "c_link_from_0_to_1_DOWN", "c_link_0_limiter", "c_link_from_0_to_2_UP", "c_link_2_limiter",
    )  # fmt: skip


def test_a_dragonfly_is_read(read: Read) -> None:
    platform = read(
        f"<cluster {CLUSTER} topology='dragonfly' topo_parameters='2,3;1,1; 2, 1;1' sharing_policy='SHARED'/>"
    )
    assert platform.route(0, 3).link_names == (
        "local_link_from_router_0_to_node_0_0", "green_link_in_chassis_0_between_routers_0_and_1_4",
        "blue_link_between_group_0_and_1_routers_1_and_2_6", "green_link_in_chassis_0_between_routers_0_and_1_5",
        "local_link_from_router_3_to_node_0_3",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("topology", "parameters"), [("FAT_TREE", "1;3;1;1"), ("TORUS", "3"), ("DRAGONFLY", "1,1;1,1;1,1;3")]
)
def test_hosts_and_links_that_a_topology_has_no_place_for_are_left_out_with_a_warning(
    read: Read, topology: str, parameters: str
) -> None:
    shape = f"topology='{topology}' topo_parameters='{parameters}'"
    body = f"<cluster {CLUSTER.replace('0-3', '7,4-6')} bb_bw='1GBps' {shape}/>"
    with pytest.warns(PlatformWarning) as caught:
        platform = read(body)
    assert platform.host_names == ["n7", "n4", "n5"]
    assert "backbone" not in " ".join(platform.link_name(link) for link in range(platform.n_links))
    assert [str(warning.message).partition(">: ")[2].partition(":")[0] for warning in caught] == [
        "attribute 'bb_bw' has no effect",
        f"the {topology.replace('_', ' ').lower()} needs 3 of its 4 hosts",
    ]


def test_clusters_are_joined_by_the_older_names_of_zones_too(read: Read) -> None:
    other = CLUSTER.replace("'c'", "'d'").replace("'n'", "'m'")
    platform = read(
        f"<AS id='z' routing='Full'><cluster {CLUSTER}/><cluster {other}/>"
        "<link id='X' bandwidth='1GBps' latency='100us'/>"
        "<ASroute src='c' dst='d' gw_src='nc_router' gw_dst='md_router'><link_ctn id='X'/></ASroute></AS>"
    )
    assert platform.route(0, 4).link_names == ("c_link_0_UP", "X", "d_link_0_DOWN")


def test_a_route_can_use_a_link_of_a_cluster_by_its_name(read: Read) -> None:
    platform = read(
        zone(
            f"<cluster {CLUSTER} bb_bw='1GBps'/><zone id='y' routing='Full'><host id='h' speed='1Gf'/></zone>"
            "<zoneRoute src='c' dst='y' gw_src='nc_router' gw_dst='h'><link_ctn id='c_backbone'/></zoneRoute>"
        )
    )
    assert platform.route(0, 4).link_names == ("c_link_0_UP", "c_backbone", "c_backbone")


def test_a_quantity_without_unit_is_read_with_a_warning(read: Read) -> None:
    with pytest.warns(PlatformWarning, match=r"<host id='h'>: attribute 'speed': '1e9' has no unit") as caught:
        platform = read(zone("<host id='h' speed='1e9'/>"))
    assert (Path(caught[0].filename).name, caught[0].lineno) == ("machine.xml", 4)
    assert platform.speed_flop_per_s(0) == 1e9


def test_fatpipe_links_of_a_cluster_are_shared_with_a_warning(read: Read) -> None:
    with pytest.warns(PlatformWarning, match="cannot be FATPIPE"):
        platform = read(f"<cluster {CLUSTER} sharing_policy='FATPIPE'/>")
    assert lib.platform_link_policy(platform.handle, 0) == lib.LINK_SHARED


# ---- files that are wrong ----


HOST_MISTAKES = {
    "<hots id='h' speed='1Gf'/>": r":4: <hots id='h'>: unknown element <hots>: did you mean 'host'\?",
    "<host id='h' sped='1Gf'/>": r":4: <host id='h'>: unknown attribute 'sped': did you mean 'speed'\?",
    "<host id='h'/>": r":4: <host id='h'>: attribute 'speed' is missing",
    "<host speed='1Gf'/>": r":4: <host>: attribute 'id' is missing",
    "<host id='h' speed='1GF'/>": r"attribute 'speed': '1GF' is not a speed: unknown unit 'GF'.*did you mean 'Gf'\?",
    "<host id='h' speed='-1Gf'/>": r"host 'h' has a speed of -1e\+09 flop/s: it must be above 0",
    "<host id='h' speed='1Gf' core='0'/>": r"host 'h' has 0 cores: it needs at least 1",
    "<host id='h' speed='1Gf' core='two'/>": r"attribute 'core': 'two' is not a whole number",
    "<host id='h' speed='1Gf' pstate='1'/>": r"there is no state 1 among 1 speeds",
    "<host id='h' speed='1Gf'><link id='x'/></host>": r":4: <link id='x'>: <link> cannot stand here",
    "<host id='h' speed='1Gf'/>\n<router id='h'/>": r":5: <router id='h'>: 'h' is declared twice",
    "": r"machine.xml has no hosts",
}
LINK_MISTAKES = {
    "bandwidth='0'": r"link 'l' has a bandwidth of 0 bytes/s: it must be above 0",
    "bandwidth='1GBps' latency='-1s'": r"link 'l' has a latency of -1 s: it cannot be negative",
    "bandwidth='1GBps,2GBps'": r"a list of bandwidths is for WIFI links",
    "bandwidth='1GBps' sharing_policy='SHARE'": r"'SHARE' is none of SHARED, .*: did you mean 'SHARED'\?",
    "bandwidth='1GBps'/><link id='l' bandwidth='1GBps'": r"link 'l' is declared twice",
}
ROUTE_MISTAKES = {
    "src='h0' dst='elsewhere'><link_ctn id='wire'/>": r"host or router 'elsewhere': it is declared nowhere",
    "src='h0' dst='h1'><link_ctn id='wires'/>": r"dst='h1'>: unknown link 'wires': did you mean 'wire'\?",
    "src='h0' dst='h1'><link_cnt id='wire'/>": r":6: <link_cnt id='wire'>: .*did you mean 'link_ctn'\?",
    "src='h0' dst='h1'><link_ctn id='wire' direction='LEFT'/>": r"'LEFT' is none of NONE, UP, DOWN",
    "src='h0' dst='h1'><link_ctn id='split'/>": r"link 'split' is SPLITDUPLEX: say direction='UP' or",
    "src='h0' dst='h1'>": r":6: <route src='h0' dst='h1'>: the route from 'h0' to 'h1' has no links",
    "src='h0' dst='z'><link_ctn id='wire'/>": r"'z' is a zone, where a host or router is needed",
    "src='h0' dst='g'><link_ctn id='wire'/>": r"host or router 'g' is in zone 'y', not in 'z'",
    "src='h0' dst='h1'><link_ctn id='wire'/></route>\n<route src='h1' dst='h0'><link_ctn id='wire'/>": (
        r":7: <route src='h1' dst='h0'>: the route from 'h1' to 'h0' is declared twice: routes are symmetrical unless"
    ),
}
ZONE_ROUTE_MISTAKES = {
    "src='h0' dst='x' gw_src='h0' gw_dst='f'": r"'h0' is a host or router, where a zone is needed",
    "src='y' dst='v' gw_src='g' gw_dst='f'": r"unknown zone 'v'",
    "src='y' dst='x' gw_src='g' gw_dst='h0'": r"gateway 'h0' is not inside zone 'x': name a host or router",
    "src='y' dst='x' gw_src='g' gw_dst='x'": r"'x' is a zone, where a host or router is needed",
    "src='y' dst='x' gw_src='g'": r"attribute 'gw_dst' is missing",
}


@pytest.mark.parametrize("body", HOST_MISTAKES)
def test_a_mistake_in_a_host_is_named_with_its_line_and_what_was_meant(read: Read, body: str) -> None:
    with pytest.raises(PlatformError, match=HOST_MISTAKES[body]):
        read(zone(body))


@pytest.mark.parametrize("attributes", LINK_MISTAKES)
def test_a_mistake_in_a_link_is_named_with_what_was_meant(read: Read, attributes: str) -> None:
    with pytest.raises(PlatformError, match=r":4: <link id='l'>: .*" + LINK_MISTAKES[attributes]):
        read(zone(f"<link id='l' {attributes}/>"))


@pytest.mark.parametrize("body", ROUTE_MISTAKES)
def test_a_mistake_in_a_route_is_named_with_what_was_meant(read: Read, body: str) -> None:
    split = "<link id='split' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/>"
    other = "<zone id='y' routing='Full'><host id='g' speed='1Gf'/></zone>"
    with pytest.raises(PlatformError, match=ROUTE_MISTAKES[body]):
        read(zone(f"{HOSTS}{split}{other}<route {body}</route>"))


@pytest.mark.parametrize("attributes", ZONE_ROUTE_MISTAKES)
def test_a_mistake_in_a_route_between_zones_is_named(read: Read, attributes: str) -> None:
    others = "".join(
        f"<zone id='{name}' routing='Full'><host id='{host}' speed='1Gf'/></zone>"
        for name, host in (("y", "g"), ("x", "f"))
    )
    with pytest.raises(PlatformError, match=ZONE_ROUTE_MISTAKES[attributes]):
        read(zone(f"{HOSTS}{others}<zoneRoute {attributes}><link_ctn id='wire'/></zoneRoute>"))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='2;4,4;1,2;1,2'",
         r"fat tree 'c' has 4 hosts and its shape needs 4 x 4 = 16"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='2;4;1,2;1,2'", r"'2;4;1,2;1,2' is not 'levels;children"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='x'", r"'x' is not 'levels;children"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='1;4;0;1'", r"has a level with a 0"),
        (f"{CLUSTER} topology='FAT_TREE'", r"attribute 'topo_parameters' is missing"),
        (f"{CLUSTER} topology='TORUS' topo_parameters='2,3'", r"torus 'c' has 4 hosts and its shape needs 2 x 3 = 6"),
        (f"{CLUSTER} topology='TORUS' topo_parameters='2,x'", r"'2,x' is not a list of dimensions such as '4,3,2'"),
        (f"{CLUSTER} topology='TORUS'", r"attribute 'topo_parameters' is missing"),
        (f"{CLUSTER} topology='DRAGONFLY' topo_parameters='2,1;1,1;3,1;1'",
         r"dragonfly 'c' has 4 hosts and its shape needs 2 x 1 x 3 x 1 = 6"),
        (f"{CLUSTER} topology='DRAGONFLY' topo_parameters='4,1;1,1;1,1;1'", r"has 4 groups of 1 x 1 routers"),
        (f"{CLUSTER} topology='DRAGONFLY' topo_parameters='2,1;1,1;2,1'", r"is not 'groups,blue;chassis,black;routers"),
        (f"{CLUSTER} topology='DRAGONFLY' topo_parameters='-2,1;1,1;2,1;1'", r"is not 'groups,blue;chassis,black;rou"),
        (f"{CLUSTER} topology='DRAGONFLY'", r"attribute 'topo_parameters' is missing"),
        (f"{CLUSTER} topology='FATTREE'", r"'FATTREE' is none of .*FLAT.*did you mean 'FAT_TREE'\?"),
        (f"{CLUSTER} loopback_lat='1us'", r"the loopback of cluster 'c' has a latency and no bandwidth"),
        (f"{CLUSTER} bandwidth='1GBps'", r"unknown attribute 'bandwidth'"),
        (CLUSTER.replace("0-3", "3-0"), r"the range '3-0' runs backwards"),
        (CLUSTER.replace("0-3", "0-"), r"'0-' is neither a number nor a range"),
        (CLUSTER.replace("0-3", "0-3,2"), r"cluster 'c' declares a host twice"),
        (CLUSTER.replace("1.25GBps", "0"), r"the links of cluster 'c' have no bandwidth"),
    ],
)  # fmt: skip
def test_a_cluster_that_does_not_add_up_is_refused(read: Read, attributes: str, message: str) -> None:
    with pytest.raises(PlatformError, match=r"machine.xml:3: <cluster id='c'>: .*" + message):
        read(f"<cluster {attributes}/>")


NOT_SUPPORTED = {
    "<link id='l' bandwidth='1GBps' sharing_policy='WIFI'/>": "sharing_policy='WIFI' are not supported",
    "<zone id='y' routing='Wifi'/>": "routing 'Wifi' is not supported",
    "<actor host='h' function='f'/>": "<actor> is not supported: ranks are placed by --hostfile",
}
NOT_SUPPORTED |= {f"<{tag} id='x'/>": f"<{tag}> was removed from the format" for tag in ("storage", "mount", "include")}


@pytest.mark.parametrize("body", NOT_SUPPORTED)
def test_what_the_format_has_and_smpy_has_not_is_refused_by_name(read: Read, body: str) -> None:
    with pytest.raises(PlatformError, match=r"machine.xml:4: .*" + re.escape(NOT_SUPPORTED[body])):
        read(zone(body))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<platform version='4.1'>\n<zone id='z'\n</platform>", r"machine.xml:3: not well-formed XML, at column 1"),
        ("", r"machine.xml:1: not well-formed XML.*no element found"),
        ("<platform version='4.1'><zone id='z' routing='Full'/><config/></platform>", r"options come before"),
        ("<platform version='4.1'><zone id='z' routing='Full'><random/></zone></platform>", r"<random> cannot"),
        ("<machine/>", r"machine.xml:1: <machine>: a platform file begins with <platform"),
        ("<platform version='3'/>", r"version '3' cannot be read: versions 4.0 and 4.1 can"),
        ("<platform version='4.1'><host id='h' speed='1Gf'/></platform>", r"<host> stands outside of all zones"),
        ("<!DOCTYPE p [<!ENTITY e 'x'>]><platform version='4.1'>&e;</platform>", r"entities are refused"),
        (f"<platform version='4.1'><cluster {CLUSTER}/><zone id='z' routing='Full'/></platform>",
         r"zone 'z' stands beside another one: put both into one zone"),
        ("<platform version='4.1'><config><prp id='smpi/os' value='0:0:0'/></config></platform>", r"holds <prop"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_platform_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(text)
    with pytest.raises(PlatformError, match=message):
        read_simgrid_xml(path).build()


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"cannot read platform file .*: No such file"):
        read_simgrid_xml(tmp_path / "nothing.xml")
