"""SimGrid's XML platform files: what is read, and what is said about files that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.engine.kernel import lib
from smpy.errors import PlatformError, PlatformWarning
from smpy.platforms import Platform, read_simgrid_xml
from smpy.platforms.model import SMPI_LATENCY_FACTOR, NetworkModel, Overhead, Step

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
        return read_simgrid_xml(path)

    return reader


def zone(body: str) -> str:
    return f"<zone id='z' routing='Full'>\n{body}\n</zone>"


# ---- what is read ----


def test_a_full_zone_with_hosts_routers_links_and_routes_is_read(read: Read) -> None:
    platform = read(
        zone(
            "<prop id='note' value='any'/>"
            "<host id='a' speed='1Gf' core='4'><prop id='wattage_per_state' value='1:2'/><disk id='d'/></host>"
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
    assert platform.network_model == NetworkModel()


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
    with pytest.raises(PlatformError, match="no route from host 'h1' to host 'h0'"):
        platform.route(1, 0)


def test_a_flat_cluster_is_read_with_all_its_parts(read: Read) -> None:
    platform = read(
        "<cluster id='c' prefix='node-' suffix='.org' radical='0-2,7, 10-11' speed='1Gf' bw='1.25GBps' lat='20us' core='4' "
        "bb_bw='5GBps' bb_lat='10us' bb_sharing_policy='FATPIPE' limiter_link='1GBps' loopback_bw='4GBps' "
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
    with pytest.warns(PlatformWarning, match=r"machine.xml:4: <host id='h'>: attribute 'speed': '1e9' has no unit"):
        platform = read(zone("<host id='h' speed='1e9'/>"))
    assert platform.speed_flop_per_s(0) == 1e9


def test_fatpipe_links_of_a_cluster_are_shared_with_a_warning(read: Read) -> None:
    with pytest.warns(PlatformWarning, match="cannot be FATPIPE"):
        platform = read(f"<cluster {CLUSTER} sharing_policy='FATPIPE'/>")
    assert lib.platform_link_policy(platform.handle, 0) == lib.LINK_SHARED


# ---- the network model ----


def config(options: dict[str, str]) -> str:
    props = "".join(f"<prop id='{name}' value='{value}'/>" for name, value in options.items())
    return f"<config id='General'>{props}</config><cluster {CLUSTER}/>"


def test_options_of_the_network_model_are_honoured(read: Read) -> None:
    platform = read(
        config(
            {
                "network/model": "SMPI",
                "network/TCP-gamma": "1000",
                "network/crosstraffic": "no",
                "network/weight-S": "1",
                "smpi/test": "2e-4",
                "smpi/iprobe": "5e-6",
                "smpi/wtime": "0",
                "smpi/send-is-detached-thresh": "1000",
            }
        )
    )
    assert platform.network_model == NetworkModel(
        tcp_gamma_bytes=1000,
        crosstraffic=0,
        weight_bytes=1,
        test_s=2e-4,
        iprobe_s=5e-6,
        wtime_s=0,
        detached_below_bytes=1000,
    )


def test_factors_and_overheads_are_tables(read: Read) -> None:
    platform = read(
        config(
            {
                "smpi/lat-factor": "1000:3;0:1.5:9",
                "smpi/bw-factor": "0.5",
                "smpi/os": "0:1e-3:1e-6;1000:5e-3:0",
                "smpi/ois": "0:0:0:0:0",
                "smpi/or": "0:3us",
            }
        )
    )
    model = platform.network_model
    assert model.latency_factor == (Step(1000, 3), Step(0, 1.5))
    assert model.bandwidth_factor == (Step(0, 0.5),)
    assert model.send_overhead == (Overhead(0, 1e-3, 1e-6), Overhead(1000, 5e-3, 0))
    assert model.isend_overhead == ()
    assert model.recv_overhead == (Overhead(0, 3e-6, 0),)


def test_the_loopback_of_full_zones_is_an_option(read: Read) -> None:
    options = (
        "<config><prop id='network/loopback-bw' value='1e9'/><prop id='network/loopback-lat' value='1us'/></config>"
    )
    platform = read(options + zone(HOSTS))
    assert platform.route(0, 0).latency_s == 1e-6
    assert lib.platform_link_bandwidth_bytes_per_s(platform.handle, 0) == 1e9


def test_options_that_say_what_is_so_anyway_are_accepted(read: Read) -> None:
    assert read(config({"network/optim": "Full", "smpi/coll-selector": "default"})).network_model == NetworkModel()


def test_an_option_that_smpy_does_not_have_is_ignored_with_a_warning(read: Read) -> None:
    with pytest.warns(PlatformWarning, match=r"smpi/coll-selector=ompi is ignored: smpy does not have it$"):
        read(config({"smpi/coll-selector": "ompi"}))
    with pytest.warns(
        PlatformWarning, match=r"smpi/iprobes=1 is ignored: smpy does not have it: did you mean 'smpi/iprobe'"
    ):
        read(config({"smpi/iprobes": "1"}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("network/model", "LV08", "network model 'LV08' is not supported"),
        ("network/crosstraffic", "maybe", "'maybe' is neither yes nor no"),
        ("smpi/test", "soon", "'soon' is not a time"),
        ("smpi/os", "0", "'0' has no value"),
        ("smpi/lat-factor", "0:x", "could not convert"),
        ("smpi/test", "-1", "test_s is -1.0: it cannot be negative"),
        ("smpi/bw-factor", "0", "bandwidth_factor must be above 0"),
    ],
)
def test_an_option_with_a_wrong_value_is_refused(read: Read, name: str, value: str, message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        read(config({name: value}))


def test_the_kernel_gets_the_model_as_one_table_of_both_factors() -> None:
    model = NetworkModel(latency_factor=(Step(0, 2), Step(1000, 3)), bandwidth_factor=(Step(500, 0.5),)).to_c()
    rows = [
        (model.factor_above_bytes[i], model.latency_factor[i], model.bandwidth_factor[i])
        for i in range(model.n_factors)
    ]
    assert rows == [(0, 2, 1), (500, 2, 0.5), (1000, 3, 0.5)]
    default = NetworkModel().to_c()
    assert default.n_factors == len(SMPI_LATENCY_FACTOR)
    assert (default.weight_bytes, default.tcp_gamma_bytes, default.crosstraffic) == (8775, 4194304, 0.05)
    assert (default.envelope_bytes, default.detached_below_bytes, default.wtime_s) == (16, 65536, 1e-8)


def test_the_first_overhead_also_holds_below_its_threshold() -> None:
    model = NetworkModel(send_overhead=(Overhead(1000, 5, 0), Overhead(10, 1, 2))).to_c()
    assert model.n_send_overhead == 2
    assert list(model.send_overhead)[:6] == [-float("inf"), 1, 2, 1000, 5, 0]


# ---- files that are wrong ----


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<hots id='h' speed='1Gf'/>", r":4: <hots id='h'>: unknown element <hots>: did you mean 'host'\?"),
        ("<host id='h' sped='1Gf'/>", r":4: <host id='h'>: unknown attribute 'sped': did you mean 'speed'\?"),
        ("<host id='h'/>", r":4: <host id='h'>: attribute 'speed' is missing"),
        ("<host speed='1Gf'/>", r":4: <host>: attribute 'id' is missing"),
        ("<host id='h' speed='1GF'/>", r"attribute 'speed': '1GF' is not a speed: unknown unit 'GF'.*did you mean 'Gf'\?"),
        ("<host id='h' speed='-1Gf'/>", r"host 'h' has a speed of -1e\+09 flop/s: it must be above 0"),
        ("<host id='h' speed='1Gf' core='0'/>", r"host 'h' has 0 cores: it needs at least 1"),
        ("<host id='h' speed='1Gf' core='two'/>", r"attribute 'core': 'two' is not a whole number"),
        ("<host id='h' speed='1Gf' pstate='1'/>", r"there is no state 1 among 1 speeds"),
        ("<host id='h' speed='1Gf'><link id='x'/></host>", r":4: <link id='x'>: <link> cannot stand here"),
        ("<host id='h' speed='1Gf'/>\n<router id='h'/>", r":5: <router id='h'>: 'h' is declared twice"),
        ("<link id='l' bandwidth='0'/>", r"link 'l' has a bandwidth of 0 bytes/s: it must be above 0"),
        ("<link id='l' bandwidth='1GBps' latency='-1s'/>", r"link 'l' has a latency of -1 s"),
        ("<link id='l' bandwidth='1GBps' sharing_policy='SHARE'/>", r"'SHARE' is none of SHARED.*did you mean 'SHARED'\?"),
        ("<link id='l' bandwidth='1GBps'/><link id='l' bandwidth='1GBps'/>", r"link 'l' is declared twice"),
        (f"{HOSTS}<route src='h0' dst='g7'><link_ctn id='wire'/></route>", r"unknown host or router 'g7': it is declared nowhere"),
        (f"{HOSTS}<route src='h0' dst='h1'><link_ctn id='wires'/></route>", r":6: <route src='h0' dst='h1'>: unknown link 'wires': did you mean 'wire'\?"),
        (f"{HOSTS}<route src='h0' dst='h1'><link_cnt id='wire'/></route>", r"did you mean 'link_ctn'\?"),
        (f"{HOSTS}<route src='h0' dst='h1'/>", r"the route from 'h0' to 'h1' has no links"),
        (f"{HOSTS}<route src='h0' dst='z'><link_ctn id='wire'/></route>", r"'z' is a zone, where a host or router is needed"),
        (f"{HOSTS}<zoneRoute src='h0' dst='h1' gw_src='h0' gw_dst='h1'><link_ctn id='wire'/></zoneRoute>", r"<zoneRoute> joins zones"),
        (f"{HOSTS}<route src='h0' dst='h1'><link_ctn id='wire'/></route>\n<route src='h1' dst='h0'><link_ctn id='wire'/></route>",
         r":7: <route src='h1' dst='h0'>: the route from 'h1' to 'h0' is declared twice"),
        (f"{HOSTS}<link id='D' bandwidth='1GBps' sharing_policy='SPLITDUPLEX'/><route src='h0' dst='h1'><link_ctn id='D'/></route>",
         r"link 'D' is SPLITDUPLEX: say direction='UP' or direction='DOWN'"),
        (f"{HOSTS}<route src='h0' dst='h1'><link_ctn id='wire' direction='LEFT'/></route>", r"'LEFT' is none of NONE, UP, DOWN"),
        (f"<zone id='y' routing='Full'>{HOSTS}</zone><zone id='x' routing='Full'><host id='g' speed='1Gf'/></zone>"
         "<zoneRoute src='y' dst='x' gw_src='h0' gw_dst='h1'><link_ctn id='wire'/></zoneRoute>",
         r"gateway 'h1' is not inside zone 'x'"),
        (f"<zone id='y' routing='Full'>{HOSTS}</zone><host id='g' speed='1Gf'/><route src='g' dst='h0'><link_ctn id='wire'/></route>",
         r"host or router 'h0' is in zone 'y', not in 'z'"),
        ("", r"machine.xml has no hosts"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_what_was_meant(read: Read, body: str, message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        read(zone(body))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='2;4,4;1,2;1,2'",
         r"fat tree 'c' has 4 hosts and its shape needs 4 x 4 = 16"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='2;4;1,2;1,2'", r"'2;4;1,2;1,2' is not 'levels;children"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='x'", r"'x' is not 'levels;children"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='1;4;0;1'", r"has a level with a 0"),
        (f"{CLUSTER} topology='FAT_TREE'", r"attribute 'topo_parameters' is missing"),
        (f"{CLUSTER} topology='FAT_TREE' topo_parameters='1;4;1;1' bb_bw='1GBps'", r"a fat tree has no backbone"),
        (f"{CLUSTER} topology='FATTREE'", r"'FATTREE' is none of FLAT, FAT_TREE, .*did you mean 'FAT_TREE'\?"),
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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"<cluster {CLUSTER} topology='TORUS' topo_parameters='2,2'/>", "topology 'TORUS' is not supported yet"),
        (f"<cluster {CLUSTER} topology='DRAGONFLY' topo_parameters='2,1;2,1;1,1;1'/>", "topology 'DRAGONFLY' is not"),
        *((f"<zone id='y' routing='{routing}'/>", f"routing '{routing}' is not supported yet")
          for routing in ("Floyd", "Dijkstra", "DijkstraCache", "Vivaldi", "Cluster", "None", "Wifi")),
        *((f"<{tag} id='x'/>", f"<{tag}> is not supported yet")
          for tag in ("peer", "cabinet", "host_link", "backbone", "bypassRoute", "bypassZoneRoute", "trace", "trace_connect")),
        *((f"<{tag} id='x'/>", f"<{tag}> was removed from the format") for tag in ("storage", "mount", "include")),
        ("<host id='h' speed='1Gf' speed_file='f'/>", "attribute 'speed_file': profiles are not supported yet"),
        ("<link id='l' bandwidth='1GBps' latency_file='f'/>", "attribute 'latency_file': profiles are not supported yet"),
        ("<link id='l' bandwidth='1GBps' sharing_policy='WIFI'/>", "WIFI' are not supported"),
        ("<host id='h' speed='1Gf'><prop id='smpi/os' value='0:1:1'/></host>", "smpi/os of single hosts is not supported"),
        ("<actor host='h' function='f'/>", "<actor> is not supported: ranks are placed by --hostfile"),
    ],
)  # fmt: skip
def test_what_the_format_has_and_smpy_has_not_is_refused_by_name(read: Read, body: str, message: str) -> None:
    with pytest.raises(PlatformError, match=r"machine.xml:4: .*" + re.escape(message)):
        read(zone(body))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<platform version='4.1'>\n<zone id='z'\n</platform>", r"machine.xml:3: not well-formed XML, at column 1"),
        ("", r"machine.xml:1: not well-formed XML.*no element found"),
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
        read_simgrid_xml(path)


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="cannot read platform file .*: No such file"):
        read_simgrid_xml(tmp_path / "nothing.xml")
